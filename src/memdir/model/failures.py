"""What went wrong with a provider, in words that name the remedy, one table for all; and trying again: only what the
provider calls passing, with growing pauses, never a storm (B2)."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from memdir.errors import ModelError
from memdir.model.model import Model, Reply, Request

if TYPE_CHECKING:
    from memdir.errors import ModelFailure

# What providers call their errors: Anthropic's types, OpenAI's codes and types, llama.cpp's type.
_BY_CODE: dict[str, ModelFailure] = {
    "authentication_error": "wrong_key",
    "invalid_api_key": "wrong_key",
    "permission_error": "wrong_key",
    "billing_error": "no_credit",
    "insufficient_quota": "no_credit",
    "not_found_error": "unknown_model",
    "model_not_found": "unknown_model",
    "context_length_exceeded": "context_too_long",
    "exceed_context_size_error": "context_too_long",
    "request_too_large": "context_too_long",
    "rate_limit_error": "rate_limit",
    "rate_limit_exceeded": "rate_limit",
    "api_error": "overloaded",
    "overloaded_error": "overloaded",
    "server_error": "overloaded",
    "timeout_error": "overloaded",
}
_BY_STATUS: dict[int, ModelFailure] = {
    401: "wrong_key",
    402: "no_credit",
    403: "wrong_key",
    404: "unknown_model",
    408: "overloaded",
    409: "overloaded",
    413: "context_too_long",
    425: "overloaded",
    429: "rate_limit",
}
# Where a code is missing or says no more than "bad request", the message has to tell.
_BY_WORDS: tuple[tuple[str, ModelFailure], ...] = (
    ("prompt is too long", "context_too_long"),
    ("context length", "context_too_long"),
    ("context window", "context_too_long"),
    ("context size", "context_too_long"),
    ("maximum context", "context_too_long"),
    ("too many tokens", "context_too_long"),
    ("credit balance", "no_credit"),
    ("not a valid model", "unknown_model"),
    ("model not found", "unknown_model"),
    ("api key", "wrong_key"),
    ("usage limit", "rate_limit"),
    ("hit your limit", "rate_limit"),
    ("rate limit", "rate_limit"),
    ("overloaded", "overloaded"),
)
_REMEDIES: dict[ModelFailure, str] = {
    "wrong_key": "Check the API key: it is wrong, expired, or may not use this model",
    "no_credit": "Add credit to the account, or choose another model with the setting model.provider",
    "unknown_model": "Check the setting model.name ({model!r}) and the setting model.baseUrl",
    "context_too_long": "Compact or shorten the conversation, or use a model with a larger context",
    "rate_limit": "Wait, or raise the limit with the provider",
    "overloaded": "The provider has a problem: try again later",
    "bad_request": "The provider refused the request as it is",
    "no_network": "Check the network, a proxy, and the setting model.baseUrl",
    "timeout": "Try again later",
    "interrupted": "Try again",
    "bad_reply": "Check that the setting model.baseUrl names a server that speaks this API",
}

_BROKEN_OFF = frozenset(("RemoteProtocolError", "LocalProtocolError", "ReadError", "WriteError", "CloseError"))
_BAD_ADDRESS = frozenset(("UnsupportedProtocol", "InvalidURL"))
_UNREACHABLE = frozenset(("ConnectError", "ProxyError", "NetworkError", "APIConnectionError"))


def missing_sdk(package: str) -> ModelError:
    """The provider's SDK is an extra that is not installed."""
    remedy = f"Install it: pip install 'memdir[{package}]'"
    return ModelError(f"the package {package} is not installed", kind="no_sdk", remedy=remedy)


def failed(kind: ModelFailure, told: str, *, model: str = "", retry_after: float | None = None) -> ModelError:
    """An error of a kind, with the remedy for that kind."""
    return ModelError(told, kind=kind, remedy=_REMEDIES[kind].format(model=model), retry_after=retry_after)


def broke_off(provider: str) -> ModelError:
    """The stream ended before the reply did."""
    return failed("interrupted", f"the reply of {provider} broke off in the middle")


