"""Find files by name, and search what they hold: by ripgrep where it is installed, by our own program elsewhere, with
the same output.

Both programs only match lines. Which files are searched, in which order, what counts as text and how much is told is
decided here, once: so a draft that is not on disk is searched like any file, and the answer does not depend on the
program.
"""

from __future__ import annotations

import asyncio
import os
import re
import stat
import sys
import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import translate

from memdir.agent.file_access import Files, leads_to_credential, refuse_credential
from memdir.agent.tools import search_lines
from memdir.agent.tools.tool import Outcome, ToolContext, tool_spec
from memdir.disk.child import ChildResult, run_child
from memdir.disk.programs import find_program
from memdir.errors import BadMemoryFile, MemdirError
from memdir.transcript.message import Json

MAX_FOUND = 200  # paths in one answer
MAX_LOOKED_AT = 200_000  # files; a search from / must end
MAX_SECONDS = 20.0  # of looking for files
MAX_CHOICES = 64  # patterns that braces may multiply to
_SECONDS_AT_ONCE = 0.02  # before the host's other work has its turn, and a look at whether the search was cancelled
_BRACES = re.compile(r"\{([^{}]*,[^{}]*)\}")
_NO_CHARACTER = "(?!)"  # what `translate` makes of a set without members
_ANY, _NOTHING = re.compile(".*", re.DOTALL), re.compile(_NO_CHARACTER)
MAX_PATTERN_CHARACTERS = 1000  # reading one is done in our process, and takes up to a millisecond a character
MAX_MATCHES = 500  # lines in one answer
MAX_NAMED = 5  # files that were not searched
MAX_LINE_CHARACTERS = 500
MAX_FILE_BYTES = 20 << 20  # larger files are data, not text
MAX_OUTPUT_BYTES = 64 << 20  # of one run: a few of the largest files, should every line match
TIMEOUT_SECONDS = 20.0
_BATCH_BYTES = 400_000  # of paths in one command line; kernels allow two million at least
_BAD_PATTERN = 2  # ripgrep's exit status for what it cannot read
_OWN = (sys.executable, "-I", "-S", search_lines.__file__)
_RIPGREP_OPTIONS = (
    *("--no-config", "--no-messages", "--no-heading", "--color=never", "--with-filename", "--null", "--line-number"),
    *("--text", "--encoding=none", "--no-mmap"),
)
_TOO_MANY = "… there are too many files to look at all of them: name a smaller folder"
_Match = tuple[str, str]  # a path, and what stands behind it in the output
_MODES = {"content": (), "files": ("--max-count=1",), "count": ("--count",)}


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
        lines = [_one_line(path) for path in found[:MAX_FOUND]] or ["No file fits."]
        if len(found) > MAX_FOUND:
            lines.append(f"… {len(found) - MAX_FOUND} more")
        if not is_whole:
            lines.append(_TOO_MANY)
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


def _refuse_long(pattern: str) -> None:
    if len(pattern) > MAX_PATTERN_CHARACTERS:
        told = f"the pattern has more than {MAX_PATTERN_CHARACTERS:,} characters"
        raise BadMemoryFile(told, remedy="Use a shorter one, or search for its parts one by one")


def glob_pattern(pattern: str) -> Callable[[str], bool]:
    """What tells whether a path with / fits; no pattern makes that take long (S15)."""
    _refuse_long(pattern)
    choices = [pattern.removeprefix("./")]
    while len(choices) <= MAX_CHOICES and _BRACES.search(choices[0]):  # what is left of it is the same in all
        parts = [_BRACES.split(choice, maxsplit=1) for choice in choices]
        choices = [before + word + after for before, words, after in parts for word in words.split(",")]
    if len(choices) > MAX_CHOICES:
        raise BadMemoryFile(f"the pattern has more than {MAX_CHOICES} choices in braces", remedy="Use fewer")
    patterns = [_compiled(choice) for choice in choices]
    return lambda path: any(_fits(parts, path.split("/")) for parts in patterns)


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


class GrepTool:
    """Finds lines that match a regular expression."""

    def __init__(self, *, program: str | None = None) -> None:
        self._program = find_program("rg") if program is None else program

    spec = tool_spec("Grep")

    async def run(self, arguments: Mapping[str, Json], context: ToolContext) -> Outcome:
        mode = str(arguments.get("output_mode", "content"))
        options = [*_MODES[mode], *(["--ignore-case"] if arguments.get("ignore_case") else [])]
        search = _GrepRun(self._program, [*options, f"--regexp={_checked(str(arguments['pattern']))}"], context.files)
        lines: list[str] = []
        paths, is_whole = await _paths(arguments, context)
        for batch in _batches(paths):
            lines += [_told(match, mode) for match in await search.run(batch)]
            if len(lines) > MAX_MATCHES:
                more = "… and more: narrow the pattern or the folder"
                return Outcome("\n".join([*lines[:MAX_MATCHES], more]))
        lines = lines or ["Nothing matches."]
        if left := search.too_large:
            more = f" and {len(left) - MAX_NAMED} more" if len(left) > MAX_NAMED else ""
            lines.append(f"… not searched, since too large: {', '.join(map(_one_line, left[:MAX_NAMED]))}{more}")
        return Outcome("\n".join(lines if is_whole else [*lines, _TOO_MANY]))


