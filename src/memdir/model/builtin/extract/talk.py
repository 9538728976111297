"""The values that go in and out of extraction: a conversation split into lines, what exists, and the drafts."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from memdir.text.language import clean
from memdir.text.sentences import SPEECH, bounds, masked

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


@dataclass(frozen=True)
class SaidSentence:
    """One sentence of the user."""

    text: str
    line: int
    number: int
    total: int


def sentences(text: str, line: int) -> tuple[SaidSentence, ...]:
    """The user's own sentences in one said line, in order."""
    said = clean(text)
    pieces = (said[start:end].strip() for start, end in bounds(masked(said), SPEECH))
    kept = [piece for piece in pieces if _is_prose(piece)]
    return tuple(SaidSentence(piece, line, at, len(kept)) for at, piece in enumerate(kept))


def _is_prose(piece: str) -> bool:
    visible = [char for char in piece if not char.isspace()]
    letters = sum(char.isalpha() for char in visible)
    return letters >= 1 and letters >= MIN_PROSE_SHARE * len(visible)
