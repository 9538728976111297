"""What a night is given and what it hands back: files, what was said, edits and doubts. Values only, no behaviour."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, datetime
from typing import Literal

from memdir.store.topic import MemoryType


@dataclass(frozen=True)
class NightFile:
    """One `.md` file below the memory directory: topic, index or daily log."""

    key: str
    data: bytes
    mtime: float


@dataclass(frozen=True)
class Statement:
    """What the user said in a message, or noted in a line of a log: nothing else in a transcript is evidence."""

    text: str
    time: float
    day: date
    sources: tuple[str, ...]  # the session and the message, or the log
    is_log: bool = False
    kind: MemoryType | None = None  # that whoever logged it gave it


@dataclass(frozen=True)
class Night:
    """Everything one dream looks at. Two pages both older than `settled_before` were held against each other before."""

    files: tuple[NightFile, ...]
    said: tuple[Statement, ...]
    now: datetime
    settled_before: float = 0.0


@dataclass(frozen=True)
class Edit:
    """A file's new content, or its deletion (`data` is None), with the reason and what it rests on.

    `mtime` is the time the file should bear: its words are still as old as they were, and relative dates and the
    order of claims are read from it. None for indexes and deletions.
    """

    key: str
    data: bytes | None
    reason: str
    sources: tuple[str, ...]
    mtime: float | None = None


@dataclass(frozen=True)
class Doubt:
    """Something that looked wrong and was left alone, because it was not certain enough."""

    keys: tuple[str, ...]
    what: str


@dataclass(frozen=True)
class Unsettled:
    """Two memories that are likely of one subject, or one that may be over: a person may say how it is."""

    kind: Literal["same", "replaces", "ended"]
    older: str
    newer: str
    evidence: str


@dataclass(frozen=True)
class Plan:
    """The outcome of a night: what to change, what was left alone, and what a person is asked."""

    edits: tuple[Edit, ...]
    left_alone: tuple[Doubt, ...]
    asked: tuple[Unsettled, ...] = ()
