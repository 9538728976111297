"""Sessions of Gemini CLI, `<home>/tmp/<name>/chats/session-….jsonl`, and of Qwen Code, which was made from it and keeps
them where Claude Code does, `<home>/projects/<slug>/chats/<session>.jsonl`. Both have messages in the parts of Gemini's
API."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from memdir.disk.plain_file import names_in, read_beginning
from memdir.text.speakers import refers, without_host
from memdir.transcript.message import Block, Message, Role, Text, ToolResult, ToolUse
from memdir.transcript.reader import Reading, read_records
from memdir.transcript.record import Record
from memdir.transcript.sources.source import (
    FileSource,
    SessionRef,
    head_of,
    is_of_project,
    placed_id,
    roots_of,
    said_by_hand,
    slug_transcripts,
    started_in,
    transcripts_in,
)

MAX_PATH_BYTES = 4096  # of the file that names a project's folder
MAX_HEAD_BYTES = 16 << 10  # of the first line, which says whose session it is
_ROLES: Mapping[object, Role] = {"user": "user", "gemini": "assistant", "assistant": "assistant", "tool_result": "user"}
_SAID = ("real_user", "assistant_output", "tool_result", None)  # of Qwen's records; older ones do not tell
_MEANWHILE = "[User message received during tool execution]: "  # Qwen's, before what a person types while it works


@dataclass(frozen=True)
class GeminiSessions(FileSource):
    """The chats below Gemini CLI's home, `~/.gemini`: those started in a project's folder, or below the root of its
    repository. Sub-agents have chats of their own, in which no person talks."""

    agent = "gemini"

    def paths(self, project: str) -> Iterable[str]:
        paths = (path for folder in self.folders(project) for path in transcripts_in(os.path.join(folder, "chats")))
        return (path for path in paths if head_of(path, MAX_HEAD_BYTES).get("kind", "main") == "main")

    def folders(self, project: str) -> list[str]:
        """Where Gemini CLI keeps what belongs to a project."""
        roots, places = roots_of(project), os.path.join(self.home, "tmp")
        found = [os.path.join(places, name) for name in names_in(places)]
        return [folder for folder in found if is_of_project(_root_of(folder), roots)]

    def placed(self, ref: SessionRef, start: int = 0, end: int | None = None) -> Iterator[tuple[int, Message]]:
        folder = os.path.dirname(os.path.dirname(ref.path))
        return said_by_hand(self._placed(ref, start, end), self.agent, _root_of(folder), self.home)

    def _placed(self, ref: SessionRef, start: int, end: int | None) -> Iterator[tuple[int, Message]]:
        """A record of the model is written again when its tools were called: that one tells the calls only."""
        told: set[str] = set()
        reading = Reading(start)
        for record in read_records(ref.path, reading, end=end):
            record_id = str(record.fields.get("id"))
            blocks = _told(record)
            new = [block for block in blocks if not isinstance(block, Text) or record_id not in told]
            new = [block for block in new if not isinstance(block, ToolUse) or block.id not in told]
            told |= {record_id, *(block.id for block in new if isinstance(block, ToolUse))}
            message = _message(record, new, placed_id(reading.place))
            if message is not None:
                yield reading.place, message


@dataclass(frozen=True)
class QwenSessions(FileSource):
    """The chats below Qwen Code's home, `~/.qwen`: those started in a project's folder, or below the root of its
    repository. What it is told by its user lies in its `settings`, where that is another folder."""

    agent = "qwen"
    settings: str = ""

    def paths(self, project: str) -> Iterable[str]:
        return slug_transcripts(self.home, project, "chats")

    def placed(self, ref: SessionRef, start: int = 0, end: int | None = None) -> Iterator[tuple[int, Message]]:
        return said_by_hand(
            super().placed(ref, start, end), self.agent, started_in(ref.path), self.settings or self.home
        )

    def said(self, record: Record, place: int) -> Message | None:  # noqa: ARG002 - records have ids
        raw = record.fields.get("message")
        if not isinstance(raw, dict) or record.is_sidechain or record.is_meta:
            return None
        if record.fields.get("provenance") not in _SAID:
            return None
        return _message(record, list(_blocks(raw.get("parts"), record.type)), record.uuid)


def _message(record: Record, blocks: list[Block], message_id: str) -> Message | None:
    role = _ROLES.get(record.type)
    if role is None or not blocks or not message_id:
        return None
    return Message(role, tuple(blocks), message_id, timestamp=record.timestamp)


def _told(record: Record) -> list[Block]:
    """What a record of Gemini CLI tells: words or parts, where it says so as they were typed, then the tools that were
    called."""
    content, calls = record.fields.get("displayContent") or record.fields.get("content"), record.fields.get("toolCalls")
    parts = [{"text": content}] if isinstance(content, str) else content
    found = list(_blocks(parts, record.type))
    return found + [_use(call) for call in (calls if isinstance(calls, list) else ()) if isinstance(call, dict)]


def _blocks(parts: object, kind: str) -> Iterator[Block]:
    """The parts of a message, without thoughts and, of the user's, without what the host put in."""
    for part in parts if isinstance(parts, list) else ():
        if not isinstance(part, dict) or part.get("thought") is True:
            continue
        is_last = False
        text, call, answer = part.get("text"), part.get("functionCall"), part.get("functionResponse")
        if isinstance(text, str) and _ROLES.get(kind) == "user":
            is_last = refers(text)  # all parts behind are what the user referred to
            text = without_host(text).removeprefix(_MEANWHILE)
        if isinstance(text, str) and text.strip():
            yield Text(text)
        elif isinstance(call, dict):
            yield _use(call)
        elif isinstance(answer, dict):
            yield _answered(answer)
        if is_last:
            return


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


def _root_of(folder: str) -> str:
    """Which project a folder of chats belongs to; the root of the file system when that cannot be read."""
    try:
        found = read_beginning(os.path.join(folder, ".project_root"), max_bytes=MAX_PATH_BYTES, follow=False)
    except (OSError, ValueError):
        return os.sep
    name = os.fsdecode(found).strip("\r\n")
    return name if os.path.isabs(name) and "\0" not in name else os.sep
