"""Who said what: a conversation taken apart into pieces with a source and a trust (L1, L4, X12)."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from memdir.store.trust import Trust
from memdir.transcript.message import Message, Text, ToolResult, ToolUse

_REMINDER = re.compile(r"<system-reminder>.*?(?:</system-reminder>|\Z)", re.DOTALL)
_WEB_TOOLS = ("web", "fetch", "search", "browser", "mcp__", "http", "url")


@dataclass(frozen=True)
class Said:
    """A piece of text of the conversation and how far it is trusted."""

    message_id: str
    text: str
    trust: Trust


def take_apart(messages: Sequence[Message]) -> Iterator[Said]:
    """Every piece that can be a source. What the host put in (recalled memories, reminders) is none at all (L4)."""
    tool_names: dict[str, str] = {}
    for message in messages:
        for block in message.content:
            match block:
                case ToolUse(tool_id, name):
                    tool_names[tool_id] = name.lower()
                case ToolResult(tool_use_id, content):
                    yield Said(message.id, content, _trust_of_tool(tool_names.get(tool_use_id, "")))
                case Text(text) if not message.is_meta:
                    spoken = _REMINDER.sub(" ", text)
                    yield Said(message.id, spoken, Trust.USER if message.role == "user" else Trust.ASSISTANT)
                case _:
                    continue


def _trust_of_tool(name: str) -> Trust:
    return Trust.WEB if any(word in name for word in _WEB_TOOLS) else Trust.TOOL


def has_prose(messages: Sequence[Message]) -> bool:
    """Whether the user or the assistant said anything in words: not only code, tool output or JSON (X6)."""
    return any(_is_prose(said.text) for said in take_apart(messages) if said.trust >= Trust.ASSISTANT)


def _is_prose(text: str) -> bool:
    plain = re.sub(r"```.*?(?:```|\Z)|`[^`\n]*`", " ", text, flags=re.DOTALL).strip()
    if plain.startswith(("{", "[")) and plain.endswith(("}", "]")):
        return False
    words = re.findall(r"[^\W\d_]{2,}", plain)
    wide = re.findall(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]", plain)
    return len(words) >= 2 or len(wide) >= 2
