"""A dream as a task that a person can watch and stop (D5)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal

from memdir.agent.gate import WRITING
from memdir.agent.loop import Abort
from memdir.host import tell
from memdir.transcript.message import Message

Phase = Literal["starting", "updating", "done", "failed", "stopped"]


@dataclass
class DreamTask:
    """Where a dream is: phase, sessions under review, turns taken, files touched. `kill` stops it and rolls it back."""

    sessions: int
    on_change: Callable[[DreamTask], None] | None = None
    phase: Phase = "starting"
    turns: int = 0
    files: list[str] = field(default_factory=list)
    abort: Abort = field(default_factory=Abort)

    def saw(self, message: Message) -> None:
        """Follow the fork's messages."""
        if message.role == "assistant":
            self.turns += 1
            touched = [str(use.input.get("file_path", "")) for use in message.tool_uses if use.name in WRITING]
            self.files += [path for path in touched if path not in self.files]
            self._move("updating" if self.files else self.phase)

    def finish(self, phase: Phase) -> None:
        self._move(phase)

    def kill(self) -> None:
        self.abort.set("stopped by the user")

    def _move(self, phase: Phase) -> None:
        self.phase = phase
        tell(self.on_change, self)
