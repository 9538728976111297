"""Anthropic's Messages API through its official SDK: streaming, tools, thinking blocks kept, cache breakpoints placed.

Rendering is deterministic: the same request gives the same bytes, and a fork's request begins with its parent's (G1).
Blocks of a reply that we do not know are kept as they came.
"""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from memdir.errors import ModelError
from memdir.model.failures import broke_off, from_connection, from_status, missing_sdk
from memdir.model.model import ANTHROPIC, ModelSettings, Reply, Request, StopReason, Usage
from memdir.model.raw import plain_request
from memdir.model.stream import ToolInput
from memdir.transcript.message import Block, Json, Message, Opaque, Text, ToolResult, ToolUse

if TYPE_CHECKING:
    from anthropic import AsyncAnthropic

MAX_SYSTEM_MARKS = 2  # of the four breakpoints the API allows; the messages need the other two
_CACHE_MARK: Mapping[str, Json] = {"type": "ephemeral"}
_UNMARKABLE = frozenset(("thinking", "redacted_thinking"))  # the API takes no breakpoint there
_NOT_SENT_AGAIN = frozenset(("stream", "timeout"))
_NO_CONTENT = "(no content)"  # the API takes no empty message
# Models up to 4.5 are given a number of thinking tokens; later ones refuse that and judge for themselves.
_COUNTS_THINKING = re.compile(r"claude-3|claude-(?:opus|sonnet|haiku)-4(?:-[015]|-20|@|$)")


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
        reader = StreamReader(on_text)
        try:
            async with asyncio.timeout(request.settings.longest_seconds):
                await self._read(arguments, request.settings.timeout_seconds, reader)
        except Exception as error:
            raise _translated(error, request.model) from error
        return reader.reply()

    async def close(self) -> None:
        await self._client.close()

    async def _read(self, arguments: dict[str, Any], timeout_seconds: float, reader: StreamReader) -> None:
        messages: Any = self._client.beta.messages if "betas" in arguments else self._client.messages
        async with await messages.create(**arguments, stream=True, timeout=timeout_seconds) as events:
            async for event in events:
                reader.take(event)


def call_arguments(request: Request) -> dict[str, Any]:
    """The SDK's keyword arguments for a request. A host's own arguments are kept as they are, messages added."""
    if request.raw is not None and request.raw.provider != ANTHROPIC:
        request = plain_request(request)
    if request.raw is not None:
        return _raw_arguments(request.raw.arguments, request.messages)
    settings = request.settings
    arguments: dict[str, Any] = {
        "model": request.model,
        # The API counts thinking as a part of the reply.
        "max_tokens": settings.max_tokens + settings.thinking_tokens,
        "messages": _render_messages(request),
    }
    if request.system:
        arguments["system"] = _render_system(request)
    if request.tools:
        arguments["tools"] = [
            {"name": tool.name, "description": tool.description, "input_schema": tool.input_schema}
            for tool in request.tools
        ]
    if settings.thinking_tokens:
        arguments["thinking"] = _thinking(request.model, settings)
    if settings.json_schema is not None:
        arguments["output_config"] = {"format": {"type": "json_schema", "schema": settings.json_schema}}
    return arguments


def _raw_arguments(arguments: Mapping[str, object], messages: tuple[Message, ...]) -> dict[str, Any]:
    kept: dict[str, Any] = {key: value for key, value in arguments.items() if key not in _NOT_SENT_AGAIN}
    sent = list(kept["messages"])
    mark = kept.pop("cache_control", None)
    if mark:
        # The provider would set this breakpoint on the last block, and that is ours now: it stays where it was (G2).
        sent[-1] = _with_mark(sent[-1], mark)
    return {**kept, "messages": [*sent, *(render_message(message) for message in messages)]}


def _with_mark(message: Mapping[str, Any], mark: Mapping[str, Json]) -> dict[str, Any]:
    content = message["content"]
    blocks = [{"type": "text", "text": content}] if isinstance(content, str) else list(content)
    if isinstance(blocks[-1], Mapping) and "cache_control" not in blocks[-1]:
        blocks[-1] = {**blocks[-1], "cache_control": mark}
    return {**message, "content": blocks}


def _thinking(model: str, settings: ModelSettings) -> dict[str, Any]:
    is_counted = _COUNTS_THINKING.search(model) or "claude" not in model
    return {"type": "enabled", "budget_tokens": settings.thinking_tokens} if is_counted else {"type": "adaptive"}


def _render_system(request: Request) -> list[dict[str, Any]]:
    marked = [at for at, block in enumerate(request.system) if block.ends_prefix][-MAX_SYSTEM_MARKS:]
    return [
        {"type": "text", "text": block.text, **({"cache_control": _CACHE_MARK} if at in marked else {})}
        for at, block in enumerate(request.system)
    ]


def _render_messages(request: Request) -> list[dict[str, Any]]:
    marked = _marked_messages(request)
    return [render_message(message, is_marked=at in marked) for at, message in enumerate(request.messages)]


def _marked_messages(request: Request) -> set[int]:
    """Two breakpoints among the messages: the last one, and the one where the previous request ended, before the newest
    reply. More than twenty blocks may lie between them, further than the cache looks back."""
    last = request.cache.last_message if request.cache.last_message is not None else len(request.messages) - 1
    replies = [at for at in range(1, last) if request.messages[at].role == "assistant"]
    return {at for at in (last, *(at - 1 for at in replies[-1:])) if at >= 0}


