"""Files whose every change is told to somebody first: that is how a session's file history comes to be (J2)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from memdir.agent.files import Files
from memdir.errors import MemoryNotFound

Listener = Callable[[str, bytes | None, bytes | None], None]


@dataclass(frozen=True)
class RecordedFiles:
    """Passes everything on to other files, and tells its listeners of each write before it happens."""

    files: Files
    listeners: Sequence[Listener]

    def is_draft(self, path: str) -> bool:
        return self.files.is_draft(path)

    def read(self, path: str) -> bytes:
        return self.files.read(path)

    def write(self, path: str, data: bytes) -> None:
        try:
            before = self.files.read(path)
        except MemoryNotFound:
            before = None
        for listener in self.listeners:
            listener(path, before, data)
        self.files.write(path, data)

    def walk(self, folder: str) -> Iterator[str]:
        return self.files.walk(folder)
