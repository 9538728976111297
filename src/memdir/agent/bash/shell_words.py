"""Read a command line into simple commands and the literal words bash would hand to each (layer 1, first reader).

It knows a small part of bash: words, quotes, escapes, `;`, newline, `&&`, `||`, `|`, `!`, comments, `2>&1` and
redirections to /dev/null. Whatever else it meets it refuses; it never guesses. `syntax_tree.py` is the second reader,
and the two must agree word for word.
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass, replace

from memdir.agent.bash.braces import expand_braces
from memdir.agent.bash.refusal import Refused, shown

_BLANKS = " \t"
_ENDS = " \t\n;|&"
_REDIRECT = re.compile(r"(?:(?:[12]?>>?|&>>?|<)[ \t]*/dev/null|[12]?>&[12])(?=[ \t\n;|&]|$)")
_OPERATOR = re.compile(r"&&|\|\||\|&|\||;|\n")
_JOINTS = frozenset({"&&", "||", "|", "|&"})
# Decoded with certainty in every bash; any other escape in $'…' is refused.
_ANSI_C = {"t": "\t", "n": "\n", "\\": "\\", "'": "'", '"': '"'}
# After these a `$` in double quotes is a plain dollar sign, as in "foo$|bar$".
_PLAIN_AFTER_DOLLAR = '"|)/ '


@dataclass(frozen=True, slots=True)
class Word:
    """One argument: `text` is what the program gets, unquoted; `raw` is what was written, at `start` to `end`."""

    text: str
    raw: str
    start: int
    end: int
    pattern_at: int = -1  # where in `text` the first unquoted * ? [ stands; -1 when bash expands no file names here

    @property
    def is_pattern(self) -> bool:
        return self.pattern_at >= 0

    @property
    def may_become_option(self) -> bool:
        """A file named `-o` in the folder would turn this pattern into an option."""
        return self.is_pattern and (self.pattern_at == 0 or self.text.startswith("-"))


HERE = Word(".", ".", 0, 0)  # what a command means that is given no folder


@dataclass(frozen=True, slots=True)
class Simple:
    """One simple command: its words, the name first; the commands piped into it; the folder it runs in, if known."""

    words: tuple[Word, ...]
    earlier: tuple[Simple, ...] = ()
    cwd: str | None = None

    @property
    def name(self) -> str:
        return self.words[0].raw

    @property
    def arguments(self) -> tuple[Word, ...]:
        return self.words[1:]

    @property
    def reads_pipe(self) -> bool:
        return bool(self.earlier)

    def inner(self, at: int) -> Simple:
        """The command inside this one: what stands behind `git` or `xargs`."""
        return replace(self, words=self.words[at:])


def read_commands(source: str, cwd: str | None = None) -> list[Simple]:
    """Every simple command of the line, in order; Refused when any part is outside the small language."""
    _refuse_control_characters(source)
    commands: list[Simple] = []
    stages: tuple[Simple, ...] = ()  # of the pipeline being read
    words: list[Word] = []
    joint = ""  # the operator that still waits for a command on its right
    for piece in _tokens(source):
        if isinstance(piece, Word):
            words.append(piece)
            continue
        if piece == "\n" and not words and (joint or not stages):
            continue
        commands.append(_simple(words, stages, cwd))
        words, joint = [], piece if piece in _JOINTS else ""
        stages = (*stages, commands[-1]) if piece in ("|", "|&") else ()
    if words or joint:
        commands.append(_simple(words, stages, cwd))
    if not commands:
        raise Refused("The command is empty: give one read-only command, such as `ls`.")
    return commands


def _simple(words: list[Word], earlier: tuple[Simple, ...], cwd: str | None) -> Simple:
    if words and words[0].raw == "!" and not earlier:
        words = words[1:]
    if not words:
        raise Refused("A command is missing beside an operator: remove the operator or complete the line.")
    return Simple(tuple(expanded for word in words for expanded in _expanded(word)), earlier, cwd)


def _expanded(word: Word) -> list[Word]:
    """The words that brace expansion makes of one word; nearly always just that word."""
    if not ("{" in word.raw or "}" in word.raw) or "'" in word.raw or '"' in word.raw or "\\" in word.raw:
        return [word]
    texts = expand_braces(word.raw)
    if texts == [word.text]:
        return [word]
    return [replace(word, text=text, pattern_at=_first_pattern(text)) for text in texts if text]


def _first_pattern(text: str) -> int:
    found = re.search(r"[*?\[]", text)
    return found.start() if found else -1


def _refuse_control_characters(source: str) -> None:
    for char in source:
        if char not in "\t\n" and unicodedata.category(char) in ("Cc", "Cs"):
            raise Refused(f"The command holds the control character U+{ord(char):04X}: write plain text only.")


def _tokens(source: str) -> list[Word | str]:
    """Words and operators in order; redirections that only discard output, blanks and comments are left out."""
    tokens: list[Word | str] = []
    at = 0
    while at < len(source):
        if source[at] in _BLANKS:
            at += 1
        elif source.startswith("\\\n", at):
            at += 2
        elif source[at] == "#":
            end = source.find("\n", at)
            at = len(source) if end < 0 else end
        elif redirect := _REDIRECT.match(source, at):
            if not tokens or not isinstance(tokens[-1], Word):
                raise Refused(f"The redirection {shown(redirect[0])} has no command before it: put it after one.")
            at = redirect.end()
        elif operator := _OPERATOR.match(source, at):
            tokens.append(operator[0])
            at = operator.end()
        else:
            word = _WordReader(source, at).read()
            tokens.append(word)
            at = word.end
    return tokens


class _WordReader:
    """Unquotes one word exactly as bash does, or refuses."""

    def __init__(self, source: str, start: int) -> None:
        self._source = source
        self._start = start
        self._at = start
        self._text: list[str] = []
        self._pattern_at = -1
        self._has_brace = False
        self._is_quoted = False

    def read(self) -> Word:
        source = self._source
        while self._at < len(source) and source[self._at] not in _ENDS:
            self._step(source[self._at])
        if self._at == self._start:
            raise Refused("`&` would run a command in the background: run commands one after another with `;` or `&&`.")
        if self._has_brace and self._is_quoted:
            raise Refused(f"{shown(source[self._start : self._at])} mixes braces and quotes: quote the whole word.")
        return Word("".join(self._text), source[self._start : self._at], self._start, self._at, self._pattern_at)

    def _step(self, char: str) -> None:
        if char in "'\"\\":
            self._is_quoted = True
            {"'": self._single, '"': self._double, "\\": self._escape}[char]()
        elif char == "$":
            self._dollar()
        elif char in "`()<>":
            self._refuse_special(char)
        else:
            self._plain(char)

    def _plain(self, char: str) -> None:
        before = self._source[self._at - 1] if self._at > self._start else "="
        if char == "~" and before in "=:":
            raise Refused("`~` is expanded by the shell: write the full path instead.")
        if not char.isprintable() or (char.isspace() and char not in _BLANKS):
            raise Refused(f"The command holds the invisible character U+{ord(char):04X} outside quotes: remove it.")
        if char in "*?[" and self._pattern_at < 0:
            self._pattern_at = len("".join(self._text))
        self._has_brace = self._has_brace or char in "{}"
        self._take(char, 1)

    def _take(self, text: str, width: int) -> None:
        self._text.append(text)
        self._at += width

    def _single(self) -> None:
        end = self._source.find("'", self._at + 1)
        if end < 0:
            raise Refused("A single quote is not closed: close it.")
        self._take(self._source[self._at + 1 : end], end + 1 - self._at)

    def _double(self) -> None:
        self._at += 1
        while (char := self._peek()) != '"':
            if char == "\\" and self._peek(1) in '"\\$`':
                self._take(self._peek(1), 2)
            elif char == "\\" and self._peek(1) == "\n":
                raise Refused("A line is continued inside quotes: write the text on one line.")
            elif char == "`" or (char == "$" and self._peek(1) not in _PLAIN_AFTER_DOLLAR):
                raise Refused(f"{shown(char)} in double quotes is expanded by the shell: use single quotes.")
            else:
                self._take(char, 1)
        self._at += 1

    def _peek(self, ahead: int = 0) -> str:
        if self._at + ahead >= len(self._source):
            raise Refused("A double quote is not closed: close it.")
        return self._source[self._at + ahead]

    def _escape(self) -> None:
        following = self._source[self._at + 1 : self._at + 2]
        if following in ("", "\n"):
            raise Refused("A backslash ends the line in the middle of a word: write the word on one line.")
        self._take(following, 2)

    def _dollar(self) -> None:
        following = self._source[self._at + 1 : self._at + 2]
        if following == "'":
            self._is_quoted = True
            self._ansi_c()
        elif following in ("", " ", "\t", "\n"):
            self._take("$", 1)
        else:
            raise Refused("`$` expands a variable or runs a command: write the value itself, or use single quotes.")

    def _ansi_c(self) -> None:
        self._at += 2
        while self._at < len(self._source) and (char := self._source[self._at]) != "'":
            if char != "\\":
                self._take(char, 1)
                continue
            escape = self._source[self._at + 1 : self._at + 2]
            if escape not in _ANSI_C:
                raise Refused(f"The escape {shown(chr(92) + escape)} in $'…' is not decoded here: write the character.")
            self._take(_ANSI_C[escape], 2)
        if self._at >= len(self._source):
            raise Refused("A $'…' quote is not closed: close it.")
        self._at += 1

    def _refuse_special(self, char: str) -> None:
        if char in "<>":
            raise Refused(
                "Redirection is not allowed except `2>&1` and to /dev/null (with a blank before it): the output comes "
                "back to you, and files are named as arguments."
            )
        if char == "`":
            raise Refused("A backquote runs a command: write the value itself.")
        raise Refused(f"{shown(char)} outside quotes starts a subshell or a function: write plain commands only.")
