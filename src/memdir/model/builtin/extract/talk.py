"""The values that go in and out of extraction: what was said in a conversation, what exists, and the drafts."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from typing import Literal

from memdir.model.builtin.extract.wishes import is_bare, wish_in
from memdir.text.language import alternatives, clean, fold, language
from memdir.text.sentences import SPEECH, bounds, masked
from memdir.text.speakers import own_words
from memdir.transcript.message import Message, Role, Text

Action = Literal["create", "update", "delete"]


@dataclass(frozen=True)
class TalkLine:
    """What the user or the assistant said in one block of a message."""

    message: int  # its number in the conversation
    role: Role
    text: str


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
    is_log: bool = False  # lines of a daily log are drafted: nothing that exists is at hand


@dataclass(frozen=True)
class MemoryDraft(Existing):
    """One memory to write, change or delete."""

    action: Action = "create"


MIN_CLAUSE_WORDS = 3  # on each side of a cut: fewer are no statement of their own
_OF_A_LOG = re.compile(r"[\d@/\\]|\w\.\w|\b[A-Z]{4,}\b")  # "config.go:88 remember: …" is one line of a program's
_SET = re.compile(r"(?:true|false|null|\d+)\b")  # "strict: true" is one thing
_CLAUSE = (
    r"(?<=[,;])\s+(?=(?:{joins}))|(?<=[;:])\s+|\s+(?=(?:{joins})\s+(?:{moods}))"
    r"|(?P<last>(?<=[,;])\s+(?=[^,;]+$)|\s+(?=(?:(?:{joins})\s+)?(?:{asks})))"
)


@dataclass(frozen=True)
class Clause:
    """A part of what the user said that may be a statement of its own: a rule often stands inside a request."""

    text: str
    number: int
    total: int
    ends: bool  # its sentence
    sentence: str  # it and what stands before it in the sentence: "the docs say: never …"


def clauses(text: str) -> tuple[Clause, ...]:
    """The user's own statements in one said line, in order."""
    said = clean(text)
    pieces = (said[start:end].strip() for start, end in bounds(masked(said), SPEECH))
    cut = _cuts(language(fold(said)))
    parts = [parted for piece in filter(None, pieces) for parted in _parted(piece, cut)]
    return tuple(Clause(part, at, len(parts), ends, head) for at, (part, ends, head) in enumerate(parts))


@cache
def _cuts(tongue: str) -> re.Pattern[str]:
    words = {name: alternatives(name, tongue) for name in ("joins", "moods", "asks")}
    return re.compile(_CLAUSE.format(**words), re.IGNORECASE)


def _parted(sentence: str, cut: re.Pattern[str]) -> Iterator[tuple[str, bool, str]]:
    """A sentence cut before "and", "but", ", remember that", "can you …?" and the like; quotations stay whole."""
    start, hidden = 0, masked(sentence)
    for found in cut.finditer(hidden):
        head, tail = sentence[start : found.start()], sentence[found.end() :]
        is_whole = head.endswith(":") and (_OF_A_LOG.search(head) or _SET.match(tail))
        is_asked = not found["last"] or (wish_in(head) and not wish_in(f"{head} {tail}"))  # "remember …, can you …?"
        sides = (head, tail) if is_asked else (head,) if is_bare(tail) else ("",)
        if not is_whole and min(len(side.split()) for side in sides) >= MIN_CLAUSE_WORDS:
            yield head, False, sentence[: found.start()]
            start = found.end()
    yield sentence[start:], True, sentence


def lines_of(messages: Iterable[Message]) -> tuple[TalkLine, ...]:
    """What was said. Results of tools, what a host put in and what was pasted nobody said (X12, L4): `text/speakers.py`
    knows."""
    blocks = (
        (at, message.role, own_words(block.text) if message.role == "user" else block.text)
        for at, message in enumerate(messages)
        for block in message.content
        if isinstance(block, Text) and not message.is_meta
    )
    return tuple(TalkLine(*one) for one in blocks if one[-1])
