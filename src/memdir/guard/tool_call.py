"""What a call of a tool does, whichever agent makes it, and whether a guard's pattern fits it (Q1).

A pattern has one sign, `*`, for any run of characters; in a command `|` parts words of which one is enough. Nothing
here goes back in the text: what is looked at is walked once for each word of the pattern, so no pattern and no text can
make a call wait (ADR 0062). What is more than anybody can look at in time is TooMuch.
"""

from __future__ import annotations

import os

from memdir.guard.shell_words import TooMuch, commands_in

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence, Set

    from memdir.guard.shell_words import ShellCommand

# What agents call their tools, by what these do. A guard names a tool by either.
_TOOLS = {
    "shell": "bash shell shell_command run_shell_command local_shell exec_command unified_exec powershell terminal",
    "write": "write edit multiedit notebookedit write_file edit_file create_file replace apply_patch patch str_replace",
    "read": "read read_file read_many_files notebookread view grep grep_search search_file_content",
    "web": "webfetch websearch web_fetch web_search google_web_search fetch",
    "text": "",  # what is written into files
}
KINDS = {name: kind for kind, names in _TOOLS.items() for name in (kind, *names.split())}
MAX_TEXT = 65_536  # characters of a command that are read word by word: a program more than a command
MAX_PATHS = 1000  # that a call names: each is looked for on the disk
MAX_PATH = 4096  # bytes that a system takes for one
# Programs that write the files which they are given, or take them away: from which one on, behind their options.
_ON_FILES = dict.fromkeys(("tee", "rm", "mv", "touch", "truncate", "unlink"), 0)
_ON_FILES |= dict.fromkeys(("cp", "install", "ln", "rsync"), -1) | {"sed": 1}
_COMMANDS = ("command", "cmd", "script")
_PATHS = ("file_path", "filepath", "path", "notebook_path", "absolute_path", "target_file", "filename", "paths")
_WRITTEN = ("content", "new_string", "newstring", "new_str", "new_source", "file_text", "insert_text", "new_text")
_PATCHED = ("*** Add File: ", "*** Update File: ", "*** Delete File: ", "*** Move to: ")


