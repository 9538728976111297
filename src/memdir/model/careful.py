"""A host's own model: whatever it raises is a ModelError, whatever it returns is a Reply, and it comes to an end.

Types of a host's own code are promises only. A mapping may answer differently each time it is asked, and so may a
property of a subclass: a reply is read once, here, and copied: what the gate judged is what the tool gets (S15).
"""

from __future__ import annotations

import asyncio
import inspect
import math
from collections.abc import Callable, Iterable, Mapping
from functools import partial

from memdir.errors import MemdirError, ModelError
from memdir.events import tell
from memdir.model.model import Model, Reply, Request, Usage, stop_reason_of
from memdir.transcript.message import Block, Json, Message, Opaque, Text, ToolResult, ToolUse

GRACE_SECONDS = 10.0  # beyond the limit of a reply: a provider that keeps it by itself tells more of what went wrong
MAX_TOKENS = 1_000_000_000  # of one kind in one reply: nobody sends or gets as many
MAX_DEPTH = 50  # of lists and objects in the arguments of one call
MAX_VALUES = 100_000  # in them: a list that holds one list many times grows when it is copied
_MAX_NUMBER = 1 << 63


async def ask_in_time(model: Model, request: Request, *, on_text: Callable[[str], None] | None = None) -> Reply:
    """A model's reply, as `ask` has it, or a ModelError when it takes longer than it may."""
    longest = request.settings.longest_seconds + GRACE_SECONDS
    try:
        async with asyncio.timeout(longest):
            return await ask(model, request, on_text=on_text)
    except TimeoutError:
        raise ModelError(f"the model did not answer in {longest:g} s", kind="timeout") from None


async def ask(model: Model, request: Request, *, on_text: Callable[[str], None] | None = None) -> Reply:
    """A model's reply; ModelError when it raises something else than our errors, or gives something else."""
    try:
        listener = partial(tell, on_text) if on_text else None
        outcome: object = model.complete(request, on_text=listener)
        return plain_reply(await outcome if inspect.isawaitable(outcome) else outcome)
    except MemdirError:
        raise
    except Exception as error:
        raise ModelError(f"the model failed ({type(error).__name__})", kind="bad_reply") from error


def plain_reply(reply: object) -> Reply:
    """A copy that nobody else holds. ModelError where it is none that the loop can go on with."""
    if not isinstance(reply, Reply):
        raise ModelError(f"the model gave no reply but {type(reply).__name__}", kind="bad_reply")
    usage: object = reply.usage
    if type(usage) is not Usage or not all(type(one) is int and 0 <= one <= MAX_TOKENS for one in vars(usage).values()):
        raise _unusable("its usage is no count of tokens")
    name: object = reply.model
    stop = stop_reason_of(reply.stop_reason)
    return Reply(_plain_message(reply.message), stop, usage, _text(name) if isinstance(name, str) else "")


def _plain_message(message: object) -> Message:
    if not isinstance(message, Message) or message.role != "assistant":
        raise _unusable("its message is not the assistant's")
    content: object = message.content
    if not isinstance(content, tuple):
        raise _unusable("its content is no tuple of blocks")
    blocks = tuple(map(_plain_block, content))
    return Message("assistant", blocks, _text(message.id), bool(message.is_meta), _text(message.timestamp))


def _plain_block(block: object) -> Block:
    match block:
        case Text(str(text)):
            return Text(_text(text))
        case Opaque(str(provider), str(json)):
            return Opaque(_text(provider), _text(json))
        case ToolResult(str(tool_id), str(content), is_error):
            return ToolResult(_text(tool_id), _text(content), bool(is_error))
        case ToolUse(str(tool_id), str(name), arguments, str(fault)) if isinstance(arguments, Mapping):
            return _plain_use(_text(tool_id), _text(name), arguments, _text(fault))
    raise _unusable(f"a block of it is {type(block).__name__}, or holds something else than it should")


def _plain_use(tool_id: str, name: str, arguments: Mapping[str, Json], fault: str) -> ToolUse:
    try:
        copied = _Copy().of_object(arguments.items(), 1)
    except ValueError as error:
        return ToolUse(tool_id, name, {}, fault or f"the arguments are not plain JSON: {error}")
    return ToolUse(tool_id, name, copied, fault)


class _Copy:
    """A copy of JSON values, and of nothing else: ValueError where something else stands."""

    def __init__(self) -> None:
        self._values = 0

    def of_object(self, items: Iterable[tuple[object, object]], depth: int) -> dict[str, Json]:
        copied: dict[str, Json] = {}
        for key, value in items:
            if not isinstance(key, str):
                raise ValueError(f"a name in them is {type(key).__name__}")
            copied[_text(key)] = self._of(value, depth)
        return copied

    def _of(self, value: object, depth: int) -> Json:
        self._values += 1
        if depth > MAX_DEPTH or self._values > MAX_VALUES:
            raise ValueError("they are too deep or too many")
        if type(value) is dict:
            return self.of_object(value.items(), depth + 1)
        if type(value) is list:
            return [self._of(one, depth + 1) for one in value]
        return _plain_value(value)


def _plain_value(value: object) -> Json:
    if isinstance(value, str):
        return _text(value)
    if value is None or value is True or value is False:
        return value
    if type(value) is int and -_MAX_NUMBER <= value < _MAX_NUMBER:
        return value
    if type(value) is float and math.isfinite(value):
        return value
    raise ValueError(f"{type(value).__name__} is no value of JSON, or too large")


def _text(value: str) -> str:
    """The characters themselves, whatever a class derived from `str` says about them."""
    return str.__str__(value)


def _unusable(fault: str) -> ModelError:
    return ModelError(f"the model gave a reply that cannot be used: {fault}", kind="bad_reply")
