"""The Bash of a chat: a command runs as the person would run it, bounded, and nothing of it stays (G4)."""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from memdir.agent import CommandTool, Outcome, ToolContext
from memdir.agent.bash import bash_tool
from memdir.agent.file_access import DiskFiles
from tests.leaks import nothing_left_behind

HOST = """
import asyncio, os, sys
from memdir.agent import CommandTool, ToolContext
from memdir.agent.file_access import DiskFiles
asyncio.run(CommandTool().run({"command": sys.argv[1]}, ToolContext(os.getcwd(), DiskFiles())))
"""


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


def test_a_host_that_is_killed_takes_its_command_and_all_that_it_started_along(tmp_path: Path) -> None:
    """G4: SIGKILL lets nobody tidy up."""
    (tmp_path / "host.py").write_text(HOST, encoding="utf-8")
    alive = "for n in 1 2; do sh -c 'echo $$ > new'$n'; mv new'$n' pid'$n'; sleep 300; :' & done; wait"
    host = subprocess.Popen([sys.executable, "host.py", alive], cwd=tmp_path)
    until = time.monotonic() + 60
    try:
        while not all((tmp_path / f"pid{n}").exists() for n in (1, 2)):
            assert time.monotonic() < until
            time.sleep(0.01)
        watched = [os.pidfd_open(int((tmp_path / f"pid{n}").read_text())) for n in (1, 2)]
    finally:
        host.kill()
        host.wait()
    for one in watched:
        assert select.select([one], [], [], 60)[0], "it goes on"
        os.close(one)


async def test_a_command_that_waits_for_all_its_children_waits_for_none_of_ours(tmp_path: Path) -> None:
    program = "import os\ntry:\n    os.wait()\nexcept ChildProcessError:\n    print('no child')"
    told = await run(tmp_path, f'exec {sys.executable} -c "{program}" >&2', timeout_seconds=60)
    assert told == Outcome("no child")
