"""The files that a conversation edited, as they were at any point of it, and how much of each the agent wrote (J2, J3).

Every change leaves the content before and after it beside the transcript, named by its hash, and one record that says
which. Going back to a point is a change like any other: it can be taken back too.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field

from memdir.disk.atomic import delete_file, disk_errors, keep_bytes, write_project_file
from memdir.disk.plain_file import read_plain
from memdir.errors import BadMemoryFile
from memdir.transcript.reader import lines_backwards, read_records
from memdir.transcript.record import ATTRIBUTION, FILE_HISTORY, Record, parse_record
from memdir.transcript.transcript import Transcript

MAX_KEPT_BYTES = 16 << 20  # a larger file is no text that an agent edits; its record says that it was not kept
NOT_KEPT = "too-large"


@dataclass(frozen=True)
class TrackedChange:
    """One change of one file: hashes of its content before and after; None where there was no file."""

    path: str
    before: str | None
    after: str | None
    knows_after: bool = True


@dataclass(frozen=True)
class Step:
    """What going back would do to one file: write this content, or delete it (None)."""

    path: str
    content: bytes | None


@dataclass
class FileHistory:
    """The changes of one session, in order, each with the message after which it was made."""

    transcript: Transcript  # the session's
    folder: str  # where earlier contents are kept

    def changed(self, path: str, before: bytes | None, after: bytes | None) -> None:
        """Keep both contents, then record the change. Called by whoever writes the file, before it is written."""
        change = TrackedChange(os.path.realpath(path), self._keep(before), self._keep(after))
        message_id = self.transcript.last_uuid
        backup = {"backupFileName": change.before, "after": change.after, "backupTime": self.transcript.moment()}
        snapshot = {"messageId": message_id, "trackedFileBackups": {change.path: backup}}
        note = {"type": FILE_HISTORY, "messageId": message_id, "isSnapshotUpdate": True, "snapshot": snapshot}
        self.transcript.append_note(note)

    def plan(self, message_id: str) -> list[Step]:
        """What it takes to have every edited file as it was at a message; nothing for those that are so already."""
        return [step for step in self._states(message_id) if step.content != _read(step.path)]

    def restore(self, message_id: str) -> list[Step]:
        """Bring the files back to a message. Recorded like an edit, so that it can be taken back."""
        steps = self.plan(message_id)
        for step in steps:
            self.changed(step.path, _read(step.path), step.content)
            if step.content is None:
                delete_file(step.path)
            else:
                write_project_file(step.path, step.content)
        return steps

    def show(self, path: str, message_id: str) -> bytes | None:
        """A file as it was at a message; None when there was none, or nothing is known of it."""
        wanted = os.path.realpath(path)
        return next((step.content for step in self._states(message_id) if step.path == wanted), None)

    def _states(self, message_id: str) -> Iterator[Step]:
        """Every edited file at a message: as the last change before it left it, else as the first after it found it."""
        changes, point = self._load(message_id)
        states: dict[str, str | None] = {}
        for change in reversed(changes[point:]):
            states[change.path] = change.before
        for change in changes[:point]:
            if change.knows_after:
                states[change.path] = change.after
        for path, digest in states.items():
            content = self._content(digest)
            if content is not None or digest is None:
                yield Step(path, content)

    def _load(self, message_id: str) -> tuple[list[TrackedChange], int]:
        """All changes, and how many of them came before the message was answered."""
        changes: list[TrackedChange] = []
        point = None
        for record in read_records(self.transcript.path):
            if record.uuid == message_id:
                point = len(changes)
            changes += changes_of(record)
        if point is None:
            raise BadMemoryFile(
                f"there is no message {message_id} in {self.transcript.path}",
                remedy="`memdir sessions show` lists them",
            )
        return changes, point

    def _keep(self, content: bytes | None) -> str | None:
        if content is None:
            return None
        if len(content) > MAX_KEPT_BYTES:
            return NOT_KEPT
        digest = hashlib.sha256(content).hexdigest()
        path = os.path.join(self.folder, digest)
        if not os.path.exists(path):
            keep_bytes(path, content)
        return digest

    def _content(self, digest: str | None) -> bytes | None:
        """A kept content; None when it is gone or not what its name says."""
        if digest is None or os.path.basename(digest) != digest:
            return None
        content = _read(os.path.join(self.folder, digest))
        if content is None or hashlib.sha256(content).hexdigest() != digest:
            return None
        return content


def changes_of(record: Record) -> Iterator[TrackedChange]:
    """The changes that a record tells of; Claude Code's tell only what was there before."""
    snapshot = record.fields.get("snapshot")
    backups = snapshot.get("trackedFileBackups") if isinstance(snapshot, dict) else None
    if record.type != FILE_HISTORY or not isinstance(backups, dict):
        return
    for path, backup in backups.items():
        if isinstance(backup, dict) and os.path.isabs(path):
            before, after = backup.get("backupFileName"), backup.get("after")
            yield TrackedChange(path, _name(before), _name(after), "after" in backup)


def _name(value: object) -> str | None:
    return value if isinstance(value, str) else None


def _read(path: str) -> bytes | None:
    with disk_errors("read", path), suppress(FileNotFoundError, NotADirectoryError):
        return read_plain(path, max_bytes=MAX_KEPT_BYTES)
    return None


@dataclass
class Attribution:
    """Bytes that the agent put into each file, and the file's content when it last did."""

    written: dict[str, int] = field(default_factory=dict)
    digests: dict[str, str] = field(default_factory=dict)

    @staticmethod
    def load(path: str) -> Attribution:
        """As the last snapshot of a transcript has it; empty without one."""
        found = Attribution()
        with suppress(FileNotFoundError):
            told = (parse_record(raw) for raw in lines_backwards(path) if ATTRIBUTION.encode() in raw)
            states = (record.fields.get("fileStates") for record in told if record and record.type == ATTRIBUTION)
            for name, state in next((one for one in states if isinstance(one, dict)), {}).items():
                if isinstance(state, dict) and isinstance(state.get("agentBytes"), int):
                    found.written[name] = state["agentBytes"]
                    found.digests[name] = str(state.get("contentHash", ""))
        return found

    def changed(self, path: str, before: bytes | None, after: bytes | None) -> None:
        """Count what an edit put in: what is left of the new content without the beginning and end it kept."""
        real = os.path.realpath(path)
        old, new = before or b"", after or b""
        kept = _shared(old, new)
        kept += _shared(old[kept:][::-1], new[kept:][::-1])
        self.written[real] = self.written.get(real, 0) + len(new) - kept
        self.digests[real] = hashlib.sha256(new).hexdigest()

    def save(self, transcript: Transcript) -> None:
        """Write a snapshot; the host does so at the end of a turn in which something was edited."""
        states = {
            path: {"contentHash": self.digests[path], "agentBytes": count} for path, count in self.written.items()
        }
        transcript.append_note({"type": ATTRIBUTION, "messageId": transcript.last_uuid, "fileStates": states})


def _shared(one: bytes, other: bytes) -> int:
    """How long two contents are the same from their beginning on."""
    pairs = enumerate(zip(one, other, strict=False))
    return next((at for at, (a, b) in pairs if a != b), min(len(one), len(other)))
