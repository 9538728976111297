"""Read a file, whole or in part, with line numbers; write a whole file; change a few lines of one (G6)."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import islice

from memdir.agent.file_access import MAX_FILE_BYTES, refuse_credential
from memdir.agent.tools.tool import Outcome, ToolContext, fault_of_arguments, tool_spec
from memdir.errors import MemdirError, MemoryNotFound
from memdir.transcript.message import Json, ToolUse

MAX_LINES = 2000  # of one call, unless the model asks for fewer
MAX_LINE_CHARACTERS = 2000  # minified files have lines of megabytes
_SNIFFED_BYTES = 8192


class ReadTool:
    """Reads text; says what else a file is."""

    spec = tool_spec("Read")

    async def run(self, arguments: Mapping[str, Json], context: ToolContext) -> Outcome:
        path = os.path.join(context.cwd, str(arguments["file_path"]))
        refuse_credential(path)
        data = context.files.read(path)
        context.state.saw(os.path.realpath(path), data)
        if b"\0" in data[:_SNIFFED_BYTES]:
            return Outcome(f"{path} is a binary file of {len(data):,} bytes; there is no text to show.")
        if not data:
            return Outcome(f"{path} is empty.")
        return Outcome(numbered(data, arguments))


def numbered(data: bytes, arguments: Mapping[str, Json]) -> str:
    """The lines asked for. Only they are decoded: a file may be hundreds of megabytes."""
    total = data.count(b"\n") + (not data.endswith(b"\n"))
    first = int(str(arguments.get("offset", 1)))
    wanted = min(MAX_LINES, int(str(arguments.get("limit", MAX_LINES))))
    if first > total:
        return f"The file has only {total} lines."
    shown = list(islice(_lines(data, skip=first - 1), wanted))
    text = "\n".join(f"{first + at:6}\t{_cut(line)}" for at, line in enumerate(shown))
    left = total - (first - 1 + len(shown))
    return f"{text}\n… {left} more lines: read on with offset {first + len(shown)}" if left else text


def _lines(data: bytes, *, skip: int) -> Iterator[str]:
    start = 0
    for _ in range(skip):
        start = data.index(b"\n", start) + 1
    while start < len(data):
        end = data.find(b"\n", start)
        end = len(data) if end < 0 else end
        # A character has at most four bytes: what is cut off here would be cut off below.
        yield data[start : min(end, start + 4 * (MAX_LINE_CHARACTERS + 1))].decode("utf-8", "replace")
        start = end + 1


def _cut(line: str) -> str:
    line = line.rstrip("\r")
    return line if len(line) <= MAX_LINE_CHARACTERS else line[:MAX_LINE_CHARACTERS] + "… [line cut]"


class WriteTool:
    """Creates a file or replaces one that was read before."""

    spec = tool_spec("Write")

    async def run(self, arguments: Mapping[str, Json], context: ToolContext) -> Outcome:
        plan = _write_of(os.path.join(context.cwd, str(arguments["file_path"])), arguments, context)
        if plan.fault:
            return Outcome(plan.fault, is_error=True)
        verb = "Created" if plan.before is None else "Replaced"
        return Outcome(f"{verb} {plan.path}{await _put(context, plan.path, plan.after)}.")


class EditTool:
    """Replaces an exact piece of text that stands in the file just once, or everywhere when asked to."""

    spec = tool_spec("Edit")

    async def run(self, arguments: Mapping[str, Json], context: ToolContext) -> Outcome:
        path = os.path.join(context.cwd, str(arguments["file_path"]))
        current = context.files.read(path)
        change = _Replacing(current, arguments)
        fault = context.state.fault_of_edit(os.path.realpath(path), current) or change.fault
        if fault:
            return Outcome(fault, is_error=True)
        told = await _put(context, path, change.result, is_cut=change.new.strip() in change.old)
        return Outcome(f"Edited {path}{f' in {change.count} places' if change.count > 1 else ''}{told}.")


class _Replacing:
    """What an edit would do to a text."""

    def __init__(self, current: bytes, arguments: Mapping[str, Json]) -> None:
        old, new = as_in_file(current, str(arguments["old_string"]), str(arguments["new_string"]))
        if old not in current:  # with the numbers that Read shows before its lines?
            old, new = (re.sub(rb"(?m)^ *\d+\t", b"", text) for text in (old, new))
        self.old, self.new = old, new
        self.count = current.count(old) if old else 0
        self.fault = _fault_of_change(old, new, self.count, may_be_many=bool(arguments.get("replace_all")))
        if not self.fault and len(current) + self.count * (len(new) - len(old)) > MAX_FILE_BYTES:
            self.fault = f"the file would be larger than {MAX_FILE_BYTES:,} bytes"
        self.result = current if self.fault or not old else current.replace(old, new)


@dataclass(frozen=True)
class PlannedWrite:
    """What a call of Write or Edit would do, for who asks a person first; `fault` says why it would fail."""

    path: str  # the file, absolute
    before: bytes | None = None  # what it holds; None where there is none
    after: bytes = b""  # what it would hold
    fault: str = ""  # why it cannot be done


def change_of(use: ToolUse, context: ToolContext) -> PlannedWrite:
    """What a call of Write or Edit would do to its file as it is now."""
    path = os.path.join(context.cwd, str(use.input.get("file_path", "")))
    fault = use.fault or fault_of_arguments(use.input, tool_spec(use.name).input_schema)
    if fault:
        return PlannedWrite(path, fault=fault)
    try:
        if use.name == "Write":
            return _write_of(path, use.input, context)
        before = context.files.read(path)
    except MemdirError as error:
        return PlannedWrite(path, fault=error.message)
    change = _Replacing(before, use.input)
    fault = context.state.fault_of_edit(os.path.realpath(path), before) or change.fault
    return PlannedWrite(path, before, change.result, fault)


def _write_of(path: str, arguments: Mapping[str, Json], context: ToolContext) -> PlannedWrite:
    after = str(arguments["content"]).encode("utf-8", "replace")
    try:
        before = context.files.read(path)
    except MemoryNotFound:
        return PlannedWrite(path, None, after)
    return PlannedWrite(path, before, after, context.state.fault_of_edit(os.path.realpath(path), before))


async def _put(context: ToolContext, path: str, data: bytes, *, is_cut: bool = False) -> str:
    """Write, remember what stands there now, and say what became of the text on the way."""
    told = await context.files.put(path, data, is_cut=is_cut)
    real = os.path.realpath(path)
    try:
        context.state.saw(real, context.files.read(path))
    except MemoryNotFound:
        context.state.forget(real)  # it was deleted
    return f" ({told})" if told else ""


def as_in_file(current: bytes, old: str, new: str) -> tuple[bytes, bytes]:
    """Both texts with the file's own line endings: what Read shows does not tell them apart."""
    texts = (old.encode("utf-8", "replace"), new.encode("utf-8", "replace"))
    if b"\r\n" not in current or texts[0] in current:
        return texts
    before, after = (text.replace(b"\r\n", b"\n").replace(b"\n", b"\r\n") for text in texts)
    return before, after


def _fault_of_change(old: bytes, new: bytes, count: int, *, may_be_many: bool) -> str:
    if not old:
        return "old_string is empty: use Write for a new file"
    if old == new:
        return "old_string and new_string are the same: there is nothing to change"
    if count == 0:
        return "old_string does not stand in the file: Read it again and copy the text exactly, without line numbers"
    if count > 1 and not may_be_many:
        return f"old_string stands in the file {count} times: give more of the text around it, or set replace_all"
    return ""
