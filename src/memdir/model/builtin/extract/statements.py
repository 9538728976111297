"""What the user says in his own words, sentence by sentence; whose words they are was found before (X12)."""

from __future__ import annotations

import re
from dataclasses import dataclass

from memdir.text.language import clean

_QUOTE = re.compile(
    r"(?:(?<=^)|(?<=[\s(:,]))(?:\"[^\"\n]{1,600}\"|'[^'\n](?:[^'\n]|'(?=\w)){1,600}'(?!\w)|“[^”\n]{1,600}”"
    r"|„[^“”\n]{1,600}[“”]|«[^»\n]{1,600}»|‘[^’\n](?:[^’\n]|’(?=\w)){1,600}’(?!\w))|「[^」\n]{1,300}」|『[^』\n]{1,300}』"
)
_END = re.compile(r"(?<=[.!?…])[\"'”’»)\]]*(?:\s+|$)|(?<=[。！？])[」』）]*\s*|\n+|(?<=[^\W_])\s+[-–—]{1,2}\s+(?=\w)")
_SHORTENED = (
    "e\\.g|i\\.e|etc|vs|approx|nr|mr|mrs|ms|dr|prof|st|z\\.b|bzw|d\\.h|ca|usw|p\\.ex|ej|sr|sra|fig|eq|resp|incl"
    "|jan|feb|mar|apr|jun|jul|aug|sep|sept|oct|nov|dec"
)
_NOT_END = re.compile(rf"(?:\b(?:{_SHORTENED})\.|\b\d{{1,2}}\.|\b(?-i:[A-Z])\.|\.\.\.)\s*$", re.IGNORECASE)
MIN_PROSE_SHARE = 0.5  # of a line's visible characters that are letters or spaces; below it is data


@dataclass(frozen=True)
class Statement:
    """One sentence of the user."""

    text: str
    line: int
    number: int
    total: int


def sentences(text: str, line: int) -> tuple[Statement, ...]:
    """The user's own sentences in one said line, in order."""
    kept = [piece for piece in _split(clean(text)) if _is_prose(piece)]
    return tuple(Statement(piece, line, at, len(kept)) for at, piece in enumerate(kept))


def _split(block: str) -> list[str]:
    """Sentences of a paragraph; quotations are never cut in the middle."""
    guarded = [found.span() for found in _QUOTE.finditer(block)]
    pieces: list[str] = []
    start = 0
    for found in _END.finditer(block):
        inside = any(begin < found.start() < end - 1 for begin, end in guarded)
        if inside or found.end() == start or _NOT_END.search(block[start : found.start()]):
            continue
        pieces.append(block[start : found.end()].strip())
        start = found.end()
    pieces.append(block[start:].strip())
    return [piece for piece in pieces if piece]


def _is_prose(piece: str) -> bool:
    visible = [char for char in piece if not char.isspace()]
    letters = sum(char.isalpha() for char in visible)
    return letters >= 1 and letters >= MIN_PROSE_SHARE * len(visible)
