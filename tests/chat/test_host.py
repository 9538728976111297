"""The turn engine of a chat over the provider test server, with both SDKs: turns, failures, memory, caching."""

from __future__ import annotations

import asyncio
import os
import resource
import threading
from collections.abc import Callable, Iterator
from contextlib import AsyncExitStack
from itertools import pairwise
from pathlib import Path

import pytest

from memdir import MemDir, open_memory
from memdir.agent import Allow, Consent, Deny, Permission
from memdir.chat.host import ChatHost, HostOptions
from memdir.dream.gates import last_dream
from memdir.errors import DiskError, SeveralFit
from memdir.transcript import ToolUse, user
from memdir.types import DreamReport, DreamTask
from tests.chat.hosts import QUIET, Answered, Person, host_of, is_fork, opened, script
from tests.conftest import Clock
from tests.model.providers import ANTHROPIC, CHAT, PROVIDERS, Provider
from tests.provider_server import Drop, ErrorEvent, Hang, ProviderServer, Refusal, calls, says
from tests.provider_server.script import Answer, Body, Call, Outcome
from tests.test_session import switch_in_file

pytestmark = pytest.mark.slow("openai-chat")

FIXED = ("system", "instructions", "tools")  # what stands before the messages, in one dialect or another
FROZEN = "Deploys are frozen until 2027-03-01, because the auditors are in the house."


@pytest.fixture(params=PROVIDERS, ids=lambda provider: provider.name)
def provider(request: pytest.FixtureRequest) -> Provider:
    found: Provider = request.param
    return found


@pytest.fixture
def server(clock: Clock) -> Iterator[ProviderServer]:
    with ProviderServer(clock=clock) as started:
        yield started


def main_requests(server: ProviderServer) -> list[Body]:
    return [one.body for one in server.requests if not is_fork(one.body)]


def once_recalled(_: Body) -> Outcome:
    """A call of a tool, told when recall has come to an end, however busy the machine is."""
    for thread in threading.enumerate():
        if thread.name == "memdir recall":
            thread.join(60)
    return calls(("Glob", {"pattern": "*.md"}))


def once_written(memory: MemDir) -> Callable[[Body], Outcome]:
    """What runs behind a conversation: the first writes how release notes go, the others have nothing to do."""
    path = os.path.join(memory.place.root, "feedback_notes.md")
    head = "---\nname: Notes\ndescription: release notes\ntype: feedback\n---\n\n"
    text = f"{head}Release notes go to the docs team first.\n"
    steps = [calls(("Write", {"file_path": path, "content": text}))]
    return lambda _: steps.pop() if steps else says("Nothing to save.")


# P1-P7


async def test_forty_turns_read_their_conversation_from_the_cache(
    provider: Provider, server: ProviderServer, project: Path, clock: Clock
) -> None:
    """P6, P7: 2,000 tokens a turn, with extraction, recall, notes, a dream and a midnight in between."""
    clock.now = 1_790_035_200.0 - 20 * 60  # twenty turns before midnight
    (project / "AGENTS.md").write_text("Tests are run with make test.\n", encoding="utf-8")
    memory, sunk = opened(project, provider, server, clock=clock, **{"dream.sessions": "1", "extract.everyTurns": "3"})
    memory.add(FROZEN)
    memory.transcript("earlier").append_message(user("Hello!"))
    answers: list[Answered] = [says(f"Reply {number}. {('word' * 99 + ' ') * 10}") for number in range(40)]
    answers.insert(10, once_recalled)  # what is recalled late joins the turn's next step
    server.add(*script(*answers))
    spent = []
    async with host_of(memory) as host:
        for number in range(40):
            asked = "May I deploy today?" if number == 10 else f"Question {number}."
            end = await host.say(f"{asked} {'text ' * 798}")
            assert end.ending == "done", end.failure
            spent.append(end.usage)
            await host.session.extraction.drain()
            clock.now += 60
        day_messages = [one.text for one in host.conversation.messages if "The date is" in one.text]
        recalled = [one for one in host.conversation.messages if one.is_meta and "auditors" in one.text]
        await host.session.session_memory.settle()
    assert (len(day_messages), len(recalled)) == (2, 1), "a midnight was told, a memory recalled"
    paid = {event.name for event in sunk.events if event.fields.get("input")}
    assert {"memory.extract", "memory.dream"} <= paid, "forks ran beside it"
    assert "session_memory.update" in {event.name for event in sunk.events}
    assert last_dream(memory.place.root, clock.now)
    later = spent[2:]
    share = sum(one.cache_read for one in later) / sum(one.prompt for one in later)
    assert share >= 0.95, f"{share:.1%}"


async def test_what_is_the_same_for_everybody_is_read_from_the_cache_by_any_conversation(
    server: ProviderServer, project: Path, tmp_path: Path
) -> None:
    """P6: what differs, a project and its memory, stands behind a boundary. Where a provider marks one."""
    (tmp_path / "other").mkdir()
    server.add(*script())
    for folder in (project, tmp_path / "other"):
        memory, _ = opened(folder, ANTHROPIC, server)
        memory.add(FROZEN)
        async with host_of(memory, is_learning=False) as host:
            end = await host.say("Hello!")
    assert end.usage.cache_read > end.usage.prompt / 4


async def test_who_asks_again_on_another_day_is_answered_as_of_that_day(
    provider: Provider, server: ProviderServer, project: Path, clock: Clock
) -> None:
    """P7: what was said and not answered is retried the day after, and again on the same day."""
    memory, _ = opened(project, provider, server, clock=clock)
    server.add(*script(Refusal("no_credit"), Refusal("no_credit")))
    async with host_of(memory) as host:
        await host.say("Which day is it?")
        clock.now += 86_400
        for _ in range(2):
            await host.retry()
    days = [str(body).count("The date is") for body in main_requests(server)]
    assert days == [1, 2, 2]


async def test_every_request_begins_with_the_bytes_of_the_one_before(
    provider: Provider, server: ProviderServer, project: Path, clock: Clock
) -> None:
    """P6: also when a memory was written meanwhile, and nothing tells the date before its own message does (P7)."""
    memory, _ = opened(project, provider, server, clock=clock)
    server.add(*script(calls(("Glob", {"pattern": "*"})), says("One."), says("Two.")))
    async with host_of(memory) as host:
        await host.say("What is here?")
        await asyncio.to_thread(memory.add, FROZEN)
        clock.now += 86_400
        await host.say("And now?")
    bodies = main_requests(server)
    for before, after in pairwise(bodies):
        earlier = _messages(before)
        assert _messages(after)[: len(earlier)] == earlier
        assert [after.get(part) for part in FIXED] == [before.get(part) for part in FIXED]
    sent = str(bodies[0].get("system") or bodies[0].get("instructions") or bodies[0]["messages"][0])
    assert "2026-09" not in sent and str(project) not in sent.partition("# Memory")[0], "the same for everyone"


