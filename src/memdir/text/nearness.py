"""How near one sentence comes to what another says: by words, by what they mean, and between languages by both.

The table of meanings carries paraphrases; a small glossary, numbers, names and words of code carry translations.
"""

from __future__ import annotations

import math
from functools import cache

from memdir.disk.shipped import shipped_lines
from memdir.text.embedding import Table, open_table
from memdir.text.language import common_words
from memdir.text.stems import STOP_WORDS, stem
from memdir.text.words import is_unspaced, split_words

MIN_THINGS = 2  # of the glossary that must be shared before they tell anything
_SHORT = 2  # letters: shorter words carry no content where words have spaces


@cache
def _table() -> Table:
    return open_table()


class Sentence:
    """Some words, ready to be compared."""

    __slots__ = ("_direction", "terms", "text", "things")

    def __init__(self, text: str) -> None:
        self.text = text
        words = split_words(text)
        self.terms = frozenset(stem(word) for word in words if _is_content(word))
        self.things = things_in(text)
        found = _table().question_sum(words)
        total = found.values() if found else []
        norm = math.sqrt(sum(number * number for number in total))
        self._direction = [number / norm for number in total] if norm else []

    def nearness(self, other: Sentence, *, is_translated: bool) -> float:
        """How much of this the other says; between languages only the meaning can tell."""
        meaning = self.meaning(other)
        if is_translated:
            same = len(self.terms & other.terms)  # numbers, names and words of code are the same in every language
            shared = (len(self.things & other.things) + same) / max(MIN_THINGS, len(self.things) + same)
            return max(meaning, (meaning + shared) / 2)
        return (meaning + len(self.terms & other.terms) / max(1, len(self.terms))) / 2

    def meaning(self, other: Sentence) -> float:
        """How near the two are by what their words mean alone."""
        return sum(map(float.__mul__, self._direction, other._direction))


def _is_content(word: str) -> bool:
    return (
        word not in STOP_WORDS
        and word not in common_words()
        and (len(word) > _SHORT or not word.isalpha() or not word.isascii())
    )


def things_in(text: str) -> frozenset[int]:
    """The things of the glossary that a text mentions."""
    whole, stems, unspaced = _glossary()
    found: set[int] = set()
    for word in split_words(text):
        found.update(whole.get(word, ()))
        for length in range(2, len(word) + 1):
            found.update(stems.get(word[:length], ()))
    folded = text.casefold()
    if any(map(is_unspaced, folded)):
        found.update(number for phrase, number in unspaced if phrase in folded)
    return frozenset(found)


@cache
def _glossary() -> tuple[dict[str, list[int]], dict[str, list[int]], list[tuple[str, int]]]:
    """Whole words, beginnings of words, and what stands in texts without spaces, each with the things it means."""
    whole: dict[str, list[int]] = {}
    stems: dict[str, list[int]] = {}
    unspaced: list[tuple[str, int]] = []
    for number, line in enumerate(shipped_lines("text/glossary.txt")):
        for entry in line.split():
            if is_unspaced(entry[0]):
                unspaced.append((entry.casefold(), number))
                continue
            table = stems if entry.endswith("*") else whole
            for word in split_words(entry.rstrip("*"))[:1]:
                table.setdefault(word, []).append(number)
    return whole, stems, unspaced
