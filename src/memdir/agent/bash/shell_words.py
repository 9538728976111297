"""Read a command line into simple commands and the literal words bash would hand to each (layer 1, first reader).

It knows a small part of bash: words, quotes, escapes, `{a,b}`, `;`, newline, `&&`, `||`, `|`, `!`, comments, `2>&1` and
redirections to /dev/null. Whatever else it meets it refuses; it never guesses. `shell_judge.py` has the second reader,
and the two must agree word for word.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass, replace

MAX_EXPANDED = 64  # more names than a person writes by hand; stops {a,b}{a,b}{a,b}… from doubling without end

_ENDS = " \t\n;|&"
_SKIPPED = re.compile(r"(?:[ \t]|\\\n|#[^\n]*)+")  # blanks, a line that goes on, a comment
_REDIRECT = re.compile(r"(?:(?:[12]?>>?|&>>?|<)[ \t]*/dev/null|[12]?>&[12])(?=[ \t\n;|&]|$)")
_OPERATOR = re.compile(r"&&|\|\||\|&|\||;|\n")
_JOINTS = frozenset({"&&", "||", "|", "|&"})
# What a word is made of. In double quotes a `$` is plain before some signs, as in "foo$|bar$"; of the escapes in $'…'
# only those are read that every bash decodes alike; `~` is plain where bash would not expand it.
_PIECE = re.compile(
    r"""'(?P<single>[^']*)'
    | "(?P<double>(?:\\["\\$`] | \\(?![\n"\\$`]) | \$(?=["|)/ ]) | [^"\\$`])*)"
    | \$'(?P<ansi_c>(?:\\[tn\\'"] | [^'\\])*)'
    | \\(?P<escaped>[^\n])
    | (?P<dollar>\$)(?=[ \t\n]|\Z)
    | (?P<plain>(?:[^'"\\$`()<>;|&~ \t\n] | (?<=[^=:;|&\s])~)+)""",
    re.VERBOSE,
)
_DECODED = {"t": "\t", "n": "\n"}  # in $'…'; every other escaped character stands for itself
_PATTERN = re.compile(r"[*?\[]")
_GROUP = re.compile(r"(\{[^{}]*,[^{}]*\})")
_NAMES_ONLY = re.compile(r"[\w./*?\[\]@%+=:,{}^-]*", re.ASCII)
# Why no word can go on with this character.
_WHY = {
    "&": "`&` would run a command in the background: run commands one after another with `;` or `&&`.",
    "~": "`~` is expanded by the shell: write the full path instead.",
    "'": "A single quote is not closed: close it.",
    '"': "Double quotes are not closed, or hold `$` or a backquote, which the shell expands: use single quotes.",
    "$": "`$` expands a variable or runs a command: write the value itself, or use single quotes.",
    "\\": "A backslash ends the line in the middle of a word: write the word on one line.",
    "`": "A backquote runs a command: write the value itself.",
    **dict.fromkeys("()", "A parenthesis outside quotes starts a subshell or a function: write plain commands only."),
    **dict.fromkeys(
        "<>",
        "Redirection is not allowed except `2>&1` and to /dev/null (with a blank before it): the output comes back to "
        "you, and files are named as arguments.",
    ),
}


class Refused(Exception):
    """The command is not provably read-only. `reason` is a sentence for a model; `judge` makes a Deny of it."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


def shown(text: str, *, max_chars: int = 60) -> str:
    """A word as a reason quotes it: printable, short, in backquotes."""
    printable = "".join(char if char.isprintable() else "?" for char in text[:max_chars])
    return f"`{printable}{'…' if len(text) > max_chars else ''}`"


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
    if control := next((char for char in source if _is_control(char)), ""):
        raise Refused(f"The command holds the control character U+{ord(control):04X}: write plain text only.")
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
    expanded = tuple(each for word in words for each in _expanded(word))
    if not expanded:  # `{,}` makes no word at all
        raise Refused("A command is missing beside an operator: remove the operator or complete the line.")
    return Simple(expanded, earlier, cwd)


def _expanded(word: Word) -> list[Word]:
    """The words that brace expansion makes of one word, in bash's order; `{}` and `HEAD@{1}` stay as they are."""
    raw = word.raw
    if not re.search(r"[{}]", raw) or re.search(r"['\"\\]", raw):
        return [word]
    rest = re.sub(r"\{[^{}]*\}", "", raw)
    if not _NAMES_ONLY.fullmatch(raw) or re.search(r"[{}]", rest) or re.search(r"\{[^{},]*\.\.[^{},]*\}", raw):
        raise Refused(f"The braces in {shown(raw)} are not plain: quote the word, or write the names out.")
    texts = [""]
    for at, part in enumerate(_GROUP.split(raw)):
        choices = part[1:-1].split(",") if at % 2 else [part]
        texts = [text + choice for text in texts for choice in choices]
        if len(texts) > MAX_EXPANDED:
            raise Refused(f"The braces in {shown(raw)} make too many words: write the names out.")
    if len(texts) == 1:
        return [word]
    return [replace(word, text=text, pattern_at=_first_pattern(text)) for text in texts if text]


def _first_pattern(text: str) -> int:
    found = _PATTERN.search(text)
    return found.start() if found else -1


def _is_control(char: str) -> bool:
    return char not in "\t\n" and unicodedata.category(char) in ("Cc", "Cs")


def _tokens(source: str) -> Iterator[Word | str]:
    """Words and operators in order; redirections that only discard output, blanks and comments are left out."""
    at, last = 0, ""
    while at < len(source):
        if skipped := _SKIPPED.match(source, at):
            at = skipped.end()
        elif redirect := _REDIRECT.match(source, at):
            if last != "word":
                raise Refused(f"The redirection {shown(redirect[0])} has no command before it: put it after one.")
            at = redirect.end()
        elif operator := _OPERATOR.match(source, at):
            at, last = operator.end(), operator[0]
            yield last
        else:
            word = _read_word(source, at)
            at, last = word.end, "word"
            yield word


def _read_word(source: str, start: int) -> Word:
    """Unquote one word exactly as bash does, or refuse."""
    at, text, pattern_at, kinds = start, "", -1, set()
    while (at < len(source) and source[at] not in _ENDS) or at == start:
        piece = _PIECE.match(source, at)
        if piece is None:
            raise Refused(_WHY[source[at]])
        kind = piece.lastgroup or ""
        part = _unquoted(kind, piece[kind])
        if kind == "plain":
            if not part.isprintable():
                raise Refused(f"The command holds an invisible character outside quotes in {shown(part)}: remove it.")
            kind = "brace" if re.search(r"[{}]", part) else kind
            if pattern_at < 0 and _PATTERN.search(part):
                pattern_at = len(text) + _first_pattern(part)
        kinds.add(kind)
        at, text = piece.end(), text + part
    if "brace" in kinds and not kinds <= {"brace", "plain", "dollar"}:
        raise Refused(f"{shown(source[start:at])} mixes braces and quotes: quote the whole word.")
    return Word(text, source[start:at], start, at, pattern_at)


def _unquoted(kind: str, part: str) -> str:
    if kind == "double":
        return re.sub(r'\\(["\\$`])', r"\1", part)
    return re.sub(r"\\(.)", lambda found: _DECODED.get(found[1], found[1]), part) if kind == "ansi_c" else part
