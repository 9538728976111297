"""The hands of a fork that keeps one file up to date: it sees that file, it changes that file, nothing else (N6)."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass

from memdir.agent.files import DiskFiles
from memdir.agent.gate import WRITING
from memdir.agent.verdict import Allow, Deny
from memdir.errors import MemoryNotFound, PathEscape
from memdir.transcript.message import ToolUse


@dataclass
class SingleFile:
    """One file, which reads as `template` while there is none. What is written stays a draft until it is kept."""

    path: str
    template: bytes = b""
    draft: bytes | None = None

    def is_draft(self, path: str) -> bool:
        self._require(path)
        return self.draft is not None or not os.path.exists(self.path)

    def read(self, path: str) -> bytes:
        self._require(path)
        if self.draft is not None:
            return self.draft
        try:
            return DiskFiles().read(self.path)
        except MemoryNotFound:
            return self.template

    def write(self, path: str, data: bytes) -> None:
        self._require(path)
        self.draft = data

    def walk(self, folder: str) -> Iterator[str]:
        if os.path.realpath(self.path).startswith(os.path.realpath(folder) + os.sep):
            yield self.path

    def _require(self, path: str) -> None:
        if os.path.realpath(path) != os.path.realpath(self.path):
            raise PathEscape(f"{path} is not the file at hand", remedy=f"Only {self.path} may be read and changed here")


@dataclass(frozen=True)
class SingleFileGate:
    """Read, Edit and Write of one file; everything else is refused."""

    path: str
    cwd: str

    def __call__(self, call: ToolUse) -> Allow | Deny:
        path = call.input.get("file_path")
        is_fitting = call.name == "Read" or call.name in WRITING
        if is_fitting and isinstance(path, str) and "\0" not in path and self._is_it(path):
            return Allow()
        return Deny(f"only Read, Edit and Write of {self.path} are available here")

    def _is_it(self, path: str) -> bool:
        return os.path.realpath(os.path.join(self.cwd, path)) == os.path.realpath(self.path)
