"""The worker behind the hooks, run as the process that it is."""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path

import pytest

import memdir as memdir_package
from memdir.disk.lock import locked
from memdir.dream.dream import DreamTask
from memdir.dream.gates import sessions_since
from memdir.hooks.session_start import SessionStart
from memdir.hooks.work_queue import MAX_TRIES, WorkQueue
from memdir.hooks.worker import _take_up
from memdir.layout import Layout, Place
from memdir.memdir import open_memory
from memdir.model.builtin.builtin_model import BuiltinModel
from memdir.model.job import DreamJob
from memdir.model.model import Reply, Request, ScriptedModel, calls, says
from memdir.transcript.attended import MAX_LATE, Attended, late_sessions
from tests.conftest import Ran
from tests.counting import calls_of
from tests.hooks.agents import HOSTS, Agent, answer, context, message, stamp, wait_for
from tests.hooks.conftest import MakeAgent
from tests.provider_server import KEY, ProviderServer

RULE = "Please never mock the database in our tests, we got burned by that last quarter."
OTHER = "We decided to use PostgreSQL 17 for the billing service because of the audit rules."
Memories = Callable[[], list[str]]


def work(agent: Agent) -> None:
    """Run the worker here, and wait for it."""
    command = [agent.command, "hook", "--work", str(agent.project)]
    done = subprocess.run(command, capture_output=True, env=agent.environment, timeout=100)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")


def turn(agent: Agent, layout: Layout, text: str, **more: float) -> None:
    """A turn that waits for the worker, without one that runs by itself."""
    agent.prompt(text)
    agent.say(text, **more)
    session = agent.session if agent.host == "opencode" else agent.transcript.stem
    WorkQueue(layout).add(session)


def events(layout: Layout) -> list[dict[str, object]]:
    return [json.loads(line) for line in Path(layout.event_log).read_text().splitlines()]


@pytest.fixture
def agent(make_agent: MakeAgent, request: pytest.FixtureRequest) -> Agent:
    return make_agent(getattr(request, "param", "claude"))


@pytest.mark.parametrize("agent", HOSTS, indirect=True)
@pytest.mark.slow("codex", "gemini", "qwen")  # what differs in them is in tests/contracts
def test_each_turn_is_learned_from_once_and_the_transcript_read_from_there_on(
    agent: Agent, layout: Layout, memories: Memories
) -> None:
    turn(agent, layout, RULE)
    work(agent)
    assert len(memories()) == 1
    session = agent.session if agent.host == "opencode" else agent.transcript.stem
    first = Attended.at(layout.attended(session))
    turn(agent, layout, OTHER, at=time.time() + 1)
    work(agent)
    second = Attended.at(layout.attended(session))
    assert first is not None and second is not None and second.place > first.place
    assert len(memories()) == 2
    WorkQueue(layout).add(session)
    work(agent)
    assert len(memories()) == 2
    assert not WorkQueue(layout).waiting()
    assert not (Path(layout.logs) / "crash.log").exists()


def typed_meanwhile(text: str) -> list[dict[str, object]]:
    """As Claude Code notes what a person types while it works."""
    queued = {"type": "queued_command", "prompt": text, "commandMode": "prompt", "origin": {"kind": "human"}}
    return [{"type": "attachment", "uuid": "q1", "parentUuid": "a0", "attachment": queued}]


def said_when_refusing(text: str, *, calls: int = 1, refused: int = 1) -> list[dict[str, object]]:
    """As it notes what a person says instead of a call of a tool, one of several at once, say."""
    made, answered = list[dict[str, object]](), list[dict[str, object]]()
    for at in range(1, calls + 1):
        call = {"type": "tool_use", "id": f"t{at}", "name": "Bash", "input": {"command": "npm test"}}
        made.append({"type": "assistant", "uuid": f"a5{at}", "message": {"role": "assistant", "content": [call]}})
        told = f"The user said:\n{text}" if at == refused else "The user doesn't want to take this action right now."
        result = {"type": "tool_result", "tool_use_id": f"t{at}", "is_error": True, "content": told}
        words = {"userFeedback": text, "holdsPersonsWords": True} if at == refused else {}
        message = {"role": "user", "content": [result]}
        answered.append(
            {"type": "user", "uuid": f"q{at}", "message": message, "toolDenialKind": "user-rejected", **words}
        )
    return made + answered


def said_of_the_first(text: str) -> list[dict[str, object]]:
    return said_when_refusing(text, calls=2, refused=1)


def said_of_the_last(text: str) -> list[dict[str, object]]:
    return said_when_refusing(text, calls=2, refused=2)


def broken_into(agent: Agent, layout: Layout, records: list[dict[str, object]]) -> None:
    """A turn that waits for the worker, with these records in the middle."""
    turn(agent, layout, "Please run the whole build.", at=time.time() - 2)
    common = {"isSidechain": False, "timestamp": stamp(), "sessionId": agent.session, "cwd": str(agent.project)}
    answered = {"type": "assistant", "uuid": "a9", "parentUuid": "q1"}
    reply = {"id": "m9", "role": "assistant", "content": [{"type": "text", "text": "Understood, the build is done."}]}
    with agent.transcript.open("a") as file:
        for record in (*records, {**answered, "message": reply}):
            file.write(json.dumps({**common, **record}) + "\n")


@pytest.mark.parametrize("records", [typed_meanwhile, said_when_refusing, said_of_the_first, said_of_the_last])
def test_what_a_person_says_in_the_middle_of_a_turn_is_learned(
    agent: Agent, layout: Layout, memories: Memories, records: Callable[[str], list[dict[str, object]]]
) -> None:
    """X1."""
    broken_into(agent, layout, records(RULE))
    work(agent)
    [name] = memories()
    assert "mock" in name
    turn(agent, layout, OTHER)
    work(agent)
    assert len(memories()) == 2


@pytest.mark.parametrize("records", [said_of_the_first, said_of_the_last])
def test_of_calls_at_once_a_model_of_a_provider_is_told_in_a_form_that_it_takes(
    agent: Agent, layout: Layout, records: Callable[[str], list[dict[str, object]]]
) -> None:
    """X4: it refused each session with such a turn, which was passed over in the end."""
    with ProviderServer() as server:
        Path(layout.home).mkdir(parents=True, exist_ok=True)
        Path(layout.user_settings).write_text(json.dumps({"model.provider": "anthropic", "model.baseUrl": server.url}))
        agent.environment["ANTHROPIC_API_KEY"] = KEY
        broken_into(agent, layout, records(RULE))
        work(agent)
        assert RULE in str(server.requests[0].body["messages"]) and not WorkQueue(layout).waiting()


def test_what_was_said_before_memdir_came_is_not_its_business(agent: Agent, layout: Layout, memories: Memories) -> None:
    agent.say(OTHER, at=time.time() - 3600)
    turn(agent, layout, RULE)
    work(agent)
    assert len(memories()) == 1 and "mock" in memories()[0]


def seen_by_its_client(agent: Agent) -> None:
    """Where the client keeps the sessions of this project: Claude Code by the name of its folder."""
    os.environ["XDG_DATA_HOME"] = agent.environment["XDG_DATA_HOME"]
    if agent.host == "claude":
        slug = "".join(c if c.isalnum() else "-" for c in str(agent.project))
        agent.transcript.parent.parent.joinpath(slug).symlink_to(agent.transcript.parent)


