"""Only `disk/` opens files: what is read without it may block, or never end (S15). The list is short and says why."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import memdir

SOURCE = Path(memdir.__file__).parent
SHIPPED = "a file of the package"
ALLOWED = {
    "agent/bash/landlock_launcher.py": "O_PATH descriptors for the kernel's own rules; nothing is read",
    "agent/tools/search_lines.py": "a program of its own, given plain files only, under a time limit",
    "chat/command.py": "folders of a chat without memory, held until it ends; nothing is read",
    "chat/first_run.py": "asks a server of models on this machine; no file",
    "cli/entry.py": "/dev/null, for output that nobody reads any more",
    "dream/gates.py": "a lock file, opened without waiting and never followed",
    "hooks/daemon.py": "what the kernel tells of this process",
    "hub/postgres_database.py": "a pool of connections to a server; no file",
    "mcp_server/stdio.py": "our own standard output; nothing is read",
    "process.py": "/dev/null, for a stream that the caller closed, and for a worker that outlives its host",
    "store/archive.py": "a member of a zip file that is already open",
    "store/journal.py": "one byte of our own journal, written in place",
    "transcript/transcript.py": "opened for appending, without waiting, and held for a session",
}
_OPENING = {"open", "read_text", "read_bytes", "fdopen"}
_OF_A_STORE = {"store", "self", "draft"}  # MemoryStore.read_bytes reads by the door


def opening_modules() -> Iterator[str]:
    for path in sorted(SOURCE.rglob("*.py")):
        name = path.relative_to(SOURCE).as_posix()
        if not name.startswith("disk/") and any(map(_opens, ast.walk(ast.parse(path.read_text("utf-8"))))):
            yield name


def _opens(node: ast.AST) -> bool:
    if not isinstance(node, ast.Call):
        return False
    called = node.func
    if isinstance(called, ast.Name):
        return called.id == "open"
    if not isinstance(called, ast.Attribute) or called.attr not in _OPENING:
        return False
    owner = called.value
    return not (called.attr == "read_bytes" and _name(owner) in _OF_A_STORE)


def _name(node: ast.AST) -> str:
    return node.id if isinstance(node, ast.Name) else node.attr if isinstance(node, ast.Attribute) else ""


def test_files_are_opened_by_one_door() -> None:
    found = set(opening_modules())
    assert found - ALLOWED.keys() == set(), "read through memdir.disk.plain_file"
    assert ALLOWED.keys() - found == set(), "no longer needed: take it off the list"
