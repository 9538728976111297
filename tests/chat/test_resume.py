"""A chat that was killed goes on where it stood: at every record, and for real (J1, J3). `make test-chat-soak` kills it
at every moment of a turn with every provider, the default run at some."""

from __future__ import annotations

import asyncio
import itertools
import json
import os
import signal
import subprocess
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path

import pytest

from memdir import MemDir, open_memory
from memdir.errors import UsageError
from memdir.transcript import Conversation, Message, ToolUse, user
from tests.chat.hosts import Person, chosen, host_of, is_fork, opened, script
from tests.conftest import Ran
from tests.model.providers import ANTHROPIC, PROVIDERS, Provider
from tests.provider_server import KEY, Hang, ProviderServer, calls, says

pytestmark = pytest.mark.slow("openai-chat")

MOMENTS = int(os.environ.get("CHAT_KILL_STEP", "4"))  # from one kill to the next
TURN = (
    calls(("Glob", {"pattern": "*"}), ("Read", {"file_path": "a.py"}), text="Looking.", ids="a"),
    calls(("Edit", {"file_path": "a.py", "old_string": "1", "new_string": "2"}), ids="b"),
    calls(("Bash", {"command": "echo done > b.txt"}), ids="c"),
    says("Changed."),
)


@pytest.fixture(params=PROVIDERS, ids=lambda provider: provider.name)
def provider(request: pytest.FixtureRequest) -> Provider:
    found: Provider = request.param
    return found


