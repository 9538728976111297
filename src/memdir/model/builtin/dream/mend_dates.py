"""Relative dates in pages become absolute ones, counted from the page's own time (T3, D3)."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date, datetime, tzinfo

from memdir.model.builtin.dream.body_text import Label
from memdir.model.builtin.dream.dates import Calendar, Found
from memdir.model.builtin.dream.desk import Desk, PageChange
from memdir.model.builtin.dream.dream_words import tokens
from memdir.model.builtin.dream.memory_page import Page
from memdir.model.builtin.dream.sentence_kinds import SentenceKinds
from memdir.store.taxonomy import MemoryType

_QUOTED = re.compile(r"\"[^\"\n]*\"|“[^”\n]*”|„[^“”\n]*[“”]|«[^»\n]*»|`[^`\n]*`|~~[^~\n]*~~")
_MEASURES = ("in day", "in week", "in month", "in fortnight")
# In a rule or a profile only these are surely meant as days: "last week" may be anybody's last week.
_SURE_DAYS = frozenset(
    ("day 1", "day -1", "day 2", "day -2", "weekday next", "weekday soon", "weekday last", "weekday week+1")
)


def day_of(mtime: float, zone: tzinfo | None) -> date:
    """The day a file was written, in the person's own time zone."""
    try:
        return datetime.fromtimestamp(mtime, zone).date()
    except (OverflowError, ValueError, OSError):
        return date(1970, 1, 1)


def mend_dates(desk: Desk, calendar: Calendar, phrases: SentenceKinds, zone: tzinfo | None) -> frozenset[str]:
    """Resolve what is certain on every page; the keys of pages on which something was not."""
    open_dates: set[str] = set()
    for page in desk.open_pages():
        if not calendar.may_hold(page.words, page.claims):
            continue
        day = day_of(page.mtime, zone)
        topic = page.topic
        reading = _Reading(calendar, phrases, page, day)
        work = _Work()
        for field in ("name", "description"):
            text = topic.fields.get(field, "")
            topic = topic.with_field(field, work.mended(text, list(reading.usable(text, "main"))))
        found = [
            _shifted(item, sentence.start)
            for sentence in page.sentences
            for item in reading.usable(sentence.text, sentence.label)
            if not item.operation.startswith("year")  # "last year" in a body is a remark, in a description a date
        ]
        topic = topic.with_body(work.mended(page.body, found))
        if topic.data != page.data:
            done = ", ".join(sorted({f'"{item.words}" is {item.value}' for item in work.told if item.absolute}))
            reason = f"dates made absolute from {day}, when it was written: {done}"
            desk.put(PageChange({page.key: topic.data}, reason, (page.key,), frozenset(work.gone)))
        for item in work.told:
            if not item.absolute:
                open_dates.add(page.key)
                desk.doubt([page.key], f'"{item.words}", written on {day}: it is not certain which day is meant')
    return frozenset(open_dates)


class _Work:
    """What was replaced on one page, and the words that went with it."""

    def __init__(self) -> None:
        self.told: list[Found] = []
        self.gone: set[str] = set()

    def mended(self, text: str, found: list[Found]) -> str:
        original = text
        for item in sorted(found, key=lambda item: -item.start):
            self.told.append(item)
            if item.absolute:
                self.gone.update(tokens(_whole_words(original, item)))
                text = text[: item.start] + item.absolute + text[item.end :]
        return text


def _whole_words(text: str, item: Found) -> str:
    """The phrase with what is grown together with it: an ending, or a whole run in a script without spaces."""
    start, end = item.start, item.end
    while start > 0 and not text[start - 1].isspace():
        start -= 1
    while end < len(text) and not text[end].isspace():
        end += 1
    return text[start:end]


def resolved(calendar: Calendar, text: str, day: date) -> str | None:
    """What somebody said on `day`, with its dates made absolute; None when one of them is not certain."""
    found = [item for item in calendar.find(text, day) if not _inside_quotes(text, item)]
    if any(not item.absolute for item in found):
        return None
    text = _Work().mended(text, found)
    for item in reversed(calendar.month_days(text, day)):
        text = f"{text[: item.end]} ({item.absolute}){text[item.end :]}"
    return text


@dataclass(frozen=True)
class _Reading:
    """Reads the sentences of one page."""

    calendar: Calendar
    phrases: SentenceKinds
    page: Page
    day: date

    def usable(self, text: str, label: Label) -> Iterator[Found]:
        """The relative dates of one sentence that speak of a day of their own."""
        if not text or label == "update":
            return
        for item in self.calendar.find(text, self.day):
            around = text[: item.start] + " " + text[item.end :]
            if not _inside_quotes(text, item) and self._is_own_day(item, around, label):
                yield item

    def _is_own_day(self, item: Found, around: str, label: Label) -> bool:
        if self.page.kind in (None, MemoryType.PROJECT) and (label != "why" or item.operation in _SURE_DAYS):
            return item.operation not in _MEASURES or not self.phrases.has("general", around)
        return item.operation in _SURE_DAYS and label != "how" and not self.phrases.has("general", around)


def _inside_quotes(text: str, item: Found) -> bool:
    return any(mark.start() < item.start < mark.end() for mark in _QUOTED.finditer(text))


def _shifted(item: Found, by: int) -> Found:
    return Found(item.start + by, item.end + by, item.words, item.absolute, item.operation, item.value)
