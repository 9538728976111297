"""What went wrong with a model. Of a provider: in words that name the remedy, one table for all; and trying again: only
what the provider calls passing, with growing pauses, never a storm (B2).

Of a host's own model: whatever it raises is a ModelError, whatever it returns is a Reply, and it comes to an end. Types
of a host's own code are promises only. A mapping may answer differently each time it is asked, and so may a property of
a subclass: a reply is read once, here, and copied: what the gate judged is what the tool gets (S15).
"""

from __future__ import annotations

import asyncio
import inspect
import json
import math
import random
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache, partial
from typing import TYPE_CHECKING, Any

from memdir.disk.shipped import shipped_text
from memdir.errors import MemdirError, ModelError
from memdir.events import tell
from memdir.model.model import Model, Reply, Request, Usage, stop_reason_of
from memdir.transcript.message import Block, Json, Message, Opaque, Text, ToolResult, ToolUse

if TYPE_CHECKING:
    from memdir.errors import ModelFailure

_OF_CONNECTION = frozenset(("APIConnectionError", "APIResponseValidationError"))
_BROKEN_OFF = frozenset(("RemoteProtocolError", "LocalProtocolError", "ReadError", "WriteError", "CloseError"))
_BAD_ADDRESS = frozenset(("UnsupportedProtocol", "InvalidURL"))
_UNREACHABLE = frozenset(("ConnectError", "ProxyError", "NetworkError", "APIConnectionError"))
GRACE_SECONDS = 10.0  # beyond the limit of a reply: a provider that keeps it by itself tells more of what went wrong
MAX_TOKENS = 1_000_000_000  # of one kind in one reply: nobody sends or gets as many
MAX_DEPTH = 50  # of lists and objects in the arguments of one call
MAX_VALUES = 100_000  # in them: a list that holds one list many times grows when it is copied
_MAX_NUMBER = 1 << 63


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
    if ours := next((cause for cause in _causes(error) if isinstance(cause, ModelError)), None):
        return ours
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
    except (Exception, SystemExit, asyncio.CancelledError) as error:
        task = asyncio.current_task()
        if isinstance(error, asyncio.CancelledError) and (task is None or task.cancelling()):
            raise  # whoever waits for the reply was cancelled, not the model by itself
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
    return Reply(_plain_message(reply.message), stop, usage, whole_text(name) if isinstance(name, str) else "")


def _plain_message(message: object) -> Message:
    if not isinstance(message, Message) or message.role != "assistant":
        raise _unusable("its message is not the assistant's")
    content: object = message.content
    if not isinstance(content, tuple):
        raise _unusable("its content is no tuple of blocks")
    blocks = tuple(map(_plain_block, content))
    return Message("assistant", blocks, whole_text(message.id), bool(message.is_meta), whole_text(message.timestamp))


def _plain_block(block: object) -> Block:
    match block:
        case Text(str(text)):
            return Text(whole_text(text))
        case Opaque(str(provider), str(json)):
            return Opaque(whole_text(provider), whole_text(json))
        case ToolResult(str(tool_id), str(content), is_error):
            return ToolResult(whole_text(tool_id), whole_text(content), bool(is_error))
        case ToolUse(str(tool_id), str(name), arguments, str(fault)) if isinstance(arguments, Mapping):
            return _plain_use(whole_text(tool_id), whole_text(name), arguments, whole_text(fault))
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
            copied[whole_text(key)] = self._of(value, depth)
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
        return whole_text(value)
    if value is None or value is True or value is False:
        return value
    if type(value) is int and -_MAX_NUMBER <= value < _MAX_NUMBER:
        return value
    if type(value) is float and math.isfinite(value):
        return value
    raise ValueError(f"{type(value).__name__} is no value of JSON, or too large")


def whole_text(value: str) -> str:
    """The characters, whatever a class derived from `str` says of them; no half of one, which no request can hold."""
    text = str.__str__(value)
    return text if text.isascii() else text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def _unusable(fault: str) -> ModelError:
    return ModelError(f"the model gave a reply that cannot be used: {fault}", kind="bad_reply")
