"""Sessions of Gemini CLI, `<home>/tmp/<name>/chats/session-….jsonl`, and of Qwen Code, which was made from it and keeps
them where Claude Code does, `<home>/projects/<slug>/chats/<session>.jsonl`. Both have messages in the parts of Gemini's
API."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from memdir.disk.plain_file import read_beginning
from memdir.text.speakers import without_host
from memdir.transcript.message import Block, Message, Role, Text, ToolResult, ToolUse
from memdir.transcript.reader import lines_forwards
from memdir.transcript.record import Record
from memdir.transcript.sources.claude_code import slugs_of
from memdir.transcript.sources.source import (
    LineSource,
    RecordSource,
    SessionRef,
    is_of_project,
    newest_first,
    roots_of,
    session_ref,
    transcripts_in,
)

MAX_PATH_BYTES = 4096  # of the file that names a project's folder
MAX_HEAD_BYTES = 16 << 10  # of the first line, which says whose session it is
_ROLES: Mapping[object, Role] = {"user": "user", "gemini": "assistant", "assistant": "assistant", "tool_result": "user"}
_SAID = ("real_user", "assistant_output", "tool_result", None)  # of Qwen's records; older ones do not tell


@dataclass(frozen=True)
class GeminiSessions(LineSource):
    """The chats below Gemini CLI's home, `~/.gemini`."""

    home: str
    agent = "gemini"

    def sessions(self, project: str) -> Iterator[SessionRef]:
        """Those started in this project's folder, or below the root of its repository."""
        paths = (path for folder in self.folders(project) for path in transcripts_in(os.path.join(folder, "chats")))
        yield from newest_first(session_ref(path, self.agent) for path in paths if _is_main(path))

    def folders(self, project: str) -> list[str]:
        """Where Gemini CLI keeps what belongs to a project."""
        roots, places = roots_of(project), os.path.join(self.home, "tmp")
        found = [os.path.join(places, name) for name in _names_in(places)]
        return [folder for folder in found if is_of_project(_root_of(folder), roots)]

    def placed(self, ref: SessionRef, start: int = 0, end: int | None = None) -> Iterator[tuple[int, Message]]:
        """A record of the model is written again when its tools were called: that one tells the calls only."""
        told: set[str] = set()
        for raw in lines_forwards(ref.path, start, end):
            found = _decoded(raw.data)
            role, blocks = _ROLES.get(found.get("type")), _told(found)
            new = [block for block in blocks if not isinstance(block, Text) or str(found.get("id")) not in told]
            new = [block for block in new if not isinstance(block, ToolUse) or block.id not in told]
            told |= {str(found.get("id")), *(block.id for block in new if isinstance(block, ToolUse))}
            message = _message(found, role, new, f"@{raw.start}") if role is not None else None
            if message is not None:
                yield raw.start, message


@dataclass(frozen=True)
class QwenSessions(RecordSource):
    """The chats below Qwen Code's home, `~/.qwen`."""

    home: str
    agent = "qwen"

    def sessions(self, project: str) -> Iterator[SessionRef]:
        """Those started in this folder or at the root of its repository."""
        folders = (os.path.join(self.home, "projects", slug, "chats") for slug in slugs_of(project))
        yield from newest_first(session_ref(path, self.agent) for folder in folders for path in transcripts_in(folder))

    def said(self, record: Record) -> Message | None:
        raw, role = record.fields.get("message"), _ROLES.get(record.type)
        if role is None or not isinstance(raw, dict) or record.is_sidechain or record.is_meta:
            return None
        if record.fields.get("provenance") not in _SAID:
            return None
        blocks = list(_blocks(raw.get("parts"), is_users=role == "user"))
        return _message(record.fields, role, blocks, record.uuid)


def _message(found: Mapping[str, Any], role: Role, blocks: list[Block], message_id: str) -> Message | None:
    moment = found.get("timestamp")
    stamp = moment if isinstance(moment, str) else ""
    return Message(role, tuple(blocks), message_id, timestamp=stamp) if blocks and message_id else None


def _told(found: Mapping[str, Any]) -> list[Block]:
    """What a record of Gemini CLI tells: words or parts, then the tools that were called."""
    content, calls = found.get("content"), found.get("toolCalls")
    parts = [{"text": content}] if isinstance(content, str) else content
    blocks = list(_blocks(parts, is_users=found.get("type") == "user"))
    return blocks + [_use(call) for call in (calls if isinstance(calls, list) else ()) if isinstance(call, dict)]


def _blocks(parts: object, *, is_users: bool) -> Iterator[Block]:
    """The parts of a message, without thoughts and without what the host put in."""
    for part in parts if isinstance(parts, list) else ():
        if not isinstance(part, dict) or part.get("thought") is True:
            continue
        text, call, answer = part.get("text"), part.get("functionCall"), part.get("functionResponse")
        if isinstance(text, str) and (said := without_host(text) if is_users else text).strip():
            yield Text(said)
        elif isinstance(call, dict):
            yield _use(call)
        elif isinstance(answer, dict):
            yield _answered(answer)


def _use(call: Mapping[str, Any]) -> ToolUse:
    arguments = call.get("args")
    name = str(call.get("name", ""))
    return ToolUse(str(call.get("id", name)), name, arguments if isinstance(arguments, dict) else {})


def _answered(answer: Mapping[str, Any]) -> ToolResult:
    given = answer.get("response")
    told = given if isinstance(given, dict) else {}
    content = told.get("error", told.get("output", given))
    text = content if isinstance(content, str) else json.dumps(content, ensure_ascii=False)
    return ToolResult(str(answer.get("id", answer.get("name", ""))), text, "error" in told)


def _names_in(folder: str) -> list[str]:
    try:
        return sorted(os.listdir(folder))
    except (OSError, ValueError):
        return []


def _root_of(folder: str) -> str:
    """Which project a folder of chats belongs to; the root of the file system when that cannot be read."""
    try:
        found = read_beginning(os.path.join(folder, ".project_root"), max_bytes=MAX_PATH_BYTES, follow=False)
    except (OSError, ValueError):
        return os.sep
    name = os.fsdecode(found).strip("\r\n")
    return name if os.path.isabs(name) and "\0" not in name else os.sep


def _is_main(path: str) -> bool:
    """Whether it is a conversation with a person: sub-agents have chats of their own."""
    try:
        head = read_beginning(path, max_bytes=MAX_HEAD_BYTES)
    except OSError:
        return False
    return bool(_decoded(head.partition(b"\n")[0]).get("kind", "main") == "main")


def _decoded(raw: bytes) -> dict[str, Any]:
    try:
        found = json.loads(raw.strip(b"\0 \t\r\n"))
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}