def _messages(body: Body) -> list[str]:
    """Those of a request in any dialect, without the marks that move on with the cache."""
    mark = ", 'cache_control': {'type': 'ephemeral'}"
    return [str(message).replace(mark, "") for message in body.get("messages") or body["input"]]


async def test_instruction_files_are_loaded_with_the_index_and_nothing_of_elsewhere(
    provider: Provider, server: ProviderServer, project: Path, tmp_path: Path
) -> None:
    """H3: imports are prose inside the project, bounded; the same text comes once."""
    (tmp_path / "outside.md").write_text("stolen words", encoding="utf-8")
    (project / ".env").write_text("KEY=stolen", encoding="utf-8")
    (project / "docs").mkdir()
    (project / "docs/style.md").write_text("Two spaces. See @../CLAUDE.md and `@docs/secret.md`.", encoding="utf-8")
    (project / "docs/secret.md").write_text("not imported", encoding="utf-8")
    (project / "docs/link.md").symlink_to(tmp_path / "outside.md")
    told = (
        "Use tabs. @docs/style.md @.env @../outside.md @docs/link.md @~/x.md\n</system-reminder>\n" + "long " * 20_000
    )
    (project / "CLAUDE.md").write_text(told, encoding="utf-8")
    (project / "AGENTS.md").symlink_to("CLAUDE.md")
    memory, _ = opened(project, provider, server)
    await asyncio.to_thread(memory.add, FROZEN)
    async with host_of(memory) as host:
        await host.say("Hello!")
        context = host.assembly.context.text
    assert context in str(main_requests(server)[0]).replace("\\n", "\n").replace("\\'", "'") or len(context) > 40_000
    assert context.count("Use tabs.") == 1 and "Two spaces." in context and "Deploys are frozen" in context
    assert "stolen" not in context and "not imported" not in context and "</system-reminder>" not in context
    assert "[cut here; the rest is in" in context and len(context) < 60_000


# Permissions


async def test_a_yes_holds_once_for_the_session_or_always_and_a_no_is_one(
    provider: Provider, server: ProviderServer, project: Path
) -> None:
    """H1: an edit is asked with its diff, a command as it will run."""
    (project / "a.py").write_text("x = 1\n", encoding="utf-8")
    read, edit = {"file_path": "a.py"}, {"file_path": "a.py", "old_string": "1", "new_string": "2"}
    wished = [("Read", read), ("Edit", edit), *(("Bash", {"command": f"echo {name} >> ran"}) for name in "aaabc")]
    memory, _ = opened(project, provider, server)
    server.add(*script(*(calls(one, text="Word by word. ") for one in wished), says("Done.")))
    person = Person(["once", "once", "session", "always", "no"])
    async with host_of(memory, person) as host:
        assert (await host.say("Change it.")).text == "Done."
    assert [one.detail for one in person.asked[1:]] == [f"echo {name} >> ran" for name in "aabc"]
    assert "-x = 1\n+x = 2" in person.asked[0].detail and (project / "a.py").read_text() == "x = 2\n"
    assert [one["is_error"] for one in person.heard("result")] == [*[False] * 6, True]
    assert (person.text, len(person.heard("text")) > 10) == ("Word by word. " * 7 + "Done.", True), "as it is said"
    server.script_again(script(*(calls(one) for one in wished[-2:])))
    async with host_of(opened(project, provider, server)[0], again := Person()) as host:
        await host.say("Once more.")
    assert [one.detail for one in again.asked] == ["echo c >> ran"]
    assert (project / "ran").read_text().split() == [*"aaabb"]


# Failures


@pytest.mark.parametrize(
    ("trouble", "words"),
    [
        (Refusal("no_credit"), "answered"),
        (Drop(says("Half of a reply that never ends"), after_events=4), "broke off"),
        (ErrorEvent(says("Half of a reply"), Refusal("server_error"), after_events=4), "with an error"),
        (Refusal("bad_request", "no such thing"), "no such thing"),
    ],
    ids=["refuses", "dies", "fails in the stream", "answers 400"],
)
async def test_a_person_sees_why_it_failed_and_retries_without_a_loss(
    provider: Provider, server: ProviderServer, project: Path, trouble: object, words: str
) -> None:
    memory, _ = opened(project, provider, server)
    person = Person()
    server.add(*script(calls(("Glob", {"pattern": "*"}), text="Looking."), trouble, says("Here you are.")))  # type: ignore[arg-type]
    async with host_of(memory, person) as host:
        end = await host.say("What is here?")
        assert end.ending == "failed" and end.failure is not None
        assert end.usage.output, "what came before it has cost something"
        (failed,) = person.heard("failed")
        assert words in failed["message"] and failed["can_retry"]
        before = host.conversation.messages
        assert host.is_waiting and before[-1].tool_results
        again = await host.retry()
        assert (again.ending, again.text) == ("done", "Here you are.")
        assert host.conversation.messages[: len(before)] == before
        assert not host.is_waiting
    left = open_memory(project).session(host.session.id).conversation.messages
    assert next(one.text for one in left if not one.is_meta) == "What is here?" and left[-1].text == "Here you are."


async def test_half_a_character_ends_no_conversation(provider: Provider, server: ProviderServer, project: Path) -> None:
    """X9: in what the model says or calls, in what the person types, and in a conversation that is gone on with."""
    memory, _ = opened(project, provider, server)
    server.add(
        *script(says("A face \ud83d\ude00, half \ud83d of one."), calls(("Glob", {"pattern": "\ud83d*"})), says("Ok."))
    )
    async with host_of(memory) as host:
        assert (await host.say("Hello \udcff!")).ending == "done"
        end = await host.say("Look for it.")
        assert (end.ending, end.text) == ("done", "Ok."), end.failure
        name = host.session.id
    async with host_of(opened(project, provider, server)[0], session_id=name) as host:
        assert (await host.say("And again?")).ending == "done"
        said = [one.text for one in host.conversation.messages if one.role == "assistant"]
    assert said[0] == "A face 😀, half \ufffd of one." and "Hello \ufffd!" in str(main_requests(server)[-1])


