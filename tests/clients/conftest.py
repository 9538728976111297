"""A home in which all five clients are set up as their owner keeps them, and memdir is attached to them."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.clients.coding_agents import CodingAgent, skip_unless_wanted
from tests.clients.own_settings import write_settings
from tests.provider_server import ProviderServer, Recorded


@dataclass
class Desk:
    """A person's home, with a project, the clients, a model provider and memdir."""

    home: Path
    project: Path
    server: ProviderServer
    program: Path  # memdir
    has_memdir: bool = False  # whether the clients find it by its name

    def client(self, name: str) -> CodingAgent:
        beside = str(self.program.parent) if self.has_memdir else ""
        return CodingAgent(name, self.home, self.project, self.server.url, beside)

    def memdir(self, *words: str, code: int = 0) -> str:
        """What a command of memdir prints."""
        environment = {**self.client("claude").environment, "NO_COLOR": "1"}
        command = [str(self.program), *words]
        done = subprocess.run(command, cwd=self.project, env=environment, capture_output=True, text=True, timeout=120)
        assert done.returncode == code, done.stderr
        return done.stdout

    def requests_of(self, act: Callable[[], object]) -> list[Recorded]:
        """What reached the provider while something was done."""
        before = len(self.server.requests)
        act()
        return self.server.requests[before:]

    def asked(self, name: str, prompt: str, *more: str) -> list[Recorded]:
        """What a client sends when it is asked; it answers, whatever else happens."""

        def ask() -> None:
            done = self.client(name).ask(prompt, *more)
            assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
            assert "ok" in done.stdout

        found = self.requests_of(ask)
        assert any(prompt in text for request in found for text in texts(request.body)), "the prompt was dropped"
        return found

    @property
    def memories(self) -> list[Path]:
        found = (self.home / ".memdir").glob("projects/*/memory/*.md")
        return sorted(path for path in found if path.name != "MEMORY.md")


def texts(value: object) -> list[str]:
    """Every text in a request."""
    if isinstance(value, str):
        return [value]
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return [text for one in inner for text in texts(one)]


@pytest.fixture
def desk(tmp_path: Path, memdir_command: str, git: Callable[..., str]) -> Iterator[Desk]:
    """Nothing is attached yet."""
    skip_unless_wanted()
    home, project, program = tmp_path / "her home", tmp_path / "her project", tmp_path / "bin" / "memdir"
    for folder in (home, project, program.parent):
        folder.mkdir()
    git("init", "-q", cwd=project)
    program.symlink_to(memdir_command)
    with ProviderServer() as server:
        write_settings(home, server.url)
        desk = Desk(home, project, server, program)
        yield desk
        environment = desk.client("claude").environment
        subprocess.run([memdir_command, "daemon", "stop"], env=environment, capture_output=True, timeout=60)


@pytest.fixture
def attached(desk: Desk) -> Desk:
    desk.memdir("attach", "--yes")
    return desk
