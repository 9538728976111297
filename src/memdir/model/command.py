"""The user's own `claude` or `codex` program as the model: no key of ours, their subscription, hooks off.

Such a program takes one text and gives one text, so the conversation and the tools are written into it and the
answer is read as JSON, or as plain words where it has another form. It shares no prompt cache with the conversation it
is asked about.
"""

from __future__ import annotations

import json
import os
import re
import tempfile
import uuid
from collections.abc import Callable
from typing import Any, Literal

from memdir.disk.atomic import make_folder, write_bytes_atomic
from memdir.disk.child import ChildResult, run_child
from memdir.disk.plain_json import decode
from memdir.disk.programs import find_program, output_of
from memdir.disk.shipped import shipped_lines, shipped_path, shipped_text
from memdir.errors import ModelError
from memdir.model.failures import failed, from_status
from memdir.model.model import Reply, Request, Usage, tool_use_of
from memdir.model.raw import plain_request, usage_of
from memdir.prompts.compose import AsSaid, load_prompt
from memdir.transcript.message import Block, Json, Message, Text, ToolResult, ToolUse

Program = Literal["claude", "codex"]
LISTS_SECONDS = 30.0  # until codex has listed its servers, or its models, for which it may ask its provider
MAX_OUTPUT_BYTES = 32 << 20  # an answer is kilobytes; what is larger is a program gone wrong
_LINE_ENDS = {0x85: "\\u0085", 0x2028: "\\u2028", 0x2029: "\\u2029"}  # which JSON leaves as they are
_CLAUDE = (
    *("-p", "--output-format", "json", "--no-session-persistence", "--strict-mcp-config", "--disable-slash-commands"),
    *("--settings", '{"disableAllHooks":true}', "--tools", ""),
)
_STATUS = re.compile(r"(?:status:?|API Error:?) (\d{3})\b")  # as claude and codex write it into their messages
_TOOLS_OF_MODEL = ("tool_mode", "multi_agent_version", "apply_patch_tool_type")  # in codex' description of it
_NO_TOOLS = dict.fromkeys(_TOOLS_OF_MODEL) | {"experimental_supported_tools": []}
_CODEX = ("exec", "--json", "--skip-git-repo-check", "--ephemeral", "--sandbox", "read-only", "--color", "never")


