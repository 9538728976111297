"""A day in the past that a message names from today: "yesterday", "two weeks ago", "last Friday".

Owns the words for it and how near a day is. Days to come and spans ("in the past months") are not its business.
"""

from __future__ import annotations

from math import exp

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from memdir.search.segment import Facts

_DAYS = {"day": 1, "week": 7, "month": 30, "year": 365}
_NUMBERS = "one two three four five six seven eight nine ten eleven twelve"
_COUNTS = {"a": 1, "an": 1, "couple": 2, "few": 3, **{word: at for at, word in enumerate(_NUMBERS.split(), 1)}}
_WEEKDAYS = {
    name: at for at, name in enumerate(("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"))
}
_WEEKEND = 5  # days back to the middle of it, from a middling day of the week
MAX_COUNT = 1000  # a larger number is no count of days
DAY_SLACK = 1.5  # days: people are a day off, and time zones too
UNIT_SLACK = 0.5  # of a week or month: "last week" is all of it, and "two weeks ago" is seldom fourteen days
WEEKDAY_SLACK = 0.12  # of the unit, when the weekday is told as well
NANOSECONDS_A_DAY = 86_400 * 10**9
FIRST_DAY = 719_163  # 1 January 1970, counted as `card.day_of` counts


class Moment:
    """The day that is meant, how many days off is still near, and the words that name it."""

    __slots__ = ("day", "slack", "words")

    def __init__(self, day: int, slack: float, words: Sequence[str]) -> None:
        self.day = day
        self.slack = slack
        self.words = words

    def nearness(self, facts: Facts) -> float:
        """1 for a document of that day, or one that names it; falling to 0 around it."""
        days = [facts.mtime_ns // NANOSECONDS_A_DAY + FIRST_DAY, *facts.dates]
        off = min([abs(day - self.day) for day in days]) / self.slack
        return exp(-off * off / 2)


def moment_in(words: Sequence[str], today: int) -> Moment | None:
    """The past day that these words name, if any."""
    for at, word in enumerate(words):
        if word == "ago":
            return _ago(words, at, today)
        if word in ("yesterday", "yesterdays"):
            return Moment(today - 1, DAY_SLACK, (word,))
        if word == "last" and at + 1 < len(words):
            found = _last(words[at + 1], today)
            if found is not None:
                return found
    return None


def _ago(words: Sequence[str], at: int, today: int) -> Moment | None:
    before = [word for word in words[max(0, at - 4) : at] if word != "of"]
    if len(before) < 2:
        return None
    unit, count = _DAYS.get(before[-1].removesuffix("s"), 0), _count(before[-2])
    if not unit or not count:
        return None
    day, naming = today - unit * count, (*before[-2:], words[at])
    named = next((word for word in words if word in _WEEKDAYS), None)
    if named is None:
        return Moment(day, max(DAY_SLACK, UNIT_SLACK * unit), naming)
    off = (_WEEKDAYS[named] - _weekday(day) + 3) % 7 - 3
    return Moment(day + off, max(1.0, WEEKDAY_SLACK * unit), (*naming, named))


def _last(word: str, today: int) -> Moment | None:
    naming = ("last", word)
    if word in _WEEKDAYS:
        return Moment(today - ((_weekday(today) - _WEEKDAYS[word]) % 7 or 7), DAY_SLACK, naming)
    unit = _WEEKEND if word == "weekend" else _DAYS.get(word, 0)
    return Moment(today - unit, UNIT_SLACK * unit, naming) if unit > 1 else None


def _count(word: str) -> int:
    if word.isdecimal() and len(word) < len(str(MAX_COUNT)):
        return int(word)
    return _COUNTS.get(word, 0)


def _weekday(day: int) -> int:
    """Monday is 0."""
    return (day + 6) % 7
