"""Find files by name."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping

from memdir.agent.tools.tool import Outcome, ToolContext
from memdir.model.model import ToolSpec
from memdir.transcript.message import Json

MAX_FOUND = 200  # paths in one answer
MAX_LOOKED_AT = 200_000  # files; a search from / must end


class GlobTool:
    """Lists paths that fit a pattern, newest first."""

    spec = ToolSpec(
        "Glob",
        "List files whose path fits a pattern such as **/*.md or src/*.py, newest first.",
        {
            "type": "object",
            "properties": {
                "pattern": {"type": "string", "description": "* within a folder, ** across folders, ? one character"},
                "path": {"type": "string", "description": "The folder to look in; the working directory by default"},
            },
            "required": ["pattern"],
            "additionalProperties": False,
        },
    )

    async def run(self, arguments: Mapping[str, Json], context: ToolContext) -> Outcome:
        folder = os.path.join(context.cwd, str(arguments.get("path", "")))
        if not os.path.isdir(folder):
            return Outcome(f"There is no folder {folder}.", is_error=True)
        fits = glob_pattern(str(arguments["pattern"]).removeprefix(folder).lstrip("/"))
        found = []
        for number, path in enumerate(context.files.walk(folder)):
            if number >= MAX_LOOKED_AT:
                break
            if fits.fullmatch(os.path.relpath(path, folder).replace(os.sep, "/")):
                found.append(path)
        found.sort(key=_newest_first)
        more = f"\n… {len(found) - MAX_FOUND} more" if len(found) > MAX_FOUND else ""
        return Outcome("\n".join(found[:MAX_FOUND]) + more if found else "No file fits.")


def glob_pattern(pattern: str) -> re.Pattern[str]:
    """A glob as a regular expression over paths with /."""
    parts = []
    at = 0
    while at < len(pattern):
        if pattern.startswith("**/", at):
            parts.append("(?:[^/]+/)*")
            at += 3
        elif pattern.startswith("**", at):
            parts.append(".*")
            at += 2
        else:
            parts.append({"*": "[^/]*", "?": "[^/]"}.get(pattern[at], re.escape(pattern[at])))
            at += 1
    return re.compile("".join(parts), re.DOTALL)


def _newest_first(path: str) -> tuple[float, str]:
    try:
        return -os.stat(path).st_mtime, path
    except OSError:
        return float("-inf"), path  # a draft: newer than anything on disk
