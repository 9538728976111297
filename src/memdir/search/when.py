"""A day in the past that a message names from today: "yesterday", "two weeks ago", "last Friday".

Owns how near a day is. Days to come and spans ("in the past months") are not its business; dates are read by `text`.
"""

from __future__ import annotations

from datetime import date
from math import exp

from memdir.search.document import FIRST_DAY
from memdir.text.dates import read_any
from memdir.text.words import split_words

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from memdir.search.segment import Facts

_DAYS = {"d": 1, "w": 7, "f": 14, "m": 30, "y": 365, "e": 5}  # of a weekend: back to it from a middling day of the week
DAY_SLACK = 1.5  # days: people are a day off, and time zones too
UNIT_SLACK = 0.5  # of a week or month: "last week" is all of it, and "two weeks ago" is seldom fourteen days
WEEKDAY_SLACK = 0.12  # of the unit, when the weekday is told as well
NANOSECONDS_A_DAY = 86_400 * 10**9


class Moment:
    """The day that is meant, how many days off is still near, and the words that name it."""

    def __init__(self, day: int, slack: float, words: Sequence[str]) -> None:
        self.day, self.slack, self.words = day, slack, words

    def nearness(self, facts: Facts) -> float:
        """1 for a document of that day, or one that names it; falling to 0 around it."""
        days = [facts.mtime_ns // NANOSECONDS_A_DAY + FIRST_DAY, *facts.dates]
        off = min([abs(day - self.day) for day in days]) / self.slack
        return exp(-off * off / 2)


def moment_in(text: str, today: int, languages: Collection[str]) -> Moment | None:
    """The past day that a text names in one of these languages, if any."""
    spans = read_any(text, date.fromordinal(today), languages)
    for span in spans:
        naming = split_words(text[span.start : span.end])
        is_last = span.kind in ("whole", "weekday", "days of week") and "L" in span.symbols
        if (is_last and span.weekday) or (span.kind == "day" and span.count < 0):
            return Moment(span.days[0].toordinal(), DAY_SLACK, naming)
        if (is_last or span.kind == "ago") and span.unit in _DAYS:
            unit = _DAYS[span.unit]
            day = today + unit * span.count
            named = next((one for one in spans if one.kind == "weekday"), None) if span.kind == "ago" else None
            if named is None:
                return Moment(day, max(DAY_SLACK, UNIT_SLACK * unit), naming)
            off = (named.days[0].toordinal() - day + 3) % 7 - 3
            return Moment(day + off, max(1.0, WEEKDAY_SLACK * unit), [*naming, *split_words(named.weekday)])
    return None
