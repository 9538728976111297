"""A job is data beside the request: no provider is sent it, nothing on the way loses it, and the built-in model reads
it and not the prose."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from memdir import MemoryType
from memdir.agent.fork import ForkTools, Job, run_fork
from memdir.agent.gate import allow_all
from memdir.dream.dream import Dreamer, DreamPlan, DreamTask
from memdir.errors import ModelError
from memdir.layout import Layout, Place
from memdir.model import builtin
from memdir.model.budget import Budget, BudgetedModel, Caps, Ledger
from memdir.model.builtin.builtin_model import BuiltinModel
from memdir.model.command import render_prompt
from memdir.model.failures import RetryingModel
from memdir.model.job import ChatJob, CompactJob, DreamJob, ExtractJob, MemoryFolder, NotesJob, TypedJob
from memdir.model.model import Model, RawCall, Reply, Request, ScriptedModel, SystemBlock, calls, says
from memdir.remember.compaction import Compaction, CompactionPlan
from memdir.remember.extract import Extraction, ExtractionPlan
from memdir.remember.session_memory import SessionMemory
from memdir.remember.session_state import SessionState
from memdir.remember.turn import FinishedTurn
from memdir.store.history import Origin
from memdir.store.memories import add_memory
from memdir.store.store import MemoryStore
from memdir.transcript.conversation import Conversation
from memdir.transcript.message import Message, Text, assistant, user
from memdir.transcript.transcript import Transcript
from tests.agent.boxes import box
from tests.conftest import Clock, Events
from tests.model.providers import PROVIDERS, Provider
from tests.provider_server import ProviderServer
from tests.remember.test_compaction import long_talk
from tests.remember.working import Work, fix_rounding

NOW = datetime(2026, 11, 16, 12, 0, tzinfo=UTC)
FOLDER = MemoryFolder("/secret-place/memory", "project", ())
JOBS: tuple[TypedJob, ...] = (
    ExtractJob(2, (FOLDER,), NOW, "Use tabs."),
    DreamJob(FOLDER, "/secret-place", ("one",), NOW),
    NotesJob("/secret-place/notes.md", ()),
    CompactJob("the budget code"),
    ChatJob("/secret-place/memory", (("a.md", "- [A](a.md) — a"),)),
)


@pytest.mark.parametrize("provider", PROVIDERS, ids=lambda provider: provider.name)
async def test_no_provider_is_sent_a_byte_of_it(provider: Provider, clock: Clock) -> None:
    ours = provider.request()
    name = "input" if provider.name == "openai-responses" else "messages"
    said = {"model": provider.model, "max_tokens": 9, name: [{"role": "user", "content": "Hi"}]}
    if provider.name == "openai-responses":
        del said["max_tokens"]
    host = Request(provider.model, messages=(user("Save what matters."),), raw=RawCall(provider.name, said))
    for request in (ours, host):
        with ProviderServer(clock=clock) as server:
            model = provider.open(server)
            for job in (None, *JOBS):
                await model.complete(replace(request, job=job))
            await model.close()
            assert len({sent.raw for sent in server.requests}) == 1 and len(server.requests) == len(JOBS) + 1


def test_a_program_is_sent_no_byte_of_it() -> None:
    request = Request("m", (SystemBlock("Help."),), messages=(user("Hi"),))
    assert {render_prompt(replace(request, job=job)) for job in JOBS} == {render_prompt(request)}


async def test_it_is_kept_through_fork_loop_retries_budget_and_care(tmp_path: Path, clock: Clock) -> None:
    passing = ModelError("busy", kind="overloaded", remedy="Wait")
    inner = ScriptedModel([passing, calls(("Read", {"file_path": "a.md"})), says("Done.")])

    async def at_once(seconds: float) -> None:
        pass

    budget = Budget(Ledger(str(tmp_path / "ledger.jsonl")), Caps(), clock=clock)
    model = RetryingModel(BudgetedModel(inner, budget, "extract", "p"), sleep=at_once)
    job = JOBS[0]
    parent = Request("m", messages=(user("Hi"),), job=JOBS[-1])
    await run_fork(parent, Job("Save.", 5, typed=job), ForkTools(model, box(tmp_path), allow_all))
    assert [request.job for request in inner.requests] == [job] * 3
    await run_fork(parent, Job("Other.", 1), ForkTools(other := ScriptedModel([says("Ok.")]), box(tmp_path), allow_all))
    assert other.requests[0].job is None, "a parent's job is not its fork's"


@dataclass
class Reworded:
    """The built-in model behind prompts that say something else."""

    model: Model = field(default_factory=BuiltinModel)
    jobs: list[TypedJob | None] = field(default_factory=list)

    async def complete(self, request: Request, *, on_text: Callable[[str], None] | None = None) -> Reply:
        self.jobs.append(request.job)
        at = max(at for at, message in enumerate(request.messages) if message.is_meta)
        other = Message("user", (Text("Tu, was zu tun ist."),), is_meta=True)
        messages = (*request.messages[:at], other, *request.messages[at + 1 :])
        return await self.model.complete(replace(request, system=(SystemBlock("Sei nett."),), messages=messages))

    async def close(self) -> None:
        await self.model.close()


async def a_day_of_work(model: Model, home: Path, clock: Clock) -> dict[str, bytes]:
    """Extraction, notes, compaction and a dream, on a store of its own. Returns every file that is there afterwards."""
    (project := home / "project").mkdir(parents=True)
    layout = Layout(str(home), str(project))
    store = MemoryStore(Place(str(home / "memory")), clock=clock)
    store.ensure()
    for text in ("Deploys go out on Tuesdays", "Deploys go out on Tuesdays, from the release branch"):
        add_memory(store, text, kind=MemoryType.PROJECT, origin=Origin("test", trust="user"))
    session, events = SessionState("one", layout), Events([])
    work = Work(Conversation(Transcript(layout.session("one"), session_id="one", cwd="/app", clock=clock)))
    last = fix_rounding(work)
    notes = SessionMemory(session, model, events, str(project))
    await notes.update(last, 12_000)
    said = (user("From now on always run the linter before you commit, it fails in CI otherwise.", message_id="m1"),)
    extraction = Extraction(session, ExtractionPlan([store], str(project)), model, events, clock)
    await extraction.extract(FinishedTurn(Request("builtin", messages=said), assistant("Understood.")))
    long_talk(work, 8)
    plan = CompactionPlan(20_000, 80)
    await Compaction(notes, plan, model, events).compact(work.talk, work.request(), keep="the rounding")
    clock.now += 86_400
    dreamer = Dreamer(DreamPlan([store], str(project), layout.project_home, ("one",)), model, events, clock)
    await dreamer.dream(Request("builtin"), DreamTask(1))
    texts = {f"memory/{path.name}": path.read_bytes() for path in Path(store.root).glob("*.md")}
    texts["notes"] = Path(notes.path).read_bytes()
    texts["summary"] = work.talk.messages[0].text.partition("## ")[2].encode()  # before it stands its place
    return texts


async def test_the_built_in_model_answers_the_same_whatever_the_prompts_say(tmp_path: Path) -> None:
    reworded = Reworded()
    plain = await a_day_of_work(BuiltinModel(), tmp_path / "plain", Clock())
    other = await a_day_of_work(reworded, tmp_path / "other", Clock())
    assert plain == other
    assert {type(job) for job in reworded.jobs} == {ExtractJob, DreamJob, NotesJob, CompactJob}
    assert len(plain) > 4 and b"To be kept: the rounding" in plain["summary"]
    assert any(b"linter" in text for key, text in plain.items() if key.startswith("memory/"))


def test_the_built_in_model_knows_no_prompt() -> None:
    """Who does not read the prompts cannot be blinded by another wording of them."""
    for path in Path(builtin.__file__).parent.rglob("*.py"):
        text = path.read_text(encoding="utf-8")
        assert "memdir.prompts" not in text and "memdir job" not in text, path
