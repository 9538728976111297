"""Judge `find`: starting points, then tests and actions from a whitelist. None runs, deletes or writes."""

from __future__ import annotations

import re
from itertools import takewhile

from memdir.agent.bash.option_tables import WORDS
from memdir.agent.bash.shell_paths import check_path, check_walk, check_word
from memdir.agent.bash.shell_words import Refused, Simple, Word, shown

_ALONE, _WITH_TEXT, _WITH_FILE = (WORDS[f"find_{key}"] for key in ("alone", "with_text", "with_file"))
_NEWER = re.compile(r"-newer[aBcm][aBcmt]")
_FOLLOW = frozenset({"-H", "-L", "-P"})


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
