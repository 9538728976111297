"""`memdir dream`: look, write, take back (D5, D7)."""

from __future__ import annotations

import json
import os
import pty
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from memdir.dream.gates import take_dream_lock
from memdir.layout import Layout, Place
from memdir.memdir import open_memory
from tests.conftest import Ran

Memdir = Callable[..., Ran]
RULE = "Use the design tokens for colours in components, never hex values"
DAY = 1_780_000_000.0  # 2026-05-28, a Thursday


@pytest.fixture
def memory(tmp_path: Path, project: Path) -> Path:
    """Two memories that say the same, and one with a date that only its own day explains."""
    root = Path(Layout(str(tmp_path / "home"), str(project)).default_memory)
    root.mkdir(parents=True)
    for name, more in (("tokens_rule.md", "Ask Mateus."), ("design_tokens.md", "Rejected on 2026-06-28.")):
        text = f"---\nname: Design tokens\ndescription: {RULE}\ntype: feedback\n---\n\n{RULE}. {more}\n"
        (root / name).write_text(text)
    freeze = "---\nname: Freeze\ndescription: the release freeze\ntype: project\n---\n\nIt begins tomorrow.\n"
    (root / "freeze.md").write_text(freeze)
    for path in root.glob("*.md"):
        os.utime(path, (DAY, DAY))
    return root


def contents(root: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in root.glob("*.md")}


def test_a_dry_run_shows_the_diff_and_changes_nothing(memdir: Memdir, memory: Path) -> None:
    before = contents(memory)
    ran = memdir("dream", "--dry-run")
    assert ran.code == 0
    assert "+It begins tomorrow (2026-05-29)." in ran.out or "2026-05-29" in ran.out
    assert "reason: " in ran.out, "a deletion says why"
    assert "would change" in ran.out
    assert contents(memory) == before


def test_a_dream_is_written_and_undo_restores_the_exact_bytes(memdir: Memdir, memory: Path) -> None:
    before = contents(memory)
    ran = memdir("dream", "--yes")
    assert ran.code == 0
    after = contents(memory)
    assert len([name for name in after if "tokens" in name]) == 1, "the duplicates are one"
    [kept] = [data for name, data in after.items() if "tokens" in name]
    assert b"Ask Mateus." in kept and b"Rejected on 2026-06-28." in kept
    assert "memdir undo" in ran.out
    assert memdir("undo").code == 0
    assert contents(memory) == before


def test_what_it_did_is_there_for_programs(memdir: Memdir, memory: Path) -> None:
    told = json.loads(memdir("dream", "--yes", "--json").out)
    assert told["dreamt"] is True
    changes = {item["file"]: item["change"] for item in told["files"]}
    assert "deleted" in changes.values() and changes["freeze.md"] == "changed"
    assert all(item["reason"] for item in told["files"] if item["change"] == "deleted")
    again = json.loads(memdir("dream", "--yes", "--json").out)
    assert again["files"] == [], "a second night has nothing left to do"


def test_without_anybody_to_ask_nothing_is_written(memdir: Memdir, memory: Path) -> None:
    before = contents(memory)
    for words in (("dream",), ("dream", "--json")):
        ran = memdir(*words)
        assert ran.code != 0
        assert "--yes" in ran.err + ran.out
    assert contents(memory) == before


@pytest.mark.parametrize(("answer", "writes"), [("y", True), ("n", False)])
def test_a_person_is_asked_with_the_diff_before_them(
    memdir_command: str, memory: Path, project: Path, answer: str, writes: bool
) -> None:
    before = contents(memory)
    controller, terminal = pty.openpty()
    try:
        os.write(controller, answer.encode() + b"\n")
        done = subprocess.run(
            [memdir_command, "dream"],
            cwd=project,
            stdin=terminal,
            stdout=subprocess.PIPE,
            stderr=terminal,
            text=True,
            check=False,
            timeout=60,
        )
        progress = os.read(controller, 1 << 16)
    finally:
        os.close(controller)
        os.close(terminal)
    assert "Write this? [y/N]" in done.stdout
    assert "2026-05-29" in done.stdout.split("Write this?")[0]
    assert (contents(memory) != before) is writes
    assert ("declined" in done.stdout) is not writes
    assert b"dreaming: " in progress and b"failed" not in progress, "a person who says no is told of no failure"


