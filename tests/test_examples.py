"""The examples run, and show what they promise."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent


def run(*arguments: str) -> str:
    done = subprocess.run([sys.executable, *arguments], capture_output=True, text=True, check=True, cwd=ROOT)
    return done.stdout


def test_the_walk_shows_real_files_and_real_output() -> None:
    out = run("examples/walkthrough.py")
    for command in ("remember", "list", "show", "search", "log", "diff", "undo", "doctor"):
        assert f"$ memdir {command}" in out
    assert "+**How to apply:** every test that touches storage." in out
    assert "healthy" in out
    assert "\x1b[" not in out


def test_the_walk_is_in_colour_where_colour_is_wanted() -> None:
    done = subprocess.run(
        [sys.executable, "examples/walkthrough.py"],
        capture_output=True,
        text=True,
        check=True,
        cwd=ROOT,
        env={**os.environ, "FORCE_COLOR": "1"},
    )
    assert "\x1b[33mfeedback\x1b[0m" in done.stdout


def test_the_embedding_example_keeps_a_memory(project: Path) -> None:
    out = run("examples/embed.py", str(project))
    assert "The staging database is reset" in out
