"""Reads files that strangers may have put there: only plain ones of bounded size, and never waiting for a writer."""

from __future__ import annotations

import os
import stat

_OPEN = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)


def read_plain_file(path: str, max_bytes: int) -> bytes | None:
    """What the file holds; None where none stands, it is larger, or a link, a pipe or a device stands there."""
    if not is_plain_file(path):  # opening a device may already do something
        return None
    try:
        with os.fdopen(os.open(path, _OPEN), "rb") as file:
            status = os.fstat(file.fileno())
            data = file.read(max_bytes + 1) if stat.S_ISREG(status.st_mode) else None
    except OSError:
        return None
    return data if data is not None and len(data) <= max_bytes else None


def is_plain_file(path: str) -> bool:
    """Whether a plain file stands there, and no link to one."""
    try:
        return stat.S_ISREG(os.lstat(path).st_mode)
    except (OSError, ValueError):  # a name with a NUL in it
        return False
