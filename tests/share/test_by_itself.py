"""When a sync happens by itself: at the start of a session, after changes, at its end; in the library and by hooks."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import threading
import time
from dataclasses import replace
from pathlib import Path

import pytest

from memdir import open_memory
from memdir.chat.host import ChatHost
from memdir.cli.context import note_change
from memdir.disk.lock import locked
from memdir.errors import LockBusy
from memdir.hooks.work_queue import WorkQueue
from memdir.layout import Place
from memdir.memdir import MemDir
from memdir.model.model import Request, ScriptedModel, says
from memdir.settings_file import put_setting
from memdir.share import team as team_of_share
from memdir.share.team import Address, TeamBehind, member_id
from memdir.store.shared import Failure
from memdir.team.commands import _watch as watch
from memdir.team.commands import send_when_quiet
from memdir.transcript.message import Message
from tests.hooks.agents import Agent, wait_for
from tests.hooks.conftest import MakeAgent, make_agent  # noqa: F401 - a fixture
from tests.share.remotes import FolderPlace, Member, member, memory_text


@pytest.fixture
def bob(tmp_path: Path) -> Member:
    """A teammate."""
    bob = member(FolderPlace(tmp_path / "remote"), "bob", tmp_path, time.time)
    bob.put("deploys.md", memory_text("deploys", "Deploys go out on Tuesdays."))
    bob.sync()
    return bob


def joined(project: Path, bob: Member, **more: ScriptedModel) -> MemDir:
    put_setting(open_memory(project).layout.local_settings, "team.remote", str(Address("folder", bob.where)))
    put_setting(open_memory(project).layout.local_settings, "team.enabled", True)
    memory = open_memory(project, **more)  # type: ignore[arg-type]
    memory.start()
    return memory


async def test_a_session_pulls_when_it_starts_and_pushes_when_it_ends(project: Path, bob: Member) -> None:
    memory = joined(project, bob, model=ScriptedModel([says("Nothing.")]))
    shared = Path(memory.place.team().root)
    async with memory.session("monday") as session:
        assert (shared / "deploys.md").exists() and "deploys" in session.context(), "before the first turn"
        memory.add("Tests need Redis", name="redis", scope="team")
        (shared / "deploys.md").write_text(memory_text("deploys", "Deploys go out on Fridays."))
    await memory.close()
    bob.sync()
    assert "project_redis.md" in bob.files() and "Fridays" in bob.read("deploys.md")


async def test_a_session_goes_on_without_its_remote(project: Path, bob: Member, tmp_path: Path) -> None:
    memory = joined(project, bob, model=ScriptedModel([says("Nothing.")]))
    (tmp_path / "remote").rename(tmp_path / "away")
    async with memory.session("monday") as session:
        assert session.prompt()
    await memory.close()
    assert memory.team.sync().reason == "offline"


async def test_a_session_in_which_memory_is_off_syncs_nothing(project: Path, bob: Member) -> None:
    """S5."""
    memory = joined(project, bob, model=ScriptedModel([says("Nothing.")]))
    async with memory.session("monday") as session:
        memory.team.sync()  # the one in the background is waited for
        await session.toggle(is_on=False)
        Path(memory.place.team().root, "late.md").write_text(memory_text("late", "Written while it is off."))
    await memory.close()
    bob.sync()
    assert "late.md" not in bob.files()


def test_several_changes_are_one_push_and_take_nothing_in() -> None:
    told: list[bool] = []
    is_done = threading.Event()

    def sync(pushes_only: bool) -> None:
        told.append(pushes_only)
        is_done.set()

    behind = TeamBehind(sync, debounce=0.05)
    for _ in range(5):
        behind.changed()
    assert is_done.wait(10) and told == [True]
    behind.close()
    assert told == [True, False]


def test_hooks_pull_at_the_start_and_give_at_the_end(
    make_agent: MakeAgent,  # noqa: F811 - the fixture
    project: Path,
    bob: Member,
) -> None:
    memory = joined(project.resolve(), bob)
    agent: Agent = make_agent("claude")
    shared = Path(memory.place.team().root)
    agent.start("compact")
    assert not (shared / "deploys.md").exists(), "a turn is under way"
    for number in range(5):  # one may take longer than a start waits, where all else is busy
        bob.put(f"note{number}.md", memory_text(f"note{number}", "Said before the session began."))
        bob.sync()
        if f"note{number}.md" in agent.start("clear").stdout:
            break
    else:
        pytest.fail("what the team changed was not there before the first turn")
    assert (shared / "deploys.md").exists()
    memory.add("Tests need Redis", name="redis", scope="team")
    agent.hook("end", reason="exit")

    def has_it() -> bool:
        bob.sync()
        return "project_redis.md" in bob.files()

    wait_for(has_it)


def test_with_hooks_nothing_is_taken_in_or_sent_while_a_turn_is_under_way(
    make_agent: MakeAgent,  # noqa: F811 - the fixture
    project: Path,
    bob: Member,
    memdir_command: str,
) -> None:
    """What the start of a session waited for in vain, and what a worker learned, comes when the turn has ended."""
    memory = joined(project.resolve(), bob)
    agent: Agent = make_agent("claude")
    shared = Path(memory.place.team().root)

    def behind(what: str) -> None:
        words = [memdir_command, "hook", what, memory.layout.work_tree, agent.session]
        subprocess.run(words, env=agent.environment, timeout=60, check=True)

    agent.start()
    agent.say("When do deploys go out?")
    agent.prompt("And what do tests need?")
    bob.put("late.md", memory_text("late", "It came late."))
    bob.sync()
    behind("--sync")
    assert not (shared / "late.md").exists()
    memory.add("Tests need Redis", name="redis", scope="team")
    WorkQueue(memory.layout).add(agent.session)
    behind("--work")
    bob.sync()
    assert "project_redis.md" not in bob.files()
    agent.stop()
    wait_for(lambda: (shared / "late.md").exists() and bool(bob.sync()) and "project_redis.md" in bob.files())


def test_what_commands_change_for_the_team_goes_out_behind_them(
    project: Path, bob: Member, memdir_command: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("MEMDIR_NO_DAEMON")
    joined(project, bob).team.sync()

    def runs(*words: str) -> None:
        command = [memdir_command, *words, "--project", str(project)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
        assert done.returncode == 0, done.stderr

    runs("remember", "Tests need Redis", "--name", "redis", "--scope", "team")
    runs("forget", "deploys", "--scope", "team")
    wait_for(lambda: bool(bob.sync()) and bob.files().keys() == {"project_redis.md"})


def test_whoever_finds_another_waiting_to_send_leaves_it_to_that_one(project: Path) -> None:
    place, sent = open_memory(project).place, []
    assert note_change(place)

    def send() -> None:
        sent.append(1)
        assert not note_change(place), "somebody is at it, and sends this, too"
        send_when_quiet(place, lambda: sent.append(2), quiet_seconds=0.0)
        if len(sent) > 1:
            os.utime(place.changed_for_team, ns=(0, 0))

    send_when_quiet(place, send, quiet_seconds=0.0)
    assert sent == [1, 1]
    send_when_quiet(place, send, quiet_seconds=0.0)
    assert sent == [1, 1], "nothing was changed since"


def test_nothing_is_sent_while_a_turn_is_under_way() -> None:
    told: list[bool] = []
    is_done, is_tried = threading.Event(), threading.Event()

    def sync(pushes_only: bool) -> None:
        told.append(pushes_only)
        is_done.set()

    behind = TeamBehind(sync, debounce=0.01)
    behind.turn_began()
    behind.changed()
    is_tried.wait(0.1)  # the time of several pushes
    assert told == []
    behind.turn_ended()
    assert is_done.wait(10) and told == [True]


@pytest.mark.parametrize("ask", ["prompt", "context", "recall"])
async def test_a_host_that_never_enters_has_what_the_team_changed_before_its_first_turn(
    project: Path, bob: Member, ask: str
) -> None:
    memory = joined(project, bob, model=ScriptedModel([says("Nothing.")]))
    session = memory.session("monday")
    asked = getattr(session, ask)
    await asked("When do deploys go out?") if ask == "recall" else asked()
    assert Path(memory.place.team().root, "deploys.md").exists()
    await session.close()
    await memory.close()


async def test_a_sync_that_takes_long_takes_nothing_in_while_a_turn_is_under_way(
    project: Path, bob: Member, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("memdir.session.START_SECONDS", 0.01)
    memory = joined(project, bob, model=ScriptedModel([says("Nothing.")] * 2))
    file, session = Path(memory.place.team().root, "deploys.md"), memory.session("monday")
    with locked(memory.place.team_lock, wait_seconds=10.0):  # what makes it take long
        await session.recall("When do deploys go out?")
    assert session._team is not None and session._team._started is not None
    session._team._started.join(10)
    assert not file.exists()
    question = Message("user", "When do deploys go out?")
    session.turn_ended(Request("", messages=(question,)), says("I do not know."))
    session._team._started.join(10)
    assert file.exists()
    await session.close()
    await memory.close()


@pytest.mark.parametrize("is_off", [False, True])
def test_what_a_turn_kept_from_being_taken_in_comes_when_it_has_ended(is_off: bool) -> None:
    told: list[str] = []

    def sync(pushes_only: bool) -> None:
        assert not pushes_only
        try:
            behind.require_free()
            told.append("taken in")
        except LockBusy:
            told.append("not now")

    behind = TeamBehind(sync)
    behind.turn_began()
    behind.start().join(10)
    assert told == ["not now"]
    if is_off:
        behind.stop()
    behind.turn_ended()
    assert behind._started is not None
    behind._started.join(10)
    assert told == ["not now"] + ["taken in"] * (not is_off)


@pytest.mark.parametrize("steps", [0, 1])
def test_a_turn_that_begins_in_the_middle_of_a_sync_stops_it_where_it_is(tmp_path: Path, steps: int) -> None:
    place = FolderPlace(tmp_path / "remote")
    ann, bob = (member(place, name, tmp_path, time.time) for name in ("ann", "bob"))
    bob.put("deploys.md", memory_text("deploys", "Deploys go out on Tuesdays."))
    bob.sync()
    ann.put("redis.md", memory_text("redis", "Tests need Redis."))
    passed: list[int] = []

    def require_free() -> None:
        if len(passed) == steps:
            raise LockBusy("a turn is under way")
        passed.append(1)

    with pytest.raises(LockBusy):
        replace(ann.syncing(), require_free=require_free).run()
    assert list(ann.files()) == ["redis.md"], "nothing is taken in"
    bob.sync()
    assert list(bob.files()) == ["deploys.md"], "and nothing sent"
    ann.sync(), bob.sync()
    assert ann.files() == bob.files() and len(bob.files()) == 2


def test_what_waited_for_the_end_of_a_turn_is_not_sent_when_memory_was_switched_off() -> None:
    """S5."""
    told: list[bool] = []
    behind = TeamBehind(told.append, debounce=0.0)
    behind.turn_began()
    behind.changed()
    assert behind._timer is not None
    behind._timer.join(10)
    behind.stop()
    behind.turn_ended()
    behind._timer.join(10)
    assert told == []


async def test_a_chat_takes_in_what_the_team_changed_before_its_first_turn(project: Path, bob: Member) -> None:
    model = ScriptedModel([says("On Tuesdays.")] * 4)
    async with ChatHost(joined(project, bob, model=model)) as host:
        await host.say("When do deploys go out?")
    texts = ["".join(message.text for message in request.messages) for request in model.requests]
    assert "deploys.md" in next(text for text in texts if "When do deploys go out?" in text)


async def test_a_question_begins_a_turn_and_its_answer_ends_it(project: Path, bob: Member) -> None:
    memory = joined(project, bob, model=ScriptedModel([says("Nothing."), says("Nothing.")]))
    async with memory.session("monday") as session:
        memory.team.sync()
        behind = session._team
        assert behind is not None and not behind.is_in_turn
        await session.recall("When do deploys go out?")
        assert behind.is_in_turn
        question = Message("user", "When do deploys go out?")
        session.turn_ended(Request("", messages=(question,)), says("On Tuesdays."))
        assert not behind.is_in_turn
    await memory.close()


def test_the_end_of_a_session_waits_no_longer_than_its_limit() -> None:
    go_on = threading.Event()
    behind = TeamBehind(lambda pushes_only: bool(go_on.wait(30)) and None, debounce=0.01, limit=0.2)
    behind.start()
    behind.changed()
    begun = time.monotonic()
    behind.close()
    assert time.monotonic() - begun < 2 * 0.2 + 1.0, "one limit for all of it"
    go_on.set()


def test_a_copy_of_a_home_is_another_writer_in_a_shared_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two writers of one list would take each other's writes away."""
    first = member_id(Place(str(tmp_path / "one" / "memory")))
    assert member_id(Place(str(tmp_path / "one" / "memory"))) == first
    shutil.copytree(tmp_path / "one", tmp_path / "two")
    assert member_id(Place(str(tmp_path / "two" / "memory"))) != first
    monkeypatch.setattr("socket.gethostname", lambda: "another")
    assert member_id(Place(str(tmp_path / "one" / "memory"))) != first


