"""What a message consists of for a reader: who spoke, what was called, what came of it."""

from __future__ import annotations

import json

from memdir.transcript.message import Message, Text, ToolResult, ToolUse

_TELLING = ("command", "file_path", "pattern", "query", "url", "path", "prompt", "description")
HEADLINE_CHARACTERS = 100  # of a call: the one argument that says what it is about


def speaker(message: Message) -> str:
    """Who a message is from, in one word."""
    if message.role == "assistant":
        return "Assistant"
    if message.is_meta:
        return "Host"
    is_answer = message.tool_results and not message.text
    return "Tools" if is_answer else "User"


def headline(use: ToolUse) -> str:
    """A call in one line: the argument that tells most of it."""
    texts = {name: value for name, value in use.input.items() if isinstance(value, str) and value.strip()}
    telling = next((texts[name] for name in _TELLING if name in texts), next(iter(texts.values()), ""))
    line = " ".join(telling.split())
    return line if len(line) <= HEADLINE_CHARACTERS else line[: HEADLINE_CHARACTERS - 1] + "…"


def arguments(use: ToolUse) -> str:
    """A call's arguments as indented JSON."""
    return json.dumps(dict(use.input), ensure_ascii=False, indent=2)


def is_worth_showing(message: Message) -> bool:
    """Whether there is anything in a message that a person can read."""
    return any(isinstance(block, ToolUse | ToolResult) or _has_words(block) for block in message.content)


def _has_words(block: object) -> bool:
    return isinstance(block, Text) and bool(block.text.strip())


def moment(message: Message) -> str:
    """The time of a message to the minute; empty when its record has none."""
    return message.timestamp[:16].replace("T", " ")
