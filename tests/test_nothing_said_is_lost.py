"""Turns of hosts with an SDK of their own: whatever they send and however they end, what was said is learned from."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from memdir import Message, open_memory
from memdir.errors import UsageError
from memdir.model import BuiltinModel, Request, ScriptedModel
from memdir.model.model import Reply
from memdir.model.scripted import says
from memdir.transcript import assistant, user

FACTS = [
    "From now on never mock the database in tests: mocks hid a broken migration.",
    "I am a data scientist, I look after the logging.",
    "Deploys are frozen until 2026-12-01: the auditors are in the house.",
    "Bugs of the payment service are tracked in the Linear project PAY.",
]
OFF = {"recall.encoder": "words", "dreamEnabled": "false"}


def anthropic(text: str) -> tuple[dict[str, Any], dict[str, Any]]:
    reply = {"role": "assistant", "content": [{"type": "text", "text": "Understood."}]}
    return {"model": "m", "max_tokens": 9, "messages": [{"role": "user", "content": text}]}, reply


def responses(text: str) -> tuple[dict[str, Any], dict[str, Any]]:
    said = {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "Understood."}]}
    return {"model": "m", "previous_response_id": "r1", "input": text}, {"output": [said]}


def ours(text: str) -> tuple[Request, Message]:
    return Request("m", messages=(user(text),)), assistant("Understood.")


Call = Callable[[str], tuple[Any, Any]]


class Gated:
    """The built-in model, that answers when it is let."""

    def __init__(self) -> None:
        self.is_open = asyncio.Event()
        self.model = BuiltinModel()

    async def complete(self, request: Request, *, on_text: object = None) -> Reply:
        await self.is_open.wait()
        return await self.model.complete(request)

    async def close(self) -> None:
        pass


@pytest.mark.parametrize("call", [anthropic, responses, ours])
async def test_a_host_without_a_history_is_learned_from_at_each_turn(project: Path, call: Call) -> None:
    """The same reply at the same place, in one session, at several starts."""
    for fact in FACTS:
        memory = open_memory(project, model=BuiltinModel(), flags=OFF)
        async with memory.session("monday") as session:
            session.turn_ended(*call(fact))
        await memory.close()
    assert len(memory.list()) == len(FACTS)


@pytest.mark.parametrize("call", [anthropic, responses, ours])
async def test_turns_that_end_while_another_is_learned_from_wait_for_it(project: Path, call: Call) -> None:
    model = Gated()
    memory = open_memory(project, model=model, flags={"recall.selector": "local", **OFF})
    async with memory.session("monday") as session:
        for fact in FACTS:
            session.turn_ended(*call(fact))
            await asyncio.sleep(0)
        model.is_open.set()
    assert len(memory.list()) == len(FACTS)
    await memory.close()


async def test_a_newer_turn_that_holds_an_older_one_stands_for_it(project: Path) -> None:
    model = ScriptedModel([says("Nothing.")] * 9)
    memory = open_memory(project, model=model, flags={"recall.selector": "local", **OFF})
    messages: list[dict[str, Any]] = []
    async with memory.session("monday") as session:
        for fact in FACTS:
            recalled = {"role": "user", "content": "<system-reminder>A memory.</system-reminder>"}
            messages.append({"role": "user", "content": fact})
            session.turn_ended({"messages": [*messages, recalled]}, anthropic("")[1])
            messages.append(anthropic("")[1])
    assert len(model.requests) == 2, "what the host put in does not make it another conversation"
    assert all(fact in str(model.requests[1].messages) for fact in FACTS)
    await memory.close()


@pytest.mark.parametrize("messages", [[5], [{"role": "user", "content": 5}], 5])
async def test_a_call_that_cannot_be_read_is_refused_and_leaves_nothing_behind(project: Path, messages: object) -> None:
    memory = open_memory(project)
    session = memory.session("monday")
    with pytest.raises(UsageError):
        session.turn_ended({"messages": messages}, anthropic("")[1])
    assert not session.should_compact
    await memory.close()


def test_a_session_lives_over_several_loops(project: Path) -> None:
    memory = open_memory(project, model=BuiltinModel(), flags=OFF)
    session = memory.session("monday")

    async def turn(fact: str) -> None:
        session.turn_ended(*anthropic(fact))
        await session.extraction.drain()

    for fact in FACTS:
        asyncio.run(turn(fact))
    assert len(memory.list()) == len(FACTS)


async def test_what_the_host_adds_later_is_no_part_of_the_turn(project: Path) -> None:
    model = ScriptedModel([says("Nothing.")])
    memory = open_memory(project, model=model, flags={"recall.selector": "local", **OFF})
    tool = {"name": "Write", "description": "w", "input_schema": {"type": "object"}}
    call, reply = anthropic(FACTS[0])
    async with memory.session("monday") as session:
        session.turn_ended({**call, "tools": [tool]}, reply)
        call["messages"].append({"role": "user", "content": "Later."})
        call["messages"][0]["content"] = "Other."
    raw = model.requests[0].raw
    assert raw is not None and raw.arguments["messages"] == [{"role": "user", "content": FACTS[0]}]
    await memory.close()
