"""Runs one tool call on a folder, the way the loop does."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from memdir.agent.tools.tool import Toolbox
from memdir.transcript.message import Json, ToolResult, ToolUse
from tests.agent.boxes import box

Run = Callable[..., Awaitable[ToolResult]]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    found = tmp_path / "folder"
    found.mkdir()
    return found


@pytest.fixture
def tools(folder: Path) -> Toolbox:
    return box(folder)


@pytest.fixture
def run(tools: Toolbox) -> Run:
    async def call(tool: str, **arguments: Json) -> ToolResult:
        return await tools.run(ToolUse("1", tool, arguments))

    return call
