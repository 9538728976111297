"""Which paths a read-only command may still not open: devices, process and kernel files, network shares, credentials.

Where the folder is known in which the command will run, the disk is asked: links are followed, patterns expanded, and
trees that a command would show whole are looked through. Without it the words alone are judged.
"""

from __future__ import annotations

import os
import posixpath
import re
import stat
from collections.abc import Iterator
from fnmatch import fnmatchcase
from functools import lru_cache
from itertools import product

from memdir.agent.bash.shell_words import Refused, Word, shown
from memdir.agent.file_access import credential_places, is_credential, leads_to_credential
from memdir.disk.plain_file import read_if_plain

MAX_PARENT_STEPS = 3  # `../../..` and further up is the root of the disk in all but name
MAX_WILDCARDS = 20  # in one word
MAX_STARS = 3  # in one part of a pattern
MAX_NAMES = 2_000  # a pattern that stands for more is not worth a look at each
MIN_SPELLED = 3  # letters of a name that a pattern must spell to count as asking for it: `id_*` does, `c*` does not
MIN_SPELLED_HIDDEN = 2  # `.e*` does, `.*` does not
MAX_ENTRIES = 50_000  # of a tree that is looked through: about a second

_SYSTEM_ROOTS = ("dev", "proc", "sys", "inet", "inet4", "inet6")  # gawk opens a connection for /inet/…
# Names that say they are no regular files: reading them waits for a writer.
_WAITING = ("fifo", "*.fifo", "*.sock", "*.socket")
_HIDDEN_PATTERN = re.compile(r"(?:^|/)\.[^/]*[*?\[]")
_PIECE = re.compile(r"\*|\?|\[([^\[\]\\!^-]+)\]|\[[!^]?[^\[\]\\!^]+\]|[\[\\].*|.", re.DOTALL)
ONE_NAME = re.compile(r"[^\s'\"\\]+")


def check_word(word: Word, cwd: str | None, *, opens: bool = True) -> None:
    """Refused when the word, or a file its pattern stands for, is not plain project text."""
    if word.is_pattern and opens and cwd is None and _HIDDEN_PATTERN.search(word.text):
        raise Refused(f"{shown(word.text)} may stand for files that hold credentials: name the files.")
    check_path(word.text, None if word.is_pattern else cwd, opens=opens)
    if word.is_pattern and cwd is not None and opens:
        for path in expand(word.text, cwd):
            check_path(path, cwd)


def check_path(text: str, cwd: str | None, *, opens: bool = True) -> None:
    """Refused when the path, or the quoted pattern, reaches something that is not plain project text."""
    wildcards = len(re.findall(r"[*?\[]", text))
    if wildcards > MAX_WILDCARDS:
        raise Refused(f"{shown(text)} has more than {MAX_WILDCARDS} wildcards: write a plainer pattern.")
    if text.startswith("//"):
        raise Refused(f"{shown(text)} may name a network share: use a path with a single slash.")
    if _is_of_system(text) or any(fnmatchcase(posixpath.basename(text).lower(), name) for name in _WAITING):
        raise _special(text)
    is_folder = cwd is not None and os.path.isdir(os.path.join(cwd, text))
    name = text.replace(":", "/")  # git's HEAD:FILE
    if is_credential(name, is_folder=is_folder) or (opens and wildcards and may_match_credential(name)):
        raise _credential(text)
    if cwd is not None and opens:
        _check_real(text, os.path.join(cwd, text))


def _check_real(text: str, path: str) -> None:
    """The same for what the path is on disk."""
    real = os.path.realpath(path)
    if leads_to_credential(path):
        raise _credential(text)
    try:
        mode = os.stat(real).st_mode
    except OSError:  # nothing there, or not ours to read
        mode = stat.S_IFREG
    if _is_of_system(real) or not (stat.S_ISREG(mode) or stat.S_ISDIR(mode) or real == "/dev/null"):
        raise _special(text)


def check_walk(text: str, cwd: str | None) -> None:
    """Refused when going through all below this path would mean the whole disk."""
    normal = posixpath.normpath(text)
    is_root = normal == "/" or (cwd is not None and os.path.realpath(os.path.join(cwd, text)) == "/")
    if is_root or normal.split("/").count("..") >= MAX_PARENT_STEPS:
        raise Refused(f"{shown(text)} is the whole disk: name the folder to look in.")


