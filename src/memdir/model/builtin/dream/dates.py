"""Relative dates in many languages, turned into absolute ones from the day they were written (T3, D3).

Owns reading "next Thursday" and saying which day that is, or that it is not certain. It decides nothing about which
sentences may be changed.
"""

from __future__ import annotations

import calendar
import re
from dataclasses import dataclass
from datetime import date, timedelta
from functools import cached_property
from importlib import resources

from memdir.text.words import plain_words

MAX_COUNT = 400  # "in 500 days" is a measure, not an appointment

_EAST = re.compile("[\u3040-\u30ff\u3400-\u9fff]")
_HANGUL = re.compile("[\uac00-\ud7a3]")
_DIGITS = r"\d{1,3}"
_BEFORE = re.compile(r"(?:^|[\s(\[„“\"«])([^\W\d_]+)\s+$")
_DAY_PARTS = {
    "evening": {"en": " in the evening", "fr": " au soir", "es": " por la noche", "it": " sera", "nl": " 's avonds"},
    "morning": {"en": " in the morning"},
    "afternoon": {"en": " in the afternoon"},
}
_EN_DAY_PART = re.compile(r"\s+(?=(?:morning|afternoon|evening|night)\b)", re.IGNORECASE)


@dataclass(frozen=True)
class Found:
    """A relative date in a text: where it stands, what to write instead (empty when not certain), what kind it is."""

    start: int
    end: int
    words: str
    absolute: str
    operation: str
    value: str = ""


@dataclass(frozen=True)
class _Rule:
    operation: str
    pattern: re.Pattern[str]
    needs: frozenset[str]
    words: frozenset[str]  # one of these stands in every match; none where that is not known

    def may_match(self, words: frozenset[str]) -> bool:
        if self.needs and self.needs.isdisjoint(words):
            return False
        return not self.words or not self.words.isdisjoint(words)


class _Language:
    """The patterns of one language, compiled when the language is first met."""

    def __init__(self, code: str, lines: list[tuple[str, str]]) -> None:
        self.code = code
        words = dict(lines)
        self.triggers = frozenset(words.get("triggers", "").split())
        self.on = words.get("on", "")
        self.inside = words.get("in", "")
        self.week_of = words.get("week-of", "{}")
        self.numbers = dict(pair.split("=") for pair in words.get("numbers", "").split())
        self.weekdays = words.get("weekdays", "").split()
        self.months = words.get("months", "").split()
        self._lines = lines

    @cached_property
    def rules(self) -> list[_Rule]:
        needs = {op.removeprefix("needs "): frozenset(text.split()) for op, text in self._lines if op[:6] == "needs "}
        skipped = ("triggers", "on", "in", "week-of", "numbers", "weekdays", "months")
        return [
            _Rule(op, self._compiled(text), needs.get(op, frozenset()), self._words_in(text))
            for op, text in self._lines
            if op not in skipped and not op.startswith("needs ")
        ]

    def _words_in(self, text: str) -> frozenset[str]:
        """The trigger words that a match can hold: those that begin like a word of the pattern."""
        named = [word for word in plain_words(text.replace("{wd}", " ".join(self.weekdays))) if len(word) > 1]
        return frozenset(trigger for trigger in self.triggers if any(_begin_alike(trigger, word) for word in named))

    def _compiled(self, text: str) -> re.Pattern[str]:
        number = rf"(?P<n>{'|'.join([*self.numbers, _DIGITS])})"
        parts = text.replace("{n}", number).split("{wd}")
        for at in range(1, len(parts)):  # a pattern may name the weekday twice, a group name only once
            days = "|".join(f"(?P<w{day}_{at}>{name})" for day, name in enumerate(self.weekdays))
            parts[at] = f"(?:{days})" + parts[at]
        whole = "".join(parts)
        edge = ("", "") if self.code in ("ja", "zh", "ko") else (r"(?<![\w-])", r"(?![\w-])(?!['’]s)")
        return re.compile(f"{edge[0]}(?:{whole}){edge[1]}", re.IGNORECASE)

    def count(self, word: str) -> int:
        return int(self.numbers.get(word.casefold(), word))