class ToolCall:
    """One call: the tool's name and what it is given. Paths begin in `cwd`; `root` is the project's folder."""

    __slots__ = ("_commands", "_given", "_lines", "_places", "cwd", "name", "root")

    def __init__(self, name: str, given: object, *, cwd: str = "", root: str = "") -> None:
        self.name = name.strip().lower()
        self._given = given if isinstance(given, dict) else {"command": given}
        self.cwd = cwd or root
        self.root = root
        self._lines: list[tuple[str, str]] | None = None  # what a shell is given, and that without quotes
        self._commands: dict[str, list[ShellCommand]] = {}  # of each of these, read once for all guards
        self._places: dict[str, tuple[str, ...]] = {}

    def may_breach(self, tool: str) -> bool:
        """Whether a guard's tool is the one that is called, whatever this is given; so it may be where nobody knows
        which is called. A patch may come by any tool."""
        wanted = tool.lower()
        kind = KINDS.get(wanted)
        if not self.name:
            return True
        if kind is None:
            return fits(wanted, self.name)
        if kind == "read":
            return self._kind in ("read", "shell")
        return self._kind == kind or (kind in ("write", "text") and self._kind not in ("read", "web"))

    def breaches(self, tool: str, pattern: str) -> bool:
        """Whether a guard's tool and pattern fit this call."""
        wanted = tool.lower()
        kind = KINDS.get(wanted)
        if kind is None:
            return fits(wanted, self.name) and (not pattern or _stands_in(pattern, self._texts()))
        if kind == "shell":
            return self._kind == "shell" and (not pattern or self._runs(pattern))
        if kind == "text":
            return _stands_in(pattern or "*", self._written())
        if kind == "web":
            return self._kind == "web" and (not pattern or _stands_in(pattern, self._texts()))
        paths = list(self._values(_PATHS)) if self._kind == kind else []
        if kind == "write":
            paths += [line.partition(": ")[2].strip() for line in self._patches() if line.startswith(_PATCHED)]
        lines = list(self._typed()) if self._kind == "shell" and (pattern or kind == "write") else []
        if _stands_in(pattern or "*", (line for line in lines if len(line) > MAX_TEXT)):
            return True
        named = (path for line in lines if len(line) <= MAX_TEXT for path in self._named_in(line, kind))
        return any(self._leads(pattern or "*", path) for some in (paths, named) for path in some)

    @property
    def _kind(self) -> str:
        return KINDS.get(self.name, "")

    def _runs(self, pattern: str) -> bool:
        """Whether one of the commands that a shell is given has the words of a pattern."""
        words = pattern.split()
        if self._lines is None:
            self._lines = [(text, _unquoted(text)) for text in self._typed()]
        for text, plain in self._lines:
            is_long = len(text) > MAX_TEXT
            if not _may_have(words, plain) and (is_long or ("$'" not in text and "{" not in text)):
                continue
            if is_long:  # too long to be read as a shell does: judged by its words alone
                return True
            if any(_fits_words(words, command) for command in self._commands_of(text)):
                return True
        return False

    def _commands_of(self, text: str) -> list[ShellCommand]:
        if text not in self._commands:
            self._commands[text] = list(commands_in(text))
        return self._commands[text]

    def _named_in(self, text: str, kind: str) -> Iterator[str]:
        """The files that a shell writes or takes away for what it is given, or those that its programs are given to
        read, as far as the words tell."""
        folder = ""  # that it has gone to
        for command in self._commands_of(text):
            words = command.words
            if words[:1] == ["cd"] and len(words) == 2:
                folder = os.path.join(folder, os.path.expanduser(words[1]))
            found: Iterable[str] = _files_of(command)
            found = _read_by(command, set(found)) if kind == "read" else found
            for path in (os.path.join(folder, os.path.expanduser(path)) for path in found):
                yield path
                if kind == "write" and os.path.isdir(os.path.join(self.cwd, path)):
                    yield os.path.join(path, "*")  # what is in it goes with it, or comes there

    def _leads(self, pattern: str, path: str) -> bool:
        """Whether a path is one that a pattern names: from the project's folder or any folder in it; from the root of
        the disk where it begins there."""
        pattern = os.path.expanduser(pattern)
        pattern += "*" if pattern.endswith("/") else ""
        for place in self._places_of(path):
            if os.path.isabs(pattern):
                if fits(pattern, place):
                    return True
                continue
            roots = (f"{root.rstrip('/')}/" for root in (self.root, os.path.realpath(self.root)) if root)
            inside = next((place.removeprefix(root) for root in roots if place.startswith(root)), place)
            if _fits_tail(pattern.removeprefix("./"), inside):
                return True
        return False

    def _places_of(self, path: str) -> tuple[str, ...]:
        """Where a path leads, and where that leads by links."""
        if path not in self._places:
            if len(self._places) == MAX_PATHS:
                raise TooMuch
            full = os.path.normpath(os.path.join(self.cwd, os.path.expanduser(path)))
            is_real = len(os.fsencode(full)) <= MAX_PATH
            self._places[path] = (full, os.path.realpath(full)) if is_real else (full,)
        return self._places[path]

    def _patches(self) -> Iterator[str]:
        """The lines of a patch, in the form that Codex' tool takes, also where a shell is given it."""
        for text in self._values(("command", "cmd", "patch", "input", "patch_text", "patchtext")):
            if "*** Begin Patch" in text:
                yield from text.split("\n")

    def _written(self) -> Iterator[str]:
        """The lines that a call writes into files."""
        if self._kind == "write":
            for text in self._values(_WRITTEN):
                yield from text.split("\n")
        for text in self._typed() if self._kind == "shell" else ():
            read = (
                [text] if len(text) > MAX_TEXT else [one for found in self._commands_of(text) for one in found.written]
            )
            yield from (line for one in read for line in one.split("\n"))
        yield from (line[1:] for line in self._patches() if line.startswith("+"))

    def _texts(self) -> Iterator[str]:
        return (text for _, text in _walk(self._given))

    def _values(self, names: Sequence[str]) -> Iterator[str]:
        """What the call is given under these names, wherever."""
        return (text for name, text in _walk(self._given) if name.lower() in names)

    def _typed(self) -> Iterator[str]:
        """What a shell is given: all that stands in a command, however deep; a list of words as the line it is."""
        left: list[tuple[bool, object]] = [(False, self._given)]
        while left:
            is_typed, value = left.pop()
            if isinstance(value, dict):
                left += [(is_typed or str(name).lower() in _COMMANDS, one) for name, one in value.items()]
            elif isinstance(value, list):
                if is_typed:
                    yield " ".join(_quoted(word) for word in value if isinstance(word, str))
                left += [(is_typed, one) for one in value if not isinstance(one, str)]
            elif is_typed and isinstance(value, str):
                yield value


def _files_of(command: ShellCommand) -> Iterator[str]:
    """What a command writes or takes away, by the programs that stand in it and where its output goes."""
    words = command.words
    yield from command.targets if words[:1] != ["[["] else ()
    starts = command.starts | {int(words[:1] == ["git"])}  # `git mv` and `git rm` do as those alone
    programs = {words[at].rpartition("/")[2]: at for at in sorted(starts, reverse=True) if at < len(words)}
    for program in programs.keys() & _ON_FILES.keys():
        named = [word for word in words[programs[program] + 1 :] if not _is_option(word)]
        is_edit = program != "sed" or _has_option("-i|--in-place*", words)
        yield from (named[_ON_FILES[program] :] or named) if is_edit else ()
        if named[-1:] and named[-1].endswith("/"):  # into a folder
            yield from (named[-1] + one.rpartition("/")[2] for one in named)