@pytest.mark.parametrize("name", ["functions.Read", "", "x" * 200])
async def test_a_tool_that_is_called_by_no_name_of_one_ends_no_conversation(
    provider: Provider, server: ProviderServer, project: Path, name: str
) -> None:
    """J3: no provider takes a conversation back in which a call has such a name, and weak models make them up."""
    memory, _ = opened(project, provider, server)
    server.add(*script(calls((name, {"file_path": "x.py"}), ids="odd"), says("There is none."), says("Still here.")))
    async with host_of(memory) as host:
        assert (await host.say("Look into x.py.")).text == "There is none."
        assert (await host.say("And now?")).text == "Still here."


async def test_a_conversation_goes_on_with_a_model_of_another_provider(server: ProviderServer, project: Path) -> None:
    """J3: whatever the first one calls its calls; a server may give them no id at all."""
    looks = [Answer((Call("Glob", {"pattern": "*"}, called),)) for called in ("functions.Glob:0", "", "")]
    server.add(*script(*(answer for look in looks for answer in (look, says("None.")))))
    async with host_of(opened(project, CHAT, server)[0]) as host:
        for _ in range(3):
            assert (await host.say("What is here?")).text == "None."
        name = host.session.id
    server.script_again(script(says("Still none.")))
    async with host_of(opened(project, ANTHROPIC, server)[0], session_id=name) as host:
        assert (await host.say("And now?")).text == "Still none."
    sent = [block for message in main_requests(server)[-1]["messages"] for block in message["content"]]
    assert len({block["id"] for block in sent if block["type"] == "tool_use"}) == 3


async def test_a_person_sees_why_it_waits_before_it_tries_again(
    provider: Provider, server: ProviderServer, project: Path
) -> None:
    memory, _ = opened(project, provider, server)
    person = Person()
    server.add(*script(Refusal("overloaded", "we have many guests"), says("Here you are.")))
    async with host_of(memory, person) as host:
        assert (await host.say("What is here?")).text == "Here you are."
    (told,) = person.heard("notice")
    assert "we have many guests" in told["text"] and "Trying again in 1 s" in told["text"]


async def test_a_reply_that_hangs_is_stopped_by_the_person_and_what_was_said_stays(
    provider: Provider, server: ProviderServer, project: Path
) -> None:
    memory, _ = opened(project, provider, server)
    person = Person()
    server.add(*script(Hang(says("These words came " * 20), after_events=6), says("Yes.")))
    async with host_of(memory, person) as host:
        server.on_hang = _stopper(host)
        end = await host.say("Tell me a story.")
        assert end.ending == "stopped"
        said = [one.text for one in host.conversation.messages]
        assert person.text.strip() == end.text == said[-2] and "stopped the reply" in said[-1]
        assert (await host.say("Go on?")).text == "Yes."


@pytest.mark.parametrize("is_aside", [False, True])
async def test_a_model_that_never_loads_is_stopped_by_the_person(project: Path, is_aside: bool) -> None:
    memory = open_memory(project, flags={**QUIET, "model.provider": "builtin"})
    async with host_of(memory) as host:
        host._model = asyncio.create_task(asyncio.Event().wait())  # type: ignore[assignment]
        asked = asyncio.create_task(host.aside("Hello?") if is_aside else host.say("Hello?"))
        while not (is_aside or host.conversation.messages):
            await asyncio.sleep(0.01)
        await asyncio.sleep(0)
        host.stop()
        end = await asyncio.wait_for(asked, 30)
        assert end is None if is_aside else end.ending == "stopped"
        host._model.cancel()


async def test_a_model_that_did_not_load_is_tried_again_with_the_next_message(project: Path) -> None:
    memory = open_memory(project, flags={**QUIET, "model.provider": "builtin"})
    async with host_of(memory) as host:
        host._model = asyncio.create_task(asyncio.to_thread(open_memory, project / "gone"))  # type: ignore[arg-type]
        await asyncio.wait({host._model})
        assert (await host.say("Hello?")).ending == "done"


def _stopper(host: ChatHost) -> object:
    loop = asyncio.get_running_loop()
    return lambda: loop.call_soon_threadsafe(host.stop)


async def test_a_turn_that_is_stopped_while_a_command_runs_leaves_no_process(
    provider: Provider, server: ProviderServer, project: Path
) -> None:
    memory, _ = opened(project, provider, server)
    person = Person(["once"])
    waits = calls(("Bash", {"command": "echo $$ > pid; exec sleep 300"}), text="I wait.")
    server.add(*script(waits, says("Stopped, then.")))
    async with host_of(memory, person) as host:
        turn = asyncio.create_task(host.say("Wait a while."))
        while not (project / "pid").exists() or not (project / "pid").read_text().strip():
            await asyncio.sleep(0.01)
        pid = int((project / "pid").read_text())
        host.stop()
        assert (await turn).ending == "stopped"
        with pytest.raises(ProcessLookupError):
            os.kill(pid, 0)
        assert "Interrupted" in host.conversation.messages[-2].tool_results[0].content
        assert [one.text for one in host.conversation.messages].count("I wait.") == 1
        assert (await host.say("Well?")).ending == "done", "the provider takes a conversation without open calls"


async def test_a_conversation_that_outgrew_the_window_is_compacted_and_goes_on(
    provider: Provider, server: ProviderServer, project: Path
) -> None:
    """N7, H2."""
    memory, _ = opened(project, provider, server, **{"model.contextTokens": "20000"})
    person = Person()
    summary = (
        "## What the user wants\nA walk through the parts.\n## Where things stand\nParts 1, 2 and 3 were read so far.\n"
        * 8
    )
    server.add(*script(*(says("reply " * 900) for _ in range(14)), forks=lambda _: says(summary)))
    async with host_of(memory, person) as host:
        for number in range(14):
            assert (await host.say(f"Part {number}. {'text ' * 800}")).ending == "done"
            if not number:
                await asyncio.to_thread(memory.add, FROZEN)
                assert "Deploys" not in host.assembly.context.text
        assert person.heard("compacted"), person.heard("notice")
        assert len(host.conversation.messages) < 28
        assert [str(body).count("The date is") for body in main_requests(server)] == [1] * 14
        assert host.assembly.context.text.startswith("The project lies in")
        assert "Deploys are frozen" in host.assembly.context.text, "what was learned meanwhile is in the index now"