class Calendar:
    """Finds relative dates in texts of any of the languages it has tables for."""

    def __init__(self) -> None:
        tables: dict[str, list[tuple[str, str]]] = {}
        self.prepositions: frozenset[str] = frozenset()
        text = resources.files(__package__).joinpath("relative_dates.txt").read_text(encoding="utf-8")
        for line in text.splitlines():
            parts = line.split("\t")
            if parts[0] == "any":
                self.prepositions = frozenset(parts[2].split())
            elif len(parts) == 3 and not line.startswith("#"):
                tables.setdefault(parts[0], []).append((parts[1], parts[2]))
        self._languages = [_Language(code, lines) for code, lines in tables.items()]
        self._triggers = frozenset(word for language in self._languages for word in language.triggers)
        self.months = {name: at for language in self._languages for at, name in enumerate(language.months, 1)}

    def find(self, text: str, day: date) -> list[Found]:
        """Every relative date in `text`, read from `day`; the longest reading where several overlap."""
        words = frozenset(plain_words(text))
        found = [item for language in self._spoken(text, words) for item in self._matches(language, text, words, day)]
        found.sort(key=lambda item: (item.start, -item.end))
        kept: list[Found] = []
        for item in found:
            if not kept or item.start >= kept[-1].end:
                kept.append(item)
        return kept

    def may_hold(self, words: frozenset[str], text: str) -> bool:
        """Whether a text has any word that a relative date needs: a quick look before a close one."""
        if text.isascii():
            return not self._triggers.isdisjoint(words)
        return not self._triggers.isdisjoint(words) or bool(_EAST.search(text) or _HANGUL.search(text))

    def month_days(self, text: str, day: date) -> list[Found]:
        """Days named without a year ("13 Feb", "July 1st"), read as the one nearest to `day`."""
        found = [item for language in self._languages if language.months for item in _month_days(language, text, day)]
        return sorted({item.start: item for item in found}.values(), key=lambda item: item.start)

    def _spoken(self, text: str, words: frozenset[str]) -> list[_Language]:
        east, hangul = bool(_EAST.search(text)), bool(_HANGUL.search(text))
        return [
            language
            for language in self._languages
            if (language.code in ("ja", "zh") and east)
            or (language.code == "ko" and hangul)
            or not language.triggers.isdisjoint(words)
        ]

    def _matches(self, language: _Language, text: str, words: frozenset[str], day: date) -> list[Found]:
        found = []
        for rule in language.rules:
            if not rule.may_match(words):
                continue
            for match in rule.pattern.finditer(text):
                when = _when(rule.operation, match, language, day)
                before = _BEFORE.search(text, 0, match.start())
                bare = before is not None and before[1].casefold() in self.prepositions
                writing = _Writing(language, text, match, bare)
                absolute, end = writing.written(rule.operation, when) if when else ("", match.end())
                found.append(Found(match.start(), end, match[0], absolute, rule.operation, when))
        return found


def _begin_alike(one: str, two: str) -> bool:
    return one.startswith(two) or two.startswith(one)


def _when(operation: str, match: re.Match[str], language: _Language, day: date) -> str:
    """The absolute date as text; empty when it is not certain which one is meant."""
    kind, _, rest = operation.partition(" ")
    if kind in ("in", "ago"):
        return _counted(kind, rest, match, language, day)
    if kind.startswith("weekday"):
        return _weekday(kind, rest, _weekday_of(match), day)
    if kind == "end":
        unit, _, units = rest.partition(" ")
        return _end_of(unit, int(units), day)
    return _of_unit(kind, int(rest), day)


def _of_unit(kind: str, offset: int, day: date) -> str:
    """A day, week, month, quarter or year so many of them from now."""
    if kind in ("day", "evening", "morning", "afternoon"):
        return _moved(day, offset)
    if kind in ("week", "weekend"):
        return _moved(day - timedelta(days=day.weekday()), 7 * offset + (5 if kind == "weekend" else 0))
    if kind == "year":
        return str(day.year + offset)
    return _month(day, offset) if kind == "month" else _quarter(day, offset)


def _counted(kind: str, unit: str, match: re.Match[str], language: _Language, day: date) -> str:
    sign = 1 if kind == "in" else -1
    if unit == "fortnight":
        return _moved(day, 14)
    count = language.count(match["n"]) if "n" in match.re.groupindex else 1
    if not 0 < count <= MAX_COUNT:
        return ""
    if unit == "month":
        return _month(day, sign * count)
    return _moved(day, sign * count * (7 if unit == "week" else 1))


def _weekday_of(match: re.Match[str]) -> int:
    names = (name for name, value in match.groupdict().items() if value is not None and name[0] == "w")
    return int(next(names)[1:].split("_")[0])