@pytest.mark.parametrize("agent", ["claude", "opencode"], indirect=True)
def test_what_was_said_before_memdir_came_is_learned_once_where_the_user_wants_it(
    agent: Agent, layout: Layout, memories: Memories, memdir: Callable[..., Ran], is_idle: Callable[[], bool]
) -> None:
    """Q2, S5: of a session that goes on since, and nothing of what was said while memory was off."""
    agent.say(OTHER, "I will use PostgreSQL.", at=time.time() - 3 * 86400)
    agent.say("I always write commit messages in French.", at=time.time() - 86400)
    turn(agent, layout, RULE)
    work(agent)
    switch(agent, layout, "variable", is_on=False)
    agent.prompt(UNHEARD)
    agent.say(UNHEARD, "I will use Kafka.")
    agent.stop()
    seen_by_its_client(agent)
    memdir("attach", agent.host, "--yes")
    switch(agent, layout, "variable", is_on=True)
    turn(agent, layout, "We decided to deploy on Tuesdays because of the audit.")
    assert "1 past session" in memdir("attach", "--past").err
    wait_for(lambda: "PostgreSQL" in said_in(layout))
    assert "nothing that is not known yet" in memdir("attach", "--past").err, "while it is learned"
    wait_for(is_idle)
    assert "nothing that is not known yet" in memdir("attach", "--past").err
    assert all(word in said_in(layout) for word in ("mock", "French", "Tuesdays")) and "Kafka" not in said_in(layout)
    before = len(events(layout))
    turn(agent, layout, "The release branch is called stable, by the way.")
    work(agent)
    assert [one["event"] for one in events(layout)[before:]].count("memory.extract") == 1, "all else was learned"


@pytest.mark.parametrize("way", ["variable", "setting", "not-here"])
@pytest.mark.parametrize("agent", ["claude", pytest.param("opencode", marks=pytest.mark.slow)], indirect=True)
def test_nothing_that_was_said_while_memory_was_off_is_learned_from_a_past_session(
    agent: Agent, layout: Layout, memdir: Callable[..., Ran], way: str
) -> None:
    """S5: of a session that began meanwhile, and of what was said in one before memory was switched off."""
    memdir("attach", agent.host, "--yes")
    memdir("remember", "The office is in Lyon.")  # else nothing at all is written here while memory is off
    for session, earlier in (("0b9e4c52-7a11-4c1e-9f10-5d1f0c6f7a02", ""), (agent.session, OTHER)):
        agent.session = session
        if earlier:
            agent.say(earlier, "I will use PostgreSQL.", at=time.time() - 86400)
        switch(agent, layout, way, is_on=False)
        agent.start()
        agent.prompt(UNHEARD)
        agent.say(UNHEARD, "I will use Kafka.")
        agent.stop()
        switch(agent, layout, way, is_on=True)
    seen_by_its_client(agent)
    assert "1 past session of" in memdir("attach", "--past").err
    wait_for(lambda: "PostgreSQL" in said_in(layout))
    turn(agent, layout, RULE)
    work(agent)
    assert "mock" in said_in(layout) and "Kafka" not in said_in(layout)
    assert "nothing that is not known yet" in memdir("attach", "--past").err


@pytest.mark.parametrize("agent", ["claude", "opencode"], indirect=True)
def test_a_session_that_another_project_knows_of_is_none_of_the_past_of_the_folder_around_that(
    agent: Agent, memdir: Callable[..., Ran], tmp_path: Path
) -> None:
    """S3, S5: neither is a repository, and memory was off in it, which the folder around does not know."""
    agent.project = tmp_path.resolve() / "papers" / "diary"
    agent.project.mkdir(parents=True)
    memdir("attach", agent.host, "--yes")
    memdir("remember", "The office is in Lyon.", "--project", str(agent.project))
    memdir("attach", "--not-here", "--project", str(agent.project))
    agent.prompt(UNHEARD)
    agent.say(UNHEARD, "I will use Kafka.")
    agent.stop()
    seen_by_its_client(agent)
    around = ("--project", str(agent.project.parent))
    assert "nothing that is not known yet" in memdir("attach", "--past", "--dry-run", *around).err
    agent.session = "0b9e4c52-7a11-4c1e-9f10-5d1f0c6f7a02"
    agent.say(OTHER, "I will use PostgreSQL.")
    assert "1 past session" in memdir("attach", "--past", "--dry-run", *around).err, "nobody knows of that"


@pytest.mark.parametrize("agent", ["claude", "opencode"], indirect=True)
def test_a_worker_that_is_killed_while_it_learns_what_was_said_before_loses_nothing_and_learns_nothing_twice(
    agent: Agent, layout: Layout, memories: Memories
) -> None:
    """X10: whenever it is killed."""
    agent.say(OTHER, "I will use PostgreSQL.", at=time.time() - 3 * 86400)
    agent.say("I always write commit messages in French.", at=time.time() - 86400)
    turn(agent, layout, RULE)
    work(agent)
    [session] = [path.parent.name for path in Path(layout.project_home).glob("*/attended")]
    Path(layout.earlier(session)).touch()
    turn(agent, layout, "We decided to deploy on Tuesdays because of the audit.")
    worker = subprocess.Popen([agent.command, "hook", "--work", str(agent.project)], env=agent.environment)
    wait_for(lambda: len(memories()) > 1)
    worker.kill()
    worker.wait()
    work(agent)
    assert all(word in said_in(layout) for word in ("mock", "PostgreSQL", "French", "Tuesdays"))
    assert len(memories()) == 4 and not Path(layout.earlier(session)).exists()


def test_a_session_that_is_first_seen_at_its_end_teaches_its_last_turn(
    agent: Agent, layout: Layout, memories: Memories, is_idle: Callable[[], bool]
) -> None:
    agent.say(OTHER)
    agent.say(RULE)
    assert answer(agent.stop()) == {}
    wait_for(memories)
    wait_for(is_idle)
    assert len(memories()) == 1 and "mock" in memories()[0]


def test_a_transcript_that_was_replaced_is_read_again(agent: Agent, layout: Layout, memories: Memories) -> None:
    """X4."""
    for number in range(5):
        turn(agent, layout, f"Please look at file {number} of the parser.")
    turn(agent, layout, RULE)
    work(agent)
    agent.transcript.unlink()
    turn(agent, layout, OTHER)
    work(agent)
    assert len(memories()) == 2


def test_one_worker_at_a_time_and_the_one_at_work_looks_again(agent: Agent, layout: Layout, memories: Memories) -> None:
    queue = WorkQueue(layout)
    turn(agent, layout, RULE)
    with locked(queue.lock):
        work(agent)  # leaves at once
        assert not memories() and queue.waiting()
    work(agent)
    assert len(memories()) == 1 and not queue.waiting()


def test_a_worker_that_was_killed_is_followed_by_another_but_not_for_ever(
    agent: Agent, layout: Layout, memories: Memories
) -> None:
    queue = WorkQueue(layout)
    turn(agent, layout, RULE)
    [name] = queue.waiting()
    for _ in range(MAX_TRIES):
        assert queue.take(name)
        assert queue.waiting() == [name]
    work(agent)
    assert not memories() and not queue.waiting()
    assert any("too often" in str(event.get("reason")) for event in events(layout))
    queue.add(name)
    assert queue.take(name)
    work(agent)
    assert len(memories()) == 1, "one kill costs nothing"


@pytest.mark.parametrize("agent", HOSTS, indirect=True)
@pytest.mark.slow("gemini", "qwen")
def test_a_turn_whose_end_no_hook_told_is_learned_when_the_next_session_starts(
    agent: Agent, layout: Layout, memories: Memories, make_agent: MakeAgent, is_idle: Callable[[], bool]
) -> None:
    """X10: it was broken off, and its client killed; so was a worker that had taken up another session."""
    agent.prompt(RULE)
    agent.say(RULE)
    other = make_agent("codex" if agent.host == "claude" else "claude", session="zzzz-0000")
    make_agent(agent.host).start("compact")
    assert is_idle() or agent.host == "opencode", "one that goes on itself is not over"
    other.start()
    wait_for(memories)
    wait_for(is_idle)
    turn(other, layout, OTHER)
    WorkQueue(layout).take(other.transcript.stem)
    make_agent(agent.host, session="0000-next").start()
    wait_for(lambda: len(memories()) == 2)
    wait_for(is_idle)


