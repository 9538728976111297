"""OpenAI, and anything that speaks its API (Ollama, vLLM, llama.cpp, OpenRouter …), through the official SDK.

Two dialects, chat completions and responses, each rendered deterministically (G1). Caching is the provider's own;
`prompt_cache_key` keeps a fork on the machine that has its parent's prefix. Nothing is stored at the provider.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Literal

from memdir.errors import ModelError
from memdir.model.failures import broke_off, from_connection, from_status, missing_sdk
from memdir.model.model import ANTHROPIC, RESPONSES, Reply, Request, StopReason, Usage
from memdir.model.raw import plain_request
from memdir.model.stream import ToolInput
from memdir.transcript.message import Block, Message, Opaque, Text, ToolResult, ToolUse

if TYPE_CHECKING:
    from openai import AsyncOpenAI

Dialect = Literal["chat", "responses"]
_LOCAL_KEY = "none"  # local servers ask for no key, the SDK insists on one
_OWN_HOSTS = ("api.openai.com", ".openai.azure.com")


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
        self._client: AsyncOpenAI = openai.AsyncOpenAI(
            api_key=api_key or _LOCAL_KEY,
            base_url=base_url or None,
            max_retries=0,  # retrying is ours: model/retry.py
        )
        self._is_openai = str(self._client.base_url.host).endswith(_OWN_HOSTS)

    async def complete(self, request: Request, *, on_text: Callable[[str], None] | None = None) -> Reply:
        if request.raw is not None and request.raw.provider == ANTHROPIC:
            request = plain_request(request)
        is_chat = _dialect_of(request, self._dialect) == "chat"
        try:
            async with asyncio.timeout(request.settings.longest_seconds):
                return await (self._chat if is_chat else self._responses)(request, on_text)
        except Exception as error:
            raise _translated(error, request.model) from error

    async def close(self) -> None:
        await self._client.close()

    async def _chat(self, request: Request, on_text: Callable[[str], None] | None) -> Reply:
        reader = ChatReader(on_text)
        arguments = chat_arguments(request, is_openai=self._is_openai)
        await _read(self._client.chat.completions, arguments, request, reader)
        return reader.reply()

    async def _responses(self, request: Request, on_text: Callable[[str], None] | None) -> Reply:
        reader = ResponseReader(on_text, request.model)
        await _read(self._client.responses, responses_arguments(request), request, reader)
        return reader.reply()


async def _read(
    endpoint: Any, arguments: dict[str, Any], request: Request, reader: ChatReader | ResponseReader
) -> None:
    """Read a reply, in pieces unless a host's own arguments ask for it whole: they are sent again as they were."""
    if not arguments.get("stream"):
        reader.take_whole(await endpoint.create(**arguments, timeout=request.settings.longest_seconds))
        return
    async with await endpoint.create(**arguments, timeout=request.settings.timeout_seconds) as stream:
        async for event in stream:
            reader.take(event)


def _dialect_of(request: Request, configured: Dialect) -> Dialect:
    if request.raw is None:
        return configured
    return "responses" if request.raw.provider == "openai-responses" else "chat"


def _translated(error: Exception, model: str) -> ModelError:
    import openai

    if isinstance(error, ModelError):
        return error
    if not isinstance(error, openai.APIError) or isinstance(error, openai.APIConnectionError):
        return from_connection(error, provider="The server")
    response = getattr(error, "response", None)
    codes = tuple(str(code) for code in (error.code, error.type) if code)
    status, headers = (response.status_code, response.headers) if response is not None else (200, {})
    return from_status(status, error.message, codes=codes, model=model, provider="The server", headers=headers)


_CHAT_NOT_SENT = frozenset(("timeout",))
_WITH_USAGE = {"include_usage": True}
_FINISH: dict[str, StopReason] = {
    "stop": "end_turn",
    "tool_calls": "tool_use",
    "function_call": "tool_use",
    "length": "max_tokens",
    "content_filter": "refusal",
}


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
    arguments = {"model": request.model, "messages": messages, limit: settings.max_tokens}
    arguments |= {"stream": True, "stream_options": _WITH_USAGE}
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
    if request.cache.key and is_openai:
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


