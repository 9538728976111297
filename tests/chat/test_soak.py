"""A chat that goes on all day: memory, open files, threads and processes stay what they were. `make test-chat-soak`
takes 500 turns, the default run a few, and tells the story of `make try` against the clock."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
import threading
import time
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import pytest

from memdir import open_memory
from tests.chat.hosts import QUIET, Person, host_of

TURNS = int(os.environ.get("CHAT_SOAK_TURNS", "24"))
GROWTH_BYTES = 40_000  # a turn, at most: what a turn leaves in the indexes and caches of a store that grows with it
GROWTH_OBJECTS = (
    4  # a turn, at most, beside what caches hold that have a limit: a message and what belongs to it is more
)
STANDING_OBJECTS = 4_000  # of a conversation before it is compacted, and of a search index before it is packed
STORY_SECONDS = 40.0  # of `make try`, without what it installs
ROOT = Path(__file__).parents[2]
SAID = (
    "Look at part {n} of the importer, please.",
    "What do we know about deploys?",
    "From now on, name branches of area {n} after their ticket: reviewers look for it.",
    "The log says: {log}",
    "We decided that module {n} goes to the platform team, because they run it.",
)


@dataclass(frozen=True)
class Footprint:
    """What a process holds."""

    resident: int
    files: int
    threads: int
    children: int
    objects: int  # all but what stands in caches that forget

    @staticmethod
    def now() -> Footprint:
        gc.collect()
        pages = int(Path("/proc/self/statm").read_text().split()[1])  # with all that caches hold
        for one in gc.get_objects():
            if isinstance(one, type(lru_cache(len))) and one.cache_parameters()["maxsize"]:
                one.cache_clear()
        gc.collect()
        objects = len(gc.get_objects())
        children = Path(f"/proc/self/task/{os.getpid()}/children").read_text().split()
        files = len(os.listdir("/proc/self/fd"))
        resident = pages * os.sysconf("SC_PAGE_SIZE")
        return Footprint(resident, files, threading.active_count(), len(children), objects)


@pytest.mark.skipif(not os.path.exists("/proc/self/statm"), reason="there is no /proc here to look at")
@pytest.mark.timeout(1800)
async def test_a_long_chat_stays_flat(project: Path) -> None:
    memory = open_memory(project, flags={**QUIET, "model.provider": "builtin", "model.contextTokens": "30000"})
    memory.add("Deploys are frozen until 2027-03-01, because the auditors are in the house.")
    person = Person()
    before = None
    async with host_of(memory, person) as host:
        for turn in range(TURNS):
            said = SAID[turn % len(SAID)].format(n=turn, log=f"line {turn} " * 400)
            end = await host.say(said)
            assert end.ending == "done", end.failure
            await host.session.extraction.drain()
            await host.session.session_memory.settle()
            person.told.clear()
            if turn == TURNS // 3:
                before = Footprint.now()
        after = Footprint.now()
        assert before is not None
        assert after.resident - before.resident < GROWTH_BYTES * TURNS + 20_000_000, (before, after)
        assert after.objects - before.objects < GROWTH_OBJECTS * TURNS + STANDING_OBJECTS, (before, after)
        assert after.files - before.files <= 2, (before, after)
        assert after.threads - before.threads <= 1, (before, after)
        assert after.children <= before.children
        assert len(host.conversation.messages) < 250, "it was compacted on the way"
    print(f"\n{TURNS} turns: {before} → {after}")
    assert memory.list(), "and it learned"


@pytest.mark.skipif(
    "CHAT_SOAK_TURNS" not in os.environ, reason="a clock tells nothing on a busy machine: make test-chat-soak"
)
def test_the_whole_story_is_told_in_time(tmp_path: Path) -> None:
    """H1: what `make try` runs once memdir is installed, from its first line to its last."""
    environment = {**os.environ, "TMPDIR": str(tmp_path), "PYTHONPATH": str(ROOT)}
    begun = time.monotonic()
    story = [sys.executable, "examples/walkthrough.py"]
    told = subprocess.run(story, cwd=ROOT, env=environment, stdin=subprocess.DEVNULL, capture_output=True, check=True)
    seconds = time.monotonic() - begun
    print(f"\nmake try: {seconds:.1f} s")
    assert b"One command takes it back" in told.stdout and seconds < STORY_SECONDS
