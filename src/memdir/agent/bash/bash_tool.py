"""Run a shell command. What may run is the gate's business; this bounds its time and its output."""

from __future__ import annotations

from collections.abc import Mapping

from memdir.agent.bash.sandbox_run import run_sandboxed
from memdir.agent.tools.tool import Outcome, ToolContext, tool_spec
from memdir.transcript.message import Json

TIMEOUT_SECONDS = 30.0
LONGEST_SECONDS = 300.0
MAX_OUTPUT_BYTES = 200_000  # more than a result may hold; the box shortens it


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
        text = "\n".join(part for part in (result.output.rstrip("\n"), *notes) if part)
        return Outcome(text or "(no output)", is_error=bool(result.exit_code) or result.timed_out)
