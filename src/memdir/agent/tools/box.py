"""The tools that memdir brings."""

from __future__ import annotations

from memdir.agent.bash.bash_tool import BashTool
from memdir.agent.tools.edit import EditTool
from memdir.agent.tools.glob import GlobTool
from memdir.agent.tools.grep import GrepTool
from memdir.agent.tools.read import ReadTool
from memdir.agent.tools.tool import Tool
from memdir.agent.tools.write import WriteTool


def memory_tools() -> tuple[Tool, ...]:
    """All of them, in the order a host lists them."""
    return (ReadTool(), WriteTool(), EditTool(), GrepTool(), GlobTool(), BashTool())
