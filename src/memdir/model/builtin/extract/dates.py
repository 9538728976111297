"""Finds dates in what the user says and makes them absolute with the conversation's clock (T3).

Owns the reading order: a date may lean on the one named before it, or on a date in the memory being changed.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date

from memdir.model.builtin.extract.date_shapes import SHAPES, Frame, Meaning, add
from memdir.model.builtin.extract.date_unspaced import UNSPACED, meaning
from memdir.model.builtin.extract.date_words import UNITS, Token, may_hold_date, read
from memdir.text.language import cjk_runs, fold
from memdir.text.phrases import anywhere, at_end

_ISO = re.compile(r"\b(20\d\d)-(\d\d)-(\d\d)\b")
_ROMANCE = frozenset({"fr", "es", "pt", "it"})
_ONE_AFTER = re.compile(r"\bthe (?:one|weekend|week) after\b|\bthe following (?:one|weekend)\b")
_DURATION = re.compile(r"N?P*U")
MAX_ANCHORS = 4  # a memory with more dates than that is a calendar; shifting all of them would be a guess


@dataclass(frozen=True)
class DateSpan:
    """One date expression in a text and the days it means."""

    start: int
    end: int
    days: tuple[date, ...]
    grain: str
    vague: bool
    weekday: str


@dataclass(frozen=True)
class Clock:
    """Today in the user's zone, his language, and dates that may be meant without being named."""

    today: date
    language: str
    anchors: tuple[date, ...] = ()


def iso_dates(text: str) -> tuple[date, ...]:
    """The absolute dates written in a text."""
    found = []
    for year, month, day in _ISO.findall(text):
        try:
            found.append(date(int(year), int(month), int(day)))
        except ValueError:
            continue
    return tuple(dict.fromkeys(found))


def read_dates(texts: Sequence[str], clock: Clock) -> list[tuple[DateSpan, ...]]:
    """The dates of consecutive sentences; "the day after" leans on the sentence before."""
    last: date | None = None
    result: list[tuple[DateSpan, ...]] = []
    for text in texts:
        if cjk_runs(text):
            spans = _unspaced(text, clock, last)
        else:
            spans = _spaced(text, clock, last) if may_hold_date(fold(text), clock.language) else []
        spans.extend(_shifted(text, clock, last, spans))
        exact = [span.days[-1] for span in spans if span.grain == "day"]
        last = exact[-1] if exact else last
        result.append(tuple(sorted(spans, key=lambda span: span.start)))
    return result


def _unspaced(text: str, clock: Clock, last: date | None) -> list[DateSpan]:
    frame = Frame(clock.today, last, clock.anchors, romance=False, past=False)
    spans = []
    for found in UNSPACED.finditer(text):
        meant = meaning(found, frame)
        if meant:
            spans.append(DateSpan(found.start(), found.end(), meant.days, meant.grain, meant.vague, ""))
    return spans


def _spaced(text: str, clock: Clock, last: date | None) -> list[DateSpan]:
    tokens = read(text, clock.language)
    letters = "".join(token.symbol for token in tokens)
    spans: list[DateSpan] = []
    at = 0
    while at < len(tokens):
        if letters[at] in ".;":
            at += 1
            continue
        span, taken = _longest(text, tokens, letters, at, clock, last)
        if span:
            spans.append(span)
            last = span.days[-1]
        at += taken
    return spans


def _longest(
    text: str, tokens: list[Token], letters: str, at: int, clock: Clock, last: date | None
) -> tuple[DateSpan | None, int]:
    ends = sorted(
        {(found.end(), order) for order, (shape, _) in enumerate(SHAPES) if (found := shape.match(letters, at))},
        key=lambda pair: (-pair[0], pair[1]),
    )
    for end, order in ends:
        phrase = tokens[at:end]
        frame = Frame(
            clock.today,
            last,
            clock.anchors,
            clock.language in _ROMANCE,
            _tells_past(text, phrase[0].start, clock.language),
        )
        meant = SHAPES[order][1](phrase, frame)
        if meant and not _is_recurring(text, phrase, clock.language):
            return _span(text, phrase, meant), end - at
    return None, 1


def _span(text: str, phrase: list[Token], meant: Meaning) -> DateSpan:
    while phrase[0].symbol in "P," and phrase[0].value != "night before last":
        phrase = phrase[1:]
    days = [token for token in phrase if token.symbol == "W"]
    weekday = text[days[0].start : days[0].end] if len(days) == 1 else ""
    return DateSpan(phrase[0].start, phrase[-1].end, meant.days, meant.grain, meant.vague, weekday)


def _tells_past(text: str, start: int, language: str) -> bool:
    """Whether the words before a date say that it is behind us."""
    clause = re.split(r"[.,;:!?]", text[:start])[-1]
    return bool(anywhere("tells-past", language).search(clause)) and not at_end("toward", language).search(clause)


def _is_recurring(text: str, phrase: list[Token], language: str) -> bool:
    if not any(token.symbol == "W" for token in phrase):
        return False
    if len(phrase) == 1 and anywhere("routine", language).search(text):
        return True
    plural = any(token.symbol == "W" and text[token.end : token.end + 1] == "s" for token in phrase)
    return plural or (len(phrase) == 1 and bool(at_end("recurring", language).search(text[: phrase[0].start])))


def _shifted(text: str, clock: Clock, last: date | None, spans: list[DateSpan]) -> list[DateSpan]:
    """Days that follow from a known date: "nine days later", "a week sooner", "the weekend after"."""
    folded = fold(text)
    named = [span.days[-1] for span in spans if not span.vague]
    bases = clock.anchors[:MAX_ANCHORS] or tuple(named[-1:] or ([last] if last else []))
    sooner, later = anywhere("earlier", clock.language).search(text), anywhere("later", clock.language).search(text)
    sign = -1 if sooner else 1 if later else 0
    if not bases:
        return []
    if _ONE_AFTER.search(folded) and not spans:
        at = _ONE_AFTER.search(folded)
        return [
            DateSpan(
                at.start() if at else 0,
                at.end() if at else 0,
                tuple(add(base, 1, "w") for base in bases),
                "day",
                vague=False,
                weekday="",
            )
        ]
    if not sign:
        return []
    tokens = read(text, clock.language)
    letters = "".join(token.symbol for token in tokens)
    taken = [(span.start, span.end) for span in spans]
    shifted = []
    for found in _DURATION.finditer(letters):
        phrase = tokens[found.start() : found.end()]
        if (
            any(start < phrase[-1].end and phrase[0].start < end for start, end in taken)
            or phrase[-1].value not in UNITS
        ):
            continue
        number = next((int(token.value) for token in phrase if token.symbol == "N"), 1)
        days = tuple(add(base, sign * number, UNITS[phrase[-1].value]) for base in bases)
        shifted.append(DateSpan(phrase[0].start, phrase[-1].end, days, "day", vague=False, weekday=""))
    return shifted[:1]