def from_status(
    status: int, message: str, *, codes: tuple[str, ...], model: str, provider: str, headers: Mapping[str, str]
) -> ModelError:
    """The error behind an HTTP status, or behind an error event in the middle of a stream (status 200)."""
    kind = _kind_of(status, message.lower(), codes)
    shown = f"{status}: {message}" if status >= 400 else f"with an error: {message}"
    return failed(kind, f"{provider} answered {shown}", model=model, retry_after=_retry_after(headers))


def _kind_of(status: int, message: str, codes: tuple[str, ...]) -> ModelFailure:
    for code in codes:
        if code in _BY_CODE:
            return _BY_CODE[code]
    if status in _BY_STATUS:
        return _BY_STATUS[status]
    if status >= 500:
        return "overloaded"
    otherwise: ModelFailure = "bad_request" if status >= 400 else "interrupted"
    return next((kind for words, kind in _BY_WORDS if words in message), otherwise)


def from_connection(error: Exception, *, provider: str) -> ModelError:
    """The error behind a connection that failed, hung or broke off."""
    causes = list(_causes(error))
    names = {type(cause).__name__ for cause in causes}
    told = next((str(cause) for cause in reversed(causes) if str(cause)), type(error).__name__)
    if any(isinstance(cause, TimeoutError) or "Timeout" in type(cause).__name__ for cause in causes):
        return failed("timeout", f"{provider} did not answer in time")
    if names & _BAD_ADDRESS:
        return ModelError(f"{told}", kind="bad_request", remedy="Check the setting model.baseUrl")
    if names & _BROKEN_OFF:
        return failed("interrupted", f"the connection to {provider} broke off: {told}")
    if isinstance(error, ValueError):  # half a JSON, or bytes that are no text
        return failed("interrupted", f"{provider} sent a reply that cannot be read: {told}")
    if names & _UNREACHABLE or any(isinstance(cause, OSError) for cause in causes):
        return failed("no_network", f"{provider} cannot be reached: {told}")
    return failed("bad_reply", f"{provider} sent a reply that cannot be read: {type(error).__name__}: {told}")


def _causes(error: BaseException | None) -> Iterator[BaseException]:
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__


def _retry_after(headers: Mapping[str, str]) -> float | None:
    """Seconds to wait, from `retry-after-ms` or `retry-after`; an HTTP date or nonsense counts as none."""
    for name, scale in (("retry-after-ms", 0.001), ("retry-after", 1.0)):
        try:
            value = float(headers.get(name, ""))
        except ValueError:
            continue
        if value >= 0:
            return value * scale
    return None


_JITTER = 0.25  # so that many clients that failed together do not come back together


@dataclass(frozen=True)
class RetryPolicy:
    """How often and how long. A provider that asks for more patience than `longest_seconds` is not asked again."""

    attempts: int = 4
    first_seconds: float = 1.0
    longest_seconds: float = 60.0


@dataclass
class RetryingModel:
    """A model that tries again when its provider has a passing problem."""

    model: Model
    policy: RetryPolicy = field(default_factory=RetryPolicy)
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep
    chance: random.Random = field(default_factory=random.Random)

    async def complete(self, request: Request, *, on_text: Callable[[str], None] | None = None) -> Reply:
        told = False

        def tell(text: str) -> None:
            nonlocal told
            told = True
            if on_text:
                on_text(text)

        attempt = 1
        while True:
            try:
                return await self.model.complete(request, on_text=tell if on_text else None)
            except ModelError as error:
                pause = self._pause(error, attempt)
                # Words that somebody has already read cannot be taken back, so such a reply is not begun again.
                if pause is None or told:
                    raise
            await self.sleep(pause)
            attempt += 1

    async def close(self) -> None:
        await self.model.close()

    def _pause(self, error: ModelError, attempt: int) -> float | None:
        if not error.is_retryable or attempt >= self.policy.attempts:
            return None
        if error.retry_after is not None:
            return error.retry_after if error.retry_after <= self.policy.longest_seconds else None
        pause: float = min(self.policy.longest_seconds, self.policy.first_seconds * 2 ** (attempt - 1))
        return pause * (1 - _JITTER * self.chance.random())