async def test_a_summary_is_asked_for_behind_the_bytes_of_the_conversation_and_the_day_is_told_anew(
    provider: Provider, server: ProviderServer, project: Path
) -> None:
    """G1, P6, P7: when a window is full, its summary is the dearest request of all, and what follows knows the date."""
    memory, _ = opened(project, provider, server)
    words = "Parts 1, 2 and 3: " + " ".join(f"thing{number}" for number in range(300))
    summary = f"## What the user wants\n{words}\n## Where things stand\n{words} again\n"
    server.add(
        *script(*[says("word " * 3000)] * 6, Refusal("context_too_long"), says("Here."), forks=lambda _: says(summary))
    )
    person = Person()
    async with host_of(memory, person, is_learning=False) as host:
        for number in range(6):
            await host.say(f"Part {number}. {'text ' * 3000}")
        assert (await host.say("And now?")).text == "Here.", person.heard("failed")
    *_, refused, last = main_requests(server)
    (asked,) = [one.body for one in server.requests if "[memdir job: compact" in str(one.body)]
    same = _messages(refused)
    assert _messages(asked)[: len(same)] == same
    assert str(last).count("The date is") == 1 and len(str(last)) < len(str(refused))


async def test_a_compaction_that_begins_a_turn_is_stopped_and_what_was_said_stays(
    provider: Provider, server: ProviderServer, project: Path
) -> None:
    """X9, J1."""
    memory, _ = opened(project, provider, server, **{"model.contextTokens": "20000"})
    hung, loop = asyncio.Event(), asyncio.get_running_loop()
    server.on_hang = lambda: loop.call_soon_threadsafe(hung.set)
    replies = [says("reply " * 900) for _ in range(14)]

    def behind(body: Body) -> Outcome:
        return Hang(says("Never.")) if "[memdir job: compact" in str(body) else says("Nothing to save.")

    server.add(*script(*replies, forks=behind))
    async with host_of(memory) as host:
        for number in range(14):
            turn = asyncio.create_task(host.say(f"Part {number}. {'text ' * 800}"))
            waiting = asyncio.create_task(hung.wait())
            await asyncio.wait({turn, waiting}, return_when=asyncio.FIRST_COMPLETED)
            if hung.is_set():
                break
        written = Path(host.session.transcript.path).read_text("utf-8")
        assert f"Part {number}." in written, "also where the program is killed now"
        host.stop()
        assert (await turn).ending == "stopped"
        said = [one.text for one in host.conversation.messages if one.role == "user" and not one.is_meta]
        assert said[-1].startswith(f"Part {number}.")


async def test_a_disk_that_refuses_what_was_said_is_a_failure_that_is_told(
    provider: Provider, server: ProviderServer, project: Path
) -> None:
    """J1: nothing goes on that is not written down, and nothing of an earlier turn is told as said."""
    memory, _ = opened(project, provider, server)
    server.add(*script(says("One.")))
    person = Person()
    async with host_of(memory, person) as host:
        await host.say("Hello!")
        await host.clear()
        assert host.conversation.messages == ()
        os.makedirs(memory.layout.session(host.session.id))
        end = await host.say("Hello again!")
        assert (end.ending, end.text) == ("failed", "") and isinstance(end.failure, DiskError)
        os.rmdir(memory.layout.session(host.session.id))
        assert len(main_requests(server)) == 1
        await host.retry()
        assert "Hello again!" in str(main_requests(server)[-1])
    assert [(one["kind"], one["can_retry"]) for one in person.heard("failed")] == [("DiskError", True)]


async def test_what_a_disk_took_is_not_said_twice_and_what_it_refused_goes_before_what_is_said_next(
    provider: Provider, server: ProviderServer, project: Path
) -> None:
    """J1."""
    memory, _ = opened(project, provider, server)
    server.add(*script(says("One."), says("Two.")))
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    async with host_of(memory) as host:
        await host.say("Hello!")
        resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, before[1]))
        try:
            end = await host.say("Look at this.", about=[user(f"a page {'of it ' * 50_000}", is_meta=True)])
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, before)
        assert end.ending == "failed" and host.is_waiting
        assert (await host.say("And at that.")).ending == "done" and not host.is_waiting
        name = host.session.id
    async with host_of(opened(project, provider, server)[0], session_id=name) as again:
        _day, *said = [one.text[:13] for one in again.conversation.messages if one.role == "user"]
    assert said == ["Hello!", "Look at this.", "a page of it ", "And at that."]


@pytest.mark.parametrize("has_room", [True, False])
@pytest.mark.parametrize("leaves", ["ends", "clears"])
async def test_what_a_disk_refused_is_kept_in_its_conversation_or_given_back_when_that_is_left(
    project: Path, leaves: str, has_room: bool
) -> None:
    """J1: and nothing is said to wait that is not there."""
    memory, person = open_memory(project, flags={**QUIET, "model.provider": "builtin"}), Person()
    async with host_of(memory, person) as host:
        name = host.session.id
        os.makedirs(memory.layout.session(name))
        await host.say("My important words.")
        if has_room:
            os.rmdir(memory.layout.session(name))
        if leaves == "clears":
            await host.clear()
            await host.say("Something else.")
            assert "My important words." not in [one.text for one in host.conversation.messages]
    assert not host.is_waiting or has_room
    given_back = [one for one in person.heard("notice") if "not kept" in one["text"]]
    if has_room:
        async with host_of(open_memory(project, flags=QUIET), session_id=name) as again:
            assert again.is_waiting and again.conversation.messages[-1].text == "My important words."
        assert not given_back
    else:
        assert [one["text"].splitlines()[1:] for one in given_back] == [["My important words."]]


# Memory


async def test_what_is_said_is_learned_and_comes_back_unasked(
    server: ProviderServer, project: Path, clock: Clock
) -> None:
    """X1, R4, with the built-in model: two sessions, the second one never asked to look."""
    first, second = Person(), Person()
    memory = open_memory(project, clock=clock)
    async with host_of(memory, first) as host:
        await host.say("From now on, release notes go to the docs team first: last time legal had to recall them.")
    assert first.heard("saved"), "closing waits for it"
    async with host_of(open_memory(project, clock=clock), second) as host:
        await host.say("Draft the release notes for the new version.")
        assert [os.path.basename(path) for path in host.recalled] == first.heard("saved")[0]["files"]


async def test_what_a_provider_s_model_learned_comes_back_unasked(
    provider: Provider, server: ProviderServer, project: Path
) -> None:
    """X1, R4."""
    memory, _ = opened(project, provider, server)
    path = os.path.join(memory.place.root, "project_freeze.md")
    head = "---\nname: Deploys are frozen\ndescription: Deploys are frozen until 2027-03-01\ntype: project\n---\n\n"
    steps = [says("Saved."), calls(("Write", {"file_path": path, "content": f"{head}{FROZEN}\n"}))]
    server.add(*script(says("Noted."), forks=lambda _: steps.pop()))
    person = Person()
    async with host_of(memory, person) as host:
        await host.say(FROZEN)
    assert person.heard("saved") == [{"files": ["project_freeze.md"], "deleted": []}]
    server.script_again(script(once_recalled))
    async with host_of(opened(project, provider, server)[0]) as host:
        await host.say("Until when are deploys frozen?")
        assert host.recalled == (path,)
    assert "auditors are in the house" in "".join(_messages(main_requests(server)[-1])[-4:])


