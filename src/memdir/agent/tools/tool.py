"""The contract of a tool, and the box that runs them: checked arguments in, a result that a model can use out."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from memdir.agent.file_state import FileState
from memdir.agent.files import Files
from memdir.agent.tools.schema import fault_of_arguments
from memdir.errors import MemdirError
from memdir.model.model import ToolSpec
from memdir.transcript.message import Json, ToolResult, ToolUse

MAX_RESULT_CHARACTERS = 60_000  # about 15,000 tokens: what a result may cost the conversation
MAX_AT_ONCE = 16  # tools running at the same time; more calls wait their turn


@dataclass(frozen=True)
class Outcome:
    """What a tool did: text for the model, and whether it failed."""

    content: str
    is_error: bool = False


@dataclass(frozen=True)
class ToolContext:
    """What tools work on: the folder they start in, the files they may see and change, what was read before."""

    cwd: str
    files: Files
    state: FileState = field(default_factory=FileState)


class Tool(Protocol):
    """One thing an agent can do."""

    @property
    def spec(self) -> ToolSpec: ...

    async def run(self, arguments: Mapping[str, Json], context: ToolContext) -> Outcome:
        """Do it. MemdirError becomes a failed result; nothing else may be raised."""
        ...


class Toolbox:
    """The tools of one agent and what they work on."""

    def __init__(self, tools: Sequence[Tool], context: ToolContext) -> None:
        self._tools = {tool.spec.name: tool for tool in tools}
        self._slots = asyncio.Semaphore(MAX_AT_ONCE)
        self.context = context

    @property
    def specs(self) -> tuple[ToolSpec, ...]:
        return tuple(tool.spec for tool in self._tools.values())

    def knows(self, name: str) -> bool:
        return name in self._tools

    async def run(self, use: ToolUse) -> ToolResult:
        """Run one call. Whatever goes wrong comes back to the model as a result."""
        outcome = self._fault(use)
        if outcome is None:
            async with self._slots:
                try:
                    outcome = await self._tools[use.name].run(use.input, self.context)
                except MemdirError as error:
                    outcome = Outcome(str(error), is_error=True)
        return ToolResult(use.id, shortened(outcome.content), outcome.is_error)

    def _fault(self, use: ToolUse) -> Outcome | None:
        if use.name not in self._tools:
            names = ", ".join(self._tools) or "none"
            return Outcome(f"There is no tool {use.name!r}. The tools are: {names}.", is_error=True)
        fault = use.fault or fault_of_arguments(use.input, self._tools[use.name].spec.input_schema)
        return Outcome(f"The call of {use.name} cannot be run: {fault}.", is_error=True) if fault else None


def shortened(text: str) -> str:
    """A result that fits: its beginning and its end, and a line that says what was left out."""
    if len(text) <= MAX_RESULT_CHARACTERS:
        return text
    head, tail = MAX_RESULT_CHARACTERS * 3 // 4, MAX_RESULT_CHARACTERS // 4
    left_out = len(text) - head - tail
    return f"{text[:head]}\n… [{left_out:,} characters left out; ask for a smaller part] …\n{text[-tail:]}"
