"""A folder that git leaves out by itself, whatever a repository's other files say (A1)."""

from __future__ import annotations

import os

from memdir.disk.atomic import write_bytes_atomic
from memdir.disk.plain_file import read_if_plain

_MAX_BYTES = 1 << 16
_EVERYTHING = b"*"  # as the last line: git believes the last one that fits, and the file nearest to what it asks about


def ignore_in_git(folder: str) -> None:
    """Have git leave out all of a folder, its own `.gitignore` too; what a person wrote there stays above."""
    path = os.path.join(folder, ".gitignore")
    found = read_if_plain(path, _MAX_BYTES) or b""  # a link that came with the repository is replaced, not followed
    if found.rstrip(b"\n").rpartition(b"\n")[2] != _EVERYTHING:
        above = found.rstrip(b"\r\n") + b"\n" if found.strip() else b""
        write_bytes_atomic(path, above + _EVERYTHING + b"\n")
