"""The built-in model's answer to the dream job: plan the night, read what it will change, write it by the usual tools.

A night is planned once for a job. Before writing, what it read is compared with what the files hold now: if
somebody changed one of them meanwhile, the night is planned anew.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime

from memdir.disk.plain_file import read_plain
from memdir.disk.safe_path import INDEX_NAME
from memdir.model.builtin.dream import Edit, Night, NightFile, Plan, SessionLine, SessionText, plan_night
from memdir.model.model import Reply, Request
from memdir.store.scan import MAX_FILE_BYTES, MAX_MEMORY_BYTES
from memdir.transcript.message import Message, Text, ToolResult, ToolUse
from memdir.transcript.reader import read_records
from memdir.transcript.record import Record

MAX_SESSION_BYTES = 32 << 20  # of one transcript; a larger one is left to a model that can search it

_JOB = "[memdir job: dream]"
_PLACE = re.compile(r"The memory directory is `([^`\n]+)`")
_SESSIONS = re.compile(r"JSONL files in `([^`\n]+)`")
_LISTED = re.compile(r"^- ([\w.-]+)$", re.MULTILINE)
_NOW = re.compile(r"^Now it is \w+, (\S+?)\.?$", re.MULTILINE)


@dataclass
class DreamJob:
    """Answers the turns of a dream; keeps the plan of the last job from one turn to the next."""

    _job: str = ""
    _planned: Planned | None = None

    def answer(self, request: Request) -> Reply:
        """Read what will change, write it, say what was done and what was left alone."""
        at = max(n for n, message in enumerate(request.messages) if message.is_meta and message.text.startswith(_JOB))
        done = [use.name for message in request.messages[at + 1 :] for use in message.tool_uses]
        planned = self._plan(request.messages[at].text, is_fresh=not done)
        edits = planned.plan.edits
        if "Write" in done or not edits:
            return _says(_told(planned.plan, is_written="Write" in done))
        reads = () if done else planned.reads()
        return Reply(Message("assistant", reads or planned.writes()), "tool_use", model="builtin")

    def _plan(self, job: str, *, is_fresh: bool) -> Planned:
        if is_fresh or self._planned is None or job != self._job or not self._planned.still_holds():
            self._job, self._planned = job, plan_job(job)
        return self._planned


@dataclass(frozen=True)
class Planned:
    """A plan, and the files it was made from."""

    directory: str
    files: Mapping[str, bytes]
    plan: Plan

    def still_holds(self) -> bool:
        """Whether the files that it changes are what they were."""
        return all(_bytes_of(self._path(edit)) == self.files.get(edit.key) for edit in self.plan.edits)

    def reads(self) -> tuple[ToolUse, ...]:
        there = [self._path(edit) for edit in self.plan.edits if edit.key in self.files]
        return tuple(ToolUse(f"read_{number}", "Read", {"file_path": path}) for number, path in enumerate(there))

    def writes(self) -> tuple[ToolUse, ...]:
        calls = [{"file_path": self._path(edit), "content": _content(edit)} for edit in self.plan.edits]
        return tuple(ToolUse(f"write_{number}", "Write", arguments) for number, arguments in enumerate(calls))

    def _path(self, edit: Edit) -> str:
        return os.path.join(self.directory, edit.key)


def plan_job(text: str) -> Planned:
    """Plan the night that a job's message describes."""
    place, sessions, moment = _PLACE.search(text), _SESSIONS.search(text), _NOW.search(text)
    directory = place[1] if place else ""
    folder = sessions[1] if sessions else ""
    listed = _LISTED.findall(text.rpartition("Sessions since the last consolidation:")[2])
    now = datetime.fromisoformat(moment[1]) if moment else datetime.now(UTC)
    texts = tuple(session for name in listed if (session := _session(folder, name)) is not None)
    files = tuple(_files(directory))
    return Planned(directory, {file.key: file.data for file in files}, plan_night(Night(files, texts, now)))


def _bytes_of(path: str) -> bytes | None:
    try:
        return read_plain(path, max_bytes=MAX_FILE_BYTES)
    except OSError:
        return None


def _files(directory: str, prefix: str = "") -> Iterator[NightFile]:
    """Every Markdown file below the directory, daily logs and indexes too."""
    with os.scandir(os.path.join(directory, prefix)) as entries:
        found = sorted(entries, key=lambda entry: entry.name)
    for entry in found:
        if entry.name.startswith(".") or entry.is_symlink():
            continue
        if entry.is_dir():
            yield from _files(directory, f"{prefix}{entry.name}/")
        elif entry.name.endswith(".md") and entry.is_file():
            status = entry.stat()
            is_small = status.st_size <= (MAX_FILE_BYTES if entry.name == INDEX_NAME else MAX_MEMORY_BYTES)
            data = _bytes_of(entry.path) if is_small else None
            if data is not None:
                yield NightFile(prefix + entry.name, data, status.st_mtime)


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


def _lines(record: Record) -> Iterator[SessionLine]:
    message = record.message
    if message is None:
        return
    is_hidden = record.is_meta or record.is_sidechain or record.fields.get("isCompactSummary") is True
    moment = _seconds(record.timestamp)
    for block in message.content:
        match block:
            case Text(text):
                yield SessionLine(message.role, "meta" if is_hidden else "said", text, record.uuid, moment)
            case ToolResult(_, content):
                yield SessionLine(message.role, "meta" if is_hidden else "tool_result", content, record.uuid, moment)
            case _:
                continue


def _seconds(stamp: str) -> float:
    try:
        return datetime.fromisoformat(stamp).timestamp()
    except ValueError:
        return 0.0


def _content(edit: Edit) -> str:
    if edit.data is not None:
        return edit.data.decode("utf-8", "replace")
    sources = f"; source: {', '.join(edit.sources)}" if edit.sources else ""
    return f"<!-- delete: {edit.reason.replace('--', '—')}{sources} -->\n"


def _told(plan: Plan, *, is_written: bool) -> str:
    reasons = (edit.reason if edit.key in edit.reason else f"{edit.key}: {edit.reason}" for edit in plan.edits)
    lines = list(dict.fromkeys(reasons)) if is_written else ["Nothing to mend."]
    lines += [f"Left alone: {', '.join(doubt.keys)}: {doubt.what}" for doubt in plan.left_alone]
    return "\n".join(lines)


def _says(text: str) -> Reply:
    return Reply(Message("assistant", (Text(text),)), "end_turn", model="builtin")
