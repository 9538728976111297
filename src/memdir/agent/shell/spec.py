"""The shape of a row in the option tables: what one command may be given and still only read (layer 2)."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Literal

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
    walks: str = ""  # the options that make it go through whole folders; `always` if it always does
    rule: str = ""  # the function in rules.py that judges all words itself or on top


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
