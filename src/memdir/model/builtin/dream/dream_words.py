"""How telling the words of a store's memories are, and the literal tokens that nothing may lose."""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Iterable, Mapping, Sized

from memdir.disk.shipped import shipped_lines
from memdir.text.stems import LightStems, stop_words

PSEUDO_STORE = 60  # memories that the background counts as: a small store alone cannot tell a common word

_EDGE = " \t\r\n.,;:!?()[]{}<>\"'`´„“”‚‘’«»‹›*~_|…。、，；：！？（）「」『』【】"  # punctuation around a token


class DreamWords:
    """Stop words by language, the stems of words met so far, and how common a stem is in notes of this kind."""

    def __init__(self) -> None:
        self.stops = stop_words("notes")
        self._stems = LightStems(frozenset().union(*self.stops.values()))
        pairs = (line.split() for line in shipped_lines("model/builtin/dream/common_stems.txt"))
        self._background = {stem: float(share) for stem, share in pairs}
        self.stems = self._stems.of

    def stems_of(self, words: Iterable[str]) -> set[str]:
        """The stems of words that were already told apart."""
        return {*self._stems.of_words(words)} - {""}

    def background(self, stem: str) -> float:
        """The share of notes at large that hold this stem."""
        return self._background.get(stem, 0.0)


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


def tokens(text: str) -> list[str]:
    """Every run of text between spaces without the punctuation around it, in lower case: what must not get lost."""
    found = []
    for chunk in unicodedata.normalize("NFC", text).split():
        core = chunk.strip(_EDGE).casefold()
        if core:
            found.append(core)
    return found


def flat(text: str) -> str:
    """Text for literal comparison: no case, no markup, no punctuation at word edges, single spaces."""
    return " ".join(tokens(text))


def whole_words(text: str, start: int, end: int) -> tuple[int, int]:
    """Where a part of a text begins and ends with what is grown together with it: an ending, or a whole run in a script
    without spaces."""
    while start > 0 and not text[start - 1].isspace():
        start -= 1
    while end < len(text) and not text[end].isspace():
        end += 1
    return start, end
