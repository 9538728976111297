"""Find files by name."""

from __future__ import annotations

import asyncio
import os
import re
from collections.abc import Mapping

from memdir.agent.files import Files
from memdir.agent.tools.tool import Outcome, ToolContext
from memdir.errors import BadMemoryFile
from memdir.model.model import ToolSpec
from memdir.transcript.message import Json

MAX_FOUND = 200  # paths in one answer
MAX_LOOKED_AT = 200_000  # files; a search from / must end
MAX_CHOICES = 64  # patterns that braces may multiply to
_FILES_AT_ONCE = 500  # between two looks at whether the search was cancelled
_BRACES = re.compile(r"\{([^{}]*,[^{}]*)\}")
_TOKEN = re.compile(r"\*\*/|\*\*|\*|\?|\[(?P<not>[!^]?)(?P<set>\]?[^\]/]*)\]|.", re.DOTALL)


class GlobTool:
    """Lists paths that fit a pattern, newest first."""

    spec = ToolSpec(
        "Glob",
        "List files whose path fits a pattern such as **/*.md or src/*.{js,ts}, newest first.",
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
        folder, pattern = _split(folder, str(arguments["pattern"]))
        found, is_whole = await find_files(context.files, folder, glob_pattern(pattern))
        if not found and not os.path.isdir(folder):
            return Outcome(f"There is no folder {folder}.", is_error=True)
        found.sort(key=_newest_first)
        lines = found[:MAX_FOUND] or ["No file fits."]
        if len(found) > MAX_FOUND:
            lines.append(f"… {len(found) - MAX_FOUND} more")
        if not is_whole:
            lines.append(f"… only {MAX_LOOKED_AT:,} files were looked at: name a smaller folder")
        return Outcome("\n".join(lines))


async def find_files(files: Files, folder: str, fits: re.Pattern[str] | None) -> tuple[list[str], bool]:
    """The files below a folder that fit, in walking order, and whether all were looked at. May be cancelled."""
    found: list[str] = []
    for number, path in enumerate(files.walk(folder)):
        if number >= MAX_LOOKED_AT:
            return found, False
        if number % _FILES_AT_ONCE == 0:
            await asyncio.sleep(0)
        if fits is None or fits.fullmatch(os.path.relpath(path, folder).replace(os.sep, "/")):
            found.append(path)
    return found, True


def _split(folder: str, pattern: str) -> tuple[str, str]:
    """An absolute pattern names its own folder: the part before the first wildcard."""
    if not pattern.startswith("/"):
        return folder, pattern
    parts = pattern.split("/")
    fixed = next((at for at, part in enumerate(parts[:-1]) if re.search(r"[*?\[{]", part)), len(parts) - 1)
    return "/".join(parts[:fixed]) or "/", "/".join(parts[fixed:])


def glob_pattern(pattern: str) -> re.Pattern[str]:
    """A glob as a regular expression over paths with /."""
    choices = [pattern.removeprefix("./")]
    while len(choices) <= MAX_CHOICES and any(_BRACES.search(choice) for choice in choices):
        choices = [one for choice in choices for one in _without_braces(choice)]
    if len(choices) > MAX_CHOICES:
        raise BadMemoryFile(f"the pattern has more than {MAX_CHOICES} choices in braces", remedy="Use fewer")
    return re.compile("|".join(f"(?:{_translated(choice)})" for choice in choices), re.DOTALL)


def _without_braces(pattern: str) -> list[str]:
    match = _BRACES.search(pattern)
    if not match:
        return [pattern]
    return [pattern[: match.start()] + word + pattern[match.end() :] for word in match[1].split(",")]


def _translated(pattern: str) -> str:
    plain = {"**/": "(?:[^/]+/)*", "**": ".*", "*": "[^/]*", "?": "[^/]"}
    parts = []
    for match in _TOKEN.finditer(pattern):
        if match["set"]:
            members = re.sub(r"([\\\[\]^])", r"\\\1", match["set"]).replace("--", r"\--").replace("&&", r"\&&")
            parts.append(f"[{'^/' if match['not'] else ''}{members}]")
        else:
            parts.append(plain.get(match[0], re.escape(match[0])))
    return "".join(parts)


def _newest_first(path: str) -> tuple[float, str]:
    try:
        return -os.stat(path).st_mtime, path
    except OSError:
        return float("-inf"), path  # a draft: newer than anything on disk
