"""The small commands whose words do not fit a row of the option tables: test, printf, date and the like."""

from __future__ import annotations

import re

from memdir.agent.bash.command_arguments import check_command
from memdir.agent.bash.option_tables import COMMANDS, WORDS
from memdir.agent.bash.shell_words import Refused, Simple, Word, shown

# Not %n: it assigns a variable.
_PRINTF = re.compile(r"(?:[^%\\]|\\[nt\\\"'a-z0-7]|%%|%[-+ #0]*\d{0,3}(?:\.\d{1,3})?[sdiuxXoqbcfeg])*")


def check_nothing(_: Simple) -> None:
    """`echo`, `true` and `false`: any words are harmless."""


def check_test(command: Simple) -> None:
    """`test`, `[ ]` and `[[ ]]` with one condition; conditions are joined with && and ||."""
    words = _test_words(command)
    if any(word.is_pattern for word in words):
        raise Refused(f"A wildcard in `{command.name}` expands to several words: name one file.")
    texts = [word.text for word in words]
    if texts[:1] == ["!"] and len(texts) > 1:
        texts = texts[1:]
    is_unary = len(texts) == 2 and texts[0] in WORDS["test_unary"]
    is_binary = len(texts) == 3 and texts[1] in WORDS["test_binary"] and command.name != "[["
    if not (is_unary or is_binary or (len(texts) == 1 and command.name != "[[")):
        raise Refused(f"`{command.name}` takes one plain condition here: join several with && and ||.")


def _test_words(command: Simple) -> tuple[Word, ...]:
    closing = {"[": "]", "[[": "]]"}.get(command.name)
    if closing is None:
        return command.arguments
    if not command.arguments or command.arguments[-1].raw != closing:
        raise Refused(f"`{command.name}` is not closed with `{closing}`: close it.")
    words = command.arguments[:-1]
    if closing == "]]" and any(not re.fullmatch(r"[\w./-]+", word.raw, re.ASCII) for word in words):
        raise Refused("`[[` takes plain words only here: use `[` with quotes.")
    return words


def check_printf(command: Simple) -> None:
    """A plain format first, then anything."""
    words = command.arguments
    is_plain = words and not words[0].is_pattern and not words[0].text.startswith("-")
    if not is_plain or not _PRINTF.fullmatch(words[0].text):
        raise Refused("`printf` takes a plain format here (%s, %d, \\n, no options): use `echo` instead.")


def check_date(command: Simple) -> None:
    """Shows a date; an operand that is not a +FORMAT would set the clock."""
    arguments = check_command(command, COMMANDS["date"])
    for word in arguments.operands:
        if not word.text.startswith("+"):
            raise Refused(f"{shown('date ' + word.text)} would set the clock: use `date` or `date +FORMAT`.")


def check_version(command: Simple) -> None:
    """Interpreters may say which version they are, and nothing more."""
    if [word.raw for word in command.arguments] != ["--version"]:
        raise Refused(f"`{command.name}` could run any program: only `{command.name} --version` is allowed.")
