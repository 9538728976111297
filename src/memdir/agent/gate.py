"""The one door for an agent's tool calls: allow, or deny with a reason that the model can act on (G4).

A fork keeps its parent's list of tools, because tools are part of the cache key, and is held here instead.
"""

from __future__ import annotations

import os
import re
from collections.abc import Awaitable, Sequence
from dataclasses import dataclass
from typing import Protocol

from memdir.agent.bash import why_no_bash
from memdir.disk.safe_path import is_inside
from memdir.store.form import HOW_TO_DELETE
from memdir.transcript.message import ToolUse

READING = frozenset(("Read", "Grep", "Glob"))
WRITING = frozenset(("Write", "Edit"))
FILE_TOOLS = WRITING | {"Read"}
# A command or the name of a tool that would delete a file.
_DELETING = re.compile(
    r"(?:^|[;&|]|\bgit |\bsudo )\s*(?:rm|unlink|rmdir|del|trash|shred)\s|^(?i:delete|remove|unlink|rm)"
)


@dataclass(frozen=True, slots=True)
class Allow:
    """The call may run."""

    is_reading: bool = False  # a command that was judged to only read: it runs in the sandbox or not at all


@dataclass(frozen=True, slots=True)
class Deny:
    """The call may not run; `reason` names the offending word and what to do instead."""

    reason: str  # what the model is told


class Gate(Protocol):
    """Judges one tool call. Anything but `Allow` is a refusal; a gate that asks a person is awaited."""

    def __call__(self, call: ToolUse) -> Allow | Deny | Awaitable[Allow | Deny]: ...


@dataclass(frozen=True)
class MemoryGate:
    """The gate of extraction and dream: read anything harmless, write memories only."""

    roots: tuple[str, ...]
    cwd: str
    no_bash: str = ""  # why there is none, if so
    deleting: str = HOW_TO_DELETE  # what to do instead of a command that deletes

    def __call__(self, call: ToolUse) -> Allow | Deny:
        if call.name in READING:
            return Allow()
        if call.name in WRITING:
            return self._judge_write(call)
        if call.name == "Bash":
            return self._judge_command(call)
        if _DELETING.search(call.name):
            return Deny(f"{call.name} is not available here. {self.deleting}")
        shell = "" if self.no_bash else "read-only Bash, "
        return Deny(
            f"{call.name} is not available here: only Read, Grep, Glob, {shell}and Edit or Write inside "
            f"{self._places()} are"
        )

    def _judge_write(self, call: ToolUse) -> Allow | Deny:
        path = call.input.get("file_path")
        if not isinstance(path, str) or "\0" in path:
            return Deny("file_path is missing or no path")
        if any(is_inside(os.path.join(self.cwd, path), root) for root in self.roots):
            return Allow()
        name = os.path.basename(path.rstrip("/")) or "name.md"
        there = os.path.join(self.roots[0], name)
        return Deny(f"{path} is outside the memory directory: write only below {self._places()}, this as {there}")

    def _judge_command(self, call: ToolUse) -> Allow | Deny:
        if _DELETING.search(str(call.input.get("command", ""))):
            return Deny(f"commands that delete are not available here. {self.deleting}")
        if self.no_bash:
            return Deny(f"Bash is not available here, because {self.no_bash}: use Read, Grep and Glob")
        from memdir.agent.bash.shell_judge import judge

        return judge(str(call.input.get("command", "")), cwd=self.cwd)

    def _places(self) -> str:
        return " or ".join(self.roots)


@dataclass(frozen=True)
class SingleFileGate:
    """Read, Edit and Write of one file; everything else is refused."""

    path: str
    cwd: str

    def __call__(self, call: ToolUse) -> Allow | Deny:
        path = call.input.get("file_path")
        is_fitting = (call.name == "Read" or call.name in WRITING) and isinstance(path, str) and "\0" not in path
        if is_fitting and os.path.realpath(os.path.join(self.cwd, str(path))) == os.path.realpath(self.path):
            return Allow()
        return Deny(f"only Read, Edit and Write of {self.path} are available here")


def memory_gate(roots: Sequence[str], *, cwd: str) -> Gate:
    """The gate for a fork that keeps memories below `roots`."""
    return MemoryGate(tuple(roots), cwd, why_no_bash())


def allow_all(call: ToolUse) -> Allow | Deny:
    """The gate of a host that asks its user itself."""
    del call
    return Allow()
