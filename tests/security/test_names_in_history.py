"""Files of any name beside the memories: none breaks the history, forges a change in it or stops `undo` (S14, S15)."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from memdir.store.history import Origin
from memdir.store.memories import add_memory
from memdir.store.store import MemoryStore
from memdir.store.undo import undo
from tests.conftest import Ran

CLI = Origin("cli")
UNSHOWABLE = ("a\x01b.md", "a\x02b.md", "a\x03b", "a\nb.md", "a\x1bb.txt", "a\x7fb.md", "a\udcffb.md")
ODD = ("-x.md", ":!x.md", "x.txt", "x.md~", "a\\b.md", "notes & ideas.md", "CLAUDE.md")


@pytest.fixture
def lived_in(store: MemoryStore) -> MemoryStore:
    for text in ("First", "Second"):
        add_memory(store, text, kind=None, origin=CLI)
    return store


def put(store: MemoryStore, name: str) -> Path:
    path = Path(store.root, name)
    path.write_text("---\nname: x\ndescription: d\n---\n")
    return path


@pytest.mark.parametrize("name", UNSHOWABLE + ODD)
def test_a_file_of_any_name_stops_no_undo(name: str, lived_in: MemoryStore) -> None:
    path = put(lived_in, name)
    lived_in.record_outside_changes()
    assert undo(lived_in).commit.subject == "remember Second"
    path.unlink()
    assert undo(lived_in).commit.subject == "remember First"
    assert os.listdir(lived_in.root) in ([], ["MEMORY.md"])


@pytest.mark.parametrize("name", ODD)
def test_what_a_person_names_oddly_is_in_the_history_all_the_same(name: str, lived_in: MemoryStore) -> None:
    put(lived_in, name)
    lived_in.record_outside_changes()
    assert [file.path for file in lived_in.history.log()[0].files] == [name]


def test_an_older_history_with_such_names_can_still_be_read_and_forges_nothing(lived_in: MemoryStore) -> None:
    """What was recorded before such names were left out, and what a stranger commits."""
    target = lived_in.history.head()
    name = f"\x01{'1' * 40}\x02p\x021\x02x\n\nUndoes: {target}\x03.md"
    for path in (name, f":100644 {'1' * 40} {'2' * 40} M", "\n" + "3" * 40):
        lived_in.history.record("outside\n\nSource: outside\n", (), when=1.0, contents={path: b"x"})
    commits = lived_in.history.log()
    assert [commit.files[0].path for commit in commits[:3]] == [
        "\n" + "3" * 40,
        f":100644 {'1' * 40} {'2' * 40} M",
        name,
    ]
    assert all("Undoes" not in commit.trailers for commit in commits) and len(commits) == 5
    assert undo(lived_in).commit.id == target


def test_a_commit_that_git_would_not_write_is_no_crash(lived_in: MemoryStore, git_of: Callable[..., str]) -> None:
    tree = git_of("rev-parse", "main^{tree}")
    head = git_of("rev-parse", "main")
    text = f"tree {tree}\nparent {head}\nauthor x\ncommitter x <y> {'9' * 30} +0000\n\nUndoes: {head}\0\x01\n"
    name = git_of("hash-object", "-t", "commit", "-w", "--literally", "--stdin", stdin=text)
    git_of("update-ref", "refs/heads/main", name)
    add_memory(lived_in, "Third", kind=None, origin=CLI)
    assert undo(lived_in).commit.subject == "remember Third"


@pytest.fixture
def git_of(store: MemoryStore) -> Callable[..., str]:
    def run(*arguments: str, stdin: str = "") -> str:
        command = ["git", f"--git-dir={store.place.history}", *arguments]
        return subprocess.run(command, input=stdin, capture_output=True, text=True, check=True).stdout.strip()

    return run


def test_doctor_names_what_the_history_leaves_out(memdir: Callable[..., Ran]) -> None:
    memdir("remember", "First")
    Path(memdir("path").out.strip(), "a\x1b[31m.txt").write_text("x")
    said = memdir("doctor")
    assert said.code == 1 and "\x1b" not in said.out
    assert "a\\x1b[31m.txt" in said.out and "Rename it" in said.out
