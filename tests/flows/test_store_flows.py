"""The store end to end, through the installed program, as people use it."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from memdir.layout import slug_of

Program = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture
def program(memdir_command: str, project: Path) -> Program:
    """Runs the installed `memdir` in a process of its own."""

    def run(*words: str, cwd: Path = project, **variables: str) -> subprocess.CompletedProcess[str]:
        environment = {**os.environ, **variables}
        return subprocess.run(
            [memdir_command, *words], cwd=cwd, env=environment, capture_output=True, text=True, check=False, timeout=60
        )

    return run


@pytest.mark.behaviour("keep-and-find")
def test_a_person_keeps_finds_and_reads_a_memory(program: Program) -> None:
    assert (
        program(
            "remember", "Never mock the database: the mocks hid a broken migration", "--type", "feedback"
        ).returncode
        == 0
    )
    folder = Path(program("path").stdout.splitlines()[-1])
    [file] = [path for path in folder.iterdir() if path.name != "MEMORY.md"]
    assert "mocks hid a broken migration" in file.read_text()
    assert f"({file.name})" in (folder / "MEMORY.md").read_text()
    assert file.name in program("search", "MIGRATION", "mock").stdout


@pytest.mark.behaviour("hand-edits-are-first-class")
def test_what_an_editor_did_is_seen_and_undone(program: Program) -> None:
    program("remember", "One", "--name", "one")
    program("remember", "Two", "--name", "two")
    folder = Path(program("path").stdout.splitlines()[-1])
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    (folder / "project_one.md").unlink()
    (folder / "project_two.md").write_text("scribbled over")
    (folder / "three.md").write_text("---\nname: three\ndescription: d\ntype: user\n---\nnew\n")
    [newest, *_] = json.loads(program("log", "--json").stdout)["changes"]
    assert newest["source"] == "outside"
    assert {file["file"]: file["change"] for file in newest["files"]} == {
        "project_one.md": "deleted",
        "project_two.md": "changed",
        "three.md": "added",
    }
    unnamed = program("undo")
    assert unnamed.returncode == 7 and "would delete three.md" in unnamed.stderr
    assert program("undo", newest["id"]).returncode == 0
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before


@pytest.mark.behaviour("two-writers-lose-nothing")
def test_eight_processes_write_at_once(memdir_command: str, project: Path, program: Program) -> None:
    children = [
        subprocess.Popen(
            [memdir_command, "remember", f"Fact number {number}", "--name", f"fact {number}"],
            cwd=project,
            stdout=subprocess.DEVNULL,
        )
        for number in range(8)
    ]
    assert [child.wait(timeout=60) for child in children] == [0] * 8
    listed = {memory["name"] for memory in json.loads(program("list", "--json").stdout)["memories"]}
    assert listed == {f"fact {number}" for number in range(8)}
    folder = Path(program("path").stdout.splitlines()[-1])
    assert len((folder / "MEMORY.md").read_text().splitlines()) == 8
    assert len(json.loads(program("log", "--json").stdout)["changes"]) == 8
    assert program("doctor").returncode == 0


@pytest.mark.behaviour("hostile-repository")
def test_a_hostile_repository_decides_nothing(program: Program, project: Path, tmp_path: Path) -> None:
    victim = tmp_path / "victim"
    victim.mkdir()
    (project / ".memdir").mkdir()
    (project / ".memdir" / "settings.json").write_text(
        json.dumps({"memoryDirectory": str(victim), "worktrees": "isolated"})
    )
    (project / ".memdir" / "agent-memory").symlink_to(victim)
    assert program("remember", "Something").returncode == 0
    assert program("remember", "Something", "--scope", "agent-project:helper").returncode != 0
    assert list(victim.iterdir()) == []
    found = json.loads(program("doctor", "--json").stdout)["findings"]
    assert {finding["check"] for finding in found} >= {"settings"}


@pytest.mark.behaviour("another-agent-s-home")
def test_claude_code_s_memories_are_served_as_they_are(program: Program, project: Path, tmp_path: Path) -> None:
    home = tmp_path / ".claude"
    folder = home / "projects" / slug_of(str(project)) / "memory"
    folder.mkdir(parents=True)
    original = "---\nname: no mocks\ndescription: Tests: real database only\ntype: feedback\nextra: 1\n---\n\nRule.\n"
    (folder / "feedback_testing.md").write_text(original)
    (folder / "MEMORY.md").write_text("- [no mocks](feedback_testing.md) — real database\n")
    listed = json.loads(program("list", "--json", MEMDIR_HOME=str(home)).stdout)
    assert [memory["description"] for memory in listed["memories"]] == ["Tests: real database only"]
    program("forget", "mocks", MEMDIR_HOME=str(home))
    program("undo", MEMDIR_HOME=str(home))
    assert (folder / "feedback_testing.md").read_text() == original
    assert sorted(path.name for path in folder.iterdir()) == ["MEMORY.md", "feedback_testing.md"]


@pytest.mark.behaviour("moved-project")
def test_a_renamed_project_keeps_its_memories_and_history(program: Program, repository: Path) -> None:
    program("remember", "Kept", cwd=repository)
    moved = Path(shutil.move(repository, repository.with_name("renamed")))
    assert "took it over" in program("path", cwd=moved).stderr
    changes = json.loads(program("log", "--json", cwd=moved).stdout)["changes"]
    assert [entry["subject"] for entry in changes] == ["remember Kept"]


@pytest.mark.behaviour("off-is-off")
def test_off_reads_and_writes_nothing(program: Program) -> None:
    program("remember", "Before")
    for words in (("remember", "x"), ("list",), ("search", "Before"), ("path",)):
        ran = program(*words, MEMDIR_DISABLE="1")
        assert ran.returncode == 1
        assert ran.stdout == ""
    assert program("prompt", MEMDIR_DISABLE="1").stdout == ""
    assert "Before" in program("list").stdout


@pytest.mark.behaviour("no-text-in-events")
def test_events_tell_what_happened_but_no_words_of_a_memory(program: Program) -> None:
    program("remember", "The unicorn launches in spring", "--name", "rhinoceros")
    program("forget", "rhinoceros")
    log = Path(os.environ["MEMDIR_HOME"], "logs", "events.jsonl")
    events = [json.loads(line) for line in log.read_text().splitlines()]
    assert [event["event"] for event in events] == ["memory.changed", "memory.changed"]
    assert "unicorn" not in log.read_text()
    assert "rhinoceros" not in log.read_text()
