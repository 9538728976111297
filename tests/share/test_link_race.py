"""A folder that is swapped for a link to somewhere else, again and again, while memories are written there (E3).

A second by default; a minute with `make test-share`."""

from __future__ import annotations

import os
import shutil
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from memdir.errors import MemdirError
from memdir.layout import Place
from memdir.share.judge import read_local
from memdir.share.remote import TeamCaps
from memdir.store.history import Origin
from tests.share.conftest import Team
from tests.share.remotes import TeamPlace, memory_text

SECONDS = 60.0 if os.environ.get("SHARE_TESTS") == "all" else 1.5


@contextmanager
def swapping(folder: Path, outside: Path, aside: Path) -> Iterator[None]:
    """Another process that puts a link in the place of a folder and takes it away again, as fast as it can."""
    child = os.fork()
    if child == 0:
        while True:
            with suppress(OSError):
                os.rename(folder, aside)
            with suppress(OSError):
                os.symlink(outside, folder)
            with suppress(OSError):
                os.unlink(folder)
            with suppress(OSError):
                os.rename(aside, folder)
    try:
        yield
    finally:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)


def test_of_a_directory_that_is_a_link_nothing_is_read_for_others(tmp_path: Path) -> None:
    """The moment in which the races below are lost."""
    memory, outside = tmp_path / "memory", tmp_path / "outside"
    memory.mkdir()
    outside.mkdir()
    (outside / "mine.md").write_text(memory_text("mine", "Nobody's business."))
    (memory / "team").symlink_to(outside)
    found = read_local(Place(str(memory / "team"), base=str(memory)), TeamCaps())
    assert not found.texts and [one.reason for one in found.left_out.values()] == ["path"]


@pytest.mark.parametrize("kind", ["folder"])
@pytest.mark.parametrize("link", ["..", "../sub"])
def test_what_is_the_team_s_is_not_written_among_the_private_memories(team: Team, link: str) -> None:
    """Also not by a link that stays inside the memory directory, which a memory of one's own may lie behind."""
    (ann,) = team("ann")
    ann.put("sub/a.md", memory_text("a", "First."))
    ann.sync()
    (ann.root.parent / "sub").mkdir()
    with suppress(MemdirError), ann.store.changing(Origin("cli"), "write") as change:
        change.write("sub/new.md", memory_text("new", "The team's.").encode())
        os.rename(ann.root / "sub", ann.root / "aside")
        os.symlink(link, ann.root / "sub")
    outside = [path for path in ann.root.parent.rglob("*.md") if ann.root not in path.parents]
    assert outside == []


@pytest.mark.parametrize("kind", ["folder"])
@pytest.mark.parametrize("swapped", ["sub", ""])
def test_nothing_is_written_or_read_outside(team: Team, place: TeamPlace, tmp_path: Path, swapped: str) -> None:
    """A folder of the team's directory, and that directory itself."""
    ann, bob = team("ann", "bob")
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "mine.md").write_text(memory_text("mine", "Nobody's business."))
    for number in range(5):
        (outside / f"m{number}.md").write_text(memory_text("mine", "Nobody's business."))
    shutil.copytree(outside, outside / "sub")
    before = {path: path.read_bytes() for path in outside.rglob("*") if path.is_file()}
    for number in range(5):
        bob.put(f"sub/m{number}.md", memory_text(f"m{number}", "First."))
    bob.sync()
    ann.sync()
    until, rounds, written = time.monotonic() + SECONDS, 0, 0
    with swapping(ann.root / swapped, outside, tmp_path / "aside"):
        while time.monotonic() < until:
            rounds += 1
            key = f"sub/m{rounds % 5}.md"
            with suppress(MemdirError, OSError), ann.store.changing(Origin("cli"), "write") as change:
                if rounds % 3:
                    change.write(key, memory_text("m", f"Round {rounds}.").encode())
                else:
                    change.delete(key)
                written += 1
            if not rounds % 10:
                with suppress(MemdirError, OSError):
                    ann.sync()
    assert {path: path.read_bytes() for path in outside.rglob("*") if path.is_file()} == before
    assert not any(b"Nobody's business" in data for data in place.contents())
    assert written
