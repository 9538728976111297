"""What a crash cut off is learned when the next session starts (X10)."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from memdir.dream.dream import Dreamer, DreamPlan, DreamTask
from memdir.errors import ModelError, ModelFailure
from memdir.layout import Layout
from memdir.memdir import open_memory
from memdir.model.builtin.builtin_model import BuiltinModel
from memdir.model.model import Model, Reply, Request, ScriptedModel, calls, says
from memdir.remember.catch_up import IDLE_SECONDS, MAX_SESSIONS, CatchUp
from memdir.remember.extract import Extraction, ExtractionPlan
from memdir.remember.session_state import SessionState, Unlearned
from memdir.remember.turn import FinishedTurn
from memdir.store.log_lines import PATTERN
from memdir.store.store import MemoryStore
from memdir.transcript.conversation import Conversation
from memdir.transcript.message import Message, Text, ToolUse, user
from memdir.transcript.transcript import Transcript
from tests.conftest import Clock, Events

SCRIPT = str(Path(__file__).parent / "crashing.py")
SAID = "Never mock the database in tests, use a real one."


@pytest.fixture
def layout(tmp_path: Path, project: Path) -> Layout:
    return Layout(str(tmp_path / "home"), str(project))


@pytest.fixture
def talk(layout: Layout, clock: Clock) -> Callable[..., Conversation]:
    """A session of one turn that was left, attended to by memdir unless told otherwise."""

    def make(session_id: str, *, age: float = 0, begun: bool = True, text: str = SAID) -> Conversation:
        session = SessionState(session_id, layout)
        if begun:
            session.begin()
        transcript = Transcript(layout.session(session_id), session_id=session_id, cwd="/app", clock=clock)
        conversation = Conversation(transcript)
        conversation.add(user(text))
        conversation.add(Message("assistant", (Text("Understood, as you say."),)))
        transcript.close()
        os.utime(transcript.path, (clock.now - age, clock.now - age))
        return conversation

    return make


@pytest.fixture
def machine(
    layout: Layout, store: MemoryStore, events: Events, clock: Clock, project: Path
) -> Callable[[Model], CatchUp]:
    store.ensure()
    plan = ExtractionPlan([store], str(project))
    return lambda model: CatchUp(layout, plan, model, "scripted", events, clock)


def test_a_process_killed_in_mid_run_is_caught_up_with_by_the_next(project: Path, tmp_path: Path) -> None:
    crashed = subprocess.Popen([sys.executable, SCRIPT, "talk", str(project)], stdout=subprocess.PIPE, text=True)
    assert crashed.stdout is not None
    assert crashed.stdout.readline() == "asked\n"

    def catch_up() -> str:
        done = subprocess.run(
            [sys.executable, SCRIPT, "catch-up", str(project)], capture_output=True, text=True, check=True
        )
        return done.stdout

    assert catch_up() == "0\n", "it is still being written"
    crashed.send_signal(signal.SIGKILL)
    crashed.wait()
    crashed.stdout.close()
    assert catch_up() == "2 feedback_no_mocks.md\n"
    assert catch_up() == "0\n", "once is enough"
    layout = Layout(str(tmp_path / "home"), str(project))
    assert "feedback_no_mocks.md" in Path(layout.default_memory, "MEMORY.md").read_text(encoding="utf-8")
    history = subprocess.run(
        ["git", "log", "-1", "--format=%B"],
        cwd=f"{layout.default_memory}.state/history.git",
        capture_output=True,
        text=True,
    )
    assert "Session: crashed" in history.stdout


@pytest.mark.parametrize("has_transcript", [True, False])
async def test_what_one_person_of_a_host_left_is_learned_by_nobody_else(project: Path, has_transcript: bool) -> None:
    """T1: what they said of themselves would be kept as another's."""
    anna, bob = (open_memory(project, user=name) for name in ("anna", "bob"))
    left, said = anna.session("monday"), [user("I'm a data scientist in Berlin.", message_id="1")]
    left.state.begin()
    if has_transcript:
        left.conversation.add(said[0])
        left.conversation.add(Message("assistant", (Text("Hello!"),)))
        left.transcript.close()
    else:
        waiting = Unlearned(left.state)
        waiting.keep([FinishedTurn(Request("m", messages=tuple(said)), Message("assistant", (Text("Hello!"),)))])
        waiting.close()
    async with bob.session("tuesday"):
        pass
    assert [len(memory.list(scope="user")) for memory in (anna, bob)] == [0, 0]
    async with open_memory(project, user="anna").session("wednesday"):
        pass
    assert [len(memory.list(scope="user")) for memory in (anna, bob)] == [1, 0]


