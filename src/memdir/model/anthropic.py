"""Anthropic's Messages API through its official SDK: streaming, tools, thinking blocks kept, cache breakpoints placed.

Rendering is deterministic: the same request gives the same bytes, and a fork's request begins with its parent's (G1).
Blocks of a reply that we do not know are kept as they came.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from memdir.errors import ModelError
from memdir.model.choose import DEFAULT_MODELS
from memdir.model.model import ANTHROPIC, Reply, Request, stop_reason_of, tool_use_of
from memdir.model.raw import plain_json, plain_request, usage_of
from memdir.model.sdk import OnText, ReplyReader, SdkModel, bounded_client, load_sdk
from memdir.transcript.message import Block, Json, Message, Opaque, Text, ToolResult, ToolUse

MAX_SYSTEM_MARKS = 2  # of the four breakpoints the API allows; the messages need the other two
_CACHE_MARK: Mapping[str, Json] = {"type": "ephemeral"}
_UNMARKABLE = frozenset(("thinking", "redacted_thinking"))  # the API takes no breakpoint there
_NOT_SENT_AGAIN = frozenset(("stream", "timeout"))
_NOT_IN_AN_ID = re.compile(r"[^A-Za-z0-9_-]")  # of a call: other providers' models have other signs in it
_NO_CONTENT = "(no content)"  # the API takes no empty message
# Models up to 4.5 are given a number of thinking tokens; later ones refuse that and judge for themselves.
_COUNTS_THINKING = re.compile(r"claude-3|claude-(?:opus|sonnet|haiku)-4(?:-[015]|-20|@|$)")
# Kinds of deltas: the field of the block that each one lengthens, and its own with the piece.
_GROWING = {
    "text_delta": ("text", "text"),
    "thinking_delta": ("thinking", "thinking"),
    "signature_delta": ("signature", "signature"),
    "input_json_delta": ("input", "partial_json"),
}


class AnthropicModel(SdkModel):
    """A `Model` that asks Anthropic, or anyone who speaks its API."""

    name = DEFAULT_MODELS["anthropic"]  # in requests of ours
    provider = "Anthropic"

    def __init__(self, *, api_key: str, base_url: str = "") -> None:
        if not api_key:
            raise ModelError(
                "there is no key for Anthropic",
                kind="no_key",
                remedy="Set ANTHROPIC_API_KEY, or choose another model with the setting model.provider",
            )
        sdk = load_sdk("anthropic")
        told = {"api_key": api_key, "base_url": base_url or None, "max_retries": 0}
        super().__init__(lambda: sdk.AsyncAnthropic(**told, http_client=bounded_client(sdk, self.provider)))

    def call(self, request: Request, on_text: OnText) -> tuple[Any, dict[str, Any], MessageReader]:
        arguments = call_arguments(request)
        endpoint = self._client.beta.messages if "betas" in arguments else self._client.messages
        return endpoint, {**arguments, "stream": True}, MessageReader(on_text)


def call_arguments(request: Request) -> dict[str, Any]:
    """The SDK's keyword arguments for a request. A host's own arguments are kept as they are, messages added."""
    if request.raw is not None and request.raw.provider != ANTHROPIC:
        request = plain_request(request)
    if request.raw is not None:
        return _raw_arguments(request.raw.arguments, request.messages)
    settings, marked = request.settings, _marked_messages(request)
    arguments: dict[str, Any] = {
        "model": request.model,
        # The API counts thinking as a part of the reply.
        "max_tokens": settings.reply_tokens(request.model) + settings.thinking_tokens,
        "messages": [render_message(message, is_marked=at in marked) for at, message in enumerate(request.messages)],
    }
    if request.system:
        arguments["system"] = _render_system(request)
    if request.tools:
        arguments["tools"] = [
            {"name": tool.name, "description": tool.description, "input_schema": tool.input_schema}
            for tool in request.tools
        ]
    if settings.thinking_tokens:
        is_counted = _COUNTS_THINKING.search(request.model) or "claude" not in request.model
        counted = {"type": "enabled", "budget_tokens": settings.thinking_tokens}
        arguments["thinking"] = counted if is_counted else {"type": "adaptive"}
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


def _render_system(request: Request) -> list[dict[str, Any]]:
    marked = [at for at, block in enumerate(request.system) if block.ends_prefix][-MAX_SYSTEM_MARKS:]
    return [
        {"type": "text", "text": block.text, **({"cache_control": _CACHE_MARK} if at in marked else {})}
        for at, block in enumerate(request.system)
    ]


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
            return {"type": "tool_use", "id": _id(tool_id), "name": name, "input": dict(arguments)}
        case ToolResult(tool_use_id, content, is_error):
            rendered: dict[str, Any] = {"type": "tool_result", "tool_use_id": _id(tool_use_id), "content": content}
            return {**rendered, "is_error": True} if is_error else rendered
        case Opaque(provider, text):
            return json.loads(text) if provider == ANTHROPIC else None


def _id(given: str) -> str:
    return _NOT_IN_AN_ID.sub("_", given)


class MessageReader(ReplyReader):
    """Takes the events of one stream, in order."""

    def __init__(self, on_text: OnText = None) -> None:
        super().__init__(on_text)
        self._blocks: dict[int, _GrowingBlock] = {}
        self._usage: dict[str, Any] = {}
        self._stop = self._model = self._id = ""
        self._is_complete = False

    def take(self, event: Any) -> None:
        match event.type:
            case "message_start":
                self._model, self._id = event.message.model, event.message.id
                self._usage = plain_json(getattr(event.message, "usage", None)) or {}  # some servers count none
            case "content_block_start":
                block = _GrowingBlock(plain_json(event.content_block))
                self._blocks[event.index] = block
                self.tell(block.start.get("text"))
            case "content_block_delta" if event.index in self._blocks and event.delta.type in _GROWING:
                field, piece = _GROWING[event.delta.type]
                words = getattr(event.delta, piece)
                self._blocks[event.index].pieces.setdefault(field, []).append(words)
                if field == "text":
                    self.tell(words)
            case "message_delta":
                self._stop = event.delta.stop_reason or self._stop
                self._usage |= plain_json(getattr(event, "usage", None)) or {}  # brought up to date
            case "message_stop":
                self._is_complete = True

    def reply(self) -> Reply | None:
        if not self._is_complete:
            return None
        content = tuple(block.finished() for _, block in sorted(self._blocks.items()))
        stop = stop_reason_of(self._stop)
        return Reply(Message("assistant", content, self._id), stop, usage_of(self._usage), self._model)


class _GrowingBlock:
    """A content block and the pieces that came after its beginning."""

    def __init__(self, start: dict[str, Any]) -> None:
        self.start = start
        self.pieces: dict[str, list[str]] = {}

    def finished(self) -> Block:
        block, grown = dict(self.start), {name: "".join(pieces) for name, pieces in self.pieces.items()}
        if block["type"] == "tool_use":
            return tool_use_of(block["id"], block["name"], grown.get("input", ""), block.get("input"))
        if "input" in grown:  # of a tool that the provider runs itself
            block["input"] = dict(tool_use_of(block["id"], block["name"], grown.pop("input")).input)
        block |= {name: block.get(name, "") + text for name, text in grown.items()}
        return Text(block["text"]) if block["type"] == "text" else Opaque(ANTHROPIC, json.dumps(block))
