"""Sees whether a piece of code left something behind: threads, open files and sockets, child processes, tasks."""

from __future__ import annotations

import asyncio
import gc
import os
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.provider_server import ProviderServer

LOOP_TURNS = 100  # what Python itself does to close a generator takes two
PATIENCE_SECONDS = 10.0  # threads and processes that were told to end need a moment; a leak stays for ever


@contextmanager
def nothing_left_behind(server: ProviderServer | None = None) -> Iterator[None]:
    """Everything that is there afterwards was there before. For code that runs its own event loop."""
    _wait_for_others()
    before = _held()
    yield
    gc.collect()
    if server is not None:
        server.wait_for_connections(0)
    deadline = time.monotonic() + PATIENCE_SECONDS
    while (left := _held() - before) and time.monotonic() < deadline:
        time.sleep(0.005)
    assert not left, f"left behind: {sorted(left)}"


async def assert_no_other_tasks() -> None:
    """The calling task is the only one, as soon as those that end now have had their turn."""
    for _ in range(LOOP_TURNS):
        others = asyncio.all_tasks() - {asyncio.current_task()}
        if not others:
            return
        await asyncio.sleep(0)
    raise AssertionError(f"tasks left behind: {others}")


def _wait_for_others() -> None:
    """What a recall of an earlier test still loads would open files meanwhile, and seem to be left behind."""
    gc.collect()
    for thread in threading.enumerate():
        if thread.name == "memdir recall":
            thread.join(PATIENCE_SECONDS)


def _held() -> set[str]:
    threads = {f"thread {thread.name}" for thread in threading.enumerate()}
    return threads | _descriptors() | children()


def _descriptors() -> set[str]:
    found = set()
    for number in os.listdir("/proc/self/fd"):
        try:
            found.add(f"descriptor {os.readlink(f'/proc/self/fd/{number}')}")
        except OSError:  # the one that listed the folder
            continue
    return found


def children() -> set[str]:
    """The processes that this one has started and that are still there."""
    found = set()
    for task in os.listdir("/proc/self/task"):
        children = Path(f"/proc/self/task/{task}/children")
        found |= {f"process {number}" for number in (children.read_text().split() if children.exists() else ())}
    return found
