"""The values that go in and out of extraction: a conversation split into lines, what exists, and the drafts."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Literal

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
