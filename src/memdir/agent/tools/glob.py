"""Find files by name."""

from __future__ import annotations

import asyncio
import os
import re
import time
from collections.abc import Callable, Mapping
from fnmatch import translate

from memdir.agent.file_access import Files
from memdir.agent.tools.tool import Outcome, ToolContext, tool_spec
from memdir.errors import BadMemoryFile
from memdir.transcript.message import Json

MAX_FOUND = 200  # paths in one answer
MAX_LOOKED_AT = 200_000  # files; a search from / must end
MAX_SECONDS = 20.0  # of looking for files
MAX_PATTERN_CHARACTERS = 1000
MAX_CHOICES = 64  # patterns that braces may multiply to
_SECONDS_AT_ONCE = 0.02  # before the host's other work has its turn, and a look at whether the search was cancelled
_BRACES = re.compile(r"\{([^{}]*,[^{}]*)\}")
_NO_CHARACTER = "(?!)"  # what `translate` makes of a set without members
_ANY, _NOTHING = re.compile(".*", re.DOTALL), re.compile(_NO_CHARACTER)


class GlobTool:
    """Lists paths that fit a pattern, newest first."""

    spec = tool_spec("Glob")

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
            lines.append("… there are too many files to look at all of them: name a smaller folder")
        return Outcome("\n".join(lines))


async def find_files(files: Files, folder: str, fits: Callable[[str], bool] | None) -> tuple[list[str], bool]:
    """The files below a folder that fit, in walking order, and whether all were looked at. May be cancelled."""
    found: list[str] = []
    started = rested = time.monotonic()
    for number, path in enumerate(files.walk(folder)):
        now = time.monotonic()
        if number >= MAX_LOOKED_AT or now - started > MAX_SECONDS:
            return found, False
        if now - rested > _SECONDS_AT_ONCE:
            await asyncio.sleep(0)
            rested = time.monotonic()
        if fits is None or fits(os.path.relpath(path, folder).replace(os.sep, "/")):
            found.append(path)
    return found, True


def _split(folder: str, pattern: str) -> tuple[str, str]:
    """An absolute pattern names its own folder: the part before the first wildcard."""
    if not pattern.startswith("/"):
        return folder, pattern
    parts = pattern.split("/")
    fixed = next((at for at, part in enumerate(parts[:-1]) if re.search(r"[*?\[{]", part)), len(parts) - 1)
    return "/".join(parts[:fixed]) or "/", "/".join(parts[fixed:])


def glob_pattern(pattern: str) -> Callable[[str], bool]:
    """What tells whether a path with / fits; no pattern makes that take long (S15)."""
    if len(pattern) > MAX_PATTERN_CHARACTERS:
        raise BadMemoryFile(
            f"the pattern has more than {MAX_PATTERN_CHARACTERS:,} characters", remedy="Use a shorter one"
        )
    choices = [pattern.removeprefix("./")]
    while len(choices) <= MAX_CHOICES and any(_BRACES.search(choice) for choice in choices):
        choices = [one for choice in choices for one in _without_braces(choice)]
    if len(choices) > MAX_CHOICES:
        raise BadMemoryFile(f"the pattern has more than {MAX_CHOICES} choices in braces", remedy="Use fewer")
    patterns = [_compiled(choice) for choice in choices]
    return lambda path: any(_fits(parts, path.split("/")) for parts in patterns)


def _without_braces(pattern: str) -> list[str]:
    match = _BRACES.search(pattern)
    if not match:
        return [pattern]
    return [pattern[: match.start()] + word + pattern[match.end() :] for word in match[1].split(",")]


def _compiled(pattern: str) -> list[re.Pattern[str] | None]:
    """A pattern for each name of a path, None for any folders."""
    parts: list[re.Pattern[str] | None] = []
    for name in pattern.split("/"):
        if name.startswith("**"):
            parts.append(None)
        if name.strip("*") or not name.startswith("**"):  # `**.md` means `**/*.md`
            expression = translate(name.replace("[^", "[!"))
            if _NO_CHARACTER in expression:
                raise BadMemoryFile(f"the pattern cannot be read: {name}", remedy="Look at its brackets")
            parts.append(re.compile(expression))
    return parts if parts[-1] else [*parts, _ANY]


def _fits(parts: list[re.Pattern[str] | None], names: list[str]) -> bool:
    """Goes back to the last `**` only: what fits after an earlier one fits after that, too."""
    part = name = start = 0
    folders = -1  # the place of that `**`; the names up to `start` are its folders
    while name < len(names):
        expected = parts[part] if part < len(parts) else _NOTHING
        if expected is None:
            folders, start, part = part, name, part + 1
        elif expected.match(names[name]):
            part, name = part + 1, name + 1
        elif folders < 0:
            return False
        else:
            start += 1
            part, name = folders + 1, start
    return part == len(parts)


def _newest_first(path: str) -> tuple[float, str]:
    try:
        return -os.stat(path).st_mtime, path
    except OSError:
        return float("-inf"), path  # a draft: newer than anything on disk
