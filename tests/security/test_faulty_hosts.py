"""A host's sink, model, tool, callback or clock that fails costs an event, never a write, the loop or `close` (V1)."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import pytest

from memdir.agent.gate import Allow, Deny, allow_all
from memdir.agent.loop import run_agent
from memdir.agent.tools.tool import Outcome
from memdir.errors import ModelError
from memdir.events import Event, FanOut
from memdir.layout import Place
from memdir.memdir import MemDir, open_memory
from memdir.model.failures import GRACE_SECONDS
from memdir.model.model import Model, ModelSettings, Reply, Request, ScriptedModel, ToolSpec, Usage, calls, says
from memdir.store.history import Origin
from memdir.store.memories import add_memory
from memdir.store.store import MemoryStore
from memdir.store.topic import MemoryType
from memdir.transcript.message import Json, Message, Text, ToolUse, assistant, user
from tests.agent.boxes import ANY, TestTool, box
from tests.conftest import NOW, Events

REQUEST = Request("scripted", messages=(user("Go."),))
USER = Origin("cli", trust="user")


class Failing:
    """A sink that raises whatever it is given, and counts."""

    def __init__(self, error: Callable[[], Exception]) -> None:
        self.error = error
        self.told = 0

    def emit(self, event: Event) -> None:
        self.told += 1
        raise self.error()


class Mute(Exception):
    def __str__(self) -> str:
        raise RuntimeError

    __repr__ = __str__


class Asynchronous:
    async def emit(self, event: Event) -> None:
        raise AssertionError("nobody waits for it")


class Generating:
    def emit(self, event: Event) -> Iterator[None]:
        yield


class NoSink:
    emit = None


SINKS: dict[str, Callable[[], object]] = {
    "raises": lambda: Failing(lambda: ValueError("no")),
    "raises what cannot be told": lambda: Failing(Mute),
    "recurses": lambda: Failing(RecursionError),
    "raises OSError": lambda: Failing(lambda: OSError(28, "no space")),
    "raises StopIteration": lambda: Failing(StopIteration),
    "is asynchronous": Asynchronous,
    "is a generator": Generating,
    "has no emit to call": NoSink,
    "is anything": object,
}


def store_with(sink: object, tmp_path: Path, **more: object) -> MemoryStore:
    return MemoryStore(Place(str(tmp_path / "memory")), sink=sink, **more)  # type: ignore[arg-type]


@pytest.mark.parametrize("sink", SINKS.values(), ids=SINKS.keys())
def test_a_sink_that_fails_costs_no_write(tmp_path: Path, sink: Callable[[], object]) -> None:
    store = store_with(sink(), tmp_path)
    added = add_memory(store, "Freeze until Monday.", kind=MemoryType.PROJECT, origin=USER)
    assert Path(added.memory.path).exists()
    assert [commit.source for commit in store.history.log()] == ["cli"]
    assert not Path(store.place.journal).exists(), "the change is not left half done"


def test_one_sink_that_fails_does_not_cost_the_others_an_event(tmp_path: Path, events: Events) -> None:
    add_memory(store_with(FanOut([Failing(ValueError), events]), tmp_path), "A thing.", kind=None, origin=USER)
    assert events.names == ["memory.changed"]


def test_a_sink_that_writes_memories_itself_neither_waits_for_the_lock_nor_goes_round(tmp_path: Path) -> None:
    """Events are told when the lock is free again; what a sink sets off is not told to it again."""

    class Echo:
        told = 0

        def emit(self, event: Event) -> None:
            Echo.told += 1
            add_memory(store, f"Event {Echo.told}", kind=None, origin=Origin("sink"))

    store = store_with(Echo(), tmp_path)
    add_memory(store, "The first.", kind=None, origin=USER)
    assert [commit.source for commit in store.history.log()] == ["sink", "cli"]
    assert Echo.told == 1


def _raise(error: Exception) -> float:
    raise error


CLOCKS: dict[str, Callable[[], Callable[[], object]]] = {
    "raises": lambda: lambda: _raise(ValueError()),
    "goes backwards": lambda: iter(range(int(NOW), 0, -86_400)).__next__,
    "ends": lambda: iter([NOW]).__next__,
    "is before time": lambda: lambda: -1.0,
    "is no number": lambda: lambda: float("nan"),
    "is endless": lambda: lambda: float("inf"),
    "is beyond every calendar": lambda: lambda: 1e18,
    "gives None": lambda: lambda: None,
    "gives text": lambda: lambda: "now",
}


@pytest.mark.parametrize("clock", CLOCKS.values(), ids=CLOCKS.keys())
def test_a_clock_that_fails_costs_no_write(tmp_path: Path, clock: Callable[[], Callable[[], object]]) -> None:
    store = store_with(None, tmp_path, clock=clock())
    for number in range(3):
        add_memory(store, f"Thing {number}.", kind=None, origin=USER)
    assert len(store.history.log()) == 3
    assert Path(store.keep_draft("a.md", b"text")).exists()


class HostModel:
    """A host's model that answers whatever a test says."""

    def __init__(self, answer: Callable[[Request], object]) -> None:
        self.answer = answer

    def complete(self, request: Request, *, on_text: object = None) -> object:
        return self.answer(request)

    async def close(self) -> None:
        raise RuntimeError("cannot close")


