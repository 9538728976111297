"""The commands in a line for a shell, as words: enough of its grammar to tell a command from words that are only
mentioned. No judge of what is safe (that is `agent/bash`), and no substitute for one: what a program does with its
words is not known here.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

MAX_DEPTH = 4  # of shells in shells
_ENDS = frozenset(";&|\n()")  # between two commands
_SPACES = frozenset(" \t\r<>")
_SHELLS = frozenset(("sh", "bash", "zsh", "dash", "ksh", "fish", "su"))
_HEREDOC_RUNNERS = _SHELLS | {"ssh", "source", "."}
_WORDS_BEFORE = frozenset(("then", "do", "else", "elif", "if", "while", "until", "!", "time"))
# Programs that run the command behind their own options: where it begins is not known, so it may begin anywhere.
_RUNNERS = frozenset(("sudo", "doas", "env", "nohup", "nice", "command", "exec", "builtin", "xargs", "timeout")) | {
    *("ionice", "stdbuf", "setsid", "chronic", "watch", "parallel", "npx")
}
_UNQUOTED = str.maketrans({**dict.fromkeys(_ENDS | {"$", "`"}, " "), **dict.fromkeys("\\'\"", "")})
_BEFORE_COMMAND = ("-exec", "-execdir", "-ok", "-okdir", "--exec")


class ShellCommand:
    """One command with its words, and where in them a program may stand: first, and behind whatever starts another."""

    __slots__ = ("starts", "words")

    def __init__(self, words: list[str]) -> None:
        self.words = words
        is_runner = bool(words) and _name(words[0]) in _RUNNERS
        behind = [at + 1 for at, word in enumerate(words) if is_runner or word in _BEFORE_COMMAND]
        self.starts = frozenset((0, *behind))


def commands_in(line: str, depth: int = 0) -> Iterator[ShellCommand]:
    """Each command of a line. Quoted words are one word, so a command that is only mentioned is none; what a shell is
    given as text is a line again."""
    for words, texts in _LineReader(line).commands():
        start = 0
        while start < len(words) and (words[start] in _WORDS_BEFORE or _is_assignment(words[start])):
            start += 1
        command = ShellCommand(words[start:])
        yield command
        for text in (*texts, *_lines_given(command.words)):
            yield from commands_in(text, depth + 1) if depth < MAX_DEPTH else (_anywhere(text),)


def _anywhere(text: str) -> ShellCommand:
    """What lies too deep to be read: its words, as behind a program that runs a command which may begin anywhere."""
    return ShellCommand(["env", *text.translate(_UNQUOTED).split()])


def _lines_given(words: list[str]) -> Iterator[str]:
    """What a shell is given to run as text."""
    program = _name(words[0]) if words else ""
    if program == "eval":
        yield " ".join(words[1:])
    if program == "ssh":
        yield from (word for word in words[1:] if " " in word)
    for shell, option, text in zip(words, words[1:], words[2:], strict=False):
        is_shell = _name(shell) in _SHELLS or (shell[:1] == "-" and program in _SHELLS | _RUNNERS)
        if is_shell and option[:1] == "-" and option[-1:] == "c" and not option.startswith("--"):
            yield text


def _name(program: str) -> str:
    return program.rpartition("/")[2]


def _is_assignment(word: str) -> bool:
    name, sign, _ = word.partition("=")
    return bool(sign) and name.isidentifier()


class _LineReader:
    """Reads a line from left to right, once."""

    def __init__(self, line: str) -> None:
        self._line = line.replace("\\\r\n", "").replace("\\\n", "")
        self._at = 0
        self._words: list[str] = []
        self._word: list[str] | None = None  # of its parts; None between words
        self._texts: list[str] = []  # what stands in `$(…)`, backquotes, or goes to a shell by <<
        self._is_run = False  # whether one of the words runs what it is given by <<
        self._heredocs: list[tuple[str, bool]] = []  # the words that end those which begin in this line

    def commands(self) -> Iterator[tuple[list[str], list[str]]]:
        line = self._line
        while self._at < len(line):
            sign = line[self._at]
            if sign in _ENDS or (self._word is None and line.startswith("{ ", self._at)):
                yield self._ended()
                self._at += 1
                if sign == "\n" and self._heredocs:
                    self._skip_heredocs()
            elif sign in _SPACES:
                self._end_word()
                self._at += 1
                if sign == "<" and line.startswith("<", self._at) and not line.startswith("<<", self._at):
                    self._begin_heredoc()
            elif sign == "#" and self._word is None:
                end = line.find("\n", self._at)
                self._at = len(line) if end < 0 else end
            else:
                self._take(sign)
        yield self._ended()

    def _take(self, sign: str) -> None:
        """One more part of a word."""
        line, start = self._line, self._at + 1
        if sign == "\\":
            self._add(line[start : start + 1], start + 1)
        elif sign == "'":
            end = line.find("'", start)
            self._add(line[start:end] if end >= 0 else line[start:], end + 1 if end >= 0 else len(line))
        elif sign == '"':
            self._double_quoted(start)
        elif sign == "`" or line.startswith("$(", self._at):
            self._add("", self._substituted(self._at))
        elif sign == "$" and line[start : start + 1] in ("'", '"'):
            self._at = start
        else:
            end = start
            while end < len(line) and (line[end].isalnum() or line[end] in "-_./=:,+@%^~*"):
                end += 1
            self._add(line[self._at : end], end)

    def _double_quoted(self, at: int) -> None:
        parts: list[str] = []
        line = self._line
        start = at
        while at < len(line) and line[at] != '"':
            if line[at] == "\\":
                parts += [line[start:at], line[at + 1 : at + 2]]
                at = start = at + 2
            elif line[at] == "`" or line.startswith("$(", at):
                parts.append(line[start:at])
                at = start = self._substituted(at)
            else:
                at += 1
        self._add("".join([*parts, line[start:at]]), at + 1)

    def _substituted(self, at: int) -> int:
        """Note the text of a substitution that begins there; gives where it ends."""
        line = self._line
        if line[at] == "`":
            end = line.find("`", at + 1)
            end = len(line) if end < 0 else end
            self._texts.append(line[at + 1 : end])
            return end + 1
        start, deep, at = at + 2, 1, at + 2
        while at < len(line) and deep:
            deep += {"(": 1, ")": -1}.get(line[at], 0)
            at += 1
        self._texts.append(line[start : at - 1 if not deep else at])
        return at

    def _begin_heredoc(self) -> None:
        line = self._line
        at = self._at + 1
        while at < len(line) and line[at] in "- \t":
            at += 1
        start = at
        while at < len(line) and line[at] not in " \t\r\n;&|<>()":
            at += 1
        ending = line[start:at].replace("'", "").replace('"', "").replace("\\", "")
        if ending:
            self._heredocs.append((ending, self._is_run))
        self._at = at

    def _skip_heredocs(self) -> None:
        """Past the lines that are given to the commands before; those of a shell are commands."""
        for ending, is_run in self._heredocs:
            start = at = self._at
            while at < len(self._line):
                end = self._line.find("\n", at)
                end = len(self._line) if end < 0 else end
                if self._line[at:end].strip() == ending:
                    break
                at = end + 1
            if is_run:
                self._texts.append(self._line[start:at])
            end = self._line.find("\n", at)
            self._at = len(self._line) if end < 0 else end + 1
        self._heredocs = []

    def _add(self, part: str, at: int) -> None:
        if self._word is None:
            self._word = []
        self._word.append(part)
        self._at = at

    def _end_word(self) -> None:
        if self._word is not None:
            self._words.append("".join(self._word))
            self._is_run = self._is_run or _name(self._words[-1]) in _HEREDOC_RUNNERS
            self._word = None

    def _ended(self) -> tuple[list[str], list[str]]:
        self._end_word()
        found = (self._words, self._texts)
        self._words, self._texts, self._is_run = [], [], False
        return found
