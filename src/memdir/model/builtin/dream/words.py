"""Words of a text as stems to compare by, in several languages, and the literal tokens that nothing may lose.

Owns tokenising, light stemming and how telling a word is. It judges no meaning.
"""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Iterable
from importlib import resources

PSEUDO_STORE = 60  # memories that the background counts as: a small store alone cannot tell a common word
MIN_STEM = 3  # a shorter rest says nothing
LONG_WORD = 9  # longer words are compared by their beginning: accept-ance, Abnahme-termin

_WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)?")
_CHUNK = re.compile(r"\S+")
_EAST = re.compile("[\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]")
_HANGUL = re.compile("[\uac00-\ud7a3]")
_EDGE = " \t\r\n.,;:!?()[]{}<>\"'`´„“”‚‘’«»‹›*~_|…。、，；：！？（）「」『』【】"  # punctuation around a token

# What is cut off a word, longest first, and how much must be left of it.
_SUFFIXES = (
    *(("ation", 4), ("ement", 4), ("ance", 4), ("ment", 4), ("ness", 4), ("ing", 3), ("ied", 3), ("ung", 4)),
    *(("ie", 3), ("ed", 3), ("es", 3), ("er", 4), ("en", 4), ("ly", 4), ("e", 3), ("y", 4)),
)
_PARTICLES = (
    "부터",
    "까지",
    "에서",
    "으로",
    "에게",
    "은",
    "는",
    "이",
    "가",
    "을",
    "를",
    "에",
    "의",
    "로",
    "와",
    "과",
    "도",
)


def _lines(name: str) -> list[str]:
    text = resources.files(__package__).joinpath(name).read_text(encoding="utf-8")
    return [line for line in text.splitlines() if line and not line.startswith("#")]


class Lexicon:
    """Stop words, how common a stem is in notes of this kind, and the stems met so far."""

    def __init__(self) -> None:
        self._stops = frozenset(word for line in _lines("stop_words.txt") for word in line.split())
        pairs = (line.split() for line in _lines("common_stems.txt"))
        self._background = {stem: float(share) for stem, share in pairs}
        self._known: dict[str, tuple[str, ...]] = {}

    def stems(self, text: str) -> list[str]:
        """The stems of the words that carry meaning, in order; stop words left out."""
        known = self._known
        found: list[str] = []
        for word in _WORD.findall(text.casefold()):
            stems = known.get(word)
            if stems is None:
                stems = known[word] = self._stems_of(word)
            found += stems
        return found

    def stems_of(self, words: Iterable[str]) -> set[str]:
        """The stems of words that were already told apart."""
        known = self._known
        found: set[str] = set()
        for word in words:
            stems = known.get(word)
            if stems is None:
                stems = known[word] = self._stems_of(word)
            found.update(stems)
        return found

    def background(self, stem: str) -> float:
        """The share of notes at large that hold this stem."""
        return self._background.get(stem, 0.0)

    def _stems_of(self, word: str) -> tuple[str, ...]:
        if word in self._stops:
            return ()
        word = unicodedata.normalize("NFKC", word)
        if _EAST.search(word):  # no spaces between words: pairs of characters serve instead
            return tuple(word[at : at + 2] for at in range(max(1, len(word) - 1)))
        if _HANGUL.search(word):
            return (_without_particle(word),)
        plain = "".join(c for c in unicodedata.normalize("NFD", word) if not unicodedata.combining(c))
        plain = plain.split("'")[0].split("’")[0]
        if plain in self._stops or plain.isdigit() or len(plain) < 2:
            return ()  # a bare number is a value, and a single letter names nothing
        return (plain if any(c.isdigit() for c in plain) else _light_stem(plain),)


def _without_particle(word: str) -> str:
    for particle in _PARTICLES:
        if word.endswith(particle) and len(word) - len(particle) >= 2:
            return word[: -len(particle)]
    return word


def _light_stem(word: str) -> str:
    if len(word) > MIN_STEM and word[-1] == "s" and word[-2] != "s":
        word = word[:-1]
    for suffix, least in _SUFFIXES:
        if word.endswith(suffix) and len(word) - len(suffix) >= least:
            word = word[: -len(suffix)]
            break
    return word[:LONG_WORD]


class Weights:
    """How telling each stem is in one store: rare here and rare at large counts most."""

    def __init__(self, lexicon: Lexicon, pages: Iterable[frozenset[str]]) -> None:
        self._lexicon = lexicon
        counts: dict[str, int] = {}
        total = 0
        for stems in pages:
            total += 1
            for stem in stems:
                counts[stem] = counts.get(stem, 0) + 1
        self.counts = counts
        self.total = total
        self._cache: dict[str, float] = {}

    def of(self, stem: str) -> float:
        """The weight of one stem, about 0 for a word of every page and 5 for one that stands once in thousands."""
        weight = self._cache.get(stem)
        if weight is None:
            expected = self.counts.get(stem, 0) + PSEUDO_STORE * self._lexicon.background(stem)
            weight = max(0.0, math.log((self.total + PSEUDO_STORE) / (1.0 + expected)))
            self._cache[stem] = weight
        return weight

    def sum(self, stems: Iterable[str]) -> float:
        """The weight of a set of stems."""
        of = self.of
        return sum(of(stem) for stem in stems)


def words_of(text: str) -> frozenset[str]:
    """The different words of a text, in lower case."""
    return frozenset(_WORD.findall(text.casefold()))


def tokens(text: str) -> list[str]:
    """Every run of text between spaces without the punctuation around it, in lower case: what must not get lost."""
    found = []
    for chunk in _CHUNK.findall(unicodedata.normalize("NFC", text)):
        core = chunk.strip(_EDGE).casefold()
        if core:
            found.append(core)
    return found


def flat(text: str) -> str:
    """Text for literal comparison: no case, no markup, no punctuation at word edges, single spaces."""
    return " ".join(tokens(text))
