"""What the answers of the built-in model have in common: how it speaks, calls tools, and reads what they gave back."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from memdir.model.model import Reply, Request
from memdir.transcript.message import Message, Text, ToolUse

_NUMBERED = re.compile(r"^ *\d+\t", re.MULTILINE)


def says(text: str) -> Reply:
    return Reply(Message("assistant", (Text(text),)), "end_turn", model="builtin")


def calls(uses: Iterable[ToolUse]) -> Reply:
    return Reply(Message("assistant", tuple(uses)), "tool_use", model="builtin")


def reads(paths: Iterable[str], name: str = "read") -> Reply:
    return calls(ToolUse(f"{name}_{number}", "Read", {"file_path": path}) for number, path in enumerate(paths))


def text_read(content: str) -> str:
    """A file's text as it was before the Read tool numbered its lines."""
    return _NUMBERED.sub("", content) + "\n"


def parted(request: Request) -> tuple[Sequence[Message], Sequence[Message]]:
    """The conversation before a job, and what was done for the job so far: its message is the last that nobody said."""
    messages = request.messages
    at = max((n for n, message in enumerate(messages) if message.is_meta), default=len(messages))
    return messages[:at], messages[at + 1 :]
