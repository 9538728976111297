"""A `claude` or `codex` that does what a test says: the real ones need a login."""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from memdir.model.command import CommandModel, Program

# What it prints and does stands in files beside it; what it was given is kept there, too.
_SOURCE = """#!{python}
import json, os, pathlib, subprocess, sys, time
place = pathlib.Path({place!r})
if sys.argv[1:2] == ["mcp"]:  # codex lists its servers
    print((place / "servers.json").read_text() if (place / "servers.json").exists() else "[]")
    sys.exit()
if sys.argv[1:2] == ["debug"]:  # and its models
    print((place / "models.json").read_text() if (place / "models.json").exists() else '{{"models": [{{}}]}}')
    sys.exit()
given = sys.stdin.buffer.read() if {reads!r} else b""
calls = place / "calls"
number = len(list(calls.iterdir()))
seen = {{"argv": sys.argv[1:], "stdin": given.decode(), "cwd": os.getcwd()}}
seen["disabled"] = os.environ.get("MEMDIR_DISABLE")
(calls / str(number)).write_text(json.dumps(seen))
step = json.loads((place / "steps.json").read_text())[number]
sys.stderr.write(step.get("errors", ""))
sys.stdout.write(step.get("output", "") * step.get("times", 1))
sys.stdout.flush()
if step.get("hangs"):
    child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
    (place / "hanging").write_text(str(child.pid))
    time.sleep(600)
sys.exit(step.get("code", 0))
"""


@dataclass(frozen=True)
class FakeProgram:
    """The program and what it was given."""

    program: Program
    place: Path

    @property
    def model(self) -> CommandModel:
        return CommandModel(self.program, path=str(self.place / self.program), folder=str(self.place / "work"))

    @property
    def calls(self) -> list[dict[str, Any]]:
        paths = sorted((self.place / "calls").iterdir(), key=lambda path: int(path.name))
        return [json.loads(path.read_text(encoding="utf-8")) for path in paths]

    @property
    def hanging(self) -> Path:
        """Appears when the program hangs; holds the number of a child process that hangs with it."""
        return self.place / "hanging"


def fake_program(place: Path, program: Program, *steps: dict[str, Any], reads: bool = True) -> FakeProgram:
    """Install it below `place`."""
    (place / "calls").mkdir(parents=True)
    (place / "steps.json").write_text(json.dumps(steps), encoding="utf-8")
    path = place / program
    path.write_text(_SOURCE.format(python=sys.executable, place=str(place), reads=reads), encoding="utf-8")
    path.chmod(0o755)
    return FakeProgram(program, place)


def answer(program: Program, text: str, *tools: tuple[str, dict[str, Any]]) -> dict[str, Any]:
    """A step that answers in the form asked for, as the real program prints it."""
    told = {"text": text, "tool_calls": [{"name": name, "arguments": json.dumps(given)} for name, given in tools]}
    return {"output": claude_output(told) if program == "claude" else codex_output(json.dumps(told))}


def claude_output(structured: object, *, result: str = "") -> str:
    usage = {"input_tokens": 11, "output_tokens": 7, "cache_read_input_tokens": 5, "cache_creation_input_tokens": 3}
    head = {"type": "result", "subtype": "success", "is_error": False, "result": result, "usage": usage}
    return json.dumps({**head, "structured_output": structured} if structured is not None else head)


def codex_output(text: str) -> str:
    events = [
        {"type": "thread.started", "thread_id": "t"},
        {"type": "item.completed", "item": {"id": "0", "type": "error", "message": "a setting is ignored"}},
        {"type": "turn.started"},
        {"type": "item.completed", "item": {"id": "1", "type": "reasoning", "text": "hm"}},
        {"type": "item.completed", "item": {"id": "2", "type": "agent_message", "text": text}},
        {"type": "turn.completed", "usage": {"input_tokens": 20, "cached_input_tokens": 5, "output_tokens": 7}},
    ]
    return "not JSON at all\n" + "\n".join(json.dumps(event) for event in events) + "\n"
