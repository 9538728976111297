"""The lock of the dream (D2): its file's time is the time of the last consolidation, its text names the holder.

Exclusion is the kernel's (`flock`); the text is never believed. The time is right at every instant, so that a killed
dream counts as none: while a dream runs, the file carries the previous time, and an empty file or none means never.
"""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Callable
from dataclasses import dataclass

from memdir.disk.atomic import FILE_MODE, TEMPORARY_PREFIX, delete_file, disk_error, flush_folder, make_folder
from memdir.disk.lock import locked
from memdir.disk.open_writers import try_lock
from memdir.disk.plain_file import NEVER_WAIT, NO_LINK
from memdir.errors import MemdirError

STALE_SECONDS = 3600.0  # a holder older than this hangs or sleeps; it finds out before it writes
FUTURE_SECONDS = 300.0  # a time further ahead than clocks differ is nonsense, and nonsense must not block for ever
LOCK_NAME = ".consolidate-lock"

_OPEN = os.O_RDWR | NO_LINK | NEVER_WAIT


def last_dream(folder: str, now: float) -> float | None:
    """When memories were last consolidated; None for never. One `stat`."""
    try:
        status = os.stat(os.path.join(folder, LOCK_NAME), follow_symlinks=False)
    except OSError:
        return None
    is_nonsense = not stat.S_ISREG(status.st_mode) or status.st_size == 0 or status.st_mtime > now + FUTURE_SECONDS
    return None if is_nonsense or status.st_mtime <= 0 else status.st_mtime


@dataclass
class DreamLock:
    """The lock, held. `is_mine` is asked before anything is written: a holder that slept too long has lost it."""

    path: str
    guard: str
    descriptor: int
    before: float | None

    def is_mine(self) -> bool:
        try:
            return os.path.samestat(os.fstat(self.descriptor), os.stat(self.path, follow_symlinks=False))
        except OSError:
            return False

    def done(self, now: float, summary: str) -> None:
        """The dream succeeded: from now on its time is the file's time."""
        self._let_go(lambda: _fill(self.descriptor, {"finished": now, "summary": summary}, now))

    def give_up(self) -> None:
        """The dream failed or was stopped: as if it had not been, so that the next session may try again. A file that
        was there before carries its old time already."""
        self._let_go(lambda: delete_file(self.path) if self.before is None else None)

    def _let_go(self, leave: Callable[[], object]) -> None:
        """A disk that fails here changes nothing about the dream: its memories are written, or they are not. All that
        is lost is the time, and the next dream comes too early."""
        try:
            with locked(self.guard):
                if self.is_mine():
                    leave()
        except (OSError, MemdirError):
            pass
        finally:
            os.close(self.descriptor)


def take_dream_lock(folder: str, *, guard: str, now: float) -> DreamLock | None:
    """The lock, or None when another dream holds it and is not stale.

    `guard` is the directory's own lock: whoever takes, gives back or replaces this lock does so under it, so that two
    that find the same stale holder cannot both replace it.
    """
    make_folder(folder)
    path = os.path.join(folder, LOCK_NAME)
    with locked(guard):
        if _is_held(path, now):
            return None
        for name in os.listdir(folder):  # what a process left that was killed while it took the lock
            if name.startswith(LOCK_NAME + "-"):
                delete_file(os.path.join(folder, name))
        try:
            return _put_in_place(path, guard, last_dream(folder, now), now)
        except OSError as error:
            raise disk_error(error, "take the lock", path) from error


def _put_in_place(path: str, guard: str, before: float | None, now: float) -> DreamLock:
    """Make the file with our name and the old time aside, then move it over whatever stands there: a link, a FIFO,
    garbage, a dead holder's. At no instant does the path carry a wrong time."""
    # In the state folder, where every start sweeps what a kill left; beside the file where that is another disk.
    state, unique = os.path.dirname(guard), os.urandom(8).hex()
    is_near = os.stat(state).st_dev == os.stat(os.path.dirname(path)).st_dev
    aside = os.path.join(state, TEMPORARY_PREFIX + unique) if is_near else f"{path}-{unique}"
    descriptor = os.open(aside, _OPEN | os.O_CREAT | os.O_EXCL, FILE_MODE)
    try:
        try_lock(descriptor)
        _fill(descriptor, {"pid": os.getpid(), "started": now, "before": before}, before or 0.0)
        if os.path.isdir(path):
            os.rmdir(path)
        os.replace(aside, path)
    except BaseException:
        os.close(descriptor)
        delete_file(aside)
        raise
    flush_folder(os.path.dirname(path))
    return DreamLock(path, guard, descriptor, before)


def _is_held(path: str, now: float) -> bool:
    """Whether a living holder has the file that stands there, and began less than an hour ago."""
    try:
        descriptor = os.open(path, _OPEN)
    except OSError:
        return False  # nothing there, or something that nobody can hold
    try:
        if try_lock(descriptor):
            return False
        return now - float(json.loads(os.pread(descriptor, 4096, 0))["started"]) <= STALE_SECONDS
    except (OSError, ValueError, KeyError, TypeError):
        return True  # a text that does not say since when is not believed: the holder lives
    finally:
        os.close(descriptor)


def _fill(descriptor: int, text: dict[str, object], mtime: float) -> None:
    data = json.dumps(text).encode("utf-8") + b"\n"
    os.pwrite(descriptor, data, 0)
    os.ftruncate(descriptor, len(data))
    os.utime(descriptor, (mtime, mtime))
    os.fsync(descriptor)
