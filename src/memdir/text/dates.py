"""Finds the dates that a text names, relative and absolute, in all our languages, and the days they mean (T3).

A shape is a regular expression over the symbols of `date_words`; the longest at a place wins. What a date is counted
from is given. Whether it is to be rewritten, weighed or doubted is the caller's business.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Sequence
from datetime import date, timedelta
from itertools import pairwise
from typing import NamedTuple

from memdir.text.date_words import EAST, Token, languages, languages_of, read_tokens, words_by_meaning
from memdir.text.language import anywhere, at_end, fold, language, small_words
from memdir.text.words import is_unspaced

MAX_ANCHORS = 4  # a memory with more dates than that is a calendar; shifting all of them would be a guess
LAST_WORKDAY = 4  # Friday
CLAUSE = 200  # characters around a date that may tell how it is meant
NEAR = 64  # characters before it in which "every" stands
JUST_PAST = 90  # days since one that is named without a year, and that may be meant: "the storm of 4 May"
MAX_SYMBOLS = 24  # of one date: no reader looks farther ahead, so that the time grows with the text and no faster
MONTHS = {"m": 1, "q": 3, "y": 12}
DAYS = {"d": 1, "w": 7, "f": 14, "e": 7}
GRAINS = {"w": "week", "m": "month", "q": "quarter", "y": "year"}
ROMANCE = frozenset({"fr", "es", "pt", "it"})  # "lundi prochain" is the next one, "next Monday" the one of next week
_ISO = re.compile(r"\b(20\d\d)-(\d\d)-(\d\d)\b")
_QUOTED = re.compile(r"\"[^\"\n]*\"|“[^”\n]*”|„[^“”\n]*[“”]|«[^»\n]*»|`[^`\n]*`|~~[^~\n]*~~")
_TOLD = re.compile(r"\s*\((?:20\d\d\)|(?:[^()\d\n]{1,12}\s)?20\d\d-\d\d)")
_RELATIVE = frozenset(("day", "days of week", "weekday and week", "from", "whole", "in", "ago"))
_MAY_BE_RELATIVE = frozenset(("weekday", "end", "day of month", "nth of month"))
_PLURALS = frozenset(("days", "weeks", "months", "quarters", "years"))  # they name no single one
_ENGLISH = frozenset(("week", "month", "quarter", "year"))
_LETTERS = re.compile(r"[^\W\d_]+(?:['-][^\W\d_]+)*")
_GAPS = {code: " " for code in range(128) if not chr(code).isalpha()}
_LED = re.compile(r"([^\W\d_]+(?:-[^\W\d_]+)?)[.,]?\s+$")
_EXPIRES = re.compile(r"\b(?:exp|expir\w+|valid|good)\W*(?:\w+\W+)?$", re.IGNORECASE)
_PER_WEEK = re.compile(r"(?:\d|\b(?:once|twice|times|days|nights|hours|shifts|pounds|euros|dollars))\s*$", re.I)
_ONWARD = re.compile(r"\s(?:on|onwards?|an|af|en adelante|em diante|in poi)\b", re.IGNORECASE)


class Clock(NamedTuple):
    """The day that dates are counted from, the text's language, and dates that may be meant without being named."""

    today: date
    language: str
    anchors: tuple[date, ...] = ()


class DateSpan:
    """One date in a text: where it stands, the days it means, and how it is named."""

    __slots__ = ("count", "days", "end", "grain", "kind", "language", "start", "symbols", "unit", "vague", "weekday")

    def __init__(self, *days: date, grain: str = "day", vague: bool = False, unit: str = "d", count: int = 0) -> None:
        self.days, self.grain, self.vague = days, grain, vague
        self.unit, self.count = unit, count  # so many units from the day that is counted from, where it is named so
        self.start, self.end, self.kind, self.symbols, self.weekday, self.language = 0, 0, "", "", "", ""

    @property
    def is_relative(self) -> bool:
        """Whether it means another day to whoever reads it later."""
        said = "TXQLc" if self.kind == "weekday" else "TXc"
        return self.kind in _RELATIVE or (self.kind in _MAY_BE_RELATIVE and not set(said).isdisjoint(self.symbols))


