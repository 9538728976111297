"""Runs another program: text in, output out, bounded in time and size, and nothing left behind whatever happens."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass

READ_BYTES = 1 << 16  # what a pipe holds
REAP_SECONDS = 5.0  # a killed process is gone in milliseconds, unless it left its group or a disk hangs


@dataclass(frozen=True)
class ChildResult:
    """What came back. `is_cut` says that the output was larger than allowed, and the program was stopped for it."""

    exit_code: int | None  # negative: the number of the signal that ended it
    output: bytes
    errors: bytes
    is_cut: bool


class ChildTimeout(TimeoutError):
    """A program took too long and was stopped; `output` is what it had said."""

    def __init__(self, output: bytes) -> None:
        super().__init__("it took too long")
        self.output = output


class _Protocol(asyncio.subprocess.SubprocessStreamProtocol):
    """Tells when the program has ended. `Process.wait` tells only when its pipes have ended, too."""

    def __init__(self, limit: int, loop: asyncio.AbstractEventLoop) -> None:
        super().__init__(limit, loop)
        self.exited = asyncio.Event()

    def process_exited(self) -> None:
        super().process_exited()
        self.exited.set()


async def run_child(
    arguments: Sequence[str],
    *,
    stdin: bytes | None = b"",
    environment: Mapping[str, str] | None = None,
    cwd: str | None = None,
    timeout_seconds: float,
    max_output_bytes: int,
) -> ChildResult:
    """Run a program to its end. ChildTimeout after the limit; OSError when it cannot be started; may be cancelled.

    Without `stdin` nothing comes there as long as we live: its end tells the program that we were killed."""
    loop = asyncio.get_running_loop()
    transport, protocol = await loop.subprocess_exec(
        lambda: _Protocol(limit=READ_BYTES, loop=loop),
        *arguments,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        env=environment,
        cwd=cwd,
        start_new_session=True,  # so that its children can be stopped with it
    )
    process = asyncio.subprocess.Process(transport, protocol, loop)
    output, errors = bytearray(), bytearray()
    try:
        async with asyncio.timeout(timeout_seconds), asyncio.TaskGroup() as group:
            pipes = ((process.stdout, output), (process.stderr, errors))
            work = [group.create_task(_read(process, *pipe, max_output_bytes)) for pipe in pipes]
            if stdin is not None:
                work.append(group.create_task(_feed(process, stdin)))
            group.create_task(_wait(process, protocol, work))
    except TimeoutError:
        raise ChildTimeout(bytes(output[:max_output_bytes])) from None
    finally:
        await _end(process, transport)
    is_cut = max(len(output), len(errors)) > max_output_bytes
    said, complained = (bytes(pipe[:max_output_bytes]) for pipe in (output, errors))
    return ChildResult(process.returncode, said, complained, is_cut)


async def _feed(process: asyncio.subprocess.Process, data: bytes) -> None:
    pipe = process.stdin
    assert pipe is not None
    with suppress(BrokenPipeError, ConnectionResetError):  # it need not read all of it
        pipe.write(data)
        await pipe.drain()
        pipe.close()
        await pipe.wait_closed()


async def _read(
    process: asyncio.subprocess.Process, pipe: asyncio.StreamReader | None, data: bytearray, limit: int
) -> None:
    """All of it, or one byte more than the limit; a program that prints more than that is stopped.

    What is left in the pipe is taken out all the same: asyncio sees no end of a program whose output nobody reads.
    """
    assert pipe is not None
    while chunk := await pipe.read(READ_BYTES):
        data += chunk[: max(0, limit + 1 - len(data))]
        if len(data) > limit:
            _kill(process)


def _kill(process: asyncio.subprocess.Process) -> None:
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)


async def _wait(process: asyncio.subprocess.Process, protocol: _Protocol, work: list[asyncio.Task[None]]) -> None:
    """Its end, which is the end of what it left running, too: that would hold the pipes open, as what left its group
    goes on doing."""
    await protocol.exited.wait()
    _kill(process)
    await asyncio.wait(work, timeout=REAP_SECONDS)
    for task in work:
        task.cancel()


async def _end(process: asyncio.subprocess.Process, transport: asyncio.SubprocessTransport) -> None:
    """Stop the program and all of its group, and close the pipes even where a stranger still holds the other end."""
    _kill(process)
    stdin, *outputs = (transport.get_pipe_transport(number) for number in range(3))
    # Pipes first: waiting would wait for them, too, until they are written and read to their end.
    if isinstance(stdin, asyncio.WriteTransport) and (stdin.get_write_buffer_size() or not stdin.is_closing()):
        stdin.abort()
    for pipe in outputs:
        if pipe is not None:
            pipe.close()
    await process.wait()
    transport.close()
