"""What each command may be given and still only read, from `commands.toml` and `git.toml`, and its words read by that.

A command's words are read by its row the way getopt does, and what is not in the row is refused.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any, Literal, NoReturn

from memdir.agent.bash.shell_paths import check_contents, check_path, check_walk, check_word, expand
from memdir.agent.bash.shell_words import HERE, Refused, Simple, Word, shown
from memdir.disk.shipped import shipped_text

MAX_NUMBER_DIGITS = 7  # ten million lines, bytes or columns: more only floods

_ENDING = re.compile(r"\*(\.\w+)+")
_OTHER_CHOICES = "exclude exclude-from iglob glob-case-insensitive ignore-file t type T type-not"
_NUMBER = re.compile(r"[+-]?\d+")
_LONG_NUMBER = re.compile(rf"[+-]?\d{{{MAX_NUMBER_DIGITS + 1},}}.*")

Operands = Literal["paths", "pattern", "text", "none"]
Arity = Literal["flag", "value", "optional"]


@dataclass(frozen=True, slots=True)
class Spec:
    """Options and operands of one command. What is not named here is refused."""

    short: str = ""  # getopt notation: `n:` takes a value, `w::` one that is attached, if any
    long: str = ""  # `name`, `name=` with a value, `name[=]` with an attached one, if any
    operands: Operands = "paths"  # pattern: the first operand is one, unless an option in `pattern_options` gave it
    pattern_options: str = ""
    least: int = 0  # with fewer files, at the head of a pipe, it would wait for standard input
    most: int | None = None  # with more operands it would write the last one
    number: bool = False  # `-5` is an option
    attached: bool = True  # `-L2` is `-L 2`; where it is not, a value must be its own word
    options_first: bool = False  # the program stops reading options at the first operand
    harmless: bool = False  # nothing the program can be told makes it write or run: words may come from `*` and xargs
    opens: bool = True  # it shows what files hold, and not only their names
    walks: str = ""  # the options that make it go through whole folders; `always` if it always does
    shows: str = ""  # the options that make it show what the files in whole folders hold; `always` if it always does
    rule: str = ""  # the function of `shell_judge.py` that judges all words itself


@cache
def short_options(notation: str) -> dict[str, Arity]:
    """`an:w::` as letter → arity."""
    found: dict[str, Arity] = {}
    for at, letter in enumerate(notation):
        if letter != ":":
            after = notation[at + 1 : at + 3]
            found[letter] = "optional" if after == "::" else "value" if after.startswith(":") else "flag"
    return found


@cache
def long_options(notation: str) -> dict[str, Arity]:
    """`all width= color[=]` as name → arity."""
    found: dict[str, Arity] = {"help": "flag", "version": "flag"}
    for name in notation.split():
        if name.endswith("[=]"):
            found[name[:-3]] = "optional"
        else:
            found[name.rstrip("=")] = "value" if name.endswith("=") else "flag"
    return found


def _specs(table: dict[str, Any]) -> dict[str, Spec]:
    """The rows by name; a row stands for the names in its `also` too, and `@part` for what [parts.part] says."""
    found = {name: Spec(rule=rule) for rule, line in table.get("rules", {}).items() for name in line.split()}
    for name, row in table["commands"].items():
        also = row.pop("also", "").split()
        for key in ("short", "long"):
            row[key] = _whole(row.get(key, ""), key, table.get("parts", {}))
        found |= dict.fromkeys([name, *also], Spec(**row))
    return found


def _whole(text: str, key: str, parts: dict[str, dict[str, str]]) -> str:
    while found := re.search(r"@(\w+)", text):
        text = text.replace(found[0], parts[found[1]].get(key, ""))
    return text


_COMMANDS, _GIT = (tomllib.loads(shipped_text(f"agent/bash/{name}.toml")) for name in ("commands", "git"))
COMMANDS: Mapping[str, Spec] = _specs(_COMMANDS)
HINTS: Mapping[str, str] = {name: hint for line, hint in _COMMANDS["hints"].items() for name in line.split()}
WORDS, GIT_FORMATS, GIT_VALUES = (
    {key: frozenset(words.split()) for key, words in table.items()}
    for table in (_COMMANDS["words"], _GIT["formats"], _GIT["values"])
)
GIT_COMMANDS: Mapping[str, Spec] = _specs(_GIT)


@dataclass(slots=True)
class Arguments:
    """A command's words, sorted: options with their values, and operands."""

    options: list[tuple[str, str]] = field(default_factory=list)
    operands: list[Word] = field(default_factory=list)

    def has_any(self, names: str) -> bool:
        return not {name for name, _ in self.options}.isdisjoint(names.split())

    def does(self, names: str) -> bool:
        """Whether it does what one of these options asks for; `always` needs none."""
        return names == "always" or self.has_any(names)

    def values(self, *names: str) -> list[str]:
        return [value for name, value in self.options if name in names]


def check_command(command: Simple, spec: Spec, *, title: str = "", may_wait: bool = True) -> Arguments:
    """Sort and judge all words of one command; Refused at the first that its row does not allow."""
    title = title or command.name
    arguments = ArgumentReader(title, spec, command.arguments, command.cwd).read()
    for option, value in arguments.options:
        if _LONG_NUMBER.fullmatch(value):
            raise Refused(f"{shown(value)} is too large a number for `{title}`: use a smaller one.")
        if option not in WORDS["text_options"]:
            check_path(value, command.cwd)
    _check_operands(title, spec, arguments)
    files = _files(spec, arguments)
    walks = arguments.does(spec.walks)
    if may_wait:
        need_files(title, files, least=0 if walks else spec.least, reads_pipe=command.reads_pipe)
    for word in files:
        check_word(word, command.cwd, opens=spec.opens)
        if walks:
            check_walk(word.text, command.cwd)
    if arguments.does(spec.shows):
        endings = _endings(arguments)
        reads_pipe = command.reads_pipe and spec.shows == "always"  # `grep -r` never does
        for word in files or [HERE] * (not reads_pipe):
            check_contents(word, command.cwd, endings=endings)
    return arguments


