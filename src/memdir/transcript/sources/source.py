"""The contract of a transcript source, checked in tests/contracts for every one there is, and memdir's own sessions."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol

from memdir.layout import Layout, is_session_id
from memdir.transcript.message import Message
from memdir.transcript.reader import Reading, read_records, records_naming
from memdir.transcript.record import Record


@dataclass(frozen=True)
class SessionRef:
    """One session of an agent: where its transcript lies, when it was last written, how large it is."""

    id: str
    path: str
    agent: str
    modified: float
    size: int


class TranscriptSource(Protocol):
    """Reads an agent's sessions. Never writes, never raises on damage, skips what it does not know."""

    def sessions(self, project: str) -> Iterator[SessionRef]:
        """The sessions of a project, newest first."""
        ...

    def messages(self, ref: SessionRef, *, since: str | None = None, end: int | None = None) -> Iterator[Message]:
        """What was said, called and answered, in order; nothing that the host put in, nothing of sub-agents.

        Every message has an id of its own, the same at every reading. With `since`, what came after that message;
        everything, when there is no such message (X4). With `end`, only what begins before that byte.
        """
        ...


def session_ref(path: str, agent: str) -> SessionRef | None:
    """The session of a transcript; None when it cannot be looked at."""
    try:
        status = os.stat(path)
    except OSError:
        return None
    name = os.path.splitext(os.path.basename(path))[0]
    return SessionRef(name, path, agent, status.st_mtime, status.st_size)


def newest_first(refs: Iterator[SessionRef | None]) -> Iterator[SessionRef]:
    found = [ref for ref in refs if ref is not None]
    yield from sorted(found, key=lambda ref: (-ref.modified, ref.id))


def transcripts_in(folder: str) -> Iterator[str]:
    """The transcripts that lie in a folder, in no order."""
    try:
        with os.scandir(folder) as entries:
            found = [entry.path for entry in entries if entry.name.endswith(".jsonl") and entry.is_file()]
    except OSError:
        return
    yield from found


def records_since(path: str, since: str | None, end: int | None) -> Iterator[Record]:
    """The records after the one with this id, all of them when there is none, up to the byte `end`."""
    known = (after for record, after in records_naming(path, (since,)) if record.uuid == since) if since else iter(())
    yield from read_records(path, Reading(next(known, 0)), end=end)


AGENT = "memdir"


@dataclass(frozen=True)
class OwnSessions:
    """The transcripts below memdir's home."""

    home: str

    def sessions(self, project: str) -> Iterator[SessionRef]:
        folder = Layout(self.home, project).project_home
        refs = newest_first(session_ref(path, AGENT) for path in transcripts_in(folder))
        yield from (ref for ref in refs if is_session_id(ref.id))

    def messages(self, ref: SessionRef, *, since: str | None = None, end: int | None = None) -> Iterator[Message]:
        for record in records_since(ref.path, since, end):
            message = record.message
            if message is not None and not message.is_meta and not record.is_sidechain:
                yield message
