"""The grammar of dates: shapes over date symbols, and the days each shape means from a given day.

A shape is a regular expression over the letters of `date_words`; the longest shape at a place wins.
"""

from __future__ import annotations

import re
from calendar import monthrange
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date, timedelta

from memdir.model.builtin.extract.date_words import UNITS, Token

DAYS_IN_WEEK = 7
LAST_WORKDAY = 4  # Friday


@dataclass(frozen=True)
class Frame:
    """What a relative date is counted from."""

    today: date
    last: date | None  # the day named just before in the same message
    anchors: tuple[date, ...]  # days in the memory that is being changed
    romance: bool  # "lundi prochain" is the next one, "next Monday" the one of next week
    past: bool  # the clause tells what has happened


@dataclass(frozen=True)
class Meaning:
    """The days a phrase names, and how exactly."""

    days: tuple[date, ...]
    grain: str = "day"  # day, week, month or year
    vague: bool = False


Resolver = Callable[[list[Token], Frame], "Meaning | None"]


def add_months(day: date, count: int) -> date:
    """The same day `count` months on, or the month's last."""
    month = day.month - 1 + count
    year, month = day.year + month // 12, month % 12 + 1
    return date(year, month, min(day.day, monthrange(year, month)[1]))


def add(day: date, count: int, unit: str) -> date:
    """The day moved by a number of units."""
    if unit in "mqy":
        return add_months(day, count * {"m": 1, "q": 3, "y": 12}[unit])
    if unit == "k":
        for _ in range(abs(count)):
            day += timedelta(days=1 if count > 0 else -1)
            while day.weekday() > LAST_WORKDAY:
                day += timedelta(days=1 if count > 0 else -1)
        return day
    if unit == "h":
        return day + timedelta(days=count // 24)
    return day + timedelta(days=count * {"d": 1, "w": 7, "f": 14, "e": 7}[unit])


def month_end(day: date) -> date:
    """The last day of the month."""
    return day.replace(day=monthrange(day.year, day.month)[1])


def unit_end(day: date, unit: str, ahead: int) -> date:
    """The last day of this unit of time (`ahead` = 0), the next, or the one after."""
    if unit == "m":
        return month_end(add_months(day.replace(day=1), ahead))
    if unit == "q":
        return month_end(add_months(date(day.year, (day.month - 1) // 3 * 3 + 3, 1), 3 * ahead))
    if unit == "y":
        return date(day.year + ahead, 12, 31)
    return day - timedelta(days=day.weekday()) + timedelta(days=LAST_WORKDAY + 7 * ahead)


def weekday_of_week(day: date, weekday: int, ahead: int) -> date:
    """The weekday in the week `ahead` weeks on."""
    return day - timedelta(days=day.weekday()) + timedelta(days=weekday + DAYS_IN_WEEK * ahead)


def next_weekday(day: date, weekday: int) -> date:
    """The first such weekday after the day."""
    return day + timedelta(days=(weekday - day.weekday() - 1) % DAYS_IN_WEEK + 1)


def previous_weekday(day: date, weekday: int) -> date:
    """The last such weekday before the day."""
    return day - timedelta(days=(day.weekday() - weekday - 1) % DAYS_IN_WEEK + 1)


def nth_weekday(year: int, month: int, weekday: int, nth: int) -> date | None:
    """The nth such weekday of a month; -1 is the last."""
    if nth == -1:
        return previous_weekday(month_end(date(year, month, 1)) + timedelta(days=1), weekday)
    first = next_weekday(date(year, month, 1) - timedelta(days=1), weekday)
    found = first + timedelta(days=DAYS_IN_WEEK * (nth - 1))
    return found if found.month == month else None


def nth_workday(year: int, month: int, nth: int) -> date:
    """The nth working day (Monday to Friday) of a month; -1 is the last."""
    if nth == -1:
        return add(month_end(date(year, month, 1)) + timedelta(days=1), -1, "k")
    return add(date(year, month, 1) - timedelta(days=1), nth, "k")


def month_day(frame: Frame, month: int, day: int, year: int | None = None) -> date | None:
    """A day without a year: the nearest one ahead, or behind when the past is told."""
    for candidate in (year,) if year else (frame.today.year, frame.today.year + (-1 if frame.past else 1)):
        try:
            found = date(candidate, month, day)
        except ValueError:
            return None
        if year or (found <= frame.today if frame.past else found >= frame.today):
            return found
    return None


def year_of_month(frame: Frame, month: int) -> int:
    """The year in which the next such month lies."""
    behind = month > frame.today.month if frame.past else month < frame.today.month
    return frame.today.year + ((-1 if frame.past else 1) if behind else 0)


def _pick(tokens: list[Token], symbols: str) -> list[Token]:
    return [token for token in tokens if token.symbol in symbols]


def _number(tokens: list[Token]) -> int:
    numbers = _pick(tokens, "N")
    return int(numbers[0].value) if numbers else 1


def _unit(tokens: list[Token]) -> str:
    return UNITS[_pick(tokens, "UV")[0].value]


def _absolute(tokens: list[Token], frame: Frame) -> Meaning | None:
    raw = tokens[0].value
    parts = [int(part) for part in re.findall(r"\d+", raw)]
    try:
        if tokens[0].symbol == "K":
            return Meaning((date(*parts),))
        day, month = (parts[0], parts[1]) if parts[1] <= 12 else (parts[1], parts[0])
        found = month_day(frame, month, day, parts[2] if len(parts) > 2 else None)
    except ValueError:
        return None
    return Meaning((found,)) if found else None


def _month_and_day(tokens: list[Token], frame: Frame) -> Meaning | None:
    year = _pick(tokens, "Y")
    found = month_day(
        frame,
        int(_pick(tokens, "M")[0].value),
        int(_pick(tokens, "NoO")[0].value),
        int(year[0].value) if year else None,
    )
    return Meaning((found,)) if found else None


def _month_meant(tokens: list[Token], frame: Frame) -> tuple[int, int]:
    """Year and month that a shape with a month name or "this/next month" is about."""
    named = _pick(tokens, "M")
    if named:
        year = _pick(tokens, "Y")
        month = int(named[0].value)
        return (int(year[0].value) if year else year_of_month(frame, month)), month
    day = add_months(frame.today.replace(day=1), len(_pick(tokens, "X")))
    return day.year, day.month


def _nth(tokens: list[Token]) -> int:
    ordinal = _pick(tokens, "OoN")
    return int(ordinal[0].value) if ordinal else -1


def _weekday_of_month(tokens: list[Token], frame: Frame) -> Meaning | None:
    year, month = _month_meant(tokens, frame)
    weekday, nth = int(_pick(tokens, "W")[0].value), _nth(tokens)
    found = nth_weekday(year, month, weekday, nth)
    if found and found < frame.today and not frame.past and not _pick(tokens, "MYTX"):
        later = add_months(date(year, month, 1), 1)
        found = nth_weekday(later.year, later.month, weekday, nth)
    return Meaning((found,)) if found else None


def _workday_of_month(tokens: list[Token], frame: Frame) -> Meaning | None:
    year, month = _month_meant(tokens, frame)
    return Meaning((nth_workday(year, month, _nth(tokens)),))


def _day_of_this_month(tokens: list[Token], frame: Frame) -> Meaning | None:
    year, month = _month_meant(tokens, frame)
    try:
        return Meaning((date(year, month, _nth(tokens)),))
    except ValueError:
        return None


def _ahead(tokens: list[Token]) -> int:
    if any(token.symbol == "A" for token in tokens) and _pick(tokens, "X"):
        return 2  # the week after next
    return 2 if _pick(tokens, "Q") else len(_pick(tokens, "X")) - len(_pick(tokens, "L"))


def _end(tokens: list[Token], frame: Frame) -> Meaning | None:
    if _pick(tokens, "M"):
        year, month = _month_meant(tokens, frame)
        return Meaning((month_end(date(year, month, 1)),))
    unit = _unit(tokens)
    return Meaning((unit_end(frame.today, unit, _ahead(tokens)),)) if unit in "wmqy" else None


def _begin(tokens: list[Token], frame: Frame) -> Meaning | None:
    if _pick(tokens, "M"):
        year, month = _month_meant(tokens, frame)
        return Meaning((date(year, month, 1),))
    unit = _unit(tokens)
    if unit not in "wmqy":
        return None
    ahead = _ahead(tokens)
    start = unit_end(frame.today, unit, ahead - 1) + timedelta(days=3 if unit == "w" else 1)
    return Meaning((start,))


def _days_of_week(tokens: list[Token], frame: Frame) -> Meaning | None:
    days = tuple(weekday_of_week(frame.today, int(token.value), _ahead(tokens)) for token in _pick(tokens, "W"))
    return Meaning(days)


def _whole_unit(tokens: list[Token], frame: Frame) -> Meaning | None:
    unit, ahead = _unit(tokens), _ahead(tokens)
    if unit in "we":
        return Meaning(
            (weekday_of_week(frame.today, 5 if unit == "e" else 0, ahead),),
            "day" if unit == "e" else "week",
            vague=True,
        )
    if unit in "my":
        return Meaning((add(frame.today.replace(day=1), ahead, unit),), "month" if unit == "m" else "year", vague=True)
    return None


def _weekday_in_weeks(tokens: list[Token], frame: Frame) -> Meaning | None:
    return Meaning((weekday_of_week(frame.today, int(_pick(tokens, "W")[0].value), _number(tokens)),))


def _weekday_week(tokens: list[Token], frame: Frame) -> Meaning | None:
    return Meaning((next_weekday(frame.today, int(_pick(tokens, "W")[0].value)) + timedelta(days=7 * _number(tokens)),))


def _from_day(tokens: list[Token], frame: Frame) -> Meaning | None:
    weekday, offset = _pick(tokens, "W"), _pick(tokens, "Dd")
    base = (
        next_weekday(frame.today, int(weekday[0].value))
        if weekday
        else frame.today + timedelta(days=int(offset[0].value))
    )
    unit = _unit(tokens)
    return Meaning((add(base, _number(tokens), unit),)) if unit != "e" else None


def _in_units(tokens: list[Token], frame: Frame) -> Meaning | None:
    articles = {token.value for token in _pick(tokens, "P")}
    if not _pick(tokens, "N") and not articles & {"a", "an", "another", "nog"}:
        return None
    if articles & {"the", "of"} or _unit(tokens) == "e":
        return None
    return Meaning(
        (add(frame.today, _number(tokens), _unit(tokens)),), vague=_unit(tokens) == "h" and _number(tokens) < 24
    )


def _ago(tokens: list[Token], frame: Frame) -> Meaning | None:
    unit = _unit(tokens)
    grain = {"m": "month", "y": "year"}.get(unit, "day")
    return Meaning((add(frame.today, -_number(tokens), unit),), grain, vague=True)


def _before_now(tokens: list[Token], frame: Frame) -> Meaning | None:
    """German counts back with "vor", which elsewhere is a plain "before"."""
    return _ago(tokens, frame) if tokens[0].value == "vor" else None


def _later(tokens: list[Token], frame: Frame) -> Meaning | None:
    sign = -1 if _pick(tokens, "R") else 1
    bases = frame.anchors or ((frame.last,) if frame.last else ())
    if not bases:
        return Meaning((add(frame.today, _number(tokens), _unit(tokens)),)) if tokens[-1].value == "sonra" else None
    return Meaning(tuple(add(base, sign * _number(tokens), _unit(tokens)) for base in bases))


def _beside(tokens: list[Token], frame: Frame) -> Meaning | None:
    """A day before or after another: the holiday in the phrase, the day named before, or the one in the memory."""
    holiday = _pick(tokens, "H")
    base: date | None = frame.last or (frame.anchors[0] if frame.anchors else None)
    if holiday:
        month, day = (int(part) for part in holiday[0].value.split("-"))
        base = month_day(frame, month, day)
    if base is None:
        return None
    back = bool(_pick(tokens, "R"))
    weekday = _pick(tokens, "W")
    if not weekday:
        return Meaning((base + timedelta(days=-1 if back else 1),))
    return Meaning(
        (previous_weekday(base, int(weekday[0].value)) if back else next_weekday(base, int(weekday[0].value)),)
    )


def _same_week(tokens: list[Token], frame: Frame) -> Meaning | None:
    base = frame.last or (frame.anchors[0] if frame.anchors else None)
    return Meaning((weekday_of_week(base, int(_pick(tokens, "W")[0].value), 0),)) if base else None


def _weekday(tokens: list[Token], frame: Frame) -> Meaning | None:
    weekday = int(_pick(tokens, "W")[0].value)
    if _pick(tokens, "LS") or (frame.past and not _pick(tokens, "TXQ")):
        return Meaning((previous_weekday(frame.today, weekday),))
    if _pick(tokens, "Q") or (_pick(tokens, "X") and not frame.romance):
        return Meaning((weekday_of_week(frame.today, weekday, 2 if _pick(tokens, "Q") else 1),))
    return Meaning((next_weekday(frame.today, weekday),), vague=not _pick(tokens, "TX"))


def _offset(tokens: list[Token], frame: Frame) -> Meaning | None:
    return Meaning((frame.today + timedelta(days=int(tokens[-1].value)),))


def _day_number(tokens: list[Token], frame: Frame) -> Meaning | None:
    day = int(_pick(tokens, "oN")[0].value)
    first = frame.today.replace(day=1)
    for start in (first, add_months(first, 1), add_months(first, 2)):
        try:
            found = start.replace(day=day)
        except ValueError:
            continue
        if found >= frame.today:
            return Meaning((found,))
    return None


def _holiday(tokens: list[Token], frame: Frame) -> Meaning | None:
    month, day = (int(part) for part in tokens[-1].value.split("-"))
    found = month_day(frame, month, day)
    return Meaning((found,), vague=True) if found else None


_P = "[P,]*"
_WEEK = "(?:XP*U|UP*X|TP*U|UP*T|UAP*X|QU|UQ)"
SHAPES: tuple[tuple[re.Pattern[str], Resolver], ...] = tuple(
    (re.compile(shape), resolver)
    for shape, resolver in (
        ("[KJ]", _absolute),
        (f"P*[No];?P*M{_P}Y?", _month_and_day),
        (f"P*OP+M{_P}Y?", _month_and_day),
        (f"M[P]*[No]{_P}Y?", _month_and_day),
        ("P*[OoL]P*W[PIT]*MP*Y?", _weekday_of_month),
        ("P*[OoL]P*W[PI]*(?:[TX]P*U|UP*[TX]|U)", _weekday_of_month),
        ("P*[OoL]P*U[PI]*(?:MP*Y?|[TX]?P*U|UP*X)", _workday_of_month),
        ("P*[OoN]P+(?:[TX]P*U|UP*X)", _day_of_this_month),
        ("E[PI]*(?:MP*Y?|[TX]?P*U(?:AP*X|P*X)?)", _end),
        ("(?:V|TP*V|UE)", _end),
        ("B[PI]*(?:MP*Y?|[TX]P*U|U(?:P*X)?)", _begin),
        (f"W(?:{_P}C{_P}W|,P*W)?{_P}{_WEEK}", _days_of_week),
        (f"{_WEEK}[P,I]*W(?:{_P}C{_P}W|,P*W)?", _days_of_week),
        (_WEEK, _whole_unit),
        ("(?:LP*U|UP*L)", _whole_unit),
        ("WP*IP*N?P*U", _weekday_in_weeks),
        ("WU", _weekday_week),
        ("P?N?P*UP+W", _weekday_week),
        ("N?P*UP*FP*[DdW]", _from_day),
        ("[Dd]IP*N?P*U", _from_day),
        ("IP*N?P*U", _in_units),
        ("N?P*UG", _ago),
        ("gP*N?P*U", _ago),
        ("RP*NP*U", _before_now),
        ("N?P*U[AR]", _later),
        ("[PT]*WP*[AR]P*H?", _beside),
        ("[AR]P*W", _beside),
        ("P*UP*[AR]P*H?", _beside),
        ("WP*ZP*U", _same_week),
        ("(?:[TXQLS]P*W|WP*[XLQ]|W)", _weekday),
        ("D", _offset),
        ("P+o", _day_number),
        ("UN", _day_number),
        ("[CRAS]P*H", _holiday),
    )
)
