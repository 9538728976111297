"""What a host gets from one object: session memory, compaction and catching up are wired to the session's model."""

from __future__ import annotations

import asyncio
import os
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from memdir import session as session_module
from memdir.agent.tools.tool import memory_tools
from memdir.dream.dream import DreamReport, DreamTask, NotDreamt
from memdir.errors import MemdirError, MemoryNotFound
from memdir.memdir import MemDir, open_memory
from memdir.model.builtin.builtin_model import BuiltinModel
from memdir.model.model import Reply, Request, ScriptedModel, Usage, calls, says
from memdir.remember.compaction import Compacted
from memdir.remember.session_state import SessionState
from memdir.session import Session
from memdir.settings import Environment
from memdir.transcript.conversation import Conversation, resume
from memdir.transcript.message import Message, Text, assistant, user
from tests.conftest import Events
from tests.remember.conftest import topic
from tests.remember.working import Work, fix_rounding

Opened = Callable[..., MemDir]


@pytest.fixture
def opened(project: Path, events: Events) -> Opened:
    def open_one(**flags: str) -> MemDir:
        memory = open_memory(project, sink=events, flags=flags, model=BuiltinModel())
        memory.start()
        return memory

    return open_one


def talk_of(memory: MemDir, session_id: str) -> Conversation:
    return Conversation.resume(memory.transcript(session_id))


async def settled(session: Session) -> None:
    await session.session_memory.settle()
    await session.extraction.drain()


async def test_a_long_session_is_noted_compacted_and_resumed_without_a_key(opened: Opened, events: Events) -> None:
    """N1, N3, N7: notes at 10,000 tokens, a summary and a tail after /compact, the same context after a resume."""
    memory = opened(**{"model.contextTokens": "20000"})
    session = memory.session("one")
    work = Work(talk_of(memory, "one"))
    turn = fix_rounding(work)
    session.turn_ended(turn.request, turn.reply, usage=Usage(input=9_000))
    await settled(session)
    assert not os.path.exists(memory.layout.session_memory("one")), "too short for notes"
    for number in range(12):
        work.ask(f"Step {number}: {'look at the next file of the list ' * 30}")
        turn = work.reply(f"Looked at src/part_{number}.py. {'It holds nothing of interest. ' * 30}")
    session.turn_ended(turn.request, turn.reply, usage=Usage(input=12_000))
    await settled(session)
    notes = Path(memory.layout.session_memory("one")).read_text()
    assert "src/invoice.py" in notes
    outcome = await session.compaction.compact(work.talk, work.request())
    assert isinstance(outcome, Compacted)
    assert outcome.method == "session-memory"
    assert outcome.tokens_after < outcome.tokens_before
    work.talk.transcript.close()
    assert resume(memory.layout.session("one")).messages == work.talk.messages
    await memory.close()
    assert "session_memory.update" in events.names
    assert "session.compact" in events.names


async def test_without_auto_compaction_there_are_no_notes(opened: Opened) -> None:
    """N3: session memory serves compaction; without the one there is not the other."""
    memory = opened(autoCompact="false")
    session = memory.session("one")
    work = Work(talk_of(memory, "one"))
    turn = fix_rounding(work)
    session.turn_ended(turn.request, turn.reply, usage=Usage(input=50_000))
    await settled(session)
    assert session.session_memory.notes() is None
    assert not session.compaction.is_due(10**9)
    await memory.close()
    work.talk.transcript.close()


def test_the_settings_decide_when_a_conversation_is_compacted(opened: Opened) -> None:
    memory = opened(**{"model.contextTokens": "1000", "compact.percent": "50"})
    compaction = memory.session("one").compaction
    assert [compaction.is_due(tokens) for tokens in (499, 500)] == [False, True]


async def test_a_session_that_a_crash_cut_off_is_learned_when_the_next_one_starts(opened: Opened) -> None:
    """X10: the cursor persists, and the next session catches up."""
    memory = opened()
    SessionState("crashed", memory.layout).begin()
    talk = talk_of(memory, "crashed")
    talk.add(user("From now on never mock the database in tests: mocks hid a broken migration."))
    talk.add(Message("assistant", (Text("Understood."),)))
    talk.transcript.close()
    saved: list[str] = []
    session = memory.session("next", on_saved=saved.extend)
    await session.__aenter__()
    assert session._catching_up is not None
    await session._catching_up
    assert saved
    assert SessionState.load("crashed", memory.layout).extract_cursor == talk.messages[-1].id
    assert SessionState.was_begun("next", memory.layout)
    await memory.close()


