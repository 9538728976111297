"""Reads what the package ships beside its modules, by the path below `memdir`: tables, texts, weights. They are ours:
nothing here is a defence.
"""

from __future__ import annotations

import os

_PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


def shipped_path(name: str) -> str:
    """Where a file of the package lies."""
    return os.path.join(_PACKAGE, name)


def shipped_text(name: str) -> str:
    """The whole text of a file."""
    with open(shipped_path(name), encoding="utf-8") as file:
        return file.read()


def shipped_lines(name: str) -> list[str]:
    """The lines of a table, without comments and empty ones."""
    return [line for line in shipped_text(name).split("\n") if line.strip() and not line.startswith("#")]


def shipped_bytes(name: str) -> bytes:
    """The bytes of a file."""
    with open(shipped_path(name), "rb") as file:
        return file.read()


def shipped_map(name: str) -> memoryview:
    """A large file, mapped: only the pages that are looked at are read."""
    import mmap

    with open(shipped_path(name), "rb") as file:
        return memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))
