"""What a fork is to do and with which facts, as data beside its request: a typed job.

A language model reads the prose that is rendered from it; the built-in model reads the job itself. No provider is sent
any of it, and nobody reads the prose back.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, tzinfo

from memdir.search.index_store import nearest_headers
from memdir.store.log_lines import LogLine
from memdir.store.scan import MAX_RETURNED, Header
from memdir.store.store import MemoryStore
from memdir.transcript.message import Message
from memdir.transcript.session_list import AttendedSession
from memdir.transcript.tokens import estimate_text


@dataclass(frozen=True)
class MemoryFolder:
    """A memory directory, and what it holds already: the memories nearest to what the job is about and the newest, and
    how many there are besides."""

    root: str
    scope: str
    headers: tuple[Header, ...]
    older: int = 0
    has_index: bool = True

    @staticmethod
    def of(
        store: MemoryStore, *, limit: int = MAX_RETURNED, without: tuple[str, ...] = (), near: Sequence[str] = ()
    ) -> MemoryFolder:
        found = [header for header in store.scan(limit=None).headers if not header.key.startswith(without)]
        headers, more = nearest_headers(store, found, near, limit=limit)
        return MemoryFolder(store.root, store.scope, tuple(headers), more, has_index=not store.skip_index)


@dataclass(frozen=True)
class ExtractJob:
    """Save what the newest messages taught. The project's own directory comes first, then the team's and the person's
    for all projects, where there are such."""

    new_messages: int
    folders: tuple[MemoryFolder, ...]
    now: datetime
    instructions: str = ""  # what the host's instruction files say already
    saved: tuple[str, ...] = ()  # what the main agent wrote down itself in these messages
    log: str = ""  # where lines of a daily log go, where those are kept instead of memories (K1)

    def folder(self, scope: str) -> MemoryFolder | None:
        return next((folder for folder in self.folders if folder.scope == scope), None)


@dataclass(frozen=True)
class DreamJob:
    """Consolidate a memory directory, with what these sessions said."""

    folder: MemoryFolder
    sessions_folder: str
    sessions: tuple[str, ...]
    now: datetime
    others: tuple[AttendedSession, ...] = ()  # those of other agents
    settled_before: float = 0.0  # memories older than this were held against each other by an earlier dream
    log: tuple[LogLine, ...] | None = None  # new lines of daily logs; None: whatever lies there is new


@dataclass(frozen=True)
class NotesSection:
    """A section of a session's notes: a heading, the line in italics below it, and what was noted."""

    title: str
    hint: str
    body: str

    @property
    def text(self) -> str:
        return "\n".join(part for part in (f"# {self.title}", self.hint, self.body) if part) + "\n"

    @property
    def tokens(self) -> int:
        return estimate_text(self.body)


@dataclass(frozen=True)
class NotesJob:
    """Bring the notes of a session up to date, in this file that says this now."""

    path: str
    sections: tuple[NotesSection, ...]


@dataclass(frozen=True)
class DocJob:
    """Bring a magic doc up to date from what was said; `body` is what stands below its header."""

    path: str
    body: str
    said: tuple[Message, ...]
    now: datetime


@dataclass(frozen=True)
class CompactJob:
    """Summarise a conversation; `keep` is what the user wants kept in particular."""

    keep: str = ""


@dataclass(frozen=True)
class ChatJob:
    """Answer the user, with the memories that an index lists."""

    directory: str  # the memory directory
    lines: tuple[tuple[str, str], ...]  # of its index: the memory that each names, and what it says
    question: str = ""  # what is asked, where that is not what the user said last
    is_introduced: bool = False  # whether the person knows who answers


TypedJob = ExtractJob | DreamJob | NotesJob | DocJob | CompactJob | ChatJob


def minute_of(seconds: float, zone: tzinfo | None) -> datetime:
    """The time as a job tells it, in the user's zone or else the machine's."""
    return datetime.fromtimestamp(seconds, zone).astimezone(zone).replace(second=0, microsecond=0)