async def test_oldest_first_at_most_five_and_never_the_current_one(
    talk: Callable[..., Conversation], machine: Callable[[Model], CatchUp], layout: Layout, events: Events
) -> None:
    for number in range(7):
        talk(f"s{number}", age=100 - number, text=f"Never mock the database number {number}.")
    talk("current", age=500)
    model = ScriptedModel([says("-")] * 9)
    catch_up = machine(model)
    await catch_up.run("current")
    assert [request.messages[0].text[-2] for request in model.requests] == list("01234")
    assert len(model.requests) == MAX_SESSIONS
    await catch_up.run("current")
    assert [request.messages[0].text[-2] for request in model.requests[5:]] == list("56")
    assert [event.fields["sessions"] for event in events.events if event.name == "session.catch_up"] == [5, 2]
    assert not SessionState.load("current", layout).extract_cursor


async def test_only_what_came_after_the_cursor_with_the_turn_it_belongs_to(
    talk: Callable[..., Conversation], machine: Callable[[Model], CatchUp], layout: Layout
) -> None:
    conversation = talk("one")
    session = SessionState.load("one", layout)
    session.move_cursor(conversation.messages[-1].id)
    again = Conversation.resume(conversation.transcript)
    again.add(user("Deploys happen on Fridays only, says the release team."))
    again.add(Message("assistant", (Text("I see."), ToolUse("c", "Bash", {}))))
    conversation.transcript.close()
    model = ScriptedModel([says("-")])
    await machine(model).run("other")
    [request] = model.requests
    assert [message.text for message in request.messages[:-1]] == [
        "Deploys happen on Fridays only, says the release team."
    ]
    assert {tool.name for tool in request.tools} >= {"Read", "Write", "Edit"}
    await machine(model).run("other")
    assert machine(model).behind("other") == [], "the call that was never answered is not new for ever"
    assert len(model.requests) == 1


async def test_sessions_that_memdir_did_not_attend_to_are_left_alone(
    talk: Callable[..., Conversation], machine: Callable[[Model], CatchUp]
) -> None:
    """Thousands of old sessions of another agent must not be read and paid for."""
    talk("foreign", begun=False)
    assert machine(ScriptedModel([])).behind("x") == []


async def test_another_agent_s_session_counts_as_over_after_a_while(
    talk: Callable[..., Conversation], machine: Callable[[Model], CatchUp], layout: Layout, clock: Clock
) -> None:
    talk("claude")
    path = Path(layout.session("claude"))
    lines = [json.loads(line) for line in path.read_bytes().splitlines()]
    path.write_text("".join(json.dumps({**line, "version": "2.1.197"}) + "\n" for line in lines), encoding="utf-8")
    os.utime(path, (clock.now, clock.now))
    assert machine(ScriptedModel([])).behind("x") == []
    clock.now += IDLE_SECONDS
    assert [session.id for session in machine(ScriptedModel([])).behind("x")] == ["claude"]


@pytest.mark.parametrize("kind", ["bad_request", "context_too_long"])
async def test_a_session_that_fails_three_times_is_given_up(
    talk: Callable[..., Conversation], machine: Callable[[Model], CatchUp], events: Events, kind: ModelFailure
) -> None:
    """B2: no storm of retries at every start."""
    talk("one")
    model = ScriptedModel([ModelError("x", kind=kind)] * 9)
    for _ in range(5):
        await machine(model).run("x")
    assert len(model.requests) == 3
    assert [event.fields["failed"] for event in events.events if event.name == "session.catch_up"] == [1, 1, 1]


