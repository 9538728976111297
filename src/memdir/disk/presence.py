"""Who still has a file open for writing. The kernel forgets a writer when it ends, however it ends.

Writers hold a shared lock, so several may write; whoever wants a file that nobody writes any more asks for the whole.
"""

from __future__ import annotations

import os
import sys
from contextlib import contextmanager

from memdir.disk.plain_file import open_descriptor

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

if sys.platform == "win32":

    def mark_present(descriptor: int) -> bool:
        """Windows has no shared lock that leaves other writers alone: presence cannot be marked there."""
        return descriptor >= 0

    def _take_whole(descriptor: int) -> bool:
        """So nobody is ever taken to be gone."""
        return descriptor < 0

else:
    import fcntl

    def mark_present(descriptor: int) -> bool:
        """Say that we are writing. False while somebody has the file for themselves: ask again later."""
        return _try(descriptor, fcntl.LOCK_SH)

    def _take_whole(descriptor: int) -> bool:
        return _try(descriptor, fcntl.LOCK_EX)

    def _try(descriptor: int, kind: int) -> bool:
        try:
            fcntl.flock(descriptor, kind | fcntl.LOCK_NB)
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
        yield _take_whole(descriptor)
    finally:
        os.close(descriptor)
