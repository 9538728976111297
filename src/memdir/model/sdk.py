"""What the official SDKs of providers have in common: loaded when used, one client, one limit for a whole reply, every
failure a ModelError."""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Callable
from importlib import import_module
from typing import Any

from memdir.errors import ModelError
from memdir.model.failures import failed, from_sdk, whole_text
from memdir.model.model import Reply, Request

OnText = Callable[[str], None] | None


def load_sdk(package: str) -> Any:
    """A provider's SDK: an extra that need not be installed."""
    try:
        return import_module(package)
    except ImportError as error:
        remedy = f"Install it: pip install 'memdir[{package}]'"
        raise ModelError(f"the package {package} is not installed", kind="no_sdk", remedy=remedy) from error


def sendable(value: Any) -> Any:
    """The same without halves of characters, which a paste, a file or another model may have brought."""
    if type(value) is dict:
        return {sendable(key): sendable(one) for key, one in value.items()}
    if type(value) is list:
        return [sendable(one) for one in value]
    return whole_text(value) if type(value) is str else value


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

    def __init__(self, client: Any) -> None:
        self._client = client

    @abstractmethod
    def call(self, request: Request, on_text: OnText) -> tuple[Any, dict[str, Any], ReplyReader]:
        """The SDK's endpoint, its keyword arguments, and what reads its reply."""

    async def complete(self, request: Request, *, on_text: OnText = None) -> Reply:
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
        endpoint, arguments, reader = self.call(request, on_text)
        arguments, settings = sendable(arguments), request.settings
        if arguments.get("stream"):
            async with await endpoint.create(**arguments, timeout=settings.timeout_seconds) as stream:
                async for event in stream:
                    reader.take(event)
        else:
            reader.take(await endpoint.create(**arguments, timeout=settings.longest_seconds))
        return reader.reply()

    async def close(self) -> None:
        await self._client.close()