async def test_a_process_that_ends_after_one_turn_still_catches_up(opened: Opened) -> None:
    memory = opened()
    SessionState("crashed", memory.layout).begin()
    talk = talk_of(memory, "crashed")
    talk.add(user("From now on never mock the database in tests: mocks hid a broken migration."))
    talk.add(Message("assistant", (Text("Understood."),)))
    talk.transcript.close()
    async with memory.session("next") as session:
        session.turn_ended(Request("builtin", messages=(user("What time is it?"),)), Message("assistant", (Text("8"),)))
    assert SessionState.load("crashed", memory.layout).extract_cursor == talk.messages[-1].id
    await memory.close()


async def due(memory: MemDir) -> Session:
    """A session in which a dream has begun."""
    for number in range(2):
        talk = talk_of(memory, f"s{number}")
        talk.add(user("hello"))
        talk.transcript.close()
    session = memory.session("now")
    session.turn_ended(Request("builtin", messages=(user("Hi."),)), Message("assistant", (Text("Hello."),)))
    assert session.dream_task is not None
    return session


def dreams(events: Events) -> list[object]:
    return [event.fields["refused"] for event in events.events if event.name == "memory.dream"]


DREAMY = {"dream.sessions": "1", "dream.hours": "0"}


async def test_a_process_that_ends_after_one_turn_still_dreams(opened: Opened, events: Events) -> None:
    memory = opened(**DREAMY)
    await (await due(memory)).close()
    assert dreams(events) == [""]
    await memory.close()


def test_a_program_that_runs_a_loop_for_each_turn_catches_up_and_dreams_as_it_closes(
    opened: Opened, events: Events
) -> None:
    """X10, D1: what a turn began ended with its loop, and nobody stopped it."""
    memory = opened(**DREAMY)
    SessionState("crashed", memory.layout).begin()
    talk = talk_of(memory, "crashed")
    talk.add(user("From now on never mock the database in tests: mocks hid a broken migration."))
    talk.add(assistant("Understood."))
    talk.transcript.close()

    async def turn() -> Session:
        return await due(memory)

    session = asyncio.run(turn())
    assert dreams(events) == [] and memory.list() == []
    asyncio.run(session.close())
    assert dreams(events) == [""]
    assert SessionState.load("crashed", memory.layout).extract_cursor == talk.messages[-1].id
    assert [header.type for header in memory.list()] == ["feedback"]


async def test_the_dream_of_one_s_own_memories_is_seen_stopped_and_told_like_that_of_the_project(
    project: Path, events: Events
) -> None:
    """D5: it comes behind the project's, in the same night."""
    begun: list[str] = []
    both = asyncio.Event()

    class Night(BuiltinModel):
        async def complete(self, request: Request, **more: Any) -> Reply:
            told = str(request.messages[-1])
            if "[memdir job: dream]" in told:
                begun.append(told)
            if len(begun) == 2:
                both.set()
                await asyncio.Event().wait()
            return says("Nothing to do.")

    memory = open_memory(project, sink=events, flags=DREAMY, model=Night())
    memory.add("I work from home on Fridays.", "user", scope="user")
    told: list[DreamReport | NotDreamt] = []
    memory.session("now", on_dreamt=told.append)
    session = await due(memory)
    await both.wait()
    assert memory.places.of("user").root in begun[1] and len(told) == 1 and isinstance(told[0], DreamReport)
    (task,) = [one for one in session.tasks if one.name == "dreaming"]
    task.stop()
    while session.tasks:
        await asyncio.sleep(0)
    assert isinstance(told[1], NotDreamt) and "stopped" in told[1].reason
    await memory.close()


