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