def hosted(answer: Callable[[Request], object]) -> Model:
    return HostModel(answer)  # type: ignore[return-value]


async def _later(value: object) -> object:
    await asyncio.sleep(0)
    return value


WRONG: dict[str, Callable[[Request], object]] = {
    "None": lambda request: None,
    "text": lambda request: "Done.",
    "a coroutine of None": lambda request: _later(None),
    "a coroutine of text": lambda request: _later("Done."),
    "a dict": lambda request: {"message": "Done."},
    "an exception": lambda request: _raise(KeyError("x")),
    "an exception that cannot be told": lambda request: _raise(Mute()),
    "a message that is none": lambda request: Reply("Done.", "end_turn"),  # type: ignore[arg-type]
    "the user's message": lambda request: Reply(user("Done."), "end_turn"),
    "content that is a list": lambda request: Reply(Message("assistant", [Text("x")]), "end_turn"),  # type: ignore[arg-type]
    "content that is text": lambda request: Reply(Message("assistant", "Done."), "end_turn"),  # type: ignore[arg-type]
    "a block that is text": lambda request: Reply(Message("assistant", ("Done.",)), "end_turn"),  # type: ignore[arg-type]
    "words that are none": lambda request: Reply(Message("assistant", (Text(None),)), "end_turn"),  # type: ignore[arg-type]
    "a call without a name": lambda request: Reply(Message("assistant", (ToolUse("1", None),)), "tool_use"),  # type: ignore[arg-type]
    "a call with a list": lambda request: Reply(Message("assistant", (ToolUse("1", "Act", []),)), "tool_use"),  # type: ignore[arg-type]
    "usage that is none": lambda request: Reply(assistant("x"), "end_turn", None),  # type: ignore[arg-type]
    "usage without a number": lambda request: Reply(assistant("x"), "end_turn", Usage(None)),  # type: ignore[arg-type]
    "usage below nothing": lambda request: Reply(assistant("x"), "end_turn", Usage(-(10**12))),
    "usage beyond all": lambda request: Reply(assistant("x"), "end_turn", Usage(0, 10**15)),
    "usage that is a truth": lambda request: Reply(assistant("x"), "end_turn", Usage(True)),
    "usage that is a fraction": lambda request: Reply(assistant("x"), "end_turn", Usage(float("nan"))),  # type: ignore[arg-type]
}


@pytest.mark.parametrize("answer", WRONG.values(), ids=WRONG.keys())
async def test_whatever_a_model_does_the_loop_raises_a_model_error(
    tmp_path: Path, answer: Callable[[Request], object]
) -> None:
    with pytest.raises(ModelError):
        await run_agent(REQUEST, hosted(answer), box(tmp_path), allow_all, max_turns=2)


