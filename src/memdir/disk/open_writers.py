"""Who still has a file open for writing, by the kernel's lock on it: free again when its writer ends, however it ends.

A writer that shares its file with others holds a shared lock; whoever wants a file that nobody writes any more asks for
the whole.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from memdir.disk.plain_file import open_descriptor

if sys.platform == "win32":
    import msvcrt

    _FAR = 1 << 20  # behind the text, so that it stays readable

    def try_lock(descriptor: int) -> bool:
        """Take the lock if it is free."""
        try:
            os.lseek(descriptor, _FAR, os.SEEK_SET)
            msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
        except OSError:
            return False
        return True

    def unlock(descriptor: int) -> None:
        os.lseek(descriptor, _FAR, os.SEEK_SET)
        msvcrt.locking(descriptor, msvcrt.LK_UNLCK, 1)

    def mark_writing(descriptor: int) -> bool:
        """Windows has no shared lock that leaves other writers alone: a writer cannot be marked there."""
        return descriptor >= 0

    def _take_whole(descriptor: int) -> bool:
        """So nobody is ever taken to be gone."""
        return descriptor < 0

else:
    import fcntl

    def try_lock(descriptor: int) -> bool:
        """Take the lock if it is free; OSError on a file system without locks."""
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True

    def unlock(descriptor: int) -> None:
        fcntl.flock(descriptor, fcntl.LOCK_UN)

    def mark_writing(descriptor: int) -> bool:
        """Say that we are writing. False while somebody has the file for themselves: ask again later."""
        try:
            fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except OSError:  # held by another, or a file system without locks
            return False
        return True

    def _take_whole(descriptor: int) -> bool:
        try:
            return try_lock(descriptor)
        except OSError:
            return False  # a file system without locks: nobody is taken to be gone


@contextmanager
def left_alone(path: str) -> Iterator[bool]:
    """Whether nobody writes the file; if so, it stays ours for the length of the `with` block."""
    try:
        descriptor, _ = open_descriptor(path, follow=False)
    except OSError:
        yield False
        return
    try:
        yield _take_whole(descriptor)
    finally:
        os.close(descriptor)


def is_shared(descriptor: int) -> bool:
    """Whether somebody else is known to write the file too. If not, we are from now on."""
    is_marked = sys.platform != "win32" and mark_writing(descriptor)
    return is_marked and not (_take_whole(descriptor) and mark_writing(descriptor))
