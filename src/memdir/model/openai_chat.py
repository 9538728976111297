"""The chat-completions dialect: requests rendered, chunks put together."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from memdir.model.failures import broke_off
from memdir.model.model import Reply, Request, StopReason, Usage
from memdir.model.stream import ToolInput
from memdir.transcript.message import Block, Message, Text, ToolUse

_NOT_SENT_AGAIN = frozenset(("timeout",))
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
        kept = {key: value for key, value in request.raw.arguments.items() if key not in _NOT_SENT_AGAIN}
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