class Changing(Mapping[str, Json]):
    """Arguments that are harmless for the first few times that somebody looks at them."""

    def __init__(self, harmless: int) -> None:
        self.harmless = harmless

    def __getitem__(self, key: str) -> Json:
        self.harmless -= 1
        return "ls" if self.harmless >= 0 else "cat secret"

    def __iter__(self) -> Iterator[str]:
        return iter(["file_path"])

    def __len__(self) -> int:
        return 1


class TwoFaced(dict[str, Json]):
    def get(self, key: str, default: object = None) -> str:  # type: ignore[override]
        return "ls"


class Smooth(str):
    """Words that are equal to whatever the gate hopes for."""

    __slots__ = ()
    __hash__ = str.__hash__

    def __eq__(self, other: object) -> bool:
        return other == "ls"


class Undecided(ToolUse):
    """A call that has a fault, so that no gate is asked, until it is run."""

    seen = 0

    def __getattribute__(self, name: str) -> object:
        if name != "fault":
            return super().__getattribute__(name)
        Undecided.seen += 1
        return "not readable" if Undecided.seen % 2 else ""


LIES: dict[str, Callable[[], ToolUse]] = {
    **{f"a mapping, {n}": lambda n=n: ToolUse("1", "Act", Changing(n)) for n in range(5)},  # type: ignore[misc]
    "a dict with a get of its own": lambda: ToolUse("1", "Act", TwoFaced(file_path="cat secret")),
    "words of its own": lambda: ToolUse("1", "Act", {"file_path": Smooth("cat secret")}),
    "a fault that comes and goes": lambda: Undecided("1", "Act", {"file_path": "cat secret"}),
}


@pytest.mark.parametrize("lie", LIES)
async def test_a_tool_gets_what_the_gate_has_judged(tmp_path: Path, lie: str) -> None:
    ran: list[Json] = []

    def gate(call: ToolUse) -> Allow | Deny:
        return Allow() if call.input.get("file_path") == "ls" and call.input["file_path"] == "ls" else Deny("only ls")

    def run(arguments: Mapping[str, Json]) -> str:
        ran.append(arguments["file_path"])
        return "ran"

    replies = iter((Reply(Message("assistant", (LIES[lie](),)), "tool_use"), says("Done.")))
    done = await run_agent(
        REQUEST, hosted(lambda request: next(replies)), box(tmp_path, [TestTool(run)]), gate, max_turns=3
    )
    assert done.ending == "done"
    assert [type(value) for value in ran] == [str] * len(ran)
    assert set(ran) <= {"ls"}


def nested(depth: int) -> list[Json]:
    value: list[Json] = []
    for _ in range(depth):
        value = [value, value]
    return value


@pytest.mark.timeout(20)
@pytest.mark.parametrize(
    "value",
    [{1}, b"x", nested(40), nested(5_000), 10**5000, float("inf"), {1: 2}, object()],
    ids=lambda value: type(value).__name__,
)
async def test_arguments_that_are_no_json_are_told_and_not_run(tmp_path: Path, value: Json) -> None:
    tool = TestTool(lambda arguments: "ran")
    replies = iter((Reply(Message("assistant", (ToolUse("1", "Act", {"n": value}),)), "tool_use"), says("Done.")))
    done = await run_agent(
        REQUEST, hosted(lambda request: next(replies)), box(tmp_path, [tool]), allow_all, max_turns=3
    )
    [result] = done.messages[1].tool_results
    assert result.is_error and "not plain JSON" in result.content


def turn_of(memory: MemDir) -> tuple[Request, Message]:
    said = user("From now on never mock the database in tests, please.", message_id="m1")
    request = Request("host", messages=(said,))
    return request, assistant("All right.", message_id="m2")


