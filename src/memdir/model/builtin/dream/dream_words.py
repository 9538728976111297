"""Words of a text as stems to compare by, in several languages, and the literal tokens that nothing may lose.

Owns tokenising, light stemming and how telling a word is. It judges no meaning.
"""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Callable, Iterable, Mapping, Sized

from memdir.disk.shipped import shipped_lines

PSEUDO_STORE = 60  # memories that the background counts as: a small store alone cannot tell a common word
MIN_STEM = 3  # a shorter rest says nothing
LONG_WORD = 9  # longer words are compared by their beginning: accept-ance, Abnahme-termin

_WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)?")
_ASCII_GAPS = {code: " " for code in range(128) if not chr(code).isalnum()}
_CHUNK = re.compile(r"\S+")
_EAST = re.compile("[\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]")
_HANGUL = re.compile("[\uac00-\ud7a3]")
_EDGE = " \t\r\n.,;:!?()[]{}<>\"'`´„“”‚‘’«»‹›*~_|…。、，；：！？（）「」『』【】"  # punctuation around a token

# What is cut off a word, longest first, and how much must be left of it.
_SUFFIXES = (
    *(("ation", 4), ("ement", 4), ("ance", 4), ("ment", 4), ("ness", 4), ("ing", 3), ("ied", 3), ("ung", 4)),
    *(("ie", 3), ("ed", 3), ("es", 3), ("er", 4), ("en", 4), ("ly", 4), ("e", 3), ("y", 4)),
)
_ANY_SUFFIX = tuple(suffix for suffix, _ in _SUFFIXES)
_RUN = "\0"  # marks a word of a script without spaces in the table of stems
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


class DreamWords:
    """Stop words, how common a stem is in notes of this kind, and the stems met so far."""

    def __init__(self) -> None:
        self.stops: dict[str, frozenset[str]] = {}  # by language
        for line in shipped_lines("model/builtin/dream/stop_words.txt"):
            language, *words = line.split()
            self.stops[language] = self.stops.get(language, frozenset()).union(words)
        self._stops = frozenset().union(*self.stops.values())
        pairs = (line.split() for line in shipped_lines("model/builtin/dream/common_stems.txt"))
        self._background = {stem: float(share) for stem, share in pairs}
        self._known = _Stems(self._stem_of)

    def stems(self, text: str) -> list[str]:
        """The stems of the words that carry meaning, in order; stop words left out."""
        found = list(map(self._known.__getitem__, _words(text)))
        return [stem for stem in self._apart(found) if stem]

    def stems_of(self, words: Iterable[str]) -> set[str]:
        """The stems of words that were already told apart."""
        found = set(self._apart(list(map(self._known.__getitem__, words))))
        found.discard("")
        return found

    def _apart(self, stems: list[str]) -> list[str]:
        """Runs without spaces between words, as pairs of characters."""
        if not self._known.has_runs:
            return stems
        return [part for stem in stems for part in (pairs(stem[1:]) if stem[:1] == _RUN else [stem])]

    def background(self, stem: str) -> float:
        """The share of notes at large that hold this stem."""
        return self._background.get(stem, 0.0)

    def _stem_of(self, word: str) -> str:
        if word in self._stops:
            return ""
        if word.isascii():
            plain = word.partition("'")[0]
        else:
            word = unicodedata.normalize("NFKC", word)
            if _EAST.search(word):
                return _RUN + word
            if _HANGUL.search(word):
                return without_particle(word)
            plain = "".join(c for c in unicodedata.normalize("NFD", word) if not unicodedata.combining(c))
            plain = plain.partition("'")[0].partition("’")[0]
        if plain in self._stops or plain.isdigit() or len(plain) < 2:
            return ""  # a bare number is a value, and a single letter names nothing
        return _light_stem(plain) if plain.isalpha() else plain


class _Stems(dict[str, str]):
    """Words and their stems; a word that is asked for first is stemmed then. Lookups stay as quick as a dict's."""

    def __init__(self, stem_of: Callable[[str], str]) -> None:
        super().__init__()
        self._stem_of = stem_of
        self.has_runs = False

    def __missing__(self, word: str) -> str:
        stem = self[word] = self._stem_of(word)
        self.has_runs = self.has_runs or stem[:1] == _RUN
        return stem


def pairs(run: str) -> list[str]:
    """A run of a script without spaces as pairs of characters."""
    return [run[at : at + 2] for at in range(max(1, len(run) - 1))]


def without_particle(word: str) -> str:
    """A Korean word without the particle that tells its part in the sentence."""
    for particle in _PARTICLES:
        if word.endswith(particle) and len(word) - len(particle) >= 2:
            return word[: -len(particle)]
    return word


def _light_stem(word: str) -> str:
    if len(word) > MIN_STEM and word[-1] == "s" and word[-2] != "s":
        word = word[:-1]
    if word.endswith(_ANY_SUFFIX):
        for suffix, least in _SUFFIXES:
            if word.endswith(suffix) and len(word) - len(suffix) >= least:
                word = word[: -len(suffix)]
                break
    return word[:LONG_WORD]


class Weights(dict[str, float]):
    """How telling each stem is in one store: rare here and rare at large counts most.

    About 0 for a word of every page and 5 for one that stands once in thousands. A dict, so that sums are quick.
    """

    def __init__(self, lexicon: DreamWords, holders: Mapping[str, Sized], total: int) -> None:
        super().__init__()
        self._lexicon = lexicon
        self._holders = holders
        self._total = total

    def __missing__(self, stem: str) -> float:
        expected = len(self._holders.get(stem, ())) + PSEUDO_STORE * self._lexicon.background(stem)
        weight = self[stem] = max(0.0, math.log((self._total + PSEUDO_STORE) / (1.0 + expected)))
        return weight

    def sum(self, stems: Iterable[str]) -> float:
        """The weight of a set of stems."""
        return sum(map(self.__getitem__, stems))


def words_of(text: str) -> frozenset[str]:
    """The different words of a text, in lower case."""
    return frozenset(_words(text))


def _words(text: str) -> list[str]:
    """The words of a text in lower case; plain ASCII, which most texts are, goes a quicker way to the same end."""
    if not text.isascii() or "'" in text:
        return _WORD.findall(text.casefold())
    return text.lower().translate(_ASCII_GAPS).split()


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
