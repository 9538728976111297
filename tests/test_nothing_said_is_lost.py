"""Turns of hosts with an SDK of their own: whatever they send and however they end, what was said is learned from."""

from __future__ import annotations

import asyncio
import gc
import json
import os
import time
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from memdir import MemDir, Message, Session, open_memory
from memdir.errors import ModelError, ModelFailure, PathEscape, UsageError
from memdir.model import BuiltinModel, Request, ScriptedModel
from memdir.model.model import Reply, says
from memdir.remember.session_state import SessionState, Unlearned
from memdir.remember.turn import FinishedTurn
from memdir.transcript import assistant, user
from tests.conftest import Events

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


def kept(memory: MemDir) -> int:
    """What was learned, about the project or about the person."""
    return len(memory.list()) + len(memory.list(scope="user"))


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


class Failing:
    def __init__(self, kind: ModelFailure = "network") -> None:
        self.kind = kind

    async def complete(self, request: Request, *, on_text: object = None) -> Reply:
        raise ModelError("no luck", kind=self.kind)

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
    assert kept(memory) == len(FACTS)


@pytest.mark.parametrize("call", [anthropic, responses, ours])
async def test_turns_that_end_while_another_is_learned_from_wait_for_it(project: Path, call: Call) -> None:
    model = Gated()
    memory = open_memory(project, model=model, flags={"recall.selector": "local", **OFF})
    async with memory.session("monday") as session:
        for fact in FACTS:
            session.turn_ended(*call(fact))
            await asyncio.sleep(0)
        model.is_open.set()
    assert kept(memory) == len(FACTS)
    await memory.close()


@pytest.mark.parametrize("call", [anthropic, responses, ours])
async def test_a_turn_that_was_left_out_of_the_count_is_not_left_out(project: Path, call: Call) -> None:
    memory = open_memory(project, model=BuiltinModel(), flags={"extract.everyTurns": "3", **OFF})
    async with memory.session("monday") as session:
        for fact in FACTS:
            session.turn_ended(*call(fact))
            await asyncio.sleep(0)
    assert kept(memory) == len(FACTS)
    await memory.close()


def test_a_session_lives_over_several_loops(project: Path) -> None:
    memory = open_memory(project, model=BuiltinModel(), flags=OFF)
    session = memory.session("monday")

    async def turn(fact: str) -> None:
        await session.recall(fact)
        session.turn_ended(*anthropic(fact))
        await asyncio.sleep(0)

    for fact in FACTS:
        asyncio.run(turn(fact))
    asyncio.run(memory.close())
    assert kept(memory) == len(FACTS)


@pytest.mark.parametrize("next_id", ["monday", "tuesday"])
def test_what_a_session_that_was_never_closed_heard_is_learned_at_the_next_start(project: Path, next_id: str) -> None:
    async def forgetful() -> None:
        session = open_memory(project, model=BuiltinModel(), flags=OFF).session("monday")
        for fact in FACTS:
            session.turn_ended(*anthropic(fact))

    async def later() -> int:
        memory = open_memory(project, model=BuiltinModel(), flags=OFF)
        async with memory.session(next_id) as session:
            assert session._catching_up is not None
            await session._catching_up
        await memory.close()
        return kept(memory)

    asyncio.run(forgetful())
    gc.collect()
    assert asyncio.run(later()) == len(FACTS)
    assert asyncio.run(later()) == len(FACTS), "once is enough"
    assert not Path(open_memory(project).layout.unlearned("monday")).exists()


@pytest.mark.parametrize("next_id", ["monday", "tuesday"])
def test_what_is_learned_days_later_counts_from_the_day_on_which_it_was_said(project: Path, next_id: str) -> None:
    """T3, X10: the process ended before it was learned from, and the host wrote down no times."""
    now = 1_790_000_000.0

    async def said() -> None:
        memory = open_memory(project, model=BuiltinModel(), flags=OFF, clock=lambda: now)
        fact = "We freeze all merges tomorrow, because the mobile team cuts a release branch."
        memory.session("monday").turn_ended(*ours(fact))

    async def later() -> str:
        model = ScriptedModel([says("Nothing.")])
        memory = open_memory(project, model=model, flags=OFF, clock=lambda: now + 3 * 86_400)
        async with memory.session(next_id) as session:
            assert session._catching_up is not None
            await session._catching_up
        await memory.close()
        return model.requests[0].messages[-1].text

    asyncio.run(said())
    gc.collect()
    day, job = datetime.fromtimestamp(now).astimezone(), asyncio.run(later())
    assert f'- {day:%A, %Y-%m-%d %H:%M}: "We freeze all merges tomorrow' in job
    assert job.splitlines()[-1].startswith(f"Now it is {day:%A}, {day:%Y-%m-%d}")


