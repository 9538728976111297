"""Settings of five agents as their owner keeps them, and the program that is run on them."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.in_process import run_here

CLAUDE = """{
  "model": "opus",
  "hooks": {
    "Stop": [
      {"hooks": [{"type": "command", "command": "beep"}]}
    ]
  },
  "unknown": [1, 2]
}
"""
GEMINI = """{
  // my theme
  "theme": "dark", /* keep */
  "mcpServers": {
    "other": {"command": "x"}, // theirs
  },
}
"""
CODEX_HOOKS = '{"description": "mine", "hooks": {"Stop": [{"hooks": [{"type": "command", "command": "beep"}]}]}}\n'
CODEX = '# my model\nmodel = "gpt" # fast\n\n[hooks.state."HOOKS:stop:0:0"]\ntrusted_hash = "sha256:aa"\n'
QWEN = '{"$version": 4}'
OPENCODE = '{\n\t"$schema": "x",\n\t"mcp": {}\n}\n'

Run = Callable[..., subprocess.CompletedProcess[str]]
Told = Callable[..., dict[str, Any]]


@pytest.fixture
def user_home(tmp_path: Path) -> Path:
    home = tmp_path / "user-home"
    files = {
        ".claude/settings.json": CLAUDE,
        ".claude.json": '{"numStartups": 3}',
        ".codex/hooks.json": CODEX_HOOKS,
        ".codex/config.toml": CODEX.replace("HOOKS", str(home / ".codex/hooks.json")),
        ".gemini/settings.json": GEMINI,
        ".qwen/settings.json": QWEN,
        ".config/opencode/opencode.json": OPENCODE,
    }
    for name, text in files.items():
        path = home / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.encode())
    return home


@pytest.fixture
def run(memdir_command: str, project: Path) -> Run:
    def run(*words: str, code: int = 0) -> subprocess.CompletedProcess[str]:
        done = _ran(memdir_command, words, project)
        assert done.returncode == code, done.stderr + done.stdout
        return done

    return run


@pytest.fixture
def told(memdir_command: str, project: Path) -> Told:
    """What a command answers in JSON, whatever its exit code."""

    def told(*words: str) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(_ran(memdir_command, (*words, "--json"), project).stdout)
        return found

    return told


def _ran(command: str, words: Sequence[str], project: Path) -> subprocess.CompletedProcess[str]:
    done = run_here(command, words, cwd=project)
    return subprocess.CompletedProcess(done.args, done.returncode, done.stdout.decode(), done.stderr.decode())
