"""What stays with a folder that is renamed or moved on its disk: its number there, and when it was made.

The number alone does not tell: a disk gives it again to the next folder. Python asks Linux for no time of birth, so the
C library is asked.
"""

from __future__ import annotations

import os
import sys

_AT_FDCWD = -100
_NO_AUTOMOUNT = 0x800
_WANT_BIRTH = 0x800
_FIELDS = ((0, 4), (80, 8), (88, 4))  # of `struct statx`, place and size: what was given, seconds, nanoseconds


def folder_mark(path: str) -> str:
    """The mark of the folder at `path`; empty where the system cannot tell one from the next."""
    try:
        status = os.stat(path)
        birth = _birth_on_linux(path) if sys.platform.startswith("linux") else getattr(status, "st_birthtime", 0)
    except (OSError, ValueError, AttributeError):  # AttributeError: a C library without it
        return ""
    return f"{status.st_ino}-{birth}" if birth else ""


def number_in(mark: str) -> str:
    """The number in a mark, which is cheap to compare."""
    return mark.partition("-")[0]


def _birth_on_linux(path: str) -> int:
    import ctypes

    answer = bytearray(256)
    asked = (ctypes.c_int(_AT_FDCWD), os.fsencode(path), ctypes.c_int(_NO_AUTOMOUNT), ctypes.c_uint(_WANT_BIRTH))
    if ctypes.CDLL(None).statx(*asked, (ctypes.c_char * len(answer)).from_buffer(answer)) != 0:
        return 0
    given, seconds, nanos = (int.from_bytes(answer[at : at + size], sys.byteorder) for at, size in _FIELDS)
    return seconds * 10**9 + nanos if given & _WANT_BIRTH else 0
