"""Run a shell command, bounded in time and output; whatever happens, no process stays behind. A fork's runs in the
sandbox; that of a host whose gate asks a person, where it does more than read, as the person would run it.

What may run is the gate's business.
"""

from __future__ import annotations

import asyncio
import codecs
import os
import signal
import subprocess
from collections.abc import Mapping
from contextlib import ExitStack, suppress
from dataclasses import dataclass, replace

from memdir.agent.bash import surely_reads
from memdir.agent.bash.sandbox import ENVIRONMENT, Kind, NoSandbox, sandbox_kind, started
from memdir.agent.file_access import is_credential
from memdir.agent.tools.tool import Outcome, ToolContext, tool_spec
from memdir.disk.child import ChildTimeout, run_child
from memdir.disk.git_root import work_tree_root
from memdir.disk.project_git import NO_GIT, ProjectGit
from memdir.disk.repository import LeftOut
from memdir.transcript.message import Json

READ_BYTES = 65_536  # what a pipe holds
REAP_SECONDS = 5.0  # a killed process is gone in milliseconds, unless a disk hangs
TIMEOUT_SECONDS, LONGEST_SECONDS = 30.0, 300.0  # in the sandbox
PATIENT_SECONDS, MOST_PATIENT_SECONDS = 120.0, 600.0  # with what a person agreed to
MAX_OUTPUT_BYTES = 400_000  # more than a result may hold; the box shortens it
# The command arrives as $0, never inside this text; what it complains of stands where it was said. Beside it, and no
# child of it that it could wait for, a shell waits until nobody holds our end of the pipe: killed, we stop nothing.
_WATCH = "( (read -r line <&3; kill -KILL 0) >/dev/null 2>&1 & ) 3<&0"
_SHELL = ("/bin/sh", "-c", f'{_WATCH}; exec /bin/sh -c "$0" 2>&1 </dev/null')


@dataclass(frozen=True, slots=True)
class ShellResult:
    """What came back. `exit_code` is None when the command was stopped by a limit."""

    exit_code: int | None
    output: str  # standard output and error, in the order written
    truncated: bool
    timed_out: bool
    no_git: str = ""  # why git, should the command call it, found no repository


async def run_sandboxed(
    command: str, *, cwd: str, timeout_seconds: float, max_output_bytes: int, kind: Kind | None = None
) -> ShellResult:
    """Run a command the judge allowed; NoSandbox when this machine has none. Cancelling kills the command."""
    chosen = kind or sandbox_kind()
    if chosen is None:
        raise NoSandbox(
            "neither bubblewrap nor Landlock works on this machine, so no shell command may run",
            remedy="Install the package bubblewrap, or go without the Bash tool",
        )
    with ExitStack() as stack:
        git, no_git = _git_variables(command, cwd, stack, timeout_seconds)
        argv, descriptors = stack.enter_context(started(chosen, command, cwd=cwd, cpu_seconds=timeout_seconds))
        reading, writing = os.pipe()
        stack.callback(os.close, reading)
        try:
            process = subprocess.Popen(
                argv,
                pass_fds=descriptors,
                cwd=cwd,
                env={**ENVIRONMENT, **git},
                stdin=subprocess.DEVNULL,
                stdout=writing,
                stderr=writing,
                start_new_session=True,
            )
        finally:
            os.close(writing)
        result = await _Running(process, reading, max_output_bytes).finish(timeout_seconds)
        return replace(result, no_git=no_git)


def _git_variables(command: str, cwd: str, stack: ExitStack, seconds: float) -> tuple[Mapping[str, str], str]:
    """Where git finds the project, and never under the project's configuration; without that, nowhere, and why."""
    if "git" not in command:
        return NO_GIT, ""
    try:
        tree = work_tree_root(cwd) or cwd
        git = stack.enter_context(ProjectGit(tree, refs="all", timeout_seconds=seconds, is_private=is_credential))
    except LeftOut as left_out:
        return NO_GIT, left_out.reason
    return git.variables, ""