class ChatReader:
    """Puts the chunks of one chat stream together."""

    def __init__(self, on_text: Callable[[str], None] | None) -> None:
        self._on_text = on_text
        self._text: list[str] = []
        self._tools: list[ToolInput] = []
        self._by_index: dict[int, ToolInput] = {}
        self._finish = ""
        self._usage = Usage()
        self._model = ""
        self._id = ""

    def take(self, chunk: Any) -> None:
        self._model, self._id = chunk.model or self._model, chunk.id or self._id
        if chunk.usage:
            self._usage = _usage(chunk.usage)
        for choice in (chunk.choices or ())[:1]:
            self._finish = choice.finish_reason or self._finish
            if choice.delta:
                self._take_delta(choice.delta)

    def take_whole(self, completion: Any) -> None:
        """A reply that did not come in pieces."""
        self._model, self._id, self._usage = completion.model, completion.id, _usage(completion.usage)
        [choice, *_] = completion.choices
        self._finish = choice.finish_reason
        self._hear(choice.message.content or choice.message.refusal)
        for call in choice.message.tool_calls or ():
            tool = ToolInput(call.id, call.function.name)
            tool.add(call.function.arguments)
            self._tools.append(tool)

    def _hear(self, words: str | None) -> None:
        if words:
            self._text.append(words)
            if self._on_text:
                self._on_text(words)

    def _take_delta(self, delta: Any) -> None:
        self._hear(delta.content or delta.refusal)
        for call in delta.tool_calls or ():
            tool = self._tool(call)
            if call.function:
                tool.name = tool.name or call.function.name or ""
                tool.add(call.function.arguments or "")

    def _tool(self, call: Any) -> ToolInput:
        """The call that a piece belongs to. Some servers number every call 0: a new id begins a new call."""
        tool = self._by_index.get(call.index)
        if tool is None or (call.id and call.id != tool.id):
            tool = ToolInput(call.id or f"call_{len(self._tools)}", "")
            self._by_index[call.index] = tool
            self._tools.append(tool)
        return tool

    def reply(self) -> Reply:
        if not self._finish:
            raise broke_off("the server")
        words = "".join(self._text)
        content: list[Block] = [Text(words)] if words else []
        content += [tool.tool_use() for tool in self._tools]
        stop = "tool_use" if self._tools else _FINISH.get(self._finish, "other")
        return Reply(Message("assistant", tuple(content), self._id), stop, self._usage, self._model)


def _usage(usage: Any) -> Usage:
    if usage is None:
        return Usage()
    return split_usage(usage.prompt_tokens, usage.completion_tokens, getattr(usage, "prompt_tokens_details", None))


def split_usage(prompt: int | None, output: int | None, details: Any) -> Usage:
    """OpenAI counts cached tokens as a part of the prompt; we count them beside it."""
    read = getattr(details, "cached_tokens", 0) or 0
    created = getattr(details, "cache_write_tokens", 0) or 0
    return Usage(max(0, (prompt or 0) - read - created), output or 0, read, created)


_RESPONSES_NOT_SENT = frozenset(("timeout", "background"))  # a fork waits for its reply


def responses_arguments(request: Request) -> dict[str, Any]:
    """The SDK's keyword arguments in the responses dialect. A host's own are kept as they are, items added."""
    rendered = [item for message in request.messages for item in render_items(message)]
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
            case Opaque(provider, text) if provider == RESPONSES:
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
        usage = _response_usage(response.usage)
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
    return [Opaque(RESPONSES, json.dumps(item.model_dump(mode="json", exclude_none=True)))]


def _stop_reason(response: Any, content: list[Block]) -> StopReason:
    if any(isinstance(block, ToolUse) for block in content):
        return "tool_use"
    if response.status == "incomplete":
        reason = getattr(response.incomplete_details, "reason", "")
        return "refusal" if reason == "content_filter" else "max_tokens"
    parts = (part for item in response.output if item.type == "message" for part in item.content)
    return "refusal" if any(part.type == "refusal" for part in parts) else "end_turn"


def _response_usage(usage: Any) -> Usage:
    if usage is None:
        return Usage()
    return split_usage(usage.input_tokens, usage.output_tokens, usage.input_tokens_details)
