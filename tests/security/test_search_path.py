"""A project cannot bring the programs that memdir starts, even where PATH names the current folder (S15)."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from memdir.disk.programs import find_program, search_path
from tests.conftest import Ran

Memdir = Callable[..., Ran]
PROGRAMS = ("git", "rg", "vi", "claude", "codex", "bwrap", "bash", "sh")


@pytest.fixture
def bringing(repository: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project with programs of these names in the folders that a careless PATH leads to."""
    memories = repository / ".memdir" / "agent-memory" / "helper"
    for folder in (repository, repository / "bin", memories):
        folder.mkdir(parents=True, exist_ok=True)
        for name in PROGRAMS:
            (folder / name).write_text(f"#!/bin/sh\n: > {repository}/ran-{name}\n")
            (folder / name).chmod(0o755)
    monkeypatch.setenv("PATH", os.pathsep.join(("", ".", "bin", "./bin", "..", os.environ["PATH"], "")))
    return repository


def test_no_command_starts_what_lies_in_the_project(bringing: Path, memdir: Memdir) -> None:
    commands = (
        ("remember", "The loader is in src/old.py, see `load_config()`", "--anyway"),
        ("remember", "A helper's memory", "--scope", "agent-project:helper"),
        ("edit", "loader"),
        ("recall", "open src/old.py, the loader", "--render"),
        ("doctor",),
        ("dream", "--yes"),
        ("log",),
        ("undo",),
    )
    for words in commands:
        memdir(*words, cwd=bringing)
    assert [path.name for path in bringing.glob("ran-*")] == []
    assert "The loader" in memdir("log", cwd=bringing).out, "the history was kept by the real git"


def test_programs_are_found_in_absolute_folders_only(
    bringing: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(bringing)
    assert all(os.path.isabs(folder) for folder in search_path().split(os.pathsep))
    assert os.path.isabs(find_program("git"))
    monkeypatch.setenv("PATH", os.pathsep.join(("", ".", "bin")))
    assert find_program("git") == ""
    monkeypatch.setenv("PATH", "")
    assert find_program("git") == ""
