"""Memory for LLM agents as plain Markdown files that a person can read, edit, diff and undo.

The public names; everything else is private, whatever its name. Importing does nothing: each name is loaded when used.
"""

from __future__ import annotations

from memdir.version import __version__

TYPE_CHECKING = False
if TYPE_CHECKING:
    from memdir.errors import MemdirError as MemdirError
    from memdir.memdir import MemDir as MemDir
    from memdir.memdir import open_memory as open_memory
    from memdir.settings import Settings as Settings
    from memdir.settings import load_settings as load_settings
    from memdir.store.store import Memory as Memory
    from memdir.store.store import MemoryStore as MemoryStore
    from memdir.store.taxonomy import MemoryType as MemoryType

_HOMES = {
    "MemDir": "memdir.memdir",
    "MemdirError": "memdir.errors",
    "Memory": "memdir.store.store",
    "MemoryStore": "memdir.store.store",
    "MemoryType": "memdir.store.taxonomy",
    "Settings": "memdir.settings",
    "load_settings": "memdir.settings",
    "open_memory": "memdir.memdir",
}

__all__ = [
    "MemDir",
    "MemdirError",
    "Memory",
    "MemoryStore",
    "MemoryType",
    "Settings",
    "__version__",
    "load_settings",
    "open_memory",
]


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module 'memdir' has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return sorted(__all__)