async def test_killed_at_every_record_it_resumes_and_loses_nothing(provider: Provider, project: Path) -> None:
    """A kill leaves the records up to some point, and maybe half of the next: all of them are tried."""
    (project / "a.py").write_text("x = 1\n", encoding="utf-8")
    with ProviderServer(script(*TURN)) as server:
        memory, _ = opened(project, provider, server)
        async with host_of(memory, Person(["once", "once"]), session_id="monday", is_learning=False) as host:
            await host.say("Change it.")
            path, whole = host.session.transcript.path, host.conversation.messages
    lines = Path(path).read_bytes().splitlines(keepends=True)
    assert len(lines) >= 9
    with ProviderServer() as server:
        for at in range(0, len(lines), 1 if provider is ANTHROPIC else MOMENTS):
            for half in (b"", lines[at][: len(lines[at]) // 2]):
                Path(path).write_bytes(b"".join(lines[:at]) + half)
                server.add(says("Resumed."))
                memory, _ = opened(project, provider, server)
                async with host_of(memory, session_id="monday", is_learning=False) as host:
                    left = host.conversation.messages
                    kept = [one for one in whole if one.id in written(lines[:at])]
                    assert list(left[: len(kept)]) == kept, "all that was written is there, in its order"
                    assert all(one.tool_results or one.is_meta for one in left[len(kept) :]), "and nothing is made up"
                    end = await (host.retry() if host.is_waiting else host.say("Go on."))
                    assert (end.ending, end.text) == ("done", "Resumed."), (at, end.failure)
                    assert not host.is_waiting
                sent = str(server.requests[-1].body)
                assert not [one.text for one in kept if repr(one.text)[1:-1] not in sent], (
                    "and the model gets all of it"
                )
                os.remove(path)


def written(lines: list[bytes]) -> set[str]:
    """The messages of these records."""
    return {str(json.loads(line).get("uuid")) for line in lines}


NURSERY = textwrap.dedent(
    """
    import asyncio, json, os, signal, sys
    from memdir import open_memory
    from memdir.chat.host import ChatHost, HostOptions

    told = []

    async def turn(moment):
        left = moment

        def passed(event):
            nonlocal left
            left -= 1
            told.append(getattr(event, "name", "asked"))
            if not left:
                os.kill(os.getpid(), signal.SIGKILL)

        async def asked(question):
            passed(question)
            return "once"

        memory = open_memory(sys.argv[1], flags=dict(word.split("=", 1) for word in sys.argv[2:]))
        options = HostOptions(session_id=f"killed-{moment}", is_learning=False)
        async with ChatHost(memory, ask=asked, listen=passed, options=options) as host:
            await host.say("Change it.")

    asyncio.run(turn(0))  # once to the end, so that no child has to load anything
    print(json.dumps(told), flush=True)
    for line in sys.stdin:
        child = os.fork()
        if not child:
            asyncio.run(turn(int(line)))
            os._exit(0)
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
    """
)


async def test_killed_for_real_at_every_moment_of_a_turn_it_goes_on_and_loses_nothing(
    provider: Provider, project: Path
) -> None:
    """SIGKILL wherever something is told or asked: words, replies, calls, results, questions."""
    (project / "a.py").write_text("x = 1\n", encoding="utf-8")
    with ProviderServer(script(*TURN)) as server:
        words = [f"{name}={value}" for name, value in chosen(provider, server).items()]
        program = [sys.executable, "-c", NURSERY, str(project), *words]
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
        environment = {**os.environ, "ANTHROPIC_API_KEY": KEY, "OPENAI_API_KEY": KEY}
        with subprocess.Popen(program, env=environment, text=True, **pipes) as nursery:  # type: ignore[call-overload]
            told = json.loads(nursery.stdout.readline())  # in a turn that nobody kills
            for moment in itertools.count(1, MOMENTS):
                (project / "a.py").write_text("x = 1\n", encoding="utf-8")
                (project / "b.txt").unlink(missing_ok=True)
                server.script_again(script(*TURN))
                nursery.stdin.write(f"{moment}\n")
                nursery.stdin.flush()
                status = int(nursery.stdout.readline())
                if not status:
                    break
                assert status == -signal.SIGKILL
                server.script_again(script(says("Resumed.")))
                memory, _ = opened(project, provider, server)
                await _goes_on(memory, project, f"killed-{moment}", told[:moment])
            nursery.stdin.close()
    assert moment > len(told) >= 15, "at all of them"


async def _goes_on(memory: MemDir, project: Path, session_id: str, told: list[str]) -> None:
    """`told` is what the person had been shown."""
    async with host_of(memory, session_id=session_id, is_learning=False) as host:
        left = host.conversation.messages
        assert [one.text for one in left if one.role == "user" and not one.is_meta and one.text] == ["Change it."]
        done = {result.tool_use_id for one in left for result in one.tool_results if not result.is_error}
        is_changed, is_run = "x = 2" in (project / "a.py").read_text(), (project / "b.txt").exists()
        assert is_changed >= ("b_0" in done) and is_run >= ("c_0" in done), "what is written was done"
        replies = [one for one in left if one.role == "assistant"]
        assert len(replies) == told.count("reply"), "what was shown is there: every reply"
        assert len(done) >= told.count("result"), "every result"
        end = await (host.retry() if host.is_waiting else host.say("Go on."))
        assert (end.ending, end.text) == ("done", "Resumed."), (session_id, end.failure)
        assert host.conversation.messages[: len(left)] == left


def test_killed_for_real_in_the_middle_of_a_reply_it_is_answered_on_resume(provider: Provider, project: Path) -> None:
    program = textwrap.dedent(
        """
        import asyncio, sys
        from memdir import open_memory
        from memdir.chat.host import ChatHost, HostOptions

        async def main():
            flags = dict(word.split("=", 1) for word in sys.argv[2:])
            memory = open_memory(sys.argv[1], flags=flags)
            async with ChatHost(memory, options=HostOptions(session_id="monday")) as host:
                await host.say("Are you there?")

        asyncio.run(main())
        """
    )
    with ProviderServer([Hang(says("Half of it " * 30), after_events=5), says("Yes, I am.")]) as server:
        words = [f"{name}={value}" for name, value in chosen(provider, server).items()]
        environment = {**os.environ, "ANTHROPIC_API_KEY": KEY, "OPENAI_API_KEY": KEY}
        process = subprocess.Popen([sys.executable, "-c", program, str(project), *words], env=environment)
        server.on_hang = lambda: process.send_signal(signal.SIGKILL)
        assert process.wait(60) == -signal.SIGKILL
        server.release()
        again = [sys.executable, "-m", "memdir.cli.entry", "sessions", "show", "monday", "--project", str(project)]
        assert "Are you there?" in subprocess.run(again, env=environment, capture_output=True, text=True).stdout
        server.add(*script(says("Yes, I am.")))

        import asyncio

        async def resumed() -> str:
            memory, _ = opened(project, provider, server)
            async with host_of(memory, session_id="monday") as host:
                assert host.is_waiting
                return (await host.retry()).text

        assert asyncio.run(resumed()) == "Yes, I am."
        asked = [one.body for one in server.requests if not is_fork(one.body)]
        assert str(asked[-1]).count("Are you there?") == 1
    assert open_memory(project).sessions()[0].title == "Are you there?"


async def test_a_conversation_that_goes_on_in_another_window_is_not_gone_on_with_beside_it(
    project: Path, memdir: Callable[..., Ran]
) -> None:
    """J1: what the one said would be a branch that the other's next resume does not see."""
    async with host_of(open_memory(project)) as first:
        await first.say("Which way is north?")
        name = first.session.id
    async with host_of(open_memory(project), session_id=name) as first:  # and has said nothing yet
        with pytest.raises(UsageError, match="another window"):
            host_of(open_memory(project), session_id=name)
        async with host_of(open_memory(project)) as second:
            await second.say("Something else.")
            own = second.session.id
            with pytest.raises(UsageError, match="another window"):
                await second.resume(name)
            assert second.session.id == own and (await second.say("Go on.")).ending == "done"
            assert name not in second.memory._sessions, "what it is shown there meanwhile is read when it is free"
        ran = await asyncio.to_thread(memdir, "chat", "-p", "And south?", "--resume", name)
        assert (ran.code, ran.out) == (2, "") and f"memdir fork {name}" in ran.err
        await first.say("And west?")
    async with host_of(open_memory(project), session_id=name) as again:
        said = [one.text for one in again.conversation.messages if one.role == "user" and not one.is_meta]
    assert said == ["Which way is north?", "And west?"]


async def test_one_that_was_killed_in_a_call_can_be_gone_on_with_from_another(project: Path) -> None:
    """J3: also compacted at once, which nothing can be in the middle of a call."""
    memory = open_memory(project)
    killed = Conversation.resume(memory.transcript("killed"))
    killed.add(user("Which way is north?"))
    killed.add(Message("assistant", (ToolUse("t1", "Glob", {"pattern": "*"}),)))
    killed.transcript.close()
    async with host_of(memory) as host:
        await host.resume("killed")
        assert [one.tool_use_id for one in host.conversation.messages[-1].tool_results] == ["t1"] and host.is_waiting


async def test_of_two_that_begin_one_conversation_at_the_same_time_one_does(project: Path) -> None:
    """J1: neither has a file yet, so neither sees the other when it is opened."""
    async with (
        host_of(open_memory(project), session_id="monday") as first,
        host_of(open_memory(project), session_id="monday") as second,
    ):
        assert (await first.say("Which way is north?")).ending == "done"
        end = await second.say("And south?")
        assert isinstance(end.failure, UsageError) and "another window" in end.failure.message
        assert (await first.say("And west?")).ending == "done"
    async with host_of(open_memory(project), session_id="monday") as again:
        said = [one.text for one in again.conversation.messages if one.role == "user" and not one.is_meta]
    assert said == ["Which way is north?", "And west?"]
