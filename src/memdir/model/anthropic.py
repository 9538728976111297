"""Anthropic's Messages API through its official SDK: streaming, tools, thinking blocks kept, cache breakpoints placed.

Rendering is deterministic: the same request gives the same bytes, and a fork's request begins with its parent's (G1).
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable, Mapping
from typing import TYPE_CHECKING, Any

from memdir.errors import ModelError
from memdir.model.failures import from_connection, from_status, missing_sdk
from memdir.model.model import Reply, Request, StopReason, Usage
from memdir.model.stream import ToolInput
from memdir.transcript.message import Block, Json, Message, Opaque, Text, ToolResult, ToolUse

if TYPE_CHECKING:
    from anthropic import AsyncAnthropic

PROVIDER = "anthropic"
_CACHE_MARK: Mapping[str, Json] = {"type": "ephemeral"}
_STOP_REASONS: dict[str, StopReason] = {
    "end_turn": "end_turn",
    "stop_sequence": "end_turn",
    "tool_use": "tool_use",
    "max_tokens": "max_tokens",
    "model_context_window_exceeded": "max_tokens",
    "refusal": "refusal",
}


class AnthropicModel:
    """A `Model` that asks Anthropic, or anyone who speaks its API."""

    def __init__(self, *, api_key: str, base_url: str = "") -> None:
        if not api_key:
            raise ModelError(
                "there is no key for Anthropic",
                kind="no_key",
                remedy="Set ANTHROPIC_API_KEY, or choose another model with the setting model.provider",
            )
        try:
            import anthropic
        except ImportError as error:
            raise missing_sdk("anthropic") from error
        self._client: AsyncAnthropic = anthropic.AsyncAnthropic(
            api_key=api_key,
            base_url=base_url or None,
            max_retries=0,  # retrying is ours: model/retry.py
        )

    async def complete(self, request: Request, *, on_text: Callable[[str], None] | None = None) -> Reply:
        arguments = call_arguments(request)
        try:
            events: AsyncIterator[Any] = await self._client.messages.create(
                **arguments, stream=True, timeout=request.settings.timeout_seconds
            )
            reader = _StreamReader(on_text)
            async for event in events:
                reader.take(event)
        except Exception as error:
            raise _translated(error, request.model) from error
        return reader.reply()

    async def close(self) -> None:
        await self._client.close()


def call_arguments(request: Request) -> dict[str, Any]:
    """The SDK's keyword arguments for a request. A host's own arguments are kept as they are, messages added."""
    if request.raw is not None:
        arguments = {key: value for key, value in request.raw.arguments.items() if key not in ("stream", "timeout")}
        sent = list(arguments["messages"])  # type: ignore[call-overload]
        return {**arguments, "messages": [*sent, *(render_message(message) for message in request.messages)]}
    settings = request.settings
    arguments = {"model": request.model, "max_tokens": settings.max_tokens, "messages": _render_messages(request)}
    if request.system:
        arguments["system"] = [
            {"type": "text", "text": block.text, **({"cache_control": _CACHE_MARK} if block.ends_prefix else {})}
            for block in request.system
        ]
    if request.tools:
        arguments["tools"] = [
            {"name": tool.name, "description": tool.description, "input_schema": tool.input_schema}
            for tool in request.tools
        ]
    if settings.thinking_tokens:
        arguments["thinking"] = {"type": "enabled", "budget_tokens": settings.thinking_tokens}
    if settings.json_schema is not None:
        arguments["output_config"] = {"format": {"type": "json_schema", "schema": settings.json_schema}}
    return arguments


def _render_messages(request: Request) -> list[dict[str, Any]]:
    marked = _marked_messages(request)
    return [render_message(message, is_marked=at in marked) for at, message in enumerate(request.messages)]


def _marked_messages(request: Request) -> set[int]:
    """Two breakpoints among the messages: the last one, and the last user message before it, where the previous request
    had its own. More than twenty blocks may lie between them, further than the cache looks back."""
    last = request.cache.last_message if request.cache.last_message is not None else len(request.messages) - 1
    earlier = [at for at in range(last) if request.messages[at].role == "user"]
    return {at for at in (last, *earlier[-1:]) if at >= 0}


def render_message(message: Message, *, is_marked: bool = False) -> dict[str, Any]:
    """One message in Anthropic's form."""
    blocks = [rendered for block in message.content if (rendered := _render_block(block)) is not None]
    if not blocks:
        blocks = [{"type": "text", "text": "(no content)"}]  # the API takes no empty message
    if is_marked and blocks[-1]["type"] in ("text", "tool_use", "tool_result"):
        blocks[-1] = {**blocks[-1], "cache_control": _CACHE_MARK}
    return {"role": message.role, "content": blocks}


