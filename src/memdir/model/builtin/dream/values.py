"""Values in a text: dates, times, amounts, versions, weekdays, identifiers. What contradictions are made of.

A value has a kind: `date`, `month`, a plain `num`, one with a unit (`num:s`), `weekday`, `often`, or another `figure`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

from memdir.disk.shipped import shipped_lines

_NUMBER = r"\d{1,3}(?:[.,\u00a0 ]\d{3})+(?![\d.])|\d+(?:[.,]\d+)*"
_VALUE = re.compile(
    r"(?P<date>\b\d{4}-\d{2}-\d{2}\b)"
    r"|(?P<month>\b\d{4}-\d{2}\b(?!-))"
    r"|(?P<figure>\bQ[1-4] \d{4}\b"
    r"|\b\d{1,2}:\d{2}(?:\s?[-–—]\s?\d{1,2}:\d{2})?\b"
    r"|\bUTC[+-]\d{1,2}\b"
    r"|\b[a-z0-9-]+(?:\.[a-z0-9-]+)+\.[a-z]{2,}\b"  # a host
    rf"|[€$£¥]\s?(?:{_NUMBER})|(?<![\w.])(?:{_NUMBER})\s?(?:[€$£¥%]|euros?\b|dollars?\b|pounds?\b|EUR\b|USD\b|GBP\b)"
    r"|\b(?=[\w-]*\d)(?=[\w-]*[A-Za-z])[A-Za-z0-9]+(?:[-_][A-Za-z0-9]+)*\b)"  # an identifier
    rf"|(?P<num>(?<![\w.-])(?:{_NUMBER})(?![\w-]))",
)
_WORD_AFTER = re.compile(r"\s?(?:[A-Z]{2,5}\s)?([^\W\d_][\w°/-]*)")
_NAME_BEFORE = re.compile(r"(?<!\w)[A-ZÀ-ÖØ-Þ][\w-]*[a-zà-ÿ]\w* $")
_THOUSANDS = re.compile(r"(?<=\d)[.,](?=\d{3}(?!\d))")
_UNIT = re.compile(r"[\d.,]+(\s*\D+)$")


@dataclass(frozen=True)
class Value:
    """One value: its kind, what it amounts to, and how it is written."""

    kind: str
    value: str
    text: str

    @property
    def unit(self) -> str:
        """What is written behind the number."""
        match = _UNIT.search(self.text)
        return match[1] if match else ""

    def is_like(self, other: Value) -> bool:
        """Whether the two can disagree."""
        return self.kind.split(":")[0] == other.kind.split(":")[0]


@cache
def _table() -> dict[str, dict[str, str]]:
    """The words for units, numbers, weekdays and how often, in several languages, each with what it stands for."""
    table: dict[str, dict[str, str]] = {}
    for line in shipped_lines("model/builtin/dream/units.txt"):
        group, name, *words = line.split()
        table.setdefault(group, {}).update(dict.fromkeys(words, name))
    return table


@cache
def _spelled() -> re.Pattern[str]:
    words = sorted(
        (word for group, some in _table().items() if group != "unit" for word in some), key=len, reverse=True
    )
    return re.compile(rf"(?<!\w)(?:{'|'.join(words)})(?!\w)", re.IGNORECASE)


def values_in(text: str) -> list[Value]:
    """Every value in a text."""
    found = [
        _amount(_plain(one[0]), one) if one.lastgroup == "num" else Value(str(one.lastgroup), _plain(one[0]), one[0])
        for one in _VALUE.finditer(text)
    ]
    return found + [value for match in _spelled().finditer(text) for value in _spelled_out(match)]


def _amount(number: str, match: re.Match[str]) -> Value:
    """A number with the unit behind it, or the name it belongs to before it."""
    after = _WORD_AFTER.match(match.string, match.end())
    unit = _table()["unit"].get(after[1].casefold()) if after else None
    if after and unit:
        stop = after.end() if after.start(1) <= match.end() + 1 else match.end()
        return Value(f"num:{unit}", number, match.string[match.start() : stop])
    is_named = _NAME_BEFORE.search(match.string, 0, match.start())
    return Value("figure" if is_named else "num", number, match[0])


def _spelled_out(match: re.Match[str]) -> Iterator[Value]:
    word = match[0].casefold()
    for kind in ("weekday", "often"):
        if word in _table()[kind]:
            yield Value(kind, _table()[kind][word], match[0])
            return
    value = _amount(_table()["number"][word], match)
    if value.kind.startswith("num:"):  # "a" and "one" count only what has a unit
        yield value


def _plain(raw: str) -> str:
    """One spelling for 1,500 and 1500 and 1.500, 9:00 and 09:00; a decimal stays one."""
    text = re.sub(r"[\s€$£¥%]|euros?|dollars?|pounds?|EUR|USD|GBP", "", raw).replace("–", "-").replace("—", "-")
    return _THOUSANDS.sub("", text).replace(",", ".").casefold().removeprefix("0")