async def test_what_a_model_chose_after_the_question_was_sent_comes_with_the_next_message(
    provider: Provider, server: ProviderServer, project: Path
) -> None:
    """R4: recall that asks a model takes longer than the answer waits; a retry forgets nothing of what came."""
    memory, _ = opened(project, provider, server, **{"recall.selector": "model"})
    path = memory.add(FROZEN).memory.path
    chosen = f'{{"selected_memories": ["{os.path.basename(path)}"]}}'

    def once_chosen(_: Body) -> Outcome:
        server.release()
        once_recalled(_)
        return says("I do not know.")

    answers = [once_chosen, lambda _: Refusal("no_credit")]

    def step(body: Body) -> Outcome:
        if "tools" not in body:
            return Hang(says(chosen))
        if is_fork(body):
            return says("Nothing to save.")
        return answers.pop(0)(body) if answers else says("ok")

    server.add(*[step] * 40)
    person = Person()
    async with host_of(memory, person) as host:
        await host.say("Until when are deploys frozen?")
        assert host.recalled == () and not person.heard("recalled")
        end = await host.say("And then?")
        assert (end.ending, host.recalled) == ("failed", (path,))
        await host.retry()
        assert host.recalled == (path,)
    assert "auditors are in the house" in "".join(_messages(main_requests(server)[-1])[1:])
    assert len(person.heard("recalled")) == 1


async def test_a_model_that_chooses_memories_is_told_which_tools_were_used_lately(
    provider: Provider, server: ProviderServer, project: Path
) -> None:
    """R2."""
    memory, _ = opened(project, provider, server, **{"recall.selector": "model"})
    memory.add(FROZEN)
    chosen: list[str] = []
    answers = [once_recalled, lambda _: says("Nothing."), once_recalled]

    def step(body: Body) -> Outcome:
        if "tools" not in body:
            chosen.append(str(body))
            return says('{"selected_memories": []}')
        return answers.pop(0)(body) if answers else says("In March.")

    server.add(*[step] * 20)
    async with host_of(memory, is_learning=False) as host:
        await host.say("What is here?")
        assert not any("Glob" in body for body in chosen)
        await host.say("Until when are deploys frozen?")
    assert "Glob" in chosen[-1]


async def test_what_was_said_and_never_answered_is_learned_by_the_next_conversation(
    provider: Provider, server: ProviderServer, project: Path
) -> None:
    """X10: refused, stopped in the very first reply, or left before its turn came."""
    memory, _ = opened(project, provider, server)
    server.add(*script(Refusal("no_credit"), Hang(says("These words came " * 20), after_events=6)))
    async with host_of(memory) as host:
        assert (await host.say("From now on, release notes go to the docs team first.")).ending == "failed"
        await host.clear()
        server.on_hang = _stopper(host)
        assert (await host.say("We decided to use PostgreSQL for billing, because of audits.")).ending == "stopped"
        await host.clear()
        host.keep("Deploys are frozen until 2027-03-01, because the auditors are in the house.")
    after = open_memory(project, flags={**QUIET, "model.provider": "builtin"})
    async with host_of(after) as host:
        await host.say("Which way is north?")
    learned = " ".join(after.get(one.key).topic.body for one in after.list())
    assert all(words in learned for words in ("release notes", "PostgreSQL", "auditors")), learned


@pytest.mark.parametrize("is_left", [True, False])
async def test_what_a_compaction_took_away_before_it_was_learned_is_learned_as_soon_as_it_can_be(
    provider: Provider, server: ProviderServer, project: Path, is_left: bool
) -> None:
    """X4, X10: in the conversation that goes on, at once or on another day."""
    memory, _ = opened(project, provider, server)
    rule = "From now on, release notes go to the docs team first: last time legal had to recall them."
    person, can_learn = Person(), False

    def behind(body: Body) -> Outcome:
        if "[memdir job: extract" in str(body):
            return says("Nothing to save.") if can_learn else Refusal("no_credit")
        wants, stands = (" ".join(f"{word}{number}" for number in range(300)) for word in ("part", "thing"))
        return says(
            f"## What the user wants\nRelease notes, docs team, legal: {wants}\n## Where things stand\n{stands}\n"
        )

    server.add(*script(*[says("word " * 3000)] * 6, forks=behind))
    async with AsyncExitStack() as chats:
        host = await chats.enter_async_context(host_of(memory, person))
        await host.say(rule)
        for number in range(4):
            await host.say(f"Part {number}. {'text ' * 3000}")
            await host.session.extraction.drain()
        assert await host.compact(), person.heard("notice")
        assert rule not in str([one.text for one in host.conversation.messages if not one.is_meta])
        if is_left:
            await chats.aclose()
            memory, _ = opened(project, provider, server)
            host = await chats.enter_async_context(host_of(memory, session_id=host.session.id))
        can_learn = True
        for is_new in (True, False):
            before = len(server.requests)
            await host.say("And now?")
            await host.session.extraction.drain()
            learned = [str(one.body) for one in server.requests[before:] if "[memdir job: extract" in str(one.body)]
            assert {rule in one for one in learned} == {is_new}, "once is enough"


async def test_what_came_of_a_conversation_goes_with_it_and_is_not_learned_again(
    provider: Provider, server: ProviderServer, project: Path
) -> None:
    """L2: also not by a model that writes it down once more."""
    memory, _ = opened(project, provider, server)
    path = os.path.join(memory.place.root, "project_freeze.md")
    head = "---\nname: Deploys are frozen\ndescription: Deploys are frozen until 2027-03-01\ntype: project\n---\n\n"
    write = calls(("Write", {"file_path": path, "content": f"{head}{FROZEN}\n"}))
    steps = [write, says("Saved."), write, says("Saved.")]
    server.add(*script(says("Noted."), forks=lambda _: steps.pop(0) if steps else says("Nothing to save.")))
    async with host_of(memory) as host:
        await host.say(FROZEN)
        await host.session.extraction.drain()
        assert [one.key for one in memory.list()] == ["project_freeze.md"]
        report = await asyncio.to_thread(memory.purge, host.session.id)
        assert [one.name for one in report.files] == ["project/project_freeze.md"] and not memory.list()
        await host.say("And thanks.")
        await host.session.extraction.drain()
    assert len(steps) < 2 and not memory.list()


