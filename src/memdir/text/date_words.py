"""Reads a text as date symbols, one letter a word, so that one grammar serves all our languages.

Owns the word table, `date_words.txt` with `past_words.txt`. Chinese, Japanese and Korean are read together, by the
longest known word.
"""

from __future__ import annotations

import re
from functools import cache, lru_cache
from itertools import chain

from memdir.disk.shipped import shipped_lines
from memdir.text.language import fold

TABLES = ("text/date_words.txt", "text/past_words.txt")
EAST = ("zh", "ja", "ko")
MAX_NUMBER = 1000  # a larger number is no count of days
_HAN = "一二三四五六七八九十"
_HAN_NUMBER = f"[{_HAN}]{{1,3}}"
_LONGEST = 4  # words of the longest entry ("il y a", "day before yesterday")
_LONGEST_RUN = 4  # characters of the longest entry in a script without spaces
_LEAST_STEM = 3  # characters of the shortest one
_LAST_DAY = 31
_SYMBOLS = re.compile(r"([A-Za-z.]{1,2})(?:=(.+))?")  # of a meaning; turns of phrase have longer names
_CARRIERS = "WMUDHVpj"  # symbols without which there is no date


class Token:
    """One symbol with its value, the word it was, and its place in the text."""

    __slots__ = ("end", "start", "symbol", "value", "word")

    def __init__(self, symbol: str, value: str, word: str, start: int, end: int) -> None:
        self.symbol, self.value, self.word = symbol, value, word
        self.start, self.end = start, end


class _Vocabulary:
    """The words of one language, with the symbols and the value of each."""

    __slots__ = ("beginnings", "carriers", "longest", "openings", "stems", "whole", "written")

    def __init__(self, *languages: str) -> None:
        self.whole: dict[str, tuple[str, str]] = {}
        self.stems: dict[str, tuple[str, str]] = {}
        self.written: dict[str, bool] = {}  # words that count only so: whether with a capital
        for language in languages:
            for meaning, words in words_by_meaning().get(language, {}).items():
                symbols = _SYMBOLS.fullmatch(meaning)
                for word in words:
                    if symbols:
                        table = self.stems if word.endswith("*") else self.whole
                        table.setdefault(fold(word).rstrip("*"), (symbols[1], symbols[2] or ""))
                    elif meaning == "as-written":
                        self.written[fold(word)] = word[0].isupper()
        self.beginnings = frozenset(word[:_LEAST_STEM] for word in self.stems)
        self.longest = max(map(len, self.stems), default=0)
        self.openings = frozenset(word.split(" ")[0] for word in self.whole if " " in word)
        self.carriers = frozenset(word.split(" ")[0] for word, entry in self.whole.items() if entry[0][-1] in _CARRIERS)

    def stem(self, word: str) -> tuple[str, str] | None:
        """What the longest known beginning of a word means."""
        if word[:_LEAST_STEM] not in self.beginnings:
            return None
        cuts = range(min(len(word), self.longest), _LEAST_STEM - 1, -1)
        return next((self.stems[word[:cut]] for cut in cuts if word[:cut] in self.stems), None)


@cache
def words_by_meaning() -> dict[str, dict[str, tuple[str, ...]]]:
    """The whole table: the words of each language by what they mean."""
    table: dict[str, dict[str, tuple[str, ...]]] = {}
    for line in chain.from_iterable(map(shipped_lines, TABLES)):
        head, _, words = line.partition(": ")
        meaning, language = head.split()
        known = table.setdefault(language, {})
        known[meaning] = (*known.get(meaning, ()), *words.split("; "))
    return table


@cache
def _vocabulary(language: str) -> _Vocabulary:
    return _Vocabulary(*(EAST if language in EAST else (language,)))


@cache
def languages() -> tuple[str, ...]:
    """All languages of the table; those without spaces count as one."""
    return tuple(name for name in words_by_meaning() if name not in ("any", "ja", "ko"))


@lru_cache(maxsize=1 << 15)
def languages_of(word: str) -> frozenset[str]:
    """The languages in which a folded word is one that a date is built around."""
    known = ((name, _vocabulary(name)) for name in languages())
    return frozenset(name for name, one in known if word in one.carriers or one.stem(word) is not None)