def _read_by(command: ShellCommand, written: Set[str]) -> Iterator[str]:
    """What a command is given and does not write: whichever of it is a file may be read; so is what `<` names."""
    yield from command.sources if command.words[:1] != ["[["] else ()
    given = (word.partition("=")[2] if _is_option(word) else word for word in command.words[1:])
    is_said = command.words[:1] in (["echo"], ["printf"])
    yield from () if is_said else (path for path in given if path and path not in written)


def fits(pattern: str, text: str) -> bool:
    """Whether a text is what a pattern says, `*` standing for anything. Each piece is looked for once."""
    if "*" not in pattern:
        return pattern == text
    first, *middle, last = pattern.split("*")
    if len(text) < len(first) + len(last) or not text.startswith(first) or not text.endswith(last):
        return False
    return _find_pieces(middle, text, len(first), len(text) - len(last))


def _find_pieces(pieces: Iterable[str], text: str, start: int, end: int) -> bool:
    for piece in pieces:
        at = text.find(piece, start, end)
        if at < 0:
            return False
        start = at + len(piece)
    return True


def _stands_in(pattern: str, texts: Iterable[str]) -> bool:
    """Whether a pattern is found somewhere in one of these."""
    pieces = pattern.split("*")
    return any(_find_pieces(pieces, text, 0, len(text)) for text in texts)


def _may_have(words: Sequence[str], plain: str) -> bool:
    """Whether all that a command must have stands in a text at all: most have not, and need no closer look."""
    certain = (word for word in words if "|" not in word and (not _is_option(word) or word.startswith("--")))
    return all(piece in plain for word in certain for piece in word.split("*"))


def _fits_words(pattern: Sequence[str], command: ShellCommand) -> bool:
    """Whether a command has the words of a pattern, one after another from its program on, and its options wherever
    they stand. Between the words there may be other options, each with a value; a lone `*` is any number of words."""
    wanted = [word for word in pattern if not _is_option(word)]
    options = [word for word in pattern if _is_option(word)]
    return all(_has_option(option, command.words) for option in options) and _has_words(wanted, command)


def _has_words(wanted: Sequence[str], command: ShellCommand) -> bool:
    """All ways to read the command are followed at once: `at` holds how many of the wanted words each has seen."""
    at: set[int] = set()
    after_option = False
    for number, word in enumerate(command.words):
        if number in command.starts:
            at |= _past_stars({0}, wanted)
        if len(wanted) in at:
            break
        seen: set[int] = set()
        for place in at:
            if place < len(wanted) and _fits_word(wanted[place], word, is_program=place == 0):
                seen.add(place + 1)
            is_skipped = place > 0 and (_is_option(word) or after_option)
            if is_skipped or (place < len(wanted) and wanted[place] == "*"):
                seen.add(place)
        at = _past_stars(seen, wanted)
        after_option = _is_option(word) and "=" not in word
    return len(wanted) in at


def _past_stars(places: set[int], wanted: Sequence[str]) -> set[int]:
    found = set(places)
    for place in places:
        at = place
        while at < len(wanted) and wanted[at] == "*":
            at += 1
            found.add(at)
    return found


def _fits_word(wanted: str, word: str, *, is_program: bool) -> bool:
    """A program by its name, wherever it lies, unless the pattern says where."""
    word = word.rpartition("/")[2] if is_program and "/" not in wanted else word
    return any(fits(one, word) for one in wanted.split("|"))


def _is_option(word: str) -> bool:
    return len(word) > 1 and word[0] == "-" and word != "--"


def _has_option(option: str, command: Sequence[str]) -> bool:
    """A long one by its name, with a value or without; of short ones every letter, however they are put together."""
    if "|" in option:
        return any(_has_option(one, command) for one in option.split("|"))
    if any(fits(option, word) or fits(f"{option}=*", word) for word in command):
        return True
    if option.startswith("--") or not option[1:].isalnum():
        return False
    given = {letter for word in command if _is_option(word) and word[1] != "-" for letter in word[1:]}
    return set(option[1:]) <= given


def _fits_tail(pattern: str, path: str) -> bool:
    """Whether a path is what a pattern says from one of its folders on. The first that begins so leaves the most to
    what comes behind a star: no other needs to be tried."""
    path = f"/{path.lstrip('/')}"
    first, star, _ = pattern.partition("*")
    start = path.find(f"/{first}") + 1 if star else len(path) - len(pattern)
    return start > 0 and path[start - 1] == "/" and fits(pattern, path[start:])


def _walk(given: object) -> Iterator[tuple[str, str]]:
    """Every text in what a tool is given, with the name that it stands under."""
    left: list[tuple[str, object]] = [("", given)]
    while left:
        name, value = left.pop()
        if isinstance(value, str):
            yield name, value
        elif isinstance(value, dict):
            left += [(str(key), one) for key, one in reversed(value.items())]
        elif isinstance(value, list):
            left += [(name, one) for one in reversed(value)]


def _unquoted(text: str) -> str:
    return text.replace("\\\n", "").replace("'", "").replace('"', "").replace("\\", "")


def _quoted(word: str) -> str:
    return "'" + word.replace("'", "'\\''") + "'"
