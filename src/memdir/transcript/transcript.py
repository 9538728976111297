"""Writes a session down: one record a line, one `write` a record, on an append-only descriptor (J1)."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from typing import Any

from memdir.disk.atomic import FILE_MODE, disk_error, make_folder
from memdir.disk.open_writers import is_shared, mark_writing
from memdir.disk.plain_file import NEVER_WAIT, NO_LINK, require_plain
from memdir.errors import UsageError
from memdir.transcript.message import Message
from memdir.transcript.record import encode, message_fields
from memdir.version import __version__

_OPEN = os.O_RDWR | os.O_CREAT | os.O_APPEND | NEVER_WAIT | NO_LINK
_EPOCH = datetime(1970, 1, 1)  # noqa: DTZ001 - in UTC; with a zone every message would wait half as long again
VERSION = f"memdir {__version__}"  # tells our records from another agent's


class Transcript:
    """The file of one session, open for appending. Several processes may append to one file: no line is ever torn.

    A sub-agent's transcript names its agent: its records are a side chain. With `is_durable`, every record survives a
    power cut, for the price of an fsync; without, it survives anything that happens to this process alone.
    """

    def __init__(  # noqa: PLR0913 - what a session is written down with
        self,
        path: str,
        *,
        session_id: str,
        cwd: str,
        clock: Callable[[], float],
        agent_id: str = "",
        is_durable: bool = False,
        is_off: Callable[[], bool] = lambda: False,
    ) -> None:
        self.path = path
        self.session_id = session_id
        self.last_uuid = ""
        self.depth = 0  # messages on the way from the first one to the last
        self._clock = clock
        self._is_off = is_off  # whether memory is off now
        self._is_durable = is_durable
        side = {"isSidechain": True, "agentId": agent_id} if agent_id else {"isSidechain": False}
        self._about = {**side, "sessionId": session_id, "cwd": cwd, "version": VERSION}
        self._descriptor: int | None = None
        self._is_marked = False
        self._is_torn = False
        self._is_first = False  # whether nobody may have made the file before us

    def append_message(self, message: Message) -> Message:
        """Write a message behind the last one. Returns it with its id and time."""
        kept = self.dated(message)
        self.append(self.message_line(kept, parent=self.last_uuid))
        self.last_uuid = kept.id
        self.depth += 1
        return kept

    def append_system(self, fields: Mapping[str, Any], *, parent: str) -> None:
        """Write a record of the tree that is no message: the conversation goes on behind it."""
        record_id = _new_id()
        self.append(self.line({"type": "system", "depth": self.depth, **fields}, record_id=record_id, parent=parent))
        self.last_uuid = record_id

    def append_note(self, fields: Mapping[str, Any]) -> None:
        """Write a record that has no place in the tree."""
        self.append(self.note_line({**fields, "timestamp": self.moment()}))

    def append(self, lines: bytes) -> None:
        """Write whole lines with one `write`: all of them or, when the process dies before, none."""
        descriptor = self._descriptor if self._is_marked and self._descriptor is not None else self._open()
        data = b"\n" + lines if self._is_torn else lines
        self._is_torn = True  # until all is there: a full disk, or a signal in a very large record, leaves half a line
        try:
            written = os.write(descriptor, data)
            while written < len(data):
                written += os.write(descriptor, data[written:])
            self._is_torn = False
            if self._is_durable:
                os.fsync(descriptor)
        except OSError as error:  # not `disk_errors`: every message waits for it
            raise disk_error(error, "append to", self.path) from error

    def dated(self, message: Message) -> Message:
        """A message with an id and a time of its own."""
        message_id, is_off = message.id or _new_id(), message.is_off or self._is_off()
        return Message(message.role, message.content, message_id, message.is_meta, self.moment(), is_off)

    def message_line(self, message: Message, *, parent: str, is_summary: bool = False) -> bytes:
        """The line of a message that has its id and time."""
        fields = {"depth": self.depth + 1, **message_fields(message)}
        if is_summary:
            fields["isCompactSummary"] = True
        return self.line(fields, record_id=message.id, parent=parent, moment=message.timestamp)

    def line(self, fields: Mapping[str, Any], *, record_id: str, parent: str, moment: str = "") -> bytes:
        """The line of any record of the tree. Links come first: half a line still shows them (J3)."""
        links = {"parentUuid": parent or None, "uuid": record_id}
        return encode({**links, **self._about, "timestamp": moment or self.moment(), **fields}) + b"\n"

    def note_line(self, fields: Mapping[str, Any]) -> bytes:
        """The line of a record that has no place in the tree."""
        return encode({**fields, "sessionId": self.session_id}) + b"\n"

    def moment(self) -> str:
        """The time as it stands in a record, to the millisecond."""
        return (_EPOCH + timedelta(0, self._clock())).isoformat("T", "milliseconds") + "Z"

    def is_free(self) -> bool:
        """Whether nobody else is known to write it; from now on we are. Where there is no such file yet, the first
        record makes it, unless another process was first: that is then an error."""
        self._is_first = not os.path.exists(self.path)
        is_free = self._is_first or not is_shared(self._open())
        if not is_free:
            self.close()
        return is_free

    def close(self) -> None:
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None

    def _open(self) -> int:
        if self._descriptor is None:
            make_folder(os.path.dirname(self.path))
            descriptor = -1
            try:
                descriptor = os.open(self.path, _OPEN | os.O_EXCL * self._is_first, FILE_MODE)
                self._is_first = False
                status = os.fstat(descriptor)
                require_plain(status)
            except OSError as error:
                if descriptor >= 0:
                    os.close(descriptor)
                if isinstance(error, FileExistsError) and os.path.isfile(self.path):
                    remedy = "Go on with it there, or begin another one"
                    raise UsageError("this conversation was begun in another window meanwhile", remedy=remedy) from None
                raise disk_error(error, "open", self.path) from error
            # A process that was killed in mid-write left half a line: ours begins on a fresh one (J3).
            self._is_torn = status.st_size > 0 and os.pread(descriptor, 1, status.st_size - 1) != b"\n"
            self._descriptor, self._is_marked = descriptor, False
        if not self._is_marked:
            self._is_marked = mark_writing(self._descriptor)
        return self._descriptor


def _new_id() -> str:
    """A random UUID as `uuid.uuid4` makes it, at a quarter of its price: every message waits for one."""
    text = os.urandom(16).hex()
    return f"{text[:8]}-{text[8:12]}-4{text[13:16]}-a{text[17:20]}-{text[20:]}"