def test_while_another_dream_runs_this_one_steps_back(memdir: Memdir, memory: Path) -> None:
    place = Place(str(memory))
    lock = take_dream_lock(place.root, guard=place.lock, now=time.time())
    assert lock is not None
    ran = memdir("dream", "--yes")
    assert ran.code == 1
    assert "another dream is running" in ran.out
    told = memdir("dream", "--yes", "--json")
    answer = json.loads(told.out)
    assert (told.code, answer["ok"], answer["dreamt"]) == (1, False, False) and "another dream" in answer["reason"]
    lock.give_up()


def test_a_date_that_is_none_is_named(memdir: Memdir, memory: Path) -> None:
    ran = memdir("dream", "--dry-run", "--since", "yesterday-ish")
    assert ran.code != 0
    assert "yesterday-ish" in ran.err and "2026-11-01" in ran.err


def test_why_follows_a_merged_memory_back_to_what_it_was_made_from(memdir: Memdir, memory: Path) -> None:
    """L1, L2."""
    memdir("dream", "--yes")
    [kept] = [path.name for path in memory.glob("*tokens*.md")]
    [gone] = {"tokens_rule.md", "design_tokens.md"} - {kept}
    told = memdir("why", kept).out
    assert f"made from {gone}" in told
    assert list(json.loads(memdir("why", kept, "--json").out)["madeFrom"]) == [gone]


@pytest.mark.parametrize("index", [None, b"# Mine\n- [Old](gone.md) \xe2\x80\x94 kept by hand\n"])
def test_a_dream_leaves_the_index_alone_where_there_is_to_be_none(
    memdir: Memdir, memory: Path, index: bytes | None
) -> None:
    """S12."""
    if index:
        (memory / "MEMORY.md").write_bytes(index)
    told = json.loads(memdir("dream", "--yes", "--json", "--set", "skipIndex=true").out)
    assert told["files"] and "MEMORY.md" not in json.dumps(told)
    assert contents(memory).get("MEMORY.md") == index


@pytest.mark.parametrize(
    ("said", "written"),
    [
        ("We ship in two weeks", "We ship in two weeks (2026-06-11)"),
        ("The freeze is next week", "The freeze is next week (week of 2026-06-01)"),
        ("We agreed to drop Python 3.10 next month", "We agreed to drop Python 3.10 next month (2026-06)"),
        ("The standup is at 9:30 until Friday", "The standup is at 9:30 until Friday 2026-05-29"),
        ("Die Abnahme ist nächste Woche", "Die Abnahme ist nächste Woche (week of 2026-06-01)"),
    ],
)
def test_a_date_that_was_written_beside_its_words_is_not_counted_again_after_any_later_change(
    memdir: Memdir, project: Path, said: str, written: str
) -> None:
    """T3: the doctor complained of it, and the dream counted the words from the day of the change."""
    memory = open_memory(project, clock=lambda: DAY)
    topic = memory.add(said, "project").memory.topic
    assert (topic.name, topic.description, topic.body.strip()) == (written,) * 3
    path = Path(memory.place.root, memory.list()[0].key)
    path.write_text(path.read_text() + "\nOle tests it.\n")
    assert "another day later" not in memdir("doctor").out
    before = contents(path.parent)
    assert f"[{written}]" in before["MEMORY.md"].decode()
    assert memdir("dream", "--yes").code == 0
    assert contents(path.parent) == before


def test_the_words_of_a_name_or_a_cut_description_mean_the_day_that_the_text_tells(
    memdir: Memdir, project: Path
) -> None:
    told = (
        "The review of all that the auditors asked for, at length, in the long letter that came on Monday, is next week"
    )
    memory = open_memory(project)
    memory.add(f"{told} (week of 2026-01-12).", "project", name="Review is next week", description=f"{told} …")
    assert memdir("dream", "--yes").code == 0
    assert memory.list()[0].description == f"{told} …" and memory.list()[0].name == "Review is next week"
    assert "another day later" not in memdir("doctor").out


def test_the_title_in_the_index_follows_a_name_whose_date_was_written_out(memdir: Memdir, memory: Path) -> None:
    (memory / "freeze.md").write_text(
        "---\nname: The freeze begins tomorrow\ndescription: frozen from tomorrow\ntype: project\n---\n\nAsk Ana.\n"
    )
    (memory / "MEMORY.md").write_text("- [The freeze begins tomorrow](freeze.md) — frozen from tomorrow\n")
    os.utime(memory / "freeze.md", (DAY, DAY))
    memdir("dream", "--yes")
    assert "- [The freeze begins on 2026-05-29](freeze.md)" in (memory / "MEMORY.md").read_text()