@pytest.mark.parametrize("answer", WRONG.values(), ids=WRONG.keys())
async def test_whatever_a_model_does_a_session_goes_on_and_closes(
    project: Path, events: Events, answer: Callable[[Request], object]
) -> None:
    memory = open_memory(project, model=hosted(answer), sink=events)
    memory.start()
    memory.session("one").turn_ended(*turn_of(memory))
    await asyncio.wait_for(memory.close(), 20)
    assert [event.fields["skipped"] for event in events.events if event.name == "memory.extract"] == [
        "failed: ModelError"
    ]


async def test_a_model_that_never_answers_comes_to_an_end(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def never() -> None:
        await asyncio.Event().wait()

    memory = open_memory(project, model=hosted(lambda request: never()))
    settings = ModelSettings(longest_seconds=0.01 - GRACE_SECONDS)
    with pytest.raises(ModelError, match="did not answer") as caught:
        await memory.models.for_job("extract").complete(Request("host", settings=settings))
    assert caught.value.kind == "timeout"


async def test_listeners_that_fail_cost_nothing(project: Path) -> None:
    def fail(*facts: object) -> None:
        raise ValueError

    path = Path(open_memory(project).place.root, "feedback_database.md")
    content = (
        "---\nname: database\ndescription: never mock it\ntype: feedback\n---\n\nNever mock the database in tests.\n"
    )
    model = ScriptedModel([calls(("Write", {"file_path": str(path), "content": content})), says("Done.")])
    memory = open_memory(project, model=model)
    memory.start()
    background = memory.session("one", on_saved=fail)
    background.turn_ended(*turn_of(memory))
    await memory.close()
    assert path.exists()
    run = await run_agent(
        REQUEST, ScriptedModel([says("Done.")]), box(project), allow_all, max_turns=1, on_message=fail, on_text=fail
    )
    assert run.final_text == "Done."


class BadTool:
    def __init__(self, result: Callable[[], object], *, schema: object = ANY) -> None:
        self.spec = ToolSpec("Bad", "Does nothing right.", schema)  # type: ignore[arg-type]
        self.result = result

    def run(self, arguments: object, context: object) -> object:
        return self.result()


TOOLS: dict[str, BadTool] = {
    "None": BadTool(lambda: None),
    "text": BadTool(lambda: "done"),
    "a coroutine of bytes": BadTool(lambda: _later(b"done")),
    "bytes in an outcome": BadTool(lambda: _later(Outcome(b"done"))),  # type: ignore[arg-type]
    "an exception": BadTool(lambda: _raise(KeyError("x"))),
    "an exception that cannot be told": BadTool(lambda: _raise(Mute())),
    "a schema that is none": BadTool(lambda: _later(Outcome("x")), schema=None),
}


@pytest.mark.parametrize("tool", TOOLS.values(), ids=TOOLS.keys())
async def test_whatever_a_tool_does_the_others_answer_and_the_loop_goes_on(tmp_path: Path, tool: BadTool) -> None:
    good = TestTool(lambda arguments: "ran")
    model = ScriptedModel([calls(("Bad", {}), ("Act", {})), says("Done.")])
    run = await run_agent(REQUEST, model, box(tmp_path, [tool, good]), allow_all, max_turns=3)  # type: ignore[list-item]
    bad, fine = run.messages[1].tool_results
    assert bad.is_error and isinstance(bad.content, str)
    assert fine.content == "ran"
    assert run.final_text == "Done."


async def test_one_part_that_cannot_close_keeps_no_other_from_it(project: Path, events: Events) -> None:
    memory = open_memory(project, sink=events)
    memory.start()
    memory.models._chosen = hosted(lambda request: None)
    await memory.close()
    assert ("memory.refused", "close") in [(event.name, event.fields.get("what")) for event in events.events]


def test_a_host_s_broken_sink_still_leaves_our_own_log(project: Path) -> None:
    memory = open_memory(project, sink=Failing(ValueError))
    memory.start()
    add_memory(memory.store, "A thing.", kind=None, origin=USER)
    assert "memory.changed" in Path(memory.layout.event_log).read_text()