async def test_what_a_compaction_took_away_before_it_was_learned_is_caught_up_with(
    talk: Callable[..., Conversation], machine: Callable[[Model], CatchUp]
) -> None:
    """X4, X10: the transcript has it."""
    conversation = talk("one")
    conversation.compact(user("What was said so far."), (), {})
    conversation.add(user("Now the next part."))
    conversation.add(Message("assistant", (Text("Here it is."),)))
    conversation.transcript.close()
    model = ScriptedModel([says("-")])
    await machine(model).run("x")
    assert SAID in [message.text for message in model.requests[0].messages]
    assert machine(model).behind("x") == []


async def test_more_than_a_model_takes_in_is_caught_up_with_piece_by_piece(
    talk: Callable[..., Conversation], layout: Layout, store: MemoryStore, events: Events, clock: Clock, project: Path
) -> None:
    """X10: what was left over many compactions may be longer than any window."""
    store.ensure()
    conversation = talk("one")
    for number in range(3):
        conversation.add(user(f"Part {number}. {'text ' * 1_000}"))
        conversation.add(Message("assistant", (Text("Noted."),)))
    conversation.transcript.close()
    model = ScriptedModel([says("-")] * 9)
    plan = ExtractionPlan([store], str(project), piece_tokens=1_500)
    await CatchUp(layout, plan, model, "scripted", events, clock).run("x")
    told = [[message.text[:7] for message in request.messages[:-1:2]] for request in model.requests]
    assert told == [["Never m", "Part 0.", "Part 1."], ["Part 2."]]


@pytest.mark.parametrize("time", ["0001-01-01T00:00:00Z", "9999-12-31T23:59:59-12:00"])
async def test_a_time_that_no_calendar_here_holds_keeps_no_session_from_being_learned(
    talk: Callable[..., Conversation], machine: Callable[[Model], CatchUp], time: str
) -> None:
    path = Path(talk("one", age=9).transcript.path)
    records = [{**json.loads(line), "timestamp": time} for line in path.read_text().splitlines()]
    path.write_text("".join(f"{json.dumps(record)}\n" for record in records))
    os.utime(path, (1, 1))
    talk("two")
    model = ScriptedModel([says("-")] * 2)
    assert await machine(model).run("x") == []
    assert len(model.requests) == 2


async def test_a_session_that_nobody_foresaw_keeps_no_other_from_being_learned(
    talk: Callable[..., Conversation], machine: Callable[[Model], CatchUp], events: Events
) -> None:
    talk("one", age=9)
    talk("two")
    catch_up = machine(ScriptedModel([says("-")]))
    asked: list[float] = []

    def breaks_once(moment: float) -> tuple[str, ...]:
        asked.append(moment)
        if len(asked) == 1:
            raise ZeroDivisionError
        return ()

    await replace(catch_up, plan=replace(catch_up.plan, written_since=breaks_once)).run("x")
    assert len(asked) == 2
    assert [event.fields["failed"] for event in events.events if event.name == "session.catch_up"] == [1]


def test_sessions_of_which_nobody_knows_what_was_learned_take_no_others_place(
    talk: Callable[..., Conversation], machine: Callable[[Model], CatchUp], layout: Layout, clock: Clock
) -> None:
    for number in range(MAX_SESSIONS):
        talk(f"lost{number}", age=9)
        path = Path(layout.session_state(f"lost{number}"))
        path.write_text("{damaged")
        os.utime(path, (clock.now, clock.now))
    talk("one")
    assert [session.id for session in machine(ScriptedModel([])).behind("x")] == ["one"]


async def test_of_a_session_of_which_nobody_knows_what_was_learned_what_was_said_since_is_caught_up_on(
    talk: Callable[..., Conversation], machine: Callable[[Model], CatchUp], layout: Layout, clock: Clock
) -> None:
    """X10, L2."""
    path = Path(layout.session_state("one"))
    conversation = talk("one")
    path.write_text("{damaged")
    os.utime(path, (clock.now, clock.now))
    clock.now += 60
    conversation = Conversation.resume(conversation.transcript)
    conversation.add(user("Deploys happen on Fridays only, says the release team."))
    last = conversation.add(Message("assistant", (Text("I see, as you say."),)))
    conversation.transcript.close()
    model = ScriptedModel([says("-")])
    await machine(model).run("x")
    assert SAID not in str(model.requests) and "Fridays" in str(model.requests)
    assert SessionState.load("one", layout).extract_cursor == last.id
    assert machine(model).behind("x") == []


