"""When a dream is due: four gates, cheapest first (D1). While they are closed a turn costs one `stat`."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime

from memdir.dream.dream_lock import last_dream
from memdir.store.log_lines import LogNews, log_day
from memdir.store.store import MemoryStore
from memdir.transcript.attended import attended_times

MIN_HOURS = 24.0  # a night
MIN_SESSIONS = 5  # others than the current one, touched since
SCAN_SECONDS = 600.0  # sessions are counted at most every ten minutes


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
        last, today = last_dream(self.store.root, now), _day(now)
        if last is not None and today <= _day(last):
            return NotDue("time")
        if self._looked_at is not None and 0 <= now - self._looked_at < SCAN_SECONDS:
            return NotDue("scanned_recently")
        self._looked_at = now
        days = [log_day(line.key) for line in LogNews(self.store).lines]
        if last is None and days and today <= min(days):
            return NotDue("time")  # the first day of a log goes on
        return Due(()) if days else NotDue("no_lines")


def _day(moment: float) -> str:
    return datetime.fromtimestamp(moment).astimezone().date().isoformat()


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
