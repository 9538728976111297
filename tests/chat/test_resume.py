"""A chat that was killed goes on where it stood: at every record, and for real (J1, J3)."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from memdir import open_memory
from tests.chat.hosts import KEY, Person, chosen, host_of, is_fork, opened, script
from tests.model.providers import ANTHROPIC, CHAT, Provider
from tests.provider_server import Hang, ProviderServer, calls, says

TURN = (
    calls(("Glob", {"pattern": "*"}), ("Read", {"file_path": "a.py"}), text="Looking.", ids="a"),
    calls(("Edit", {"file_path": "a.py", "old_string": "1", "new_string": "2"}), ids="b"),
    calls(("Bash", {"command": "echo done > b.txt"}), ids="c"),
    says("Changed."),
)


@pytest.mark.parametrize("provider", [ANTHROPIC, CHAT], ids=lambda provider: provider.name)
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
        for at in range(len(lines)):
            for half in (b"", lines[at][: len(lines[at]) // 2]):
                Path(path).write_bytes(b"".join(lines[:at]) + half)
                server.add(says("Resumed."))
                memory, _ = opened(project, provider, server)
                async with host_of(memory, session_id="monday", is_learning=False) as host:
                    left = host.conversation.messages
                    kept = [one for one in whole if one.id in {message.id for message in left}]
                    assert list(left[: len(kept)]) == kept, "what was written is there, in its order"
                    end = await (host.retry() if host.is_waiting else host.say("Go on."))
                    assert (end.ending, end.text) == ("done", "Resumed."), (at, end.failure)
                    assert not host.is_waiting
                os.remove(path)


def test_killed_for_real_in_the_middle_of_a_reply_it_is_answered_on_resume(project: Path, tmp_path: Path) -> None:
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
        words = [f"{name}={value}" for name, value in chosen(ANTHROPIC, server).items()]
        environment = {**os.environ, "ANTHROPIC_API_KEY": KEY}
        process = subprocess.Popen([sys.executable, "-c", program, str(project), *words], env=environment)
        server.on_hang = lambda: process.send_signal(signal.SIGKILL)
        assert process.wait(60) == -signal.SIGKILL
        server.release()
        again = [sys.executable, "-m", "memdir.cli.entry", "sessions", "show", "monday", "--project", str(project)]
        assert "Are you there?" in subprocess.run(again, env=environment, capture_output=True, text=True).stdout
        server.add(*script(says("Yes, I am.")))

        import asyncio

        async def resumed() -> str:
            memory, _ = opened(project, ANTHROPIC, server)
            async with host_of(memory, session_id="monday") as host:
                assert host.is_waiting
                return (await host.retry()).text

        assert asyncio.run(resumed()) == "Yes, I am."
        asked = [one.body for one in server.requests if not is_fork(one.body)]
        assert str(asked[-1]["messages"]).count("Are you there?") == 1
    assert open_memory(project).sessions()[0].title == "Are you there?"
