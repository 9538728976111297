"""OpenAI, and anything that speaks its API (Ollama, vLLM, llama.cpp, OpenRouter …), through the official SDK.

Two dialects, chat completions and responses, each rendered deterministically (G1). Caching is the provider's own;
`prompt_cache_key` keeps a fork on the machine that has its parent's prefix. Nothing is stored at the provider.
"""

from __future__ import annotations

import json
import os
from dataclasses import dataclass, field
from typing import Any, Literal

from memdir.errors import ModelError
from memdir.model.choose import DEFAULT_MODELS
from memdir.model.failures import from_status
from memdir.model.model import (
    ANTHROPIC,
    CUT_OFF,
    RESPONSES,
    Reply,
    Request,
    StopReason,
    ToolSpec,
    Usage,
    stop_reason_of,
    tool_use_of,
)
from memdir.model.raw import blocks_of, plain_json, plain_request, usage_of
from memdir.model.sdk import OnText, ReplyReader, SdkModel, bounded_client, load_sdk
from memdir.transcript.message import Block, Message, Opaque, Text, ToolResult, ToolUse

Dialect = Literal["chat", "responses"]
_LOCAL_KEY = "none"  # local servers ask for no key, the SDK insists on one
_OWN_HOSTS = ("api.openai.com", ".openai.azure.com")
_CHAT_NOT_SENT = frozenset(("timeout",))
_RESPONSES_NOT_SENT = frozenset(("timeout", "background"))  # a fork waits for its reply
_WITH_USAGE = {"include_usage": True}


class OpenAIModel(SdkModel):
    """A `Model` that asks OpenAI or a server that speaks its API."""

    name = DEFAULT_MODELS["openai"]  # in requests of ours
    provider = "The server"

    def __init__(self, *, api_key: str, base_url: str = "", dialect: Dialect = "chat") -> None:
        if not api_key and not base_url:
            raise ModelError(
                "there is no key for OpenAI",
                kind="no_key",
                remedy="Set OPENAI_API_KEY, or model.baseUrl for a server of your own",
            )
        sdk = load_sdk("openai")
        told = {"api_key": api_key or _LOCAL_KEY, "base_url": base_url or None, "max_retries": 0}
        super().__init__(lambda: sdk.AsyncOpenAI(**told, http_client=bounded_client(sdk, self.provider)))
        self._dialect: Dialect = dialect
        self._is_openai = str(self._client.base_url.host).endswith(_OWN_HOSTS)

    def call(self, request: Request, on_text: OnText) -> tuple[Any, dict[str, Any], ReplyReader]:
        if request.raw is not None and request.raw.provider == ANTHROPIC:
            request = plain_request(request)
        if (request.raw.provider == RESPONSES) if request.raw else (self._dialect == "responses"):
            return self._client.responses, responses_arguments(request), ResponseReader(on_text, request.model)
        arguments = chat_arguments(request, is_openai=self._is_openai)
        return self._client.chat.completions, arguments, ChatReader(on_text)


def chat_arguments(request: Request, *, is_openai: bool = True) -> dict[str, Any]:
    """The SDK's keyword arguments in the chat dialect. A host's own arguments are kept as they are, messages added."""
    rendered = [part for message in request.messages for part in render_chat(message)]
    if request.raw is not None:
        kept = {key: value for key, value in request.raw.arguments.items() if key not in _CHAT_NOT_SENT}
        sent: Any = kept["messages"]
        usage = {"stream_options": _WITH_USAGE} if kept.get("stream") else {}
        return {**kept, **usage, "messages": [*sent, *rendered]}
    settings = request.settings
    system = "\n\n".join(block.text for block in request.system)
    messages = [{"role": "system", "content": system}, *rendered] if system else rendered
    # Servers that copy the API know the older name; OpenAI's newer models refuse it.
    limit = "max_completion_tokens" if is_openai else "max_tokens"
    arguments = {"model": request.model, "messages": messages, limit: settings.reply_tokens(request.model)}
    arguments |= {"stream": True, "stream_options": _WITH_USAGE}
    if request.tools:
        arguments["tools"] = [{"type": "function", "function": _function(tool)} for tool in request.tools]
    if settings.json_schema is not None:
        named = {"name": "answer", "schema": settings.json_schema, "strict": True}
        arguments["response_format"] = {"type": "json_schema", "json_schema": named}
    if request.cache.key and is_openai:
        arguments["prompt_cache_key"] = request.cache.key
    return arguments


def _function(tool: ToolSpec) -> dict[str, Any]:
    return {"name": tool.name, "description": tool.description, "parameters": tool.input_schema}


def render_chat(message: Message) -> list[dict[str, Any]]:
    """One message in the chat dialect: tool results are messages of their own there."""
    results: list[dict[str, Any]] = [
        {"role": "tool", "tool_call_id": result.tool_use_id, "content": result.content}
        for result in message.tool_results
    ]
    if message.role == "user":
        return [*results, {"role": "user", "content": message.text}] if message.text or not results else results
    if not message.tool_uses:
        return [{"role": "assistant", "content": message.text}]
    calls = [
        {"id": use.id, "type": "function", "function": {"name": use.name, "arguments": arguments_text(use)}}
        for use in message.tool_uses
    ]
    return [{"role": "assistant", "content": message.text or None, "tool_calls": calls}]


def arguments_text(use: ToolUse) -> str:
    """A call's arguments as the JSON text that OpenAI's dialects carry."""
    return json.dumps(use.input, ensure_ascii=False, separators=(",", ":"))