async def test_a_dream_that_closing_cut_short_is_not_said_to_be_the_users_doing(
    project: Path, events: Events, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Slow(BuiltinModel):
        async def complete(self, request: Request, **more: Any) -> Reply:
            await asyncio.Event().wait()
            raise AssertionError

    monkeypatch.setattr(session_module, "CLOSE_SECONDS", 0.0)
    memory = open_memory(project, sink=events, flags=DREAMY, model=Slow())
    memory.start()
    await (await due(memory)).close()
    assert dreams(events) == ["it was cut short, because the session was closed; it comes again"]
    await memory.close()


OFF = ("disabled", "bare", "remote", "setting", "toggled")


@pytest.mark.parametrize("way", OFF)
async def test_off_is_off(
    project: Path, tmp_path: Path, events: Events, monkeypatch: pytest.MonkeyPatch, way: str
) -> None:
    """S5: nothing is extracted, noted, dreamt, recalled or created, whichever way it was switched off."""
    for name in {"disabled": ["MEMDIR_DISABLE"], "remote": ["MEMDIR_REMOTE"]}.get(way, []):
        monkeypatch.setenv(name, "1")
    flags = {"memoryEnabled": "false", **DREAMY} if way == "setting" else DREAMY
    environment = Environment.read(home=str(tmp_path / "home"), bare=way == "bare")
    memory = open_memory(project, environment=environment, flags=flags, sink=events, model=BuiltinModel())
    session = memory.session("one")
    if way == "toggled":
        assert await session.toggle(is_on=False) is False
    before = sorted((tmp_path / "home").rglob("*"))
    async with session:
        pending = session.prefetch("Which port does the database listen on?")
        await pending.wait(5)
        assert [pending.ready(), session.prompt(), session.context()] == [[], "", ""]
        rule = user("From now on never mock the database in tests: mocks hid a broken migration.")
        session.turn_ended(
            Request("builtin", messages=(rule,)), Message("assistant", (Text("Yes."),)), usage=Usage(50_000)
        )
        assert isinstance(await session.dream(DreamTask(0)), NotDreamt)
        said = [rule, assistant("Yes.", message_id="m2")]
        assert await session.learn(said) is None, "it comes again"
        await session.take_notes(said, 50_000)
        await session.dream_if_due()
        memory.start()
    await memory.close()
    told = ["memory.toggled"] if way == "toggled" else []
    assert events.names == told
    left = [path for path in (tmp_path / "home").rglob("*") if path not in before and path.suffix != ".jsonl"]
    # Memory was on until then: that nobody heard what is said from now on must outlive this process.
    marks = {"one", "unheard.json"} if way == "toggled" else set()
    assert [path for path in left if path.name not in {"logs"} | marks] == []


def switch_in_file(memory: MemDir, *, is_on: bool) -> None:
    """As a person does it beside a running conversation, for this project."""
    kept = Path(memory.layout.local_settings)
    kept.parent.mkdir(parents=True, exist_ok=True)
    kept.write_text(f'{{"memoryEnabled": {str(is_on).lower()}}}')


@pytest.mark.parametrize("by_file", [False, True])
@pytest.mark.parametrize("from_the_start", [False, True])
async def test_what_is_said_while_memory_is_off_is_never_learned(
    opened: Opened, events: Events, from_the_start: bool, by_file: bool
) -> None:
    """S5: a file of settings that says so in the middle of a conversation counts at once."""
    memory = opened()
    session = memory.session("one")
    talk = session.conversation

    async def switch(*, is_on: bool) -> None:
        if by_file:
            switch_in_file(memory, is_on=is_on)
        else:
            await session.toggle(is_on=is_on)
        assert session.is_on is is_on and bool(session.prompt()) is is_on

    def turn(said: str) -> None:
        talk.add(user(said))
        request = Request("builtin", messages=talk.messages)
        session.turn_ended(request, talk.add(Message("assistant", (Text("Understood."),))))

    if not from_the_start:
        turn("Please answer in short sentences.")
        await session.extraction.drain()
    await switch(is_on=False)
    turn("From now on never mock the database in tests: mocks hid a broken migration.")
    await switch(is_on=True)
    turn("From now on always write the tests before the code, it saves us rework.")
    await session.close()
    later = memory.session("later")
    async with later:
        assert later._catching_up is not None
        await later._catching_up
    texts = "".join(path.read_text() for path in Path(memory.place.root).glob("*.md"))
    assert "before the code" in texts and "mock" not in texts
    assert [event.fields["is_on"] for event in events.events if event.name == "memory.toggled"] == [False, True]
    await memory.close()


async def test_nothing_comes_of_work_that_a_file_of_settings_switched_off(project: Path, events: Events) -> None:
    """S5: the model that was asked before may answer what it likes, and is asked no more."""
    asked, answer = asyncio.Event(), asyncio.Event()

    class Slow(ScriptedModel):
        async def complete(self, request: Request, *, on_text: Callable[[str], None] | None = None) -> Reply:
            asked.set()
            await answer.wait()
            return await super().complete(request, on_text=on_text)

    written = topic("Never mock", "Never mock the database in tests: mocks hid a broken migration.")
    model = Slow([calls(("Write", {"file_path": "mocks.md", "content": written})), says("Done."), says("Done.")])
    memory = open_memory(project, sink=events, flags={"dreamEnabled": "false"}, model=model)
    memory.start()
    session = memory.session("one")
    rule = user("From now on never mock the database in tests: mocks hid a broken migration.")
    session.turn_ended(Request("m", messages=(rule,)), assistant("Understood."))
    await asyncio.wait_for(asked.wait(), 10)
    switch_in_file(memory, is_on=False)
    answer.set()
    await session.extraction.drain()
    assert len(model.requests) == 1
    assert list(Path(memory.place.root).glob("mocks*")) == []
    with pytest.raises(MemdirError, match="memory is off"):
        memory.add("The port is 8080.")
    await session.close()
    assert "memory.toggled" in events.names
    await memory.close()


async def test_memory_that_a_file_of_settings_switches_on_is_on(project: Path) -> None:
    """S5: also where it was off when the conversation began, and nothing of before is learned."""
    switch_in_file(open_memory(project), is_on=False)
    memory = open_memory(project, model=BuiltinModel())
    session = memory.session("one")
    before = (user("From now on never mock the database in tests: mocks hid a broken migration."), assistant("Yes."))
    session.turn_ended(Request("m", messages=before[:1]), before[1])
    assert not session.is_on and not os.path.exists(memory.place.root)
    switch_in_file(memory, is_on=True)
    assert session.prompt()
    rule = user("From now on always write the tests before the code, it saves us rework.")
    session.turn_ended(Request("m", messages=(*before, rule)), assistant("Understood."))
    await session.close()
    texts = "".join(path.read_text() for path in Path(memory.place.root).glob("*.md"))
    assert "before the code" in texts and "mock" not in texts
    await memory.close()


async def test_a_settings_file_that_somebody_is_at_switches_nothing(opened: Opened) -> None:
    memory = opened()
    session = memory.session("one")
    switch_in_file(memory, is_on=True)
    Path(memory.layout.local_settings).write_text('{"memoryEnabled": fal')
    assert session.is_on and session.prompt()
    switch_in_file(memory, is_on=False)
    assert not session.is_on and session.prompt() == ""
    await session.close()
    await memory.close()


async def test_what_was_said_while_off_is_known_again_in_messages_that_the_host_made_anew(opened: Opened) -> None:
    """S5: without an id of theirs they are known by their words, and said once more they are learned."""
    memory = opened()
    session = memory.session("one")
    secret = "From now on never mock the database in tests: mocks hid a broken migration."
    before: list[Message] = []

    async def turn(said: str) -> None:
        talk = [*(Message(one.role, one.content) for one in before), user(said)]
        session.turn_ended(Request("builtin", messages=tuple(talk)), reply := assistant("Understood."))
        before[:] = [*talk, reply]
        await session.extraction.drain()

    def texts() -> str:
        return "".join(path.read_text() for path in Path(memory.place.root).glob("*.md"))

    await turn("Please answer in short sentences.")
    await session.toggle(is_on=False)
    await turn(secret)
    await session.toggle(is_on=True)
    await turn("From now on always write the tests before the code, it saves us rework.")
    assert "before the code" in texts() and "mock" not in texts()
    state = Path(memory.layout.session_state("one")).read_text()
    assert "mock" not in state, "nothing of it is kept"
    await turn(secret)
    assert "mock" in texts()
    await session.close()
    await memory.close()


def merged(said: list[dict[str, str]]) -> list[dict[str, str]]:
    """Two messages of the user in one, as a host sends them whose reply to the first never came."""
    [first, reply, off, _, last] = said
    return [first, reply, {"role": "user", "content": f"{off['content']}\n\n{last['content']}"}]


def reminded(said: list[dict[str, str]]) -> list[dict[str, str]]:
    remind = "<system-reminder>Today is Monday.</system-reminder>\n"
    return [{**one, "content": remind + one["content"]} if one["role"] == "user" else one for one in said]


@pytest.mark.parametrize(("sent", "is_told"), [(list, True), (list, False), (reminded, True), (merged, True)])
async def test_however_the_host_sends_its_history_again_what_was_said_while_off_is_not_in_it(
    opened: Opened, is_told: bool, sent: Callable[[list[dict[str, str]]], list[dict[str, str]]]
) -> None:
    """S5: also where it told of no turn while memory was off, puts something before a message, or joins two."""
    memory = opened()
    session = memory.session("one")
    said: list[dict[str, str]] = []

    async def turn(text: str) -> None:
        said.append({"role": "user", "content": text})
        if session.is_on or is_told:
            as_sent = sent(said) if len(said) > 3 else said
            session.turn_ended({"model": "m", "max_tokens": 9, "messages": as_sent}, answer)
        said.append({"role": "assistant", "content": "Understood."})
        if session.is_on:
            await session.extraction.drain()

    answer = {"type": "message", "role": "assistant", "content": [{"type": "text", "text": "Understood."}]}
    await turn("Please answer in short sentences.")
    await session.toggle(is_on=False)
    await turn("From now on never mock the database in tests: mocks hid a broken migration.")
    await session.toggle(is_on=True)
    await turn("From now on always write the tests before the code, it saves us rework.")
    texts = "".join(path.read_text() for path in Path(memory.place.root).glob("*.md"))
    assert "before the code" in texts and "mock" not in texts
    await session.close()
    await memory.close()


async def test_what_was_said_while_off_is_not_noted_when_memory_is_on_again(project: Path, events: Events) -> None:
    """S5, N3: the notes are memdir's own, as memories are."""
    model = ScriptedModel([says("Nothing.")] * 9)
    memory = open_memory(project, sink=events, flags={"dreamEnabled": "false"}, model=model)
    memory.start()
    session = memory.session("one")
    talk = session.conversation

    def turn(text: str) -> None:
        talk.add(user(text))
        request = Request("builtin", messages=talk.messages)
        session.turn_ended(request, talk.add(Message("assistant", (Text("Understood."),))), usage=Usage(50_000))

    await session.toggle(is_on=False)
    turn("The acquisition of Tulip Ltd is a secret until May.")
    await session.toggle(is_on=True)
    turn("Let us go on with the parser.")
    await session.session_memory.settle(5)
    await session.close()
    seen = [str(request.messages) for request in model.requests]
    assert any("parser" in text for text in seen) and not any("Tulip" in text for text in seen)
    await memory.close()


async def test_closing_in_the_middle_of_catching_up_loses_nothing(
    opened: Opened, monkeypatch: pytest.MonkeyPatch
) -> None:
    memory = opened()
    SessionState("crashed", memory.layout).begin()
    talk = talk_of(memory, "crashed")
    talk.add(user("From now on never mock the database in tests: mocks hid a broken migration."))
    talk.add(Message("assistant", (Text("Understood."),)))
    talk.transcript.close()
    session = memory.session("next")
    await session.__aenter__()
    with monkeypatch.context() as patched:
        patched.setattr(session_module, "CLOSE_SECONDS", 0.0)
        await memory.close()
    assert SessionState.load("crashed", memory.layout).extract_cursor == ""
    again = opened().session("after")
    await again.__aenter__()
    assert again._catching_up is not None
    await asyncio.wait_for(again._catching_up, 20)
    assert SessionState.load("crashed", memory.layout).extract_cursor == talk.messages[-1].id
    await again.close()


async def test_catching_up_is_seen_with_how_far_it_is_and_stopped(
    opened: Opened, project: Path, events: Events
) -> None:
    """D5, X10."""
    before = opened()
    SessionState("crashed", before.layout).begin()
    talk = talk_of(before, "crashed")
    talk.add(user("From now on never mock the database in tests: mocks hid a broken migration."))
    talk.add(assistant("Understood."))
    talk.transcript.close()
    asked = asyncio.Event()

    class Slow(ScriptedModel):
        async def complete(self, request: Request, **more: Any) -> Reply:
            if not self.requests:
                return await super().complete(request)
            asked.set()
            return await asyncio.Future()

    path = os.path.join(before.place.root, "real_database.md")
    write = calls(
        ("Write", {"file_path": path, "content": topic("Real database", "Never mock the database in tests.")}),
        text="One rule.",
    )
    memory = open_memory(project, sink=events, model=Slow([write]))
    session = memory.session("tuesday")
    async with session:
        await asyncio.wait_for(asked.wait(), 30)
        [task] = session.tasks
        assert (task.name, task.progress.turns, task.progress.words) == ("catching up", 1, "One rule.")
        assert [os.path.basename(one) for one in task.progress.files] == ["real_database.md"]
        task.stop()
        while session.tasks:
            await asyncio.sleep(0)
    await memory.close()


async def test_a_subagents_turn_leaves_no_notes(opened: Opened) -> None:
    memory = opened()
    session = memory.session("one")
    reply = Message("assistant", (Text("done"),))
    session.turn_ended(Request("builtin", messages=(user("x"),)), reply, usage=Usage(input=99_999), is_subagent=True)
    await settled(session)
    assert session.session_memory.notes() is None
    await memory.close()


async def test_background_work_may_have_models_of_its_own_where_no_cache_is_shared(
    project: Path, events: Events
) -> None:
    model = ScriptedModel([says("[]")] * 20)
    names = {"recall.model": "small-chooser", "extract.model": "small-reader", "dream.model": "large-dreamer"}
    flags = {**names, **DREAMY, "model.name": "usual", "recall.encoder": "words"}
    memory = open_memory(project, sink=events, flags=flags, model=model)
    memory.start()
    memory.add("The staging database listens on port 5433.")
    SessionState("crashed", memory.layout).begin()
    talk = talk_of(memory, "crashed")
    talk.add(user("From now on never mock the database in tests: mocks hid a broken migration."))
    talk.add(Message("assistant", (Text("Understood."),)))
    talk.transcript.close()
    async with memory.session("a") as session:
        await session.recall("Which port does the staging database listen on?", wait=5)
        host = Request("hosts-own", messages=(user("Please always answer in short sentences, it helps me."),))
        session.turn_ended(host, Message("assistant", (Text("Yes."),)))
    await memory.close()
    used = {request.model: request.messages[-1].text[:24] for request in model.requests}
    assert set(used) == {"small-chooser", "small-reader", "large-dreamer"}
    assert used["large-dreamer"].startswith("[memdir job: dream]")


async def test_a_fork_that_shares_the_hosts_cache_keeps_the_hosts_model(project: Path, events: Events) -> None:
    """G1: tools and model are part of the cache key."""
    model = ScriptedModel([says("Nothing.")] * 9)
    memory = open_memory(project, sink=events, flags={"extract.model": "small", "dreamEnabled": "false"}, model=model)
    tools = tuple(tool.spec for tool in memory_tools())
    async with memory.session("a") as session:
        host = Request("hosts-own", tools=tools, messages=(user("Please always answer in short sentences."),))
        session.turn_ended(host, Message("assistant", (Text("Yes."),)))
    await memory.close()
    assert {request.model for request in model.requests} == {"hosts-own"}


async def test_what_a_conversation_changed_last_is_told_and_nothing_of_others(
    opened: Opened, memdir_command: str
) -> None:
    """S14: what a person takes back on a key is what they saw done, whatever the scope."""
    memory = opened()

    def elsewhere(*words: str) -> None:
        subprocess.run([memdir_command, "remember", *words], cwd=memory.layout.work_tree, check=True)

    elsewhere("Deploys are frozen until 2027-03-01.")
    async with memory.session("monday") as session:
        with pytest.raises(MemoryNotFound, match="has changed nothing"):
            session.last_change()
        added = memory.add("I have run databases for ten years.", "user", scope="user")
        scope, commit, patch = session.last_change()
        assert scope == "user" and added.memory.key in [file.path for file in commit.files]
        assert "+I have run databases for ten years." in patch
        elsewhere("Releases are on Tuesdays.")
        assert session.last_change()[1].id == commit.id
        memory.undo(commit.id, scope=scope)
        with pytest.raises(MemoryNotFound, match="has changed nothing"):
            session.last_change()


class Leaving:
    """A model whose own cancel scope leaks, as some clients' do."""

    async def complete(self, request: Request, *, on_text: Callable[[str], None] | None = None) -> Reply:
        raise asyncio.CancelledError

    async def close(self) -> None: ...


async def test_a_model_that_cancels_itself_costs_its_reply_and_no_more(project: Path, events: Events) -> None:
    memory = open_memory(project, sink=events, flags={"recall.selector": "model"}, model=Leaving())
    memory.add("We deploy on Tuesdays only")
    async with memory.session("one") as session:
        assert await session.recall("when do we deploy?", wait=10)
        session.turn_ended(Request("x", messages=(user("Never mock the database, remember that."),)), assistant("Ok."))
    await memory.close()


@pytest.mark.parametrize("kind", ["pipe", "link", "folder"])
def test_an_index_that_is_no_plain_file_ends_no_turn(opened: Opened, events: Events, kind: str) -> None:
    memory = opened()
    index = Path(memory.place.root, "MEMORY.md")
    index.unlink(missing_ok=True)
    {"pipe": os.mkfifo, "link": lambda path: path.symlink_to("/etc/hostname"), "folder": Path.mkdir}[kind](index)
    assert memory.session("one").context() == ""
    assert "memory.refused" in events.names