@pytest.mark.parametrize("agent", ["opencode"], indirect=True)
def test_a_prompt_that_a_worker_looks_for_before_it_is_written_down_is_looked_for_again(
    agent: Agent, layout: Layout, memories: Memories
) -> None:
    """X10: a hook is told of it first, its client is killed then, and another agent's worker came in between."""
    turn(agent, layout, OTHER)
    work(agent)
    agent.prompt(RULE)
    work(agent)
    agent.say(RULE)
    work(agent)
    assert "mock" in said_in(layout) and not WorkQueue(layout).waiting()
    agent.prompt("/models")  # a command of its own, of which it writes nothing down
    work(agent)
    work(agent)
    assert not WorkQueue(layout).waiting()


def test_a_turn_that_was_broken_off_is_learned_however_many_sessions_came_since(
    agent: Agent, layout: Layout, memories: Memories
) -> None:
    """X10: a start of a session looks at the newest, and the worker at the others."""
    agent.prompt(RULE)
    agent.say(RULE, at=time.time() + 1)
    os.utime(layout.attended(agent.session), (1, 1))
    for number in range(MAX_LATE):
        Attended(f"s-{number}", "claude-code", "", str(agent.project), begun=1.0).save(layout)
    assert late_sessions(layout.project_home) == []
    work(agent)
    assert len(memories()) == 1 and late_sessions(layout.project_home, is_rest=True) == []


def test_a_session_at_work_when_another_starts_is_learned_from_once_and_to_its_end(
    agent: Agent, layout: Layout, memories: Memories, make_agent: MakeAgent
) -> None:
    """X4, X10: who is at work cannot be told from who was killed, so the half of a turn is learned from, too."""
    agent.prompt(RULE)
    agent.say(RULE)
    lines = agent.transcript.read_text().splitlines(keepends=True)
    agent.transcript.write_text(lines[0])  # its reply is still to come
    make_agent("codex", session="zzzz-0000").start()
    wait_for(memories)
    wait_for(lambda: not WorkQueue(layout).waiting())
    [first] = memories()
    agent.transcript.write_text("".join(lines))
    WorkQueue(layout).add(agent.session)
    work(agent)
    assert memories() == [first], "its reply teaches nothing a second time"
    turn(agent, layout, OTHER, at=time.time() + 1)
    work(agent)
    assert len(memories()) == 2 and "Memory saved" in told(agent)


@pytest.mark.parametrize("damage", [b"", b"{", b"\xff"])
def test_of_a_session_of_which_nobody_knows_what_was_learned_only_what_is_said_then_is(
    agent: Agent, layout: Layout, memories: Memories, damage: bytes
) -> None:
    """L2, X10: nor what was purged of it."""
    turn(agent, layout, RULE)
    path = Path(layout.session_state(agent.session))
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(damage)
    work(agent)
    assert not memories() and f"{path}.damaged-" in str(events(layout))
    turn(agent, layout, OTHER)
    work(agent)
    assert len(memories()) == 1


def test_a_transcript_that_is_named_later_is_learned_from(agent: Agent, layout: Layout, memories: Memories) -> None:
    """X10: what was said meanwhile as well."""
    agent.hook("start", transcript_path=None)
    begun = Attended.at(layout.attended(agent.session))
    assert begun is not None and begun.transcript == ""
    turn(agent, layout, RULE)
    now = Attended.at(layout.attended(agent.session))
    assert now is not None and (now.transcript, now.begun) == (str(agent.transcript), begun.begun)
    work(agent)
    assert len(memories()) == 1


async def test_a_prompt_that_comes_while_the_worker_learns_is_learned_though_its_session_is_killed(
    agent: Agent, layout: Layout, memories: Memories
) -> None:
    """X10: the worker has read the transcript, and no hook tells of the turn's end."""
    turn(agent, layout, RULE)

    def think(request: Request) -> Reply:
        agent.say(OTHER)
        return says("There is nothing to keep.")

    name, queue = agent.transcript.stem, WorkQueue(layout)
    memory = open_memory(agent.project, source="hook", model=ScriptedModel([think]))
    assert await _take_up(memory, Attended.at(layout.attended(name)), name, queue)
    await memory.close()
    assert late_sessions(layout.project_home, but="") == [name] and not queue.waiting()
    queue.add(name)
    work(agent)
    assert memories() and late_sessions(layout.project_home, but="") == [], "once"


@pytest.mark.parametrize("agent", ["opencode"], indirect=True)
def test_what_a_sub_agent_is_told_that_goes_on_from_an_earlier_run_is_no_rule(
    agent: Agent, layout: Layout, memories: Memories
) -> None:
    """X1, L4: opencode tells whose it is only when it begins."""
    turn(agent, layout, RULE)
    with closing(sqlite3.connect(agent.database)) as database, database:
        database.execute("UPDATE session SET parent_id = 'ses_another'")
    work(agent)
    assert not memories() and not WorkQueue(layout).waiting()


@pytest.mark.parametrize("agent", ["opencode"], indirect=True)
def test_a_session_does_not_go_on_because_another_writes_into_the_same_database(
    agent: Agent, layout: Layout, make_agent: MakeAgent
) -> None:
    """D1: a dream would count it once more each time."""
    turn(agent, layout, RULE)
    work(agent)
    make_agent("opencode", session="ses_another").say(OTHER)
    assert late_sessions(layout.project_home, but="") == [] and not WorkQueue(layout).waiting()


@contextmanager
def unreadable(agent: Agent) -> Iterator[None]:
    """What the agent wrote is there, and nobody can read it."""
    if agent.host == "opencode":
        holder = sqlite3.connect(agent.database, isolation_level=None)
        holder.execute("BEGIN EXCLUSIVE")
        yield
        holder.close()
        return
    aside = agent.transcript.rename(agent.transcript.with_suffix(".aside"))
    agent.transcript.symlink_to(agent.transcript.name)
    yield
    aside.rename(agent.transcript)


@pytest.mark.parametrize("agent", HOSTS, indirect=True)
@pytest.mark.slow("codex", "gemini", "qwen", "opencode")
def test_what_cannot_be_read_now_is_not_taken_for_learned_and_keeps_nobody_waiting(
    agent: Agent, layout: Layout, memories: Memories, make_agent: MakeAgent
) -> None:
    """X5: the last turn of a session has no other behind it."""
    turn(agent, layout, RULE)
    other = make_agent("claude" if agent.host != "claude" else "codex", session="zzzz-0000")
    turn(other, layout, OTHER)
    with unreadable(agent):
        work(agent)
        assert len(memories()) == 1 and "PostgreSQL" in said_in(layout), "the one behind it in the queue"
        assert any("cannot be read now" in str(event.get("reason")) for event in events(layout))
    work(agent)
    assert len(memories()) == 2 and not WorkQueue(layout).waiting()


def test_what_can_never_be_read_is_passed_over_in_the_end(agent: Agent, layout: Layout) -> None:
    turn(agent, layout, RULE)
    with unreadable(agent):
        for _ in range(MAX_TRIES):
            work(agent)
            assert WorkQueue(layout).waiting()
        work(agent)
    assert not WorkQueue(layout).waiting()
    assert late_sessions(layout.project_home, but="") == [], "nor does it come again with each start of a session"
    assert any("too often" in str(event.get("reason")) for event in events(layout))


