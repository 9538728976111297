"""The built-in model's answer to the dream job: plan the night, read what it will change, write it by the usual tools.

Stateless and deterministic: the plan is made anew in each turn from the files, which do not change before the run ends.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from datetime import UTC, datetime

from memdir.model.builtin.dream import Edit, Line, Night, NightFile, Plan, SessionText, plan_night
from memdir.model.model import Reply, Request
from memdir.transcript.message import Message, Text, ToolResult, ToolUse
from memdir.transcript.reader import read_records
from memdir.transcript.record import Record

MAX_SESSION_BYTES = 32 << 20  # of one transcript; a larger one is left to a model that can search it
MAX_FILE_BYTES = 1 << 20  # what is larger is no memory and stays as it is

_JOB = "[memdir job: dream]"
_PLACE = re.compile(r"The memory directory is `([^`\n]+)`")
_SESSIONS = re.compile(r"JSONL files in `([^`\n]+)`")
_LISTED = re.compile(r"^- ([\w.-]+)$", re.MULTILINE)
_NOW = re.compile(r"^Now it is \w+, (\S+?)\.?$", re.MULTILINE)


def answer_dream(request: Request) -> Reply:
    """Read what will change, write it, say what was done and what was left alone."""
    at = max(n for n, message in enumerate(request.messages) if message.is_meta and message.text.startswith(_JOB))
    done = [use.name for message in request.messages[at + 1 :] for use in message.tool_uses]
    directory, night = _read_night(request.messages[at].text)
    plan = plan_night(night)
    if "Write" in done or not plan.edits:
        return _says(_told(plan, len(plan.edits) if "Write" in done else 0))
    if not done:
        reads = _reads(directory, plan)
        if reads:
            return Reply(Message("assistant", reads), "tool_use", model="builtin")
    return Reply(Message("assistant", tuple(_writes(directory, plan))), "tool_use", model="builtin")


def _read_night(text: str) -> tuple[str, Night]:
    place, sessions, moment = _PLACE.search(text), _SESSIONS.search(text), _NOW.search(text)
    directory = place[1] if place else ""
    folder = sessions[1] if sessions else ""
    listed = _LISTED.findall(text.rpartition("Sessions since the last consolidation:")[2])
    now = datetime.fromisoformat(moment[1]) if moment else datetime.now(UTC)
    texts = tuple(session for name in listed if (session := _session(folder, name)) is not None)
    return directory, Night(tuple(_files(directory)), texts, now)


def _files(directory: str) -> Iterator[NightFile]:
    """Every Markdown file below the directory, daily logs and indexes too."""
    for folder, folders, names in os.walk(directory):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for name in sorted(names):
            path = os.path.join(folder, name)
            if not name.endswith(".md") or name.startswith(".") or os.path.islink(path):
                continue
            status = os.stat(path)
            if status.st_size <= MAX_FILE_BYTES:
                with open(path, "rb") as file:
                    key = os.path.relpath(path, directory).replace(os.sep, "/")
                    yield NightFile(key, file.read(), status.st_mtime)


def _session(folder: str, name: str) -> SessionText | None:
    path = os.path.join(folder, f"{name}.jsonl")
    try:
        status = os.stat(path)
    except OSError:
        return None
    if status.st_size > MAX_SESSION_BYTES:
        return None
    lines = tuple(line for record in read_records(path) for line in _lines(record))
    return SessionText(name, status.st_mtime, lines)


def _lines(record: Record) -> Iterator[Line]:
    message = record.message
    if message is None:
        return
    is_hidden = record.is_meta or record.is_sidechain or record.fields.get("isCompactSummary") is True
    moment = _seconds(record.timestamp)
    for block in message.content:
        match block:
            case Text(text):
                yield Line(message.role, "meta" if is_hidden else "said", text, record.uuid, moment)
            case ToolResult(_, content):
                yield Line(message.role, "meta" if is_hidden else "tool_result", content, record.uuid, moment)
            case _:
                continue


def _seconds(stamp: str) -> float:
    try:
        return datetime.fromisoformat(stamp).timestamp()
    except ValueError:
        return 0.0


def _reads(directory: str, plan: Plan) -> tuple[ToolUse, ...]:
    paths = [os.path.join(directory, edit.key) for edit in plan.edits]
    there = [path for path in paths if os.path.isfile(path)]
    return tuple(ToolUse(f"read_{number}", "Read", {"file_path": path}) for number, path in enumerate(there))


def _writes(directory: str, plan: Plan) -> Iterator[ToolUse]:
    for number, edit in enumerate(plan.edits):
        arguments = {"file_path": os.path.join(directory, edit.key), "content": _content(edit)}
        yield ToolUse(f"write_{number}", "Write", arguments)


def _content(edit: Edit) -> str:
    if edit.data is not None:
        return edit.data.decode("utf-8", "replace")
    sources = f"; source: {', '.join(edit.sources)}" if edit.sources else ""
    return f"<!-- delete: {edit.reason.replace('--', '—')}{sources} -->\n"


def _told(plan: Plan, count: int) -> str:
    lines = [f"{count} files changed." if count else "Nothing to mend."]
    lines += [f"{edit.key}: {edit.reason}" for edit in plan.edits] if count else []
    lines += [f"Left alone: {', '.join(doubt.keys)}: {doubt.what}" for doubt in plan.left_alone]
    return "\n".join(lines)


def _says(text: str) -> Reply:
    return Reply(Message("assistant", (Text(text),)), "end_turn", model="builtin")
