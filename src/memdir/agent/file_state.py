"""What an agent has read, so that it edits only what it knows (G6). A fork gets a copy: nothing leaks back (G2)."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field


@dataclass
class FileState:
    """The content of each file as it was last read or written, by its digest."""

    _seen: dict[str, bytes] = field(default_factory=dict)

    def saw(self, path: str, data: bytes) -> None:
        self._seen[path] = _digest(data)

    def forget(self, path: str) -> None:
        self._seen.pop(path, None)

    def fault_of_edit(self, path: str, data: bytes) -> str:
        """Why a file may not be changed now; empty when it may."""
        known = self._seen.get(path)
        if known is None:
            return f"{path} has not been read yet: Read it first"
        if known != _digest(data):
            return f"{path} has changed since it was read: Read it again"
        return ""

    def clone(self) -> FileState:
        return FileState(dict(self._seen))


def _digest(data: bytes) -> bytes:
    return hashlib.blake2b(data, digest_size=16).digest()
