"""The user's own `claude` or `codex` program as the model: no key of ours, their subscription, hooks off.

Such a program takes one text and gives one text, so the conversation and the tools are written into it and the
answer is read as JSON. It shares no prompt cache with the conversation it is asked about.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
from collections.abc import Callable, Sequence
from typing import Any, Literal

from memdir.disk.programs import find_program
from memdir.errors import ModelError
from memdir.model.model import Reply, Request, StopReason, Usage
from memdir.model.stream import ToolInput
from memdir.prompts.compose import load_prompt
from memdir.transcript.message import Block, Json, Message, Text, ToolResult, ToolUse

Program = Literal["claude", "codex"]
MAX_OUTPUT_BYTES = 32 << 20
_ANSWER_SCHEMA: dict[str, Json] = {
    "type": "object",
    "properties": {
        "text": {"type": "string"},
        "tool_calls": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {"name": {"type": "string"}, "arguments": {"type": "string"}},
                "required": ["name", "arguments"],
                "additionalProperties": False,
            },
        },
    },
    "required": ["text", "tool_calls"],
    "additionalProperties": False,
}


class CommandModel:
    """A `Model` that runs a program for each request."""

    def __init__(self, program: Program, *, path: str = "") -> None:
        self._program: Program = program
        self._path = path or find_program(program)
        if not self._path:
            raise ModelError(
                f"the program {program} is not installed",
                kind="no_sdk",
                remedy=f"Install {program}, or choose another model with the setting model.provider",
            )

    async def complete(self, request: Request, *, on_text: Callable[[str], None] | None = None) -> Reply:
        output = await self._run(_arguments(self._program, request), render_prompt(request), request)
        answer = _claude_answer(output) if self._program == "claude" else _codex_answer(output)
        reply = _reply(*answer, model=request.model or self._program)
        if on_text and reply.message.text:
            on_text(reply.message.text)
        return reply

    async def close(self) -> None:
        """Nothing is held between requests."""

    async def _run(self, arguments: Sequence[str], prompt: str, request: Request) -> bytes:
        process = await asyncio.create_subprocess_exec(
            self._path,
            *arguments,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            # Whatever hooks the program runs in spite of us must not call memdir again.
            env={**os.environ, "MEMDIR_DISABLE": "1"},
            start_new_session=True,
            limit=MAX_OUTPUT_BYTES,
        )
        try:
            talk = process.communicate(prompt.encode("utf-8", "replace"))
            output, errors = await asyncio.wait_for(talk, request.settings.timeout_seconds)
        except TimeoutError:
            raise ModelError(
                f"{self._program} did not answer in time", kind="timeout", remedy="Try again later"
            ) from None
        finally:
            if process.returncode is None:
                os.killpg(process.pid, signal.SIGKILL)
                await process.wait()
        if process.returncode:
            raise _failed(self._program, output, errors)
        return output


def _arguments(program: Program, request: Request) -> list[str]:
    system = "\n\n".join(block.text for block in request.system)
    if program == "codex":
        chosen = ["--model", request.model] if request.model else []
        return ["exec", "--json", "--skip-git-repo-check", "--sandbox", "read-only", *chosen, "-"]
    arguments = ["-p", "--output-format", "json", "--settings", '{"disableAllHooks":true}', "--tools", ""]
    arguments += ["--no-session-persistence", "--strict-mcp-config", "--disable-slash-commands"]
    arguments += ["--json-schema", json.dumps(request.settings.json_schema or _ANSWER_SCHEMA)]
    arguments += ["--model", request.model] if request.model else []
    return [*arguments, "--system-prompt", system] if system else arguments


def render_prompt(request: Request) -> str:
    """The conversation and the tools as one text."""
    if request.settings.json_schema is not None and not request.tools:
        return "\n\n".join(_told(message) for message in request.messages)
    tools = "\n\n".join(
        f"### {tool.name}\n{tool.description}\nArguments: {json.dumps(tool.input_schema)}" for tool in request.tools
    )
    conversation = "\n\n".join(_told(message) for message in request.messages)
    return load_prompt("command/turn.md").render(tools=tools or "None.", conversation=conversation)


def _told(message: Message) -> str:
    parts = [f"[{message.role}]"]
    for block in message.content:
        match block:
            case Text(text):
                parts.append(text)
            case ToolUse(tool_id, name, arguments):
                parts.append(f"(calls {name} as {tool_id} with {json.dumps(dict(arguments), ensure_ascii=False)})")
            case ToolResult(tool_use_id, content, is_error):
                parts.append(f"({'failure' if is_error else 'result'} of {tool_use_id}:\n{content}\n)")
            case _:
                continue
    return "\n".join(parts)


def _claude_answer(output: bytes) -> tuple[Json, Usage]:
    try:
        found: dict[str, Any] = json.loads(output)
        usage = found.get("usage") or {}
    except (ValueError, AttributeError) as error:
        raise ModelError(
            "claude printed something that is no JSON", kind="bad_reply", remedy="Update claude"
        ) from error
    if found.get("is_error"):
        raise ModelError(f"claude failed: {found.get('result')}", kind="bad_request", remedy="Run `claude` to see why")
    counted = Usage(
        int(usage.get("input_tokens", 0)),
        int(usage.get("output_tokens", 0)),
        int(usage.get("cache_read_input_tokens", 0)),
        int(usage.get("cache_creation_input_tokens", 0)),
    )
    return found.get("structured_output") or found.get("result", ""), counted


def _codex_answer(output: bytes) -> tuple[Json, Usage]:
    text, usage = "", Usage()
    for line in output.splitlines():
        try:
            event: dict[str, Any] = json.loads(line)
        except ValueError:
            continue
        item = event.get("item") or {}
        if event.get("type") == "item.completed" and item.get("type") == "agent_message":
            text = str(item.get("text", ""))
        elif event.get("type") == "turn.completed":
            used = event.get("usage") or {}
            cached = int(used.get("cached_input_tokens", 0))
            usage = Usage(int(used.get("input_tokens", 0)) - cached, int(used.get("output_tokens", 0)), cached, 0)
        elif event.get("type") in ("turn.failed", "error"):
            raise ModelError(f"codex failed: {event.get('error') or event.get('message')}", kind="bad_request")
    return text, usage


def _reply(answer: Json, usage: Usage, *, model: str) -> Reply:
    """The answer as a reply: text and tool calls where it has the form asked for, plain words where it has not."""
    parsed = _as_object(answer)
    if parsed is None or "tool_calls" not in parsed:
        text = answer if isinstance(answer, str) else json.dumps(answer)
        return Reply(Message("assistant", (Text(text),)), "end_turn", usage, model)
    content: list[Block] = [Text(str(parsed["text"]))] if parsed.get("text") else []
    calls = parsed["tool_calls"]
    for number, call in enumerate(calls if isinstance(calls, list) else []):
        if isinstance(call, dict):
            arguments = call.get("arguments", "{}")
            tool = ToolInput(f"call_{number}", str(call.get("name", "")))
            tool.add(arguments if isinstance(arguments, str) else json.dumps(arguments))
            content.append(tool.tool_use())
    stop: StopReason = "tool_use" if any(isinstance(block, ToolUse) for block in content) else "end_turn"
    return Reply(Message("assistant", tuple(content)), stop, usage, model)


def _as_object(answer: Json) -> dict[str, Json] | None:
    if isinstance(answer, dict):
        return answer
    if not isinstance(answer, str):
        return None
    text = answer.strip()
    if text.startswith("```"):
        text = text.split("\n", 1)[-1].rsplit("```", 1)[0]
    try:
        parsed = json.loads(text)
    except ValueError:
        return None
    return parsed if isinstance(parsed, dict) else None


def _failed(program: str, output: bytes, errors: bytes) -> ModelError:
    words = (errors or output).decode("utf-8", "replace").strip().splitlines()
    told = words[-1] if words else "no reason given"
    return ModelError(
        f"{program} failed: {told}", kind="bad_request", remedy=f"Run `{program}` once by hand and log in"
    )
