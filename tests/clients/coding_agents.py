"""The five real coding agents, run without a terminal against the test server in a home of their own.

`make test-clients` installs them below `.clients`, in the versions of `package.json`. None of them reaches anything but
127.0.0.1: whatever they try beside the test server goes to a proxy that is not there.
"""

from __future__ import annotations

import os
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.provider_server import KEY

FOLDER = Path(__file__).parents[2] / ".clients"
INSTALLED = FOLDER / "node_modules" / ".bin"
NAMES = ("claude", "codex", "gemini", "qwen", "opencode")
SECONDS = 150  # for one answer: each takes a few on a quiet machine
_NOWHERE = "http://127.0.0.1:9"
_COMMANDS = {
    "claude": ("-p", "{}", "--model", "claude-sonnet-4-5", "--output-format", "stream-json", "--verbose"),
    "codex": ("exec", "--json", "--skip-git-repo-check", "--dangerously-bypass-hook-trust", "{}"),
    "gemini": ("-p", "{}", "-m", "gemini-2.5-flash", "--output-format", "json", "--approval-mode", "yolo"),
    "qwen": ("-p", "{}", "--output-format", "json", "--approval-mode", "yolo"),
    "opencode": ("run", "--model", "stub/stub-model", "{}"),
}


def skip_unless_wanted() -> None:
    """The default tests need no npm, and take no minutes."""
    if not os.environ.get("TEST_CLIENTS"):
        pytest.skip("the real clients are run by `make test-clients`")
    if not (FOLDER / ".installed").exists():
        pytest.skip("the clients are not installed below .clients: `make test-clients` said why")


@dataclass
class CodingAgent:
    """One of the five in a home and a project."""

    name: str
    home: Path
    project: Path
    url: str  # of the test server
    beside: str = ""  # a folder of programs that it finds first

    @property
    def program(self) -> str:
        return str(INSTALLED / self.name)

    @property
    def environment(self) -> dict[str, str]:
        """All that the program gets of one."""
        return {
            "HOME": str(self.home),
            "PATH": os.pathsep.join(filter(None, (self.beside, str(INSTALLED), os.environ["PATH"]))),
            "TERM": "xterm-256color",
            "LANG": "C.UTF-8",
            "HTTPS_PROXY": _NOWHERE,
            "HTTP_PROXY": _NOWHERE,
            "NO_PROXY": "127.0.0.1,localhost",
            "DISABLE_AUTOUPDATER": "1",
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
            "IS_SANDBOX": "1",
            "ANTHROPIC_BASE_URL": self.url,
            "ANTHROPIC_API_KEY": KEY,
            "GEMINI_API_KEY": KEY,
            "GOOGLE_GEMINI_BASE_URL": self.url,
            "GEMINI_CLI_TRUST_WORKSPACE": "true",
            "OPENAI_API_KEY": KEY,
            "OPENAI_BASE_URL": f"{self.url}/v1",
            "OPENAI_MODEL": "stub-model",
            "OPENCODE_DISABLE_MODELS_FETCH": "1",
            "OPENCODE_DISABLE_AUTOUPDATE": "1",
        }

    def run(self, *words: str, said: str = "") -> str:
        """What the program prints for a command that asks no model."""
        done = subprocess.run(
            [self.program, *words],
            cwd=self.project,
            env=self.environment,
            input=said,
            capture_output=True,
            text=True,
            timeout=SECONDS,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout + done.stderr

    def ask(self, prompt: str, *more: str) -> subprocess.CompletedProcess[str]:
        """Say one thing in a new session, and wait until the program has ended."""
        words = [prompt if word == "{}" else word for word in _COMMANDS[self.name]]
        at = 1 if self.name == "codex" else len(words)  # a command below `codex exec` comes first
        return subprocess.run(
            [self.program, *words[:at], *more, *words[at:]],
            cwd=self.project,
            env=self.environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=SECONDS,
        )