def test_a_failure_that_passes_does_not_forget_the_tries_before_it(layout: Layout) -> None:
    queue = WorkQueue(layout)
    queue.add("s")
    for _ in range(MAX_TRIES - 1):
        assert queue.take("s")
    for _ in range(5):
        assert queue.take("s"), "a try that is given back does not count"
        queue.give_back("s")
    assert queue.take("s") and not queue.take("s") and not queue.waiting()


def test_a_session_that_ends_its_worker_comes_last_the_next_time(layout: Layout) -> None:
    queue = WorkQueue(layout)
    for name in ("a", "b", "c"):
        queue.add(name)
    assert queue.waiting() == ["a", "b", "c"]
    assert queue.take("a") and queue.waiting() == ["b", "c", "a"], "nobody gave it back: who took it up is gone"
    queue.add("a")
    assert queue.take("b") and queue.take("b") and queue.waiting() == ["c", "a", "b"], "the most often tried last"


def test_it_outlives_the_host_and_holds_nothing_of_it_open(
    agent: Agent, memories: Memories, is_idle: Callable[[], bool]
) -> None:
    """The host's whole process group is killed when the hook has ended; its pipes are closed at once."""
    agent.prompt(RULE)
    agent.say(RULE)
    told = json.dumps({**agent.fields("stop")})
    line = f"echo '{told}' | {agent.command} hook claude Stop; kill -9 0"
    read, write = os.pipe()
    os.set_inheritable(write, True)
    process = subprocess.Popen(
        ["bash", "-c", line],
        stdout=write,
        stderr=write,
        env=agent.environment,
        start_new_session=True,
        pass_fds=[write],
    )
    os.close(write)
    process.wait(timeout=60)
    assert os.read(read, 100) == b"", "and the pipe has ended"
    os.close(read)
    wait_for(memories)
    wait_for(is_idle)


def test_at_a_cap_it_waits_and_the_next_one_goes_on(agent: Agent, layout: Layout, memories: Memories) -> None:
    """B2."""
    Path(layout.logs).mkdir(parents=True)
    spent = {"time": time.strftime("%Y-%m-%dT%H:%M:%S+00:00", time.gmtime()), "job": "extract", "model": "x"}
    line = {**spent, "project": layout.slug, "input": 5_000_000, "output": 0, "cache_read": 0, "cache_created": 0}
    Path(layout.ledger).write_text(json.dumps({**line, "money": None}) + "\n")
    turn(agent, layout, RULE)
    work(agent)
    assert not memories() and WorkQueue(layout).waiting()
    Path(layout.ledger).unlink()
    work(agent)
    assert len(memories()) == 1


@pytest.mark.parametrize("how", ["patch", "shell", "command", "mcp"])
def test_what_the_agent_wrote_itself_is_known_by_the_history(agent: Agent, layout: Layout, how: str) -> None:
    """X3: whatever tool it was."""
    agent.start()
    agent.prompt(RULE)
    agent.say(RULE, at=time.time() - 5)
    memory = Path(layout.default_memory) / "no_mocks.md"
    text = f"---\nname: no mocks\ndescription: {RULE}\ntype: feedback\n---\n\n{RULE}\n"
    if how == "command":
        command = [agent.command, "remember", RULE, "--project", str(agent.project)]
        subprocess.run(command, env=agent.environment, check=True, capture_output=True)
    elif how == "mcp":
        called = {"name": "remember", "arguments": {"text": RULE}}
        asked = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": called}) + "\n"
        command = [agent.command, "mcp", "--project", str(agent.project)]
        subprocess.run(command, input=asked.encode(), env=agent.environment, check=True, capture_output=True)
    else:
        memory.write_text(text, encoding="utf-8")
    WorkQueue(layout).add(agent.session)
    work(agent)
    assert "main_already_wrote" in [event.get("skipped") for event in events(layout)]
    assert len([path for path in memory.parent.glob("*.md") if path.name != "MEMORY.md"]) == 1


async def test_a_draft_that_is_lost_for_its_form_waits_and_is_passed_over_in_the_end(
    agent: Agent, layout: Layout, memories: Memories
) -> None:
    """X4: what was written beside it is told as saved."""
    turn(agent, layout, f"{RULE} {OTHER}")
    queue, name = WorkQueue(layout), agent.transcript.stem
    rule = f"---\nname: no mocks\ndescription: {RULE}\ntype: feedback\n---\n\n{RULE}\n"
    good, bad = (
        ("Write", {"file_path": str(Path(layout.default_memory) / file), "content": text})
        for file, text in (("feedback_no_mocks.md", rule), ("project_billing.md", OTHER))
    )
    waits = []
    for drafts in ((good, bad), (bad,), (bad,)):
        model = ScriptedModel([calls(*drafts), says("Saved."), says("Saved.")])
        memory = open_memory(agent.project, source="hook", model=model)
        await _take_up(memory, Attended.at(layout.attended(name)), name, queue)
        await memory.close()
        waits.append(queue.waiting() == [name])
        assert len(memories()) == 1
    assert waits == [True, True, False]
    assert "passed_over" in [event.get("skipped") for event in events(layout)]


def test_a_key_in_the_environment_is_not_used_and_the_hosts_program_only_where_the_user_said_so(
    agent: Agent, layout: Layout, tmp_path: Path
) -> None:
    program = tmp_path / "bin" / "claude"
    program.parent.mkdir()
    program.write_text(f"#!/bin/sh\necho called >> {tmp_path}/called\nexit 1\n")
    program.chmod(0o755)
    agent.environment |= {"PATH": f"{program.parent}:{os.environ['PATH']}", "CLAUDECODE": "1"}
    agent.environment |= {"ANTHROPIC_API_KEY": "not-a-real-one", "ANTHROPIC_BASE_URL": "http://127.0.0.1:9"}
    turn(agent, layout, RULE)
    work(agent)
    assert not WorkQueue(layout).waiting() and not (tmp_path / "called").exists()
    Path(layout.user_settings).write_text('{"attach.model": "host"}')
    turn(agent, layout, OTHER, at=time.time() + 1)
    work(agent)
    assert (tmp_path / "called").exists()
    assert WorkQueue(layout).waiting(), "it failed, and comes again"


def test_where_codex_cannot_be_asked_without_its_tools_the_built_in_model_learns(
    make_agent: MakeAgent, layout: Layout, tmp_path: Path, memories: Memories
) -> None:
    agent, program = make_agent("codex"), tmp_path / "bin" / "codex"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\necho "$1 $2" >> {tmp_path}/called\necho "unrecognized subcommand" >&2\nexit 2\n')
    program.chmod(0o755)
    agent.environment |= {"PATH": f"{program.parent}:{os.environ['PATH']}"}
    Path(layout.home).mkdir(exist_ok=True)
    Path(layout.user_settings).write_text('{"attach.model": "host"}')
    turn(agent, layout, RULE)
    work(agent)
    assert len(memories()) == 1 and not WorkQueue(layout).waiting()
    assert set((tmp_path / "called").read_text().splitlines()) == {"debug models"}, "it was asked nothing"
    assert any("without its tools" in str(event.get("reason")) for event in events(layout))


UNHEARD = "We decided to use Kafka 4 for the invoice pipeline because of the replay rules."
WAYS = ("variable", "setting", "not-here")


