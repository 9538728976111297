"""The values that go in and out of extraction: a conversation split into lines, what exists, and the drafts.

Tool results, what a host put in and what was pasted is never "said" by the user (X12, L4): `text/speakers.py` knows.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from typing import Any, Literal

from memdir.text.language import alternatives, clean, fold, language
from memdir.text.sentences import SPEECH, bounds, masked
from memdir.text.speakers import Speaker, own_words, pieces_of

Role = Literal["user", "assistant"]
Kind = Literal["said", "tool_use", "tool_result", "reminder", "paste"]
Action = Literal["create", "update", "delete"]


@dataclass(frozen=True)
class TalkLine:
    """One block of the conversation; only kind "said" with role "user" is the user speaking."""

    id: str
    role: Role
    text: str
    kind: Kind


@dataclass(frozen=True)
class Existing:
    """A memory that is already on disk."""

    file: str
    name: str
    description: str
    type: str | None
    body: str


@dataclass(frozen=True)
class Talk:
    """Everything extraction may look at; `now` is aware, and relative dates are meant from it."""

    lines: tuple[TalkLine, ...]
    now: datetime
    instructions: str
    existing: tuple[Existing, ...]


@dataclass(frozen=True)
class MemoryDraft:
    """One memory to write, change or delete; `sources` are the ids of the lines it came from."""

    action: Action
    file: str
    name: str
    description: str
    type: str
    body: str
    sources: tuple[str, ...]


MIN_PROSE_SHARE = 0.5  # of a line's visible characters that are letters or spaces; below it is data
MIN_CLAUSE_WORDS = 3  # on each side of a cut: fewer are no statement of their own
_OF_A_LOG = re.compile(r"[\d@/\\]|\w\.\w|\b[A-Z]{4,}\b")  # "config.go:88 remember: …" is one line of a program's
_CLAUSE = r"(?<=[,;])\s+(?=(?:{joins}))|(?<=[;:])\s+|\s+(?=(?:{joins})\s+(?:{moods}))"


@dataclass(frozen=True)
class Clause:
    """A part of what the user said that may be a statement of its own: a rule often stands inside a request."""

    text: str
    line: int
    number: int
    total: int
    ends: bool  # its sentence
    sentence: str  # it and what stands before it in the sentence: "the docs say: never …"


def clauses(text: str, line: int) -> tuple[Clause, ...]:
    """The user's own statements in one said line, in order."""
    said = clean(text)
    pieces = (said[start:end].strip() for start, end in bounds(masked(said), SPEECH))
    cut = _cuts(language(fold(said)))
    parts = [parted for piece in pieces if _is_prose(piece) for parted in _parted(piece, cut)]
    return tuple(Clause(part, line, at, len(parts), ends, head) for at, (part, ends, head) in enumerate(parts))


@cache
def _cuts(tongue: str) -> re.Pattern[str]:
    joins, moods = alternatives("joins", tongue), alternatives("moods", tongue)
    return re.compile(_CLAUSE.format(joins=joins, moods=moods), re.IGNORECASE)


def _parted(sentence: str, cut: re.Pattern[str]) -> Iterator[tuple[str, bool, str]]:
    """A sentence cut before "and", "but" and the like; quotations stay whole."""
    start, hidden = 0, masked(sentence)
    for found in cut.finditer(hidden):
        head, tail = sentence[start : found.start()], sentence[found.end() :]
        if head.endswith(":") and _OF_A_LOG.search(head):
            continue
        if min(len(head.split()), len(tail.split())) >= MIN_CLAUSE_WORDS:
            yield head, False, sentence[: found.start()]
            start = found.end()
    yield sentence[start:], True, sentence


def _is_prose(piece: str) -> bool:
    visible = [char for char in piece if not char.isspace()]
    letters = sum(char.isalpha() for char in visible)
    return letters >= 1 and letters >= MIN_PROSE_SHARE * len(visible)


def lines_from_messages(messages: Iterable[Mapping[str, Any]]) -> tuple[TalkLine, ...]:
    """The lines of a conversation; ids are `<message id or number>.<block number>`, stable for the same messages."""
    lines: list[TalkLine] = []
    for number, message in enumerate(messages):
        name = str(message.get("id") or message.get("uuid") or number)
        role: Role = "assistant" if message.get("role") == "assistant" else "user"
        meta = bool(message.get("isMeta") or message.get("isCompactSummary"))
        for block_number, (kind, text) in enumerate(_pieces(message.get("content"), role, meta=meta)):
            lines.append(TalkLine(f"{name}.{block_number}", role, text, kind))
    return tuple(lines)


def _pieces(content: object, role: Role, *, meta: bool) -> Iterator[tuple[Kind, str]]:
    blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
    for block in blocks if isinstance(blocks, list) else []:
        if not isinstance(block, Mapping):
            continue
        kind = block.get("type")
        if kind == "text" and role == "user":
            yield from _user_text(str(block.get("text") or ""), meta=meta)
        elif kind == "text":
            yield "said", str(block.get("text") or "")
        elif kind == "tool_use":
            yield "tool_use", json.dumps(block.get("input"), ensure_ascii=False, sort_keys=True, default=str)
        elif kind not in ("thinking", "redacted_thinking"):
            yield "tool_result", _flat(block.get("content"))


def _user_text(text: str, *, meta: bool) -> Iterator[tuple[Kind, str]]:
    if meta:
        yield "reminder", text
        return
    for piece in pieces_of(text):
        if piece.speaker is Speaker.PASTE or piece.speaker.is_host:
            yield "paste" if piece.speaker is Speaker.PASTE else "reminder", piece.text
    own = own_words(text)
    if own:
        yield "said", own


def _flat(content: object) -> str:
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        return "\n".join(_flat(part.get("text") if isinstance(part, Mapping) else part) for part in content)
    return "" if content is None else str(content)
