"""The places where credentials lie, from `credential_places.txt`: what Read, Grep and Bash do not open (G4).

A path is judged by its name and by where its links lead, never by what the file holds: a secret under a harmless name
is not found here.
"""

from __future__ import annotations

import os
import re
from functools import cache

from memdir.disk.shipped import shipped_lines
from memdir.errors import BadMemoryFile

_COPY = r"(?:~|[._-](?:bak|backup|old|orig|save|saved|copy|swp|swo|tmp|gz|bz2|xz|zst|zip|\d{1,8}))*"  # behind a name


def is_credential(path: str, *, is_folder: bool = False) -> bool:
    """Whether a path, as it is written, names such a place. A line that names a file says nothing about a folder."""
    text = os.path.normpath(path).lower()
    files, folders, harmless = _rules()
    found = folders.search(text) or (not is_folder and files.search(text))
    return bool(found) and not harmless.search(text)


def leads_to_credential(path: str) -> bool:
    """Whether an absolute path, or the place to which its links lead, is one."""
    return any(is_credential(each, is_folder=os.path.isdir(each)) for each in (path, os.path.realpath(path)))


def refuse_credential(path: str) -> None:
    """BadMemoryFile when a tool is about to open such a place."""
    if leads_to_credential(path):
        raise BadMemoryFile(
            f"{path} may hold credentials, which must not enter the conversation",
            remedy="Leave it out, or ask the user for what you need to know of it",
        )


@cache
def _rules() -> tuple[re.Pattern[str], re.Pattern[str], re.Pattern[str]]:
    """Lines that name files, folders, and exceptions."""
    lines = [line.lower() for line in credential_places()]
    files = [line for line in lines if not line.endswith("/") and not line.startswith("!")]
    folders = [line[:-1] for line in lines if line.endswith("/")]
    return (
        _any_of(files, f"{_COPY}$"),
        _any_of(folders, f"{_COPY}(?:/|$)"),
        _any_of([line[1:] for line in lines if line[0] == "!"], "$"),
    )


def _any_of(lines: list[str], end: str) -> re.Pattern[str]:
    texts = ("".join({"*": "[^/]*", "?": "[^/]?"}.get(char, re.escape(char)) for char in line) for line in lines)
    return re.compile(f"(?:^|/)(?:{'|'.join(texts)}){end}")


@cache
def credential_places() -> tuple[str, ...]:
    """The lines of `credential_places.txt`: wildcards as in a shell, a slash behind a folder, `!` before exceptions."""
    return tuple(map(str.strip, shipped_lines("agent/credential_places.txt")))
