"""Turns provider messages (block form) into lines, and keeps apart who speaks.

Tool results, what a host put in and what was pasted is never "said" by the user (X12, L4): `text/speakers.py` knows.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from memdir.model.builtin.extract.talk import Kind, Role, TalkLine
from memdir.text.speakers import Speaker, own_words, pieces_of


def lines_from_messages(messages: Iterable[Mapping[str, Any]]) -> tuple[TalkLine, ...]:
    """The lines of a conversation; ids are `<message id or number>.<block number>`, stable for the same messages."""
    lines: list[TalkLine] = []
    for number, message in enumerate(messages):
        name = str(message.get("id") or message.get("uuid") or number)
        role: Role = "assistant" if message.get("role") == "assistant" else "user"
        meta = bool(message.get("isMeta") or message.get("isCompactSummary"))
        for block_number, (kind, text) in enumerate(_pieces(message.get("content"), role, meta=meta)):
            lines.append(TalkLine(f"{name}.{block_number}", role, text, kind))
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
    if meta:
        yield "reminder", text
        return
    for piece in pieces_of(text):
        if piece.speaker is Speaker.PASTE or piece.speaker.is_host:
            yield "paste" if piece.speaker is Speaker.PASTE else "reminder", piece.text
    own = own_words(text)
    if own:
        yield "said", own


def _flat(content: object) -> str:
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        return "\n".join(_flat(part.get("text") if isinstance(part, Mapping) else part) for part in content)
    return "" if content is None else str(content)
