"""Where an agent's files are read and written. A host's agent works on the disk; a fork works on a workspace of drafts.

Both are `Files`, so the tools do not know the difference.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Protocol

from memdir.disk.atomic import disk_error, write_project_file
from memdir.disk.plain_file import NotPlain, TooLarge, read_plain
from memdir.errors import BadMemoryFile, MemoryNotFound

MAX_FILE_BYTES = 256 << 20  # what is larger is not a text to read


class Files(Protocol):
    """Reads and writes whole files by absolute path."""

    def read(self, path: str) -> bytes:
        """The bytes of a plain file. MemoryNotFound or BadMemoryFile when there is none to read."""
        ...

    def write(self, path: str, data: bytes) -> None: ...

    def walk(self, folder: str) -> Iterator[str]:
        """Every plain file below a folder, in order; hidden ones, links, pipes and devices left out."""
        ...

    def is_draft(self, path: str) -> bool:
        """Whether a file was written or deleted here, and the disk does not know it yet."""
        ...


class DiskFiles:
    """Files as they are on disk."""

    def is_draft(self, path: str) -> bool:
        del path
        return False

    def read(self, path: str) -> bytes:
        try:
            return read_plain(path, max_bytes=MAX_FILE_BYTES)
        except NotPlain as error:
            raise BadMemoryFile(
                f"{path} cannot be read: {error}", remedy="Name a file; Glob lists what there is"
            ) from None
        except TooLarge as error:
            raise BadMemoryFile(f"{path} cannot be read: {error}", remedy="Search it with Grep") from None
        except FileNotFoundError:
            raise MemoryNotFound(
                f"there is no file {path}", remedy="Check the path; Glob lists what there is"
            ) from None
        except OSError as error:
            raise disk_error(error, "read", path) from error

    def write(self, path: str, data: bytes) -> None:
        """Put a file there, or its new content; its mode stays, a link to it stays a link."""
        write_project_file(os.path.realpath(path), data)

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
