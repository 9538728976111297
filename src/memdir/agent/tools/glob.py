"""Find files by name."""

from __future__ import annotations

import asyncio
import os
import re
import time
from collections.abc import Mapping

from memdir.agent.file_access import Files
from memdir.agent.tools.tool import Outcome, ToolContext
from memdir.errors import BadMemoryFile
from memdir.model.model import ToolSpec
from memdir.transcript.message import Json

MAX_FOUND = 200  # paths in one answer
MAX_LOOKED_AT = 200_000  # files; a search from / must end
MAX_SECONDS = 20.0  # of looking for files
MAX_PATTERN_CHARACTERS = 1000
MAX_CHOICES = 64  # patterns that braces may multiply to
_SECONDS_AT_ONCE = 0.02  # before the host's other work has its turn, and a look at whether the search was cancelled
_BRACES = re.compile(r"\{([^{}]*,[^{}]*)\}")
_TOKEN = re.compile(r"\*+|\?|\[(?P<not>[!^]?)(?P<set>\]?[^\]]*)\]|.", re.DOTALL)
_FOLDERS = "(?:[^/]++/)*"


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
            lines.append("… there are too many files to look at all of them: name a smaller folder")
        return Outcome("\n".join(lines))


async def find_files(files: Files, folder: str, fits: re.Pattern[str] | None) -> tuple[list[str], bool]:
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
    """A glob as a regular expression over paths with /, which never goes back over what it has matched (S15)."""
    if len(pattern) > MAX_PATTERN_CHARACTERS:
        raise BadMemoryFile(
            f"the pattern has more than {MAX_PATTERN_CHARACTERS:,} characters", remedy="Use a shorter one"
        )
    choices = [pattern.removeprefix("./")]
    while len(choices) <= MAX_CHOICES and any(_BRACES.search(choice) for choice in choices):
        choices = [one for choice in choices for one in _without_braces(choice)]
    if len(choices) > MAX_CHOICES:
        raise BadMemoryFile(f"the pattern has more than {MAX_CHOICES} choices in braces", remedy="Use fewer")
    try:
        return re.compile("|".join(f"(?:{_translated(choice)})" for choice in choices), re.DOTALL)
    except re.error as error:
        raise BadMemoryFile(f"the pattern cannot be read: {error.msg}", remedy="Look at its brackets") from error


def _without_braces(pattern: str) -> list[str]:
    match = _BRACES.search(pattern)
    if not match:
        return [pattern]
    return [pattern[: match.start()] + word + pattern[match.end() :] for word in match[1].split(",")]


def _translated(pattern: str) -> str:
    """The names between two `**` are looked for together, at the first place where they fit: if the rest does not fit
    after that place, it does not after a later one."""
    first, *later = _between_double_stars(pattern.split("/"))
    if not later:
        return _in_a_row(first, is_end=True)
    inner = "".join(f"(?>{_FOLDERS}?{_in_a_row(names)})" for names in later[:-1] if names)
    return _in_a_row(first) + inner + (_FOLDERS + _in_a_row(later[-1], is_end=True) if later[-1] else ".*")


def _between_double_stars(names: list[str]) -> list[list[str]]:
    runs: list[list[str]] = [[]]
    for name in names:
        if not name.startswith("**"):
            runs[-1].append(name)
        else:  # `**.md` means `**/*.md`
            rest = name.lstrip("*")
            runs.append([f"*{rest}"] if rest else [])
    return runs


def _in_a_row(names: list[str], *, is_end: bool = False) -> str:
    ends = ["/"] * len(names)
    if is_end:
        ends[-1] = r"\Z"
    return "".join(map(_translated_name, names, ends))


def _translated_name(name: str, end: str) -> str:
    """The pieces between stars, each at the first place where it fits, the last one at the end of the name."""
    pieces = [""]
    for token in _TOKEN.finditer(name):
        if token[0].startswith("*"):
            pieces.append("")
        else:
            pieces[-1] += _one_character(token)
    first, *later = pieces
    inner = "".join(f"(?>[^/]*?{piece})" for piece in later[:-1])
    last = f"[^/]*{later[-1]}" if later else ""
    return f"(?>{first}{inner}{last}{end})"


def _one_character(token: re.Match[str]) -> str:
    if token[0] == "?":
        return "[^/]"
    if not token["set"]:
        return re.escape(token[0])
    members = re.sub(r"([\\\[\]^])", r"\\\1", token["set"]).replace("--", r"\--").replace("&&", r"\&&")
    return f"(?!/)[{'^' if token['not'] else ''}{members}]"


def _newest_first(path: str) -> tuple[float, str]:
    try:
        return -os.stat(path).st_mtime, path
    except OSError:
        return float("-inf"), path  # a draft: newer than anything on disk
