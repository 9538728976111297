"""Common words by language: they tell languages apart and carry no topic."""

from __future__ import annotations

from functools import cache
from unicodedata import normalize

from memdir.disk.shipped import shipped_lines


@cache
def small_words() -> dict[str, frozenset[str]]:
    """Common words by language, folded."""
    rows = [line.partition(":") for line in shipped_lines("text/small_words.txt")]
    return {
        name.strip(): frozenset(normalize("NFKC", words).casefold().replace("ß", "ss").split())
        for name, _, words in rows
    }