def switch(agent: Agent, layout: Layout, way: str, *, is_on: bool) -> None:
    if way == "variable":
        agent.environment = {name: text for name, text in agent.environment.items() if name != "MEMDIR_DISABLE"}
        agent.environment |= {} if is_on else {"MEMDIR_DISABLE": "1"}
    elif way == "setting":
        Path(layout.user_settings).write_text(json.dumps({"memoryEnabled": is_on}))
    else:
        back = ["config", "set", "memoryEnabled", "--unset", "--layer", "local"]
        command = [agent.command, *(back if is_on else ["attach", "--not-here"]), "--project", str(agent.project)]
        subprocess.run(command, env=agent.environment, check=True, capture_output=True)


def said_in(layout: Layout) -> str:
    folders = (Path(layout.default_memory), Path(layout.user_memory.root))
    return "".join(path.read_text() for folder in folders for path in folder.glob("*.md"))


async def dream_of(claim: str, layout: Layout, project: Path) -> None:
    """A dream of the built-in model, and one of a model that writes this down."""
    path = str(Path(layout.default_memory) / "dreamt.md")
    text = f"---\nname: dreamt\ndescription: {claim}\ntype: project\n---\n\n{claim}\n"
    for model in (
        BuiltinModel(),
        ScriptedModel([calls(("Write", {"file_path": path, "content": text})), says("Done.")]),
    ):
        memory = open_memory(project.resolve(), model=model, clock=lambda: time.time() + 7200)  # the night after
        await memory.session("own").dream(DreamTask(0), since=0.0)
        await memory.close()


@pytest.mark.parametrize(
    ("host", "way"), [*(("claude", way) for way in WAYS), *((host, WAYS[0]) for host in HOSTS[1:])]
)
@pytest.mark.slow("codex", "gemini", "qwen", "opencode", "not-here", "setting")
async def test_what_is_said_while_memory_is_off_is_never_learned_nor_dreamt_and_nothing_else_is_lost(
    make_agent: MakeAgent, layout: Layout, project: Path, host: str, way: str
) -> None:
    """S5: however it was switched off, and though it all stands in the agent's transcript."""
    agent = make_agent(host)
    turn(agent, layout, RULE)
    switch(agent, layout, way, is_on=False)
    work(agent)
    assert not Path(layout.default_memory).exists() or not said_in(layout)
    assert answer(agent.prompt(UNHEARD)) == {}
    agent.say(UNHEARD, "I will use Kafka.")
    assert answer(agent.stop()) == {}
    switch(agent, layout, way, is_on=True)
    turn(agent, layout, OTHER)
    work(agent)
    assert "mock" in said_in(layout), "said before"
    assert "PostgreSQL" in said_in(layout), "said since"
    assert "Kafka" not in said_in(layout)
    os.environ["XDG_DATA_HOME"] = agent.environment["XDG_DATA_HOME"]
    await dream_of(UNHEARD, layout, project)
    assert "Kafka" not in said_in(layout)


@pytest.mark.parametrize("first", ["nothing", "an empty prompt"])
@pytest.mark.parametrize("agent", ["qwen"], indirect=True)
def test_what_was_said_while_memory_was_off_is_not_learned_from_a_session_that_is_seen_since(
    agent: Agent, layout: Layout, first: str
) -> None:
    """S5: memory was switched on while the agent worked, which tells of a prompt again after each tool."""
    Path(layout.home).mkdir()
    switch(agent, layout, "setting", is_on=False)
    agent.start()
    agent.prompt(UNHEARD)
    agent.say(UNHEARD, "I will use Kafka.", at=time.time() - 2)
    switch(agent, layout, "setting", is_on=True)
    if first == "an empty prompt":
        agent.prompt("")
    agent.stop()
    wait_for(lambda: not WorkQueue(layout).waiting())
    turn(agent, layout, RULE)
    agent.stop()
    wait_for(lambda: "mock" in said_in(layout))
    assert "Kafka" not in said_in(layout)


@pytest.mark.parametrize("is_on", [True, False])
@pytest.mark.parametrize("agent", ["qwen"], indirect=True)
def test_a_prompt_without_words_moves_no_switch(agent: Agent, layout: Layout, is_on: bool) -> None:
    """S5: what was said just before memory was switched off is learned, and what was said before it was switched on is
    not, though the turn goes on."""
    turn(agent, layout, RULE)
    work(agent)
    switch(agent, layout, "setting", is_on=not is_on)
    agent.prompt(UNHEARD)
    agent.say(UNHEARD, "I will use Kafka.")
    switch(agent, layout, "setting", is_on=is_on)
    agent.prompt("")
    agent.stop()
    switch(agent, layout, "setting", is_on=True)
    turn(agent, layout, OTHER)
    work(agent)
    assert ("Kafka" in said_in(layout)) is not is_on


@pytest.mark.parametrize("is_on", [True, False])
def test_a_prompt_that_begins_with_a_path_moves_a_switch(agent: Agent, layout: Layout, is_on: bool) -> None:
    """S5: it is no command of the client's, and its client writes it down before the hook is called."""
    turn(agent, layout, RULE)
    work(agent)
    if is_on:
        switch(agent, layout, "setting", is_on=False)
        agent.prompt("/clear")
    switch(agent, layout, "setting", is_on=is_on)
    told = f"/etc/kafka/server.properties is ours now. {UNHEARD}"
    agent.say(told, "I will use Kafka.")
    agent.prompt(told)
    switch(agent, layout, "setting", is_on=True)
    WorkQueue(layout).add(agent.transcript.stem)
    work(agent)
    assert ("Kafka" in said_in(layout)) is is_on and not WorkQueue(layout).waiting()


@pytest.mark.parametrize(
    ("agent", "mark"),
    [("codex", "CLAUDECODE"), ("codex", "CODEX_TOOL_CALL_ID"), ("gemini", "OPENCODE"), ("qwen", "GEMINI_CLI")],
    indirect=["agent"],
)
@pytest.mark.slow("gemini", "qwen")
def test_what_an_agent_says_to_another_that_it_starts_in_its_shell_is_no_word_of_the_users(
    agent: Agent, layout: Layout, mark: str
) -> None:
    """X1, X12: it is known by what the shell of an agent leaves in the environment. It may be recalled for, and a
    person may go on with the session."""
    turn(agent, layout, OTHER)
    work(agent)
    by_agent = replace(agent, session=f"{agent.session[:-1]}2", environment={**agent.environment, mark: "1"})
    by_agent.start()
    assert "PostgreSQL" in context(by_agent.prompt("Which database did we decide to use for the billing service?"))
    turn(by_agent, layout, UNHEARD)
    work(by_agent)
    assert "Kafka" not in said_in(layout)
    by_agent.environment = agent.environment
    turn(by_agent, layout, RULE)
    work(by_agent)
    assert "mock" in said_in(layout) and "Kafka" not in said_in(layout)


@pytest.mark.parametrize("mark", ["CLAUDECODE", "OPENCODE_TERMINAL"])
def test_an_agent_s_own_mark_or_a_terminal_of_a_person_keeps_nothing_from_being_learned(
    agent: Agent, layout: Layout, mark: str
) -> None:
    agent.environment |= {mark: "1"} if mark == "CLAUDECODE" else {mark: "1", "OPENCODE": "1"}
    turn(agent, layout, RULE)
    work(agent)
    assert "mock" in said_in(layout)


async def test_what_was_said_before_memdir_came_is_not_dreamt_of_either(
    agent: Agent, layout: Layout, project: Path
) -> None:
    agent.say(UNHEARD, "I will use Kafka.", at=time.time() - 30)
    turn(agent, layout, RULE)
    work(agent)
    await dream_of(UNHEARD, layout, project)
    assert "mock" in said_in(layout) and "Kafka" not in said_in(layout)