@cache
def _piece(is_ascii: bool) -> re.Pattern[str]:
    """What a text is cut into. Most texts are plain, and the wide ranges of the others are slow to compile."""
    run, joint = ("", "'-") if is_ascii else (r"\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af", "’'-")
    letter = "A-Za-z0-9_" if is_ascii else r"A-Za-z0-9_\u00c0-\u052f"
    return re.compile(
        rf"(?P<name>[{letter}]{{0,40}}_[{letter}]{{0,40}})|(?P<K>(?<![{letter}])20\d\d-\d\d-\d\d(?![{letter}]))"
        r"|(?P<J>(?<![\d.])\d{1,2}\.\s?\d{1,2}\.(?:\s?20\d\d\b|(?![\d.]))|(?<![\d/])\d{1,2}/\d{1,2}(?:/20\d\d)?\b(?!/))"
        r"|(?P<o>\b\d{1,2}(?:st|nd|rd|th|er|º|ª)\b)"
        rf"|(?P<N>(?<![.,:{letter}])\d+(?![{letter}])(?![.,:]\d|\s?%))"
        + (f"|(?P<run>[{run}])" if run else "")
        + rf"|(?P<word>[^\W\d_{run}]+(?:[{joint}][^\W\d_{run}]+)*)|(?P<mark>[^\w\s])"
    )


def read_tokens(text: str, *tongues: str) -> list[Token]:
    """The text as symbols, by the first of the languages that knows a word; what no date is made of becomes "."."""
    found = _piece(text.isascii()).finditer(text)
    pieces = [(one.lastgroup or "", one[0], fold(one[0]), one.start(), one.end()) for one in found]
    tokens: list[Token] = []
    at = 0
    while at < len(pieces):
        kind, raw, word, start, end = pieces[at]
        taken = 1
        if kind == "word":
            symbols, value, taken = _look_up([piece[2] for piece in pieces[at : at + _LONGEST]], raw, at, tongues)
        elif kind == "run":
            symbols, value, taken = _look_up_run(text, pieces[at : at + _LONGEST_RUN])
        else:
            symbols, value = _figure(kind, raw)
        end = pieces[at + taken - 1][4]
        for symbol in symbols:  # of one word that says two things, the value is the last one's
            meant = value if symbol == symbols[-1] else "w"
            tokens.append(Token(symbol, meant, word, start, end))
        at += taken
    return tokens


def _look_up(words: list[str], raw: str, at: int, tongues: tuple[str, ...]) -> tuple[str, str, int]:
    for known in map(_vocabulary, tongues):
        for length in range(len(words) if words[0] in known.openings else 1, 0, -1):
            entry = known.whole.get(" ".join(words[:length]))
            if entry and (at == 0 or known.written.get(words[0], raw[0].isupper()) == raw[0].isupper()):
                return *entry, length
        if entry := known.stem(words[0]):
            return *entry, 1
    return ".", "", 1


def _look_up_run(text: str, pieces: list[tuple[str, str, str, int, int]]) -> tuple[str, str, int]:
    known = _vocabulary("zh").whole
    start = pieces[0][3]
    for length in range(len(pieces), 0, -1):
        end = pieces[length - 1][4]
        if text[start:end] in known:
            return *known[text[start:end]], length
    number = re.compile(_HAN_NUMBER).match(text, start)
    return ("N", str(_han(number[0])), len(number[0])) if number else (".", "", 1)


def _han(text: str) -> int:
    """A number in Chinese characters: 十 stands between the tens and the ones."""
    tens, ten, ones = text.rpartition("十")
    return 10 * (_HAN.index(tens[0]) + 1 if tens else len(ten)) + (_HAN.index(ones[0]) + 1 if ones else 0)


def _figure(kind: str, raw: str) -> tuple[str, str]:
    if kind == "name":
        return ";", raw
    if kind == "mark":
        return ("," if raw in ",，、-–—" else ";"), raw
    if kind in "KJ":
        return kind, raw
    number = int(re.sub(r"\D", "", raw)[:9])
    if kind == "o":
        return ("o", str(number)) if 1 <= number <= _LAST_DAY else (".", "")
    return ("Y" if 2000 <= number <= 2099 and len(raw) == 4 else "N" if number < MAX_NUMBER else "."), str(number)
