"""The literal tokens of a text, which nothing may lose."""

from __future__ import annotations

import unicodedata

_EDGE = " \t\r\n.,;:!?()[]{}<>\"'`´„“”‚‘’«»‹›*~_|…。、，；：！？（）「」『』【】"  # punctuation around a token


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