@pytest.mark.parametrize("agent", HOSTS, indirect=True)
async def test_what_was_said_to_another_agent_is_not_dreamt_over_a_newer_word_and_is_its_source(
    agent: Agent, layout: Layout, project: Path
) -> None:
    """D3, L1: an older claim takes no newer one's place; what is dreamt of has its line."""
    os.environ["XDG_DATA_HOME"] = agent.environment["XDG_DATA_HOME"]
    agent.start()
    agent.say("We deploy on Fridays.", "Good.", at=time.time() + 1)
    agent.say("The office in Porto is closed in August.", "Good.", at=time.time() + 2)
    memory = open_memory(project.resolve(), clock=lambda: time.time() + 3600)
    memory.start()
    memory.add("We deploy on Tuesdays.", type="project", description="We deploy on Tuesdays.")
    await dream_of("We deploy on Fridays.", layout, project)
    assert "Tuesdays" in said_in(layout) and "Fridays" not in said_in(layout)
    await dream_of("The office in Porto is closed in August.", layout, project)
    [told] = [commit.trailers["Lines"] for commit in memory.store.history.log("dreamt.md") if commit.source == "dream"]
    session = agent.session if agent.host == "opencode" else agent.transcript.stem
    assert session in told
    await memory.close()


async def test_a_dream_counts_and_reads_the_sessions_of_all_agents(
    make_agent: MakeAgent, layout: Layout, project: Path
) -> None:
    """D1, D3."""
    os.environ["XDG_DATA_HOME"] = str(make_agent("opencode").home / "data")
    for host in HOSTS:
        one = make_agent(host, session=f"{host}-1")
        turn(one, layout, f"Please look at the {host} parser.")
        work(one)
    assert len(sessions_since(layout.project_home, 0.0)) == len(HOSTS)
    model = ScriptedModel([])
    memory = open_memory(project.resolve(), model=model, flags={"dream.sessions": "5"})
    session = memory.session("own")
    await session.dream_if_due()
    [request] = model.requests
    job = request.job
    assert isinstance(job, DreamJob)
    said = {one.ref.agent: [message.text for message in one.messages()] for one in job.others}
    assert {agent: texts[0] for agent, texts in said.items()} == {
        agent: f"Please look at the {host} parser."
        for host, agent in zip(HOSTS, ("claude-code", "codex", "gemini", "qwen", "opencode"), strict=True)
    }
    assert "rollout-" in request.messages[-1].text
    await memory.close()


@pytest.fixture(autouse=True)
def data_home() -> Iterator[None]:
    before = os.environ.get("XDG_DATA_HOME")
    yield
    os.environ.pop("XDG_DATA_HOME", None)
    if before is not None:
        os.environ["XDG_DATA_HOME"] = before


def test_a_long_session_gets_notes_for_its_compaction(agent: Agent, layout: Layout) -> None:
    """N3."""
    agent.start()
    for number in range(40):
        agent.say(f"Please fix the parser in src/parser_{number}.py. " + "It reads words. " * 60, "I changed it. " * 60)
    turn(agent, layout, "Thank you, that works.")
    work(agent)
    done = agent.hook("compact", trigger="manual")
    assert "Session Title" in done.stdout and "parser" in done.stdout


def spoil(path: str, how: str) -> None:
    if how == "off":
        return
    Path(path).unlink()
    if how == "link":
        os.symlink("/dev/zero", path)
    elif how == "pipe":
        os.mkfifo(path)
    elif how == "garbled":
        Path(path).write_bytes(b"\xff\x00 no note\n")


@pytest.mark.parametrize("how", ["off", "deleted", "link", "pipe", "garbled"])
def test_a_worker_that_cannot_learn_from_what_waits_ends(
    agent: Agent, layout: Layout, is_idle: Callable[[], bool], how: str
) -> None:
    """Memory was turned off meanwhile, or the note of the session is damaged: it looked again and again for an hour."""
    turn(agent, layout, RULE)
    spoil(layout.attended(agent.session), how)
    if how == "off":
        Path(layout.user_settings).write_text('{"memoryEnabled": false}')
    work(agent)
    assert is_idle() == (how != "off"), "said while memory was on, it waits until it is again"


@pytest.mark.parametrize("how", ["deleted", "link", "pipe", "garbled"])
@pytest.mark.slow("link", "pipe", "garbled")
def test_a_session_whose_note_is_damaged_is_noted_again(
    agent: Agent, layout: Layout, memories: Memories, how: str
) -> None:
    turn(agent, layout, RULE)
    work(agent)
    spoil(layout.attended(agent.session), how)
    turn(agent, layout, OTHER)
    work(agent)
    assert len(memories()) == 2


def test_what_is_no_session_in_the_queue_keeps_nobody_from_learning(
    agent: Agent, layout: Layout, memories: Memories
) -> None:
    turn(agent, layout, RULE)
    queue = Path(layout.attached, "queue")
    (queue / "0-a-folder").mkdir()
    (queue / ".memdir-tmp-cut-short").touch()
    work(agent)
    assert len(memories()) == 1
    assert not Path(layout.logs, "crash.log").exists()


INSTRUCTION = "Always run `make check` before you commit."
ABOUT = ("databases", "mocks", "tests", "burned boards", "the last release", "quarters", "never-ending loops")
LONG = "\n".join(f"- About {one}: ask Maria, she wrote the page on them." for one in ABOUT)


@pytest.mark.parametrize(
    ("file", "said", "is_learned"),
    [
        (("AGENTS.md", INSTRUCTION), "From now on always run make check before you commit, please.", False),
        (("CLAUDE.md", f"# Rules\n\n* {INSTRUCTION}\n"), "From now on always run make check before you commit.", False),
        (("GEMINI.md", INSTRUCTION), "From now on always run make check before you commit, please.", False),
        (("QWEN.md", INSTRUCTION), "From now on always run make check before you commit, please.", False),
        (("AGENTS.md", INSTRUCTION), "From now on never run make check before you commit.", True),
        (
            ("AGENTS.md", INSTRUCTION),
            "From now on always run make check before you commit, CI broke twice last week.",
            True,
        ),
        (("CLAUDE.md", LONG), RULE, True),
        (("README.md", INSTRUCTION), "From now on always run make check before you commit, please.", True),
    ],
)
def test_what_an_instruction_file_says_is_no_memory_and_its_opposite_is(
    agent: Agent, layout: Layout, memories: Memories, file: tuple[str, str], said: str, is_learned: bool
) -> None:
    """Q2, T5: a file that is long says little about each thing in it."""
    (agent.project / file[0]).write_text(file[1])
    turn(agent, layout, said)
    work(agent)
    assert len(memories()) == is_learned


def test_a_memory_that_says_otherwise_does_not_go_on_because_an_instruction_file_says_it_too(
    agent: Agent, layout: Layout, memories: Memories
) -> None:
    """Q2, X6: else a clone's file could hold any older memory in its place."""
    turn(agent, layout, "Please always use pnpm instead of npm in this repository, from now on.")
    work(agent)
    [name] = memories()
    (agent.project / "AGENTS.md").write_text("# Rules\n\n- Always use bun instead of npm in this repository.\n")
    turn(agent, layout, "Please always use bun instead of npm in this repository, from now on.", at=time.time() + 1)
    work(agent)
    assert memories() == [name]
    description = (Path(layout.default_memory) / name).read_text().partition("description: ")[2].partition("\n")[0]
    assert "bun" in description and "pnpm" not in description


def test_an_instruction_file_that_leads_out_of_the_project_says_nothing(
    agent: Agent, layout: Layout, memories: Memories, tmp_path: Path
) -> None:
    (tmp_path / "rules.md").write_text(INSTRUCTION)
    (agent.project / "AGENTS.md").symlink_to(tmp_path / "rules.md")
    turn(agent, layout, "From now on always run make check before you commit, please.")
    work(agent)
    assert len(memories()) == 1


