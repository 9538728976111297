"""Judge the commands whose words do not fit a row of the option tables: find, xargs, test, printf, date and the like.

`find` takes starting points, then tests and actions from a whitelist: none runs, deletes or writes. `xargs` takes names
that find, grep -l or rg -l printed, for a command that no word can hurt.
"""

from __future__ import annotations

import re
from itertools import takewhile

from memdir.agent.bash.command_arguments import COMMANDS, WORDS, ArgumentReader, Arguments, check_command
from memdir.agent.bash.shell_paths import ONE_NAME, check_contents, check_path, check_walk, check_word
from memdir.agent.bash.shell_words import HERE, Refused, Simple, Word, shown

# Not %n: it assigns a variable.
_PRINTF = re.compile(r"(?:[^%\\]|\\[nt\\\"'a-z0-7]|%%|%[-+ #0]*\d{0,3}(?:\.\d{1,3})?[sdiuxXoqbcfeg])*")
_ALONE, _WITH_TEXT, _WITH_FILE = (WORDS[f"find_{key}"] for key in ("alone", "with_text", "with_file"))
_NEWER = re.compile(r"-newer[aBcm][aBcmt]")
_FOLLOW = frozenset({"-H", "-L", "-P"})
_PRINTERS = ("echo", "basename", "dirname")  # they open nothing, so any words will do
_FILTERS = {"head": "xargs_head", "tail": "xargs_head", "sort": "xargs_sort", "grep": "xargs_grep"}
_SEARCHES = {"grep": "xargs_grep_names", "rg": "xargs_rg_names"}


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


def check_find(command: Simple) -> None:
    """Refused unless every word is a starting point or a test or action that only reads."""
    words = command.arguments
    starts = starting_points(command)
    for word in starts:
        _check_start(word, command.cwd)
    at = _first_start(words) + len(starts)
    while at < len(words):
        at += _check_primary(words, at, command.cwd)


def starting_points(command: Simple) -> list[Word]:
    """The folders and files a `find` starts at; none means the folder it runs in."""
    words = command.arguments[_first_start(command.arguments) :]
    return list(takewhile(lambda word: not _starts_expression(word.text), words))


def _first_start(words: tuple[Word, ...]) -> int:
    return sum(1 for _ in takewhile(lambda word: word.text in _FOLLOW, words))


def _starts_expression(text: str) -> bool:
    return text.startswith("-") or text in ("!", "(", ")", ",")


def _check_start(word: Word, cwd: str | None) -> None:
    if word.may_become_option:
        raise Refused(f"{shown(word.text)} could expand to an action of `find`: write {shown('./' + word.text)}.")
    check_word(word, cwd, opens=False)
    check_walk(word.text, cwd)


def _check_primary(words: tuple[Word, ...], at: int, cwd: str | None) -> int:
    """How many words this test or action takes."""
    primary = words[at]
    if primary.is_pattern:
        raise Refused(f"{shown(primary.text)} could expand to several words: quote it.")
    if primary.text in _ALONE:
        return 1
    takes_file = primary.text in _WITH_FILE or _NEWER.fullmatch(primary.text)
    if primary.text in ("-exec", "-execdir"):
        raise Refused("`find -exec` runs a program: pipe the names instead, as in `find … | xargs grep -l WORD`.")
    if not takes_file and primary.text not in _WITH_TEXT:
        raise Refused(
            f"{shown('find ' + primary.text)} is not on the list of read-only tests and actions: leave it out."
        )
    if at + 1 >= len(words):
        raise Refused(f"{shown('find ' + primary.text)} needs a value: add it.")
    value = words[at + 1]
    if value.is_pattern:
        raise Refused(f"{shown(value.text)} is expanded by the shell before `find` sees it: quote it.")
    if takes_file:
        check_path(value.text, cwd, opens=False)
    return 2


def check_xargs(command: Simple) -> None:
    """Refused unless the input is file names and the inner command is harmless whatever its words."""
    arguments = ArgumentReader("xargs", COMMANDS["xargs"], command.arguments).read()
    inner = command.inner(len(command.words) - len(arguments.operands))
    if inner.words:
        _check_inner(inner)
    if command.earlier and (not inner.words or inner.name in _PRINTERS):
        return
    if not command.earlier:
        raise _not_names()
    source, *filters = command.earlier
    is_null = arguments.has_any("0 null")
    if is_null != _ends_names_with_null(source) or (is_null and filters):
        raise Refused("`xargs -0` takes the names of `find … -print0`, and of nothing else: pipe it in directly.")
    if not all(_filters_names(stage) for stage in filters):
        raise _not_names()
    for root in _roots(source):
        if root.is_pattern or root.text.startswith("-") or not (is_null or ONE_NAME.fullmatch(root.text)):
            raise Refused(f"{shown(root.text)} may be an option or several words to `xargs`: name one plain folder.")
        check_word(root, command.cwd)
        check_contents(root, command.cwd, one_name=not is_null)


def _check_inner(inner: Simple) -> None:
    spec = COMMANDS.get(inner.name)
    if spec is None or not spec.harmless:
        raise Refused(f"{shown('xargs ' + inner.name)} is not provably read-only: use cat, head, wc, grep or ls there.")
    if not spec.rule:
        check_command(inner, spec, may_wait=False)


def _ends_names_with_null(stage: Simple) -> bool:
    texts = ["", *(word.text for word in stage.arguments)]
    is_action = stage.name == "find" and texts[-1] == "-print0" and texts[-2] not in WORDS["find_with_text"]
    if "-print0" in texts[:-1] or (is_action and "-print" in texts):
        raise _not_names()
    return is_action


def _roots(stage: Simple) -> list[Word]:
    """The files the stage and the folders whose files it names; Refused if it prints anything else."""
    if stage.name == "find":
        texts = [word.text for word in stage.arguments]
        if "-printf" in texts or "-ls" in texts:
            raise _not_names()
        for text in texts:  # `-name .env` asks for it by name
            check_path(text, None)
        return starting_points(stage) or [HERE]
    if stage.name not in _SEARCHES:
        raise _not_names()
    arguments = _plain(stage, _SEARCHES[stage.name])
    files = arguments.operands[not arguments.has_any(COMMANDS[stage.name].pattern_options) :]
    if not files or not arguments.has_any("l files-with-matches files"):  # below no folder names are bare: `-r`
        raise _not_names()
    return files


def _filters_names(stage: Simple) -> bool:
    """Whether the stage passes on some of the lines it gets, whole, and reads no file of its own."""
    if stage.name not in _FILTERS:
        return False
    arguments = _plain(stage, _FILTERS[stage.name])
    return len(arguments.operands) == (stage.name == "grep" and not arguments.has_any("e regexp"))


def _plain(stage: Simple, key: str) -> Arguments:
    arguments = ArgumentReader(stage.name, COMMANDS[stage.name], stage.arguments).read()
    if not all(option in WORDS[key] for option, _ in arguments.options):
        raise _not_names()
    return arguments


def _not_names() -> Refused:
    return Refused("`xargs` may only take plain file names: pipe `find`, or `grep -l` or `rg -l` of a folder, into it.")
