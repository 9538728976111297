"""Write a whole file."""

from __future__ import annotations

import os
from collections.abc import Mapping

from memdir.agent.tools.tool import Outcome, ToolContext
from memdir.errors import MemoryNotFound
from memdir.model.model import ToolSpec
from memdir.transcript.message import Json


class WriteTool:
    """Creates a file or replaces one that was read before."""

    spec = ToolSpec(
        "Write",
        "Write a file, whole. A file that exists must have been read before; for a change of a few lines use Edit.",
        {
            "type": "object",
            "properties": {
                "file_path": {"type": "string", "description": "The path, absolute or from the working directory"},
                "content": {"type": "string", "description": "The whole new text"},
            },
            "required": ["file_path", "content"],
            "additionalProperties": False,
        },
    )

    async def run(self, arguments: Mapping[str, Json], context: ToolContext) -> Outcome:
        path = os.path.join(context.cwd, str(arguments["file_path"]))
        real = os.path.realpath(path)
        try:
            current = context.files.read(path)
        except MemoryNotFound:
            verb = "Created"
        else:
            fault = context.state.fault_of_edit(real, current)
            if fault:
                return Outcome(fault, is_error=True)
            verb = "Replaced"
        data = str(arguments["content"]).encode("utf-8", "replace")
        context.files.write(path, data)
        context.state.saw(real, data)
        return Outcome(f"{verb} {path}.")
