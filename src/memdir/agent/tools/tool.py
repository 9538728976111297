"""The contract of a tool, and the box that runs them: checked arguments in, a result that a model can use out."""

from __future__ import annotations

import asyncio
import inspect
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Protocol

from memdir.agent.bash import why_no_bash
from memdir.agent.file_access import Files, FileState
from memdir.agent.gate import READING, WRITING
from memdir.disk.shipped import shipped_text
from memdir.errors import MemdirError
from memdir.model.model import ToolSpec
from memdir.prompts.compose import load_prompt
from memdir.prompts.door import shown
from memdir.transcript.message import Json, ToolResult, ToolUse

MAX_RESULT_CHARACTERS = 60_000  # about 15,000 tokens: what a result may cost the conversation
MAX_TURN_CHARACTERS = 400_000  # about 100,000 tokens: what all results of one turn may cost together
MIN_RESULT_CHARACTERS = 2_000  # a result shorter than this tells nothing
MAX_AT_ONCE = 16  # tools running at the same time; more calls wait their turn
_TYPES: dict[str, type | tuple[type, ...]] = {
    "string": str,
    "integer": int,
    "number": (int, float),
    "boolean": bool,
    "array": list,
    "object": dict,
}
# What models call arguments that have another name here.
_OTHER_NAMES = {
    **dict.fromkeys(("path", "filename", "file", "filepath", "targetfile", "absolutepath"), "file_path"),
    **dict.fromkeys(("text", "contents", "filetext", "filecontent", "filecontents", "body", "data"), "content"),
    **dict.fromkeys(("oldstr", "oldtext", "old", "search"), "old_string"),
    **dict.fromkeys(("newstr", "newtext", "new", "replace", "replacement"), "new_string"),
}


@dataclass(frozen=True)
class Outcome:
    """What a tool did: text for the model, and whether it failed."""

    content: str  # what the model is told
    is_error: bool = False  # whether it failed


@dataclass(frozen=True)
class ToolContext:
    """What tools work on: the folder they start in, the files they may see and change, what was read before."""

    cwd: str  # the folder they start in
    files: Files  # what they may see and change
    state: FileState = field(default_factory=FileState)  # what was read before
    is_reading: bool = False  # whether the gate let the call through as one that only reads


class Tool(Protocol):
    """One thing an agent can do."""

    @property
    def spec(self) -> ToolSpec: ...

    async def run(self, arguments: Mapping[str, Json], context: ToolContext) -> Outcome:
        """Do it. What it raises becomes a failed result; MemdirError is how it tells what to do about it."""
        ...


class Toolbox:
    """The tools of one agent and what they work on."""

    def __init__(self, tools: Sequence[Tool], context: ToolContext) -> None:
        self._tools = {tool.spec.name: tool for tool in tools}
        self._spellings = {"create": "Write", **{_plain_name(name): name for name in self._tools}}
        self._slots = asyncio.Semaphore(MAX_AT_ONCE)
        self.context = context

    @property
    def specs(self) -> tuple[ToolSpec, ...]:
        return tuple(tool.spec for tool in self._tools.values())

    def knows(self, name: str) -> bool:
        return name in self._tools

    def understood(self, use: ToolUse) -> ToolUse:
        """The call that a model meant: names in another spelling, arguments under another name, a path that comes near
        one. Whoever judges it judges this, and this is what runs."""
        name = use.name if use.name in self._tools else self._spellings.get(_plain_name(use.name), use.name)
        if use.fault or name not in READING | WRITING or name not in self._tools:
            return use  # what an argument of a host's own tool would have meant, nobody knows
        arguments = understood_arguments(use.input, self._tools[name].spec.input_schema)
        path = arguments.get("file_path")
        if isinstance(path, str):
            arguments["file_path"] = self.context.files.meant(path, self.context.cwd)
        return ToolUse(use.id, name, arguments)

    def forked(self, files: Files) -> Toolbox:
        """The same tools for a fork: other files, and a copy of what was read so far, so that nothing leaks (G2)."""
        return Toolbox(tuple(self._tools.values()), ToolContext(self.context.cwd, files, self.context.state.clone()))

    async def run(self, use: ToolUse, *, room: int = MAX_RESULT_CHARACTERS, is_reading: bool = False) -> ToolResult:
        """Run one call. Whatever goes wrong comes back to the model as a result; what a tool tells is never ours."""
        use = self.understood(use)
        async with self._slots:
            outcome = await self._outcome(use, replace(self.context, is_reading=is_reading))
        return ToolResult(use.id, shown(shortened(outcome.content, room)), outcome.is_error)

    async def _outcome(self, use: ToolUse, context: ToolContext) -> Outcome:
        try:
            fault = self._fault(use)
            if fault:
                return fault
            answer: object = self._tools[use.name].run(use.input, context)
            outcome: object = await answer if inspect.isawaitable(answer) else answer
        except MemdirError as error:
            return Outcome(str(error), is_error=True)
        except Exception as error:  # noqa: BLE001 - tools are a host's own code: one that breaks must not end the run
            return Outcome(f"{use.name} failed: {type(error).__name__}: {_words_of(error)}", is_error=True)
        if isinstance(outcome, Outcome) and isinstance(outcome.content, str):
            return outcome
        return Outcome(f"{use.name} failed: it gave no text but {type(outcome).__name__}", is_error=True)

    def _fault(self, use: ToolUse) -> Outcome | None:
        if use.name not in self._tools:
            names = ", ".join(self._tools) or "none"
            return Outcome(f"There is no tool {use.name!r}. The tools are: {names}.", is_error=True)
        fault = use.fault or fault_of_arguments(use.input, self._tools[use.name].spec.input_schema)
        return Outcome(f"The call of {use.name} cannot be run: {fault}.", is_error=True) if fault else None


