"""The places where credentials lie, from `credential_places.txt`: what Read, Grep and Bash do not open (G4).

A path is judged by its name and by where its links lead, never by what the file holds: a secret under a harmless name
is not found here.
"""

from __future__ import annotations

import os
import re
from fnmatch import fnmatchcase
from functools import cache
from itertools import product

from memdir.disk.plain_file import read_if_plain
from memdir.disk.shipped import shipped_lines
from memdir.errors import BadMemoryFile

MIN_SPELLED = 3  # letters of a name that a pattern must spell to count as asking for it: `id_*` does, `c*` does not
_COPY = r"(?:~|[._-](?:bak|backup|old|orig|save|saved|copy|swp|swo|tmp|gz|bz2|xz|zst|zip|\d{1,8}))*"  # behind a name
MIN_SPELLED_HIDDEN = 2  # `.e*` does, `.*` does not


def is_credential(path: str, *, is_folder: bool = False) -> bool:
    """Whether a path, as it is written, names such a place. A line that names a file says nothing about a folder."""
    text = os.path.normpath(path).lower()
    files, folders, harmless = _rules()
    found = folders.search(text) or (not is_folder and files.search(text))
    return bool(found) and not harmless.search(text)


def leads_to_credential(path: str) -> bool:
    """Whether an absolute path, or the place to which its links lead, is one."""
    return any(is_credential(each, is_folder=os.path.isdir(each)) for each in (path, os.path.realpath(path)))


def is_bare_git_config(path: str) -> bool:
    """Whether it is the configuration that every repository has, and nobody put a token into this one.

    The exception that looks inside: or no search of a whole project would be allowed.
    """
    found = read_if_plain(path, 1 << 20) if path.endswith("/.git/config") else None
    return found is not None and not re.search(
        rb"://[^/\s]*@|header|helper|passw|token|secret|key", found, re.IGNORECASE
    )


def refuse_credential(path: str) -> None:
    """BadMemoryFile when a tool is about to open such a place."""
    if leads_to_credential(path):
        raise BadMemoryFile(
            f"{path} may hold credentials, which must not enter the conversation",
            remedy="Leave it out, or ask the user for what you need to know of it",
        )


def may_match_credential(pattern: str) -> bool:
    """Whether a file name pattern spells such a place out: `.[e]nv`, `id_*`, `.ss?/config`."""
    parts = [part for part in pattern.lower().split("/") if part]
    return any(_fits(parts, line.lower()) for line in _lines() if not line.startswith("!"))


def _fits(parts: list[str], line: str) -> bool:
    """Whether the pattern fits an example of the line, from the last part back, and spells enough of it."""
    examples = [line.rstrip("/").replace("*", filling).replace("?", "").split("/") for filling in ("", "x")]
    lasts = range(len(parts)) if line.endswith("/") else [len(parts) - 1]
    for names, last in product(examples, lasts):
        pairs = list(zip(reversed(parts[: last + 1]), reversed(names), strict=False))
        if all(_matches(part, name) for part, name in pairs) and any(_spells(part) for part, _ in pairs):
            return True
    return False


def _matches(part: str, name: str) -> bool:
    must_spell_dot = name.startswith(".") and part[:1] in ("*", "?")
    return fnmatchcase(name, part) and not must_spell_dot


def _spells(part: str) -> bool:
    spelled = re.sub(r"[*?]|\[[^\]]*\]|(?<=[*?\]])\.\w+$", "", part)
    return len(spelled) >= (MIN_SPELLED_HIDDEN if part.startswith((".", "[.")) else MIN_SPELLED)


def hidden_paths() -> list[str]:
    """What of it exists in this user's home and on this machine, links resolved: for the sandbox to hide."""
    import pwd
    from glob import glob

    home = pwd.getpwuid(os.getuid()).pw_dir
    lines = [line.rstrip("/") for line in _lines() if not line.startswith(("!", "proc/"))]
    return sorted({os.path.realpath(path) for root in (home, "/") for line in lines for path in glob(f"{root}/{line}")})


@cache
def _rules() -> tuple[re.Pattern[str], re.Pattern[str], re.Pattern[str]]:
    """Lines that name files, folders, and exceptions."""
    lines = [line.lower() for line in _lines()]
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
def _lines() -> tuple[str, ...]:
    return tuple(map(str.strip, shipped_lines("agent/credential_places.txt")))
