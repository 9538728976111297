"""A host's own SDK arguments as messages of ours, for those who have to understand a conversation and not only send it.

The bytes that are sent again are never made from these. A message's id is made from its content and from all that was
said before it: it is the same each time the host hands in the conversation, longer by a turn (X4), and another one when
the same words come in another conversation. What the host put in counts for nothing there: it may be gone next time.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal

from memdir.errors import UsageError
from memdir.model.model import (
    ANTHROPIC,
    RESPONSES,
    Provider,
    RawCall,
    Reply,
    Request,
    StopReason,
    SystemBlock,
    ToolSpec,
    Usage,
    tool_use_of,
)
from memdir.text.speakers import is_host
from memdir.transcript.message import Block, Message, Opaque, Role, Text, ToolResult, user
from memdir.transcript.record import blocks_from, content_text

Form = Literal["memdir", "anthropic", "openai"]  # how a host writes its messages
FORMS: tuple[Form, ...] = ("memdir", "anthropic", "openai")
Content = str | Sequence[Mapping[str, object]]  # of a user's message: its words, or blocks as an SDK takes them

_ID_DIGITS = 16  # enough to keep any two messages of a session apart


def words_of(content: Content) -> str:
    """The words of a user's message. UsageError where it is none."""
    if isinstance(content, str):
        return content
    blocks = plain_json(content)
    if not isinstance(blocks, list) or not all(isinstance(block, dict) for block in blocks):
        remedy = "Pass its text, or its list of content blocks"
        raise UsageError(f"{type(content).__name__} is no message of a user", remedy=remedy)
    return "\n".join(block["text"] for block in blocks if isinstance(block.get("text"), str))


def conversation_of(request: Request) -> tuple[Message, ...]:
    """All messages of a request, a host's own first."""
    return (*messages_of(request.raw), *request.messages) if request.raw else request.messages


def plain_request(request: Request) -> Request:
    """A host's own arguments as a request of ours, for a model that does not speak the host's dialect."""
    raw = request.raw
    if raw is None:
        return request
    system = tuple(SystemBlock(text) for text in _system_texts(raw) if text)
    return replace(request, system=system, tools=tools_of(request), messages=conversation_of(request), raw=None)


def tools_of(request: Request) -> tuple[ToolSpec, ...]:
    """The tools that the model is told of; in a host's own arguments those that have a schema: a provider's own have
    none, and nobody else can run them."""
    if request.raw is None:
        return request.tools
    given: Any = request.raw.arguments.get("tools") or ()
    functions = [tool.get("function", tool) for tool in plain_json(list(given))]
    return tuple(
        ToolSpec(str(tool["name"]), str(tool.get("description", "")), tool.get("input_schema") or tool["parameters"])
        for tool in functions
        if "input_schema" in tool or "parameters" in tool
    )


def _system_texts(raw: RawCall) -> Iterator[str]:
    yield content_text(plain_json(raw.arguments.get("instructions" if raw.provider == RESPONSES else "system")))
    for item in _items(raw):
        if not _is_said(item):
            yield content_text(item.get("content"))


def _items(raw: RawCall) -> list[dict[str, Any]]:
    sent: Any = raw.arguments["input" if raw.provider == RESPONSES else "messages"]
    return [{"role": "user", "content": sent}] if isinstance(sent, str) else [plain_json(item) for item in sent]


def messages_of(raw: RawCall) -> tuple[Message, ...]:
    """The conversation in a host's arguments; system and developer messages are not a part of it."""
    return chained([_message(raw.provider, item) for item in _items(raw) if _is_said(item)], _before(raw))


def _before(raw: RawCall) -> str:
    """What stands for all that was said before, where the provider keeps it."""
    return str(raw.arguments.get("previous_response_id") or "")


def chained(messages: Sequence[Message], before: str = "") -> tuple[Message, ...]:
    """Messages with an id each: their own where they have one. `before` is that of the last one said before them."""
    named = []
    for message in messages:
        said = b"" if message.id else repr((before, message.role, message.content)).encode("utf-8", "replace")
        named.append(replace(message, id=f"raw-{hashlib.sha256(said).hexdigest()[:_ID_DIGITS]}") if said else message)
        before = before if message.is_meta else named[-1].id
    return tuple(named)


def _own_copy(value: Any) -> Any:
    """What a host handed in, as it is now: its lists grow while a fork is at work. Objects of an SDK stay what they
    are, so that the same bytes are sent."""
    if isinstance(value, Mapping):
        return {key: _own_copy(item) for key, item in value.items()}
    return type(value)(map(_own_copy, value)) if type(value) in (list, tuple) else value


def finished_call(arguments: Mapping[str, object], response: object) -> tuple[RawCall, Reply]:
    """A call of an SDK as the host made it, and what came back, both as they are: objects of the SDK or their dicts.

    UsageError when they are neither Anthropic's nor OpenAI's.
    """
    try:
        found = plain_json(response)
        if not isinstance(found, dict):
            raise TypeError(f"{type(response).__name__} is no response")
        provider = _provider(found)
        raw = RawCall(provider, _own_copy(arguments))
        usage = usage_of(found.get("usage") or {})
        message = reply_of(raw, found)
        plain_request(Request("", raw=raw))  # all that is read of it later can be read
    except (AttributeError, KeyError, TypeError, IndexError, ValueError) as error:
        raise UsageError(
            f"this is no call of the Anthropic or OpenAI SDK and its response ({type(error).__name__}: {error})",
            remedy="Pass the call's keyword arguments and the response as they are (of a stream its final message, "
            "of `with_raw_response` what `.parse()` gives), or memdir's Request and Reply",
        ) from error
    stop: StopReason = "tool_use" if message.tool_uses else "end_turn"
    return raw, Reply(message, stop, usage, str(found.get("model", "")))


