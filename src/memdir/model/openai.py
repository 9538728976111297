"""OpenAI, and anything that speaks its API (Ollama, vLLM, llama.cpp, OpenRouter …), through the official SDK.

Two dialects, chat completions and responses, each rendered deterministically (G1) in a module of its own. Caching is
the provider's own; `prompt_cache_key` keeps a fork on the machine that has its parent's prefix.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Literal

from memdir.errors import ModelError
from memdir.model.anthropic_reply import PROVIDER as ANTHROPIC
from memdir.model.failures import from_connection, from_status, missing_sdk
from memdir.model.model import Reply, Request
from memdir.model.openai_chat import ChatReader, chat_arguments
from memdir.model.openai_responses import ResponseReader, responses_arguments
from memdir.model.raw import plain_request

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


_Reader = ChatReader | ResponseReader


async def _read(endpoint: Any, arguments: dict[str, Any], request: Request, reader: _Reader) -> None:
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
