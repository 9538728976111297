"""Reads what the package ships beside its modules, by the path below `memdir`: tables, texts, weights, and the names
that its packages offer.

Some of them say what is a secret, or whose words a text is: where one is missing, empty or no text, nothing goes on.
"""

from __future__ import annotations

import io
import os

from memdir.errors import MemdirError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

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


def lazily(package: str, *, moved: str = "") -> Callable[[str], Any]:
    """The `__getattr__` of a package that offers names of its modules, those in its `__init__.pyi`, without loading
    them: a hook pays only for what it uses (ADR 0003). What it has `moved` is an ImportError: of an AttributeError an
    import tells only that there is no such name."""
    homes: dict[str, str] = {}

    def load(name: str) -> object:
        if not homes:
            import re

            stub = shipped_text("/".join((*package.split(".")[1:], "__init__.pyi")))
            homes.update(
                {found: home for home, found in re.findall(r"^from (\S+) import (\w+) as ", stub, re.MULTILINE)}
            )
        if name == "__all__":
            return sorted(homes)
        if name in moved.split():
            raise ImportError(f"{name} is elsewhere now: docs/how-to/upgrade.md says where", name=package)
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        from importlib import import_module

        return getattr(import_module(homes[name]), name)

    return load
