"""The commands that a person lets an agent run in one project without being asked again; a file in memdir's home, which
is theirs to edit."""

from __future__ import annotations

import os

from memdir.disk.atomic import make_folder, write_bytes_atomic
from memdir.disk.plain_file import read_if_plain
from memdir.disk.plain_json import decode, encode

MAX_BYTES = 1 << 20  # a few lines


class AllowedCommands:
    """What was allowed for good, word for word. Without a path nothing is, and nothing can be."""

    def __init__(self, path: str) -> None:
        self.path = path

    def __contains__(self, command: object) -> bool:
        return command in self._commands()

    def add(self, command: str) -> None:
        if self.path and command not in self:
            make_folder(os.path.dirname(self.path))
            write_bytes_atomic(self.path, f"{encode({'commands': [*self._commands(), command]})}\n".encode())

    def _commands(self) -> list[str]:
        found = decode(read_if_plain(self.path, MAX_BYTES) or b"") if self.path else None
        commands = found.get("commands") if isinstance(found, dict) else None
        return [one for one in commands if isinstance(one, str)] if isinstance(commands, list) else []
