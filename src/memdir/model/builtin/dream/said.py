"""What was said and written down: user messages and daily log lines, told apart from what only passed through.

Tool output, pages, pasted text and anything that addresses an assistant's memory is not somebody speaking (X12): it is
left out here, once, before anything else looks at it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime, tzinfo

from memdir.model.builtin.dream.cues import SentenceKinds
from memdir.model.builtin.dream.date_repair import day_of
from memdir.model.builtin.dream.memory_page import log_day
from memdir.model.builtin.dream.night import NightFile, SessionText
from memdir.text.body_text import split
from memdir.text.speakers import own_words

MAX_SAID = 1200  # longer messages are pasted, not said

_MARKUP = re.compile(r"<[a-zA-Z!/][^>]*>")
_LOG_LINE = re.compile(
    r"^\s*[-*+]\s+(?:(?P<hour>\d{1,2})[:.h](?P<minute>\d{2})(?::\d{2})?\s*(?:[-–—:]\s*)?)?(?P<text>\S.*)$"
)


@dataclass(frozen=True)
class Statement:
    """Some sentences that belong together, with their time and source."""

    text: str
    time: float
    day: date
    sources: tuple[str, ...]
    is_log: bool


def statements(
    sessions: tuple[SessionText, ...], logs: list[NightFile], phrases: SentenceKinds, zone: tzinfo | None
) -> list[Statement]:
    """Everything said, oldest first."""
    found = [item for session in sessions for item in _of_session(session, phrases, zone)]
    found += [item for log in logs for item in _of_log(log, phrases, zone)]
    return sorted(found, key=lambda item: (item.time, item.sources, item.text))


def _of_session(session: SessionText, phrases: SentenceKinds, zone: tzinfo | None) -> Iterator[Statement]:
    for line in session.lines:
        if line.role != "user" or line.kind != "said":
            continue
        text = _spoken(line.text, phrases)
        if text:
            time = line.time or session.mtime
            sources = tuple(source for source in (session.id, line.message_id) if source)
            yield Statement(text, time, day_of(time, zone), sources, is_log=False)


def _spoken(text: str, phrases: SentenceKinds) -> str:
    """The person's own words of a message: no pasted code, quotations, markup or planted sentences."""
    text = own_words(text)
    if len(text) > MAX_SAID or _MARKUP.search(text):
        return ""
    kept = []
    for line in text.splitlines():
        for start, end in split(line):
            sentence = line[start:end]
            if phrases.has("planted", sentence):
                return ""
            kept.append(sentence)
    return " ".join(kept)


def _of_log(log: NightFile, phrases: SentenceKinds, zone: tzinfo | None) -> Iterator[Statement]:
    """The lines of one day; a line that leans on the one before it joins it."""
    day = date.fromisoformat(log_day(log.key))
    waiting: Statement | None = None
    for line in log.data.decode("utf-8", "replace").splitlines():
        match = _LOG_LINE.match(line)
        if match is None:
            continue
        text = match["text"].strip()
        if phrases.has("planted", text) or phrases.has("hearsay", text) or _MARKUP.search(text):
            continue
        time = _time_of(day, match["hour"], match["minute"], zone)
        if waiting and phrases.has("leaning", text):
            waiting = Statement(f"{_closed(waiting.text)} {text}", waiting.time, day, waiting.sources, is_log=True)
            continue
        if waiting:
            yield waiting
        waiting = Statement(text, time, day, (log.key,), is_log=True)
    if waiting:
        yield waiting


def _closed(text: str) -> str:
    return text if text[-1] in ".!?" else text + "."


def _time_of(day: date, hour: str | None, minute: str | None, zone: tzinfo | None) -> float:
    clock = (int(hour), int(minute)) if hour and minute and int(hour) < 24 and int(minute) < 60 else (0, 0)
    return datetime(day.year, day.month, day.day, *clock, tzinfo=zone or UTC).timestamp()
