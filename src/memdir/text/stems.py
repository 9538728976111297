"""Words to stems, and the words of many languages that carry no topic.

For the index English endings are cut in the manner of Porter's stemmer, accents already folded: words of one family
have one form. `LightStems` is for comparing texts of several languages: it cuts less, and never twice.
"""

from __future__ import annotations

from functools import lru_cache
from itertools import pairwise

from memdir.disk.shipped import shipped_lines
from memdir.text.words import char_pairs, is_unspaced, plain_words, split_words, strip_accents

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from typing import Literal


def stop_words(kind: Literal["talk", "notes", "index"]) -> dict[str, frozenset[str]]:
    """By language, in lower case."""
    found: dict[str, frozenset[str]] = {}
    for line in shipped_lines("text/stop_words.txt"):
        head, _, words = line.partition(":")
        language, where = head.split()
        if where == kind or (where == "all" and kind != "index"):
            found[language] = found.get(language, frozenset()).union(words.split())
    return found


STOP_WORDS = stop_words("index")["any"]

_MIN_STEM = 3  # shorter stems join words of different families
_VOWELS = frozenset("aeiouy")
# Longest first; the second is what stays in the ending's place.
_RULES = (
    "ational>ate ization>ize isation>ize fulness>ful iveness>ive ousness>ous ibility>ible ability>able ically>ic "
    "ations>ate ements> ation>ate ement> ments> ities> ators>ate ating>ate ingly> ated>ate edly> ment> ness> "
    "ator>ate ings> ions> ally>al sses>ss ies>i ied>i ing> ion> ity> ers> ors> ous> ful> ive> ize> ise> ate> est> "
    "ed> er> or> al> ly> es> s> "
)
_ENDINGS = [tuple(rule.split(">")) for rule in _RULES.split()]
_BY_LAST_LETTER = {
    letter: tuple([one for one in _ENDINGS if one[0][-1] == letter]) for letter in {one[0][-1] for one in _ENDINGS}
}
_NEEDS_S_OR_T = frozenset(("ion", "ions"))
_LIGHT = frozenset(("er", "ers", "or", "ors", "al", "est", "ous", "ful", "ive", "ity", "ize", "ise", "ate"))
_MIN_LIGHT_STEM = 4  # "order", "local", "test": a short rest is a word of its own


@lru_cache(maxsize=1 << 15)  # a store says the same words over and over
def stem(word: str) -> str:
    """One form for the words of a family; words that are not plain ASCII letters stay as they are."""
    if len(word) <= _MIN_STEM or not (word.isascii() and word.isalpha()):
        return word
    for _ in range(2):  # a plural hides one more ending
        shorter = _cut(word)
        if shorter == word:
            break
        word = shorter
    if word.endswith("e") and len(word) > _MIN_STEM + 1:
        word = word[:-1]
    if len(word) > _MIN_STEM and word[-1] == word[-2] and word[-1] not in "lsz":
        word = word[:-1]
    return word[:-1] + "i" if word.endswith("y") and len(word) > _MIN_STEM else word


def terms(words: Iterable[str]) -> list[str]:
    """The terms to index or to look up, in order, repeats kept."""
    return [term for word in words if (term := term_of(word))]


def term_of(word: str) -> str:
    """The term of a word; empty for a stop word."""
    return "" if word in STOP_WORDS or (len(word) == 1 and not word.isdigit()) else stem(word)


def terms_in(text: str) -> frozenset[str]:
    """The different terms of a text."""
    return frozenset(terms(split_words(text)))


def pairs(words: Sequence[str]) -> list[str]:
    """Every two terms that stand side by side, as one term each: "high school" is more than "high" and "school"."""
    found = [term_of(word) for word in words]
    return [f"{one} {other}" for one, other in pairwise(found) if one and other]


def _cut(word: str) -> str:
    for ending, replacement in _BY_LAST_LETTER.get(word[-1], ()):
        if not word.endswith(ending):
            continue
        rest = word[: -len(ending)]
        if ending == "s" and rest.endswith(("s", "u", "i")):
            return word
        least = _MIN_LIGHT_STEM if ending in _LIGHT else _MIN_STEM
        if len(rest) < least or not _VOWELS & set(rest) or (ending in _NEEDS_S_OR_T and rest[-1] not in "st"):
            continue
        return rest + replacement
    return word


_LIGHT_ENDINGS = (  # what is cut off a word, longest first, and how much must be left of it
    *(("ation", 4), ("ement", 4), ("ance", 4), ("ment", 4), ("ness", 4), ("ing", 3), ("ied", 3), ("ung", 4)),
    *(("ie", 3), ("ed", 3), ("es", 3), ("er", 4), ("en", 4), ("ly", 4), ("e", 3), ("y", 4)),
)
_ANY_ENDING = tuple([ending for ending, _ in _LIGHT_ENDINGS])
_LONG_WORD = 9  # longer words are compared by their beginning: accept-ance, Abnahme-termin
_PARTICLES = (*("부터", "까지", "에서", "으로", "에게"), *"은는이가을를에의로와과도")
_RUN = "\0"  # marks a run of a script without spaces


class LightStems(dict[str, str]):
    """Words and their stems, empty for a stop word; one that is asked for first is stemmed then: lookups stay quick."""

    def __init__(self, stops: frozenset[str]) -> None:
        super().__init__()
        self._stops = stops
        self._has_runs = False

    def of(self, text: str) -> list[str]:
        """The stems of the words that carry meaning, in order; pairs of characters where there are no spaces."""
        return [stem for stem in self.of_words(plain_words(text)) if stem]

    def of_words(self, words: Iterable[str]) -> list[str]:
        """The same of words that were already told apart; an empty one for each without meaning."""
        stems = list(map(self.__getitem__, words))
        if not self._has_runs:
            return stems
        return [part for stem in stems for part in (char_pairs(stem[1:]) if stem[:1] == _RUN else [stem])]

    def __missing__(self, word: str) -> str:
        stem = self[word] = self._stem(word)
        self._has_runs = self._has_runs or stem[:1] == _RUN
        return stem

    def _stem(self, word: str) -> str:
        if word in self._stops:
            return ""
        if not word.isascii():
            if any(map(is_unspaced, word)):
                return without_particle(word) if "\uac00" <= max(word) <= "\ud7a3" else _RUN + word
            word = strip_accents(word)
        plain = word.partition("'")[0]
        if plain in self._stops or plain.isdigit() or len(plain) < 2:
            return ""  # a bare number is a value, and a single letter names nothing
        return _light_stem(plain) if plain.isalpha() else plain


def _light_stem(word: str) -> str:
    if len(word) > _MIN_STEM and word[-1] == "s" and word[-2] != "s":
        word = word[:-1]
    if word.endswith(_ANY_ENDING):
        for ending, least in _LIGHT_ENDINGS:
            if word.endswith(ending) and len(word) - len(ending) >= least:
                word = word[: -len(ending)]
                break
    return word[:_LONG_WORD]


def without_particle(word: str) -> str:
    """A Korean word without the particle that tells its part in the sentence."""
    for particle in _PARTICLES:
        if word.endswith(particle) and len(word) - len(particle) >= 2:
            return word[: -len(particle)]
    return word