class _Phrase:
    """The words of one date, and what they are counted from."""

    __slots__ = ("after", "bases", "before", "language", "number", "today", "tokens", "unit", "weekday")

    def __init__(self, tokens: list[Token], text: str, clock: Clock, last: date | None) -> None:
        start, end = tokens[0].start, tokens[-1].end
        self.before, self.after = text[max(0, start - CLAUSE) : start], text[end : end + CLAUSE]
        self.tokens, self.today, self.language = tokens, clock.today, clock.language
        self.bases = clock.anchors[:MAX_ANCHORS] or ((last,) if last else ())  # of the memory, or named before
        self.number, self.weekday = self.value("Nf"), self.value("W")
        self.unit = "".join(token.value for token in self.of("UVj"))[-1:]

    def of(self, symbols: str) -> list[Token]:
        return [token for token in self.tokens if token.symbol in symbols]

    def has(self, symbols: str) -> bool:
        return any(token.symbol in symbols for token in self.tokens)

    def value(self, symbols: str, default: int = 1) -> int:
        return next((int(token.value) for token in self.tokens if token.symbol in symbols), default)

    @property
    def past(self) -> bool:
        """Whether the words around a date say that it is behind us."""
        from memdir.text.standing import tells_past  # recall reads dates, and no verbs

        return tells_past(self.before, self.after, self.language)

    @property
    def ahead(self) -> int:
        """How many units from now: next is 1, the one after next 2."""
        step = len(self.of("Xc")) - len(self.of("L"))
        return 2 if self.has("Q") else 2 * step if self.has("ARr") else step

    @property
    def month(self) -> date:
        """The first of the month that is named, or of this or another one from now."""
        if not self.has("M"):
            return unit_start(self.today, "m", len(self.of("Xc")))
        month = self.value("M")
        behind = month > self.today.month if self.past else month < self.today.month
        return date(self.value("Y", self.today.year + ((-1 if self.past else 1) if behind else 0)), month, 1)

    @property
    def is_led(self) -> bool:
        """Whether the word before can only stand before a day: "by 5/16", "Friday 3.11."."""
        lead = _LED.search(self.before)
        is_word = lead and fold(lead[1]) in words_by_meaning()["any"]["day-follows"]
        return bool(is_word or (lead and any(one.symbol == "W" for one in read_tokens(lead[1], self.language))))

    def month_day(self, month: int, day: int, year: int = 0) -> date | None:
        """A day without a year: the nearest one ahead, or behind when the past is told."""
        found = _date(year or self.today.year, month, day)
        if found and not year and (found > self.today if self.past else found < self.today):
            return _date(self.today.year + (-1 if self.past else 1), month, day)
        return found

    def unless_past(self, found: date | None, *year: int) -> DateSpan | None:
        """A day that is vague where it may as well be the one that was just now: "the letter of 3 May"."""
        is_just_past = found and not any(year) and (found - self.today).days > 365 - JUST_PAST
        return DateSpan(found, vague=bool(is_just_past)) if found else None

    def holiday(self) -> DateSpan | None:
        """The day of a fixed holiday."""
        found = self.month_day(*map(int, self.of("H")[0].value.split("-")))
        return DateSpan(found, vague=True) if found else None


NO_DAY = DateSpan()  # what is not one day though it reads like it: its words are read over
Resolver = Callable[[_Phrase], "DateSpan | date | None"]
_Shapes = tuple[tuple[str, tuple[str, ...], Resolver, tuple[str, ...]], ...]


def _date(year: int, month: int, day: int) -> date | None:
    try:
        return date(year, month, day)
    except ValueError:
        return None


