"""Values in a text: dates, times, amounts, versions, weekdays, identifiers. What contradictions are made of.

A value has a kind; only values of one kind can disagree. It knows no sentences.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache

from memdir.disk.shipped import shipped_lines

_NUMBER = r"\d{1,3}(?:[.,\u00a0 ]\d{3})+(?![\d.])|\d+(?:[.,]\d+)*"
_VALUE = re.compile(
    r"(?P<date>\b\d{4}-\d{2}-\d{2}\b)"
    r"|(?P<month>\b\d{4}-\d{2}\b(?!-))"
    r"|(?P<quarter>\bQ[1-4] \d{4}\b)"
    r"|(?P<hours>\b\d{1,2}:\d{2}\s?[-–—]\s?\d{1,2}:\d{2}\b)"
    r"|(?P<time>\b\d{1,2}:\d{2}\b)"
    r"|(?P<utc>\bUTC[+-]\d{1,2}\b)"
    r"|(?P<host>\b[a-z0-9-]+(?:\.[a-z0-9-]+)+\.[a-z]{2,}\b)"
    rf"|(?P<money>[€$£¥]\s?(?:{_NUMBER})|(?<![\w.])(?:{_NUMBER})\s?(?:[€$£¥]|euros?\b|dollars?\b|pounds?\b|EUR\b|USD\b|GBP\b))"
    rf"|(?P<percent>(?<![\w.])(?:{_NUMBER})\s?%)"
    r"|(?P<id>\b(?=[\w-]*\d)(?=[\w-]*[A-Za-z])[A-Za-z0-9]+(?:[-_][A-Za-z0-9]+)*\b)"
    rf"|(?P<num>(?<![\w.-])(?:{_NUMBER})(?![\w-]))",
)
_WORD_AFTER = re.compile(r"\s?(?:[A-Z]{2,5}\s)?([^\W\d_][\w°/-]*)")
_NAME_BEFORE = re.compile(r"(?<!\w)([A-ZÀ-ÖØ-Þ][\w-]*[a-zà-ÿ]\w*) $")
_SPELLED = ("number", "weekday", "often")


@dataclass(frozen=True)
class Value:
    """One value: its kind, what it amounts to, and where it stands."""

    kind: str
    value: str
    start: int
    end: int
    text: str

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
    words = sorted((word for group in _SPELLED for word in _table()[group]), key=len, reverse=True)
    return re.compile(rf"(?<!\w)(?:{'|'.join(words)})(?!\w)", re.IGNORECASE)


def values_in(text: str) -> list[Value]:
    """Every value in a text, in order."""
    found = [_read(match, text) for match in _VALUE.finditer(text)]
    taken = [(value.start, value.end) for value in found]
    for match in _spelled().finditer(text):
        value = _read_word(match, text)
        if value and not any(start <= match.start() < end for start, end in taken):
            found.append(value)
    return sorted(found, key=lambda value: value.start)


def _read(match: re.Match[str], text: str) -> Value:
    kind = match.lastgroup or ""
    raw = match[0]
    if kind == "num":
        return _amount(_plain_number(raw), match.start(), match.end(), text)
    if kind in ("money", "percent"):
        return Value(kind, _plain_number(re.sub(r"[^\d.,]", "", raw)), match.start(), match.end(), raw)
    if kind == "id":
        prefix = re.match(r"[A-Za-z_-]*", raw)
        return Value(f"id:{prefix[0].casefold() if prefix else ''}", raw.casefold(), match.start(), match.end(), raw)
    value = re.sub(r"\s", "", raw).replace("–", "-").replace("—", "-").casefold()
    return Value(kind, value.rjust(5, "0") if kind == "time" else value, match.start(), match.end(), raw)


def _amount(number: str, start: int, end: int, text: str) -> Value:
    """A number with the unit or the thing that is counted behind it, or the name it belongs to before it."""
    after = _WORD_AFTER.match(text, end)
    unit = _table()["unit"].get(after[1].casefold()) if after else None
    if after and unit:
        stop = after.end() if after.start(1) <= end + 1 else end
        return Value(f"num:{unit}", number, start, stop, text[start:stop])
    before = _NAME_BEFORE.search(text, 0, start)
    return Value(f"num@{before[1].casefold()}" if before else "num", number, start, end, text[start:end])


def _read_word(match: re.Match[str], text: str) -> Value | None:
    word = match[0].casefold()
    for kind in ("weekday", "often"):
        if word in _table()[kind]:
            return Value(kind, _table()[kind][word], match.start(), match.end(), match[0])
    after = _WORD_AFTER.match(text, match.end())
    if after is not None and after[1].casefold() in _table()["unit"]:
        return _amount(_table()["number"][word], match.start(), match.end(), text)
    return None


def _plain_number(raw: str) -> str:
    """One spelling for 1,500 and 1500 and 1.500; a decimal stays one."""
    compact = re.sub(r"[\u00a0 ]", "", raw)
    if re.fullmatch(r"\d{1,3}(?:[.,]\d{3})+", compact):
        return re.sub(r"[.,]", "", compact)
    return compact.replace(",", ".")


def unit_of(value: Value) -> str:
    match = re.search(r"[\d.,]+(\s*\D+)$", value.text)
    return match[1] if match else ""
