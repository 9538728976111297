"""The Bash of a chat: a command runs as the person would run it, bounded, and nothing of it stays (G4)."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest

from memdir.agent import CommandTool, Outcome, ToolContext
from memdir.agent.bash import bash_tool
from memdir.agent.file_access import DiskFiles
from tests.leaks import nothing_left_behind


async def run(folder: Path, command: str, **more: float) -> Outcome:
    return await CommandTool().run({"command": command, **more}, ToolContext(str(folder), DiskFiles()))


@pytest.mark.parametrize(
    ("command", "told"),
    [
        ("touch made; echo out; echo err >&2; cat; exit 3", "out\nerr\n[exit status 3]"),
        ("touch made; kill -9 $$", "[ended by signal 9]"),
        ("touch made", "(no output)"),
        ("touch made; sleep 60 & echo begun", "begun"),
    ],
)
async def test_what_a_command_says_and_how_it_ended_is_told(command: str, told: str, tmp_path: Path) -> None:
    result = await run(tmp_path, command)
    assert (result.content, result.is_error) == (told, told.endswith("]"))
    assert (tmp_path / "made").exists()


async def test_a_command_that_takes_too_long_is_stopped_and_what_it_said_is_kept(tmp_path: Path) -> None:
    with nothing_left_behind():
        result = await run(tmp_path, "touch made; echo begun; sleep 60 | sleep 60", timeout_seconds=0.5)
    assert (result.content, result.is_error) == ("begun\n[stopped after 0.5 s]", True)


async def test_endless_output_stops_the_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bash_tool, "MAX_OUTPUT_BYTES", 10)
    result = await run(tmp_path, "touch made; yes")
    assert (result.content, result.is_error) == ("y\ny\ny\ny\ny\n[output cut, and the command stopped]", True)


async def test_nobody_waits_for_what_left_its_group(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("memdir.disk.child.REAP_SECONDS", 0.1)
    command = f"touch made; setsid sh -c 'echo $$ > {tmp_path}/pid; exec sleep 60' & while ! test -s pid; do :; done"
    try:
        assert await run(tmp_path, command, timeout_seconds=30) == Outcome("(no output)")
    finally:
        os.kill(int((tmp_path / "pid").read_text(encoding="utf-8")), signal.SIGKILL)
