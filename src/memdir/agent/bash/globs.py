"""What a file name pattern stands for in a folder: every name that bash may put in its place, and rather more."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from functools import cache

from memdir.agent.bash.refusal import Refused, shown

MAX_STARS = 3  # in one part
MAX_NAMES = 2_000  # a pattern that stands for more is not worth a look at each


_PIECE = re.compile(r"\*|\?|\[([^\[\]\\!^-]+)\]|\[[!^]?[^\[\]\\!^]+\]|[\[\\].*|.", re.DOTALL)


@cache
def loose_pattern(part: str) -> re.Pattern[str]:
    """What one part of a pattern may match, and rather more: a bracket may be quoted, a range any character.

    What follows a bracket that is less plain, or a backslash, may be anything. So every name that bash finds is found,
    however it reads them. A leading dot must be written out.
    """
    if part.count("*") > MAX_STARS:  # they could take for ever to match: anything may follow the first
        part = part[: part.index("*") + 1]
    text = "".join(_translated(piece) for piece in _PIECE.finditer(part))
    return re.compile((r"(?!\.)" if part[:1] in ("*", "?", "[") else "") + text, re.DOTALL)


def _translated(piece: re.Match[str]) -> str:
    if piece[0] in ("*", "?"):
        return {"*": ".*", "?": "."}[piece[0]]
    if piece[0][0] not in "[\\":
        return re.escape(piece[0])
    if not piece[0].endswith("]") or piece[0].count("[") > 1 or "\\" in piece[0]:
        return ".*"
    members = f"[{re.escape(piece[1])}]" if piece[1] else "."
    return f"(?:{members}|{re.escape(piece[0])})"


def expand(pattern: str, cwd: str) -> list[str]:
    """The paths, as written or below, that the pattern may become in this folder; Refused when they are too many."""
    found = ["/" if pattern.startswith("/") else ""]
    for part in [part for part in pattern.split("/") if part]:
        found = [path for folder in found for path in _below(folder, part, cwd)]
        if len(found) > MAX_NAMES:
            raise Refused(f"{shown(pattern)} stands for more than {MAX_NAMES} files: name a smaller folder.")
    return found


def _below(folder: str, part: str, cwd: str) -> Iterator[str]:
    if not re.search(r"[*?\[\\]", part):
        yield os.path.join(folder, part)
        return
    try:
        entries = os.listdir(os.path.join(cwd, folder))
    except OSError:  # no folder, or not ours to read: bash finds nothing either
        return
    fits = loose_pattern(part)
    yield from (os.path.join(folder, name) for name in entries if fits.fullmatch(name))
