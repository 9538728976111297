"""The contract of a transcript source, checked in tests/contracts for every one there is, and memdir's own sessions."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol

from memdir.disk.git_root import canonical_root
from memdir.disk.plain_file import open_descriptor
from memdir.disk.safe_path import is_inside
from memdir.errors import DiskError
from memdir.layout import Layout, is_session_id
from memdir.transcript.message import Message
from memdir.transcript.reader import Reading, lines_forwards, read_records, records_naming
from memdir.transcript.record import Record


@dataclass(frozen=True)
class SessionRef:
    """One session of an agent: where its transcript lies, when it was last written, how large it is."""

    id: str  # of the session
    path: str  # of its transcript
    agent: str  # whose it is
    modified: float  # when it was last written, in seconds
    size: int  # in bytes


class TranscriptSource(Protocol):
    """Reads an agent's sessions. Never writes, never raises on damage, skips what it does not know.

    Only `session` and `placed`, for whoever has to know that nothing was missed, raise DiskError where there is a file
    and it cannot be read now.
    """

    def sessions(self, project: str) -> Iterator[SessionRef]:
        """The sessions of a project, newest first."""
        ...

    def session(self, session_id: str, path: str) -> SessionRef | None:
        """The session that an agent says it writes to this file; None when there is none."""
        ...

    def placed(self, ref: SessionRef, start: int = 0, end: int | None = None) -> Iterator[tuple[int, Message]]:
        """What was said, called and answered, in order; nothing that the host put in, nothing of sub-agents.

        Each message with its place, a number that only grows along a transcript and stays the same: the byte it begins
        at, where it has bytes. From the place `start` on, and only what begins before `end`.
        """
        ...

    def messages(self, ref: SessionRef, *, since: str | None = None, end: int | None = None) -> Iterator[Message]:
        """The same without places. Every message has an id of its own, the same at every reading. With `since`, what
        came after that message; everything, when there is no such message (X4)."""
        ...


class RecordSource:
    """What sources share whose transcripts have a record with an id on every line."""

    agent = ""

    def session(self, session_id: str, path: str) -> SessionRef | None:  # noqa: ARG002 - a file holds one session
        return session_ref(path, self.agent) if require_readable(path) else None

    def said(self, record: Record) -> Message | None:
        """The message of a record, if somebody said it."""
        raise NotImplementedError

    def placed(self, ref: SessionRef, start: int = 0, end: int | None = None) -> Iterator[tuple[int, Message]]:
        reading, at = Reading(start), start
        for record in read_records(ref.path, reading, end=end):
            place, at = at, reading.offset
            message = self.said(record)
            if message is not None:
                yield place, message

    def messages(self, ref: SessionRef, *, since: str | None = None, end: int | None = None) -> Iterator[Message]:
        known = (after for record, after in records_naming(ref.path, (since or "",)) if record.uuid == since)
        start = next(known, 0) if since else 0
        yield from (message for _, message in self.placed(ref, start, end))


class LineSource:
    """What sources share whose lines have no ids that can be relied on: a message is known by the byte at which its
    line begins, which never changes."""

    agent = ""

    def session(self, session_id: str, path: str) -> SessionRef | None:  # noqa: ARG002 - a file holds one session
        return session_ref(path, self.agent) if require_readable(path) else None

    def said(self, line: bytes, message_id: str) -> Message | None:
        """The message of a line, if somebody said it."""
        raise NotImplementedError

    def placed(self, ref: SessionRef, start: int = 0, end: int | None = None) -> Iterator[tuple[int, Message]]:
        for raw in lines_forwards(ref.path, start, end):
            message = self.said(raw.data, f"@{raw.start}")
            if message is not None:
                yield raw.start, message

    def messages(self, ref: SessionRef, *, since: str | None = None, end: int | None = None) -> Iterator[Message]:
        digits = (since or "").removeprefix("@")
        known = int(digits) if digits.isdecimal() and int(digits) < ref.size else -1
        yield from (message for place, message in self.placed(ref, max(known, 0), end) if place > known)


def require_readable(path: str) -> bool:
    """Whether there is a file; DiskError where it cannot be read: that is not the same as one that says nothing."""
    try:
        os.close(open_descriptor(path)[0])  # a pipe or a device would be waited for
    except (FileNotFoundError, NotADirectoryError, ValueError):
        return False
    except OSError as error:
        raise unreadable(path, error.strerror or str(error)) from error
    return True


def unreadable(path: str, why: str) -> DiskError:
    return DiskError(f"{path} cannot be read now: {why}")


def session_ref(path: str, agent: str) -> SessionRef | None:
    """The session of a transcript; None when it cannot be looked at."""
    try:
        status = os.stat(path)
    except (OSError, ValueError):
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
    except (OSError, ValueError):
        return
    yield from found


def roots_of(project: str) -> tuple[str, str]:
    """The folders that are a project: its own, and the root of its repository."""
    return os.path.realpath(project), os.path.realpath(canonical_root(project))


def is_of_project(folder: str, roots: tuple[str, str]) -> bool:
    """Whether a session that was started in a folder belongs to the project."""
    return os.path.realpath(folder) in roots or any(is_inside(folder, root) for root in roots)


AGENT = "memdir"


@dataclass(frozen=True)
class OwnSessions(RecordSource):
    """The transcripts below memdir's home."""

    home: str
    agent = AGENT

    def sessions(self, project: str) -> Iterator[SessionRef]:
        folder = Layout(self.home, project).project_home
        refs = newest_first(session_ref(path, AGENT) for path in transcripts_in(folder))
        yield from (ref for ref in refs if is_session_id(ref.id))

    def said(self, record: Record) -> Message | None:
        message = record.message
        return None if message is None or message.is_meta or record.is_sidechain else message
