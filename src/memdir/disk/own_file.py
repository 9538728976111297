"""Small files of ours that may be damaged: what is no plain file, or larger than it can be, counts as not there."""

from __future__ import annotations

import os
import stat

from memdir.disk.plain_file import read_plain


def read_own_file(path: str, max_bytes: int) -> bytes | None:
    """What the file holds; None when it cannot be read. No link is followed."""
    try:
        return read_plain(path, max_bytes=max_bytes, follow=False)
    except OSError:
        return None


def is_own_file(path: str) -> bool:
    """Whether a plain file stands there, and no link to one."""
    try:
        return stat.S_ISREG(os.lstat(path).st_mode)
    except OSError:
        return False
