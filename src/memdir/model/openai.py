"""OpenAI, and anything that speaks its API (Ollama, vLLM, llama.cpp, OpenRouter …), through the official SDK.

Two dialects, chat completions and responses, each rendered deterministically (G1). Caching is the provider's own;
`prompt_cache_key` keeps a fork on the machine that has its parent's prefix.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Literal

from memdir.errors import ModelError
from memdir.model.failures import from_connection, from_status, missing_sdk
from memdir.model.model import Reply, Request, StopReason, Usage
from memdir.model.stream import ToolInput
from memdir.transcript.message import Block, Message, Opaque, Text, ToolResult, ToolUse

if TYPE_CHECKING:
    from openai import AsyncOpenAI

Dialect = Literal["chat", "responses"]
PROVIDER = "openai-responses"  # of opaque blocks: only the responses dialect has any
_LOCAL_KEY = "none"  # local servers ask for no key, the SDK insists on one
_FINISH: dict[str, StopReason] = {
    "stop": "end_turn",
    "tool_calls": "tool_use",
    "function_call": "tool_use",
    "length": "max_tokens",
    "content_filter": "refusal",
}


class OpenAIModel:
    """A `Model` that asks OpenAI or a server that speaks its API."""

    def __init__(self, *, api_key: str, base_url: str = "", dialect: Dialect = "chat") -> None:
        if not api_key and not base_url:
            raise ModelError(
                "there is no key for OpenAI",
                kind="no_key",
                remedy="Set OPENAI_API_KEY, or model.baseUrl for a server of your own",
            )
        try:
            import openai
        except ImportError as error:
            raise missing_sdk("openai") from error
        self._dialect: Dialect = dialect
        self._is_own_server = bool(base_url)
        self._client: AsyncOpenAI = openai.AsyncOpenAI(
            api_key=api_key or _LOCAL_KEY,
            base_url=base_url or None,
            max_retries=0,  # retrying is ours: model/retry.py
        )

    async def complete(self, request: Request, *, on_text: Callable[[str], None] | None = None) -> Reply:
        try:
            if _dialect_of(request, self._dialect) == "chat":
                return await self._chat(request, on_text)
            return await self._responses(request, on_text)
        except Exception as error:
            raise _translated(error, request.model) from error

    async def close(self) -> None:
        await self._client.close()

    async def _chat(self, request: Request, on_text: Callable[[str], None] | None) -> Reply:
        arguments = chat_arguments(request, is_own_server=self._is_own_server)
        reader = _ChatReader(on_text)
        stream: Any = await self._client.chat.completions.create(
            **arguments,
            stream=True,
            stream_options={"include_usage": True},
            timeout=request.settings.timeout_seconds,
        )
        async for chunk in stream:
            reader.take(chunk)
        return reader.reply()

    async def _responses(self, request: Request, on_text: Callable[[str], None] | None) -> Reply:
        arguments = responses_arguments(request)
        stream: Any = await self._client.responses.create(
            **arguments, stream=True, timeout=request.settings.timeout_seconds
        )
        async for event in stream:
            if event.type == "response.output_text.delta" and on_text:
                on_text(event.delta)
            elif event.type in ("response.completed", "response.incomplete"):
                return _response_reply(event.response)
            elif event.type in ("response.failed", "error"):
                raise _failed_response(event, request.model)
        raise ModelError("the reply broke off in the middle", kind="interrupted", remedy="Try again")


def _dialect_of(request: Request, configured: Dialect) -> Dialect:
    if request.raw is None:
        return configured
    return "responses" if request.raw.provider == "openai-responses" else "chat"


# Chat completions ---------------------------------------------------------------------------------------------------


def chat_arguments(request: Request, *, is_own_server: bool = False) -> dict[str, Any]:
    """The SDK's keyword arguments in the chat dialect. A host's own arguments are kept as they are, messages added."""
    rendered = [part for message in request.messages for part in render_chat(message)]
    if request.raw is not None:
        kept = ("stream", "stream_options", "timeout")
        arguments = {key: value for key, value in request.raw.arguments.items() if key not in kept}
        return {**arguments, "messages": [*arguments["messages"], *rendered]}  # type: ignore[misc]
    settings = request.settings
    system = "\n\n".join(block.text for block in request.system)
    messages = [{"role": "system", "content": system}, *rendered] if system else rendered
    # Servers that copy the API know the older name; OpenAI's newer models refuse it.
    limit = "max_tokens" if is_own_server else "max_completion_tokens"
    arguments = {"model": request.model, "messages": messages, limit: settings.max_tokens}
    if request.tools:
        arguments["tools"] = [
            {
                "type": "function",
                "function": {"name": tool.name, "description": tool.description, "parameters": tool.input_schema},
            }
            for tool in request.tools
        ]
    if settings.json_schema is not None:
        named = {"name": "answer", "schema": settings.json_schema, "strict": True}
        arguments["response_format"] = {"type": "json_schema", "json_schema": named}
    if request.cache.key and not is_own_server:
        arguments["prompt_cache_key"] = request.cache.key
    return arguments


def render_chat(message: Message) -> list[dict[str, Any]]:
    """One message in the chat dialect: tool results are messages of their own there."""
    results: list[dict[str, Any]] = [
        {"role": "tool", "tool_call_id": result.tool_use_id, "content": result.content}
        for result in message.tool_results
    ]
    if message.role == "user":
        return [*results, {"role": "user", "content": message.text}] if message.text or not results else results
    rendered: dict[str, Any] = {"role": "assistant", "content": message.text or None}
    if message.tool_uses:
        rendered["tool_calls"] = [
            {"id": use.id, "type": "function", "function": {"name": use.name, "arguments": _arguments_text(use)}}
            for use in message.tool_uses
        ]
    return [rendered]


class _ChatReader:
    """Puts the chunks of one chat stream together."""

    def __init__(self, on_text: Callable[[str], None] | None) -> None:
        self._on_text = on_text
        self._text: list[str] = []
        self._tools: dict[int, ToolInput] = {}
        self._finish = ""
        self._usage = Usage()
        self._model = ""
        self._id = ""

    def take(self, chunk: Any) -> None:
        self._model, self._id = chunk.model or self._model, chunk.id or self._id
        if chunk.usage:
            self._usage = _chat_usage(chunk.usage)
        for choice in chunk.choices[:1]:
            self._finish = choice.finish_reason or self._finish
            self._take_delta(choice.delta)

    def _take_delta(self, delta: Any) -> None:
        if delta.content:
            self._text.append(delta.content)
            if self._on_text:
                self._on_text(delta.content)
        for call in delta.tool_calls or ():
            tool = self._tools.setdefault(call.index, ToolInput(call.id or f"call_{call.index}", ""))
            if call.function and call.function.name:
                tool.name += call.function.name
            if call.function and call.function.arguments:
                tool.add(call.function.arguments)

    def reply(self) -> Reply:
        if not self._finish:
            raise ModelError("the reply broke off in the middle", kind="interrupted", remedy="Try again")
        words = "".join(self._text)
        content: list[Block] = [Text(words)] if words else []
        content += [tool.tool_use() for _, tool in sorted(self._tools.items())]
        stop = "tool_use" if self._tools else _FINISH.get(self._finish, "other")
        return Reply(Message("assistant", tuple(content), self._id), stop, self._usage, self._model)


def _chat_usage(usage: Any) -> Usage:
    details = getattr(usage, "prompt_tokens_details", None)
    cached = (getattr(details, "cached_tokens", 0) or 0) if details else 0
    return Usage((usage.prompt_tokens or 0) - cached, usage.completion_tokens or 0, cached, 0)


# Responses ----------------------------------------------------------------------------------------------------------


def responses_arguments(request: Request) -> dict[str, Any]:
    """The SDK's keyword arguments in the responses dialect. Nothing is stored at the provider."""
    rendered = [item for message in request.messages for item in render_items(message)]
    if request.raw is not None:
        arguments = {key: value for key, value in request.raw.arguments.items() if key not in ("stream", "timeout")}
        sent = arguments["input"]
        before = [{"role": "user", "content": sent}] if isinstance(sent, str) else list(sent)  # type: ignore[call-overload]
        return {**arguments, "input": [*before, *rendered]}
    settings = request.settings
    arguments = {
        "model": request.model,
        "instructions": "\n\n".join(block.text for block in request.system),
        "input": rendered,
        "max_output_tokens": settings.max_tokens,
        "store": False,
        "include": ["reasoning.encrypted_content"],
    }
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
                call = {"call_id": block.id, "name": block.name, "arguments": _arguments_text(block)}
                items.append({"type": "function_call", **call})
            case ToolResult(tool_use_id, content):
                items.append({"type": "function_call_output", "call_id": tool_use_id, "output": content})
            case Opaque(provider, text) if provider == PROVIDER:
                items.append(json.loads(text))
    return items


