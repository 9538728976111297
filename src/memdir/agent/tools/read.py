"""Read a file, whole or in part, with line numbers."""

from __future__ import annotations

import os
from collections.abc import Mapping

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
        data = context.files.read(path)
        context.state.saw(os.path.realpath(path), data)
        if b"\0" in data[:_SNIFFED_BYTES]:
            return Outcome(f"{path} is a binary file of {len(data):,} bytes; there is no text to show.")
        if not data:
            return Outcome(f"{path} is empty.")
        return Outcome(_numbered(data, arguments))


def _numbered(data: bytes, arguments: Mapping[str, Json]) -> str:
    lines = data.decode("utf-8", "replace").split("\n")
    if lines[-1] == "":
        lines.pop()
    first = max(1, int(str(arguments.get("offset", 1))))
    wanted = min(MAX_LINES, int(str(arguments.get("limit", MAX_LINES))))
    if first > len(lines):
        return f"The file has only {len(lines)} lines."
    shown = lines[first - 1 : first - 1 + wanted]
    text = "\n".join(f"{first + at:6}\t{_cut(line)}" for at, line in enumerate(shown))
    left = len(lines) - (first - 1 + len(shown))
    return f"{text}\n… {left} more lines: read on with offset {first + len(shown)}" if left else text


def _cut(line: str) -> str:
    line = line.rstrip("\r")
    return line if len(line) <= MAX_LINE_CHARACTERS else line[:MAX_LINE_CHARACTERS] + "… [line cut]"
