"""Reads what `claude` and `codex` print: words and tool calls where the answer has that form, else plain words."""

from __future__ import annotations

import json
import re
import uuid
from typing import Any

from memdir.disk.child import ChildResult
from memdir.errors import ModelError
from memdir.model.failures import failed, from_status
from memdir.model.model import Reply, StopReason, Usage
from memdir.model.stream import ToolInput
from memdir.transcript.message import Block, Json, Message, Text, ToolUse

_STATUS = re.compile(r"(?:status|API Error:?) (\d{3})\b")  # as claude and codex write it into their messages
ANSWER_SCHEMA: dict[str, Json] = {
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


def claude_reply(output: bytes, model: str) -> Reply:
    """The reply in claude's one JSON object."""
    try:
        found: dict[str, Any] = json.loads(output)
        usage = found.get("usage") or {}
    except (ValueError, AttributeError) as error:
        raise failed("bad_reply", "claude printed something that is no JSON") from error
    if found.get("is_error"):
        raise _refused("claude", str(found.get("result") or found.get("errors") or found.get("subtype")))
    names = ("input_tokens", "output_tokens", "cache_read_input_tokens", "cache_creation_input_tokens")
    counted = Usage(*(int(usage.get(name) or 0) for name in names))
    return _reply(found.get("structured_output") or found.get("result") or "", counted, model)


def codex_reply(output: bytes, model: str) -> Reply:
    """The reply in codex's events: the last message of the agent."""
    text, usage = "", Usage()
    for event in _events(output):
        item = event.get("item") or {}
        if event.get("type") == "item.completed" and item.get("type") == "agent_message":
            text = str(item.get("text", ""))
        elif event.get("type") == "turn.completed":
            used = event.get("usage") or {}
            cached = int(used.get("cached_input_tokens") or 0)
            fresh = max(0, int(used.get("input_tokens") or 0) - cached)
            usage = Usage(fresh, int(used.get("output_tokens") or 0), cached)
        elif event.get("type") == "turn.failed":
            raise _codex_failure(event)
    return _reply(text, usage, model)


def _events(output: bytes) -> list[dict[str, Any]]:
    events = []
    for line in output.splitlines():
        try:
            event = json.loads(line)
        except ValueError:
            continue
        if isinstance(event, dict):
            events.append(event)
    return events


def failed_program(program: str, done: ChildResult) -> ModelError:
    """Why a program ended with an error: what it says in its output, else its last words."""
    if program == "claude" and done.output.lstrip().startswith(b"{"):
        try:
            claude_reply(done.output, program)
        except ModelError as error:
            return error
    for event in _events(done.output) if program == "codex" else ():
        if event.get("type") == "turn.failed":
            return _codex_failure(event)
    words = (done.errors.strip() or done.output.strip()).decode("utf-8", "replace").splitlines()
    return _refused(program, words[-1] if words else f"exit status {done.exit_code}")


def _codex_failure(event: dict[str, Any]) -> ModelError:
    return _refused("codex", str((event.get("error") or {}).get("message") or "no reason given"))


def _refused(program: str, told: str) -> ModelError:
    """The kind of failure, from the status where the program tells it, else from its words."""
    status = _STATUS.search(told)
    error = from_status(int(status[1]) if status else 400, told, codes=(), model=program, provider=program, headers={})
    if error.kind in ("bad_request", "wrong_key"):
        error.remedy = f"Run `{program}` once by hand and log in"
    return error


def _reply(answer: Json, usage: Usage, model: str) -> Reply:
    parsed = _as_object(answer)
    if parsed is None or "tool_calls" not in parsed:
        text = answer if isinstance(answer, str) else json.dumps(answer)
        return Reply(Message("assistant", (Text(text),)), "end_turn", usage, model)
    content: list[Block] = [Text(str(parsed["text"]))] if parsed.get("text") else []
    calls = parsed["tool_calls"]
    content += [_tool_use(call) for call in (calls if isinstance(calls, list) else []) if isinstance(call, dict)]
    stop: StopReason = "tool_use" if any(isinstance(block, ToolUse) for block in content) else "end_turn"
    return Reply(Message("assistant", tuple(content)), stop, usage, model)


def _tool_use(call: dict[str, Json]) -> ToolUse:
    arguments = call.get("arguments") or "{}"
    tool = ToolInput(f"call_{uuid.uuid4().hex[:12]}", str(call.get("name", "")))
    tool.add(arguments if isinstance(arguments, str) else json.dumps(arguments))
    return tool.tool_use()


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