def reply_of(raw: RawCall, reply: object) -> Message:
    """The host's reply (an SDK object or its dict) as the message that comes after those arguments. It has the id that
    its last part will have when the host sends it again."""
    found = plain_json(reply)
    parts: list[Any] = [found["choices"][0]["message"]] if "choices" in found else found.get("output", [found])
    before = next((message.id for message in reversed(messages_of(raw)) if not message.is_meta), _before(raw))
    messages = chained([_message(raw.provider, part) for part in parts] or [Message("assistant", ())], before)
    content = tuple(block for message in messages for block in message.content)
    return replace(messages[-1], content=content)


def _provider(response: Mapping[str, Any]) -> Provider:
    """Whose response it is, by its form."""
    if "choices" in response:
        return "openai-chat"
    if "output" in response:
        return "openai-responses"
    is_chat = response.get("role") == "assistant" and not isinstance(response.get("content"), list)
    if not is_chat and "content" not in response:
        raise ValueError("there is no content in the response")
    return "openai-chat" if is_chat else "anthropic"


def usage_of(usage: Mapping[str, Any]) -> Usage:
    """What a provider counted, in its own words; nothing where it did not.

    OpenAI counts cached tokens as a part of the prompt; we count them beside it, as Anthropic does.
    """
    details = usage.get("prompt_tokens_details") or usage.get("input_tokens_details") or {}
    cached = _count(details, "cached_tokens") or _count(usage, "cached_input_tokens")
    written = _count(details, "cache_write_tokens")
    sent, got = _count(usage, "input_tokens", "prompt_tokens"), _count(usage, "output_tokens", "completion_tokens")
    read, created = _count(usage, "cache_read_input_tokens"), _count(usage, "cache_creation_input_tokens")
    return Usage(max(0, sent - cached - written), got, read + cached, created + written)


def _count(found: Mapping[str, Any], *names: str) -> int:
    return next((int(found[name]) for name in names if found.get(name)), 0)


def host_message(text: str, form: Form) -> Message | dict[str, Any]:
    """What only the model shall see, as a message in the form that the host's messages have."""
    return user(text, is_meta=True) if form == "memdir" else {"role": "user", "content": text}


def _message(provider: Provider, item: Mapping[str, Any]) -> Message:
    is_assistant = item.get("role") == "assistant" or item.get("type") in ("function_call", "reasoning")
    role: Role = "assistant" if is_assistant else "user"
    content = blocks_of(provider, item)
    # The host's arguments do not mark what no one said, so its words must (L4).
    is_host_s = bool(content) and all(isinstance(block, Text) and is_host(block.text) for block in content)
    return Message(role, content, is_meta=role == "user" and is_host_s)


def blocks_of(provider: Provider, item: Mapping[str, Any]) -> tuple[Block, ...]:
    """The blocks of a provider's message, or of an item of its response, in plain JSON."""
    content = item.get("content")
    if provider != ANTHROPIC:
        return tuple(_response_blocks(item) if provider == RESPONSES else _chat_blocks(item))
    if isinstance(content, str):
        return blocks_from(content)
    unmarked = [{name: value for name, value in block.items() if name != "cache_control"} for block in content or ()]
    return blocks_from(unmarked)


def plain_json(value: object) -> Any:
    """What a host holds as objects of an SDK, mappings and tuples, in the plain types of JSON."""
    if isinstance(value, Mapping):
        return {key: plain_json(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain_json(item) for item in value]
    if not hasattr(value, "model_dump"):
        return value
    return value.model_dump(mode="json", exclude_none=True, warnings=False)  # some servers keep to no schema


def _is_said(item: Mapping[str, Any]) -> bool:
    return item.get("role") not in ("system", "developer")


def _chat_blocks(message: Mapping[str, Any]) -> Iterator[Block]:
    if message.get("role") == "tool":
        yield ToolResult(str(message["tool_call_id"]), content_text(message.get("content")))
        return
    words = content_text(message.get("content"))
    if words:
        yield Text(words)
    for call in message.get("tool_calls") or ():
        function = call["function"]
        yield tool_use_of(str(call["id"]), str(function["name"]), str(function["arguments"]))


def _response_blocks(item: Mapping[str, Any]) -> Iterator[Block]:
    match item.get("type", "message"):
        case "message":
            words = content_text(item.get("content"))
            if words:
                yield Text(words)
        case "function_call":
            yield tool_use_of(str(item["call_id"]), str(item["name"]), str(item["arguments"]))
        case "function_call_output":
            yield ToolResult(str(item["call_id"]), content_text(item.get("output")))
        case _:
            yield Opaque(RESPONSES, json.dumps(dict(item)))
