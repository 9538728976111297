"""Reads what the package ships beside its modules, by the path below `memdir`: tables, texts, weights.

Some of them say what is a secret, or whose words a text is: where one is missing, empty or no text, nothing goes on.
"""

from __future__ import annotations

import io
import os

from memdir.errors import MemdirError

TABLE_END = "# end"
_PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


def shipped_path(name: str) -> str:
    """Where a file of the package lies."""
    return os.path.join(_PACKAGE, name)


def shipped_text(name: str) -> str:
    """The whole text of a file."""
    try:
        return shipped_bytes(name).decode("utf-8").replace("\r\n", "\n")
    except UnicodeDecodeError:
        raise broken(name, "damaged") from None


def shipped_lines(name: str) -> list[str]:
    """The lines of a table, without comments and empty ones; where its last line does not say so, some are missing."""
    lines = [line for line in shipped_text(name).split("\n") if line.strip()]
    rows = [line for line in lines if not line.startswith("#")]
    if not rows or lines[-1] != TABLE_END:
        raise broken(name, "cut short" if rows else "empty")
    return rows


def shipped_bytes(name: str) -> bytes:
    """The bytes of a file."""
    with _opened(name) as file:
        return file.read()


def shipped_map(name: str) -> memoryview:
    """A large file, mapped: only the pages that are looked at are read."""
    import mmap

    with _opened(name) as file:
        return memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))


def _opened(name: str) -> io.BufferedReader:
    path = shipped_path(name)
    if not os.path.isfile(path) or not os.path.getsize(path):
        raise broken(name, "empty" if os.path.isfile(path) else "missing")
    return open(path, "rb")


def broken(name: str, how: str) -> MemdirError:
    """What to raise where a shipped file is not what it must be."""
    return MemdirError(f"memdir is not installed completely: its file {name} is {how}", remedy="Install memdir again")