def fault_of_arguments(arguments: Mapping[str, Json], schema: Mapping[str, Json]) -> str:
    """What is wrong with the arguments, in words; empty when nothing is."""
    properties = schema.get("properties")
    known = properties if isinstance(properties, dict) else {}
    required = schema.get("required")
    for name in required if isinstance(required, list) else []:
        if name not in arguments:
            return f"{name} is missing"
    for name, value in arguments.items():
        if name not in known:
            return f"it has no argument {name!r}; it takes {', '.join(known) or 'none'}"
        fault = _fault_of_value(value, known[name])
        if fault:
            return f"{name} {fault}"
    return ""


def understood_arguments(arguments: Mapping[str, Json], schema: Mapping[str, Json]) -> dict[str, Json]:
    """The arguments under the names that the tool has for them; what it has no name for is left out."""
    properties = schema.get("properties")
    known = properties if isinstance(properties, dict) else {}
    spellings = {_plain_name(name): name for name in known}
    found: dict[str, Json] = {}
    for name, value in arguments.items():
        plain = _plain_name(name)
        meant = name if name in known else spellings.get(plain) or _OTHER_NAMES.get(plain, "")
        if meant in known and (name == meant or meant not in arguments):
            found[meant] = _as_kind(value, known[meant])
    return found


def _as_kind(value: Json, schema: Json) -> Json:
    """A number or a yes that came as text, as what it is."""
    kind = schema.get("type") if isinstance(schema, dict) else ""
    if not isinstance(value, str):
        return value
    if kind == "integer" and value.strip().isdecimal():
        return int(value)
    return value.lower() == "true" if kind == "boolean" and value.lower() in ("true", "false") else value


def _plain_name(name: str) -> str:
    """A name of a tool or an argument without what spellings differ in: write_file, WriteFile, FilePath."""
    plain = "".join(letter for letter in name.lower() if letter.isalnum())
    return plain.removesuffix("tool").removesuffix("file") or plain


def _fault_of_value(value: Json, schema: Json) -> str:
    if not isinstance(schema, dict):
        return ""
    kind = str(schema.get("type", ""))
    if kind in _TYPES and (not isinstance(value, _TYPES[kind]) or (isinstance(value, bool) and kind != "boolean")):
        return f"must be of type {kind}"
    choices = schema.get("enum")
    if isinstance(choices, list) and value not in choices:
        return f"must be one of {', '.join(map(str, choices))}"
    minimum = schema.get("minimum")
    if isinstance(minimum, int | float) and isinstance(value, int | float) and value < minimum:
        return f"must be at least {minimum}"
    return ""


def _words_of(error: Exception) -> str:
    try:
        return str(error)
    except Exception:  # noqa: BLE001 - an error of a host's own code that cannot even be told
        return ""


def room_for_each(calls: int) -> int:
    """How long each result of one turn may be, so that many of them still fit together."""
    return max(MIN_RESULT_CHARACTERS, min(MAX_RESULT_CHARACTERS, MAX_TURN_CHARACTERS // max(1, calls)))


def shortened(text: str, room: int) -> str:
    """A result that fits: its beginning and its end, and a line that says what was left out."""
    if len(text) <= room:
        return text
    head, tail = room * 3 // 4, room // 4
    left_out = len(text) - head - tail
    return f"{text[:head]}\n… [{left_out:,} characters left out; ask for a smaller part] …\n{text[-tail:]}"


@cache
def tool_spec(name: str) -> ToolSpec:
    """How a tool of ours tells a model of itself."""
    return ToolSpec(name, **json.loads(shipped_text("prompts/tools.json"))[name])


def memory_tools() -> tuple[Tool, ...]:
    """All that work here, in the order a host lists them: Bash needs the extra `bash` and a kernel sandbox."""
    from memdir.agent.tools.file_tools import EditTool, ReadTool, WriteTool
    from memdir.agent.tools.search_tools import GlobTool, GrepTool

    tools: tuple[Tool, ...] = (ReadTool(), WriteTool(), EditTool(), GrepTool(), GlobTool())
    if why_no_bash():
        return tools
    from memdir.agent.bash.bash_tool import BashTool

    return (*tools, BashTool())


def told_of_bash(tools: Toolbox) -> str:
    """What a fork's job says about Bash: nothing when the fork has none, or a turn would be lost on a refusal."""
    return load_prompt("extract/bash.md").text.rstrip("\n") if tools.knows("Bash") else ""
