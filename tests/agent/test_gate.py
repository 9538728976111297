"""The gate: reading is free, writing ends at the memory directory, everything else is refused with a way out (G4)."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from memdir.agent.gate import Allow, Deny, MemoryGate, memory_gate
from memdir.transcript.message import ToolUse


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "memory"
    folder.mkdir()
    return folder


@pytest.fixture
def gate(root: Path, project: Path) -> MemoryGate:
    return MemoryGate((str(root),), str(project))


def call(name: str, **arguments: str | int) -> ToolUse:
    return ToolUse("1", name, arguments)


@pytest.mark.parametrize("name", ["Read", "Grep", "Glob"])
def test_reading_is_allowed(gate: MemoryGate, name: str) -> None:
    assert gate(call(name, file_path="/anything", pattern="x")) == Allow()


@pytest.mark.parametrize("tool", ["Write", "Edit"])
def test_writing_is_allowed_below_the_memory_directory_only(
    gate: MemoryGate, root: Path, project: Path, tmp_path: Path, tool: str
) -> None:
    (root / "sub").mkdir()
    allowed = [root / "a.md", root / "MEMORY.md", root / "sub" / "b.md", root / "new" / "deep" / "c.md"]
    refused = [
        root,
        Path(f"{root}-evil", "a.md"),
        Path(f"{root}.state", "journal"),
        root / ".." / "other.md",
        root / "sub" / ".." / ".." / "x.md",
        project / "README.md",
        Path("/etc/passwd"),
        Path("relative.md"),
    ]
    for path in allowed:
        assert gate(call(tool, file_path=str(path))) == Allow(), path
    for path in refused:
        verdict = gate(call(tool, file_path=str(path)))
        assert isinstance(verdict, Deny), path
        assert str(root) in verdict.reason, "it says where writing is allowed"


@pytest.mark.parametrize("tool", ["Write", "Edit"])
def test_links_are_resolved_before_judging(gate: MemoryGate, root: Path, tmp_path: Path, tool: str) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (root / "folder").symlink_to(outside)
    (root / "file.md").symlink_to(outside / "x.md")
    (root / "loop.md").symlink_to(root / "loop.md")
    (tmp_path / "alias").symlink_to(root)
    for name in ("folder/x.md", "file.md", "folder/deep/new.md"):
        assert isinstance(gate(call(tool, file_path=str(root / name))), Deny), name
    assert gate(call(tool, file_path=str(tmp_path / "alias" / "a.md"))) == Allow()


def test_relative_paths_start_in_the_working_directory(root: Path, project: Path) -> None:
    gate = MemoryGate((str(root),), str(root))
    assert gate(call("Write", file_path="a.md")) == Allow()
    assert isinstance(gate(call("Write", file_path="../project/a.md")), Deny)


@pytest.mark.parametrize("arguments", [{}, {"file_path": 5}, {"file_path": "a\0b.md"}])
def test_a_write_without_a_path_is_refused(gate: MemoryGate, arguments: dict[str, str | int]) -> None:
    assert isinstance(gate(call("Write", **arguments)), Deny)


@pytest.mark.parametrize("name", ["WebFetch", "Agent", "bash", "write", "mcp__shell__run", ""])
def test_other_tools_are_refused_with_what_there_is(gate: MemoryGate, root: Path, name: str) -> None:
    verdict = gate(call(name, file_path=str(root / "a.md")))
    assert isinstance(verdict, Deny)
    for word in ("Read", "Grep", "Glob", "Bash", "Edit", "Write", str(root)):
        assert word in verdict.reason


def test_several_directories_may_be_open(root: Path, project: Path, tmp_path: Path) -> None:
    team = tmp_path / "team"
    gate = MemoryGate((str(root), str(team)), str(project))
    assert gate(call("Write", file_path=str(team / "a.md"))) == Allow()
    verdict = gate(call("Write", file_path="/x.md"))
    assert isinstance(verdict, Deny)
    assert str(team) in verdict.reason and str(root) in verdict.reason


def test_where_there_is_no_bash_the_refusal_says_why_and_what_to_use(root: Path, project: Path) -> None:
    gate = MemoryGate((str(root),), str(project), no_bash="there is no kernel sandbox on this machine")
    verdict = gate(call("Bash", command="ls"))
    assert isinstance(verdict, Deny)
    assert "no kernel sandbox" in verdict.reason and "Read, Grep and Glob" in verdict.reason
    other = gate(call("WebFetch"))
    assert isinstance(other, Deny)
    assert "Bash" not in other.reason, "it is not offered instead of something else"


def test_bash_is_judged_by_the_shell_judge(gate: MemoryGate) -> None:
    assert gate(call("Bash", command="ls -la")) == Allow()
    assert isinstance(gate(call("Bash", command="rm -rf /")), Deny)
    assert isinstance(gate(call("Bash")), Deny)


def test_the_gate_for_a_fork_knows_its_machine(root: Path, project: Path) -> None:
    gate = memory_gate([str(root)], cwd=str(project))
    assert gate.roots == (str(root),)
    assert gate(call("Write", file_path=os.path.join(root, "a.md"))) == Allow()


def test_a_command_is_judged_in_the_folder_where_it_will_run(gate: MemoryGate, project: Path) -> None:
    """A pattern is what it stands for there."""
    assert gate(call("Bash", command="cat ./*.txt")) == Allow()
    (project / ".env").write_text("x", encoding="utf-8")
    (project / "notes.txt").symlink_to(".env")
    assert isinstance(gate(call("Bash", command="cat ./*.txt")), Deny)


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("Bash", {"command": "rm /m/a.md"}),
        ("Bash", {"command": "cd /m && git rm a.md"}),
        ("Bash", {"command": "unlink /m/a.md"}),
        ("Delete", {"file_path": "/m/a.md"}),
        ("DeleteFile", {"path": "/m/a.md"}),
        ("remove_file", {}),
    ],
)
def test_who_would_delete_is_told_how(gate: MemoryGate, name: str, arguments: dict[str, str]) -> None:
    verdict = gate(call(name, **arguments))
    assert isinstance(verdict, Deny) and "<!-- delete: the reason -->" in verdict.reason


def test_a_write_elsewhere_is_told_its_place(gate: MemoryGate, root: Path) -> None:
    verdict = gate(call("Write", file_path="/memories/a.md"))
    assert isinstance(verdict, Deny) and str(root / "a.md") in verdict.reason
