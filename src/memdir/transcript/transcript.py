"""Writes a session down: one record a line, one `write` a record, on an append-only descriptor (J1)."""

from __future__ import annotations

import json
import os
import uuid
from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from memdir.disk.atomic import FILE_MODE, disk_error, make_folder
from memdir.transcript.message import Message
from memdir.transcript.record import message_fields

_OPEN = os.O_RDWR | os.O_CREAT | os.O_APPEND | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0)


class Transcript:
    """The file of one session, open for appending. Several processes may append to one file: no line is ever torn."""

    def __init__(self, path: str, *, session_id: str, cwd: str, clock: Callable[[], float]) -> None:
        self.path = path
        self.session_id = session_id
        self._cwd = cwd
        self._clock = clock
        self._descriptor: int | None = None
        self.last_uuid = ""

    def append_message(self, message: Message, *, parent: str | None = None, is_sidechain: bool = False) -> Message:
        """Write a message behind the last one, or behind `parent`. Returns it with its id and time."""
        record_id = message.id or str(uuid.uuid4())
        fields = message_fields(message)
        if is_sidechain:
            fields["isSidechain"] = True
        timestamp = self.append(fields, record_id=record_id, parent=self.last_uuid if parent is None else parent)
        if not is_sidechain:
            self.last_uuid = record_id
        return replace(message, id=record_id, timestamp=timestamp)

    def append(self, fields: Mapping[str, Any], *, record_id: str = "", parent: str = "") -> str:
        """Write any record. Returns its time."""
        moment = datetime.fromtimestamp(self._clock(), UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
        record = {
            "parentUuid": parent or None,
            "uuid": record_id or str(uuid.uuid4()),
            "sessionId": self.session_id,
            "timestamp": moment,
            "cwd": self._cwd,
            **fields,
        }
        self.append_line(json.dumps(record, ensure_ascii=False).encode("utf-8", "surrogatepass"))
        return moment

    def append_line(self, line: bytes) -> None:
        """Write one line with one `write`."""
        try:
            os.write(self._open(), line + b"\n")
        except OSError as error:
            raise disk_error(error, "append to", self.path) from error

    def close(self) -> None:
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None

    def _open(self) -> int:
        if self._descriptor is None:
            make_folder(os.path.dirname(self.path))
            descriptor = os.open(self.path, _OPEN, FILE_MODE)
            size = os.fstat(descriptor).st_size
            # A process that was killed in mid-write left half a line: ours begins on a fresh one (J3).
            if size and os.pread(descriptor, 1, size - 1) != b"\n":
                os.write(descriptor, b"\n")
            self._descriptor = descriptor
        return self._descriptor