class CommandModel:
    """A `Model` that runs a program for each request, in a folder of its own: no project's files are loaded by it."""

    def __init__(self, program: Program, *, path: str = "", folder: str = "") -> None:
        self._program: Program = program
        self._path = path or find_program(program)
        self._folder = folder
        if not self._path:
            remedy = f"Install {program}, or choose another model with the setting model.provider"
            raise ModelError(f"the program {program} is not installed", kind="no_sdk", remedy=remedy)
        self._models = self._models_without_tools() if program == "codex" else []

    async def complete(self, request: Request, *, on_text: Callable[[str], None] | None = None) -> Reply:
        request = plain_request(request)
        done = await self._run(request)
        if done.exit_code:
            raise _ended_badly(self._program, done)
        reply = _READERS[self._program](done.output, request.model or self._program)
        if on_text and reply.message.text:
            on_text(reply.message.text)
        return reply

    async def close(self) -> None:
        """Nothing is held between requests."""

    async def _run(self, request: Request) -> ChildResult:
        model = ["--model", request.model] if request.model else []
        prompt = render_prompt(request).encode("utf-8", "replace")
        with tempfile.TemporaryDirectory(prefix="memdir-") as aside:
            arguments = await self._codex_arguments(aside) if self._program == "codex" else _claude_arguments(request)
            done = await self._child([*arguments, *model], prompt, request.settings.longest_seconds)
        if done.is_cut:
            raise failed("bad_reply", f"{self._program} printed more than {MAX_OUTPUT_BYTES:,} bytes")
        return done

    async def _codex_arguments(self, aside: str) -> list[str]:
        """Its own hooks, memories, tools and words have no part in answering for us, nor have the user's MCP servers:
        each is switched off by its name. What a version does not know it ignores."""
        listed = await self._child(["mcp", "list", "--json"], b"", LISTS_SECONDS)
        servers = [f"mcp_servers.{one.get('name')}.enabled=false" for one in _objects(listed.output)]
        catalog = os.path.join(aside, "models.json")
        write_bytes_atomic(catalog, json.dumps({"models": self._models}).encode(), durably=False)
        files = {"model_instructions_file": shipped_path("prompts/command/system.md"), "model_catalog_json": catalog}
        paths = [f"{name}={json.dumps(path)}" for name, path in files.items()]
        options = [*shipped_lines("model/codex_options.txt"), *servers, *paths]
        return [*_CODEX, *(word for option in options for word in ("-c", option))]

    def _models_without_tools(self) -> list[dict[str, Any]]:
        """Codex' descriptions of its models, less their tools: of some these are switched off by nothing else."""
        found = _objects(output_of([self._path, "debug", "models"], seconds=LISTS_SECONDS))
        if not found:
            told = "`codex debug models` lists none, so codex cannot be asked without its tools"
            raise ModelError(told, kind="no_sdk", remedy="Update codex, or choose another model with model.provider")
        return [{**one, **_NO_TOOLS} for one in found]

    async def _child(self, arguments: list[str], stdin: bytes, seconds: float) -> ChildResult:
        if self._folder:
            make_folder(self._folder)
        try:
            return await run_child(
                [self._path, *arguments],
                stdin=stdin,
                # Whatever hooks the program runs in spite of us must not call memdir again.
                environment={**os.environ, "MEMDIR_DISABLE": "1"},
                cwd=self._folder or None,
                timeout_seconds=seconds,
                max_output_bytes=MAX_OUTPUT_BYTES,
            )
        except TimeoutError:
            raise failed("timeout", f"{self._program} did not answer in time") from None
        except OSError as error:
            remedy = f"Install {self._program} again"
            raise ModelError(f"{self._path} cannot be run: {error}", kind="no_sdk", remedy=remedy) from error


def _objects(output: bytes) -> list[dict[str, Any]]:
    """The objects that a program lists, by themselves or under `models`."""
    found = decode(output)
    listed = found.get("models") if isinstance(found, dict) else found
    return [one for one in (listed if isinstance(listed, list) else ()) if isinstance(one, dict)]


def _claude_arguments(request: Request) -> list[str]:
    system = load_prompt("command/system.md").render().strip()
    schema = json.dumps(request.settings.json_schema or json.loads(shipped_text("model/command_answer.json")))
    return [*_CLAUDE, "--json-schema", schema, "--system-prompt", system]


def render_prompt(request: Request) -> str:
    """Instructions, tools and conversation as one text: a command line has no room for them. Whatever somebody said is
    a string of JSON: nothing in it can pass for another message, a result or a heading of ours."""
    system = AsSaid("\n\n".join(block.text for block in request.system) or "None.")
    conversation = AsSaid("\n".join(_told(message) for message in request.messages))
    schema = request.settings.json_schema
    if schema is not None:
        prompt = load_prompt("command/answer.md")
        return prompt.render(system=system, conversation=conversation, schema=AsSaid(json.dumps(schema)))
    told = (f"### {one.name}\n{one.description}\nArguments: {json.dumps(one.input_schema)}" for one in request.tools)
    tools = AsSaid("\n\n".join(told) or "None.")
    return load_prompt("command/turn.md").render(system=system, tools=tools, conversation=conversation)


def _told(message: Message) -> str:
    """A message as one line of JSON."""
    parts = [told for block in message.content if (told := _told_block(block)) is not None]
    return json.dumps({"role": message.role, "content": parts}, ensure_ascii=False).translate(_LINE_ENDS)


