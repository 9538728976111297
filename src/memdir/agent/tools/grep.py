"""Search file contents: by ripgrep where it is installed, by our own code elsewhere, with the same output."""

from __future__ import annotations

import asyncio
import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from memdir.agent.tools.glob import glob_pattern
from memdir.agent.tools.tool import Outcome, ToolContext
from memdir.disk.programs import find_program
from memdir.errors import BadMemoryFile, MemdirError
from memdir.model.model import ToolSpec
from memdir.transcript.message import Json

MAX_MATCHES = 500  # lines in one answer
MAX_LINE_CHARACTERS = 500
MAX_FILE_BYTES = 20 << 20  # larger files are data, not text
TIMEOUT_SECONDS = 20.0


@dataclass(frozen=True)
class Query:
    """What to look for, where, and what to tell."""

    pattern: re.Pattern[bytes]
    text: str
    folder: str
    files: re.Pattern[str] | None
    glob: str
    mode: str
    ignores_case: bool


class GrepTool:
    """Finds lines that match a regular expression."""

    def __init__(self, *, program: str | None = None) -> None:
        self._program = find_program("rg") if program is None else program

    spec = ToolSpec(
        "Grep",
        "Search the contents of files for a regular expression. Returns path:line:text, or only paths, or counts.",
        {
            "type": "object",
            "properties": {
                "pattern": {"type": "string", "description": "A regular expression"},
                "path": {"type": "string", "description": "A file or folder; the working directory by default"},
                "glob": {"type": "string", "description": "Only files whose name fits, such as *.md"},
                "output_mode": {"type": "string", "enum": ["content", "files", "count"]},
                "ignore_case": {"type": "boolean"},
            },
            "required": ["pattern"],
            "additionalProperties": False,
        },
    )

    async def run(self, arguments: Mapping[str, Json], context: ToolContext) -> Outcome:
        query = _query(arguments, context.cwd)
        if not os.path.exists(query.folder) and not context.files.has_drafts:
            return Outcome(f"There is no file or folder {query.folder}.", is_error=True)
        if self._program and not context.files.has_drafts:
            lines = await _by_ripgrep(self._program, query)
        else:
            lines = list(_by_hand(query, context))
        if not lines:
            return Outcome("Nothing matches.")
        more = f"\n… {len(lines) - MAX_MATCHES} more" if len(lines) > MAX_MATCHES else ""
        return Outcome("\n".join(lines[:MAX_MATCHES]) + more)


def _query(arguments: Mapping[str, Json], cwd: str) -> Query:
    text = str(arguments["pattern"])
    ignores_case = bool(arguments.get("ignore_case", False))
    try:
        pattern = re.compile(text.encode("utf-8", "replace"), re.IGNORECASE if ignores_case else 0)
    except (re.error, RecursionError, OverflowError) as error:
        raise BadMemoryFile(f"the pattern {text!r} is no regular expression: {error}") from error
    name = str(arguments.get("glob", ""))
    return Query(
        pattern,
        text,
        os.path.join(cwd, str(arguments.get("path", ""))).rstrip(os.sep) or os.sep,
        glob_pattern(f"**/{name}" if "/" not in name else name) if name else None,
        name,
        str(arguments.get("output_mode", "content")),
        ignores_case,
    )


async def _by_ripgrep(program: str, query: Query) -> list[str]:
    mode = {
        "content": ["--line-number", "--with-filename"],
        "files": ["--files-with-matches"],
        "count": ["--count", "--with-filename"],
    }
    arguments = [
        "--no-config",
        "--no-ignore",
        "--no-heading",
        "--color=never",
        "--sort=path",
        "--no-messages",
        *mode[query.mode],
    ]
    arguments += [f"--max-filesize={MAX_FILE_BYTES}", "--max-columns=0"]
    arguments += ["--ignore-case"] if query.ignores_case else []
    arguments += [f"--glob={query.glob}"] if query.glob else []
    process = await asyncio.create_subprocess_exec(
        program, *arguments, f"--regexp={query.text}", "--", query.folder,
        stdin=asyncio.subprocess.DEVNULL, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.DEVNULL,
    )  # fmt: skip
    try:
        output, _ = await asyncio.wait_for(process.communicate(), TIMEOUT_SECONDS)
    except TimeoutError:
        raise BadMemoryFile("the search took too long", remedy="Search a smaller folder or a simpler pattern") from None
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    return [_cut(line) for line in output.decode("utf-8", "replace").splitlines()]


def _by_hand(query: Query, context: ToolContext) -> Iterator[str]:
    paths = context.files.walk(query.folder) if os.path.isdir(query.folder) else iter([query.folder])
    for path in paths:
        if query.files and not query.files.fullmatch(os.path.relpath(path, query.folder).replace(os.sep, "/")):
            continue
        try:
            data = context.files.read(path)
        except MemdirError:
            continue
        if len(data) <= MAX_FILE_BYTES and b"\0" not in data:
            yield from _matches(query, path, data)


def _matches(query: Query, path: str, data: bytes) -> Iterator[str]:
    lines = data.split(b"\n")
    found = [(number, line) for number, line in enumerate(lines, 1) if query.pattern.search(line)]
    if lines and lines[-1] == b"" and found and found[-1][0] == len(lines):
        found.pop()  # what stands behind the last newline is no line
    if not found:
        return
    if query.mode == "files":
        yield path
    elif query.mode == "count":
        yield f"{path}:{len(found)}"
    else:
        for number, line in found:
            yield _cut(f"{path}:{number}:{line.decode('utf-8', 'replace')}".rstrip("\r"))


def _cut(line: str) -> str:
    return line if len(line) <= MAX_LINE_CHARACTERS else line[:MAX_LINE_CHARACTERS] + "…"
