"""Messages as the loop, the providers and the transcripts share them. Every provider renders these to its own form.

Rendering the same message twice gives the same bytes: that is what lets a fork share its parent's prompt cache (G1).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal, TypeAlias

Json: TypeAlias = "bool | int | float | str | list[Json] | dict[str, Json] | None"
LATEST = 253_402_000_000  # seconds: the last days that a calendar has, in whatever zone
Role = Literal["user", "assistant"]


@dataclass(frozen=True, slots=True)
class Text:
    """Words."""

    text: str  # the words


@dataclass(frozen=True, slots=True)
class ToolUse:
    """A model's wish to use a tool. `fault` says why its arguments could not be read; the loop answers with it."""

    id: str  # what the result will name
    name: str  # of the tool
    input: Mapping[str, Json] = field(default_factory=dict)  # its arguments
    fault: str = ""  # why they could not be read


@dataclass(frozen=True, slots=True)
class ToolResult:
    """What came of a tool use."""

    tool_use_id: str  # the call that it answers
    content: str  # what the model is told
    is_error: bool = False  # whether the tool failed


@dataclass(frozen=True, slots=True)
class Opaque:
    """A block that only its own provider understands (thinking, reasoning), kept as its JSON text."""

    provider: str  # whose block it is
    json: str  # the block


Block: TypeAlias = Text | ToolUse | ToolResult | Opaque


@dataclass(frozen=True, slots=True)
class Message:
    """One message of a conversation. `is_meta` marks what the host put in: the model sees it, nobody said it."""

    role: Role  # who speaks
    content: tuple[Block, ...]  # words, calls of tools, results
    id: str = ""  # unique within a conversation
    is_meta: bool = False  # whether the host put it in
    timestamp: str = ""  # when, in ISO format, where a transcript says so
    is_off: bool = False  # said while memory was off: nothing is learned from it

    @property
    def text(self) -> str:
        """Its words, without tools and thinking."""
        return "\n".join(block.text for block in self.content if isinstance(block, Text))

    @property
    def tool_uses(self) -> tuple[ToolUse, ...]:
        """The calls of tools in it."""
        return tuple(block for block in self.content if isinstance(block, ToolUse))

    @property
    def tool_results(self) -> tuple[ToolResult, ...]:
        """The results of tools in it."""
        return tuple(block for block in self.content if isinstance(block, ToolResult))


def user(text: str, *, message_id: str = "", is_meta: bool = False) -> Message:
    """A message of plain words from the user's side."""
    return Message("user", (Text(text),), message_id, is_meta)


def assistant(text: str, *, message_id: str = "") -> Message:
    """A message of plain words from the assistant."""
    return Message("assistant", (Text(text),), message_id)


def said_at(message: Message) -> float | None:
    """When a message was said, in seconds; None where that was not written down, or cannot be read or have been."""
    try:
        moment = datetime.fromisoformat(message.timestamp).timestamp()
    except (ValueError, OverflowError, OSError):
        return None
    return moment if 0 < moment < LATEST else None