def _render_block(block: Block) -> dict[str, Any] | None:
    match block:
        case Text(text):
            return {"type": "text", "text": text} if text else None
        case ToolUse(tool_id, name, arguments):
            return {"type": "tool_use", "id": tool_id, "name": name, "input": dict(arguments)}
        case ToolResult(tool_use_id, content, is_error):
            rendered: dict[str, Any] = {"type": "tool_result", "tool_use_id": tool_use_id, "content": content}
            return {**rendered, "is_error": True} if is_error else rendered
        case Opaque(provider, text):
            parsed: dict[str, Any] = json.loads(text)
            return parsed if provider == PROVIDER else None


def message_from_blocks(role: str, content: object) -> Message:
    """A message in Anthropic's form, as a host holds it, in ours."""
    if isinstance(content, str):
        return Message("assistant" if role == "assistant" else "user", (Text(content),))
    blocks: list[Block] = []
    for raw in content if isinstance(content, list | tuple) else ():
        block = raw if isinstance(raw, dict) else raw.model_dump(mode="json", exclude_none=True)
        blocks.append(_block_from(block))
    return Message("assistant" if role == "assistant" else "user", tuple(blocks))


def _block_from(block: dict[str, Any]) -> Block:
    match block.get("type"):
        case "text":
            return Text(str(block.get("text", "")))
        case "tool_use":
            return ToolUse(str(block["id"]), str(block["name"]), block.get("input") or {})
        case "tool_result":
            return ToolResult(
                str(block["tool_use_id"]), _result_text(block.get("content")), bool(block.get("is_error"))
            )
        case _:
            return Opaque(PROVIDER, json.dumps(block))


def _result_text(content: object) -> str:
    if isinstance(content, list):
        parts = [part.get("text", f"[{part.get('type')}]") if isinstance(part, dict) else str(part) for part in content]
        return "\n".join(str(part) for part in parts)
    return str(content or "")


class _StreamReader:
    """Puts the events of one stream together."""

    def __init__(self, on_text: Callable[[str], None] | None) -> None:
        self._on_text = on_text
        self._blocks: dict[int, Block | ToolInput | dict[str, Any]] = {}
        self._usage = Usage()
        self._stop = ""
        self._model = ""
        self._id = ""
        self._is_complete = False

    def take(self, event: Any) -> None:
        match event.type:
            case "message_start":
                self._model, self._id = event.message.model, event.message.id
                self._usage = _usage(event.message.usage)
            case "content_block_start":
                self._blocks[event.index] = self._begin(event.content_block)
            case "content_block_delta":
                self._extend(event.index, event.delta)
            case "message_delta":
                self._stop = event.delta.stop_reason or self._stop
                output = getattr(event.usage, "output_tokens", None)
                if output is not None:
                    self._usage = Usage(self._usage.input, output, self._usage.cache_read, self._usage.cache_created)
            case "message_stop":
                self._is_complete = True

    def _begin(self, block: Any) -> Block | ToolInput | dict[str, Any]:
        if block.type == "text":
            self._tell(block.text)
            return Text(block.text)
        if block.type == "tool_use":
            return ToolInput(block.id, block.name, block.input if isinstance(block.input, dict) else {})
        dumped: dict[str, Any] = block.model_dump(mode="json", exclude_none=True)
        return dumped

    def _extend(self, index: int, delta: Any) -> None:
        block = self._blocks.get(index)
        if delta.type == "text_delta" and isinstance(block, Text):
            self._tell(delta.text)
            self._blocks[index] = Text(block.text + delta.text)
        elif delta.type == "input_json_delta" and isinstance(block, ToolInput):
            block.add(delta.partial_json)
        elif delta.type == "thinking_delta" and isinstance(block, dict):
            block["thinking"] = block.get("thinking", "") + delta.thinking
        elif delta.type == "signature_delta" and isinstance(block, dict):
            block["signature"] = block.get("signature", "") + delta.signature

    def _tell(self, text: str) -> None:
        if text and self._on_text:
            self._on_text(text)

    def reply(self) -> Reply:
        if not self._is_complete:
            raise ModelError("the reply broke off in the middle", kind="interrupted", remedy="Try again")
        content: list[Block] = []
        for _, block in sorted(self._blocks.items()):
            if isinstance(block, dict):
                content.append(Opaque(PROVIDER, json.dumps(block)))
            else:
                content.append(block.tool_use() if isinstance(block, ToolInput) else block)
        return Reply(
            Message("assistant", tuple(content), self._id),
            _STOP_REASONS.get(self._stop, "other"),
            self._usage,
            self._model,
        )


def _usage(usage: Any) -> Usage:
    return Usage(
        usage.input_tokens or 0,
        usage.output_tokens or 0,
        getattr(usage, "cache_read_input_tokens", 0) or 0,
        getattr(usage, "cache_creation_input_tokens", 0) or 0,
    )


def _translated(error: Exception, model: str) -> ModelError:
    import anthropic

    if isinstance(error, ModelError):
        return error
    if isinstance(error, anthropic.APIStatusError):
        headers = error.response.headers
        return from_status(error.status_code, str(error.message), model=model, provider="Anthropic", headers=headers)
    return from_connection(error, provider="Anthropic")
