"""Runs another program: text in, output out, bounded in time and size, and nothing left behind whatever happens."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Literal

READ_BYTES = 1 << 16  # what a pipe holds


@dataclass(frozen=True)
class ChildResult:
    """What came back. `is_cut` says that the output was larger than allowed, and the program was stopped for it."""

    exit_code: int | None  # negative: the number of the signal that ended it
    output: bytes
    errors: bytes
    is_cut: bool


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
    stdin: bytes = b"",
    environment: Mapping[str, str] | None = None,
    cwd: str | None = None,
    timeout_seconds: float,
    max_output_bytes: int,
) -> ChildResult:
    """Run a program to its end. TimeoutError after the limit; OSError when it cannot be started; may be cancelled."""
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
    try:
        async with asyncio.timeout(timeout_seconds), asyncio.TaskGroup() as group:
            group.create_task(_feed(process, stdin))
            pipes = [group.create_task(_read(process, pipe, max_output_bytes)) for pipe in ("stdout", "stderr")]
            group.create_task(_wait(process, protocol))
    finally:
        await _end(process, transport)
    output, errors = (pipe.result() for pipe in pipes)
    is_cut = max(len(output), len(errors)) > max_output_bytes
    return ChildResult(process.returncode, output[:max_output_bytes], errors[:max_output_bytes], is_cut)


async def _feed(process: asyncio.subprocess.Process, data: bytes) -> None:
    pipe = process.stdin
    assert pipe is not None
    with suppress(BrokenPipeError, ConnectionResetError):  # it need not read all of it
        pipe.write(data)
        await pipe.drain()
        pipe.close()
        await pipe.wait_closed()


async def _read(process: asyncio.subprocess.Process, name: Literal["stdout", "stderr"], limit: int) -> bytes:
    """All of it, or one byte more than the limit; a program that prints more than that is stopped.

    What is left in the pipe is taken out all the same: asyncio sees no end of a program whose output nobody reads.
    """
    pipe = process.stdout if name == "stdout" else process.stderr
    assert pipe is not None
    data = bytearray()
    while chunk := await pipe.read(READ_BYTES):
        data += chunk[: max(0, limit + 1 - len(data))]
        if len(data) > limit:
            _kill(process)
    return bytes(data)


def _kill(process: asyncio.subprocess.Process) -> None:
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)


async def _wait(process: asyncio.subprocess.Process, protocol: _Protocol) -> None:
    """Its end, which is the end of what it left running, too: that would hold the pipes open."""
    await protocol.exited.wait()
    _kill(process)


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
