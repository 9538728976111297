"""One very bad day, all at once: the loop goes on, the conversation stays whole, and nothing is left behind."""

from __future__ import annotations

import asyncio
import random
from dataclasses import replace
from pathlib import Path

import pytest

from memdir.agent.gate import allow_all
from memdir.agent.loop import AgentRun, run_agent
from memdir.agent.tools.file_tools import ReadTool
from memdir.errors import ModelError
from memdir.model.failures import RetryingModel
from memdir.model.model import ModelSettings
from memdir.transcript.message import Message, user
from tests.agent.boxes import TestTool, box
from tests.leaks import assert_no_other_tasks, nothing_left_behind
from tests.model.providers import PROVIDERS, Provider
from tests.provider_server import (
    Drop,
    EndEarly,
    ErrorEvent,
    HalfJson,
    Hang,
    ProviderServer,
    Refusal,
    Step,
    calls,
    says,
)

TALK = calls(("Read", {"file_path": "a.md"}), text="Let me have a look at it.", ids="never")
FAULTS: tuple[Step, ...] = (
    Hang(TALK, 4),
    Drop(TALK),
    Drop(TALK, 4),
    EndEarly(TALK, 3),
    HalfJson(TALK, 3),
    ErrorEvent(TALK, Refusal("overloaded"), 3),
    Refusal("rate_limit", headers={"retry-after": "9"}),
    Refusal("rate_limit"),
    Refusal("server_error"),
    Refusal("overloaded"),
)
MANY = 200
SILENCE_SECONDS = 4.0  # long enough for a busy machine to answer, for the one hang is waited for
TURNS: tuple[Step, ...] = (
    calls(("Read", '{"file_path": "a'), ("Read", "[]"), ids="no-json"),
    calls(("Fly", {"to": "the moon"}), ("read", {}), ids="unknown"),
    calls(*(("Read", {"file_path": "a.md"}) for _ in range(MANY)), ids="many"),
    calls(("Act", {"n": 1}), ids="huge"),
    says("It is over."),
)


async def no_pause(seconds: float) -> None:
    del seconds


@pytest.mark.slow("openai-chat", "openai-responses")
def test_the_loop_goes_on_through_a_very_bad_day(tmp_path: Path, provider: Provider) -> None:
    """Every fault that passes stands before a turn, and every turn asks for something out of form or out of size."""
    (tmp_path / "a.md").write_text("needle\n", encoding="utf-8")

    async def scenario(server: ProviderServer) -> AgentRun:
        model = RetryingModel(provider.open(server), sleep=no_pause, chance=random.Random(1))
        huge = TestTool(lambda arguments: "x" * 100_000_000)
        request = provider.request(settings=ModelSettings(timeout_seconds=SILENCE_SECONDS))
        run = await run_agent(request, model, box(tmp_path, [ReadTool(), huge]), allow_all, max_turns=9)
        await model.close()
        await assert_no_other_tasks()
        return run

    groups = [FAULTS[at :: len(TURNS)] for at in range(len(TURNS))]
    script = [step for group, turn in zip(groups, TURNS, strict=True) for step in (*group, turn)]
    with ProviderServer(script) as server, nothing_left_behind():
        run = asyncio.run(scenario(server))
        assert len(server.requests) == len(script)
        server.release()
        server.wait_for_connections(0)
    assert (run.ending, run.turns, run.final_text) == ("done", len(TURNS), "It is over.")
    no_json, unknown, many, huge = (message.tool_results for message in run.messages[1::2])
    assert all(result.is_error for result in (*no_json, *unknown))
    assert [result.content for result in many] == ["     1\tneedle"] * MANY
    assert len(huge[0].content) < 100_000
    assert_whole(run.messages)


def test_a_day_that_is_too_bad_ends_the_run_and_not_the_conversation(tmp_path: Path, provider: Provider) -> None:
    """The user's conversation is never broken: what was said stands, and the same model goes on from there."""
    told: list[Message] = []
    (tmp_path / "a.md").write_text("needle\n", encoding="utf-8")

    async def scenario(server: ProviderServer) -> AgentRun:
        model = RetryingModel(provider.open(server), sleep=no_pause)
        tools, request = box(tmp_path, [ReadTool()]), provider.request()
        with pytest.raises(ModelError) as raised:
            await run_agent(request, model, tools, allow_all, max_turns=9, on_message=told.append)
        assert raised.value.kind == "overloaded" and raised.value.remedy
        again = replace(request, messages=(*request.messages, *told, user("And now?")))
        run = await run_agent(again, model, tools, allow_all, max_turns=9)
        await model.close()
        return run

    script: list[Step] = [calls(("Read", {"file_path": "a.md"})), *[Refusal("overloaded")] * 4, says("Here again.")]
    with ProviderServer(script) as server, nothing_left_behind(server):
        assert asyncio.run(scenario(server)).final_text == "Here again."
    assert_whole(tuple(told))


def assert_whole(messages: tuple[Message, ...]) -> None:
    """Every call has its result in the very next message, in the order of the calls."""
    for asked, answered in zip(messages[::2], messages[1::2], strict=False):
        assert [use.id for use in asked.tool_uses] == [result.tool_use_id for result in answered.tool_results]


@pytest.fixture(params=PROVIDERS, ids=lambda provider: provider.name)
def provider(request: pytest.FixtureRequest) -> Provider:
    found: Provider = request.param
    return found
