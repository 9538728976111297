"""Small tools and boxes for tests of the loop."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from memdir.agent.file_access import DiskFiles, Files
from memdir.agent.tools.tool import Outcome, Tool, Toolbox, ToolContext, memory_tools
from memdir.model.model import ToolSpec
from memdir.transcript.message import Json

ANY = {"type": "object", "properties": {"n": {"type": "integer"}, "file_path": {"type": "string"}}}


@dataclass
class TestTool:
    """A tool that does what a test says."""

    __test__ = False
    act: Callable[[Mapping[str, Json]], str]
    name: str = "Act"
    seen: list[Mapping[str, Json]] = field(default_factory=list)

    @property
    def spec(self) -> ToolSpec:
        return ToolSpec(self.name, "Does something.", ANY)

    async def run(self, arguments: Mapping[str, Json], context: ToolContext) -> Outcome:
        self.seen.append(arguments)
        return Outcome(self.act(arguments))


class MeetingTool:
    """Waits until as many of its calls as were announced run at the same time."""

    spec = ToolSpec("Meet", "Waits for the others.", ANY)

    def __init__(self, parties: int) -> None:
        self._barrier = asyncio.Barrier(parties)

    async def run(self, arguments: Mapping[str, Json], context: ToolContext) -> Outcome:
        async with asyncio.timeout(20):
            await self._barrier.wait()
        return Outcome(f"met {arguments['n']}")


def box(folder: Path, tools: Sequence[Tool] = (), *, files: Files | None = None) -> Toolbox:
    """A box of these tools, or of all that memdir brings, on a folder."""
    return Toolbox(tools or memory_tools(), ToolContext(str(folder), files or DiskFiles()))