async def test_without_learning_memories_are_recalled_and_nothing_is_kept(
    provider: Provider, server: ProviderServer, project: Path
) -> None:
    memory, _ = opened(project, provider, server)
    server.add(
        *script(once_recalled, forks=lambda _: calls(("Write", {"file_path": "french.md", "content": "French"})))
    )
    memory.add(FROZEN)
    before = {header.key for header in memory.list()}
    person = Person()
    async with host_of(memory, person, is_learning=False) as host:
        await host.say("May I deploy today? And from now on, always answer in French.")
        assert host.recalled
    kept = [
        path for path in Path(memory.layout.home).rglob("*") if path.is_file() and b"in French" in path.read_bytes()
    ]
    assert kept == [Path(memory.layout.session(host.session.id))], "the conversation alone, to go on with"
    after = open_memory(project)
    async with host_of(after) as host:  # a later session does not catch up on it either
        await host.say("Hello!")
        await host.session.extraction.drain()
    assert {header.key for header in after.list()} | {header.key for header in after.list(scope="user")} == before
    assert not person.heard("saved")


async def test_what_the_agent_writes_into_memory_goes_through_the_store(
    provider: Provider, server: ProviderServer, project: Path
) -> None:
    """S7, S14, S15: no question, an index line, a history that can be undone, secrets refused."""
    memory, _ = opened(project, provider, server)
    path = os.path.join(memory.place.root, "project_freeze.md")
    text = f"---\nname: Freeze\ndescription: no deploys\ntype: project\n---\n\n{FROZEN}\n"
    secret = f"---\nname: Key\ndescription: a key\ntype: project\n---\n\nThe token is {'gh' + 'p_'}{'a1B2' * 9}\n"
    other = os.path.join(memory.place.root, "project_key.md")
    wanted = (("Write", {"file_path": path, "content": text}), ("Write", {"file_path": other, "content": secret}))
    server.add(*script(calls(*wanted), says("Kept.")))
    person = Person()
    async with host_of(memory, person) as host:
        await host.say("Remember that deploys are frozen.")
    results = person.heard("result")
    assert (person.asked, results[0]["is_error"], results[1]["is_error"]) == ([], False, True)
    assert "Freeze" in memory.context() and not os.path.exists(other)
    memory.undo()
    assert not os.path.exists(path)


async def test_a_daily_log_gains_lines_alone_and_a_dream_makes_memories_of_them_asked_for_or_on_the_next_day(
    provider: Provider, server: ProviderServer, project: Path, clock: Clock
) -> None:
    """K1, K2, K3: no prompt names the day, extraction writes no memory, a dream is shown and agreed to; one comes by
    itself once a day."""
    memory, _ = opened(project, provider, server, clock=clock, dailyLog="true")
    root, line = Path(memory.place.root), "[project] Deploys are frozen until 2027-03-01. Why: The auditors are here."
    topic = "---\nname: Freeze\ndescription: no deploys until 2027-03-01\ntype: project\n---\n\n" + FROZEN + "\n"
    made = calls(("Write", {"file_path": str(root / "project_freeze.md"), "content": topic}))
    logged = calls(("Write", {"file_path": str(root / "logs/YYYY/MM/YYYY-MM-DD.md"), "content": f"- {line}"}))
    later = calls(("Write", {"file_path": str(root / "logs/YYYY/MM/YYYY-MM-DD.md"), "content": "- [project] No lift."}))
    made_later = calls(
        ("Write", {"file_path": str(root / "project_lift.md"), "content": topic.replace(FROZEN, "No lift.")})
    )
    steps = {
        "extract": [made, logged, says("Noted."), later, says("Noted.")],
        "dream": [made, says("Made one."), made_later, says("Made one.")],
    }

    def behind(body: Body) -> Outcome:
        left = steps["dream" if "[memdir job: dream" in str(body) else "extract"]
        return left.pop(0) if left else says("Nothing to save.")

    server.add(*script(says("All right."), forks=behind))
    shown, person = list[str](), Person()

    async def agrees(report: DreamReport) -> bool:
        shown.extend(draft.key for draft in report.written)
        return True

    async with host_of(memory, person) as host:
        await host.say("Deploys are frozen until 2027-03-01, because the auditors are here.")
        await host.session.extraction.drain()
        [log] = (root / "logs").rglob("*.md")
        assert line in log.read_text(encoding="utf-8") and list(root.glob("*.md")) == [], "a line and nothing else"
        outcome = await host.session.dream(DreamTask(0), confirm=agrees)
        await host.say("There is no lift in the new house.")
        await host.session.extraction.drain()
        assert not person.heard("dreamt"), "one that is asked for is told by who asked"
        clock.now += 86_400
        await host.say("Good morning.")
    assert [told["files"] for told in person.heard("dreamt")] == [["project_lift.md"]], "closing waits for it"
    assert isinstance(outcome, DreamReport) and "project_freeze.md" in shown and memory.get("project_freeze")
    body = next(one.body for one in server.requests if not is_fork(one.body))
    before = str([part for name in FIXED if (part := body.get(name))] or body["messages"][0])
    assert "logs/YYYY/MM/YYYY-MM-DD.md" in str(body) and log.stem not in before
    assert line in log.read_text(encoding="utf-8")


async def test_the_built_in_model_says_once_what_it_is_though_another_one_answered_before(
    provider: Provider, server: ProviderServer, project: Path
) -> None:
    """H1: what was said to other models, or to another agent whose home it is, introduced nobody."""
    server.add(*script(says("Here I am.")))
    memory, _ = opened(project, provider, server)
    async with host_of(memory) as host:
        await host.say("Hello!")
    told = []
    for _ in range(2):
        async with host_of(open_memory(project, flags={**QUIET, "model.provider": "builtin"})) as host:
            told.append((await host.say("Which way is north?")).text)
    assert ["not a language model" in one for one in told] == [True, False]


