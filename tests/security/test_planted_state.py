"""What somebody puts into the state folder: read only within bounds, and no link in it is followed (S13, S15)."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from memdir.store.journal import MAX_JOURNAL_BYTES
from memdir.store.store import MemoryStore
from tests.conftest import Ran


@pytest.mark.parametrize("name", ["journal", "waiting/000001"])
def test_a_giant_journal_is_set_aside_unread(name: str, memdir: Callable[..., Ran], memdir_command: str) -> None:
    """Thirty gigabytes of nothing: a sparse file, which costs the disk one block and a reader all its memory."""
    memdir("remember", "First")
    state = Path(memdir("path").out.strip() + ".state")
    giant = state / name
    giant.parent.mkdir(exist_ok=True)
    giant.write_bytes(b"memdir-journal 2\n")
    os.truncate(giant, 30 << 30)
    command = [memdir_command, "remember", "Second"]
    done = subprocess.run(command, capture_output=True, text=True, preexec_fn=_with_little_memory, check=False)
    assert done.returncode == 0, done.stderr
    assert not giant.exists()
    [aside] = state.glob("journal.damaged-*")
    assert aside.stat().st_size == 30 << 30 > MAX_JOURNAL_BYTES
    assert os.path.basename(aside) in memdir("doctor").out
    assert memdir("undo").code == 0


def _with_little_memory() -> None:
    if sys.platform.startswith("linux"):  # elsewhere there is no such limit
        resource.setrlimit(resource.RLIMIT_AS, (3 << 30, 3 << 30))


@pytest.mark.parametrize("name", ["waiting", "drafts"])
@pytest.mark.parametrize("command", ["remember", "doctor", "list"])
def test_no_link_in_the_state_folder_is_followed(
    name: str, command: str, memdir: Callable[..., Ran], tmp_path: Path
) -> None:
    memdir("remember", "First")
    state = Path(memdir("path").out.strip() + ".state")
    theirs = tmp_path / "theirs"
    theirs.mkdir()
    for file in ("000001", "000002-x.md", ".memdir-tmp-0123456789abcdef"):
        (theirs / file).write_text("precious")
    before = sorted(os.listdir(theirs))
    (state / name).symlink_to(theirs)
    for words in ((command, *(["Second"] if command == "remember" else [])), ("undo",), ("doctor", "--fix")):
        assert memdir(*words).code == 0, words
    assert sorted(os.listdir(theirs)) == before
    assert not (state / name).is_symlink()
    assert "it was not followed" in memdir("doctor").out


def test_a_draft_is_not_put_behind_a_link(store: MemoryStore, tmp_path: Path) -> None:
    store.ensure()
    theirs = tmp_path / "theirs"
    theirs.mkdir()
    os.makedirs(store.place.state, exist_ok=True)
    os.symlink(theirs, store.place.drafts)
    assert Path(store.keep_draft("x.md", b"text")).read_bytes() == b"text"
    assert os.listdir(theirs) == []
