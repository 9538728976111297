"""Bash: output a model can use, bounded in time and size; what may run is the gate's business (G4)."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from memdir.agent.bash import bash_tool
from memdir.agent.bash.sandbox import sandbox_kind
from memdir.agent.tools.tool import MAX_RESULT_CHARACTERS
from memdir.transcript.message import ToolUse
from tests.agent.boxes import box
from tests.agent.conftest import Run
from tests.leaks import assert_no_other_tasks, children, nothing_left_behind

pytestmark = pytest.mark.skipif(sandbox_kind() is None, reason="neither bubblewrap nor Landlock works here")


async def test_a_command_runs_in_the_working_directory(run: Run, folder: Path) -> None:
    (folder / "a.md").write_text("öl\n", encoding="utf-8")
    assert (await run("Bash", command="ls && cat a.md")).content == "a.md\nöl"


async def test_failure_and_silence_are_said(run: Run) -> None:
    failed = await run("Bash", command="cat missing.md")
    assert failed.is_error
    assert "missing.md" in failed.content and "[exit status 1]" in failed.content
    silent = await run("Bash", command="true")
    assert (silent.content, silent.is_error) == ("(no output)", False)


async def test_a_command_that_takes_too_long_is_stopped_and_what_it_said_is_kept(run: Run) -> None:
    result = await run("Bash", command="echo begun; sleep 60", timeout_seconds=1)
    assert result.is_error
    assert result.content == "begun\n[stopped after 1 s]"


async def test_nobody_waits_longer_than_the_longest(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bash_tool, "LONGEST_SECONDS", 0.3)
    assert "[stopped after 0.3 s]" in (await run("Bash", command="sleep 60", timeout_seconds=9999)).content


async def test_endless_output_is_cut_and_said(run: Run) -> None:
    result = await run("Bash", command="yes", timeout_seconds=20)
    assert len(result.content) < MAX_RESULT_CHARACTERS + 200
    assert "[output cut]" in result.content


@pytest.mark.parametrize(
    ("arguments", "words"),
    [({}, "command is missing"), ({"command": 5}, "must be of type string"), ({"command": "ls", "x": 1}, "'x'")],
)
async def test_arguments_out_of_form_are_told(run: Run, arguments: dict[str, object], words: str) -> None:
    result = await run("Bash", **arguments)
    assert result.is_error and words in result.content


def test_a_command_that_is_cancelled_leaves_nothing(folder: Path) -> None:
    async def scenario() -> None:
        before = children()
        call = ToolUse("1", "Bash", {"command": "sleep 60 & sleep 60"})
        task = asyncio.create_task(box(folder).run(call))
        while not children() - before:
            await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await assert_no_other_tasks()

    with nothing_left_behind():
        asyncio.run(scenario())
