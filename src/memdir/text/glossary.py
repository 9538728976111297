"""What words of many languages are about, as far as a small glossary tells: the same thing has the same number."""

from __future__ import annotations

from functools import cache

from memdir.disk.shipped import shipped_lines
from memdir.text.words import is_unspaced, split_words


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
