"""The Bash of a host whose gate asks a person: commands that surely only read run in the kernel's sandbox, others as
the person would run them. Bounded in time and output, and no process stays behind. Without the extra all are such."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace

from memdir.agent.bash import surely_reads
from memdir.agent.tools.tool import Outcome, Tool, ToolContext, memory_tools, tool_spec
from memdir.transcript.message import Json

TIMEOUT_SECONDS = 120.0
LONGEST_SECONDS = 600.0
REAP_SECONDS = 5.0  # a killed process is gone in milliseconds, unless it left its group or a disk hangs
MAX_OUTPUT_BYTES = 400_000  # more than a result may hold; the box shortens it


class CommandTool:
    """Runs a command line with the shell, as a tool named Bash. What may run is the gate's business."""

    spec = replace(tool_spec("Command"), name="Bash")

    async def run(self, arguments: Mapping[str, Json], context: ToolContext) -> Outcome:
        command = str(arguments["command"])
        sandboxed = _sandboxed()
        if sandboxed is not None and surely_reads(command, cwd=context.cwd):
            return await sandboxed.run(arguments, context)
        limit = min(LONGEST_SECONDS, float(str(arguments.get("timeout_seconds", TIMEOUT_SECONDS))))
        process = await asyncio.create_subprocess_exec(
            *("/bin/sh", "-c", command),
            cwd=context.cwd,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
            start_new_session=True,
        )
        output = bytearray()
        reading, ending = asyncio.ensure_future(_read(process, output)), asyncio.ensure_future(process.wait())
        try:
            done, _ = await asyncio.wait({reading, ending}, timeout=limit, return_when=asyncio.FIRST_COMPLETED)
            if reading in done and not reading.result():  # it closed its output, and may still work
                await asyncio.wait({ending}, timeout=limit)
            is_late = not (ending.done() or (reading.done() and reading.result()))
        finally:  # also when the turn is cancelled: whatever the command started goes with it
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            await asyncio.wait({reading, ending}, timeout=REAP_SECONDS)
            reading.cancel()
        note = (
            f"[stopped after {limit:g} s]"
            if is_late
            else ""
            if reading.cancelled() or not reading.done()
            else reading.result()
        )
        return _told(output, note, process.returncode or 0)


async def _read(process: asyncio.subprocess.Process, output: bytearray) -> str:
    """Take in what the command says until it ends; a note where that is too much."""
    assert process.stdout is not None
    while chunk := await process.stdout.read(65_536):
        output += chunk
        if len(output) > MAX_OUTPUT_BYTES:
            del output[MAX_OUTPUT_BYTES:]
            return "[output cut, and the command stopped]"
    return ""


def _told(output: bytearray, note: str, code: int) -> Outcome:
    text = output.decode("utf-8", "replace").rstrip("\n")
    ended = note or (f"[exit status {code}]" if code > 0 else f"[ended by signal {-code}]" if code < 0 else "")
    return Outcome("\n".join(filter(None, (text, ended))) or "(no output)", is_error=bool(ended))


def _sandboxed() -> Tool | None:
    return next((tool for tool in memory_tools() if tool.spec.name == "Bash"), None)
