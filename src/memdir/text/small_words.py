"""Common words by language: they tell languages apart and carry no topic."""

from __future__ import annotations

import os
from functools import cache
from unicodedata import normalize

_PATH = os.path.join(os.path.dirname(__file__), "small_words.txt")


@cache
def small_words() -> dict[str, frozenset[str]]:
    """Common words by language, folded."""
    with open(_PATH, encoding="utf-8") as lines:
        rows = [line.partition(":") for line in lines if line.strip() and not line.startswith("#")]
    return {
        name.strip(): frozenset(normalize("NFKC", words).casefold().replace("ß", "ss").split())
        for name, _, words in rows
    }
