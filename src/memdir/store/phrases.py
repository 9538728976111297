"""A text as words and as runs of words, to find out which text came from which."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

RUN = 5  # words in a row that two texts do not share by chance
_WIDE = re.compile(r"[\u3040-\u30ff\u3400-\u9fff]")


def split_words(text: str) -> list[str]:
    """Words, folded; scripts without spaces in pairs of characters."""
    words: list[str] = []
    for word in re.findall(r"[^\W_]+", text.casefold()):
        if word.isascii() or not _WIDE.search(word):
            words.append(word)
        else:
            words += [word[at : at + 2] for at in range(max(1, len(word) - 1))]
    return words


def runs_of(words: Sequence[str]) -> frozenset[tuple[str, ...]]:
    """Every stretch of words in a row that is long enough to tell where it came from."""
    return frozenset(tuple(words[at : at + RUN]) for at in range(len(words) - RUN + 1))