def render_message(message: Message, *, is_marked: bool = False) -> dict[str, Any]:
    """One message in Anthropic's form."""
    blocks = [rendered for block in message.content if (rendered := _render_block(block)) is not None]
    if not blocks:
        blocks = [{"type": "text", "text": _NO_CONTENT}]
    if is_marked and blocks[-1]["type"] not in _UNMARKABLE:
        blocks[-1] = {**blocks[-1], "cache_control": _CACHE_MARK}
    return {"role": message.role, "content": blocks}


def _render_block(block: Block) -> dict[str, Any] | None:
    match block:
        case Text(text):
            return {"type": "text", "text": text} if text.strip() else None
        case ToolUse(tool_id, name, arguments):
            return {"type": "tool_use", "id": tool_id, "name": name, "input": dict(arguments)}
        case ToolResult(tool_use_id, content, is_error):
            rendered: dict[str, Any] = {"type": "tool_result", "tool_use_id": tool_use_id, "content": content}
            return {**rendered, "is_error": True} if is_error else rendered
        case Opaque(provider, text):
            return json.loads(text) if provider == ANTHROPIC else None


def _translated(error: Exception, model: str) -> ModelError:
    import anthropic

    if isinstance(error, ModelError):
        return error
    if not isinstance(error, anthropic.APIStatusError):
        return from_connection(error, provider="Anthropic")
    codes = tuple(str(code) for code in (error.type,) if code)
    told = error.api_message or str(error.message)
    headers = error.response.headers
    status = error.response.status_code
    return from_status(status, told, codes=codes, model=model, provider="Anthropic", headers=headers)


_STOP_REASONS: dict[str, StopReason] = {
    "end_turn": "end_turn",
    "stop_sequence": "end_turn",
    "tool_use": "tool_use",
    "max_tokens": "max_tokens",
    "model_context_window_exceeded": "max_tokens",
    "refusal": "refusal",
}
_USAGE_FIELDS = ("input_tokens", "output_tokens", "cache_read_input_tokens", "cache_creation_input_tokens")
# Kinds of deltas, and the field of the block that each one lengthens.
_GROWING = {"text_delta": "text", "thinking_delta": "thinking", "signature_delta": "signature"}


class StreamReader:
    """Takes the events of one stream, in order."""

    def __init__(self, on_text: Callable[[str], None] | None) -> None:
        self._on_text = on_text
        self._blocks: dict[int, _Growing] = {}
        self._usage: dict[str, int] = {}
        self._stop = ""
        self._model = ""
        self._id = ""
        self._is_complete = False

    def take(self, event: Any) -> None:
        match event.type:
            case "message_start":
                self._model, self._id = event.message.model, event.message.id
                self._count(event.message.usage)
            case "content_block_start":
                dumped = event.content_block.model_dump(mode="json", exclude_none=True)
                self._blocks[event.index] = _Growing(dumped)
                if dumped["type"] == "text":
                    self._tell(dumped.get("text", ""))
            case "content_block_delta":
                self._extend(self._blocks.get(event.index), event.delta)
            case "message_delta":
                self._stop = event.delta.stop_reason or self._stop
                self._count(event.usage)
            case "message_stop":
                self._is_complete = True

    def _extend(self, block: _Growing | None, delta: Any) -> None:
        if block is None:
            return
        if delta.type == "input_json_delta":
            block.pieces.setdefault("input", []).append(delta.partial_json)
        elif delta.type in _GROWING:
            name = _GROWING[delta.type]
            block.pieces.setdefault(name, []).append(getattr(delta, name))
            if name == "text":
                self._tell(delta.text)

    def _tell(self, text: str) -> None:
        if text and self._on_text:
            self._on_text(text)

    def _count(self, usage: Any) -> None:
        """Counts are told at the beginning and again, brought up to date, at the end."""
        for name in _USAGE_FIELDS:
            value = getattr(usage, name, None)
            if value is not None:
                self._usage[name] = value

    def reply(self) -> Reply:
        if not self._is_complete:
            raise broke_off("Anthropic")
        content = tuple(block.finished() for _, block in sorted(self._blocks.items()))
        usage = Usage(*(self._usage.get(name, 0) for name in _USAGE_FIELDS))
        stop = _STOP_REASONS.get(self._stop, "other")
        return Reply(Message("assistant", content, self._id), stop, usage, self._model)


class _Growing:
    """A content block and the pieces that came after its beginning."""

    def __init__(self, start: dict[str, Any]) -> None:
        self.start = start
        self.pieces: dict[str, list[str]] = {}

    def finished(self) -> Block:
        if self.start["type"] == "tool_use":
            return self._input().tool_use()
        block = dict(self.start)
        for name, pieces in self.pieces.items():
            if name == "input":  # of a tool that the provider runs itself
                block[name] = dict(self._input().tool_use().input)
            else:
                block[name] = block.get(name, "") + "".join(pieces)
        return Text(block["text"]) if block["type"] == "text" else Opaque(ANTHROPIC, json.dumps(block))

    def _input(self) -> ToolInput:
        given = self.start.get("input")
        tool = ToolInput(self.start["id"], self.start["name"], given if isinstance(given, dict) else {})
        tool.add("".join(self.pieces.get("input", ())))
        return tool