async def test_a_live_session_is_left_to_itself(project: Path) -> None:
    model = Gated()
    memory = open_memory(project, model=model, flags={"recall.selector": "local", **OFF})
    first = memory.session("monday")
    first.turn_ended(*anthropic(FACTS[0]))
    await asyncio.sleep(0)
    quiet = ScriptedModel([])
    other = open_memory(project, model=quiet, flags={"recall.selector": "local", **OFF})
    async with other.session("tuesday") as second:
        assert second._catching_up is not None
        await second._catching_up
    assert not quiet.requests
    model.is_open.set()
    await memory.close()
    assert kept(memory) == 1


@pytest.mark.parametrize(("kind", "learned"), [("network", 4), ("rate_limit", 4), ("auth", 4), ("bad_reply", 2)])
async def test_what_failed_comes_again_at_the_next_starts_and_for_ever_where_only_the_network_was_gone(
    project: Path, events: Events, kind: ModelFailure, learned: int
) -> None:
    """X10, and ADR 0052: three failures of the model's, not of the network's."""
    flags = {"recall.selector": "local", **OFF}
    memory = open_memory(project, model=Failing(kind), flags=flags, sink=events)
    for fact in FACTS:
        async with memory.session("monday") as session:
            session.turn_ended(*anthropic(fact))
    better = open_memory(project, model=BuiltinModel(), flags=flags, sink=events)
    async with better.session("tuesday") as other:
        assert other._catching_up is not None
        await other._catching_up
    assert kept(better) == learned, "the first and the second failed at three starts"
    skipped = {event.fields.get("skipped") for event in events.events}
    assert bool(skipped & {"given_up", "passed_over"}) == (learned < len(FACTS)), "and that is told"
    await memory.close()
    await better.close()


async def test_what_catching_up_could_not_learn_is_counted(project: Path, events: Events) -> None:
    """X10."""
    memory = open_memory(project, model=Failing(), flags=OFF, sink=events)
    async with memory.session("monday") as session:
        session.turn_ended(*anthropic(FACTS[0]))
    async with memory.session("tuesday") as other:
        assert other._catching_up is not None
        await other._catching_up
    [told] = [event.fields for event in events.events if event.name == "session.catch_up"]
    assert (told["sessions"], told["files"], told["failed"]) == (1, 0, 1)
    await memory.close()


@pytest.mark.parametrize("has_history", [False, True])
@pytest.mark.parametrize("in_another_process", [False, True])
async def test_what_was_said_before_memory_was_switched_off_is_learned_when_it_is_on_again(
    project: Path, monkeypatch: pytest.MonkeyPatch, has_history: bool, in_another_process: bool
) -> None:
    """S5: said while it was on, and what was said while it was off is not."""
    model = Gated()
    memory = open_memory(project, model=model, flags=OFF)
    session = memory.session("monday")
    said: list[dict[str, Any]] = []

    def turn(text: str) -> None:
        call, reply = anthropic(text)
        said.extend(call["messages"])
        session.turn_ended({**call, "messages": list(said)} if has_history else call, reply)
        said.append(reply)

    turn(FACTS[0])
    await asyncio.sleep(0)
    await session.toggle(is_on=False)
    if in_another_process:
        await memory.close()
        monkeypatch.setenv("MEMDIR_DISABLE", "1")
        memory = open_memory(project, model=model, flags=OFF)
        session = memory.session("monday")
    turn(FACTS[1])
    turn("What time is it?")
    if in_another_process:
        await memory.close()
        monkeypatch.delenv("MEMDIR_DISABLE")
        memory = open_memory(project, model=model, flags=OFF)
        session = memory.session("monday")
    model.is_open.set()
    await session.toggle(is_on=True)
    turn(FACTS[3])
    await session.close()
    told = "".join(str(one) for scope in ("project", "user") for one in memory.list(scope=scope))
    assert "mock" in told and "payment" in told
    assert "scientist" not in told
    await memory.close()