def test_where_a_daily_log_is_kept_the_worker_adds_to_it_and_the_next_day_makes_memories(
    agent: Agent, layout: Layout, memories: Memories
) -> None:
    """K3, K4: whatever agent is attended to."""
    assert "logs/YYYY" not in context(agent.start())
    Path(layout.user_settings).write_text(json.dumps({"dailyLog": True}))
    assert "logs/YYYY/MM/YYYY-MM-DD.md" in context(agent.start("clear")), "what is kept of a start is of before"
    turn(agent, layout, RULE)
    work(agent)
    [log] = (Path(layout.default_memory) / "logs").rglob("*.md")
    assert "mock" in log.read_text() and memories() == []
    assert "logs/" in message(agent.prompt("Go on."))
    yesterday = datetime.now().astimezone() - timedelta(days=1)
    earlier = log.parent.parent.parent / f"{yesterday:%Y/%m/%Y-%m-%d}.md"
    earlier.parent.mkdir(parents=True, exist_ok=True)
    log.rename(earlier)
    turn(agent, layout, "Thanks, that is all.", at=time.time() + 1)
    work(agent)
    assert len(memories()) == 1 and "mock" in memories()[0]


def told(agent: Agent) -> str:
    return message(agent.prompt("Please go on with the next step."))


def test_what_is_told_as_saved_stands_and_is_what_the_command_takes_back(
    agent: Agent, layout: Layout, memories: Memories, memdir: Callable[..., Ran]
) -> None:
    """X9: nothing of what was taken back meanwhile, and the change by its id where another came behind it."""
    turn(agent, layout, RULE)
    work(agent)
    [name] = memories()
    memdir("undo")
    assert told(agent) == ""
    turn(agent, layout, OTHER, at=time.time() + 1)
    work(agent)
    [name] = memories()
    memdir("remember", "Lunch is at noon")
    line = told(agent)
    assert line.startswith(f"Memory saved: {name} (`memdir undo ") and told(agent) == ""
    assert memdir(*line.partition("`memdir ")[2].rstrip("`)").split()).code == 0
    assert memories() == ["project_lunch_is_at_noon.md"], line
    turn(
        agent,
        layout,
        "From now on always put SQL keywords in upper case, because our linter wants it.",
        at=time.time() + 2,
    )
    work(agent)
    [name] = set(memories()) - {"project_lunch_is_at_noon.md"}
    assert memdir("forget", name).code == 0
    assert told(agent) == ""


@pytest.mark.parametrize("has_history", [True, pytest.param(False, marks=pytest.mark.slow)])
def test_what_was_only_taken_back_is_told_as_deleted_with_the_command_that_brings_it_back(
    agent: Agent, layout: Layout, memories: Memories, memdir: Callable[..., Ran], has_history: bool
) -> None:
    """X9."""
    memdir("remember", "We deploy on Tuesdays")
    [name] = memories()
    if not has_history:
        shutil.rmtree(layout.user_memory.history, ignore_errors=True)
        shutil.rmtree(Place(layout.default_memory).history)
        agent.environment["PATH"] = str(Path(agent.command).parent)  # without git
    turn(agent, layout, "Forget the rule that we deploy on Tuesdays.")
    work(agent)
    assert not memories()
    assert told(agent) == f"Memory deleted: {name}" + " (`memdir undo`)" * has_history and told(agent) == ""
    if has_history:
        memdir("undo")
        assert memories() == [name]


def test_what_a_worker_saved_that_was_killed_before_it_noted_it_is_told_once(
    agent: Agent, layout: Layout, memories: Memories
) -> None:
    """X9: at the next prompt, whether or not another worker came before that."""
    turn(agent, layout, RULE)
    queue = WorkQueue(layout)
    queue.take(agent.transcript.stem)
    session = agent.transcript.stem
    before = (Path(layout.attached) / "queue" / f"{session}~1").read_bytes()
    queue.give_back(session)
    work(agent)
    [name] = memories()
    (Path(layout.attached) / "saved").unlink()
    (Path(layout.attached) / "queue" / f"{session}~1").write_bytes(before)  # as a kill leaves it
    assert told(agent) == f"Memory saved: {name} (`memdir undo`)"
    assert told(agent) == ""
    work(agent)
    assert told(agent) == "" and not queue.waiting()


def test_a_turn_that_ended_waits_for_the_worker_before_anybody_looks_at_a_long_history(
    make_agent: MakeAgent, layout: Layout, tmp_path: Path, memories: Memories, memdir: Callable[..., Ran]
) -> None:
    """X10: Qwen's user is told at the end of a turn what was saved, and a hook has five seconds."""
    agent, slow, git = make_agent("qwen"), tmp_path / "slow", shutil.which("git")
    memdir("remember", "Lunch is at noon")
    turn(agent, layout, RULE)
    queue = WorkQueue(layout)
    assert queue.take(agent.transcript.stem)
    queue.done(agent.transcript.stem)
    queue.tell(agent.transcript.stem, ["lunch.md"])
    slow.mkdir()
    (slow / "git").write_text(f'#!/bin/sh\n[ -e {slow}/on ] && sleep 8\nexec {git} "$@"\n')
    (slow / "git").chmod(0o755)
    (slow / "on").touch()
    agent.environment["PATH"] = f"{slow}:{agent.environment['PATH']}"
    with locked(queue.lock):  # no worker takes it up meanwhile
        assert answer(agent.stop()) == {}
        assert queue.waiting() == [agent.transcript.stem]
    (slow / "on").unlink()
    work(agent)
    assert any("mock" in name for name in memories())


def test_what_was_saved_is_told_later_where_a_prompt_was_not_answered(
    agent: Agent, layout: Layout, memories: Memories, tmp_path: Path
) -> None:
    """X9: it is told once, so it must not go down with something else."""
    turn(agent, layout, RULE)
    work(agent)
    [name] = memories()
    package = tmp_path / "half" / "memdir"
    shutil.copytree(Path(memdir_package.__file__).parent, package, ignore=shutil.ignore_patterns("__pycache__"))
    (package / "recall" / "selection.py").write_text("def half(:\n")
    half = [sys.executable, "-m", "memdir.cli.entry", "hook", "claude", "UserPromptSubmit"]
    given = json.dumps({**agent.fields("prompt"), "prompt": "Please go on with the next step."})
    environment = {**agent.environment, "PYTHONPATH": str(tmp_path / "half")}
    done = subprocess.run(half, input=given, capture_output=True, text=True, env=environment, cwd=tmp_path, timeout=60)
    assert (done.returncode, done.stdout) == (0, "")
    assert told(agent) == f"Memory saved: {name} (`memdir undo`)"


def test_what_was_saved_is_told_later_where_the_hook_was_killed_or_nobody_heard_it(
    agent: Agent, layout: Layout, memories: Memories
) -> None:
    """X9: at every moment up to the one in which the host has its answer; and what is noted meanwhile stays."""
    turn(agent, layout, RULE)
    work(agent)
    [name] = memories()
    words = [agent.command, "hook", "claude", "UserPromptSubmit"]
    given = json.dumps({**agent.fields("prompt"), "prompt": "Please go on with the next step."})
    with Path("/dev/full").open("wb") as nobody:
        subprocess.run(words, input=given, text=True, stdout=nobody, env=agent.environment, check=True)
    queue, stores = WorkQueue(layout), [open_memory(layout.work_tree).stores.of("project")]
    found, on_told = queue.told(stores)
    assert found["Memory saved"] == [("memdir undo", [name])]
    assert told(agent) == "", "of two at once one gets it"
    del on_told  # as a kill leaves it
    found, on_told = queue.told(stores)
    assert found["Memory saved"]
    queue.tell("another", ["later.md"])
    on_told()
    assert (Path(layout.attached) / "saved").read_text().endswith(" another later.md\n")
    assert queue.told(stores)[0]["Memory saved"] == []


