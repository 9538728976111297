"""Turns provider messages (block form) into lines, and keeps apart who speaks.

Tool results, reminders, hook context and anything else wrapped in tags is never "said" by the user (X12, L4).
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from memdir.model.builtin.extract.conversation import Kind, Line, Role

# Tagged elements that hosts put into user messages; an unclosed one runs to the end, so nothing leaks out of it.
_HOST_TAGS = (
    "system-reminder|hook_context|task-notification|environment_context|user-prompt-submit-hook|local-command-\\w+"
)
_TAGGED = re.compile(
    rf"<({_HOST_TAGS})\b[^<>]*>.*?(?:</\1\s*>|\Z)|<([A-Za-z][\w:-]*)(?:\s[^<>]*)?>.*?</\2\s*>",
    re.DOTALL | re.IGNORECASE,
)
# Hosts also inject plain text with these openings; the whole block is theirs.
_INJECTED = (
    "caveat: the messages below",
    "contents of ",
    "memory (saved",
    "memory: ",
    "[request interrupted",
    "this session is being continued from a previous conversation",
    "# agents.md instructions",
    "# claude.md",
    "as you answer the user's questions, you can use the following context",
)


def lines_from_messages(messages: Iterable[Mapping[str, Any]]) -> tuple[Line, ...]:
    """The lines of a conversation; ids are `<message id or number>.<block number>`, stable for the same messages."""
    lines: list[Line] = []
    for number, message in enumerate(messages):
        name = str(message.get("id") or message.get("uuid") or number)
        role: Role = "assistant" if message.get("role") == "assistant" else "user"
        meta = bool(message.get("isMeta") or message.get("isCompactSummary"))
        for block_number, (kind, text) in enumerate(_pieces(message.get("content"), role, meta=meta)):
            lines.append(Line(f"{name}.{block_number}", role, text, kind))
    return tuple(lines)


def _pieces(content: object, role: Role, *, meta: bool) -> Iterator[tuple[Kind, str]]:
    blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
    for block in blocks if isinstance(blocks, list) else []:
        if not isinstance(block, Mapping):
            continue
        kind = block.get("type")
        if kind == "text" and role == "user":
            yield from _user_text(str(block.get("text") or ""), meta=meta)
        elif kind == "text":
            yield "said", str(block.get("text") or "")
        elif kind == "tool_use":
            yield "tool_use", json.dumps(block.get("input"), ensure_ascii=False, sort_keys=True, default=str)
        elif kind not in ("thinking", "redacted_thinking"):
            yield "tool_result", _flat(block.get("content"))


def _user_text(text: str, *, meta: bool) -> Iterator[tuple[Kind, str]]:
    if meta or text.lstrip().lower().startswith(_INJECTED):
        yield "reminder", text
        return
    end = 0
    for found in _TAGGED.finditer(text):
        if text[end : found.start()].strip():
            yield "said", text[end : found.start()].strip()
        yield "reminder", found.group()
        end = found.end()
    if text[end:].strip():
        yield "said", text[end:].strip()


def _flat(content: object) -> str:
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        return "\n".join(_flat(part.get("text") if isinstance(part, Mapping) else part) for part in content)
    return "" if content is None else str(content)
