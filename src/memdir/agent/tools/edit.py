"""Change a few lines of a file (G6)."""

from __future__ import annotations

import os
from collections.abc import Mapping

from memdir.agent.tools.tool import Outcome, ToolContext
from memdir.model.model import ToolSpec
from memdir.transcript.message import Json


class EditTool:
    """Replaces an exact piece of text that stands in the file just once, or everywhere when asked to."""

    spec = ToolSpec(
        "Edit",
        "Replace text in a file that was read before. old_string must match exactly, whitespace included, and stand "
        "there only once, unless replace_all is true.",
        {
            "type": "object",
            "properties": {
                "file_path": {"type": "string", "description": "The path, absolute or from the working directory"},
                "old_string": {"type": "string", "description": "The text to replace, without line numbers"},
                "new_string": {"type": "string", "description": "The text to put there"},
                "replace_all": {"type": "boolean", "description": "Replace every occurrence"},
            },
            "required": ["file_path", "old_string", "new_string"],
            "additionalProperties": False,
        },
    )

    async def run(self, arguments: Mapping[str, Json], context: ToolContext) -> Outcome:
        path = os.path.join(context.cwd, str(arguments["file_path"]))
        real = os.path.realpath(path)
        current = context.files.read(path)
        old, new = _as_in_file(current, str(arguments["old_string"]), str(arguments["new_string"]))
        count = current.count(old) if old else 0
        fault = context.state.fault_of_edit(real, current) or _fault_of_change(
            old, new, count, may_be_many=bool(arguments.get("replace_all"))
        )
        if fault:
            return Outcome(fault, is_error=True)
        changed = current.replace(old, new)
        context.files.write(path, changed)
        context.state.saw(real, changed)
        return Outcome(f"Edited {path}{f' in {count} places' if count > 1 else ''}.")


def _as_in_file(current: bytes, old: str, new: str) -> tuple[bytes, bytes]:
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
