"""What was said and written down: user messages and daily log lines, told apart from what only passed through.

Tool output, pages, pasted text and anything that addresses an assistant's memory is not somebody speaking (X12): it is
left out here, once, before anything else looks at it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime, tzinfo

from memdir.model.builtin.dream.cues import is_kind
from memdir.model.builtin.dream.date_repair import day_of
from memdir.model.builtin.dream.night import Night, NightFile, SessionText
from memdir.store.log_lines import lines_in, log_day
from memdir.store.topic import MemoryType
from memdir.text.body_text import split
from memdir.text.speakers import own_words

MAX_SAID = 1200  # longer messages are pasted, not said

_MARKUP = re.compile(r"<[a-zA-Z!/][^>]*>")


@dataclass(frozen=True)
class Statement:
    """Some sentences that belong together, with their time and source."""

    text: str
    time: float
    day: date
    sources: tuple[str, ...]
    is_log: bool
    kind: MemoryType | None = None  # that whoever logged it gave it


def statements(night: Night) -> list[Statement]:
    """Everything said, oldest first."""
    zone = night.now.tzinfo
    found = [item for session in night.sessions for item in _of_session(session, zone)]
    found += [item for file in night.files if log_day(file.key) for item in _of_log(file, zone)]
    return sorted(found, key=lambda item: (item.time, item.sources, item.text))


def _of_session(session: SessionText, zone: tzinfo | None) -> Iterator[Statement]:
    for line in session.lines:
        if line.role != "user" or line.kind != "said":
            continue
        text = _spoken(line.text)
        if text:
            time = line.time or session.mtime
            sources = tuple(source for source in (session.id, line.message_id) if source)
            yield Statement(text, time, day_of(time, zone), sources, is_log=False)


def _spoken(text: str) -> str:
    """The person's own words of a message: no pasted code, quotations, markup or planted sentences."""
    text = own_words(text)
    if len(text) > MAX_SAID or _MARKUP.search(text):
        return ""
    parts = [line[start:end] for line in text.splitlines() for start, end in split(line)]
    return "" if any(is_kind("planted", part) for part in parts) else " ".join(parts)


def _of_log(log: NightFile, zone: tzinfo | None) -> Iterator[Statement]:
    """The lines of one day. What nobody vouched for stays a line."""
    day = date.fromisoformat(log_day(log.key))
    for line in lines_in(log.data, log.key):
        if is_kind("planted", line.text) or is_kind("hearsay", line.text):
            continue
        if not _MARKUP.search(line.text) and not line.trust.is_low:
            time = _time_of(day, line.time, zone)
            yield Statement(line.text, time, day, (log.key,), is_log=True, kind=line.kind)


def _time_of(day: date, time: str, zone: tzinfo | None) -> float:
    hour, minute = map(int, (time or "0:0").split(":"))
    clock = (hour, minute) if hour < 24 and minute < 60 else (0, 0)
    return datetime(day.year, day.month, day.day, *clock, tzinfo=zone or UTC).timestamp()