def _weekday(kind: str, which: str, weekday: int, day: date) -> str:
    """A weekday of this or another week. Weeks begin on Monday; "next" is the one in the next week."""
    ahead = weekday - day.weekday()
    if kind == "weekday+week":
        return _moved(day, ahead % 7 + 7) if ahead else ""
    if which.startswith("week"):
        return _moved(day, ahead + 7 * int(which[4:]))
    if which == "next":
        return _moved(day, ahead + 7)
    if which == "soon":  # prochain, próximo: the coming one; certain only when it is in the next week anyway
        return _moved(day, ahead + 7) if ahead <= 0 else ""
    if which == "this":
        return _moved(day, ahead) if ahead >= 0 else ""
    back = -ahead % 7 or 7
    return _moved(day, -back) if back > 1 else ""


def _end_of(unit: str, offset: int, day: date) -> str:
    if unit == "week":
        return _moved(day - timedelta(days=day.weekday()), 7 * offset)
    if unit == "year":
        return f"{day.year + offset}-12-31"
    months = offset if unit == "month" else 3 * offset + 2 - (day.month - 1) % 3
    year, month = _shifted(day, months)
    return f"{year}-{month:02d}-{calendar.monthrange(year, month)[1]:02d}"


def _moved(day: date, days: int) -> str:
    try:
        return (day + timedelta(days=days)).isoformat()
    except OverflowError:
        return ""


def _shifted(day: date, months: int) -> tuple[int, int]:
    total = day.year * 12 + day.month - 1 + months
    return total // 12, total % 12 + 1


def _month(day: date, offset: int) -> str:
    year, month = _shifted(day, offset)
    return f"{year}-{month:02d}"


def _quarter(day: date, offset: int) -> str:
    total = day.year * 4 + (day.month - 1) // 3 + offset
    return f"Q{total % 4 + 1} {total // 4}"


@dataclass(frozen=True)
class _Writing:
    """How a date is put into its sentence: with the preposition it needs, unless one stands there already."""

    language: _Language
    text: str
    match: re.Match[str]
    bare: bool

    def written(self, operation: str, when: str) -> tuple[str, int]:
        """The words to put in, and where the replaced text ends."""
        kind = operation.split(" ", maxsplit=1)[0]
        end = self.match.end()
        if operation.startswith("end week"):
            friday = (date.fromisoformat(when) + timedelta(days=4)).isoformat()
            return f"{'' if self.bare else 'at '}the end of the week of {when} (Friday {friday})", end
        if kind == "weekend":
            return f"{'' if self.bare else 'on '}the weekend of {when}", end
        if kind == "week":
            week = self.language.week_of.format(when)
            return (week.removeprefix("in ") if self.bare else week), end
        if kind in ("month", "quarter", "year") or operation in ("in month", "ago month"):
            inside = self.language.inside
            return (when if self.bare or not inside else f"{inside} {when}"), end
        return self._day(kind, when)

    def _day(self, kind: str, when: str) -> tuple[str, int]:
        end = self.match.end()
        part = _DAY_PARTS.get(kind, {}).get(self.language.code, "")
        if self.language.code == "en" and kind == "day" and (gap := _EN_DAY_PART.match(self.text, end)):
            part, end = " in the ", gap.end()
        lead = "" if self.bare or not self.language.on else f"{self.language.on} "
        if self.match.start() == 0:
            lead = lead.capitalize()
        return f"{lead}{when}{part}", end


def _month_days(language: _Language, text: str, day: date) -> list[Found]:
    # Short forms only in English: "20 out" is October in Portuguese and something else everywhere.
    short = r"|{}\.?" if language.code == "en" else ""
    names = [rf"(?P<m{at}>{name}{short.format(name[:3])})" for at, name in enumerate(language.months, 1)]
    month = f"(?:{'|'.join(names)})"
    ordinal = r"(?P<d>\d{1,2})(?:st|nd|rd|th|\.|er|º|\.?\s+(?:de|of))?"
    shapes = (rf"{month}\s+{ordinal}", rf"{ordinal}\s*{month}")
    found = []
    for shape in shapes:
        pattern = re.compile(rf"(?<![\w.-]){shape}(?![\w:])(?!,?\s+(?:de\s+)?\d{{4}})", re.IGNORECASE)
        for match in pattern.finditer(text):
            number = next(int(name[1:]) for name, value in match.groupdict().items() if value and name[0] == "m")
            when = _nearest(int(match["d"]), number, day)
            if when:
                found.append(Found(match.start(), match.end(), match[0], when, "month day", when))
    return found


def _nearest(day_number: int, month: int, day: date) -> str:
    """The year that puts this day nearest to `day`, empty when there is no such day."""
    options = []
    for year in (day.year - 1, day.year, day.year + 1):
        if 1 <= day_number <= calendar.monthrange(year, month)[1]:
            options.append(date(year, month, day_number))
    return min(options, key=lambda option: abs((option - day).days)).isoformat() if options else ""