def _checked(pattern: str) -> str:
    """The pattern, if it means the same to us as to ripgrep; what only ripgrep knows is refused everywhere."""
    _refuse_long(pattern)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")  # [[:alpha:]] is a class for ripgrep and a set of letters for us
            re.compile(pattern)
        if "\0" in pattern:
            raise ValueError("it holds a NUL")
        pattern.encode("utf-8")
    except (re.error, RecursionError, OverflowError, ValueError, Warning) as error:
        remedy = r"Use Python's syntax: \w, \d, \s, \b, groups, alternatives"
        raise BadMemoryFile(f"the pattern {pattern!r} is no regular expression: {error}", remedy=remedy) from error
    return pattern


async def _paths(arguments: Mapping[str, Json], context: ToolContext) -> tuple[list[str], bool]:
    """The files to search, and whether they are all that there are."""
    place = os.path.join(context.cwd, str(arguments.get("path", ""))).rstrip(os.sep) or os.sep
    name = str(arguments.get("glob", ""))
    if os.path.isfile(place):
        refuse_credential(place)
        return [place], True
    fits = glob_pattern(name if "/" in name else f"**/{name}") if name else None
    found, is_whole = await find_files(context.files, place, fits)
    if found or os.path.isdir(place):
        return [path for path in found if not leads_to_credential(path)], is_whole
    context.files.read(place)  # a draft, or the error that says there is none
    return [place], True


def _batches(paths: Sequence[str]) -> Iterator[list[str]]:
    batch: list[str] = []
    size = 0
    for path in paths:
        if size > _BATCH_BYTES:
            yield batch
            batch, size = [], 0
        batch.append(path)
        size += len(os.fsencode(path)) + 1
    if batch:
        yield batch


@dataclass
class _GrepRun:
    """One pattern, matched by ripgrep until it turns out that it cannot read it, then by our own program."""

    ripgrep: str
    options: list[str]
    files: Files
    too_large: list[str] = field(default_factory=list)

    async def run(self, paths: list[str]) -> list[_Match]:
        """The matches in these files, in their order."""
        on_disk = [path for path in paths if not self.files.is_draft(path) and self._is_searched(path)]
        done = await self._output(on_disk, b"")
        found: dict[str, list[_Match]] = {path: [] for path in paths}
        for path, text in _parse(done.output):
            found[path].append((path, text))
        for path in paths:
            if self.files.is_draft(path):
                draft = await self._output([search_lines.STDIN], self.files.read(path))
                found[path] = [(path, text) for _, text in _parse(draft.output)]
        matches = [match for path in paths if found[path] and self._is_text(path) for match in found[path]]
        if done.is_cut and len(matches) <= MAX_MATCHES and len(paths) > 1:  # huge lines of what is no text
            half = len(paths) // 2
            return [*await self.run(paths[:half]), *await self.run(paths[half:])]
        return matches

    async def _output(self, paths: list[str], stdin: bytes) -> ChildResult:
        if not paths:
            return ChildResult(0, b"", b"", is_cut=False)
        if self.ripgrep:
            done = await _matched([self.ripgrep, *_RIPGREP_OPTIONS, *self.options, "--", *paths], stdin)
            # It says nothing about files it cannot open: words mean that it cannot read the pattern.
            if done.exit_code != _BAD_PATTERN or not done.errors:
                return done
            self.ripgrep = ""
        return await _matched([*_OWN, *self.options, "--", *paths], stdin)

    def _is_searched(self, path: str) -> bool:
        """Whether there is something to search. What has no size may have no end: `/proc/kmsg` has none."""
        try:
            status = os.stat(path)
        except OSError:
            return False
        is_file = stat.S_ISREG(status.st_mode) and status.st_size > 0
        if is_file and status.st_size > MAX_FILE_BYTES and path not in self.too_large:
            self.too_large.append(path)
        return is_file and status.st_size <= MAX_FILE_BYTES

    def _is_text(self, path: str) -> bool:
        try:
            return b"\0" not in self.files.read(path)
        except MemdirError:
            return False


async def _matched(arguments: list[str], stdin: bytes) -> ChildResult:
    try:
        return await run_child(
            arguments, stdin=stdin, timeout_seconds=TIMEOUT_SECONDS, max_output_bytes=MAX_OUTPUT_BYTES
        )
    except TimeoutError:
        remedy = "Search a smaller folder or a simpler pattern"
        raise BadMemoryFile("the search took too long", remedy=remedy) from None


def _parse(output: bytes) -> Iterator[_Match]:
    """`PATH NUL TEXT NEWLINE`, again and again; a path may hold a newline, a text may hold a NUL."""
    at = 0
    while at < len(output):
        end_of_path = output.find(b"\0", at)
        end = output.find(b"\n", end_of_path)
        if end_of_path < 0 or end < 0:
            return  # cut off
        yield os.fsdecode(output[at:end_of_path]), output[end_of_path + 1 : end].decode("utf-8", "replace")
        at = end + 1


def _one_line(text: str) -> str:
    """A file's name may hold a line break, and would name two files."""
    return text.replace("\n", "␊")


def _told(match: _Match, mode: str) -> str:
    path, text = match
    line = path if mode == "files" else f"{path}:{text}".rstrip("\r")
    line = _one_line(line)
    return line if len(line) <= MAX_LINE_CHARACTERS else line[:MAX_LINE_CHARACTERS] + "…"
