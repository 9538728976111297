"""Reads text as a string of date symbols, one letter a word, so that one grammar serves many languages."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from functools import cache

from memdir.model.builtin.extract.words import fold

_WORD = re.compile(
    r"(?P<iso>\b20\d\d-\d\d-\d\d\b)|(?P<dotted>(?<![\d.])\d{1,2}\.\s?\d{1,2}\.(?:\s?20\d\d\b|(?![\d.])))|(?P<slashed>(?<![\d/])\d{1,2}/\d{1,2}(?:/20\d\d)?\b(?!/))"
    r"|(?P<ordinal>\b\d{1,2}(?:st|nd|rd|th|er|º|ª)\b)|(?P<number>(?<![.,:])\b\d+\b(?![.,:]\d|\s?%))|(?P<word>[^\W\d_]+(?:[’'-][^\W\d_]+)*)|(?P<mark>[^\w\s])"
)
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


@cache
def _vocabulary(language: str) -> tuple[dict[str, tuple[str, str]], dict[str, tuple[str, str]]]:
    whole: dict[str, tuple[str, str]] = {}
    stems: dict[str, tuple[str, str]] = {}
    with open(os.path.join(os.path.dirname(__file__), "date_words.txt"), encoding="utf-8") as lines:
        for line in lines:
            head, colon, tail = line.partition(":")
            parts = head.split()
            if not colon or parts[0] != language:
                continue
            for word in tail.split(";"):
                entry = (parts[1], parts[2] if len(parts) > 2 else "")
                folded = fold(word).strip()
                table, key = (stems, folded[:-1]) if folded.endswith("*") else (whole, folded)
                table.setdefault(key, entry)
    return whole, stems


def read(text: str, language: str) -> list[Token]:
    """The text as symbols; words that mean nothing to a date become "."."""
    pieces = [
        (kind, found.group(), found.start(), found.end()) for found in _WORD.finditer(text) if (kind := found.lastgroup)
    ]
    tokens: list[Token] = []
    at = 0
    while at < len(pieces):
        kind, raw, start, end = pieces[at]
        taken = 1
        if kind == "word":
            symbol, value, taken = ("H", "07-04", 1) if raw == "Fourth" and at else _look_up(pieces, at, language)
            end = pieces[at + taken - 1][3]
        else:
            symbol, value = _figure(kind, raw)
        tokens.append(Token(symbol, value or fold(raw), start, end))
        at += taken
    return tokens


def _look_up(pieces: list[tuple[str, str, int, int]], at: int, language: str) -> tuple[str, str, int]:
    for tongue in (language, "en") if language != "en" else ("en",):
        whole, stems = _vocabulary(tongue)
        for length in range(_LONGEST, 0, -1):
            window = pieces[at : at + length]
            if len(window) == length and all(piece[0] == "word" for piece in window):
                entry = whole.get(" ".join(fold(piece[1]) for piece in window))
                if entry and _plausible(window[0][1], entry, tongue):
                    return *entry, length
        word = fold(pieces[at][1])
        for cut in range(len(word), 2, -1):
            if word[:cut] in stems:
                return *stems[word[:cut]], 1
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
