"""A conversation that is written down as it goes: what is in the context and what is on disk never part ways (J3)."""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from typing import Any

from memdir.errors import MemoryNotFound
from memdir.transcript.message import Message, ToolResult
from memdir.transcript.record import BOUNDARY, REPLACEMENT
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
        if at < self._compacted:  # its own records lead back behind the compaction: say anew what was carried over
            self._carry_over(self.messages[0], self.messages[1 : at + 1], {"trigger": "rewind"})
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
        """Put a summary in the place of the conversation, and behind it the messages that stay as they are."""
        self._carry_over(summary, kept, metadata)

    def answer_open_calls(self) -> None:
        """Give calls that were never answered a result that says so: no provider takes a call without one."""
        uses = self.messages[-1].tool_uses if self.messages else ()
        if uses:
            self.add(Message("user", tuple(ToolResult(use.id, INTERRUPTED, is_error=True) for use in uses)))

    def _mark_rewound(self, message_id: str) -> None:
        self.transcript.append_system({"subtype": "rewind", "content": "Went back to here"}, parent=message_id)

    def _carry_over(self, summary: Message, kept: Sequence[Message], metadata: Mapping[str, Any]) -> None:
        """Write boundary and summary with one `write`: a boundary without its summary does not count (J3)."""
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