def _told_block(block: Block) -> dict[str, Json] | None:
    match block:
        case Text(text):
            return {"text": text}
        case ToolUse(tool_id, name, arguments):
            return {"call": tool_id, "tool": name, "arguments": dict(arguments)}
        case ToolResult(tool_use_id, content, is_error):
            return {"failure" if is_error else "result": content, "of": tool_use_id}
    return None


def claude_reply(output: bytes, model: str) -> Reply:
    """The reply in claude's one JSON object."""
    found = decode(output)
    if not isinstance(found, dict):
        raise failed("bad_reply", "claude printed something that is no JSON")
    if found.get("is_error"):
        raise _refused("claude", str(found.get("result") or found.get("errors") or found.get("subtype")))
    answer = found.get("structured_output") or found.get("result") or ""
    return _reply(answer, usage_of(found.get("usage") or {}), model)


def codex_reply(output: bytes, model: str) -> Reply:
    """The reply in codex's events: the last message of the agent."""
    text, usage = "", Usage()
    for event in (found for line in output.splitlines() if isinstance(found := decode(line), dict)):
        item = event.get("item") or {}
        if event.get("type") == "item.completed" and item.get("type") == "agent_message":
            text = str(item.get("text", ""))
        elif event.get("type") == "turn.completed":
            usage = usage_of(event.get("usage") or {})
        elif event.get("type") == "turn.failed":
            raise _refused("codex", str((event.get("error") or {}).get("message") or "no reason given"))
    return _reply(text, usage, model)


_READERS = {"claude": claude_reply, "codex": codex_reply}


def _ended_badly(program: Program, done: ChildResult) -> ModelError:
    """Why a program ended with an error: what it says in its output, else its last words."""
    if program == "codex" or done.output.lstrip().startswith(b"{"):
        try:
            _READERS[program](done.output, program)
        except ModelError as error:
            return error
    words = (done.errors.strip() or done.output.strip()).decode("utf-8", "replace").splitlines()
    return _refused(program, words[-1] if words else f"exit status {done.exit_code}")


def _refused(program: str, told: str) -> ModelError:
    """The kind of failure, from the status where the program tells it, else from its words. Without either nothing says
    that what was asked is to blame: nobody is logged in, say. What is told so is not paid for."""
    status = _STATUS.search(told)
    error = from_status(int(status[1]) if status else 200, told, codes=(), model=program, provider=program, headers={})
    if error.kind in ("bad_request", "wrong_key", "interrupted"):
        error.kind, error.remedy = error.kind if status else "wrong_key", f"Run `{program}` once by hand and log in"
    return error


def _reply(answer: Json, usage: Usage, model: str) -> Reply:
    parsed = _as_object(answer)
    if parsed is None or "tool_calls" not in parsed:
        text = answer if isinstance(answer, str) else json.dumps(answer)
        return Reply(Message("assistant", (Text(text),)), "end_turn", usage, model)
    words = (Text(str(parsed["text"])),) if parsed.get("text") else ()
    calls = parsed["tool_calls"] if isinstance(parsed["tool_calls"], list) else []
    uses = tuple(_call_of(call) for call in calls if isinstance(call, dict))
    return Reply(Message("assistant", (*words, *uses)), "tool_use" if uses else "end_turn", usage, model)


def _call_of(call: dict[str, Json]) -> ToolUse:
    arguments = call.get("arguments") or "{}"
    text = arguments if isinstance(arguments, str) else json.dumps(arguments)
    return tool_use_of(f"call_{uuid.uuid4().hex[:12]}", str(call.get("name", "")), text)


def _as_object(answer: Json) -> dict[str, Json] | None:
    if not isinstance(answer, str):
        return answer if isinstance(answer, dict) else None
    text = answer.strip()
    if text.startswith("```"):
        text = text.split("\n", 1)[-1].rsplit("```", 1)[0]
    parsed = decode(text.encode("utf-8", "replace"))
    return parsed if isinstance(parsed, dict) else None
