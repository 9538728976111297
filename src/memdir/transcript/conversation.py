"""A conversation that is written down as it goes: what is in the context and what is on disk never part ways (J3).

A branch is a second session that begins where another one stood: the same context and file history, a life of its own.
"""

from __future__ import annotations

import os
import uuid
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from memdir.disk.atomic import make_folder, write_bytes_atomic
from memdir.disk.plain_file import open_plain
from memdir.errors import MemoryNotFound
from memdir.transcript.message import Message, ToolResult
from memdir.transcript.reader import read_records
from memdir.transcript.record import ATTRIBUTION, BOUNDARY, FILE_HISTORY, REPLACEMENT
from memdir.transcript.resume import Resumed, resume, with_replacements
from memdir.transcript.transcript import Transcript

INTERRUPTED = "The session ended before this call was finished. Nothing is known about its result."


class Conversation:
    """The context of one session and its transcript. Each change is on disk before it is in the context."""

    def __init__(self, transcript: Transcript, left: Resumed | None = None) -> None:
        self.transcript = transcript
        left = left or Resumed()
        self.messages = left.messages
        self.damage = left.damage
        self._compacted = left.compacted
        transcript.last_uuid = left.leaf
        transcript.depth = left.depth

    @staticmethod
    def resume(transcript: Transcript, *, at: str = "") -> Conversation:
        """The conversation of a transcript as it was left, or as it was at a message of it."""
        conversation = Conversation(transcript, resume(transcript.path, at=at))
        if at:
            conversation._mark_rewound(at)
        return conversation

    def add(self, message: Message) -> Message:
        """The next message. Returns it as it was written, with its id and time."""
        kept = self.transcript.append_message(message)
        self.messages = (*self.messages, kept)
        return kept

    def rewind(self, message_id: str) -> None:
        """Go back: the conversation goes on behind this message, and what came after it stays on disk as a branch."""
        at = next((at for at, message in enumerate(self.messages) if message.id == message_id), None)
        if at is None:
            raise MemoryNotFound(
                f"there is no message {message_id} in this conversation", remedy="Resume at it instead"
            )
        if at < self._compacted:  # its own records lead back behind the compaction: say again what was carried over
            self.compact(self.messages[0], self.messages[1 : at + 1], {"trigger": "rewind"})
        else:
            self.transcript.depth -= len(self.messages) - (at + 1)
            self._mark_rewound(message_id)
            self.messages = self.messages[: at + 1]

    def replace_results(self, replacements: Mapping[str, str]) -> None:
        """Put shorter texts in the place of tool results, by the id of their call, now and after every resume."""
        listed = [{"kind": "tool-result", "toolUseId": use, "replacement": text} for use, text in replacements.items()]
        self.transcript.append_note({"type": REPLACEMENT, "replacements": listed})
        self.messages = tuple(with_replacements(self.messages, replacements))

    def compact(self, summary: Message, kept: Sequence[Message], metadata: Mapping[str, Any]) -> None:
        """Put a summary in the place of the conversation, and behind it the messages that stay as they are.

        Boundary and summary are one `write`: a boundary without its summary does not count (J3).
        """
        boundary = str(uuid.uuid4())
        fresh = self.transcript.dated(Message("user", summary.content, is_meta=True))
        preserved = {"anchorUuid": fresh.id, "uuids": [message.id for message in kept]}
        fields = {
            "type": "system",
            "subtype": BOUNDARY,
            "content": "Conversation compacted",
            "logicalParentUuid": self.transcript.last_uuid,
            "compactMetadata": {**metadata, "preservedMessages": preserved},
        }
        self.transcript.append(
            self.transcript.line(fields, record_id=boundary, parent="")
            + self.transcript.message_line(fresh, parent=boundary, is_summary=True)
        )
        self.transcript.last_uuid = fresh.id
        self.transcript.depth += 1
        self.messages = (fresh, *kept)
        self._compacted = len(self.messages)

    def answer_open_calls(self) -> None:
        """Give calls that were never answered a result that says so: no provider takes a call without one."""
        uses = self.messages[-1].tool_uses if self.messages else ()
        if uses:
            self.add(Message("user", tuple(ToolResult(use.id, INTERRUPTED, is_error=True) for use in uses)))

    def _mark_rewound(self, message_id: str) -> None:
        self.transcript.append_system({"subtype": "rewind", "content": "Went back to here"}, parent=message_id)


@dataclass(frozen=True)
class Branch:
    """A new transcript, not written yet: the context it begins with and the notes it takes over."""

    origin: str
    transcript: Transcript
    left: Resumed

    @staticmethod
    def of(origin: str, transcript: Transcript, *, at: str = "") -> Branch:
        """A branch of the transcript at `origin`, at its end or at one of its messages."""
        left = resume(origin, at=at)
        if not left.messages:
            what = f"message {at}" if at else "message"
            raise MemoryNotFound(f"there is no {what} in {origin}", remedy="`memdir sessions show` lists the messages")
        return Branch(origin, transcript, left)

    def write(self) -> None:
        """Write the whole file at once: a branch is there or it is not."""
        make_folder(os.path.dirname(self.transcript.path))
        write_bytes_atomic(self.transcript.path, b"".join(self._lines()))

    def copy_files(self, before: str, after: str) -> None:
        """Take over the kept contents of edited files, so that the branch can show and restore them."""
        try:
            names = sorted(os.listdir(before))
        except OSError:
            return
        make_folder(after)
        for name in names:
            with open_plain(os.path.join(before, name), follow=False) as file:
                write_bytes_atomic(os.path.join(after, name), file.read())

    def is_behind(self, message_id: str) -> bool:
        """Whether a message came after the place where this branch begins."""
        ids = (record.uuid for record in read_records(self.origin))
        return bool(message_id) and next((uuid for uuid in ids if uuid in (message_id, self._last)), "") == self._last

    @property
    def _last(self) -> str:
        return self.left.messages[-1].id

    def _lines(self) -> Iterator[bytes]:
        """The context's messages and the notes, in the order of the file; last of all the place to go on from."""
        left = {message.id: message for message in self.left.messages}
        places = {message_id: at for at, message_id in enumerate(left)}
        parents = dict(zip(left, ["", *left], strict=False))

        def line_of(message: Message) -> bytes:
            self.transcript.depth = places[message.id]
            return self.transcript.message_line(message, parent=parents[message.id])

        for record in read_records(self.origin):
            message = left.pop(record.uuid, None)
            if message is not None:
                yield line_of(message)
            elif record.type in (FILE_HISTORY, ATTRIBUTION):
                yield self.transcript.note_line(record.fields)
        yield from map(line_of, left.values())  # only whole in its parts: a message of several records
        origin = {"sessionId": os.path.basename(self.origin).removesuffix(".jsonl"), "messageUuid": self._last}
        fields = {"type": "system", "subtype": "fork", "content": "Forked from here", "forkedFrom": origin}
        fork_id = f"fork-{self.transcript.session_id}"
        yield self.transcript.line({**fields, "depth": len(places)}, record_id=fork_id, parent=self._last)