async def test_a_session_without_words_is_looked_at_once(
    talk: Callable[..., Conversation], machine: Callable[[Model], CatchUp], layout: Layout
) -> None:
    conversation = talk("one")
    Path(conversation.transcript.path).unlink()
    conversation = Conversation(conversation.transcript)
    last = conversation.add(user("```\ncode\n```"))
    conversation.transcript.close()
    await machine(ScriptedModel([])).run("x")
    assert SessionState.load("one", layout).extract_cursor == last.id


@pytest.mark.parametrize("lost", [{"uuid": ""}, {"uuid": 7}, {"message": "gone"}])
async def test_a_last_record_that_is_damaged_keeps_nothing_from_being_learned(
    talk: Callable[..., Conversation], machine: Callable[[Model], CatchUp], layout: Layout, lost: dict[str, object]
) -> None:
    """X10, J3: it costs itself."""
    conversation = talk("one")
    path = Path(conversation.transcript.path)
    last = json.loads(path.read_bytes().splitlines()[-1])
    path.write_text(path.read_text() + json.dumps({**last, "uuid": "new", **lost}) + "\n")
    model = ScriptedModel([says("-")])
    for _ in range(2):
        await machine(model).run("x")
    assert SAID in str(model.requests)
    assert SessionState.load("one", layout).extract_cursor == conversation.messages[-1].id
    assert machine(model).behind("x") == []


async def test_a_session_that_is_resumed_meanwhile_is_left_to_its_user(
    talk: Callable[..., Conversation], machine: Callable[[Model], CatchUp], layout: Layout
) -> None:
    talk("one", age=9)
    second = talk("two")

    def resume_the_other(request: Request) -> Reply:
        second.transcript.append_message(user("I am back."))
        return says("-")

    model = ScriptedModel([resume_the_other, says("-")])
    await machine(model).run("x")
    second.transcript.close()
    assert len(model.requests) == 1
    assert not SessionState.load("two", layout).extract_cursor


class Waiting:
    """A model whose answer comes when it is told to."""

    def __init__(self, *answers: Reply) -> None:
        self._model, self.is_asked, self.is_told = ScriptedModel(answers), asyncio.Event(), asyncio.Event()

    async def complete(self, request: Request, **more: Any) -> Reply:
        self.is_asked.set()
        await self.is_told.wait()
        return await self._model.complete(request, **more)

    async def close(self) -> None: ...


@pytest.mark.parametrize("is_log", [False, True], ids=["memories", "a daily log"])
@pytest.mark.parametrize("is_caught_up_first", [False, True], ids=["it ends first", "catching up ends first"])
async def test_a_session_that_is_gone_on_with_while_it_is_caught_up_on_is_learned_from_once(
    talk: Callable[..., Conversation],
    machine: Callable[[Model], CatchUp],
    layout: Layout,
    is_caught_up_first: bool,
    is_log: bool,
) -> None:
    """X4, X5: whichever learns from it first, the other one hears of that before it writes."""
    conversation, plan = talk("one"), replace(machine(Waiting()).plan, is_log=is_log)
    store = plan.stores[0]

    def write(text: str) -> Reply:
        topic = f"---\nname: {text}\ndescription: {text}\ntype: feedback\n---\n\n{text}\n"
        path = os.path.join(store.root, PATTERN if is_log else f"feedback_{len(text)}.md")
        return calls(("Write", {"file_path": path, "content": f"- {text}" if is_log else topic}))

    other = Waiting(write("Never mock the database in tests."), says("Kept."))
    own = Waiting(write("Use a real database, never mock it."), *[says("Kept.")] * 3)
    behind = replace(machine(other), plan=plan)
    catching_up = asyncio.create_task(behind.run("x"))
    await other.is_asked.wait()
    gone_on = Extraction(SessionState.load("one", layout), plan, own, behind.sink, behind.clock)
    conversation.add(user("Go on."))
    reply = conversation.add(Message("assistant", (Text("With pleasure."),)))
    conversation.transcript.close()
    gone_on.turn_ended(FinishedTurn(Request("scripted", messages=conversation.messages[:-1]), reply))
    learning = asyncio.create_task(gone_on.drain())
    await own.is_asked.wait()
    first, second = (other, own) if is_caught_up_first else (own, other)
    first.is_told.set()
    await (catching_up if is_caught_up_first else learning)
    second.is_told.set()
    await asyncio.gather(catching_up, learning)
    told = "\n".join(one.read_text() for one in Path(store.root).rglob("*.md") if one.name != "MEMORY.md")
    assert (SAID[:8] in told) == is_caught_up_first
    assert ("Use a real" in told) != is_caught_up_first
    state = SessionState.load("one", layout)
    assert state.extract_cursor == reply.id
    gone_on.session.note_docs({"a.md": ""})
    assert SessionState.load("one", layout).extract_cursor == reply.id


