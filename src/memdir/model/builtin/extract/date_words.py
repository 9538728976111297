"""Reads text as a string of date symbols, one letter a word, so that one grammar serves many languages."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from functools import cache

from memdir.text.language import fold

_WORD = re.compile(
    r"(?P<iso>\b20\d\d-\d\d-\d\d\b)|(?P<dotted>(?<![\d.])\d{1,2}\.\s?\d{1,2}\.(?:\s?20\d\d\b|(?![\d.])))|(?P<slashed>(?<![\d/])\d{1,2}/\d{1,2}(?:/20\d\d)?\b(?!/))"
    r"|(?P<ordinal>\b\d{1,2}(?:st|nd|rd|th|er|º|ª)\b)|(?P<number>(?<![.,:])\b\d+\b(?![.,:]\d|\s?%))|(?P<word>[^\W\d_]+(?:[’'-][^\W\d_]+)*)|(?P<mark>[^\w\s])"
)
_LETTERS = re.compile(r"[^\W\d_]+")
_CARRIERS = frozenset("WMUDHV")
_LONGEST = 4  # words of the longest entry ("il y a", "day before yesterday")
_LAST_DAY = 31
UNITS = {
    "day": "d",
    "week": "w",
    "fortnight": "f",
    "month": "m",
    "quarter": "q",
    "year": "y",
    "hour": "h",
    "workday": "k",
    "weekend": "e",
}


@dataclass(frozen=True)
class Token:
    """One symbol with its value and its place in the text."""

    symbol: str
    value: str
    start: int
    end: int


@dataclass(frozen=True)
class _Vocabulary:
    whole: dict[str, tuple[str, str]]
    stems: dict[str, tuple[str, str]]
    openings: frozenset[str]  # first words of entries of several words
    carriers: frozenset[str]  # words without which there is no date


@cache
def _vocabulary(language: str) -> _Vocabulary:
    whole: dict[str, tuple[str, str]] = {}
    stems: dict[str, tuple[str, str]] = {}
    with open(os.path.join(os.path.dirname(__file__), "date_words.txt"), encoding="utf-8") as lines:
        for line in lines:
            head, colon, tail = line.partition(":")
            parts = head.split()
            if not colon or parts[0] != language:
                continue
            entry = (parts[1], parts[2] if len(parts) > 2 else "")
            for word in tail.split(";"):
                folded = fold(word).strip()
                table, key = (stems, folded[:-1]) if folded.endswith("*") else (whole, folded)
                table.setdefault(key, entry)
    openings = frozenset(word.split(" ")[0] for word in whole if " " in word)
    carriers = frozenset(word.split(" ")[0] for word, entry in whole.items() if entry[0] in _CARRIERS)
    return _Vocabulary(whole, stems, openings, carriers)


def may_hold_date(folded: str, language: str) -> bool:
    """A quick look: is there any figure or any word that dates are built around?"""
    if any(char.isdigit() for char in folded) or "fourth" in folded:
        return True
    words = _LETTERS.findall(folded)
    for tongue in dict.fromkeys((language, "en")):
        known = _vocabulary(tongue)
        if any(word in known.carriers for word in words) or any(
            word[:cut] in known.stems for word in words for cut in range(3, len(word) + 1)
        ):
            return True
    return False


def read(text: str, language: str) -> list[Token]:
    """The text as symbols; words that mean nothing to a date become "."."""
    pieces = [
        (kind, found.group(), fold(found.group()), found.start(), found.end())
        for found in _WORD.finditer(text)
        if (kind := found.lastgroup)
    ]
    tokens: list[Token] = []
    at = 0
    while at < len(pieces):
        kind, raw, folded, start, end = pieces[at]
        taken = 1
        if kind == "word":
            symbol, value, taken = (
                ("H", "07-04", 1) if raw == "Fourth" and at else _look_up(pieces[at : at + _LONGEST], language)
            )
            end = pieces[at + taken - 1][4]
        else:
            symbol, value = _figure(kind, raw)
        tokens.append(Token(symbol, value or folded, start, end))
        at += taken
    return tokens


def _look_up(window: list[tuple[str, str, str, int, int]], language: str) -> tuple[str, str, int]:
    raw, word = window[0][1], window[0][2]
    for tongue in dict.fromkeys((language, "en")):
        known = _vocabulary(tongue)
        for length in range(len(window) if word in known.openings else 1, 0, -1):
            entry = known.whole.get(" ".join(piece[2] for piece in window[:length]))
            if entry and _plausible(raw, entry, tongue):
                return *entry, length
        for cut in range(len(word), 2, -1):
            if word[:cut] in known.stems:
                return *known.stems[word[:cut]], 1
    return ".", "", 1


def _plausible(raw: str, entry: tuple[str, str], tongue: str) -> bool:
    """English "may", "march", "sun" and "second" are words first: a month is written with a capital."""
    return tongue != "en" or entry[0] != "M" or raw[0].isupper() or fold(raw) not in ("may", "march", "jun", "dec")


def _figure(kind: str, raw: str) -> tuple[str, str]:
    if kind == "ordinal":
        number = int(re.sub(r"\D", "", raw))
        return ("o", str(number)) if 1 <= number <= _LAST_DAY else (".", "")
    if kind == "number":
        number = int(raw[:9])
        return ("Y" if 2000 <= number <= 2099 and len(raw) == 4 else "N" if number < 1000 else "."), str(number)
    if kind == "mark":
        return ("," if raw in ",，、-–—" else ";"), raw
    return {"iso": "K", "dotted": "J", "slashed": "J"}[kind], raw