def test_a_copied_machine_of_the_same_name_and_paths_is_another_member(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(team_of_share, "MACHINE_ID", str(tmp_path / "machine-id"), raising=False)
    ids = set()
    for machine in ("4c1f", "9d27"):
        (tmp_path / "machine-id").write_text(f"{machine}\n")
        ids.add(member_id(Place(str(tmp_path / "one" / "memory"))))
    assert len(ids) == 2


def test_whoever_watches_goes_on_while_another_sync_is_under_way_and_is_told_once(
    project: Path, bob: Member, monkeypatch: pytest.MonkeyPatch
) -> None:
    memory, told, slept = joined(project, bob), list[str](), list[float]()
    monkeypatch.setattr("memdir.share.sync.WAIT_SECONDS", 0.01)

    class Context:
        note = staticmethod(told.append)

    def sleep(seconds: float) -> None:
        slept.extend([seconds] if seconds >= 1 else [])  # a lock sleeps for less
        if len(slept) == 6:
            raise KeyboardInterrupt

    monkeypatch.setattr("memdir.team.commands.time.sleep", sleep)
    with locked(memory.place.team_lock, wait_seconds=1.0), pytest.raises(KeyboardInterrupt):
        watch(Context(), memory)
    assert len(told) == 1 and len({*slept}) == 2, "after a failure it is tried again sooner"


def test_whoever_watches_is_told_once_what_fails_and_waits_before_it_is_tried_again(
    project: Path, bob: Member, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    memory, told, slept = joined(project, bob), list[str](), list[float]()
    (tmp_path / "remote" / "members").rename(tmp_path / "away")
    (tmp_path / "remote" / "members").write_text("in the way")

    class Context:
        terminal = None
        note = staticmethod(told.append)

    def sleep(seconds: float) -> None:
        slept.append(seconds)
        if len(slept) == 4:
            raise KeyboardInterrupt

    monkeypatch.setattr("memdir.team.commands.time.sleep", sleep)
    with pytest.raises(KeyboardInterrupt):
        watch(Context(), memory)
    failure = Failure.load(memory.place)
    assert failure is not None and [failure.problem in one for one in told] == [True], "of two tries, two waits each"


@pytest.mark.parametrize("has_news", [True, False])
def test_a_hub_that_answers_at_once_though_nothing_is_new_is_not_asked_without_a_pause(
    project: Path, bob: Member, monkeypatch: pytest.MonkeyPatch, has_news: bool
) -> None:
    memory, asked, slept = joined(project, bob), list[str](), list[float]()
    memory.team.sync()

    def wait(remote: object, revision: str) -> bool:
        asked.append(revision)
        if len(asked) > 2:
            raise KeyboardInterrupt
        return has_news

    monkeypatch.setattr("memdir.share.remotes.folder.FolderRemote.wait", wait, raising=False)
    monkeypatch.setattr("memdir.team.commands.time.sleep", slept.append)
    with pytest.raises(KeyboardInterrupt):
        watch(None, memory)
    assert [seconds for seconds in slept if seconds >= 1] == [5.0, 5.0]


def test_an_interrupt_that_python_drops_ends_whoever_watches_all_the_same() -> None:
    # As it is with one that comes while an object is let go: what is raised there reaches nobody.
    program = """
import os, signal, time
from contextlib import nullcontext
from types import SimpleNamespace as Some
from memdir.share.sync import SyncReport
from memdir.team.commands import SyncCommand

class LetGo:
    def __del__(self):
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(0.1)

def wait(revision):
    LetGo()
    print("waits", flush=True)
    time.sleep(30)
    os._exit(1)

sync = Some(remote=Some(wait=wait), status=lambda: (None, Some(revision="")))
team = Some(sync=lambda **_: SyncReport("folder"), joined=lambda: sync)
memory = Some(places=Some(syncs=True), team=team)
context = Some(start=lambda: memory, progress=lambda text: nullcontext(), print_json=lambda told, status: 0)
options = Some(resolve=None, later=False, status=False, dry_run=False, json=True, watch=True)
SyncCommand().run(options, context)
"""
    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=False)
    assert ended.stdout == "waits\n" and "Exception ignored" in ended.stderr
    assert ended.stderr.rstrip().endswith("KeyboardInterrupt") and ended.returncode != 1