class ChatReader(ReplyReader):
    """Puts the chunks of one chat stream together to the message that it is when it comes whole."""

    def __init__(self, on_text: OnText = None) -> None:
        super().__init__(on_text)
        self._text: list[str] = []
        self._calls: list[_GrowingCall] = []
        self._by_index: dict[int | None, _GrowingCall] = {}
        self._finish = self._model = self._id = ""
        self._usage = Usage()

    def take(self, event: Any) -> None:
        self._model, self._id = event.model or self._model, event.id or self._id
        self._usage = usage_of(plain_json(event.usage)) if event.usage else self._usage
        for choice in (event.choices or ())[:1]:
            self._finish = choice.finish_reason or self._finish
            message = getattr(choice, "delta", None) or getattr(choice, "message", None)  # in pieces, or whole
            if message:
                self._take_message(message)

    def _take_message(self, message: Any) -> None:
        words = message.content or message.refusal
        if words:
            self._text.append(words)
            self.tell(words)
        for piece in message.tool_calls or ():
            call = self._call_of(piece.id, getattr(piece, "index", None))
            if piece.function:
                call.name = call.name or piece.function.name or ""
                call.arguments.append(piece.function.arguments or "")

    def _call_of(self, call_id: str | None, index: int | None) -> _GrowingCall:
        """The call that a piece belongs to. Some servers number every call 0: a new id begins a new call."""
        call = self._by_index.get(index)
        if call is None or (call_id and call_id != call.id):
            call = self._by_index[index] = _GrowingCall(call_id or f"call_{os.urandom(8).hex()}")
            self._calls.append(call)
        return call

    def reply(self) -> Reply | None:
        if not self._finish:
            return None
        words = "".join(self._text)
        uses = tuple(tool_use_of(call.id, call.name, "".join(call.arguments)) for call in self._calls)
        content: tuple[Block, ...] = (Text(words), *uses) if words else uses
        stop = stop_reason_of(self._finish)
        stop = "tool_use" if uses and stop not in CUT_OFF else stop
        return Reply(Message("assistant", content, self._id), stop, self._usage, self._model)


@dataclass
class _GrowingCall:
    """A tool call whose name and arguments come in pieces."""

    id: str
    name: str = ""
    arguments: list[str] = field(default_factory=list)


def responses_arguments(request: Request) -> dict[str, Any]:
    """The SDK's keyword arguments in the responses dialect. A host's own are kept as they are, items added."""
    rendered = _without_loose_thoughts([item for message in request.messages for item in render_items(message)])
    if request.raw is not None:
        kept = {key: value for key, value in request.raw.arguments.items() if key not in _RESPONSES_NOT_SENT}
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
        "max_output_tokens": settings.reply_tokens(request.model),
        "stream": True,
        "store": False,
        "include": ["reasoning.encrypted_content"],
    }
    if request.system:
        arguments["instructions"] = "\n\n".join(block.text for block in request.system)
    if request.tools:
        arguments["tools"] = [{"type": "function", **_function(tool), "strict": False} for tool in request.tools]
    if settings.json_schema is not None:
        form = {"type": "json_schema", "name": "answer", "schema": settings.json_schema, "strict": True}
        arguments["text"] = {"format": form}
    if request.cache.key:
        arguments["prompt_cache_key"] = request.cache.key
    return arguments


def _without_loose_thoughts(items: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """All but the thoughts of replies that broke off in them: the API takes none that nothing of its reply follows."""
    found: list[dict[str, Any]] = []
    for item in reversed(items):
        following = found[-1] if found else {"role": "user"}
        is_last = following.get("role") == "user" or following.get("type") == "function_call_output"
        found += [] if is_last and item.get("type") == "reasoning" else [item]
    return found[::-1]


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
            case Opaque(provider, text) if provider == RESPONSES:
                items.append(json.loads(text))
    return items


class ResponseReader(ReplyReader):
    """Hands on the words as they come; the whole response stands in the last event."""

    def __init__(self, on_text: OnText, model: str) -> None:
        super().__init__(on_text)
        self._model = model
        self._response: Any = None

    def take(self, event: Any) -> None:
        match getattr(event, "type", "whole"):
            case "response.output_text.delta" | "response.refusal.delta":
                self.tell(event.delta)
            case "response.completed" | "response.incomplete" | "response.failed":
                self._end(event.response)
            case "error":
                raise self._failed(event)
            case "whole":
                self._end(event)
                self.tell(event.output_text)

    def _end(self, response: Any) -> None:
        if response.status == "failed":
            raise self._failed(response.error)
        self._response = response

    def _failed(self, failure: Any) -> ModelError:
        message = str(getattr(failure, "message", "") or "no reason given")
        code = str(getattr(failure, "code", "") or "")
        return from_status(200, message, codes=(code,), model=self._model, provider="The server", headers={})

    def reply(self) -> Reply | None:
        response = self._response
        if response is None:
            return None
        content = tuple(block for item in response.output for block in blocks_of(RESPONSES, plain_json(item)))
        message = Message("assistant", content, response.id)
        usage = usage_of(plain_json(response.usage) or {})
        return Reply(message, _stop_reason(response, message), usage, response.model)


def _stop_reason(response: Any, message: Message) -> StopReason:
    if response.status == "incomplete":
        reason = getattr(response.incomplete_details, "reason", "")
        return "refusal" if reason == "content_filter" else "max_tokens"
    if message.tool_uses:
        return "tool_use"
    parts = (part for item in response.output if item.type == "message" for part in item.content)
    return "refusal" if any(part.type == "refusal" for part in parts) else "end_turn"
