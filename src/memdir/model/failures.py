"""What went wrong with a provider, in words that name the remedy, one table for all; and trying again: only what the
provider calls passing, with growing pauses, never a storm (B2)."""

from __future__ import annotations

import asyncio
import json
import random
from collections.abc import Awaitable, Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING, Any

from memdir.disk.shipped import shipped_text
from memdir.errors import ModelError
from memdir.model.model import Model, Reply, Request

if TYPE_CHECKING:
    from memdir.errors import ModelFailure

_OF_CONNECTION = frozenset(("APIConnectionError", "APIResponseValidationError"))
_BROKEN_OFF = frozenset(("RemoteProtocolError", "LocalProtocolError", "ReadError", "WriteError", "CloseError"))
_BAD_ADDRESS = frozenset(("UnsupportedProtocol", "InvalidURL"))
_UNREACHABLE = frozenset(("ConnectError", "ProxyError", "NetworkError", "APIConnectionError"))


@cache
def _table() -> dict[ModelFailure, dict[str, Any]]:
    """What providers call each kind of failure, and its remedy. Codes are Anthropic's types, OpenAI's codes and types,
    llama.cpp's type; words of the message tell where a code is missing or says no more than "bad request"."""
    table: dict[ModelFailure, dict[str, Any]] = json.loads(shipped_text("model/failures.json"))
    return table


def failed(kind: ModelFailure, told: str, *, model: str = "", retry_after: float | None = None) -> ModelError:
    """An error of a kind, with the remedy for that kind."""
    return ModelError(told, kind=kind, remedy=_table()[kind]["remedy"].format(model=model), retry_after=retry_after)


def from_sdk(error: Exception, *, model: str, provider: str) -> ModelError:
    """The error behind whatever an SDK raised; both name their classes and fields alike."""
    if isinstance(error, ModelError):
        return error
    names = {known.__name__ for known in type(error).__mro__}
    if "APIError" not in names or names & _OF_CONNECTION:
        return from_connection(error, provider=provider)
    response = getattr(error, "response", None)  # none where the stream told the error
    status, headers = (response.status_code, response.headers) if response is not None else (200, {})
    codes = tuple(str(code) for name in ("code", "type") if (code := getattr(error, name, None)))
    told = str(getattr(error, "api_message", None) or getattr(error, "message", error))
    return from_status(status, told, codes=codes, model=model, provider=provider, headers=headers)


def from_status(
    status: int, message: str, *, codes: tuple[str, ...], model: str, provider: str, headers: Mapping[str, str]
) -> ModelError:
    """The error behind an HTTP status, or behind an error event in the middle of a stream (status 200)."""
    kind = _kind_of(status, message.lower(), codes)
    shown = f"{status}: {message}" if status >= 400 else f"with an error: {message}"
    return failed(kind, f"{provider} answered {shown}", model=model, retry_after=_retry_after(headers))


def _kind_of(status: int, message: str, codes: tuple[str, ...]) -> ModelFailure:
    table = _table().items()
    for name, told in (*(("codes", code) for code in codes), ("statuses", status)):
        known = next((kind for kind, failure in table if told in failure.get(name, ())), None)
        if known:
            return known
    if status >= 500:
        return "overloaded"
    by_words = (kind for kind, failure in table if any(words in message for words in failure.get("words", ())))
    return next(by_words, "bad_request" if status >= 400 else "interrupted")


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

    attempts: int = 4  # the first among them
    first_seconds: float = 1.0  # of waiting; doubled each time
    longest_seconds: float = 60.0  # of waiting


@dataclass
class RetryingModel:
    """A model that tries again when its provider has a passing problem."""

    model: Model
    policy: RetryPolicy = field(default_factory=RetryPolicy)
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep
    chance: random.Random = field(default_factory=random.Random)
    on_pause: Callable[[ModelError, float], None] | None = None  # told why it waits, and for how many seconds

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
                if self.on_pause:
                    self.on_pause(error, pause)
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
