"""Session: all state of one conversation. Nothing about a conversation lives anywhere else."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass, field

from memdir.disk.atomic import make_folder, write_bytes_atomic
from memdir.layout import Layout


@dataclass
class Session:
    """What is remembered about one conversation while it lasts, and the little of it that outlives a crash."""

    id: str
    layout: Layout
    memory_is_on: bool = True
    extract_cursor: str = ""
    turns_since_extraction: int = 0
    surfaced: set[str] = field(default_factory=set)

    @staticmethod
    def load(session_id: str, layout: Layout) -> Session:
        """A session as a crash left it, or a new one."""
        session = Session(session_id, layout)
        try:
            with open(layout.session_state(session_id), encoding="utf-8") as file:
                found = json.load(file)
            session.extract_cursor = str(found["extractCursor"])
        except (OSError, ValueError, KeyError, TypeError):
            session.extract_cursor = ""
        return session

    def move_cursor(self, message_id: str) -> None:
        """Messages up to this one are done. Written after the memories are: a crash repeats, it never loses."""
        self.extract_cursor = message_id
        path = self.layout.session_state(self.id)
        make_folder(os.path.dirname(path))
        write_bytes_atomic(path, json.dumps({"extractCursor": message_id}).encode("utf-8") + b"\n")