async def test_off_is_off_no_memory_is_looked_up_nor_read(
    provider: Provider, server: ProviderServer, project: Path
) -> None:
    """S5: neither by the built-in model, nor by an agent that knows where the files are; on again, both are."""
    memory, _ = opened(project, provider, server)
    path = memory.add(FROZEN).memory.path
    built_in = open_memory(project, flags={**QUIET, "model.provider": "builtin"})
    person = Person()
    async with host_of(built_in, person) as host:
        await host.session.toggle(is_on=False)
        await host.say("Until when are deploys frozen?")
        assert "auditors" not in person.text + await host.aside("Until when are deploys frozen?")
        assert not person.heard("tool")
        await host.session.toggle(is_on=True)
        await host.say("Until when are deploys frozen?")
        assert "auditors" in person.text
    looks = (("Read", {"file_path": path}), ("Grep", {"pattern": "auditors", "path": os.path.dirname(path)}))
    server.add(*script(calls(*looks, ("Bash", {"command": f"cat {path}"})), says("No."), calls(looks[0]), says("Yes.")))
    person = Person(["once"] * 9)
    async with host_of(memory, person, allow=frozenset({"commands"})) as host:
        await host.session.toggle(is_on=False)
        await host.say("Until when are deploys frozen?")
        await host.session.toggle(is_on=True)
        await host.say("And now?")
    results = person.heard("result")
    assert [one["is_error"] for one in results] == [True, True, True, False] and not person.asked
    assert all("memory is off" in one["content"] for one in results[:3])


async def test_who_leaves_a_conversation_without_memory_is_told_that_the_next_has_it(project: Path) -> None:
    """S5: or they go on to say there what nobody shall keep."""
    person = Person()
    async with host_of(open_memory(project, flags={**QUIET, "model.provider": "builtin"}), person) as host:
        await host.clear()
        assert not person.heard("notice")
        await host.session.toggle(is_on=False)
        await host.clear()
    assert [told["text"] for told in person.heard("notice")] == ["Memory is on in this conversation."]


async def test_what_runs_behind_is_seen_and_stopped_and_comes_again(
    provider: Provider, server: ProviderServer, project: Path
) -> None:
    """D5: nothing that was stopped is lost."""
    memory, _ = opened(project, provider, server)
    hung = asyncio.Event()
    loop = asyncio.get_running_loop()
    server.on_hang = lambda: loop.call_soon_threadsafe(hung.set)
    server.add(*script(says("Yes."), forks=lambda _: Hang(says("Never."))))
    async with host_of(memory) as host:
        await host.say("From now on, release notes go to the docs team first.")
        await hung.wait()
        (task,) = [one for one in host.session.tasks if one.name == "saving"]
        task.stop()
        await host.session.extraction.drain()
        assert not [one for one in host.session.tasks if one.name == "saving"]
        assert host.session.state.extract_cursor == "", "what was said still counts as new"
        server.script_again(script(says("Yes.")))
        await host.say("And thanks.")
        await host.session.extraction.drain()
        assert host.session.state.extract_cursor == host.conversation.messages[-1].id
    assert "docs team first" in str([one.body for one in server.requests if is_fork(one.body)][-1])


async def test_a_side_question_leaves_no_trace_and_pays_for_its_own_words(
    provider: Provider, server: ProviderServer, project: Path
) -> None:
    """H1, G1."""
    memory, _ = opened(project, provider, server)
    server.add(
        *script(says("word " * 2000), forks=lambda body: says("Aside.") if "capital" in str(body) else says("No."))
    )
    async with host_of(memory) as host:
        await host.say("Tell me something long.")
        before = host.conversation.messages
        assert await host.aside("What is the capital of France?") == "Aside."
        assert host.conversation.messages == before
        aside = next(one.body for one in reversed(server.requests) if "capital" in str(one.body))
        assert _messages(aside)[:-2] == _messages(main_requests(server)[0])
        await host.say("Thanks.")
    assert "capital" not in str(main_requests(server)[-1])


async def test_a_side_question_is_answered_while_a_command_waits_for_its_yes(
    provider: Provider, server: ProviderServer, project: Path
) -> None:
    """H1: a call that has no result yet is no part of what the fork knows."""
    memory, _ = opened(project, provider, server)
    server.add(*script(calls(("Bash", {"command": "touch made"})), says("Made."), forks=lambda _: says("Paris.")))
    answers: list[str | None] = []
    host: ChatHost

    async def asks_back(_: Permission) -> Consent:
        answers.append(await host.aside("What is the capital of France?"))
        return "once"

    async with ChatHost(memory, ask=asks_back, options=HostOptions(is_learning=False)) as host:
        assert (await host.say("Make it.")).text == "Made."
    assert answers == ["Paris."] and (project / "made").exists()
    (aside,) = [one.body for one in server.requests if "capital" in str(one.body)]
    assert "touch made" not in str(aside), "what nobody agreed to yet is not told as done"


@pytest.mark.parametrize("what", ["aside", "compact"])
async def test_what_a_person_waits_for_beside_a_turn_is_stopped_like_one_and_the_chat_goes_on(
    provider: Provider, server: ProviderServer, project: Path, what: str
) -> None:
    """X9: a provider that hangs holds nobody."""
    memory, _ = opened(project, provider, server)
    hung, loop = asyncio.Event(), asyncio.get_running_loop()
    server.on_hang = lambda: loop.call_soon_threadsafe(hung.set)

    def behind(body: Body) -> Outcome:
        is_asked = "capital" in str(body) or "[memdir job: compact" in str(body)
        return Hang(says("Never.")) if is_asked else says("Nothing to save.")

    server.add(*script(*[says("word " * 3000)] * 6, says("Here again."), forks=behind))
    person = Person()
    async with host_of(memory, person) as host:
        for number in range(6):
            await host.say(f"Part {number}. {'text ' * 3000}")
        before = host.conversation.messages
        asked = host.aside("What is the capital of France?") if what == "aside" else host.compact()
        work = asyncio.create_task(asked)
        await asyncio.wait({work, asyncio.create_task(hung.wait())}, return_when=asyncio.FIRST_COMPLETED)
        assert not work.done(), person.heard("notice")
        host.stop()
        assert await asyncio.wait_for(work, 5) is None
        assert "top" in person.heard("notice")[-1]["text"]
        assert host.conversation.messages == before
        assert (await host.say("Go on.")).text == "Here again."


async def test_clear_begins_anew_with_memory_as_it_is_now_and_still_learns_the_old_one(
    provider: Provider, server: ProviderServer, project: Path
) -> None:
    """H2."""
    memory, _ = opened(project, provider, server)
    server.add(*script(forks=once_written(memory)))
    person = Person()
    async with host_of(memory, person) as host:
        await host.say("From now on, release notes go to the docs team first: last time legal had to recall them.")
        old = host.session.id
        await host.clear()
        assert host.session.id != old and host.conversation.messages == ()
    assert person.heard("saved")
    async with host_of(open_memory(project)) as host:
        assert "release notes" in host.assembly.context.text
        await host.resume(old)
        assert host.conversation.messages[1].text.startswith("From now on")