def unit_start(day: date, unit: str, ahead: int = 0) -> date:
    """The first day of this week, month, quarter or year (`ahead` = 0), or of another one."""
    if unit == "w":
        return day + timedelta(days=7 * ahead - day.weekday())
    months = MONTHS[unit]
    year, month = divmod(day.year * 12 + (day.month - 1) // months * months + ahead * months, 12)
    return date(year, month + 1, 1)


def unit_end(day: date, unit: str, ahead: int = 0) -> date:
    """The last day of it; of a week the last working day."""
    if unit == "w":
        return unit_start(day, "w", ahead) + timedelta(days=LAST_WORKDAY)
    return unit_start(day, unit, ahead + 1) - timedelta(days=1)


def add(day: date, count: int, unit: str) -> date:
    """The day moved by a number of units; the month's last where there is no such day."""
    if unit in MONTHS:
        first = unit_start(day, "m", count * MONTHS[unit])
        return min(first + timedelta(days=day.day - 1), unit_end(first, "m"))
    if unit == "k":
        step = timedelta(days=1 if count > 0 else -1)
        for _ in range(abs(count)):
            day += step
            while day.weekday() > LAST_WORKDAY:
                day += step
        return day
    return day + timedelta(days=count * DAYS[unit])


def next_weekday(day: date, weekday: int) -> date:
    """The first such weekday after the day."""
    return day + timedelta(days=(weekday - day.weekday() - 1) % 7 + 1)


def previous_weekday(day: date, weekday: int) -> date:
    """The last such weekday before the day."""
    return day - timedelta(days=(day.weekday() - weekday - 1) % 7 + 1)


def _absolute(phrase: _Phrase, *, is_either: bool = False) -> DateSpan | date | None:
    """By 3/5 some mean the fifth of March, others the third of May: neither, or where either will do, the later."""
    parts = [int(part) for part in re.findall(r"\d+", phrase.tokens[0].value)]
    if phrase.has("K"):
        return _date(*parts)
    first, second, *year = parts
    month_first, day_first = phrase.month_day(first, second, *year), phrase.month_day(second, first, *year)
    found = day_first or month_first
    if _is_no_day(phrase):
        return None
    if "/" in phrase.tokens[0].value and first != second and month_first and day_first:
        if phrase.language == "en":
            return max(month_first, day_first) if is_either else None
        found = month_first if phrase.language in EAST else day_first
    return phrase.unless_past(found, *year)


def _is_no_day(phrase: _Phrase) -> bool:
    """Whether 5/16 or 3.11. stands where no day does; behind "expires", and where days come first, 09/28 is a month."""
    figures = re.fullmatch(r"\d+(?:/(\d+)|\.\s?\d+\.)", phrase.tokens[0].value)
    if not figures or phrase.language in EAST:
        return False
    is_day_first = phrase.language != "en" or _EXPIRES.search(phrase.before)
    return not phrase.is_led or bool(is_day_first and int(figures[1] or 0) >= phrase.today.year % 100)


def _day_of_month(phrase: _Phrase) -> DateSpan | None:
    """3 June, the first of June, 6月3日; an English "first June" is the June of a year."""
    month, day = phrase.value("M", phrase.value("N")), int(phrase.of("NoO")[-1].value)
    is_year = phrase.language == "en" and re.search("OM", "".join(token.symbol for token in phrase.tokens))
    if is_year or (phrase.has("j") and phrase.of("U")[-1].value != "m"):
        return None
    return phrase.unless_past(phrase.month_day(month, day, phrase.value("Y", 0)), phrase.value("Y", 0))


def _nth_of_month(phrase: _Phrase) -> DateSpan | date | None:
    """The last Friday of June, its first working day; of its weeks that one counts which has its Thursday in it."""
    nth, month, unit = phrase.value("OoN", -1), phrase.month, "" if phrase.has("W") else phrase.of("U")[0].value
    if not phrase.has("MTXc"):  # of any month
        return NO_DAY if phrase.unit in "mqy" else None
    if not (phrase.has("M") or phrase.unit == "m") or unit not in "dkwe":
        return None
    if unit == "d":
        return unit_end(month, "m") if nth == -1 else _date(month.year, month.month, nth)
    if unit == "k":
        return add(unit_start(month, "m", 1) if nth == -1 else month - timedelta(days=1), nth, "k")
    weekday, after = {"w": 3, "e": 5}.get(unit, phrase.weekday), unit_start(month, "m", 1)
    first = next_weekday(month - timedelta(days=1), weekday)
    found = previous_weekday(after, weekday) if nth == -1 else first + timedelta(days=7 * (nth - 1))
    if found.month != month.month:
        return None
    return DateSpan(found - timedelta(days=3), grain="week", vague=True, unit="w") if unit == "w" else found


def _end(phrase: _Phrase) -> date | None:
    """The end of a month that is named, or of a unit from now."""
    if phrase.has("M"):
        return unit_end(phrase.month, "m")
    return unit_end(phrase.today, phrase.unit, phrase.ahead) if phrase.unit in GRAINS else None


def _days_of_week(phrase: _Phrase) -> DateSpan:
    week = unit_start(phrase.today, "w", phrase.ahead)
    return DateSpan(*(week + timedelta(days=int(token.value)) for token in phrase.of("W")))


def _whole_unit(phrase: _Phrase) -> DateSpan | None:
    unit, ahead = phrase.unit, phrase.ahead
    if unit == "e":
        saturday = unit_start(phrase.today, "w", ahead) + timedelta(days=5)
        return DateSpan(saturday, vague=True, unit=unit, count=ahead)
    backward = phrase.tokens[0].word in _ENGLISH and not phrase.has("AR")  # "the year last used"
    if unit not in GRAINS or backward or phrase.of("U")[0].word in _PLURALS:
        return None
    return DateSpan(unit_start(phrase.today, unit, ahead), grain=GRAINS[unit], vague=True, unit=unit, count=ahead)


def _week_on_day(phrase: _Phrase) -> date | None:
    """A week on Monday, a week tomorrow, tomorrow week; "once a week on Monday" is every one."""
    is_said = phrase.tokens[0].word == "a" or (phrase.tokens[0].symbol == "D" and phrase.language in ("en", "fr"))
    is_ahead = phrase.has("W") or phrase.value("D") > 0
    is_week = phrase.unit in "wf" and phrase.of("U")[0].word not in _PLURALS
    return _from_day(phrase) if is_said and is_ahead and is_week and not _PER_WEEK.search(phrase.before) else None


def _from_day(phrase: _Phrase) -> date | None:
    if phrase.has("d") and _ONWARD.match(phrase.after):
        return None
    named = next_weekday(phrase.today, phrase.weekday) if phrase.has("W") else None
    base = named or phrase.today + timedelta(days=phrase.value("Ddp"))
    return add(base, phrase.number, phrase.unit) if phrase.unit != "e" else None


def _in_units(phrase: _Phrase) -> DateSpan | None:
    fillers = {token.word for token in phrase.of("P")}
    counted = phrase.has("N") or fillers & {"a", "an", "another", "nog"}
    if not counted or fillers & {"the", "of"} or phrase.unit == "e":
        return None
    return DateSpan(add(phrase.today, phrase.number, phrase.unit), unit=phrase.unit, count=phrase.number)


def _ago(phrase: _Phrase) -> DateSpan | None:
    number, unit = -phrase.number, phrase.unit
    if not phrase.has("Nf") and phrase.of("Uj")[0].word in _PLURALS:
        return None
    grain = GRAINS[unit] if unit in "my" else "day"
    return DateSpan(add(phrase.today, number, unit), grain=grain, vague=True, unit=unit, count=number)


def _later(phrase: _Phrase) -> DateSpan | None:
    """Nine days later, the one after, the following weekend; put off by a week, where the words around say so."""
    around, is_sooner, is_later = phrase.before + phrase.after, phrase.has("Rr"), phrase.has("A")
    if not (is_sooner or is_later):
        is_sooner, is_later = (bool(anywhere(one, phrase.language).search(around)) for one in ("earlier", "later"))
    is_other = phrase.unit not in ("", "e") and phrase.tokens[0].symbol == "A"  # the following month
    if not phrase.bases or not (is_sooner or is_later) or is_other or (not phrase.unit and phrase.number != 1):
        return None
    count = -phrase.number if is_sooner else phrase.number
    return DateSpan(*(add(base, count, phrase.unit or "w") for base in phrase.bases))


def _beside(phrase: _Phrase) -> date | None:
    """A day before or after another: the holiday in the phrase, the day named before, or the one in the memory."""
    holiday = phrase.holiday() if phrase.has("H") else None
    bases = holiday.days if holiday else () if phrase.has("H") else phrase.bases
    if not bases or not phrase.has("W"):
        return bases[0] + timedelta(days=-1 if phrase.has("Rr") else 1) if bases else None
    return (previous_weekday if phrase.has("Rr") else next_weekday)(bases[0], phrase.weekday)


def _weekday(phrase: _Phrase) -> DateSpan | date:
    if phrase.has("LS") or (phrase.past and not phrase.has("TXQc")):
        return previous_weekday(phrase.today, phrase.weekday)
    if phrase.has("Q") or (phrase.has("X") and phrase.language not in ROMANCE):
        return unit_start(phrase.today, "w", phrase.ahead) + timedelta(days=phrase.weekday)
    if phrase.has("T"):  # this Monday, said on a Monday, is today
        return next_weekday(phrase.today - timedelta(days=1), phrase.weekday)
    found = next_weekday(phrase.today, phrase.weekday)
    is_this_week = found < unit_start(phrase.today, "w", 1)  # on a Wednesday "el próximo viernes" may be either
    return DateSpan(found, vague=not phrase.has("Xc") or (phrase.has("X") and is_this_week))


def _day_number(phrase: _Phrase) -> DateSpan | date | None:
    """The 21st; not a 2nd year, nor the 3rd floor."""
    noun = re.match(r"[ -](?!\d)(\w+)", phrase.after)
    is_noun = noun and noun[1].islower() and noun[1] not in small_words().get(phrase.language, ())
    if phrase.tokens[0].word == "a" or (phrase.has("o") and is_noun and not phrase.is_led):
        return NO_DAY
    months = (unit_start(phrase.today, "m", ahead) for ahead in range(3))
    days = (_date(month.year, month.month, phrase.value("oN")) for month in months)
    return next((day for day in days if day and day >= phrase.today), None)


def _days_in_row(phrase: _Phrase) -> DateSpan | None:
    """March 1–5: a comma between two numbers is no span."""
    joint = phrase.of(",C")[0]
    if joint.symbol == "," and joint.value not in ("-", "–", "—"):
        return None
    month, year = phrase.value("M"), phrase.value("Y", 0)
    days = [phrase.month_day(month, int(token.value), year) for token in phrase.of("No")]
    return DateSpan(*(day for day in days if day)) if all(days) else None


def _month_in_figures(phrase: _Phrase) -> DateSpan | None:
    """2026-03, 3/2026 and 2026年3月; never a number that only stands beside a year."""
    month, units, marks = phrase.value("N"), phrase.of("U"), phrase.of(",;")
    is_written = all(one.end == other.start for one, other in pairwise(phrase.tokens))
    is_month = [unit.value for unit in units] == ["y", "m"] if units else marks[0].value in ("-", "/", ".")
    return DateSpan(date(phrase.value("Y"), month, 1), grain="month") if is_month and is_written else None


def _quarter(phrase: _Phrase) -> DateSpan | None:
    first = 3 * phrase.value("NOo") - 2  # of a fifth no calendar knows
    return DateSpan(date(phrase.value("Y"), first, 1), grain="quarter") if phrase.unit == "q" else None


_P = "[P,]*"
_WEEK = "(?:[XTLc]P*U|UP?[XTLc]|U(?:AP*X|RP*L)|QP*U|UP*Q)"
_TWO = f"W(?:{_P}C{_P}W|,P*W)?"
# A kind, the symbols it needs (one of each group), what resolves it, and its shapes.
_TABLE: _Shapes = (
    ("absolute", ("KJ",), _absolute, ("[KJ]",)),
    ("month day", ("M", "NoO"), _day_of_month, (f"P*[No];?P*M{_P}Y?", f"P*OP*M{_P}Y?", f"MP*[No]{_P}Y?")),
    ("month day", ("N", "U", "j"), _day_of_month, ("(?:YU)?NUNj",)),
    ("nth of month", ("OoL", "WU", "MU"), _nth_of_month, ("P*[OoL]P*[WU][PIF]*(?:T?P*MP*Y?|[TXc]?P*U|UP*X)",)),
    (
        "day of month",
        ("OoN", "TXc", "U"),
        lambda it: _date(it.month.year, it.month.month, it.value("OoN")),
        ("P*[OoN]P+(?:[TXc]P*U|UP*X)", "[TX]P*UP*Nj"),
    ),
    ("end", ("EVe",), _end, ("E[PI]*(?:MP*Y?|[TXc]?P*U(?:AP*X|P*X)?)", "(?:[TX]P*)?V", "(?:[TX]P*)?U[Ee]")),
    ("days of week", ("W", "U", "XTLcQ"), _days_of_week, (f"S?{_TWO}{_P}{_WEEK}", f"{_WEEK}[P,I]*{_TWO}")),
    ("whole", ("U", "XTLcQ"), _whole_unit, (_WEEK,)),
    ("weekday and week", ("W", "U"), lambda it: _from_day(it) if it.unit in "wf" else None, ("WU", "WP*IP*N?P*U")),
    ("from", ("U", "FI"), _from_day, ("N?P*UP*FP*[DdpW]", "[Dp]IP*N?P*U")),
    ("from", ("U", "DW"), _week_on_day, ("PUP?[DW]", "DU(?!N)")),
    ("in", ("Uj", "Iin"), _in_units, ("[Ii]P*N?P*U(?!G)", "NP*[Uj][ni]")),
    ("ago", ("Uj", "Ggr"), _ago, ("[Nf]?P*[Uj]G", "gP*N?P*U", "rP*NP*U")),
    ("later", ("U", "ARr"), _later, ("N?P*U[ARr]",)),
    ("beside", ("WU", "ARr"), _beside, ("[PT]*WP*[ARr]P*H?", "P*UP*[ARr]P*H?")),
    ("weekday", ("W",), _weekday, ("[TXQLSc]P*W", "WP*[XLQ]", "W")),
    ("day", ("Dp",), lambda it: DateSpan(it.today + timedelta(it.value("Dp")), count=it.value("Dp")), ("[Dp]",)),
    ("day number", ("oj",), _day_number, ("P+o", "Nj")),
    ("holiday", ("H", "CRrAS"), _Phrase.holiday, ("[CRrAS]P*H",)),
)
# In a message alone, where a memory or a sentence before may have told the day.
_SHIFTS: _Shapes = (("later", ("AU",), _later, ("NA", "A[NU]", "N?P{0,8}U")),)
# What is no day: months, quarters and years with their year, days in a row, and a day that is one of two, of which the
# later counts. Only who asks for them gets these too.
_COARSE: _Shapes = (
    ("absolute", ("J",), lambda it: _absolute(it, is_either=True), ("J",)),
    ("days", ("M", "No"), _days_in_row, (f"MP*[No]P*[,C]P*[No]{_P}Y?",)),
    ("month", ("M", "Y"), lambda it: DateSpan(it.month, grain="month"), (f"M{_P}Y",)),
    ("month", ("Y", "N"), _month_in_figures, ("Y,N", "N;Y", "YUNU")),
    ("quarter", ("U", "Y", "NOo"), _quarter, (f"[NOo];?P*U{_P}Y", "YUP*[NOo]P*U")),
    ("end", ("E", "Y"), lambda it: date(it.value("Y"), 12, 31), ("E[PI]*Y",)),
)


def last_day(span: DateSpan) -> date:
    """The last day that a date means: of a month or quarter its own last one."""
    unit = next((unit for unit, grain in GRAINS.items() if grain == span.grain), "")
    return unit_end(span.days[-1], unit) if unit else span.days[-1]


def iso_dates(text: str) -> tuple[date, ...]:
    """The absolute dates written in a text."""
    found = (_date(int(year), int(month), int(day)) for year, month, day in _ISO.findall(text))
    return tuple(dict.fromkeys(day for day in found if day))


def may_hold_date(text: str) -> frozenset[str]:
    """The languages in which a text may name a date."""
    is_plain = text.isascii() and "'" not in text and "-" not in text  # then the same words in a third of the time
    words = text.lower().translate(_GAPS).split() if is_plain else _LETTERS.findall(fold(text))
    found = frozenset().union(*map(languages_of, set(words)))
    return found | {"zh"} if not text.isascii() and any(map(is_unspaced, text)) else found


def read_dates(texts: Sequence[str], clock: Clock) -> list[tuple[DateSpan, ...]]:
    """The dates of consecutive sentences; "the day after" leans on the sentence before."""
    last: date | None = None
    result: list[tuple[DateSpan, ...]] = []
    for text in texts:
        tongue = _tongue(text, clock.language)
        spans = tuple(_spans(text, clock._replace(language=tongue), last, (tongue, "en"), _TABLE + _SHIFTS))
        last = next((span.days[-1] for span in reversed(spans) if span.grain == "day"), last)
        result.append(spans)
    return result


def _tongue(text: str, language: str) -> str:
    """The text's language; where too few words tell it, the one of its date: "Od 1 czerwca recepcję prowadzi Ola"."""
    may_hold, words = may_hold_date(text), frozenset(_LETTERS.findall(fold(text)))
    if not may_hold.isdisjoint((language, "en")) or language in EAST:
        return language

    def told(name: str) -> tuple[int, int]:
        known = sum(one.symbol.isalpha() for one in read_tokens(text, name))
        return len(small_words().get(name, words) & words), known

    return max((*sorted(may_hold), language), key=told)


def read_any(text: str, today: date, among: Collection[str] = (), *, is_coarse: bool = False) -> list[DateSpan]:
    """The dates of a text in any of our languages, or of those given; the longest reading where several overlap.

    `is_coarse` reads months, quarters and years as well, and what is written in figures alone.
    """
    folded = fold(text)
    words = frozenset(_LETTERS.findall(folded))
    may_hold, common = among or may_hold_date(text) or (("en",) if is_coarse else ()), small_words()
    names = [name for name in languages() if name in may_hold]
    names.sort(key=lambda name: -len(common.get(name, words) & words))
    found: list[DateSpan] = []
    for name in names:
        doubtful = words_by_meaning()[name].get("doubtful", ())  # "hier" is French, and German
        for span in _spans(text, Clock(today, name), None, (name,), _TABLE + _COARSE if is_coarse else _TABLE):
            if fold(text[span.start : span.end]) not in doubtful or language(folded) == name:
                found.append(span)
    kept: list[DateSpan] = []
    for span in sorted(found, key=lambda span: (span.start, -span.end)):
        if not kept or span.start >= kept[-1].end:
            kept.append(span)
    return kept


def read_relative(text: str, today: date, told_in: str = "") -> list[DateSpan]:
    """The dates that only words tell, and nobody quotes: "in two weeks (2026-05-20)" is told, and so are these words
    elsewhere where `told_in` has them so."""

    def is_told(words: str) -> bool:
        return words in told_in and bool(re.search(re.escape(words) + _TOLD.pattern, told_in))

    text = _QUOTED.sub(lambda quote: " " * len(quote[0]), text)
    spans = (one for one in read_any(text, today) if not _TOLD.match(text, one.end))
    return [one for one in spans if not is_told(text[one.start : one.end])]


def _spans(
    text: str, clock: Clock, last: date | None, tongues: tuple[str, ...], table: _Shapes = _TABLE
) -> Iterator[DateSpan]:
    tokens = read_tokens(text, *tongues)
    letters = "".join([token.symbol for token in tokens])
    symbols = set(letters)
    shapes = [
        (re.compile(shape), kind, resolve)  # `re` remembers them, and a message needs few
        for kind, needs, resolve, some in table
        if not any(map(symbols.isdisjoint, needs))
        for shape in some
    ]
    at = 0 if shapes else len(tokens)
    while at < len(tokens):
        known = () if letters[at] in ".;" else shapes
        far = at + MAX_SYMBOLS
        found = [(hit.end(), kind, resolve) for shape, kind, resolve in known if (hit := shape.match(letters, at, far))]
        span, taken = _longest(text, tokens, at, found, clock, last) if found else (None, 1)
        if span:
            yield span
            last = span.days[-1]
        at += taken


def _longest(
    text: str, tokens: list[Token], at: int, found: list[tuple[int, str, Resolver]], clock: Clock, last: date | None
) -> tuple[DateSpan | None, int]:
    for end, kind, resolve in sorted(found, key=lambda one: -one[0]):
        words = tokens[at:end]
        try:
            meant = resolve(_Phrase(words, text, clock, last))
        except (OverflowError, ValueError):  # a day that no calendar has
            continue
        span = DateSpan(meant) if isinstance(meant, date) else meant
        if span is NO_DAY:
            return None, end - at
        if span and not _is_recurring(text, words, clock.language):
            span.kind, span.language = kind, clock.language
            span.symbols = "".join([word.symbol for word in words])
            return _placed(span, text, words), end - at
    return None, 1


def _placed(span: DateSpan, text: str, words: list[Token]) -> DateSpan:
    while words[0].symbol in "P,S" and words[0].word not in ("a", "an"):
        words = words[1:]
    while words[-1].symbol in "P,":
        words = words[:-1]
    span.start, span.end = words[0].start, words[-1].end
    days = [token for token in words if token.symbol == "W"]
    span.weekday = text[days[0].start : days[0].end] if len(days) == 1 else ""
    return span


def _is_recurring(text: str, words: list[Token], name: str) -> bool:
    """On Mondays, every Friday."""
    days = [token for token in words if token.symbol == "W"]
    if not days or (len(words) > 1 and words[0].symbol != "N"):
        return False
    return bool(at_end("own-recurring", name).search(text[max(0, words[0].start - NEAR) : words[0].start]))
