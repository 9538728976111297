"""The commands in a line for a shell, as words: enough of its grammar to tell a command from words that are only
mentioned. No judge of what is safe (that is `agent/bash`), and no substitute for one: what a program does with its
words is not known here.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

MAX_DEPTH = 4  # of shells in shells
_ENDS = frozenset(";&|\n()")  # between two commands
_SPACES = frozenset(" \t\r")
_SHELLS = frozenset(("sh", "bash", "rbash", "zsh", "dash", "ash", "ksh", "csh", "tcsh", "fish", "su"))
_SHELLS |= {"pwsh", "powershell", "pwsh.exe", "powershell.exe"}
_READERS = frozenset(("eval", "source", "."))  # run what they are given, as shells and ssh do
_WRITERS = frozenset(("echo", "printf"))  # give their words to what is behind them
_BLOCK_ENDS = frozenset(("}", "done", "fi", "esac"))  # what was written within goes on from here
_WORDS_BEFORE = frozenset(("then", "do", "else", "elif", "if", "while", "until", "!", "coproc"))
# Programs that run the command behind their own options: where it begins is not known, so it may begin anywhere.
_RUNNING = (
    "arch builtin bunx busybox bwrap caffeinate chronic chroot chrt command doas dumb-init entr env",
    "envdir exec fakeroot faketime firejail flock gdb gosu gtime gtimeout ionice ltrace nice nohup npx",
    "nsenter numactl parallel perf pkexec proxychains4 rlwrap runuser sandbox-exec screen script setarch setpriv",
    "setsid sg ssh stdbuf strace su-exec sudo systemd-run taskset time timeout tini torsocks unbuffer",
    "unshare uvx valgrind watch wsl xargs xvfb-run",
)
_RUNNERS = frozenset(name for names in _RUNNING for name in names.split())
# Words of many programs behind which a command stands: `uv run`, `bundle exec`, `pnpm dlx`, `nix develop -c`.
_RUN = frozenset(("run", "exec", "x", "dlx", "foreach", "-c", "--command", "--exec", "--"))
_EACH = frozenset(("-exec", "-execdir", "-ok", "-okdir"))  # the same of `find`
_TAKE_LINES = frozenset(("ssh", "watch", "parallel", "trap", "hyperfine", "tmux", "screen", "concurrently"))
_BEFORE_LINE = frozenset(("--exec", "--run", "--command", "foreach", "--split-string"))  # a command in one word
_SPLITTERS = frozenset(("env", "entr"))  # the same behind -S or -s of these, or in one word with it
_UNQUOTED = str.maketrans({**dict.fromkeys(_ENDS | {"$", "`"}, " "), **dict.fromkeys("\\'\"", "")})
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "a": "\a", "b": "\b", "f": "\f", "v": "\v", "e": "\x1b", "E": "\x1b"}
_BY_NUMBER = {"x": 2, "u": 4, "U": 8}  # and the most digits of each
_DIGITS = {8: "01234567", 16: "0123456789abcdefABCDEF"}
MAX_EXPANDED = 1 << 22  # characters that braces in a line may make: some commands are longer, and nobody's by hand
_TEXT = "text"  # the quotes of a text that has none around it, as a heredoc


class TooMuch(ValueError):
    """A call gives more than can be looked at in time."""


class ShellCommand:
    """One command with its words, where in them a program may stand: first, and behind whatever starts another; the
    files that what it prints goes to, and that what it reads comes from; and texts that a line writes into files."""

    __slots__ = ("sources", "starts", "targets", "words", "written")

    def __init__(
        self, words: list[str], targets: Sequence[str] = (), sources: Sequence[str] = (), written: Sequence[str] = ()
    ) -> None:
        self.words = words
        self.targets = targets
        self.sources = sources
        self.written = written
        program = _name(words[0]) if words else ""
        runs = 0 if program in _RUNNERS else _run_by_word(words) if program not in _WRITERS else len(words)
        each = [at + 1 for at, word in enumerate(words) if word in _EACH]
        self.starts = frozenset((0, *each, *range(runs + 1, len(words))))


def _run_by_word(words: list[str]) -> int:
    return next((at for at, word in enumerate(words) if at and word in _RUN), len(words))


def commands_in(line: str, depth: int = 0, quotes: str = "") -> Iterator[ShellCommand]:
    """Each command of a line. Quoted words are one word, so a command that is only mentioned is none; what a shell is
    given as text is a line again."""
    reader = _LineReader(line, quotes)
    for words in reader.commands():
        bare = [word for word in map(_without_variables, words) if word]
        ways = (words, bare) if bare != words else (words,)  # a variable may hold nothing, a substitution print nothing
        yield from [ShellCommand(way, reader.targets, reader.sources) for way in ways]
        reader.texts += [(text, "") for text in dict.fromkeys(text for one in ways for text in _lines_given(one))]
    if reader.written:
        yield ShellCommand([], written=[*reader.written])
    for text, inner_quotes in reader.texts:
        yield from commands_in(text, depth + 1, inner_quotes) if depth < MAX_DEPTH else (_anywhere(text),)


def _anywhere(text: str) -> ShellCommand:
    """What lies too deep to be read: its words, as behind a program that runs a command which may begin anywhere."""
    return ShellCommand(["env", *text.translate(_UNQUOTED).split()])


def _lines_given(words: list[str]) -> Iterator[str]:
    """What a shell is given to run as text."""
    program = _name(words[0]) if words else ""
    if program == "eval":
        yield " ".join(words[1:])
    rebases = program == "git" and "rebase" in words
    splits = not _SPLITTERS.isdisjoint(map(_name, words))
    for before, word in ((words[at - 1], word) for at, word in enumerate(words) if at and " " in word):
        is_split = before[:1] == "-" != before[1:2] and (
            (splits and before[-1] in "sS") or (rebases and before[-1] == "x")
        )
        if program in _TAKE_LINES or before in _BEFORE_LINE or is_split:
            yield word
        elif splits and word[0] == "-":
            yield word.partition("=" if word[1] == "-" else "S")[2]
        elif word.partition("=")[0] in _BEFORE_LINE or (rebases and word.startswith("-x")):
            yield word.partition("=" if word[1] == "-" else "x")[2]
    none = 0 if program in _RUNNERS else _run_by_word(words)
    shell = next((at for at, word in enumerate(words) if _name(word) in _SHELLS), none)
    options = range(shell + 1, len(words))
    given = next(
        (at for at in options if words[at][:1] == "-" != words[at][1:2] and "c" in words[at].lower()), len(words)
    )
    yield from [word for word in words[given + 1 :] if word[:1] not in "-+"][:2]  # an option's value may be first


def _name(program: str) -> str:
    return program.rpartition("/")[2]


def _without_variables(word: str) -> str:
    first, *rest = word.split("$")
    for part in rest:
        end = part.find("}") + 1 if part.startswith("{") else 0
        while not part.startswith("{") and end < len(part) and (part[end].isalnum() or part[end] == "_"):
            end += 1
        first += part[end:] if end else f"${part}"
    return first


def _is_assignment(word: str) -> bool:
    name, sign, _ = word.partition("=")
    return bool(sign) and name.removesuffix("+").partition("[")[0].isidentifier()


def _written(words: list[str]) -> list[str]:
    """What `echo` or `printf` gives to what is behind it: its words, each of them a line, or as a form puts them."""
    if _name(words[0]) == "echo":
        return [" ".join(words[1:])]
    parts, given = words[1].replace("\\n", "\n").split("%s") if words[1:] else [""], words[2:]
    step = len(parts) - 1
    rounds = [(*given[at : at + step], "") for at in range(0, len(given), step)] if step else []
    text = "".join([part + word for taken in rounds for part, word in zip(parts, taken, strict=False)])
    return ["\n".join(words[1:]), *([text] if text else [])]


def _escaped(line: str, at: int) -> tuple[str, int]:
    """What stands behind a backslash in `$'…'`, and where that ends."""
    sign = line[at : at + 1]
    base, start, most = (16, at + 1, _BY_NUMBER[sign]) if sign in _BY_NUMBER else (8, at, 3)
    end = start
    while end - start < most and line[end : end + 1] and line[end] in _DIGITS[base]:
        end += 1
    code = int(line[start:end] or "0", base) & (255 if base == 8 else -1)
    return (_ESCAPES.get(sign, sign), at + 1) if end == start else (chr(min(code, 0x10FFFF)), end)


class _Heredoc:
    """Lines that a command is given, from the next line on."""

    __slots__ = ("ending", "is_indented", "is_kept", "is_plain", "is_run")

    def __init__(self, ending: str, *, is_indented: bool, is_plain: bool) -> None:
        self.ending = ending
        self.is_indented = is_indented
        self.is_plain = is_plain  # nothing in it is substituted
        self.is_run: bool | None = None  # by a shell among the commands that it goes through; None until that is known
        self.is_kept = False  # in a file, behind them

    def is_end(self, line: str) -> bool:
        line = line.removesuffix("\r")
        return (line.lstrip("\t") if self.is_indented else line) == self.ending


class _Level:
    """A line, or the one in a `$(…)` of it: what was read of the command and of the pipe that it stands in."""

    __slots__ = (
        *("cases", "given", "heredocs", "is_kept", "is_run", "is_sum", "left", "quotes", "signs"),
        *("sources", "target", "targets", "word", "words"),
    )

    def __init__(self, quotes: str = "", *, is_sum: bool = False) -> None:
        self.quotes = quotes  # within which ones: "" for none
        self.is_sum = is_sum  # in `((…))`, where `<<` begins nothing
        self.words: list[str] = []
        self.word: list[str] | None = None  # of its parts; None between words
        self.signs: set[int] = set()  # which of them are braces and commas without quotes
        self.target = ""  # the sign before a word that says where something goes or comes from, none of the command's
        self.targets: list[str] = []  # the files that it goes to
        self.sources: list[str] = []  # and that it comes from
        self.cases = 0  # open ones: there a `)` stands behind each pattern
        self.is_run = False  # whether a shell stands in this pipe
        self.is_kept = False  # whether it ends in a file
        self.given: list[str] = []  # texts that go through this pipe
        self.heredocs: list[_Heredoc] = []  # of this pipe
        self.left: list[str] = []  # texts of earlier ones that nothing here ran: what stands around may


class _LineReader:
    """Reads a line from left to right, once, with all that is nested in it."""

    def __init__(self, line: str, quotes: str = "") -> None:
        self._line = line.replace("\r\n", "\n")
        self._at = 0
        self._levels = [_Level(quotes)]
        self._heredocs: list[_Heredoc] = []  # that begin behind this line
        self._room = MAX_EXPANDED
        self.targets: list[str] = []  # of the command that was read last
        self.sources: list[str] = []
        self.texts: list[tuple[str, str]] = []  # that are to be read as lines of their own, and within which quotes
        self.written: dict[str, None] = {}  # texts that go into files, each once

    def commands(self) -> Iterator[list[str]]:
        line = self._line
        while self._at < len(line):
            level, sign = self._levels[-1], line[self._at]
            if level.quotes:
                self._take_quoted(level, sign)
            elif line.startswith(("<", ">", "&>"), self._at):
                self._redirect(level)
            elif sign in _ENDS or (sign == "{" and level.word is None and line[self._at + 1 : self._at + 2] in " \t"):
                words = self._ended(level)
                if words or self.targets or self.sources:  # most parentheses end nothing
                    yield words
                self._end_pipe(level, sign, is_empty=not words)
            elif sign in _SPACES:
                self._end_word(level)
                self._at += 1
            elif sign == "#" and level.word is None:
                end = line.find("\n", self._at)
                self._at = len(line) if end < 0 else end
            else:
                self._take(level, sign)
        while self._levels:
            yield self._ended(self._levels[-1])
            self._close()

    def _take(self, level: _Level, sign: str) -> None:
        """One more part of a word."""
        line, start = self._line, self._at + 1
        if line.startswith("\\\n", self._at):  # the line goes on
            self._at = start + 1
        elif sign == "\\":
            self._add(level, line[start : start + 1], start + 1)
        elif sign == "'":
            end = line.find("'", start)
            self._add(level, line[start:end] if end >= 0 else line[start:], end + 1 if end >= 0 else len(line))
        elif sign == '"':
            level.quotes = sign
            self._add(level, "", start)
        elif sign == "`" or line.startswith("$(", self._at):
            self._substitute(level, sign)
        elif line.startswith("$'", self._at):
            self._take_escaped(level, start + 1)
        elif sign == "$" and line[start : start + 1] == '"':
            self._at = start
        else:
            end = start
            while sign not in "{,}" and end < len(line) and (line[end].isalnum() or line[end] in "-_./=:+@%^~*"):
                end += 1
            self._add(level, line[self._at : end], end)
            if sign in "{,}" and level.word:
                level.signs.add(len(level.word) - 1)

    def _take_escaped(self, level: _Level, at: int) -> None:
        """The form `$'…'`, in which a quote can be escaped, and any character be a number."""
        line, parts = self._line, list[str]()
        while at < len(line) and line[at] != "'":
            part, at = _escaped(line, at + 1) if line[at] == "\\" else (line[at], at + 1)
            parts.append(part)
        self._add(level, "".join(parts), at + 1)

    def _take_quoted(self, level: _Level, sign: str) -> None:
        line, start = self._line, self._at + 1
        if sign == level.quotes:
            level.quotes = ""
            self._at = start
        elif sign == "\\":
            self._add(level, line[start : start + 1].replace("\n", ""), start + 1)
        elif sign == "`" or line.startswith("$(", self._at):
            self._substitute(level, sign)
        else:
            end = start
            while end < len(line) and line[end] not in '"\\`$':
                end += 1
            self._add(level, line[self._at : end], end)

    def _substitute(self, level: _Level, sign: str) -> None:
        """What stands in `$(…)` is read as a level of its own; in backquotes its own need to be escaped."""
        if sign != "`":
            self._add(level, "", self._at + 2)
            self._levels.append(_Level())
            return
        line, start, at = self._line, self._at + 1, self._at + 1
        while at < len(line) and line[at] != "`":
            at += 2 if line[at] == "\\" else 1
        self.texts.append((line[start:at].replace("\\`", "`"), ""))
        self._add(level, "", at + 1)

    def _redirect(self, level: _Level) -> None:
        """Past a sign that says where something comes from or goes to, with the number before it."""
        line, start = self._line, self._at
        if line[start] != "&" and line.startswith("(", start + 1):  # a command as a file
            self._substitute(level, line[start])
            return
        if level.word is not None and "".join(level.word).isdigit():
            level.word = None
        self._end_word(level)
        at = start + 1
        while at < len(line) and at < start + 3 and line[at] in "<>&|":
            at += 1
        level.target = line[start:at]
        self._at = at
        if level.target == "<<":
            level.target = ""
            if not level.is_sum:
                self._begin_heredoc(level)

    def _begin_heredoc(self, level: _Level) -> None:
        line, at = self._line, self._at
        is_indented = line.startswith("-", at)
        at += is_indented
        while at < len(line) and line[at] in _SPACES:
            at += 1
        start = at
        quote = ""
        while at < len(line) and (line[at] != "\n" if quote else line[at] not in " \t\r\n;&|<>()"):
            quote = "" if line[at] == quote else quote or (line[at] if line[at] in "'\"" else "")
            at += 1
        ending = line[start:at].replace("'", "").replace('"', "").replace("\\", "")
        if ending:
            level.heredocs.append(_Heredoc(ending, is_indented=is_indented, is_plain=ending != line[start:at]))
            self._heredocs.append(level.heredocs[-1])
        self._at = at

    def _read_heredocs(self, level: _Level) -> None:
        """Past the lines that are given to the commands before."""
        line = self._line
        for heredoc in self._heredocs:
            start = at = self._at
            end = line.find("\n", at)
            while at < len(line) and not heredoc.is_end(line[at : end if end >= 0 else len(line)]):
                at = end + 1 if end >= 0 else len(line)
                end = line.find("\n", at)
            text = line[start:at]
            self._at = end + 1 if end >= 0 else len(line)
            self.written |= {text: None} if heredoc.is_kept else {}
            if heredoc.is_run:
                self.texts.append((text, ""))
                continue
            (level.given if heredoc.is_run is None else level.left).append(text)
            if not heredoc.is_plain and ("$(" in text or "`" in text):
                self.texts.append((text, _TEXT))
        self._heredocs = []

    def _add(self, level: _Level, part: str, at: int) -> None:
        if level.word is None:
            level.word = []
        level.word.append(part)
        self._at = at

    def _end_word(self, level: _Level) -> None:
        if level.word is None:
            return
        word = "".join(level.word)
        made = self._expanded(level.word, level.signs) if "{" in word and level.signs else [word]
        level.word, level.signs = None, set()
        if not level.target:
            level.words += made
        elif level.target == "<<<":
            level.given.append(word)
        elif level.target == "<":
            level.sources += made
        elif ">" in level.target and not (level.target.endswith("&") and word.strip("-").isdigit()):
            level.targets += [path for path in made if not path.startswith("/dev/")]
        level.target = ""

    def _expanded(self, parts: list[str], signs: set[int]) -> list[str]:
        """The words that a shell makes of one with `{…,…}` in it. Of each brace that is open: whether it is a
        variable's, all ways to read what stands before its last comma, and all of what stands behind that."""
        levels: list[tuple[bool, list[str], list[str]]] = [(True, [], [""])]
        for at, part in enumerate(parts):
            is_variable, choices, ways = levels[-1]
            added = [part]
            if at in signs and part == "{":
                levels.append((parts[at - 1 : at] == ["$"], [], [""]))
                continue
            if at in signs and part == "," and not is_variable:
                choices += ways
                levels[-1] = (is_variable, choices, [""])
                continue
            if at in signs and part == "}" and len(levels) > 1:
                added = choices + ways if choices else [f"{{{way}}}" for way in ways]
                levels.pop()
                is_variable, choices, ways = levels[-1]
            self._room -= len(ways) * sum(map(len, added)) + len(added) * sum(map(len, ways))
            if self._room < 0:
                raise TooMuch
            levels[-1] = (is_variable, choices, [before + one for before in ways for one in added])
        return [word for word in levels[0][2] if word] if len(levels) == 1 else ["".join(parts)]

    def _ended(self, level: _Level) -> list[str]:
        """The words of a command that ends here, from its program on."""
        self._end_word(level)
        level.target = ""
        self.targets, level.targets = level.targets, []
        self.sources, level.sources = level.sources, []
        words, start = level.words, 0
        while start < len(words) and (words[start] in _WORDS_BEFORE or _is_assignment(words[start])):
            start += 1
        words = words[start:]
        level.words = []
        program = _name(words[0]) if words else ""
        level.cases += {"case": 1, "esac": -1 if level.cases else 0}.get(program, 0)
        level.is_kept |= bool(self.targets) or "tee" in map(_name, words)
        level.is_run |= program in _READERS or any(_name(word) in _SHELLS or word == "ssh" for word in words)
        if program in _WRITERS:
            level.given += _written(words)
        elif program in _BLOCK_ENDS:
            level.given, level.left = _joined(level.given, level.left), []
        return words

    def _end_pipe(self, level: _Level, sign: str, *, is_empty: bool) -> None:
        """Past the sign behind a command; where it is no `|`, nor a line's end behind one, the commands before have all
        that they are given."""
        is_open = is_empty if sign == "\n" else sign == "|" and not self._line.startswith("||", self._at)
        self._at += 2 if self._line.startswith(("||", "&&", "|&"), self._at) else 1
        if sign == "\n" and self._heredocs:
            self._read_heredocs(level)
        if sign == "(":
            self._levels.append(_Level(is_sum=self._line.startswith("((", self._at - 2)))
            self._levels[-1].given, level.given = level.given, []
        elif sign == ")" and not level.cases and len(self._levels) > 1:
            self._close()
        elif not is_open:
            self._settle(level)

    def _settle(self, level: _Level) -> None:
        """Of the texts in a pipe: a shell in it runs them, else they are left to what stands around."""
        for heredoc in level.heredocs:
            heredoc.is_run, heredoc.is_kept = level.is_run, level.is_kept
        self.written |= dict.fromkeys(level.given if level.is_kept else ())
        if level.is_run:
            self.texts += [(text, "") for text in level.given]
        else:
            level.left = _joined(level.left, level.given)
        level.given, level.heredocs, level.is_run, level.is_kept = [], [], False, False

    def _close(self) -> None:
        """The end of a level: the one around it gets what is left."""
        level = self._levels.pop()
        self._settle(level)
        if self._levels:
            self._levels[-1].given = _joined(self._levels[-1].given, level.left)


def _joined(one: list[str], other: list[str]) -> list[str]:
    """Both, in the longer list: each text is moved a few times only, however deep it stood."""
    short, long = sorted((one, other), key=len)
    long += short
    return long
