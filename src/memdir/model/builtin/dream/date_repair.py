"""Relative dates in pages become absolute ones, counted from the page's own time (T3, D3).

Owns which dates are rewritten, which of them are certain, and the words that are put in their place.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from datetime import date, datetime, tzinfo

from memdir.model.builtin.dream.cues import is_kind
from memdir.model.builtin.dream.desk import Desk, PageChange
from memdir.model.builtin.dream.memory_page import Page, tokens, whole_words
from memdir.store.topic import MemoryType
from memdir.text.date_words import words_by_meaning
from memdir.text.dates import DateSpan, may_hold_date, nearest_year, read_any, read_relative
from memdir.text.deadlines import told_past
from memdir.text.language import fold
from memdir.text.words import is_unspaced

NEAR = 60  # characters in which the words before a date stand
AROUND = 300  # characters before and after it that tell whether it is a day of its own
_LAST_WORD = re.compile(r"([^\W\d_]+)\s+$")
_NEXT_WORD = re.compile(r"\s+(\w+)")
_ARTICLE = re.compile(r"\b(?:the|an?)\s+$", re.IGNORECASE)
_OTHER_UNIT = re.compile(r".\s+of\b|[kh]\s+in\b")  # the last week of June, last month in Rome
_EVERY = re.compile(r"\b(?:every|each|alle|tous les|toutes les|cada|ogni|elke)\s+$", re.IGNORECASE)  # 6 days from now
_NO_DAY = re.compile(r"['’]s\b|\bfrom now on\b", re.IGNORECASE)  # today's run, kept ten years from now on


@dataclass(frozen=True)
class RelativeDate:
    """A relative date in a text: where it stands, and what to write instead (empty when it is not certain)."""

    start: int
    end: int
    words: str
    absolute: str
    span: DateSpan

    @property
    def is_sure_day(self) -> bool:
        """Whether it surely means a day, in a rule or a profile too: "last week" may be anybody's last week."""
        return self.span.kind == "weekday" or (self.span.kind == "day" and self.span.count != 0)


def relative_dates(text: str, day: date, told_in: str = "") -> Iterator[RelativeDate]:
    """Every relative date in a text that does not stand there with its day, read from `day`."""
    for span in read_relative(text, day, told_in):
        place = _PlacedDate(text, span)
        if place.is_meant():
            absolute = place.written(_value(span)) if _is_certain(span, day) else ""
            yield RelativeDate(place.start, place.end, text[place.start : place.end], absolute, span)


def _is_certain(span: DateSpan, day: date) -> bool:
    """Whether only one day can be meant. Weeks begin on Monday; "next" is the one in the next week."""
    if span.kind != "weekday":
        return len(span.days) == 1
    if "L" in span.symbols:
        return (day - span.days[0]).days > 1
    is_this_week = (span.days[0] - day).days < 7 - day.weekday()
    return is_this_week != set("Tc").isdisjoint(span.symbols)


def _value(span: DateSpan) -> str:
    """The absolute date as text, no finer than it was told."""
    day = span.days[0]
    if span.grain == "quarter":
        return f"Q{(day.month + 2) // 3} {day.year}"
    if span.grain == "year":
        return str(day.year)
    is_month = span.grain == "month" or (span.kind == "in" and span.unit == "m")
    return day.isoformat()[:7] if is_month else day.isoformat()


class _PlacedDate:
    """A date in its sentence: the words before it that are its own, and how it is written there."""

    def __init__(self, text: str, span: DateSpan) -> None:
        self.span = span
        self.phrase = text[span.start : span.end]
        east = "ko" if re.search("[가-힣]", self.phrase) else "ja" if "週" in self.phrase else "zh"
        self.language = east if any(map(is_unspaced, self.phrase)) else span.language
        self.rows = words_by_meaning()[self.language]
        self.text = text
        self.lead = self._ending("lead", span.start)
        self.start = span.start - len(self.lead)
        parts = dict(part.split(" = ") for part in self.rows.get("part-of-day", ()))
        after = _NEXT_WORD.match(text, span.end)
        told = parts.get(after[1]) if after else None  # "tomorrow morning"
        self.end = after.end() if after and told else span.end
        self.part = told or parts.get(fold(self.phrase), "")

    def _ending(self, meaning: str, at: int) -> str:
        """The words of a meaning that stand right before a place, as they are written there."""
        words = "|".join(map(re.escape, self.rows.get(meaning, ())))
        before = self.text[max(0, at - NEAR) : at]
        found = re.search(rf"(?<!\w)(?:{words})\s*$", before, re.IGNORECASE) if words else None
        return found[0] if found else ""

    def is_meant(self) -> bool:
        """Whether it is a day or a span of its own, counted from when it was written."""
        span = self.span
        before = self.text[max(0, span.start - NEAR) : span.start]
        if _EVERY.search(before) or _NO_DAY.search(self.text, span.start, span.end + 3):
            return False
        if span.kind in ("in", "ago"):
            return "i" not in span.symbols and span.unit in "dwfmk"
        if span.kind == "whole":
            return self._is_own_unit()
        # "Invoices at the end of the month" go on for years.
        is_due = span.kind == "end" and "M" not in span.symbols and bool(self._ending("due", self.start))
        return span.is_relative or is_due

    def _is_own_unit(self) -> bool:
        span = self.span
        if span.unit == "y" and not span.count:
            return False
        if self.language != "en" or span.symbols[0] == "U":  # the week after next
            return True
        return not (
            _ARTICLE.search(self.text[max(0, span.start - NEAR) : span.start])
            or _OTHER_UNIT.match(self.text, span.end - 1)
        )

    def written(self, value: str) -> str:
        """The words to put in, with the preposition that they need, unless one stands there already."""
        before = _LAST_WORD.search(self.text[max(0, self.start - NEAR) : self.start])
        alone = before is not None and before[1].casefold() in words_by_meaning()["any"]["stands-alone"]
        span = self.span
        if span.grain == "week" or span.unit == "e":
            week = self._word("write-weekend" if span.unit == "e" else "write-week").format(value)
            return re.sub("^(?:in|on) ", "", week) if alone else week
        lead = self._word("write-on" if len(value) == len("2026-01-01") else "write-in")
        words = " ".join(word for word in ("" if alone else lead, value, self.part) if word)
        return words[:1].upper() + words[1:] if self.start == 0 else words

    def _word(self, meaning: str) -> str:
        return self.rows.get(meaning, ("",))[0]