def _response_reply(response: Any) -> Reply:
    content: list[Block] = []
    for item in response.output:
        if item.type == "message":
            content += [Text(part.text) for part in item.content if part.type == "output_text"]
        elif item.type == "function_call":
            tool = ToolInput(item.call_id, item.name)
            tool.add(item.arguments)
            content.append(tool.tool_use())
        else:
            content.append(Opaque(PROVIDER, json.dumps(item.model_dump(mode="json", exclude_none=True))))
    has_tools = any(isinstance(block, ToolUse) for block in content)
    is_cut = response.status == "incomplete"
    stop: StopReason = "tool_use" if has_tools else "max_tokens" if is_cut else "end_turn"
    return Reply(
        Message("assistant", tuple(content), response.id), stop, _response_usage(response.usage), response.model
    )


def _response_usage(usage: Any) -> Usage:
    if usage is None:
        return Usage()
    cached = getattr(usage.input_tokens_details, "cached_tokens", 0) or 0 if usage.input_tokens_details else 0
    return Usage(usage.input_tokens - cached, usage.output_tokens, cached, 0)


def _failed_response(event: Any, model: str) -> ModelError:
    failure = getattr(getattr(event, "response", None), "error", None) or event
    message = str(getattr(failure, "message", "") or "no reason given")
    status = {"rate_limit_exceeded": 429, "server_error": 500}.get(str(getattr(failure, "code", "")), 400)
    return from_status(status, message, model=model, provider="OpenAI")


def _arguments_text(use: ToolUse) -> str:
    return json.dumps(use.input, ensure_ascii=False, separators=(",", ":"))


def _translated(error: Exception, model: str) -> ModelError:
    import openai

    if isinstance(error, ModelError):
        return error
    if isinstance(error, openai.APIStatusError):
        headers = error.response.headers
        return from_status(error.status_code, str(error.message), model=model, provider="The server", headers=headers)
    return from_connection(error, provider="The server")
