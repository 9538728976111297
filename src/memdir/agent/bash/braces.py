"""Brace expansion of an unquoted word: `src/{a,b}.py`, `log{1..3}`. One level; what is not plain is refused."""

from __future__ import annotations

import re

from memdir.agent.bash.refusal import Refused, shown

MAX_EXPANDED = 64  # more names than a person writes by hand; stops {a,b}{a,b}{a,b}… from doubling without end

_GROUP = re.compile(r"\{([^{}]*)\}")
_NUMBERS = re.compile(r"(-?[1-9]\d{0,3}|0)\.\.(-?[1-9]\d{0,3}|0)", re.ASCII)  # no leading zeros: bash would pad
_LETTERS = re.compile(r"([A-Za-z])\.\.([A-Za-z])")
_NAMES_ONLY = re.compile(r"[\w./*?\[\]@%+=:,{}^-]*", re.ASCII)


def expand_braces(raw: str) -> list[str]:
    """What bash makes of the word, in bash's order; `{}` and `HEAD@{1}` stay as they are."""
    if not _NAMES_ONLY.fullmatch(raw) or "{" in _GROUP.sub("", raw) or "}" in _GROUP.sub("", raw):
        raise Refused(f"The braces in {shown(raw)} are not plain: quote the word, or write the names out.")
    done = [""]
    at = 0
    for group in _GROUP.finditer(raw):
        done = [text + raw[at : group.start()] for text in done]
        done = [text + choice for text in done for choice in _choices(raw, group)]
        at = group.end()
        if len(done) > MAX_EXPANDED:
            raise Refused(f"The braces in {shown(raw)} make too many words: write the names out.")
    return [text + raw[at:] for text in done]


def _choices(raw: str, group: re.Match[str]) -> list[str]:
    inside = group[1]
    if "," in inside:
        return inside.split(",")
    if ".." not in inside:
        return [group[0]]
    if found := _NUMBERS.fullmatch(inside):
        first, last = int(found[1]), int(found[2])
        if abs(last - first) < MAX_EXPANDED:
            return [str(number) for number in _between(first, last)]
    elif (found := _LETTERS.fullmatch(inside)) and found[1].islower() == found[2].islower():
        return [chr(code) for code in _between(ord(found[1]), ord(found[2]))]
    raise Refused(f"The range in {shown(raw)} is not expanded here: write the names out.")


def _between(first: int, last: int) -> range:
    return range(first, last + 1) if first <= last else range(first, last - 1, -1)