def day_of(mtime: float, zone: tzinfo | None) -> date:
    """The day a file was written, in the person's own time zone."""
    try:
        return datetime.fromtimestamp(mtime, zone).date()
    except (OverflowError, ValueError, OSError):
        return date(1970, 1, 1)


def repair_dates(desk: Desk, zone: tzinfo | None) -> frozenset[str]:
    """Resolve what is certain on every page; the keys of pages on which something was not."""
    open_dates: set[str] = set()
    for page in desk.open_pages():
        if not may_hold_date(page.claims):
            continue
        day = day_of(page.mtime, zone)
        topic, told, gone = page.topic, list[RelativeDate](), set[str]()
        for field in ("name", "description"):
            text = topic.fields.get(field, "")
            found = list(_own_dates(page, text, day, page.body))
            told += found
            topic = topic.with_field(field, _written_out(text, found, gone))
        found = [
            replace(item, start=item.start + sentence.start, end=item.end + sentence.start)
            for sentence in page.sentences
            for item in _own_dates(page, sentence.text, day)
            if item.span.grain != "year"  # "last year" in a body is a remark, in a description a date
        ]
        told += found
        topic = topic.with_body(_written_out(page.body, found, gone))
        if topic.data != page.data:
            done = ", ".join(sorted({f'"{item.words}" is {item.absolute}' for item in told if item.absolute}))
            reason = f"dates made absolute from {day}, when it was written: {done}"
            desk.put(PageChange({page.key: topic.data}, reason, (page.key,), frozenset(gone)))
        for item in told:
            if not item.absolute:
                open_dates.add(page.key)
                desk.doubt([page.key], f'"{item.words}", written on {day}: it is not certain which day is meant')
    return frozenset(open_dates)


def _own_dates(page: Page, text: str, day: date, told_in: str = "") -> Iterator[RelativeDate]:
    """The relative dates of a sentence that speak of a day of their own; in a rule or a profile few do."""
    is_project = page.kind in (None, MemoryType.PROJECT)
    for item in relative_dates(text, day, told_in):
        around = f"{text[max(0, item.start - AROUND) : item.start]} {text[item.end : item.end + AROUND]}"
        is_plain = is_project and item.span.kind != "in"
        if is_plain or ((is_project or item.is_sure_day) and not is_kind("general", around)):
            yield item


def ask_what_ended(desk: Desk, now: datetime) -> None:
    """Ask about every page that tells of something that has ended or was due: what came of it nobody can guess."""
    for key, page in sorted(desk.pages.items()):
        told = f"{page.topic.description}\n{page.body}"
        if ended := told_past(told, written=page.mtime, now=now.timestamp()):
            desk.ask("ended", key, key, f"it {ended}. Is it over, or is there another date?")


def _written_out(text: str, found: Iterable[RelativeDate], gone: set[str]) -> str:
    """The text with every certain date as a day, and in `gone` the words that went. Each piece of it is looked at once,
    however many dates it has."""
    pieces: list[str] = []
    done = whole = 0
    for item in found:
        if item.absolute:
            if item.end > whole:  # else it is grown together with the one before
                start, whole = whole_words(text, item.start, item.end)
                gone.update(tokens(text[start:whole]))
            pieces += (text[done : item.start], item.absolute)
            done = item.end
    return "".join([*pieces, text[done:]])


def resolved(text: str, day: date) -> str | None:
    """What somebody said on `day`, with its dates made absolute; None when one of them is not certain."""
    found = list(relative_dates(text, day))
    if any(not item.absolute for item in found):
        return None
    text = _written_out(text, found, set())
    pieces, done = [], 0
    for span in read_any(text, day):
        told = f" ({nearest_year(span.days[0], day)})"
        is_open = span.kind == "month day" and "Y" not in span.symbols
        if is_open and not text.startswith(told, span.end):  # extraction wrote it out already
            pieces.append(f"{text[done : span.end]}{told}")
            done = span.end
    return "".join([*pieces, text[done:]])