def check_contents(word: Word, cwd: str | None, *, endings: tuple[str, ...] = (), one_name: bool = False) -> None:
    """Refused when a tree that is shown whole holds credentials, or could not be looked through.

    With `endings` only files so named are opened. With `one_name` each name must be read as one word by xargs.
    """
    for entry in _entries(word, cwd):
        if entry.is_dir():
            is_secret = is_credential(entry.path, is_folder=True)
        else:
            is_secret = (not endings or entry.name.endswith(endings)) and _is_trap(entry)
        if is_secret:
            raise Refused(
                f"{shown(word.text)} holds {shown(entry.path)}, which must not enter the conversation: "
                "name folders without it, or use the Grep tool, which leaves it out."
            )
        if one_name and not ONE_NAME.fullmatch(entry.name):
            raise Refused(f"{shown(entry.name)} is several words to `xargs`: use `find … -print0 | xargs -0 …`.")


def _is_trap(entry: os.DirEntry[str]) -> bool:
    """Whether opening it shows a credential, or waits for a writer."""
    if entry.is_symlink():
        return leads_to_credential(entry.path) or _is_of_system(os.path.realpath(entry.path))
    if is_credential(entry.path):
        return not _is_bare_git_config(entry.path)
    return not entry.is_file() and stat.S_ISFIFO(entry.stat().st_mode)


def _is_bare_git_config(path: str) -> bool:
    """Whether it is the configuration that every repository has, and nobody put a token into this one.

    The exception that looks inside: or no search of a whole project would be allowed.
    """
    found = read_if_plain(path, 1 << 20) if path.endswith("/.git/config") else None
    return found is not None and not re.search(
        rb"://[^/\s]*@|header|helper|passw|token|secret|key", found, re.IGNORECASE
    )


def _entries(word: Word, cwd: str | None) -> Iterator[os.DirEntry[str]]:
    """All below a folder, links to folders followed once; nothing when it is not known where the command will run."""
    if cwd is None:
        return
    pending = [os.path.join(cwd, path) for path in (expand(word.text, cwd) if word.is_pattern else [word.text])]
    seen: set[str] = set()
    count = 0
    while pending:
        folder = os.path.realpath(pending.pop())
        if folder in seen or not os.path.isdir(folder):
            continue
        seen.add(folder)
        try:
            entries = list(os.scandir(folder))
        except OSError:  # not ours to read
            continue
        count += len(entries)
        if count > MAX_ENTRIES:
            raise Refused(f"{shown(word.text)} holds more than {MAX_ENTRIES} files: name a smaller folder.")
        yield from entries
        pending += [entry.path for entry in entries if entry.is_dir()]


def _is_of_system(text: str) -> bool:
    """Whether the path starts in a root of the system; leading `..` may lead to the root of the disk."""
    normal = posixpath.normpath(text) if text else ""
    parts = [part for part in normal.split("/") if part]
    is_anchored = normal.startswith("/") or parts[:1] == [".."]
    while parts and parts[0] == "..":
        parts.pop(0)
    is_found = bool(parts) and any(loose_pattern(parts[0]).fullmatch(root) for root in _SYSTEM_ROOTS)
    return is_anchored and is_found and normal != "/dev/null"


def may_match_credential(pattern: str) -> bool:
    """Whether a file name pattern spells such a place out: `.[e]nv`, `id_*`, `.ss?/config`."""
    parts = [part for part in pattern.lower().split("/") if part]
    return any(_fits_place(parts, line.lower()) for line in credential_places() if not line.startswith("!"))


def _fits_place(parts: list[str], line: str) -> bool:
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


def _special(text: str) -> Refused:
    return Refused(f"{shown(text)} is a device, pipe, socket, process or kernel file: name a regular file.")


def _credential(text: str) -> Refused:
    return Refused(
        f"{shown(text)} may hold credentials, which must not enter the conversation: leave it out, or ask the user."
    )


@lru_cache(256)
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
