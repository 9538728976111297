"""The tools that memdir brings, and what a job tells a fork about them."""

from __future__ import annotations

from memdir.agent.bash import why_no_bash
from memdir.agent.tools.edit import EditTool
from memdir.agent.tools.glob import GlobTool
from memdir.agent.tools.grep import GrepTool
from memdir.agent.tools.read import ReadTool
from memdir.agent.tools.tool import Tool, Toolbox
from memdir.agent.tools.write import WriteTool
from memdir.prompts.compose import load_prompt


def memory_tools() -> tuple[Tool, ...]:
    """All that work here, in the order a host lists them: Bash needs the extra `bash` and a kernel sandbox."""
    tools: tuple[Tool, ...] = (ReadTool(), WriteTool(), EditTool(), GrepTool(), GlobTool())
    if why_no_bash():
        return tools
    from memdir.agent.bash.bash_tool import BashTool

    return (*tools, BashTool())


def told_of_bash(tools: Toolbox) -> str:
    """What a fork's job says about Bash: nothing when the fork has none, or a turn would be lost on a refusal."""
    return load_prompt("extract/bash.md").text.rstrip("\n") if tools.knows("Bash") else ""
