"""Agents with a home of their own for each test."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from memdir.layout import Layout
from tests.hooks.agents import Agent

MakeAgent = Callable[..., Agent]


@pytest.fixture
def make_agent(memdir_command: str, tmp_path: Path, project: Path, git: Callable[..., str]) -> MakeAgent:
    """An agent at work in the project, which has git."""
    git("init", "-q", cwd=project)

    def make(host: str, **more: object) -> Agent:
        dropped = ("ANTHROPIC_API_KEY", "OPENAI_API_KEY", "PYTHONDONTWRITEBYTECODE")
        environment = {name: value for name, value in os.environ.items() if name not in dropped}
        environment["XDG_DATA_HOME"] = str(tmp_path / "agents" / "data")
        return Agent(host, tmp_path / "agents", project.resolve(), memdir_command, environment=environment, **more)

    return make


@pytest.fixture
def layout(tmp_path: Path, project: Path) -> Layout:
    return Layout(str(tmp_path / "home"), str(project.resolve()))


@pytest.fixture
def memories(layout: Layout) -> Callable[[], list[str]]:
    """The names of the memories that there are."""

    def names() -> list[str]:
        folders = (Path(layout.default_memory), Path(layout.user_memory.root))
        found = [path.name for folder in folders if folder.is_dir() for path in folder.glob("*.md")]
        return sorted(name for name in found if name != "MEMORY.md")

    return names


@pytest.fixture
def is_idle(layout: Layout) -> Callable[[], bool]:
    """Whether nothing waits for a worker."""
    return lambda: not list((Path(layout.attached) / "queue").glob("*"))
