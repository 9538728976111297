"""When a dream is due: four gates, cheapest first (D1). While they are closed a turn costs one `stat`.

The lock of the dream (D2) is one of them: its file's time is the time of the last consolidation, its text names the
holder. Exclusion is the kernel's (`flock`); the text is never believed. The time is right at every instant, so that a
killed dream counts as none: while a dream runs, the file carries the previous time, and an empty file or none means
never.
"""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Callable
from dataclasses import dataclass

from memdir.disk.atomic import FILE_MODE, TEMPORARY_PREFIX, delete_file, disk_errors, flush_folder, make_folder
from memdir.disk.lock import locked
from memdir.disk.open_writers import try_lock
from memdir.disk.plain_file import NEVER_WAIT, NO_LINK
from memdir.errors import MemdirError
from memdir.model.budget import day_of
from memdir.store.log_lines import LogNews, log_day
from memdir.store.store import MemoryStore
from memdir.transcript.attended import attended_times

STALE_SECONDS = 3600.0  # a holder older than this hangs or sleeps; it finds out before it writes
FUTURE_SECONDS = 300.0  # a time further ahead than clocks differ is nonsense, and nonsense must not block for ever
LOCK_NAME = ".consolidate-lock"

_OPEN = os.O_RDWR | NO_LINK | NEVER_WAIT

MIN_HOURS = 24.0  # a night
MIN_SESSIONS = 5  # others than the current one, touched since
SCAN_SECONDS = 600.0  # sessions are counted at most every ten minutes


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
        with disk_errors("take the lock", path):
            return _put_in_place(path, guard, last_dream(folder, now), now)


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


@dataclass(frozen=True)
class Due:
    """A dream is due: the sessions since the last one, which it is to look at."""

    sessions: tuple[str, ...]


@dataclass(frozen=True)
class NotDue:
    """It is not, and which gate is closed."""

    gate: str


@dataclass
class DreamGates:
    """The gates of one session. Remembers when it last looked at the sessions."""

    folder: str
    sessions_folder: str
    current_session: str
    why_closed: Callable[[], str]
    clock: Callable[[], float]
    min_hours: float = MIN_HOURS
    min_sessions: int = MIN_SESSIONS
    _scanned_at: float | None = None

    def check(self) -> Due | NotDue:
        """Whether a dream is due now. The lock, the last gate, is taken by the dream itself."""
        if closed := self.why_closed():
            return NotDue(closed)
        now = self.clock()
        since = last_dream(self.folder, now) or 0.0
        if now - since < self.min_hours * 3600:
            return NotDue("time")
        if self._scanned_at is not None and 0 <= now - self._scanned_at < SCAN_SECONDS:
            return NotDue("scanned_recently")
        self._scanned_at = now
        touched = sessions_since(self.sessions_folder, since, without=self.current_session)
        return Due(touched) if len(touched) >= self.min_sessions else NotDue("sessions")


@dataclass
class LogGates:
    """The gates where a daily log is kept: a dream is due once a day, when there are new lines (K3); sessions open
    none, for what was said there is in the log."""

    store: MemoryStore
    why_closed: Callable[[], str]
    clock: Callable[[], float]
    _looked_at: float | None = None

    def check(self) -> Due | NotDue:
        if closed := self.why_closed():
            return NotDue(closed)
        now = self.clock()
        last, today = last_dream(self.store.root, now), day_of(now)
        if last is not None and today <= day_of(last):
            return NotDue("time")
        if self._looked_at is not None and 0 <= now - self._looked_at < SCAN_SECONDS:
            return NotDue("scanned_recently")
        self._looked_at = now
        days = [log_day(line.key) for line in LogNews(self.store).lines]
        if last is None and days and today <= min(days):
            return NotDue("time")  # the first day of a log goes on
        return Due(()) if days else NotDue("no_lines")


def sessions_since(folder: str, since: float, *, without: str = "") -> tuple[str, ...]:
    """The ids of sessions touched since a moment, oldest first: our own, and those of other agents that memdir attends
    to."""
    found = attended_times(folder)
    try:
        with os.scandir(folder) as entries:
            files = [
                entry for entry in entries if entry.name.endswith(".jsonl") and entry.is_file(follow_symlinks=False)
            ]
            found |= {one.name[:-6]: one.stat(follow_symlinks=False).st_mtime for one in files}
    except OSError:
        return ()
    touched = sorted((moment, name) for name, moment in found.items() if moment > since and name != without)
    return tuple(name for _, name in touched)
