"""Sessions of Codex: `<home>/sessions/YYYY/MM/DD/rollout-….jsonl`, one item of the Responses API a line."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from memdir.disk.plain_json import decode
from memdir.text.speakers import is_host
from memdir.transcript.message import Block, Json, Message, Role, Text, ToolResult, ToolUse
from memdir.transcript.record import Record
from memdir.transcript.sources.source import FileSource, head_of, is_of_project, placed_id, roots_of

MAX_HEAD_BYTES = 1 << 20  # the first line holds the whole of the base instructions


@dataclass(frozen=True)
class CodexSessions(FileSource):
    """The rollouts below Codex's home, `~/.codex`: those started in a project's folder, or below the root of its
    repository."""

    agent = "codex"

    def paths(self, project: str) -> Iterable[str]:
        roots = roots_of(project)
        for current, _, names in os.walk(os.path.join(self.home, "sessions")):
            found = (name for name in names if name.startswith("rollout-") and name.endswith(".jsonl"))
            paths = (os.path.join(current, name) for name in found)
            yield from (path for path in paths if is_of_project(_folder_of(path), roots))

    def said(self, record: Record, place: int) -> Message | None:
        payload = record.fields.get("payload") if record.type == "response_item" else None
        if not isinstance(payload, dict) or not (blocks := _blocks(payload)):
            return None
        is_user = payload.get("role") == "user" or isinstance(blocks[0], ToolResult)
        role: Role = "user" if is_user else "assistant"
        return Message(role, blocks, placed_id(place), timestamp=record.timestamp)


def _folder_of(path: str) -> str:
    """Where a session was started; the root of the file system when its first line cannot be read, and for that of a
    sub-agent, in which no person talks (L4)."""
    meta = head_of(path, MAX_HEAD_BYTES)
    payload = meta.get("payload") if meta.get("type") == "session_meta" else None
    told = payload if isinstance(payload, dict) else {}
    source, folder = told.get("source"), told.get("cwd")
    is_subagent = told.get("thread_source") == "subagent" or (isinstance(source, dict) and "subagent" in source)
    return folder if isinstance(folder, str) and not is_subagent else os.sep


def _blocks(payload: Mapping[str, Any]) -> tuple[Block, ...]:
    match payload.get("type"):
        case "message" if payload.get("role") in ("user", "assistant"):
            is_own = payload["role"] == "assistant"
            return tuple(Text(text) for text in _texts(payload) if is_own or not is_host(text))
        case "function_call" | "custom_tool_call" | "local_shell_call" | "web_search_call":
            return (_call(payload),)
        case "function_call_output" | "custom_tool_call_output":
            return (ToolResult(str(payload.get("call_id")), _output(payload.get("output"))),)
        case _:
            return ()


def _texts(payload: Mapping[str, Any]) -> Iterator[str]:
    """The texts of a message, those of a user's left out that Codex says came from elsewhere: it tells of each part
    whether the user, a tool, a sub-agent or a hook put it there."""
    content = payload.get("content")
    for at, part in enumerate(content if isinstance(content, list) else ()):
        if isinstance(part, dict) and isinstance(part.get("text"), str) and _is_said(payload, at):
            yield part["text"]


def _is_said(payload: Mapping[str, Any], at: int) -> bool:
    told = payload.get("internal_chat_message_metadata_passthrough")
    parts = told.get("content_item_metadata") if isinstance(told, dict) else None
    part = parts[at] if isinstance(parts, list) and at < len(parts) else None
    origin = part.get("provenance") if isinstance(part, dict) else None
    kind = origin.get("type") if isinstance(origin, dict) else None
    return payload.get("role") != "user" or kind in (None, "user")


def _call(payload: Mapping[str, Any]) -> ToolUse:
    given = payload.get("arguments", payload.get("input", payload.get("action")))
    found = decode(given.encode("utf-8", "replace")) if isinstance(given, str) else given
    otherwise: dict[str, Json] = {"input": given} if isinstance(given, str) else {}
    arguments = found if isinstance(found, dict) else otherwise
    name = payload.get("name") or str(payload.get("type")).removesuffix("_call")
    return ToolUse(str(payload.get("call_id", payload.get("id"))), str(name), arguments)


def _output(output: object) -> str:
    if isinstance(output, str):
        return output
    if isinstance(output, dict) and isinstance(output.get("content"), str):
        return str(output["content"])
    return json.dumps(output, ensure_ascii=False)