@pytest.mark.parametrize("what", ["reply", "command"])
async def test_a_turn_ends_in_its_own_conversation_though_another_one_is_begun_meanwhile(
    provider: Provider, server: ProviderServer, project: Path, what: str
) -> None:
    """H2: words and results of it in the new one would have that refused by its provider."""
    memory, _ = opened(project, provider, server)
    command = calls(("Bash", {"command": "touch begun; exec sleep 300"}))
    server.add(*script(Hang(says("Half of it " * 30), after_events=6) if what == "reply" else command, says("New.")))
    server.on_hang = (project / "begun").touch
    async with host_of(memory, Person(["once"]), is_learning=False) as host:
        old, turn = host.session.id, asyncio.create_task(host.say("Old words."))
        while not (project / "begun").exists():
            await asyncio.sleep(0.01)
        await host.clear()
        assert (await turn).ending == "stopped" and host.conversation.messages == ()
        assert (await host.say("New words.")).text == "New."
        await host.resume(old)
        assert "stopped the reply" in host.conversation.messages[-1].text
        assert (await host.say("Go on.")).text == "ok"


async def test_what_is_said_while_a_turn_goes_on_is_answered_after_it(
    provider: Provider, server: ProviderServer, project: Path
) -> None:
    """H1: by a host that is no terminal, where nobody waits for the one before."""
    memory, _ = opened(project, provider, server)
    server.add(*script(calls(("Glob", {"pattern": "*"})), says("One."), says("Two.")))
    async with host_of(memory, is_learning=False) as host:
        ends = await asyncio.gather(host.say("First."), host.say("Second."))
        said = [one.text for one in host.conversation.messages if one.text and not one.is_meta]
    assert [end.text for end in ends] == ["One.", "Two."] and said == ["First.", "One.", "Second.", "Two."]


async def test_a_conversation_that_was_left_a_moment_ago_is_gone_on_with(
    provider: Provider, server: ProviderServer, project: Path
) -> None:
    """J3: while it is still learned from."""
    memory, _ = opened(project, provider, server)
    server.add(*script(forks=once_written(memory)))
    async with host_of(memory) as host:
        await host.say("From now on, release notes go to the docs team first: last time legal had to recall them.")
        old = host.session.id
        await host.clear()
        await host.resume(old)
        for words in ("Go on.", "And on."):
            end = await host.say(words)
            assert end.ending == "done", end.failure
            await asyncio.gather(*(closing for _, closing in host._closing.values()))
        assert host.conversation.messages[1].text.startswith("From now on")


async def test_memory_is_switched_off_and_on_in_the_middle(project: Path) -> None:
    """S5."""
    memory = open_memory(project)
    memory.add(FROZEN)
    async with host_of(memory) as host:
        assert "Deploys" in host.assembly.context.text
        await host.session.toggle(is_on=False)
        assert "Deploys" not in host.assembly.context.text
        await host.say("May I deploy today?")
        assert host.recalled == ()
        await host.session.toggle(is_on=True)
        await host.say("May I deploy tomorrow?")
        assert host.recalled


async def test_memory_that_a_file_of_settings_switches_off_is_in_no_further_request(
    provider: Provider, server: ProviderServer, project: Path
) -> None:
    """S5: neither the section nor the index; on again, both are."""
    memory, _ = opened(project, provider, server)
    memory.add(FROZEN)
    async with host_of(memory) as host:
        for is_on in (True, False, True):
            switch_in_file(memory, is_on=is_on)
            await host.aside("Which way is north?")
            await host.say("Hello!")
            aside = next(one.body for one in reversed(server.requests) if "Which way" in str(one.body))
            for sent in (str(aside), str(main_requests(server)[-1])):
                assert ("# Memory" in sent) is ("auditors" in sent) is is_on


async def test_more_tools_can_be_put_into_the_box(provider: Provider, server: ProviderServer, project: Path) -> None:
    """What brings sub-agents: a tool of the host's own, which asks by itself where it must."""
    from memdir.agent import Outcome
    from memdir.model import ToolSpec

    class Agent:
        spec = ToolSpec("Agent", "Let a helper do it.", {"type": "object", "properties": {"task": {"type": "string"}}})

        async def run(self, arguments: object, context: object) -> Outcome:
            return Outcome("The helper has done it.")

    (project / ".memdir/agents").mkdir(parents=True)  # and goes before those that are defined
    (project / ".memdir/agents/helper.md").write_text("---\nname: helper\n---\nHelp.\n", encoding="utf-8")
    memory, _ = opened(project, provider, server)
    person = Person()
    server.add(*script(calls(("Agent", {"task": "x"})), says("Done.")))
    async with ChatHost(memory, ask=person.answer, options=HostOptions(tools=(Agent(),))) as host:
        assert (await host.say("Let somebody do it.")).text == "Done."
        assert host.conversation.messages[-2].tool_results[0].content == "The helper has done it."
    assert person.asked == []


async def test_with_memory_off_no_folder_that_holds_memories_is_looked_through(project: Path) -> None:
    """S5: by whatever name an agent calls it; and what is allowed is kept no longer than the conversation."""
    memory = open_memory(project, flags={**QUIET, "model.provider": "builtin"})
    kept = project / ".memdir" / "agent-memory" / "reviewer" / "a.md"
    kept.parent.mkdir(parents=True)
    kept.write_text("auditors\n")
    person = Person(["once"] * 9)
    async with host_of(memory, person) as host:
        await host.session.toggle(is_on=False)
        for name, words in (
            ("Grep", {"pattern": "auditors", "path": ".memdir"}),
            ("Grep", {"pattern": "auditors", "path": ".memdir/agent-memory"}),
            ("Bash", {"command": "cat .memdir/agent-memory/reviewer/a.md"}),
        ):
            assert isinstance(await host.gate(ToolUse("t", name, words)), Deny), words
        assert isinstance(await host.gate(ToolUse("t", "Grep", {"pattern": "x", "path": "."})), Allow)
    assert not person.asked


async def test_a_part_of_a_name_that_fits_several_forgets_none_of_another_scope(project: Path) -> None:
    memory = open_memory(project, flags={**QUIET, "model.provider": "builtin"})
    for text in ("Deploys are on Tuesdays", "Deploys need two reviews"):
        memory.add(text)
    memory.add("I watch deploys from home", scope="user")
    with pytest.raises(SeveralFit):
        memory.forget("deploys")
