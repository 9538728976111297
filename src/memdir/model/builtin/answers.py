"""What the answers of the built-in model have in common: how it speaks, calls tools, and reads what they gave back."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence

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


def writes(path: str, text: Callable[[], str], request: Request, *, before: str = "") -> Reply:
    """One step of a job that keeps one file: read it, write it where it is to say something else, done."""
    results = [result for message in parted(request)[1] for result in message.tool_results]
    if not results:
        return reads([path])
    if len(results) == 1 and not results[0].is_error and (after := text()) != before:
        return calls([ToolUse("write", "Write", {"file_path": path, "content": after})])
    return says("It is up to date.")
