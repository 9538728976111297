"""Who still has a file open for writing, by the kernel's lock on it: free again when its writer ends, however it ends.

A writer that shares its file with others holds a shared lock; whoever wants a file that nobody writes any more asks for
the whole.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from memdir.disk.plain_file import open_descriptor


def try_lock(descriptor: int) -> bool:
    """Take the lock if it is free; OSError on a file system without locks."""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def mark_writing(descriptor: int) -> bool:
    """Say that we are writing. False while somebody has the file for themselves: ask again later."""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except OSError:  # held by another, or a file system without locks
        return False
    return True


@contextmanager
def left_alone(path: str) -> Iterator[bool]:
    """Whether nobody writes the file; if so, it stays ours for the length of the `with` block."""
    try:
        descriptor, _ = open_descriptor(path, follow=False)
    except OSError:
        yield False
        return
    try:
        is_free = False
        with suppress(OSError):  # a file system without locks: nobody is taken to be gone
            is_free = try_lock(descriptor)
        yield is_free
    finally:
        os.close(descriptor)
