"""Where an agent's files are read and written. A host's agent works on the disk; a fork works on a workspace of drafts.

Both are `Files`, so the tools do not know the difference.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from typing import Protocol

from memdir.disk.atomic import disk_error
from memdir.disk.project_file import write_project_file
from memdir.errors import BadMemoryFile, MemoryNotFound

MAX_FILE_BYTES = 256 << 20  # what is larger is not a text to read


class Files(Protocol):
    """Reads and writes whole files by absolute path."""

    def read(self, path: str) -> bytes:
        """The bytes of a plain file. MemoryNotFound or BadMemoryFile when there is none to read."""
        ...

    def write(self, path: str, data: bytes) -> None: ...

    def walk(self, folder: str) -> Iterator[str]:
        """Every plain file below a folder, sorted, hidden folders and links left out."""
        ...

    @property
    def has_drafts(self) -> bool:
        """Whether something was written that is not on disk yet."""
        ...


class DiskFiles:
    """Files as they are on disk."""

    @property
    def has_drafts(self) -> bool:
        return False

    def read(self, path: str) -> bytes:
        try:
            status = os.stat(path)
            if not stat.S_ISREG(status.st_mode):
                what = "a folder" if stat.S_ISDIR(status.st_mode) else "no plain file"
                raise BadMemoryFile(f"{path} is {what}", remedy="Name a file; Glob lists what there is")
            if status.st_size > MAX_FILE_BYTES:
                raise BadMemoryFile(
                    f"{path} has {status.st_size:,} bytes, too many to read", remedy="Search it with Grep"
                )
            with open(path, "rb") as file:
                return file.read()
        except FileNotFoundError:
            raise MemoryNotFound(
                f"there is no file {path}", remedy="Check the path; Glob lists what there is"
            ) from None
        except OSError as error:
            raise disk_error(error, "read", path) from error

    def write(self, path: str, data: bytes) -> None:
        write_project_file(path, data)

    def walk(self, folder: str) -> Iterator[str]:
        for current, folders, names in os.walk(folder):
            folders[:] = sorted(name for name in folders if not name.startswith("."))
            for name in sorted(names):
                path = os.path.join(current, name)
                if not name.startswith(".") and not os.path.islink(path):
                    yield path
