"""The one door for reading: only plain files are opened, without waiting for anybody, and no more of them is read than
was asked for (S15).

A FIFO, a device, a socket or a folder raises `NotPlain`, by whatever name or link it is reached. So does what the
kernel makes up while it is read (`/proc/kmsg`): it has no size, it may have no end, and reading it may change things.
"""

from __future__ import annotations

import os
import stat

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import BinaryIO

# Windows has none of the first three and needs the last.
NO_LINK = getattr(os, "O_NOFOLLOW", 0)
NEVER_WAIT = getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOCTTY", 0)
BINARY = getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)
_FLAGS = os.O_RDONLY | NEVER_WAIT | BINARY
_FLAGS_NO_LINK = _FLAGS | NO_LINK
_MADE_UP = ("/proc", "/sys")
_KINDS = (
    (stat.S_ISDIR, "a folder"),
    (stat.S_ISFIFO, "a FIFO"),
    (stat.S_ISSOCK, "a socket"),
    (stat.S_ISLNK, "a link"),
    (stat.S_ISCHR, "a device"),
    (stat.S_ISBLK, "a device"),
)


class NotPlain(OSError):
    """There is something, and it is no plain file."""


class TooLarge(OSError):
    """A plain file that holds more than may be read."""


def names_in(folder: str) -> list[str]:
    """What lies in a folder, in order; nothing where it cannot be read."""
    try:
        return sorted(os.listdir(folder))
    except (OSError, ValueError):
        return []


def open_descriptor(path: str, *, follow: bool = True) -> tuple[int, os.stat_result]:
    """A descriptor of a plain file, and what the kernel says of it. `follow`: whether the last part may be a link."""
    if follow:
        require_plain(os.stat(path))  # opening a device can already do something
    try:
        descriptor = os.open(path, _FLAGS if follow else _FLAGS_NO_LINK)
    except OSError:
        if not follow:
            require_plain(os.lstat(path))  # a link, a socket: say so
        raise
    try:
        status = os.fstat(descriptor)
        require_plain(status)
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor, status


def open_plain(path: str, *, follow: bool = True) -> BinaryIO:
    """A plain file, opened for reading bytes."""
    return os.fdopen(open_descriptor(path, follow=follow)[0], "rb")


def read_plain(path: str, *, max_bytes: int, follow: bool = True) -> bytes:
    """All bytes of a plain file; TooLarge when there are more than `max_bytes`, which costs nothing."""
    return read_with_status(path, max_bytes=max_bytes, follow=follow)[0]


def read_with_status(path: str, *, max_bytes: int, follow: bool = True) -> tuple[bytes, os.stat_result]:
    """The same with what the kernel says of the file, from one open file (S9)."""
    descriptor, status = open_descriptor(path, follow=follow)
    try:
        data = _read(descriptor, max_bytes + 1, status) if status.st_size <= max_bytes else b""
    finally:
        os.close(descriptor)
    if status.st_size > max_bytes or len(data) > max_bytes:
        size = max(status.st_size, len(data))
        raise TooLarge(f"it has {size:,} bytes, more than the {max_bytes:,} that may be read")
    return data, status


def read_beginning(path: str, *, max_bytes: int, follow: bool = True) -> bytes:
    """The first bytes of a plain file, however long it is."""
    descriptor, status = open_descriptor(path, follow=follow)
    try:
        return _read(descriptor, max_bytes, status)
    finally:
        os.close(descriptor)


def read_if_plain(path: str, max_bytes: int) -> bytes | None:
    """A stranger's file; None where none stands, it is larger, or a link, a pipe or a device stands there."""
    if not is_plain_file(path):  # opening a device may already do something
        return None
    try:
        return read_plain(path, max_bytes=max_bytes, follow=False)
    except OSError:
        return None


def is_plain_file(path: str) -> bool:
    """Whether a plain file stands there, and no link to one."""
    try:
        return stat.S_ISREG(os.lstat(path).st_mode)
    except (OSError, ValueError):  # a name with a NUL in it
        return False


def reason_of(error: OSError) -> str:
    """Why a file cannot be read, in words."""
    return os.strerror(error.errno) if error.errno else str(error)


def _read(descriptor: int, limit: int, status: os.stat_result) -> bytes:
    parts = []
    while limit > 0 and status.st_size and (part := os.read(descriptor, min(limit, 1 << 20))):
        parts.append(part)
        limit -= len(part)
    return b"".join(parts)


def require_plain(status: os.stat_result) -> None:
    """NotPlain unless it is a file that lies on a disk."""
    if not stat.S_ISREG(status.st_mode):
        kind = next((words for is_kind, words in _KINDS if is_kind(status.st_mode)), "something else")
        raise NotPlain(f"it is {kind}, no plain file")
    if not status.st_size and any(_is_on(status, folder) for folder in _MADE_UP):
        raise NotPlain("it is no plain file: the kernel makes it up while it is read")


def _is_on(status: os.stat_result, folder: str) -> bool:
    try:
        return os.stat(folder).st_dev == status.st_dev
    except OSError:
        return False


def stamp_of(path: str) -> str:
    """What changes when a file does."""
    try:
        status = os.stat(path)
    except OSError:
        return "-"
    return f"{status.st_mtime_ns}.{status.st_size}"
