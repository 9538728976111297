"""What the official SDKs of providers have in common: loaded when used, one client, one limit for a whole reply, every
failure a ModelError."""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Sequence
from contextlib import aclosing
from dataclasses import replace
from importlib import import_module
from typing import Any

from memdir.errors import ModelError
from memdir.model.failures import failed, from_sdk, whole_text
from memdir.model.model import Reply, Request
from memdir.transcript.message import Message, ToolResult

OnText = Callable[[str], None] | None
MAX_REPLY_BYTES = 128 << 20  # the longest that a model writes, a word an event, is a third of it
MAX_LINE_BYTES = 8 << 20  # one may hold a whole reply; the SDKs copy what they have of it with every piece
_UNKNOWN = "Nothing is known about its result."


def load_sdk(package: str) -> Any:
    """A provider's SDK: an extra that need not be installed."""
    try:
        return import_module(package)
    except ImportError as error:
        remedy = f"Install it: pip install 'memdir[{package}]'"
        raise ModelError(f"the package {package} is not installed", kind="no_sdk", remedy=remedy) from error


def bounded_client(sdk: Any, provider: str) -> Any:
    """What an SDK asks through, with an end to what a server may send: the SDKs read on while there is memory."""

    async def bound(response: Any) -> None:
        read = response.aiter_bytes

        async def bounded(chunk_size: int | None = None) -> AsyncIterator[bytes]:
            size = line = 0
            async with aclosing(read(chunk_size)) as pieces:
                async for piece in pieces:
                    size, end = size + len(piece), piece.rfind(b"\n") + 1
                    line = len(piece) - end if end else line + len(piece)
                    if size > MAX_REPLY_BYTES or line > MAX_LINE_BYTES:
                        raise failed("bad_reply", f"{provider} sent {size >> 20} MiB and no end of its reply")
                    yield piece

        response.aiter_bytes = bounded

    return sdk.DefaultAsyncHttpxClient(event_hooks={"response": [bound]})


def sendable(value: Any) -> Any:
    """The same without halves of characters, which a paste, a file or another model may have brought."""
    if type(value) is dict:
        return {sendable(key): sendable(one) for key, one in value.items()}
    if type(value) is list:
        return [sendable(one) for one in value]
    return whole_text(value) if type(value) is str else value


def in_pairs(request: Request) -> Request:
    """The request as every provider takes it: calls in one message, and all of their results first in the next. Hosts
    write a record for each of several calls, and between their results what a person says meanwhile. A conversation
    that is in this form already stays the same, to the byte (G1)."""
    messages, found, early = request.messages, list[Message](), list[ToolResult]()
    at = 0
    while at < len(messages):
        message, at = _without(early, messages[at]), at + 1
        while message.tool_uses and at < len(messages) and messages[at].role == "assistant":
            message, at = replace(message, content=(*message.content, *messages[at].content)), at + 1
        found += [message] if message.content or not messages[at - 1].content else []
        if message.tool_uses:
            following = _without(early, messages[at]) if at < len(messages) else Message("user", ())
            own = {one.tool_use_id for one in following.tool_results}
            late = [_result(use.id, messages[at + 1 :]) for use in message.tool_uses if use.id not in own]
            early, at = [*early, *late], at + 1
            words = tuple(block for block in following.content if not isinstance(block, ToolResult))
            found.append(replace(following, content=(*following.tool_results, *late, *words)))
    if tuple(found) == messages:
        return request
    return replace(request, messages=tuple(found), cache=replace(request.cache, last_message=None))


def _result(call: str, messages: Sequence[Message]) -> ToolResult:
    """What one of these messages says came of a call."""
    results = (one for message in messages for one in message.tool_results)
    return next((one for one in results if one.tool_use_id == call), ToolResult(call, _UNKNOWN, is_error=True))


def _without(early: list[ToolResult], message: Message) -> Message:
    """A message without the results that came before it already, each once."""
    known = [one for one in message.tool_results if one in early]
    early[:] = [one for one in early if one not in known]
    return replace(message, content=tuple(block for block in message.content if block not in known))


class ReplyReader(ABC):
    """Puts a reply together, from the pieces of a stream or from the whole."""

    def __init__(self, on_text: OnText = None) -> None:
        self._on_text = on_text

    @abstractmethod
    def take(self, event: Any) -> None:
        """The next piece of a stream, or all of a reply that does not come in pieces."""

    @abstractmethod
    def reply(self) -> Reply | None:
        """The reply; None when it did not come to its end."""

    def tell(self, words: str | None) -> None:
        """Hand on words as they come."""
        if words and self._on_text:
            self._on_text(words)


class SdkModel(ABC):
    """A `Model` that asks through an SDK. Retrying is not the SDK's: model/failures.py."""

    provider: str  # in messages

    def __init__(self, open_client: Callable[[], Any]) -> None:
        self._open, self._client = open_client, open_client()
        self._held: dict[asyncio.AbstractEventLoop, AsyncGenerator[None]] = {}  # the one loop that it belongs to

    @abstractmethod
    def call(self, request: Request, on_text: OnText) -> tuple[Any, dict[str, Any], ReplyReader]:
        """The SDK's endpoint, its keyword arguments, and what reads its reply."""

    async def complete(self, request: Request, *, on_text: OnText = None) -> Reply:
        await self._begin()
        try:
            async with asyncio.timeout(request.settings.longest_seconds):
                reply = await self._answer(request, on_text)
        except Exception as error:
            raise from_sdk(error, model=request.model, provider=self.provider) from error
        if reply is None:
            raise failed("interrupted", f"{self.provider} broke off in the middle of its reply")
        return reply

    async def _answer(self, request: Request, on_text: OnText) -> Reply | None:
        """In pieces unless a host's own arguments ask for it whole: they are sent again as they were."""
        endpoint, arguments, reader = self.call(in_pairs(request), on_text)
        arguments, settings = sendable(arguments), request.settings
        if arguments.get("stream"):
            async with await endpoint.create(**arguments, timeout=settings.timeout_seconds) as stream:
                async for event in stream:
                    reader.take(event)
        else:
            reader.take(await endpoint.create(**arguments, timeout=settings.longest_seconds))
        return reader.reply()

    async def _begin(self) -> None:
        """A host may run one loop after the other: in the next one a connection breaks when all was sent, and paid."""
        if (loop := asyncio.get_running_loop()) not in self._held:
            self._client = self._open() if self._held else self._client
            self._held = {loop: _until_closed(self._client)}
            await anext(self._held[loop])

    async def close(self) -> None:
        held = self._held.get(asyncio.get_running_loop())
        await (held.aclose() if held is not None else self._client.close())


async def _until_closed(client: Any) -> AsyncGenerator[None]:
    """Goes on until somebody closes it; where nobody does, its loop, as it ends."""
    try:
        yield
    finally:
        await client.close()
