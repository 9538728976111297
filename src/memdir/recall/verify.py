"""Checks what a memory names against the project as it is now: paths, links, symbols, commands (R6).

A memory is a claim made at a point in time. What was in the project and is gone is said, with its new name where git
knows it. A false claim is worse than none: of what git never had, and of what could not be checked in time, nothing is
said.
"""

from __future__ import annotations

import os
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    import re
    from collections.abc import Iterator

    from memdir.recall.git_history import GitHistory


MAX_SECONDS = 5.0  # for one memory, where nobody says less
MAX_CHECKED = 12  # names of one memory
MAX_SEEN = 10_000  # paths that are known to have stood, where no git tells
MAX_TRIES = 3  # of one name: a busy disk may be slow once, a giant history is so each time
MAX_TEXT_CHARACTERS = 200_000  # a memory is a page

_LINK = r"\b[a-z][a-z0-9+]{1,15}://\S+"
# A name may have several dots (`x.test.ts`, `x.d.ts`): what ends at one of them is not the name.
_PATH = r"(?:[\w.-]{1,64}/){1,12}[\w-]{1,64}(?:\.[\w-]{1,32}){0,5}\.[A-Za-z][A-Za-z0-9]{0,7}(?![\w/]|\.\w)"
_PATTERNS = {  # in the order of what it costs to check
    "path": rf"(?<![\w/.~:@-])({_PATH})",
    "command": r"`((?:make|npm run|pnpm run|yarn run|just) [\w:.-]+)`",
    "symbol": r"`([A-Za-z_][A-Za-z0-9_]*(?:\(\)|(?:[a-z][A-Z]|_[a-z])[A-Za-z0-9_]*))`",
}
_WEB_TEXT = "com org net io dev local internal example app ai de fr uk jp cn"
_WEB_ENDINGS = frozenset(_WEB_TEXT.split())


def references_in(text: str) -> list[tuple[str, str]]:
    """Every path, link, command and symbol that a text names, each once, as kind and name."""
    if "/" not in text and "`" not in text:
        return []  # as in most: nothing has to be loaded to tell
    return [named for named in dict.fromkeys(_all_named(text[:MAX_TEXT_CHARACTERS])) if named[1]]


def _all_named(text: str) -> Iterator[tuple[str, str]]:
    import re

    for link in re.finditer(_LINK, text):
        yield "link", _file_of_link(link)
    plain = re.sub(_LINK, " ", text)
    for kind, pattern in _PATTERNS.items():
        for match in re.finditer(pattern, plain):
            yield kind, _plain_path(match[1]) if kind == "path" else match[1].rstrip(".")


def _file_of_link(link: re.Match[str]) -> str:
    """A link to a file of a repository names both, as `repository/blob/branch/path`; any other names nothing here."""
    import re

    before, _, after = link[0].partition("/blob/")
    path = re.match(_PATH, after)
    repository = before.removesuffix("/-").rpartition("/")[2]
    return f"{repository}/blob/{path[0]}" if path else ""


def _plain_path(name: str) -> str:
    """The path from the project's root; empty for an address on the web and for what leads out of the project."""
    parts = [part for part in name.split("/") if part != "."]
    host = parts[0]
    is_address = "." in host and host.rpartition(".")[2].lower() in _WEB_ENDINGS
    return "" if is_address or ".." in parts else "/".join(parts)


class Missing:
    """Something a memory names that is not there any more, and its new name if git knows it."""

    def __init__(self, name: str, now: str = "") -> None:
        self.name, self.now = name, now

    @property
    def words(self) -> str:
        return f"{self.name} (renamed to {self.now})" if self.now else self.name


class Verifier:
    """Checks names against one project; remembers what it found while the project's head stays the same."""

    def __init__(self, project: str) -> None:
        self._project = project
        self._known: dict[tuple[str, str], Missing | None] = {}
        self._tries: dict[tuple[str, str], int] = {}
        self._seen: set[str] = set()  # paths that stood here at an earlier check
        self._head = ""

    def missing(self, text: str, *, max_seconds: float = MAX_SECONDS) -> list[Missing]:
        """What the text names, the project had, and has no more."""
        deadline = time.monotonic() + max_seconds
        named = references_in(text)[:MAX_CHECKED]
        if not named:
            return []
        from memdir.recall.git_history import GitHistory

        self._forget_if_moved()
        found = []
        with GitHistory(self._project, deadline) as history:
            history.ask_together(name for kind, name in named if kind == "path" and not self._stands(name))
            for kind, name in named:
                if time.monotonic() >= deadline:
                    break
                if missing := self._check(kind, name, history):
                    found.append(missing)
        return found

    def _forget_if_moved(self) -> None:
        if (head := _head_of(self._project)) != self._head:
            self._known.clear()
            self._tries.clear()
            self._head = head

    def _check(self, kind: str, name: str, history: GitHistory) -> Missing | None:
        """Paths are looked at every time, they are cheap; what costs a process is remembered."""
        if kind == "path" and self._stands(name):
            if len(self._seen) < MAX_SEEN:
                self._seen.add(name)
            return None
        if not history.is_there:
            return Missing(name) if name in self._seen else None
        key = (kind, name)
        known = self._known.get(key)
        if key not in self._known or (known is not None and known.now != "" and not self._stands(known.now)):
            self._ask(key, history)
        return self._known.get(key)

    def _ask(self, key: tuple[str, str], history: GitHistory) -> None:
        """Remembers what git says; an answer that did not come in time is none, and is asked for again."""
        from memdir.recall.git_history import Unsure, gone

        self._known.pop(key, None)
        if self._tries.get(key, 0) >= MAX_TRIES:
            return
        try:
            self._known[key] = gone(*key, history)
        except Unsure:
            self._tries[key] = self._tries.get(key, 0) + 1

    def _stands(self, path: str) -> bool:
        return os.path.lexists(os.path.join(self._project, path))


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