async def test_dates_count_from_the_day_on_which_they_were_said(
    layout: Layout, machine: Callable[[Model], CatchUp], clock: Clock
) -> None:
    """What is caught up on weeks later was said weeks ago, and each day of it has its own "tomorrow"."""
    SessionState("old", layout).begin()
    transcript = Transcript(layout.session("old"), session_id="old", cwd="/app", clock=clock)
    talk, first_day = Conversation(transcript), clock.now
    for text in ("The freeze begins tomorrow.", "The audit is on Friday, as I was told."):
        talk.add(user(text))
        talk.add(Message("assistant", (Text("Noted, as you say."),)))
        clock.now += 3 * 86_400
    transcript.close()
    clock.now += 40 * 86_400
    model = ScriptedModel([says("Nothing."), says("Nothing.")])
    await machine(model).run("now")
    days = [datetime.fromtimestamp(first_day + days * 86_400).astimezone() for days in (0, 3)]
    for day, request, text in zip(days, model.requests, ("The freeze begins", "The audit is on Friday"), strict=True):
        job = request.messages[-1].text
        assert f'- {day:%A, %Y-%m-%d %H:%M}: "{text}' in job
        assert job.splitlines()[-1].startswith(f"Now it is {day:%A}, {day:%Y-%m-%d}")
    assert SessionState.load("old", layout).extract_cursor == talk.messages[-1].id


async def test_a_word_for_a_day_counts_from_when_it_was_said_however_late_it_was_learned(
    machine: Callable[[Model], CatchUp], layout: Layout, store: MemoryStore, clock: Clock, events: Events, project: Path
) -> None:
    """T3, S11: a model wrote the word down as it stood; the next dream knows which day it was."""
    said = "The merge freeze for the mobile release starts tomorrow."
    path = os.path.join(store.root, "project_freeze.md")
    text = f"---\nname: Merge freeze\ndescription: the merge freeze\ntype: project\n---\n\n{said}\n"
    SessionState("one", layout).begin()
    transcript = Transcript(layout.session("one"), session_id="one", cwd="/app", clock=clock)
    conversation = Conversation(transcript)
    conversation.add(user(said))
    conversation.add(Message("assistant", (Text("Understood."),)))
    transcript.close()
    day = datetime.fromtimestamp(clock.now).astimezone().date()
    clock.now += 3 * 86_400
    steps = [calls(("Write", {"file_path": path, "content": text})), says("Kept.")]
    assert await machine(ScriptedModel(steps)).run("two") == ["project_freeze.md"]
    plan = DreamPlan([store], str(project), str(layout.project_home), ())
    await Dreamer(plan, BuiltinModel(), events, clock).dream(Request("builtin"), DreamTask(0))
    assert f"starts on {day + timedelta(days=1)}" in Path(path).read_text()


async def test_the_built_in_model_counts_from_there_too(
    talk: Callable[..., Conversation], machine: Callable[[Model], CatchUp], clock: Clock, store: MemoryStore
) -> None:
    talk("old", text="We freeze all merges tomorrow, because the mobile team cuts a release branch.")
    tomorrow = datetime.fromtimestamp(clock.now + 86_400).astimezone()
    clock.now += 40 * 86_400
    (file,) = await machine(BuiltinModel()).run("now")
    assert f"{tomorrow:%Y-%m-%d}" in Path(store.root, file).read_text(encoding="utf-8")
