"""Checks what a memory names against the project as it is now: paths, symbols, commands (R6).

A memory is a claim made at a point in time. What is gone is said; where git knows the new name, that is said too.
Bounded in time: what could not be checked in time is not mentioned.
"""

from __future__ import annotations

import os
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    import re
    from collections.abc import Iterator

MAX_SECONDS = 0.3  # for one memory; a message must not wait for this
MAX_CHECKED = 12  # names of one memory
MAX_TEXT_CHARACTERS = 200_000  # a memory is a page

_WEB_ENDINGS = (
    "com",
    "org",
    "net",
    "io",
    "dev",
    "local",
    "internal",
    "example",
    "app",
    "ai",
    "de",
    "fr",
    "uk",
    "jp",
    "cn",
)


class Missing:
    """Something a memory names that is not there, and its new name if git knows it."""

    __slots__ = ("kind", "name", "now")

    def __init__(self, kind: str, name: str, now: str = "") -> None:
        self.kind = kind
        self.name = name
        self.now = now

    @property
    def words(self) -> str:
        return f"{self.name} (renamed to {self.now})" if self.now else self.name


class Verifier:
    """Checks names against one project; remembers what it found while the project's head stays the same."""

    def __init__(self, project: str) -> None:
        self._project = project
        self._known: dict[tuple[str, str], Missing | None] = {}
        self._head = ""

    def missing(self, text: str, *, max_seconds: float = MAX_SECONDS) -> list[Missing]:
        """What the text names and the project lacks."""
        deadline = time.monotonic() + max_seconds
        self._forget_if_moved()
        found = []
        for number, (kind, name) in enumerate(named_in(text)):
            if number >= MAX_CHECKED or time.monotonic() >= deadline:
                break
            missing = self._check(kind, name, deadline)
            if missing:
                found.append(missing)
        return found

    def _forget_if_moved(self) -> None:
        head = _head_of(self._project)
        if head != self._head:
            self._known.clear()
            self._head = head

    def _check(self, kind: str, name: str, deadline: float) -> Missing | None:
        """Paths are looked at every time, they are cheap; what costs a process is remembered."""
        if kind == "path" and os.path.lexists(os.path.join(self._project, name)):
            return None
        key = (kind, name)
        if key not in self._known:
            checks = {"path": _gone_path, "symbol": _gone_symbol, "command": _gone_command}
            self._known[key] = checks[kind](self._project, name, deadline)
        return self._known[key]


def named_in(text: str) -> Iterator[tuple[str, str]]:
    """Every path, symbol and command that a text names, each once, in order."""
    import re

    seen: set[tuple[str, str]] = set()
    plain = re.sub(r"\b[a-z][a-z0-9+]{1,15}://\S+", _path_of_link, text[:MAX_TEXT_CHARACTERS])
    for kind, pattern in _patterns().items():
        for match in re.finditer(pattern, plain):
            name = match[1].rstrip(".")
            if (kind, name) not in seen and not (kind == "path" and _is_address(name)):
                seen.add((kind, name))
                yield kind, name


def _patterns() -> dict[str, str]:
    return {
        "path": r"(?<![\w/.~:@-])((?:[\w.-]{1,64}/){1,12}[\w-]{1,64}\.[A-Za-z][A-Za-z0-9]{0,7})(?![\w/])",
        "symbol": r"`([A-Za-z_][A-Za-z0-9_]*(?:\(\)|(?:[a-z][A-Z]|_[a-z])[A-Za-z0-9_]*))`",
        "command": r"`((?:make|npm run|pnpm run|yarn run|just) [\w:.-]+)`",
    }


def _path_of_link(match: re.Match[str]) -> str:
    """A link to a file of a repository names that file; any other link names nothing here."""
    _, blob, rest = match[0].partition("/blob/")
    return rest.partition("/")[2] if blob else " "


def _is_address(name: str) -> bool:
    host = name.split("/", 1)[0]
    return host.rpartition(".")[2].lower() in _WEB_ENDINGS and "." in host


def _gone_path(project: str, name: str, deadline: float) -> Missing | None:
    return Missing("path", name, _renamed_to(project, name, deadline))


def _renamed_to(project: str, name: str, deadline: float) -> str:
    """The path's new name, from the commit that took the old one away."""
    commit = _git(project, deadline, "log", "-1", "--diff-filter=D", "--no-renames", "--format=%H", "--", name).strip()
    if not commit:
        return ""
    shown = _git(
        project, deadline, "show", "--find-renames", "--diff-filter=R", "--name-status", "-z", "--format=", commit
    )
    fields = shown.strip("\n\0").split("\0")
    for status, old, new in zip(fields[::3], fields[1::3], fields[2::3], strict=False):
        if status.startswith("R") and old == name:
            return new if os.path.lexists(os.path.join(project, new)) else ""
    return ""


def _gone_symbol(project: str, name: str, deadline: float) -> Missing | None:
    """A symbol that stands nowhere in the tracked files; without git nothing is claimed."""
    if not os.path.lexists(os.path.join(project, ".git")):
        return None
    word = name.removesuffix("()")
    answer = _git(project, deadline, "grep", "-l", "-w", "-F", "-I", "--max-count=1", "-e", word, failed="?")
    return Missing("symbol", name) if answer == "" else None


def _gone_command(project: str, name: str, deadline: float) -> Missing | None:
    del deadline
    runner, target = name.rsplit(" ", 1)
    if runner == "make":
        lines = _read(project, "Makefile").splitlines() or _read(project, "makefile").splitlines()
        is_gone = bool(lines) and not any(target in line.split(":", 1)[0].split() for line in lines if ":" in line)
    elif runner == "just":
        text = _read(project, "justfile") or _read(project, "Justfile")
        is_gone = bool(text) and not any(line.split(" ")[0].rstrip(":") == target for line in text.splitlines())
    else:
        text = _read(project, "package.json")
        is_gone = bool(text) and f'"{target}"' not in text
    return Missing("command", name) if is_gone else None


def _read(project: str, name: str) -> str:
    try:
        with open(os.path.join(project, name), encoding="utf-8", errors="replace") as file:
            return file.read(1 << 20)
    except OSError:
        return ""


def _git(project: str, deadline: float, *arguments: str, failed: str = "") -> str:
    from memdir.disk.git import run_git
    from memdir.errors import HistoryError

    left = deadline - time.monotonic()
    if left <= 0:
        return failed
    try:
        status, output, _ = run_git(("-C", project, *arguments), timeout_seconds=left)
    except HistoryError:
        return failed
    # `git grep` says "nothing found" with status 1.
    return output.decode("utf-8", "replace") if status in (0, 1) else failed


def _head_of(project: str) -> str:
    """Something that changes with the project's head, read without a process."""
    from memdir.disk.git_root import git_folder

    folder = git_folder(project)
    for name in ("logs/HEAD", "index"):  # a repository may keep no reflog
        try:
            status = os.stat(os.path.join(folder, name))
        except OSError:
            continue
        return f"{status.st_mtime_ns}-{status.st_size}"
    return ""
