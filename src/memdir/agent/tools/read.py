"""Read a file, whole or in part, with line numbers."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from itertools import islice

from memdir.agent.credentials import refuse_credential
from memdir.agent.tools.tool import Outcome, ToolContext
from memdir.model.model import ToolSpec
from memdir.transcript.message import Json

MAX_LINES = 2000  # of one call, unless the model asks for fewer
MAX_LINE_CHARACTERS = 2000  # minified files have lines of megabytes
_SNIFFED_BYTES = 8192


class ReadTool:
    """Reads text; says what else a file is."""

    spec = ToolSpec(
        "Read",
        "Read a text file. Returns its lines with numbers. Use offset and limit for parts of long files.",
        {
            "type": "object",
            "properties": {
                "file_path": {"type": "string", "description": "The path, absolute or from the working directory"},
                "offset": {"type": "integer", "minimum": 1, "description": "The first line, counted from 1"},
                "limit": {"type": "integer", "minimum": 1, "description": "How many lines"},
            },
            "required": ["file_path"],
            "additionalProperties": False,
        },
    )

    async def run(self, arguments: Mapping[str, Json], context: ToolContext) -> Outcome:
        path = os.path.join(context.cwd, str(arguments["file_path"]))
        refuse_credential(path)
        data = context.files.read(path)
        context.state.saw(os.path.realpath(path), data)
        if b"\0" in data[:_SNIFFED_BYTES]:
            return Outcome(f"{path} is a binary file of {len(data):,} bytes; there is no text to show.")
        if not data:
            return Outcome(f"{path} is empty.")
        return Outcome(_numbered(data, arguments))


def _numbered(data: bytes, arguments: Mapping[str, Json]) -> str:
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
