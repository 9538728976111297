"""A fork: the parent's request and one message more, a state of its own, a report (G1–G3)."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from memdir.agent.fork import ForkTools, Job, fork_request, run_fork
from memdir.agent.gate import MemoryGate, allow_all
from memdir.agent.loop import Abort, run_agent
from memdir.agent.workspace import Workspace
from memdir.model.model import CachePolicy, Request, ScriptedModel, SystemBlock, Usage, calls, says
from memdir.store.history import Origin
from memdir.store.store import MemoryStore
from memdir.transcript.message import Message, assistant, user
from tests.agent.boxes import box
from tests.conversation import tool_specs

PARENT = Request(
    "scripted",
    (SystemBlock("s", ends_prefix=True),),
    tool_specs(3),
    (user("Hi"), assistant("Hello."), user("Do it.")),
    cache=CachePolicy(key="k"),
)
JOB = Job("Save what matters.", max_turns=4, prompt_hash="abc")


def test_a_fork_is_the_parent_s_request_and_one_message() -> None:
    """G1."""
    reply = assistant("Done.")
    forked = fork_request(PARENT, JOB.text, since=(reply,))
    assert forked.messages[:3] == PARENT.messages
    assert forked.messages[3] == reply
    assert (forked.messages[4].text, forked.messages[4].is_meta, len(forked.messages)) == (JOB.text, True, 5)
    same = replace(forked, messages=PARENT.messages, cache=PARENT.cache)
    assert same == PARENT


def test_the_breakpoint_stays_where_the_parent_s_was() -> None:
    """G2: also in a fork of a fork."""
    forked = fork_request(PARENT, "a", since=(assistant("Done."),))
    assert forked.cache == CachePolicy(last_message=2, key="k")
    assert fork_request(forked, "b").cache == CachePolicy(last_message=2, key="k")


async def test_nothing_the_fork_reads_or_writes_leaks_into_the_parent(store: MemoryStore, tmp_path: Path) -> None:
    """G2: its file state is a clone, its files are drafts."""
    store.ensure()
    path, other = Path(store.root, "a.md"), Path(store.root, "b.md")
    path.write_text("one\n", encoding="utf-8")
    other.write_text("two\n", encoding="utf-8")
    parents = box(tmp_path)
    reads = ScriptedModel([calls(("Read", {"file_path": str(path)})), says("Read.")])
    await run_agent(PARENT, reads, parents, allow_all, max_turns=3)
    workspace = Workspace([store])
    forks = parents.forked(workspace)
    model = ScriptedModel(
        [
            calls(
                ("Edit", {"file_path": str(path), "old_string": "one", "new_string": "ONE"}),
                ("Read", {"file_path": str(other)}),
            ),
            says("Done."),
        ]
    )
    report = await run_fork(PARENT, JOB, ForkTools(model, forks, allow_all))
    assert not report.run.messages[1].tool_results[0].is_error, "what the parent has read, its fork may edit"
    assert path.read_text(encoding="utf-8") == "one\n"
    assert parents.context.state.fault_of_edit(str(path), b"one\n") == "", "unchanged for the parent"
    assert "has not been read" in parents.context.state.fault_of_edit(str(other), b"two\n")
    workspace.commit(Origin("test"), "fork")
    assert path.read_text(encoding="utf-8") == "ONE\n"


async def test_a_fork_reports_its_cost_turns_refusals_and_files(store: MemoryStore, tmp_path: Path) -> None:
    """G3."""
    store.ensure()
    path = str(Path(store.root, "a.md"))
    model = ScriptedModel(
        [
            calls(
                ("Write", {"file_path": path, "content": "---\nname: a\ndescription: d\ntype: user\n---\n\nA fact.\n"}),
                ("Write", {"file_path": str(tmp_path / "outside.md"), "content": "x"}),
                usage=Usage(10, 5, 990, 0),
            ),
            says("Done.", usage=Usage(20, 5, 980, 0)),
        ]
    )
    gate = MemoryGate((store.root,), str(tmp_path), no_bash="it is not installed")
    report = await run_fork(PARENT, JOB, ForkTools(model, box(tmp_path).forked(Workspace([store])), gate))
    assert report.is_complete
    assert report.run.files_touched == (path,)
    assert report.run.refusals == 1
    assert report.counts() == {
        "input": 30,
        "output": 10,
        "cache_read": 1970,
        "cache_created": 0,
        "cache_hit_percent": 98.5,
        "turns": 2,
    }


async def test_progress_is_told_and_an_abort_ends_it(tmp_path: Path) -> None:
    abort = Abort()
    seen: list[Message] = []

    def progress(message: Message) -> None:
        seen.append(message)
        abort.set("the user killed it")

    model = ScriptedModel([calls(("Glob", {"pattern": "*"})), says("never")])
    report = await run_fork(PARENT, JOB, ForkTools(model, box(tmp_path), allow_all), abort=abort, on_progress=progress)
    assert (report.run.ending, report.is_complete) == ("aborted", False)
    assert seen == list(report.run.messages)


async def test_a_fork_keeps_no_transcript(tmp_path: Path, project: Path) -> None:
    """G2: the only thing on disk is what its tools wrote."""
    model = ScriptedModel([calls(("Glob", {"pattern": "*"})), says("Done.")])
    before = sorted(tmp_path.rglob("*"))
    await run_fork(PARENT, JOB, ForkTools(model, box(project), allow_all))
    assert sorted(tmp_path.rglob("*")) == before
