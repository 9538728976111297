"""Writes a session down: one record a line, one `write` a record, on an append-only descriptor (J1)."""

from __future__ import annotations

import json
import os
import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from memdir.disk.atomic import FILE_MODE, disk_error, make_folder
from memdir.disk.presence import mark_present
from memdir.transcript.message import Message
from memdir.transcript.record import message_fields
from memdir.version import __version__

_OPEN = os.O_RDWR | os.O_CREAT | os.O_APPEND | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0)
VERSION = f"memdir {__version__}"  # tells our records from another agent's
_encode = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode


class Transcript:
    """The file of one session, open for appending. Several processes may append to one file: no line is ever torn.

    A sub-agent's transcript names its agent: its records are a side chain. With `is_durable`, every record survives a
    power cut, for the price of an fsync; without, it survives anything that happens to this process alone.
    """

    def __init__(
        self,
        path: str,
        *,
        session_id: str,
        cwd: str,
        clock: Callable[[], float],
        agent_id: str = "",
        is_durable: bool = False,
    ) -> None:
        self.path = path
        self.session_id = session_id
        self.last_uuid = ""
        self.depth = 0  # messages on the way from the first one to the last
        self._clock = clock
        self._is_durable = is_durable
        side = {"isSidechain": True, "agentId": agent_id} if agent_id else {"isSidechain": False}
        self._about = _encode({**side, "sessionId": session_id, "cwd": cwd, "version": VERSION})[1:-1]
        self._descriptor: int | None = None
        self._is_marked = False
        self._is_torn = False

    def append_message(self, message: Message, *, parent: str | None = None, **more: bool) -> Message:
        """Write a message behind the last one, or behind `parent`. Returns it with its id and time."""
        kept = self.dated(message)
        self.append_lines([self.message_line(kept, parent=parent, **more)])
        self.last_uuid = kept.id
        self.depth += 1
        return kept

    def append_system(self, fields: Mapping[str, Any], *, parent: str) -> str:
        """Write a record of the tree that is no message: the conversation goes on behind it. Returns its id."""
        record_id = str(uuid.uuid4())
        counted = {"type": "system", "depth": self.depth, **fields}
        self.append_lines([self.line(counted, record_id=record_id, parent=parent)])
        self.last_uuid = record_id
        return record_id

    def append_note(self, fields: Mapping[str, Any]) -> None:
        """Write a record that has no place in the tree."""
        self.append_lines([self.note_line({**fields, "timestamp": self.moment()})])

    def append_lines(self, lines: Sequence[bytes]) -> None:
        """Write whole lines with one `write`: all of them or, when the process dies before, none."""
        descriptor = self._open()
        data = b"\n".join((*((b"",) if self._is_torn else ()), *lines, b""))
        try:
            written = os.write(descriptor, data)
            self._is_torn = written < len(data)
            while written < len(data):  # a disk that is full, or a signal in the middle of a very large record
                written += os.write(descriptor, data[written:])
            self._is_torn = False
            if self._is_durable:
                os.fsync(descriptor)
        except OSError as error:
            raise disk_error(error, "append to", self.path) from error

    def dated(self, message: Message) -> Message:
        """A message with an id and a time of its own."""
        return replace(message, id=message.id or str(uuid.uuid4()), timestamp=self.moment())

    def message_line(self, message: Message, *, parent: str | None = None, **more: bool) -> bytes:
        """The line of a message that has its id and time."""
        behind = self.last_uuid if parent is None else parent
        fields = {"depth": self.depth + 1, **message_fields(message), **more}
        return self.line(fields, record_id=message.id, parent=behind, moment=message.timestamp)

    def line(self, fields: Mapping[str, Any], *, record_id: str, parent: str, moment: str = "") -> bytes:
        """The line of any record of the tree. Its links come first: half a line still shows them (J3)."""
        links = f'{{"parentUuid":{_encode(parent or None)},"uuid":{_encode(record_id)}'
        text = f'{links},{self._about},"timestamp":"{moment or self.moment()}",{_encode(fields)[1:]}'
        return text.encode("utf-8", "surrogatepass")

    def note_line(self, fields: Mapping[str, Any]) -> bytes:
        """The line of a record that has no place in the tree."""
        return _encode({**fields, "sessionId": self.session_id}).encode("utf-8", "surrogatepass")

    def moment(self) -> str:
        return datetime.fromtimestamp(self._clock(), UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")

    def sync(self) -> None:
        """Make what was written so far survive a power cut."""
        if self._descriptor is not None:
            os.fsync(self._descriptor)

    def close(self) -> None:
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None

    def _open(self) -> int:
        if self._descriptor is None:
            make_folder(os.path.dirname(self.path))
            try:
                descriptor = os.open(self.path, _OPEN, FILE_MODE)
            except OSError as error:
                raise disk_error(error, "open", self.path) from error
            size = os.fstat(descriptor).st_size
            # A process that was killed in mid-write left half a line: ours begins on a fresh one (J3).
            self._is_torn = bool(size) and os.pread(descriptor, 1, size - 1) != b"\n"
            self._descriptor = descriptor
            self._is_marked = False
        if not self._is_marked:
            self._is_marked = mark_present(self._descriptor)
        return self._descriptor