def need_files(name: str, files: list[Word], *, least: int, reads_pipe: bool) -> None:
    """Refused when the command would wait for standard input although nothing is piped into it."""
    if not reads_pipe and (len(files) < least or any(word.text == "-" for word in files)):
        raise Refused(f"`{name}` would wait for input: name the file to read, or pipe a command into it.")


def _check_operands(title: str, spec: Spec, arguments: Arguments) -> None:
    operands = arguments.operands
    if spec.operands == "none" and operands:
        raise Refused(f"`{title}` takes no operand here: leave {shown(operands[0].text)} out.")
    if spec.most is not None and (len(operands) > spec.most or any(word.is_pattern for word in operands)):
        raise Refused(f"`{title}` would write its last file: give at most {spec.most} file, without wildcards.")


def _files(spec: Spec, arguments: Arguments) -> list[Word]:
    if spec.operands in ("text", "none"):
        return []
    if spec.operands != "pattern" or arguments.has_any(spec.pattern_options):
        return arguments.operands
    if arguments.operands and arguments.operands[0].is_pattern:
        raise Refused(f"{shown(arguments.operands[0].text)} expands to files before it is searched for: quote it.")
    return arguments.operands[1:]


def _endings(arguments: Arguments) -> tuple[str, ...]:
    """How the names end to which grep or rg was told to keep; nothing when it was told anything less plain.

    An `--exclude` widens: grep then opens what no option names. So may any other way to choose files.
    """
    told = arguments.values("include", "g", "glob")
    is_plain = all(_ENDING.fullmatch(value) for value in told) and not arguments.has_any(_OTHER_CHOICES)
    return tuple(value[1:] for value in told) if is_plain else ()


@dataclass
class ArgumentReader:
    """One pass over the words of one command: options and operands as getopt would see them."""

    _name: str
    _spec: Spec
    _words: tuple[Word, ...]
    _cwd: str | None = None
    _at: int = 0
    _found: Arguments = field(default_factory=Arguments)

    def read(self) -> Arguments:
        while self._at < len(self._words):
            word = self._words[self._at]
            self._at += 1
            if word.text == "--":
                self._found.operands.extend(self._words[self._at :])
                break
            self._one(word)
        return self._found

    def _one(self, word: Word) -> None:
        if not word.text.startswith("-") or word.text == "-" or self._is_past_options():
            self._operand(word)
        elif word.text.startswith("--"):
            self._long(word)
        elif self._spec.number and _NUMBER.fullmatch(word.text):
            self._found.options.append(("number", word.text))
        else:
            self._short(word)

    def _is_past_options(self) -> bool:
        return self._spec.options_first and bool(self._found.operands)

    def _operand(self, word: Word) -> None:
        if word.may_become_option and not self._is_past_options() and self._finds_option(word):
            raise Refused(
                f"{shown(word.text)} could expand to an option of `{self._name}`: write {shown('./' + word.text)}."
            )
        self._found.operands.append(word)

    def _finds_option(self, word: Word) -> bool:
        """Of most programs an option may write; of others it may read what nobody judged, as `--files0-from=x`."""
        names = expand(word.text, self._cwd) if self._spec.harmless and self._cwd else []
        return not self._spec.harmless or any(name.startswith("-") for name in names)

    def _long(self, word: Word) -> None:
        option, has_value, value = word.text[2:].partition("=")
        arity = long_options(self._spec.long).get(option)
        if arity is None or (has_value and arity == "flag"):
            self._refuse(f"--{option}")
        if word.is_pattern and (not has_value or word.pattern_at <= len(option) + 2):
            self._refuse(word.text)
        if arity == "value" and not has_value:
            value = self._value(f"--{option}")
        self._found.options.append((option, value))

    def _short(self, word: Word) -> None:
        if word.is_pattern:
            self._refuse(word.text)
        arities = short_options(self._spec.short)
        letters = word.text[1:]
        for at, letter in enumerate(letters):
            arity = arities.get(letter)
            if arity is None:
                self._refuse(f"-{letter}")
            if arity == "flag":
                self._found.options.append((letter, ""))
                continue
            value = letters[at + 1 :]
            if value and not self._spec.attached:
                self._refuse(word.text)
            if arity == "value" and not value:
                value = self._value(f"-{letter}")
            self._found.options.append((letter, value))
            return

    def _value(self, option: str) -> str:
        """The next word as the option's value. One that looks like an option is refused: programs differ there."""
        if self._at >= len(self._words):
            raise Refused(f"`{self._name} {option}` needs a value: add it.")
        word = self._words[self._at]
        self._at += 1
        if word.text.startswith("-") and word.text != "-" and not _NUMBER.fullmatch(word.text):
            raise Refused(f"{shown(word.text)} after `{option}` looks like an option: attach it, or leave it out.")
        if word.is_pattern:
            raise Refused(f"{shown(word.text)} after `{option}` could expand to several words: quote it.")
        return word.text

    def _refuse(self, option: str) -> NoReturn:
        raise Refused(
            f"{shown(f'{self._name} {option}')} is not on the list of read-only options: leave it out or spell it "
            "in full."
        )
