"""One writer at a time, also across processes, and never a stale lock (S13)."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from memdir.disk.lock import locked
from memdir.errors import DiskError, LockBusy

HOLD = """
import sys
from memdir.disk.lock import locked
with locked(sys.argv[1]):
    print("held", flush=True)
    sys.stdin.read()
"""
COUNT = """
import sys
from memdir.disk.lock import locked
for _ in range(int(sys.argv[3])):
    with locked(sys.argv[1]):
        value = int(open(sys.argv[2]).read())
        open(sys.argv[2], "w").write(str(value + 1))
"""


def hold(path: Path) -> subprocess.Popen[str]:
    child = subprocess.Popen(
        [sys.executable, "-c", HOLD, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert child.stdout and child.stdout.readline() == "held\n"
    return child


def test_a_busy_lock_is_an_error_that_names_the_holder(tmp_path: Path) -> None:
    with hold(tmp_path / "lock") as child:
        with pytest.raises(LockBusy, match=str(child.pid)), locked(str(tmp_path / "lock"), wait_seconds=0.05):
            pytest.fail("two holders")
        child.communicate("")


def test_a_killed_holder_blocks_nobody(tmp_path: Path) -> None:
    with hold(tmp_path / "lock") as child:
        os.kill(child.pid, signal.SIGKILL)
        child.wait()
        with locked(str(tmp_path / "lock"), wait_seconds=1):
            pass


def test_the_same_process_cannot_hold_it_twice(tmp_path: Path) -> None:
    with (
        locked(str(tmp_path / "lock")),
        pytest.raises(LockBusy),
        locked(str(tmp_path / "lock"), wait_seconds=0.01),
    ):
        pytest.fail("two holders")


def test_the_folder_of_the_lock_is_made(tmp_path: Path) -> None:
    with locked(str(tmp_path / "new" / "lock")):
        assert (tmp_path / "new" / "lock").exists()


def test_a_folder_a_link_or_a_fifo_in_its_place_is_an_error_not_a_hang(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "elsewhere")
    for name in ("folder", "link"):
        with pytest.raises(DiskError, match=name), locked(str(tmp_path / name)):
            pass
    os.mkfifo(tmp_path / "fifo")
    with locked(str(tmp_path / "fifo"), wait_seconds=0.1):
        pass


def test_a_lock_file_that_was_replaced_is_locked_again(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    with locked(str(path)):
        path.unlink()
        with locked(str(path), wait_seconds=1):
            assert path.exists()


def test_eight_processes_count_without_losing_one(tmp_path: Path) -> None:
    counter = tmp_path / "counter"
    counter.write_text("0")
    command = [sys.executable, "-c", COUNT, str(tmp_path / "lock"), str(counter), "25"]
    children = [subprocess.Popen(command) for _ in range(8)]
    assert [child.wait() for child in children] == [0] * 8
    assert counter.read_text() == "200"
