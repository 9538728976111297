"""The Bash of a host whose gate asks a person: commands that surely only read run in the kernel's sandbox, others as
the person would run them. Bounded in time and output, and no process stays behind. Without the extra all are such."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from memdir.agent.bash import surely_reads
from memdir.agent.tools.tool import Outcome, ToolContext, tool_spec
from memdir.disk.child import ChildTimeout, run_child
from memdir.transcript.message import Json

TIMEOUT_SECONDS = 120.0
LONGEST_SECONDS = 600.0
MAX_OUTPUT_BYTES = 400_000  # more than a result may hold; the box shortens it
# The command arrives as $0, never inside this text; what it complains of stands where it was said.
_SHELL = ("/bin/sh", "-c", 'exec /bin/sh -c "$0" 2>&1 </dev/null')


class CommandTool:
    """Runs a command line with the shell, as a tool named Bash. What may run is the gate's business."""

    spec = replace(tool_spec("Command"), name="Bash")

    async def run(self, arguments: Mapping[str, Json], context: ToolContext) -> Outcome:
        command = str(arguments["command"])
        if surely_reads(command, cwd=context.cwd):
            from memdir.agent.bash.bash_tool import BashTool

            return await BashTool().run(arguments, context)
        limit = min(LONGEST_SECONDS, float(str(arguments.get("timeout_seconds", TIMEOUT_SECONDS))))
        try:
            done = await run_child(
                (*_SHELL, command), cwd=context.cwd, timeout_seconds=limit, max_output_bytes=MAX_OUTPUT_BYTES
            )
        except ChildTimeout as late:
            return _told(late.output, f"[stopped after {limit:g} s]")
        code = done.exit_code or 0
        ended = f"[exit status {code}]" if code > 0 else f"[ended by signal {-code}]" if code < 0 else ""
        return _told(done.output, "[output cut, and the command stopped]" if done.is_cut else ended)


def _told(output: bytes, ended: str) -> Outcome:
    text = output.decode("utf-8", "replace").rstrip("\n")
    return Outcome("\n".join(filter(None, (text, ended))) or "(no output)", is_error=bool(ended))