def test_a_thousand_saved_memories_are_told_and_not_kept_for_ever(agent: Agent, layout: Layout) -> None:
    """X9: after many sessions at once, as when past ones are learned from."""
    turn(agent, layout, RULE)
    work(agent)
    saved = Path(layout.attached) / "saved"
    saved.write_text(saved.read_text() + f"{int(time.time())} {'s' * 36} {'feedback_name' * 5}.md\n" * 1000)
    assert told(agent).startswith("Memory saved: ")
    assert not saved.exists() and told(agent) == ""


@pytest.mark.parametrize("where", ["below", "worktree"])
@pytest.mark.parametrize("host", HOSTS)
@pytest.mark.slow("codex", "gemini", "qwen")
def test_every_session_that_taught_something_is_listed_searched_named_and_purged(
    host: str, where: str, make_agent: MakeAgent, layout: Layout, memories: Memories, memdir: Callable[..., Ran]
) -> None:
    """J4, R8, L2: also one that was started in a folder below the project's, or in another worktree."""
    main = make_agent("claude")
    folder = main.project / "below" if where == "below" else main.project.parent / "tree"
    folder.mkdir()
    if where == "worktree":
        of_tree = main.project / ".git" / "worktrees" / "tree"
        of_tree.mkdir(parents=True)
        (folder / ".git").write_text(f"gitdir: {of_tree}\n")
        (of_tree / "gitdir").write_text(f"{folder / '.git'}\n")
        (of_tree / "commondir").write_text("../..\n")
    agent = Agent(host, main.home, folder, main.command, "1c9e4c52-0000", main.environment)
    turn(agent, layout, RULE)
    work(main)
    [name] = memories()
    session = agent.session if host == "opencode" else agent.transcript.stem
    os.environ["XDG_DATA_HOME"] = agent.environment["XDG_DATA_HOME"]
    listed = json.loads(memdir("sessions", "--agent", "all", "--json").out)["sessions"]
    assert [one["id"] for one in listed] == [session]
    found = json.loads(memdir("search", "mock the database", "--sessions", "--json").out)
    assert session in str(found)
    assert RULE in memdir("why", name).out
    purged = memdir("purge", "--source", session, "--json")
    assert memories() == [], purged


def many_memories(layout: Layout) -> Path:
    """So many that nobody who waits for a prompt should wait until they are read; one of them is of the launch."""
    folder = Path(layout.default_memory)
    folder.mkdir(parents=True)
    for number in range(300):
        text = f"---\nname: note {number}\ndescription: of number {number}\ntype: project\n---\n\n{'words ' * 200}\n"
        (folder / f"note_{number}.md").write_text(text, encoding="utf-8")
    text = "---\nname: kalomi launch\ndescription: why the kalomi launch waits\ntype: project\n---\n\nFor a key.\n"
    (folder / "kalomi.md").write_text(text, encoding="utf-8")
    (folder / "MEMORY.md").write_text("- [kalomi launch](kalomi.md) — why it waits\n", encoding="utf-8")
    return folder


def test_no_prompt_waits_until_all_memories_are_read_for_the_first_time(agent: Agent, layout: Layout) -> None:
    """The worker reads them, and a later prompt has them."""
    many_memories(layout)
    question = "Why does the kalomi launch wait?"
    index = Path(Place(layout.default_memory).derived) / "recall.base"
    with locked(WorkQueue(layout).preparing):
        assert context(agent.prompt(question)) == "" and not index.exists()
    agent.prompt("Please go on.")
    wait_for(index.exists)
    assert "For a key." in context(agent.prompt(question))


def test_a_session_start_has_them_read_before_the_first_prompt(agent: Agent, layout: Layout) -> None:
    many_memories(layout)
    agent.start()
    wait_for((Path(Place(layout.default_memory).derived) / "recall.base").exists)


def test_what_a_session_begins_with_is_there_when_the_worker_has_ended(agent: Agent, layout: Layout) -> None:
    folder = many_memories(layout)
    agent.start()
    (folder / "user_ann.md").write_text("---\nname: Ann\ndescription: Ann likes tea\ntype: user\n---\n\nTea.\n")
    (folder / "MEMORY.md").write_text("- [Ann](user_ann.md) — Ann likes tea\n", encoding="utf-8")
    work(agent)
    kept = Path(Place(layout.default_memory).derived) / "session-start"
    assert "Ann likes tea" in kept.read_text(encoding="utf-8")
    before = kept.stat().st_mtime_ns
    agent.session = "another-session"
    assert "Ann likes tea" in context(agent.start()) and kept.stat().st_mtime_ns == before


def test_of_a_large_store_a_session_start_reads_only_what_changed(layout: Layout, memdir: Callable[..., Ran]) -> None:
    """P6: what somebody wrote, changed or deleted by hand since the worker was here; and the worker reads the rest."""
    folder = many_memories(layout)
    lines = [f"- [note {number}](note_{number}.md) — {'words ' * 10}\n" for number in range(300)]
    (folder / "MEMORY.md").write_text("".join(lines), encoding="utf-8")
    (folder / "note_0.md").unlink()
    last = folder / "note_1.md"
    before = last.stat().st_ctime_ns
    while last.stat().st_ctime_ns == before:  # until the disk's clock has gone on
        last.write_text(last.read_text(encoding="utf-8"), encoding="utf-8")

    def begun() -> tuple[str, int]:
        start, told = SessionStart(open_memory(layout.work_tree), "claude"), list[str]()
        reads = calls_of("read_fields", lambda: told.append(start.within(lambda text: len(text) < 10_000)))
        return told[0], reads

    listed, reads = begun()
    assert reads > 299 and "(note_299.md)" in listed and "(note_0.md)" not in listed
    assert begun()[1] == 0, "it is kept"
    (folder / "note_299.md").unlink()
    (folder / "note_298.md").write_text("---\nname: tea\ndescription: Ann likes tea\ntype: user\n---\n\nTea.\n")
    (folder / "new.md").write_text("---\nname: new\ndescription: from the web\ntype: user\ntrust: web\n---\n\nNew.\n")
    listed, reads = begun()
    assert reads < 20
    assert "(note_299.md)" not in listed and "Ann likes tea" in listed and "note 298" not in listed
    assert "[new](new.md) — (from the web, not verified)" in listed and "(note_297.md)" in listed
    anew = SessionStart(open_memory(layout.work_tree), "claude")
    asked = calls_of("status_of", lambda: anew.within(lambda text: len(text) < 10_000))
    assert 0 < asked < 250, "the disk is asked about those that are listed"
    (folder / ".new").write_text("---\nname: five\ndescription: Ann drinks milk\ntype: user\n---\n\nMilk.\n")
    (folder / ".new").rename(folder / "note_5.md")
    listed, _ = begun()
    assert "Ann drinks milk" in listed, "one that was not listed, saved as an editor saves"
    shown = listed.count("](")
    assert f"({301 - shown} more memories are not listed here" in listed
    memdir("remember", "Never push by force", "--type", "feedback", "--name", "Forced")
    memdir("guard", "add", "feedback_forced", "block shell(git push --force)")
    assert "git push --force" in begun()[0], "a rule that is guarded is told from the next session on"
    memdir("guard", "remove", "feedback_forced")
    assert "git push --force" not in begun()[0]
