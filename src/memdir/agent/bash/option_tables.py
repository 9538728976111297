"""The tables `commands.toml` and `git.toml`: what each command may be given and still only read."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from types import MappingProxyType
from typing import Any, Literal

from memdir.disk.shipped import shipped_text

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


def names(text: str) -> frozenset[str]:
    """Words of a table, written as prose."""
    return frozenset(text.split())


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


def _read(name: str) -> dict[str, Any]:
    return tomllib.loads(shipped_text(f"agent/bash/{name}"))


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


_COMMANDS, _GIT = _read("commands.toml"), _read("git.toml")
COMMANDS: Mapping[str, Spec] = MappingProxyType(_specs(_COMMANDS))
HINTS: Mapping[str, str] = MappingProxyType(
    {name: hint for line, hint in _COMMANDS["hints"].items() for name in line.split()}
)
WORDS: Mapping[str, frozenset[str]] = MappingProxyType({key: names(words) for key, words in _COMMANDS["words"].items()})
GIT_COMMANDS: Mapping[str, Spec] = MappingProxyType(_specs(_GIT))
GIT_FORMATS, GIT_VALUES = (
    MappingProxyType({key: names(words) for key, words in _GIT[table].items()}) for table in ("formats", "values")
)
