"""Where an agent's files are read and written, and what it has read, so that it edits only what it knows (G6).

A host's agent works on the disk, a fork on a workspace of drafts or on a single file: all are `Files`, so the tools do
not know the difference. None opens the places where credentials lie (`credential_places.txt`, G4): a path is judged by
its name and by where its links lead, never by what the file holds.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Protocol

from memdir.disk.append import append_bytes
from memdir.disk.atomic import disk_error, write_project_file
from memdir.disk.plain_file import NotPlain, TooLarge, read_plain
from memdir.disk.safe_path import is_inside
from memdir.disk.shipped import shipped_lines
from memdir.errors import BadMemoryFile, MemoryNotFound, PathEscape

_COPY = r"(?:~|[._-](?:bak|backup|old|orig|save|saved|copy|swp|swo|tmp|gz|bz2|xz|zst|zip|\d{1,8}))*"  # behind a name

MAX_FILE_BYTES = 256 << 20  # what is larger is not a text to read


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


@dataclass
class FileState:
    """The content of each file as it was last read or written, by its digest."""

    _seen: dict[str, bytes] = field(default_factory=dict)

    def saw(self, path: str, data: bytes) -> None:
        self._seen[path] = _digest(data)

    def forget(self, path: str) -> None:
        self._seen.pop(path, None)

    def fault_of_edit(self, path: str, data: bytes) -> str:
        """Why a file may not be changed now; empty when it may."""
        known = self._seen.get(path)
        if known is None:
            return f"{path} has not been read yet: Read it first"
        if known != _digest(data):
            return f"{path} has changed since it was read: Read it again"
        return ""

    def clone(self) -> FileState:
        return FileState(dict(self._seen))


def _digest(data: bytes) -> bytes:
    return hashlib.blake2b(data, digest_size=16).digest()


class Files(Protocol):
    """Reads and writes whole files by absolute path."""

    def read(self, path: str) -> bytes:
        """The bytes of a plain file. MemoryNotFound or BadMemoryFile when there is none to read."""
        ...

    async def put(self, path: str, data: bytes, *, is_cut: bool = False) -> str:
        """Write a file; returns what was repaired about its text, in words. `is_cut`: all it does is lose a piece."""
        ...

    def meant(self, path: str, cwd: str) -> str:
        """The file that a model means by a path, which may be a near miss."""
        del cwd
        return path

    def walk(self, folder: str) -> Iterator[str]:
        """Every plain file below a folder, in order; hidden ones, links, pipes and devices left out."""
        ...

    def is_draft(self, path: str) -> bool:
        """Whether a file was written or deleted here, and the disk does not know it yet."""
        del path
        return False


class DiskFiles(Files):
    """Files as they are on disk."""

    def read(self, path: str) -> bytes:
        try:
            return read_plain(path, max_bytes=MAX_FILE_BYTES)
        except (NotPlain, TooLarge) as error:
            is_large = isinstance(error, TooLarge)
            remedy = "Search it with Grep" if is_large else "Name a file; Glob lists what there is"
            raise BadMemoryFile(f"{path} cannot be read: {error}", remedy=remedy) from None
        except FileNotFoundError:
            remedy = "Check the path; Glob lists what there is"
            raise MemoryNotFound(f"there is no file {path}", remedy=remedy) from None
        except OSError as error:
            raise disk_error(error, "read", path) from error

    async def put(self, path: str, data: bytes, *, is_cut: bool = False) -> str:
        del is_cut
        self.write(path, data)
        return ""

    def write(self, path: str, data: bytes) -> None:
        """Put a file there, or its new content; its mode stays, a link to it stays a link."""
        write_project_file(os.path.realpath(path), data)

    def append(self, path: str, data: bytes) -> None:
        """Add to the end of a file of the person's own; where there is none it is made, and only they can read it."""
        append_bytes(path, data)

    def walk(self, folder: str) -> Iterator[str]:
        try:
            with os.scandir(folder) as found:
                entries = sorted(found, key=lambda entry: os.fsencode(entry.name))
        except OSError:  # no folder, or not ours to read
            return
        for entry in entries:
            if entry.name.startswith("."):
                continue
            if entry.is_dir(follow_symlinks=False):
                yield from self.walk(entry.path)
            elif entry.is_file(follow_symlinks=False):
                yield entry.path


def walking_order(path: str) -> list[bytes]:
    """The key that puts paths in the order in which `walk` finds them."""
    return os.fsencode(path).split(os.fsencode(os.sep))


@dataclass(frozen=True)
class RecordedFiles(DiskFiles):
    """Tells its listeners of each write before it happens: that is how a session's file history comes to be (J2)."""

    listeners: Sequence[Callable[[str, bytes | None, bytes | None], None]]  # told path, what was there, what will be

    def write(self, path: str, data: bytes) -> None:
        try:
            before = self.read(path)
        except MemoryNotFound:
            before = None
        for listener in self.listeners:
            listener(path, before, data)
        super().write(path, data)


@dataclass
class SingleFile(DiskFiles):
    """One file, which reads as `template` while there is none. What is written stays a draft until it is kept."""

    path: str
    template: bytes = b""
    draft: bytes | None = None

    def is_draft(self, path: str) -> bool:
        self._require(path)
        return self.draft is not None or not os.path.exists(self.path)

    def read(self, path: str) -> bytes:
        self._require(path)
        if self.draft is not None:
            return self.draft
        try:
            return super().read(self.path)
        except MemoryNotFound:
            return self.template

    def meant(self, path: str, cwd: str) -> str:
        """Its bare name means the file at hand."""
        return self.path if path.removeprefix("./") == os.path.basename(self.path) else os.path.join(cwd, path)

    def write(self, path: str, data: bytes) -> None:
        self._require(path)
        self.draft = data

    def walk(self, folder: str) -> Iterator[str]:
        if is_inside(self.path, folder):
            yield self.path

    def _require(self, path: str) -> None:
        if os.path.realpath(path) != os.path.realpath(self.path):
            raise PathEscape(f"{path} is not the file at hand", remedy=f"Only {self.path} may be read and changed here")
