"""Stopping in every phase leaves nothing: no thread, no socket, no task, no process; and the model works afterwards."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from memdir.agent.file_access import DiskFiles
from memdir.agent.gate import allow_all
from memdir.agent.loop import Abort, run_agent
from memdir.agent.tools.tool import Outcome, Toolbox, ToolContext
from memdir.model.model import Model
from tests.leaks import assert_no_other_tasks, nothing_left_behind
from tests.model.providers import READ, Provider
from tests.provider_server import Hang, ProviderServer, calls, says

ANSWER = says("Some words that come in several pieces.")


class WaitingTool:
    """A tool that never ends by itself."""

    spec = READ

    def __init__(self) -> None:
        self.running = asyncio.Event()
        self.was_cancelled = False

    async def run(self, arguments: object, context: object) -> Outcome:
        self.running.set()
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            self.was_cancelled = True
            raise
        return Outcome("never")


async def cancel_when(reached: asyncio.Event, model: Model, provider: Provider) -> None:
    """Begin a request, wait until it is where we want it, cancel it."""
    task = asyncio.create_task(model.complete(provider.request()))
    await asyncio.wait_for(reached.wait(), 20)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    await assert_no_other_tasks()


@pytest.mark.parametrize("after", [0, 1, 4], ids=["before the first byte", "at the first event", "in mid-stream"])
def test_cancelling_a_request_that_hangs(provider: Provider, after: int) -> None:
    async def scenario(server: ProviderServer) -> None:
        reached, loop = asyncio.Event(), asyncio.get_running_loop()
        server.on_hang = lambda: loop.call_soon_threadsafe(reached.set)
        model = provider.open(server)
        await cancel_when(reached, model, provider)
        assert (await model.complete(provider.request())).message.text == "Here again."
        await model.close()
        await assert_no_other_tasks()

    with ProviderServer([Hang(ANSWER, after), says("Here again.")]) as server, nothing_left_behind():
        asyncio.run(scenario(server))
        # The handler that hangs ends only with the server; all others must be gone.
        server.wait_for_connections(1)
        server.release()


def test_cancelling_while_connecting(provider: Provider) -> None:
    async def scenario(port: int) -> None:
        with ProviderServer() as unused:
            model = provider.open(unused, url=f"http://127.0.0.1:{port}/v1")
        task = asyncio.create_task(model.complete(provider.request()))
        while not is_connecting_to(port):
            await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await model.close()
        await assert_no_other_tasks()

    with nothing_left_behind(), full_port() as port:
        asyncio.run(scenario(port))


@pytest.mark.parametrize("way", ["abort", "cancel"])
def test_stopping_while_tools_run(provider: Provider, way: str, tmp_path: Path) -> None:
    async def scenario(server: ProviderServer) -> None:
        model, tool, abort = provider.open(server), WaitingTool(), Abort()
        box = Toolbox([tool], ToolContext(str(tmp_path), DiskFiles()))
        run = asyncio.create_task(run_agent(provider.request(), model, box, allow_all, max_turns=3, abort=abort))
        await asyncio.wait_for(tool.running.wait(), 20)
        if way == "abort":
            abort.set("enough")
            assert (await run).ending == "aborted"
        else:
            run.cancel()
            with pytest.raises(asyncio.CancelledError):
                await run
        assert tool.was_cancelled
        await model.close()
        await assert_no_other_tasks()

    script = [calls(("Read", {"file_path": "a"}), ("Read", {"file_path": "b"}))]
    with ProviderServer(script) as server, nothing_left_behind(server):
        asyncio.run(scenario(server))


@pytest.mark.parametrize("after", [0, 3])
def test_aborting_a_run_while_the_model_speaks(provider: Provider, after: int, tmp_path: Path) -> None:
    async def scenario(server: ProviderServer) -> None:
        model, abort, loop = provider.open(server), Abort(), asyncio.get_running_loop()
        server.on_hang = lambda: loop.call_soon_threadsafe(abort.set, "the user pressed escape")
        box = Toolbox([], ToolContext(str(tmp_path), DiskFiles()))
        run = await run_agent(provider.request(), model, box, allow_all, max_turns=3, abort=abort)
        assert (run.ending, run.messages, run.turns) == ("aborted", (), 0)
        await model.close()
        await assert_no_other_tasks()

    with ProviderServer([Hang(ANSWER, after)]) as server, nothing_left_behind():
        asyncio.run(scenario(server))
        server.release()
        server.wait_for_connections(0)


def test_many_requests_at_once_leave_nothing(provider: Provider) -> None:
    async def scenario(server: ProviderServer) -> None:
        model = provider.open(server)
        replies = await asyncio.gather(*(model.complete(provider.request()) for _ in range(20)))
        assert len(replies) == 20
        await model.close()
        await assert_no_other_tasks()

    with ProviderServer() as server, nothing_left_behind(server):
        asyncio.run(scenario(server))


@contextmanager
def full_port() -> Iterator[int]:
    """A port whose queue is full: whoever connects waits."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen(0)
        port = listener.getsockname()[1]
        waiting = []
        try:
            while not waiting or not is_connecting_to(port):
                client = socket.socket()
                client.setblocking(False)
                client.connect_ex(("127.0.0.1", port))
                waiting.append(client)
            yield port
        finally:
            for client in waiting:
                client.close()


def is_connecting_to(port: int) -> bool:
    """Whether a connection to the port has been begun and not been answered."""
    lines = Path("/proc/net/tcp").read_text(encoding="ascii").splitlines()[1:]
    return any(line.split()[2].endswith(f":{port:04X}") and line.split()[3] == "02" for line in lines)
