"""The responses dialect: requests rendered as items, the finished response read. Nothing is stored at the provider."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from memdir.errors import ModelError
from memdir.model.failures import broke_off, from_status
from memdir.model.model import Reply, Request, StopReason, Usage
from memdir.model.openai_chat import arguments_text, split_usage
from memdir.model.stream import ToolInput
from memdir.transcript.message import Block, Message, Opaque, Text, ToolResult, ToolUse

PROVIDER = "openai-responses"  # of opaque blocks: reasoning, and what the provider's own tools did
_NOT_SENT_AGAIN = frozenset(("timeout", "background"))  # a fork waits for its reply


def responses_arguments(request: Request) -> dict[str, Any]:
    """The SDK's keyword arguments in the responses dialect. A host's own are kept as they are, items added."""
    rendered = [item for message in request.messages for item in render_items(message)]
    if request.raw is not None:
        kept = {key: value for key, value in request.raw.arguments.items() if key not in _NOT_SENT_AGAIN}
        if kept.get("conversation"):
            raise ModelError(
                "the host keeps its conversation at the provider, and a fork would add to it",
                kind="bad_request",
                remedy="Send the items as `input`, or go on from a response with `previous_response_id`",
            )
        sent: Any = kept["input"]
        before = [{"role": "user", "content": sent}] if isinstance(sent, str) else list(sent)
        return {**kept, "input": [*before, *rendered]}
    settings = request.settings
    arguments: dict[str, Any] = {
        "model": request.model,
        "input": rendered,
        "max_output_tokens": settings.max_tokens,
        "stream": True,
        "store": False,
        "include": ["reasoning.encrypted_content"],
    }
    if request.system:
        arguments["instructions"] = "\n\n".join(block.text for block in request.system)
    if request.tools:
        arguments["tools"] = [
            {
                "type": "function",
                "name": tool.name,
                "description": tool.description,
                "parameters": tool.input_schema,
                "strict": False,
            }
            for tool in request.tools
        ]
    if settings.json_schema is not None:
        form = {"type": "json_schema", "name": "answer", "schema": settings.json_schema, "strict": True}
        arguments["text"] = {"format": form}
    if request.cache.key:
        arguments["prompt_cache_key"] = request.cache.key
    return arguments


def render_items(message: Message) -> list[dict[str, Any]]:
    """One message as items of the responses dialect."""
    kind = "output_text" if message.role == "assistant" else "input_text"
    items: list[dict[str, Any]] = []
    for block in message.content:
        match block:
            case Text(text) if text:
                items.append({"role": message.role, "content": [{"type": kind, "text": text}]})
            case ToolUse():
                call = {"call_id": block.id, "name": block.name, "arguments": arguments_text(block)}
                items.append({"type": "function_call", **call})
            case ToolResult(tool_use_id, content):
                items.append({"type": "function_call_output", "call_id": tool_use_id, "output": content})
            case Opaque(provider, text) if provider == PROVIDER:
                items.append(json.loads(text))
    return items


class ResponseReader:
    """Hands on the words as they come; the whole response stands in the last event."""

    def __init__(self, on_text: Callable[[str], None] | None, model: str) -> None:
        self._on_text = on_text
        self._model = model
        self._response: Any = None

    def take(self, event: Any) -> None:
        match event.type:
            case "response.output_text.delta" | "response.refusal.delta":
                if event.delta and self._on_text:
                    self._on_text(event.delta)
            case "response.completed" | "response.incomplete":
                self._response = event.response
            case "response.failed":
                raise self._failed(event.response.error)
            case "error":
                raise self._failed(event)

    def take_whole(self, response: Any) -> None:
        """A reply that did not come in pieces."""
        if response.status == "failed":
            raise self._failed(response.error)
        self._response = response
        if response.output_text and self._on_text:
            self._on_text(response.output_text)

    def _failed(self, failure: Any) -> Exception:
        message = str(getattr(failure, "message", "") or "no reason given")
        code = str(getattr(failure, "code", "") or "")
        return from_status(200, message, codes=(code,), model=self._model, provider="The server", headers={})

    def reply(self) -> Reply:
        response = self._response
        if response is None:
            raise broke_off("the server")
        content = [block for item in response.output for block in _blocks(item)]
        usage = _usage(response.usage)
        message = Message("assistant", tuple(content), response.id)
        return Reply(message, _stop_reason(response, content), usage, response.model)


def _blocks(item: Any) -> list[Block]:
    if item.type == "message":
        words = (part.text if part.type == "output_text" else getattr(part, "refusal", "") for part in item.content)
        return [Text(text) for text in words if text]
    if item.type == "function_call":
        tool = ToolInput(item.call_id, item.name)
        tool.add(item.arguments)
        return [tool.tool_use()]
    return [Opaque(PROVIDER, json.dumps(item.model_dump(mode="json", exclude_none=True)))]


def _stop_reason(response: Any, content: list[Block]) -> StopReason:
    if any(isinstance(block, ToolUse) for block in content):
        return "tool_use"
    if response.status == "incomplete":
        reason = getattr(response.incomplete_details, "reason", "")
        return "refusal" if reason == "content_filter" else "max_tokens"
    parts = (part for item in response.output if item.type == "message" for part in item.content)
    return "refusal" if any(part.type == "refusal" for part in parts) else "end_turn"


def _usage(usage: Any) -> Usage:
    if usage is None:
        return Usage()
    return split_usage(usage.input_tokens, usage.output_tokens, usage.input_tokens_details)