async def test_a_session_that_memory_never_attended_to_does_not_teach_what_it_said_while_memory_was_off(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """S5: off in one process, on in the next, and the host keeps its history."""
    open_memory(project, model=BuiltinModel(), flags=OFF).start()
    messages: list[dict[str, Any]] = []
    for fact, is_on in ((FACTS[0], False), (FACTS[3], True)):
        monkeypatch.setenv("MEMDIR_DISABLE", "0" if is_on else "1")
        memory = open_memory(project, model=BuiltinModel(), flags=OFF)
        call, reply = anthropic(fact)
        messages += call["messages"]
        async with memory.session("monday") as session:
            session.turn_ended({**call, "messages": list(messages)}, reply)
        messages.append(reply)
        await memory.close()
    told = "".join(str(one) for scope in ("project", "user") for one in memory.list(scope=scope))
    assert "payment" in told and "mock" not in told


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
    assert len(model.requests) == 1, "what the host put in does not make it another conversation"
    assert all(fact in str(model.requests[0].messages) for fact in FACTS)
    await memory.close()


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


async def test_users_of_one_session_are_counted(project: Path) -> None:
    saved: list[str] = []
    memory = open_memory(project, model=BuiltinModel(), flags=OFF)
    async with memory.session("monday") as outer:
        async with memory.session("monday", form="openai", on_saved=saved.extend) as inner:
            assert inner is outer and outer._form == "openai"
        assert memory.session("monday") is outer
        outer.turn_ended(*anthropic(FACTS[0]))
    assert len(saved) == 1
    assert memory.session("monday") is not outer
    with pytest.raises(UsageError, match="is closed"):
        outer.turn_ended(*anthropic(FACTS[1]))
    await memory.close()


async def test_a_home_that_cannot_be_written_to_costs_the_conversation_nothing(project: Path, events: Events) -> None:
    memory = open_memory(project, model=BuiltinModel(), sink=events, flags=OFF)
    memory.add("The staging database listens on port 5433.")
    Path(memory.layout.session_folder("monday")).write_text("no folder can be made here", encoding="utf-8")
    async with memory.session("monday") as session:
        assert len(await session.recall("Which port does the staging database listen on?", wait=20)) == 1
        session.turn_ended(*anthropic(FACTS[0]))
    assert ("begin of a session", "DiskError") in [
        (event.fields.get("what"), event.fields.get("reason")) for event in events.events
    ]
    await memory.close()


async def test_a_home_that_refuses_all_costs_the_conversation_nothing_and_is_asked_again(
    project: Path, tmp_path: Path, events: Events
) -> None:
    home = tmp_path / "disk"
    home.write_text("a file stands here, as a full disk would")
    memory = open_memory(project, home=str(home), model=BuiltinModel(), sink=events, flags=OFF)
    async with memory.session("monday") as session:
        assert session.prompt() and await session.recall("Which port does staging listen on?", wait=20) == []
        session.turn_ended(*anthropic(FACTS[0]))
        assert ("begin of a session", "DiskError") in [
            (event.fields.get("what"), event.fields.get("reason")) for event in events.events
        ]
        home.unlink()
        session.turn_ended(*anthropic(FACTS[2]))
    assert kept(memory) >= 1
    await memory.close()


async def test_what_only_the_network_kept_from_being_learned_is_learned_once_it_is_back(project: Path) -> None:
    """X10: a server does not begin its sessions anew because a provider was down for an hour."""

    class Back(Failing):
        is_back = False

        async def complete(self, request: Request, *, on_text: object = None) -> Reply:
            return await (BuiltinModel() if self.is_back else super()).complete(request)

    memory = open_memory(project, model=(model := Back()), flags=OFF)
    async with memory.session("monday") as session:
        for fact in FACTS[:2]:
            session.turn_ended(*anthropic(fact))
            await session.extraction.drain()
        assert kept(memory) == 0 and session.extraction.has_failed
        model.is_back = True
        session.turn_ended(*anthropic(FACTS[2]))
        await session.extraction.drain()
        assert kept(memory) == 3 and not session.extraction.has_failed
        assert not os.path.exists(memory.layout.unlearned("monday"))
    await memory.close()


def test_without_a_loop_one_is_told_what_is_missing(project: Path) -> None:
    session = open_memory(project).session("monday")
    for call in (lambda: session.turn_ended(*anthropic("Hello")), lambda: session.prefetch("Hello")):
        with pytest.raises(UsageError, match="event loop"):
            call()


async def test_a_message_may_be_content_blocks_and_must_be_one(project: Path) -> None:
    memory = open_memory(project, flags=OFF)
    memory.add("The staging database listens on port 5433.")
    session = memory.session("monday")
    blocks = [{"type": "image"}, {"type": "text", "text": "Which port does the staging database listen on?"}]
    assert len(await session.recall(blocks, wait=20)) == 1
    for wrong in (None, 5, ["text"]):
        with pytest.raises(UsageError):
            await session.recall(wrong)  # type: ignore[arg-type]
    await memory.close()


@pytest.mark.parametrize("messages", [[5], [{"role": "user", "content": 5}], 5])
async def test_a_call_that_cannot_be_read_is_refused_and_leaves_nothing_behind(project: Path, messages: object) -> None:
    memory = open_memory(project)
    session = memory.session("monday")
    with pytest.raises(UsageError):
        session.turn_ended({"messages": messages}, anthropic("")[1])
    assert not session.should_compact
    await memory.close()


def test_wrong_values_are_refused_in_words(project: Path) -> None:
    memory: Any = open_memory(project)
    added = memory.add("The staging database listens on port 5433.", type="project")
    wrong: list[Callable[[], object]] = [
        lambda: memory.session("a", form="gemini"),
        lambda: memory.list("nonsense"),
        lambda: open_memory(project, model="claude-opus-5"),  # type: ignore[arg-type]
        lambda: memory.session(None),
        lambda: memory.session(["a"]),
        lambda: memory.add(None),
        lambda: memory.add("half \ud800"),
        lambda: memory.add("whole", name="half \ud800"),
        lambda: memory.update(added.memory.key, "half \ud800"),
        lambda: memory.get(Path("a.md")),
        lambda: memory.forget(added.memory),
    ]
    for call in wrong:
        with pytest.raises(UsageError):
            call()
    with pytest.raises(PathEscape):
        memory.session("../x")
    with pytest.raises(Exception, match="the text is empty"):
        memory.update(added.memory.key, " ")
    assert [header.key for header in memory.list("Project")] == [added.memory.key]
    assert memory.list("none") == []


def test_a_session_without_turns_leaves_nothing_to_learn(project: Path) -> None:
    async def quiet(session: Session) -> None:
        async with session:
            pass

    memory = open_memory(project, flags=OFF)
    asyncio.run(quiet(memory.session("monday")))
    assert SessionState.was_begun("monday", memory.layout)
    assert not Path(memory.layout.unlearned("monday")).exists()


def call_of(name: str, number: int) -> dict[str, Any]:
    arguments = '{"path": "app.py"}'
    return {"output": [{"type": "function_call", "call_id": f"c{number}", "name": name, "arguments": arguments}]}


def result_of(number: int, text: str = "ok", *, of: str = "") -> dict[str, Any]:
    news = [{"type": "function_call_output", "call_id": f"c{number}", "output": text}]
    return {"model": "m", "previous_response_id": f"r{number}{of}", "input": news}


@pytest.mark.parametrize("tools", [[], [{"type": "function", "name": "Write", "parameters": {"type": "object"}}]])
@pytest.mark.parametrize("starts", ["one", "each"])
async def test_what_was_said_before_a_tool_was_called_is_learned_when_only_the_news_is_sent(
    project: Path, tools: list[dict[str, Any]], starts: str
) -> None:
    """The provider keeps the conversation (`previous_response_id`): the user's words are in the first call alone."""
    memory = open_memory(project, model=BuiltinModel(), flags=OFF)
    for fact in FACTS:
        first = responses(fact)[0], call_of("look", 1)
        second, last = result_of(1, of=fact), result_of(2, of=fact)
        for arguments, reply in (first, (second, call_of("look", 2)), (last, responses("")[1])):
            if starts == "each":
                await memory.close()
                memory = open_memory(project, model=BuiltinModel(), flags=OFF)
            memory.session("monday").turn_ended({**arguments, "tools": tools}, reply)
    await memory.close()
    assert kept(memory) == len(FACTS)
    assert not Path(memory.layout.unlearned("monday")).exists()


async def test_such_a_turn_reaches_the_model_once_with_every_call_and_its_result(project: Path) -> None:
    model = ScriptedModel([says("Nothing.")] * 3)
    memory = open_memory(project, model=model, flags={"recall.selector": "local", **OFF})
    async with memory.session("monday") as session:
        session.turn_ended(responses(FACTS[0])[0], call_of("look", 1))
        session.turn_ended(result_of(1, "three tests"), responses("")[1])
        await asyncio.sleep(0)
        session.turn_ended(*responses(FACTS[1]))
    asked = [[message for message in request.messages if not message.is_meta] for request in model.requests]
    first = str(asked[0])
    assert first.count(FACTS[0]) == 1 and "three tests" in first and "look" in first
    assert FACTS[0] not in str(asked[-1]), "and not again with the next turn"
    await memory.close()


async def test_a_turn_that_was_cut_off_while_tools_ran_is_learned_at_the_next_start(project: Path) -> None:
    memory = open_memory(project, model=BuiltinModel(), flags=OFF)
    async with memory.session("monday") as session:
        session.turn_ended(responses(FACTS[0])[0], call_of("look", 1))
    await memory.close()
    model = ScriptedModel([says("Nothing.")])
    later = open_memory(project, model=model, flags={"recall.selector": "local", **OFF})
    async with later.session("tuesday") as other:
        assert other._catching_up is not None
        await other._catching_up
    await later.close()
    [request] = model.requests
    assert FACTS[0] in str(request.messages)
    assert not any(message.tool_uses for message in request.messages), "no provider takes a call without a result"
    assert not Path(later.layout.unlearned("monday")).exists()


async def test_a_host_that_sends_all_of_it_keeps_its_own_request(project: Path) -> None:
    """G1: nothing is joined to what holds it already."""
    model = ScriptedModel([says("Nothing.")])
    memory = open_memory(project, model=model, flags={"recall.selector": "local", **OFF})
    tool = {"name": "Write", "description": "w", "input_schema": {"type": "object"}}
    use = {"role": "assistant", "content": [{"type": "tool_use", "id": "t1", "name": "Write", "input": {}}]}
    result = {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t1", "content": "ok"}]}
    call, reply = anthropic(FACTS[0])
    async with memory.session("monday") as session:
        session.turn_ended({**call, "tools": [tool]}, use)
        session.turn_ended({**call, "tools": [tool], "messages": [*call["messages"], use, result]}, reply)
    raw = model.requests[0].raw
    assert raw is not None and raw.arguments["messages"] == [*call["messages"], use, result]
    await memory.close()


@pytest.mark.parametrize("damage", ["last byte", "half", "garbled"])
async def test_a_damaged_list_of_turns_costs_at_most_the_damaged_one_and_throws_nothing_away(
    damage: str, project: Path
) -> None:
    """X5: what waits is a line a turn."""
    state = SessionState.load("s1", open_memory(project).layout)
    turns = [
        FinishedTurn(Request("m", messages=(user(f"Tom owns service {number}.", message_id=f"u{number}"),)), reply)
        for number, reply in enumerate([assistant("Noted.", message_id="r0"), assistant("Fine.", message_id="r1")])
    ]
    Unlearned(state).keep(turns)
    path = Path(Unlearned(state).path)
    data = path.read_bytes()
    path.write_bytes(
        {"last byte": data[:-1], "half": data[: data.rindex(b'{"type":"assistant"') + 20], "garbled": b"\xff" * 9}[
            damage
        ]
    )
    damaged = path.read_bytes()
    found = Unlearned(state).turns(Request("m"))
    assert len(found) == {"last byte": 2, "half": 2, "garbled": 0}[damage]
    assert damage == "garbled" or "Tom owns service 1." in str(found[1].messages), "what can be read of it is not lost"
    Unlearned(state).turns(Request("m"))
    [aside] = path.parent.glob(f"{path.name}.damaged-*")
    assert aside.read_bytes() == damaged


def test_a_list_of_turns_that_cannot_be_read_now_is_not_written_over(project: Path) -> None:
    state = SessionState.load("s1", open_memory(project).layout)
    path = Path(Unlearned(state).path)
    path.mkdir(parents=True)
    unlearned = Unlearned(state)
    assert unlearned.turns(Request("m")) == []
    unlearned.keep([])
    assert path.is_dir()


@pytest.mark.parametrize("call", [anthropic, responses, ours])
async def test_where_a_damage_took_what_was_noted_of_a_session_what_is_said_next_is_learned(
    project: Path, call: Call, events: Events
) -> None:
    """X10, L2: what was said before may be purged, or learned; no message of these hosts bears a time."""
    memory = open_memory(project, model=BuiltinModel(), flags=OFF, sink=events)
    async with memory.session("monday") as session:
        session.turn_ended(*call(FACTS[0]))
    before, path = kept(memory), Path(memory.layout.session_state("monday"))
    path.write_text("{damaged")
    os.utime(path, (time.time() - 60, time.time() - 60))
    for said in FACTS[1:3]:
        async with memory.session("monday") as session:
            session.turn_ended(*call(said))
    assert kept(memory) == before + 2
    assert json.loads(path.read_text())["lostUntil"] < time.time() - 59
    [aside] = path.parent.glob("state.json.damaged-*")
    assert aside.read_text() == "{damaged" and str(aside) in str([event.fields for event in events.events])
    await memory.close()
