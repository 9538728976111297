"""What the user says in his own words: sentences without code, quotations, pasted mail and data.

Refuses to guess: anything that looks like somebody else's text is left out, so it can never become a memory (X12).
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from memdir.model.builtin.extract.phrases import alternatives, anywhere
from memdir.model.builtin.extract.words import clean

_FENCE = re.compile(r"```.*?(?:```|\Z)|~~~.*?(?:~~~|\Z)", re.DOTALL)
_SPEAKER = re.compile(r"^\s*(?:user|human|assistant|system|ai|\[\w+\]|\[\[\w+\]\])\s*:\s", re.IGNORECASE)
_OPENERS = "\"'“„«‘「『‹"
_CLOSERS = "\"'”“»’」』›"
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
MAX_QUOTE_WORDS = 4  # a longer quotation is somebody's sentence, a shorter one is the name of a page or a button
MIN_PROSE_SHARE = 0.5  # of a line's visible characters that are letters or spaces; below it is data


@dataclass(frozen=True)
class Sentence:
    """One sentence of the user; `plain` has longer quotations blanked, `text` is as written."""

    text: str
    plain: str
    line: int
    number: int
    total: int


def sentences(text: str, line: int) -> tuple[Sentence, ...]:
    """The user's own sentences in one said line, in order."""
    pieces = [piece for block in own_blocks(text) for piece in _split(block)]
    kept = [(piece, blank_quotes(piece)) for piece in pieces if _is_prose(piece)]
    return tuple(Sentence(piece, plain, line, at, len(kept)) for at, (piece, plain) in enumerate(kept))


def own_blocks(text: str) -> list[str]:
    """Paragraphs that are the user's own: no code, block quotes, mail, or text handed over to be worked on."""
    paragraphs = re.split(r"\n\s*\n", _FENCE.sub("\n\n", clean(text).replace("\r\n", "\n")))
    own: list[str] = []
    handed_over = False
    for paragraph in paragraphs:
        lines = [line for line in paragraph.split("\n") if line.strip()]
        kept = _own_lines(lines)
        block = "\n".join(kept).strip()
        if block and not _is_quotation(block) and not (handed_over and len(own) > 0 and not block.endswith("?")):
            own.append(block)
        handed_over = bool(block) and block.endswith(":") and bool(anywhere("hands-over").search(block))
    return own


def _own_lines(lines: list[str]) -> list[str]:
    kept: list[str] = []
    for line in lines:
        if "@" in line and re.match(rf"\s*(?:{alternatives('mail-head')})\s*:\s*\S", line, re.IGNORECASE):
            break  # a mail begins; what follows in this paragraph is its sender's
        if not line.lstrip().startswith((">", "|")) and not _SPEAKER.match(line):
            kept.append(line)
    return kept


def _is_quotation(block: str) -> bool:
    return (
        len(block) > 2
        and block[0] in _OPENERS
        and block.rstrip(".!?,;")[-1:] in _CLOSERS
        and len(block.split()) > MAX_QUOTE_WORDS
    )


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


def blank_quotes(piece: str) -> str:
    """The sentence with longer quotations replaced by an ellipsis: their words are not the user's."""

    def blank(found: re.Match[str]) -> str:
        inside = found.group()[1:-1]
        dense = len(inside) > 8 and not inside.isascii() and " " not in inside
        return found.group() if len(inside.split()) <= MAX_QUOTE_WORDS and not dense else "“…”"

    return _QUOTE.sub(blank, piece)


def _is_prose(piece: str) -> bool:
    visible = [char for char in piece if not char.isspace()]
    letters = sum(char.isalpha() for char in visible)
    return letters >= 1 and letters >= MIN_PROSE_SHARE * len(visible)
