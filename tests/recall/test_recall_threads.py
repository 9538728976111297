"""Work beside the conversation ends when its owner does, and before the interpreter does (R4)."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from memdir.recall.prefetch import RecallThreads
from memdir.recall.recall import Stopped

A_PROGRAM_THAT_ENDS_WITHOUT_CLOSING = """
import asyncio, pathlib, sys, threading
from memdir.recall.prefetch import RecallThreads
from memdir.recall.recall import Stopped

begun = threading.Event()
beside = RecallThreads()

def work():
    try:
        while True:
            begun.set()
            beside.check()
    except Stopped:
        pathlib.Path(sys.argv[1]).write_text("stopped")
        raise

async def main():
    beside.run(work)
    begun.wait()

asyncio.run(main())
"""


def test_what_was_found_and_what_went_wrong_both_arrive() -> None:
    def broken() -> str:
        raise ValueError("no")

    beside = RecallThreads()
    assert beside.run(lambda: "found").result() == "found"
    with pytest.raises(ValueError, match="no"):
        beside.run(broken).result()


async def test_closing_stops_the_work_between_two_steps_and_waits_for_it() -> None:
    beside, begun, ended = RecallThreads(), asyncio.Event(), threading.Event()
    loop = asyncio.get_running_loop()

    def work() -> None:
        loop.call_soon_threadsafe(begun.set)
        try:
            while True:
                beside.check()
        finally:
            ended.set()

    running = beside.run(work)
    await begun.wait()
    await beside.close()
    assert ended.is_set()
    with pytest.raises(Stopped):
        running.result()


def test_a_program_that_ends_waits_until_the_work_has_stopped(tmp_path: Path) -> None:
    left = tmp_path / "left"
    command = [sys.executable, "-c", A_PROGRAM_THAT_ENDS_WITHOUT_CLOSING, str(left)]
    subprocess.run(command, timeout=60, check=True)
    assert left.read_text() == "stopped"
