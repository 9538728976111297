"""What happens behind a conversation is counted, stops at the caps, and leaves nothing open (B1, B2, X10)."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from memdir.errors import BudgetReached, ModelError
from memdir.memdir import MemDir, open_memory
from memdir.model.budget import Ledger, Spent
from memdir.model.failures import RetryingModel
from memdir.model.model import Model, Request, ScriptedModel, Step, Usage, calls, says
from memdir.prompts.compose import load_prompt
from memdir.settings import Environment
from memdir.store.history import Origin
from memdir.store.memories import add_memory
from memdir.transcript.message import Message, Text, user
from tests.conftest import Clock, Events, Ran
from tests.leaks import nothing_left_behind
from tests.model.providers import ANTHROPIC
from tests.provider_server import KEY, ProviderServer
from tests.provider_server import says as server_says

DAY = 86400.0
RULE = "---\nname: No mocks\ndescription: tests use a real database\ntype: feedback\n---\n\nNo mocks.\n"
SAID = "Don't mock the database in tests, use a real one."
FLAGS = {"budget.tokensPerDay": "1000", "recall.selector": "model"}


@pytest.fixture
def clock() -> Clock:
    return Clock(1_789_992_000.0)  # 2026-09-21 12:00 UTC


def opened(project: Path, clock: Clock, events: Events, model: Model) -> MemDir:
    memory = open_memory(project, clock=clock, sink=events, model=model, flags=FLAGS)
    memory.start()
    return memory


def turn(memory: MemDir, *said: str) -> tuple[Request, Message]:
    messages = [message for at, text in enumerate(said) for message in _pair(at, text)]
    return Request("scripted", messages=tuple(messages[:-1])), messages[-1]


def _pair(at: int, text: str) -> tuple[Message, Message]:
    return Message("user", (Text(text),), f"u{at}"), Message("assistant", (Text("Understood."),), f"a{at}")


def writes(memory: MemDir, tokens: int = 10) -> Sequence[Step]:
    path = os.path.join(memory.place.root, "no_mocks.md")
    return [calls(("Write", {"file_path": path, "content": RULE}), usage=Usage(tokens)), says("Kept.")]


def lines(memory: MemDir) -> list[Spent]:
    return list(Ledger(memory.layout.ledger).since(0))


def spend(memory: MemDir, clock: Clock, tokens: int) -> None:
    Ledger(memory.layout.ledger).add(Spent(clock.now, "dream", "elsewhere", "m", Usage(tokens), 0.0))


async def test_at_the_cap_extraction_waits_shutdown_does_not_and_the_next_day_goes_on(
    project: Path, clock: Clock, events: Events
) -> None:
    """B2, X10: nothing is asked at the cap, nothing is lost by it."""
    model = ScriptedModel([])
    memory = opened(project, clock, events, model)
    spend(memory, clock, 1000)
    memory.session("one").turn_ended(*turn(memory, SAID))
    async with asyncio.timeout(20):
        while "budget.waiting" not in events.names:
            await asyncio.sleep(0)
        await memory.close()
    assert model.requests == []
    clock.now += DAY
    model = ScriptedModel([])
    again = opened(project, clock, events, model)
    model.steps = writes(again)
    again.session("one").turn_ended(*turn(again, SAID, "Thanks."))
    await again.close()
    assert "newest 4 messages" in model.requests[0].messages[-1].text, "those of yesterday are still to be read"
    assert Path(again.place.root, "no_mocks.md").read_text(encoding="utf-8") == RULE
    assert [(line.job, line.usage.input) for line in lines(again)][1:] == [("extract", 10), ("extract", 0)]


async def test_a_run_that_reaches_the_cap_in_mid_work_writes_nothing_that_day(
    project: Path, clock: Clock, events: Events
) -> None:
    """A run is whole or not at all: its first call used up the day, so its drafts are given up at the shutdown."""
    model = ScriptedModel([])
    memory = opened(project, clock, events, model)
    model.steps = writes(memory, tokens=5000)
    memory.session("one").turn_ended(*turn(memory, SAID))
    async with asyncio.timeout(20):
        while "budget.waiting" not in events.names:
            await asyncio.sleep(0)
        await memory.close()
    assert len(model.requests) == 1
    assert not Path(memory.place.root, "no_mocks.md").exists()


async def test_every_attempt_is_a_call(project: Path, clock: Clock, events: Events) -> None:
    """B1: a reply that broke off was paid for, whether or not the next attempt succeeded."""

    async def no_pause(seconds: float) -> None:
        del seconds

    inner = ScriptedModel([ModelError("no", kind="interrupted"), ModelError("no", kind="overloaded"), says("Here.")])
    memory = opened(project, clock, events, RetryingModel(inner, sleep=no_pause))
    request = Request("claude-haiku-4-5", messages=(user("x" * 2000),))
    await memory.models.for_job("extract").complete(request)
    assert [line.failure for line in lines(memory)] == ["interrupted", "overloaded", ""]
    assert lines(memory)[0].usage.input > 400


async def test_recall_by_a_model_is_counted_and_at_the_cap_the_local_choice_serves(
    project: Path, clock: Clock, events: Events
) -> None:
    model = ScriptedModel([says('{"selected_memories": []}', usage=Usage(1000))])
    memory = opened(project, clock, events, model)
    add_memory(memory.store, "Deploys are frozen until December", kind=None, origin=Origin("test", trust="user"))
    for _ in range(2):
        pending = memory.session("a").prefetch("Are deploys frozen until December?")
        await pending.wait(20)
        pending.ready()
    assert len(model.requests) == 1
    assert [(line.job, line.usage.input) for line in lines(memory)] == [("recall", 1000)]
    assert [event.fields["seconds"] for event in events.events if event.name == "budget.waiting"] == [0], "at once"
    hashes = [event.fields["prompt_hash"] for event in events.events if event.name == "memory.recall"]
    assert hashes == [load_prompt("recall/select.md").hash, ""], "the second choice was no model's"
    await memory.close()


async def test_a_compaction_is_counted_and_never_held_up(project: Path, clock: Clock, events: Events) -> None:
    """Without it the conversation could not go on: caps are for what happens behind it."""
    model = ScriptedModel([says("A summary.", usage=Usage(5))])
    memory = opened(project, clock, events, model)
    spend(memory, clock, 1000)
    compaction = memory.session("one").compaction
    async with asyncio.timeout(20):
        await compaction.model.complete(Request("m", messages=(user("Hi"),)))
        with pytest.raises(BudgetReached):
            await memory.session("one").session_memory.model.complete(Request("m", messages=(user("Hi"),)))
    assert [line.job for line in lines(memory)] == ["dream", "compact"]


async def test_a_call_that_is_stopped_is_written_down_too(project: Path, clock: Clock, events: Events) -> None:
    """B1: the prompt was sent and paid for."""

    class Waiting(ScriptedModel):
        async def complete(self, request: Request, **more: object) -> object:  # type: ignore[override]
            await asyncio.Event().wait()

    memory = opened(project, clock, events, Waiting([]))
    task = asyncio.create_task(memory.models.for_job("dream").complete(Request("m", messages=(user("x" * 4000),))))
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    [line] = lines(memory)
    assert (line.job, line.failure) == ("dream", "cancelled")
    assert line.usage.input > 900


def test_closing_lets_go_of_the_model_that_was_opened_and_not_of_the_host_s(
    project: Path, clock: Clock, events: Events
) -> None:
    async def own(server: ProviderServer) -> None:
        names = {"ANTHROPIC_API_KEY": KEY, "MEMDIR_HOME": os.environ["MEMDIR_HOME"]}
        flags = {"model.provider": "anthropic", "model.baseUrl": server.url}
        memory = open_memory(project, environment=Environment(names), clock=clock, sink=events, flags=flags)
        await memory.models.for_job("extract").complete(ANTHROPIC.request())
        await memory.close()

    async def hosts() -> None:
        model = ScriptedModel([says("Hi.")])
        memory = opened(project, clock, events, model)
        await memory.models.for_job("extract").complete(Request("m", messages=(user("Hi"),)))
        await memory.close()
        assert not model.is_closed

    with ProviderServer([server_says("Hello.")]) as server, nothing_left_behind(server):
        asyncio.run(own(server))
    asyncio.run(hosts())


def test_a_dream_at_the_cap_says_so_and_gives_its_lock_back(
    memdir: Callable[..., Ran], project: Path, clock: Clock, events: Events
) -> None:
    """B2, D2: it must not hold the lock until midnight; the next session may try."""
    clock.now = time.time()
    memory = opened(project, clock, events, ScriptedModel([]))
    spend(memory, clock, 10_000_000)
    ran = memdir("dream", "--yes")
    assert ran.code == 1
    assert "background work has used" in ran.out
    assert not os.path.exists(os.path.join(memory.place.root, ".consolidate-lock"))
