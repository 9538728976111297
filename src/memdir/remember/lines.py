"""Who said what: a conversation taken apart into pieces with a speaker and a trust (L1, L4, X12)."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from memdir.store.trust import Trust
from memdir.text.speakers import Speaker, pieces_of
from memdir.transcript.message import Message, Text, ToolResult, ToolUse

_WEB_TOOLS = ("web", "fetch", "search", "browser", "mcp__", "http", "url")


@dataclass(frozen=True)
class Said:
    """A piece of text of the conversation, whose it is, and how far it is trusted."""

    message_id: str
    text: str
    trust: Trust
    speaker: Speaker


def take_apart(messages: Sequence[Message]) -> Iterator[Said]:
    """Every piece of a conversation. What the host put in (recalled memories, reminders) is nobody's here (L4)."""
    tool_names: dict[str, str] = {}
    for message in messages:
        for block in message.content:
            match block:
                case ToolUse(tool_id, name):
                    tool_names[tool_id] = name.lower()
                case ToolResult(tool_use_id, content):
                    trust = _trust_of_tool(tool_names.get(tool_use_id, ""))
                    yield Said(message.id, content, trust, Speaker.TOOL)
                case Text(text) if message.role == "assistant":
                    yield Said(message.id, text, Trust.ASSISTANT, Speaker.ASSISTANT)
                case Text(text) if message.is_meta:
                    yield Said(message.id, text, Trust.TOOL, Speaker.REMINDER)
                case Text(text):
                    yield from (
                        Said(message.id, piece.text, _TRUST[piece.speaker], piece.speaker) for piece in pieces_of(text)
                    )
                case _:
                    continue


_TRUST = dict.fromkeys(Speaker, Trust.TOOL) | {Speaker.USER: Trust.USER, Speaker.REPORTED: Trust.USER}


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