class _Running:
    """A started process, its output so far, and what is waited for: a limit, its end, the end of all its children."""

    def __init__(self, process: subprocess.Popen[bytes], reading: int, max_output_bytes: int) -> None:
        self._process = process
        self._reading = reading
        self._max_bytes = max_output_bytes
        self._output = bytearray()
        self._ended = asyncio.Event()
        self._exited = asyncio.Event()
        self._closed = asyncio.Event()  # nobody holds the other end of the pipe any more

    async def finish(self, timeout_seconds: float) -> ShellResult:
        """Wait for the end or a limit, then leave nothing behind."""
        loop = asyncio.get_running_loop()
        watching = self._watch()
        loop.add_reader(watching, self._on_exit, watching)
        loop.add_reader(self._reading, self._on_output)
        timed_out = False
        try:
            async with asyncio.timeout(timeout_seconds):
                await self._ended.wait()
        except TimeoutError:
            timed_out = True
        finally:
            was_stopped = not self._exited.is_set()
            try:
                await self._kill()
            finally:
                loop.remove_reader(self._reading)
                loop.remove_reader(watching)
                os.close(watching)
        return self._result(timed_out=timed_out, was_stopped=was_stopped)

    def _watch(self) -> int:
        """A descriptor that becomes readable when the process ends; without one it may not run on."""
        try:
            return os.pidfd_open(self._process.pid)
        except OSError:
            self._process.kill()
            self._process.wait()
            raise

    def _on_exit(self, watching: int) -> None:
        asyncio.get_running_loop().remove_reader(watching)
        self._exited.set()
        self._ended.set()

    def _on_output(self) -> None:
        chunk = os.read(self._reading, READ_BYTES)
        if not chunk:
            asyncio.get_running_loop().remove_reader(self._reading)
            self._closed.set()
        self._output += chunk[: self._max_bytes + 1 - len(self._output)]
        if len(self._output) > self._max_bytes:
            self._ended.set()

    async def _kill(self) -> None:
        """Kill the whole group and wait until it is gone. Its leader is reaped last, so its number is still its own."""
        with suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        try:
            with suppress(TimeoutError):
                async with asyncio.timeout(REAP_SECONDS):
                    await self._exited.wait()
                    await self._closed.wait()
        finally:
            if self._process.poll() is None:  # cancelled a second time, or the disk hangs
                with suppress(subprocess.TimeoutExpired):
                    self._process.wait(REAP_SECONDS)

    def _result(self, *, timed_out: bool, was_stopped: bool) -> ShellResult:
        truncated = len(self._output) > self._max_bytes
        decoder = codecs.getincrementaldecoder("utf-8")("replace")
        text = decoder.decode(bytes(self._output[: self._max_bytes]), final=not truncated)
        code = None if was_stopped else self._process.returncode
        return ShellResult(128 - code if code is not None and code < 0 else code, text, truncated, timed_out)


class BashTool:
    """Runs read-only commands in the kernel's sandbox."""

    spec = tool_spec("Bash")

    async def run(self, arguments: Mapping[str, Json], context: ToolContext) -> Outcome:
        limit = min(LONGEST_SECONDS, float(str(arguments.get("timeout_seconds", TIMEOUT_SECONDS))))
        result = await run_sandboxed(
            str(arguments["command"]), cwd=context.cwd, timeout_seconds=limit, max_output_bytes=MAX_OUTPUT_BYTES
        )
        notes = []
        if result.timed_out:
            notes.append(f"[stopped after {limit:g} s]")
        elif result.exit_code:
            notes.append(f"[exit status {result.exit_code}]")
        if result.truncated:
            notes.append("[output cut]")
        if result.no_git:
            notes.append(f"[git has no repository here: {result.no_git}]")
        return _told(result.output, *notes, is_error=bool(result.exit_code) or result.timed_out)


class CommandTool:
    """Runs a command line with the shell, as a tool named Bash. What may run is the gate's business."""

    spec = replace(tool_spec("Command"), name="Bash")

    async def run(self, arguments: Mapping[str, Json], context: ToolContext) -> Outcome:
        command = str(arguments["command"])
        if context.is_reading or surely_reads(command, cwd=context.cwd):  # what it was judged by may be gone by now
            return await BashTool().run(arguments, context)
        limit = min(MOST_PATIENT_SECONDS, float(str(arguments.get("timeout_seconds", PATIENT_SECONDS))))
        try:
            done = await run_child(
                (*_SHELL, command),
                stdin=None,
                cwd=context.cwd,
                timeout_seconds=limit,
                max_output_bytes=MAX_OUTPUT_BYTES,
            )
        except ChildTimeout as late:
            return _told(late.output.decode("utf-8", "replace"), f"[stopped after {limit:g} s]", is_error=True)
        code = done.exit_code or 0
        ended = f"[exit status {code}]" if code > 0 else f"[ended by signal {-code}]" if code < 0 else ""
        ended = "[output cut, and the command stopped]" if done.is_cut else ended
        return _told(done.output.decode("utf-8", "replace"), ended, is_error=bool(ended))


def _told(output: str, *notes: str, is_error: bool) -> Outcome:
    return Outcome("\n".join(filter(None, (output.rstrip("\n"), *notes))) or "(no output)", is_error=is_error)
