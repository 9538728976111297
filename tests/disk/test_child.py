"""Another program: bounded in time and size, and gone afterwards with all that it started."""

from __future__ import annotations

import asyncio
import sys

import pytest

from memdir.disk.child import ChildResult, run_child
from tests.leaks import assert_no_other_tasks, nothing_left_behind

# Fills a pipe of a megabyte in one go, so that more is waiting than asyncio takes in at once, and stays.
FLOOD = """
import fcntl, os, sys, time
pipe = int(sys.argv[1])
fcntl.fcntl(pipe, 1031, 1 << 20)
os.write(pipe, b"x" * (1 << 20))
time.sleep(600)
"""


def run(code: str, *arguments: str, seconds: float = 20.0, limit: int = 1000, stdin: bytes = b"") -> ChildResult:
    async def scenario() -> ChildResult:
        command = [sys.executable, "-I", "-c", code, *arguments]
        done = await run_child(command, stdin=stdin, timeout_seconds=seconds, max_output_bytes=limit)
        await assert_no_other_tasks()
        return done

    with nothing_left_behind():
        return asyncio.run(scenario())


def test_output_errors_and_exit_code_come_back() -> None:
    code = "import sys; print(sys.stdin.read()); print('oh', file=sys.stderr); sys.exit(3)"
    assert run(code, stdin=b"hello") == ChildResult(3, b"hello\n", b"oh\n", is_cut=False)


@pytest.mark.parametrize("pipe", [1, 2])
def test_a_program_that_prints_too_much_is_stopped_at_once(pipe: int) -> None:
    done = run(FLOOD, str(pipe))
    assert done.is_cut
    assert len(done.output if pipe == 1 else done.errors) == 1000


def test_output_of_exactly_the_limit_is_whole() -> None:
    done = run("print('x' * 999)")
    assert (len(done.output), done.is_cut, done.exit_code) == (1000, False, 0)


@pytest.mark.parametrize("pipe", [1, 2])
def test_a_program_that_takes_too_long_is_stopped_whatever_it_has_printed(pipe: int) -> None:
    with pytest.raises(TimeoutError):
        run(FLOOD, str(pipe), seconds=1.0, limit=1 << 22)


def test_a_program_that_does_not_read_is_stopped_with_its_input_unread() -> None:
    with pytest.raises(TimeoutError):
        run("import time; time.sleep(600)", seconds=0.5, stdin=b"x" * (1 << 22))


def test_what_a_program_leaves_running_is_stopped_with_it() -> None:
    code = "import os, time\nif os.fork(): print('done')\nelse: time.sleep(600)"
    assert run(code).output == b"done\n"
