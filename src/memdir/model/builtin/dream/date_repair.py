"""Relative dates in pages become absolute ones, counted from the page's own time (T3, D3).

Which dates are one day is for `text/standing.py` to say; this owns which of them are certain, and what is written in
their place.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from datetime import date, datetime, tzinfo

from memdir.model.builtin.dream.desk import Desk, PageChange
from memdir.model.builtin.dream.memory_page import Page, day_of, spliced
from memdir.store.topic import MemoryType, Topic
from memdir.text.date_words import words_by_meaning
from memdir.text.dates import DateSpan, may_hold_date, read_relative
from memdir.text.deadlines import told_past
from memdir.text.language import fold
from memdir.text.standing import one_day_each
from memdir.text.words import is_unspaced

NEAR = 60  # characters in which the words before a date stand
MAX_DATES = 24  # of one sentence: more are a calendar
_NEXT_WORD = re.compile(r"\s+(\w+)")
_ARTICLE = re.compile(r"\b(?:the|an?)\s+$", re.IGNORECASE)  # the next week was hard
_OWNS = re.compile(r"['’]s\b")  # today's run
_TERM = re.compile(  # "pays in 30 days", "reply in two days" measure, and name no day
    r"\b(?:takes?|took|pa(?:y|id|g(?:a|ue|o)|i?[ey]e)|zahl|betaal|terms?\b|prazo|plazo|délai|frist|termijn|repl(?:y|ies)"
    r"|respon|answer|expire|kept\b|within|at most|at least|every|each|always|jede|immer|chaque|cada|ogni|elke)",
    re.IGNORECASE,
)


def relative_dates(text: str, day: date, told_in: str = "", *, is_rule: bool = False) -> Iterator[RelativeDate]:
    """Every relative date of a sentence that is one day or span of its own and does not stand there with its day, read
    from `day`."""
    spans = read_relative(text, day, told_in)[:MAX_DATES]
    own = one_day_each(text, spans, is_rule=is_rule)
    for span in spans:
        is_sure_day = span.kind == "weekday" or (span.kind == "day" and span.count)
        if (span.kind != "in" and span not in own) or (is_rule and not is_sure_day):
            continue  # "last week" in a rule or a profile may be anybody's last week
        found = RelativeDate(text, span, day)
        if (span.is_relative or found.is_due) and not found.is_loose:
            yield found


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


class RelativeDate:
    """A relative date in its sentence: where it stands with the words that are its own, and what to write instead."""

    def __init__(self, text: str, span: DateSpan, day: date) -> None:
        self.text, self.span, self._day = text, span, day
        phrase = text[span.start : span.end]
        east = "ko" if re.search("[가-힣]", phrase) else "ja" if "週" in phrase else "zh"
        self.rows = words_by_meaning()[east if any(map(is_unspaced, phrase)) else span.language]
        self.start = span.start - len(self._ending(self.rows.get("lead", ()), span.start))
        parts = dict(part.split(" = ") for part in self.rows.get("part-of-day", ()))
        after = _NEXT_WORD.match(text, span.end)
        told = parts.get(after[1]) if after else None  # "tomorrow morning"
        self.end = after.end() if after and told else span.end
        self.part = told or parts.get(fold(phrase), "")
        self.words = text[self.start : self.end]
        # "Invoices at the end of the month" go on for years.
        self.is_due = (
            span.kind == "end" and "M" not in span.symbols and bool(self._ending(self.rows.get("due", ()), self.start))
        )

    @property
    def is_loose(self) -> bool:
        """Whether it is counted from something else, or is no more than a name: "the next week", "tomorrow's list"."""
        before, is_whole = self.text[max(0, self.span.start - NEAR) : self.span.start], self.span.kind == "whole"
        if self.span.kind == "in" and _TERM.search(self.text):
            return True
        is_named = is_whole and self.span.language == "en" and self.span.symbols[0] != "U" and _ARTICLE.search(before)
        return bool(is_named or _OWNS.search(self.text, self.span.start, self.span.end + 3))

    def _ending(self, words: Iterable[str], at: int) -> str:
        """Those of some words that stand right before a place, as they are written there."""
        some = "|".join(map(re.escape, words))
        before = self.text[max(0, at - NEAR) : at]
        found = re.search(rf"(?<!\w)(?:{some})\s*$", before, re.IGNORECASE) if some else None
        return found[0] if found else ""

    @property
    def absolute(self) -> str:
        """The words to put in, with the preposition that they need unless one stands there already; empty when it is
        not certain which day is meant."""
        if not _is_certain(self.span, self._day):
            return ""
        span, value = self.span, _value(self.span)
        alone = self._ending(words_by_meaning()["any"]["stands-alone"], self.start)
        if span.grain == "week" or span.unit == "e":
            week = self._word("write-weekend" if span.unit == "e" else "write-week").format(value)
            return re.sub("^(?:in|on) ", "", week) if alone else week
        lead = self._word("write-on" if len(value) == len("2026-01-01") else "write-in")
        words = " ".join(word for word in ("" if alone else lead, value, self.part) if word)
        return words[:1].upper() + words[1:] if self.start == 0 else words

    def _word(self, meaning: str) -> str:
        return self.rows.get(meaning, ("",))[0]


def repair_dates(desk: Desk, zone: tzinfo | None) -> None:
    """Resolve what is certain on every page."""
    for page in desk.open_pages():
        if not may_hold_date(page.claims):
            continue
        day = day_of(page.mtime, zone)
        topic, told = dated(page, day)
        if topic.data != page.data:
            done = ", ".join(sorted({f'"{item.words}" is {item.absolute}' for item in told if item.absolute}))
            reason = f"dates made absolute from {day}, when it was written: {done}"
            desk.put(PageChange({page.key: topic.data}, reason, (page.key,)))
        for item in told:
            if not item.absolute:
                desk.doubt([page.key], f'"{item.words}", written on {day}: it is not certain which day is meant')


def dated(page: Page, day: date) -> tuple[Topic, list[RelativeDate]]:
    """A page with every certain date that was told on a day written out, and the dates it told."""
    told, is_rule = list[RelativeDate](), page.kind not in (None, MemoryType.PROJECT)

    def tell(text: str, told_in: str = "") -> str:
        found = list(relative_dates(text, day, told_in, is_rule=is_rule))
        if not told_in:  # "last year" in a body is a remark, in a description a date
            found = [item for item in found if item.span.grain != "year"]
        told.extend(found)
        return spliced(text, ((one.start, one.end, one.absolute) for one in found if one.absolute))

    topic = page.with_body(page.retold(tell))
    for field in ("name", "description"):
        topic = topic.with_field(field, tell(page.fields.get(field, ""), page.body))
    return topic, told


def ask_what_ended(desk: Desk, now: datetime) -> None:
    """Ask about every page that tells of something that has ended or was due: what came of it nobody can guess."""
    for key, page in sorted(desk.pages.items()):
        told = f"{page.description}\n{page.body}"
        if ended := told_past(told, written=page.mtime, now=now.timestamp()):
            desk.ask("ended", key, key, f"it {ended}. Is it over, or is there another date?")
