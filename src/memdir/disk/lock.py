"""One writer at a time: an OS lock on a file beside the directory (S13).

The kernel drops the lock when its holder dies, so no lock is ever stale. The file's text names the holder for
error messages only; nothing is decided by it.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager

from memdir.disk.atomic import FILE_MODE, disk_error, disk_errors, make_folder
from memdir.disk.open_writers import try_lock, unlock
from memdir.disk.plain_file import NEVER_WAIT, NO_LINK
from memdir.errors import LockBusy

WAIT_SECONDS = 30.0  # longer than any write we do; shorter than a person's patience
SHORT_WAIT_SECONDS = 0.5  # for what can be done later as well: whoever only asks is answered at once
_FIRST_PAUSE_SECONDS = 0.001
_LONGEST_PAUSE_SECONDS = 0.025

_OPEN = os.O_RDWR | os.O_CREAT | NO_LINK | NEVER_WAIT


@contextmanager
def locked(path: str, *, wait_seconds: float = WAIT_SECONDS) -> Iterator[int]:
    """Hold the lock file at `path` for the length of a `with` block; LockBusy when it is not free in time.

    Gives the lock's descriptor: a child process that inherits it keeps the lock if we are killed before it ends.
    """
    descriptor = _acquire(path, wait_seconds)
    try:
        _name_holder(descriptor)
        yield descriptor
    finally:
        _release(descriptor)


def _acquire(path: str, wait_seconds: float) -> int:
    deadline = time.monotonic() + wait_seconds
    pause = _FIRST_PAUSE_SECONDS
    while True:
        descriptor = _open(path)
        try:
            if try_lock(descriptor):
                if _is_still_there(descriptor, path):
                    return descriptor
                os.close(descriptor)  # the state folder was replaced while we waited: lock the new file
                continue
        except OSError as error:
            os.close(descriptor)
            raise disk_error(error, "take the lock", path) from error
        holder = _holder(descriptor)
        os.close(descriptor)
        if time.monotonic() >= deadline:
            raise LockBusy(
                f"another process{holder} has been writing for more than {wait_seconds:g} s ({path})",
                remedy="Wait for it to end, or stop it, then run the same command again",
            )
        time.sleep(pause)
        pause = min(pause * 2, _LONGEST_PAUSE_SECONDS)


def _open(path: str) -> int:
    with disk_errors("open the lock", path):
        try:
            return os.open(path, _OPEN, FILE_MODE)
        except FileNotFoundError:
            make_folder(os.path.dirname(path))
            return os.open(path, _OPEN, FILE_MODE)


def _is_still_there(descriptor: int, path: str) -> bool:
    try:
        return os.path.samestat(os.fstat(descriptor), os.stat(path))
    except FileNotFoundError:
        return False


def _name_holder(descriptor: int) -> None:
    try:
        os.ftruncate(descriptor, 0)
        os.write(descriptor, b"%d\n" % os.getpid())
    except OSError:
        return  # a full disk must not stop a deletion; the text only serves messages


def _holder(descriptor: int) -> str:
    try:
        text = os.read(descriptor, 32).decode("ascii", "replace").strip()
    except OSError:
        return ""
    return f" (process {text})" if text.isdigit() else ""


def _release(descriptor: int) -> None:
    try:
        unlock(descriptor)  # at once, whatever child still has the descriptor
    except OSError:
        return  # closing it does the same
    finally:
        os.close(descriptor)
