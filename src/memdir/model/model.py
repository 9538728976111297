"""The contract between the loop and any model (G1): a request that is exactly what the provider gets, and a reply; and
a model that says what it was told to say, for tests and demos."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, Protocol

from memdir.errors import ModelError
from memdir.transcript.message import Json, Message, Text, ToolUse

if TYPE_CHECKING:
    from memdir.model.job import TypedJob

REPLY_TOKENS, LONG_REPLY_TOKENS = 8192, 32_000  # a few files; one of 100 kB, behind all that was thought before it
_GIVES_LONG_REPLIES = re.compile(r"(?:.*/)?(?:claude-(?!3)|(?:gpt-5|o[34])(?!.*chat))")  # the others may refuse more
_SHOWN = 200  # characters of arguments that cannot be read
_NOT_IN_A_NAME = re.compile(r"[^A-Za-z0-9_-]")  # of a tool: a provider takes no conversation in which a call has it
_MAX_NAME = 64  # characters of it
StopReason = Literal["end_turn", "tool_use", "max_tokens", "refusal", "other"]
Provider = Literal["anthropic", "openai-chat", "openai-responses"]
ANTHROPIC: Provider = "anthropic"
RESPONSES: Provider = "openai-responses"


@dataclass(frozen=True)
class ToolSpec:
    """A tool as a model sees it."""

    name: str  # as the model calls it
    description: str  # what the model is told of it
    input_schema: Mapping[str, Json]  # JSON schema of its arguments


@dataclass(frozen=True)
class SystemBlock:
    """A part of the system prompt. `ends_prefix` marks the end of a stable part: a cache breakpoint (P6)."""

    text: str  # the words
    ends_prefix: bool = False  # whether what stands up to here is the same in every request


@dataclass(frozen=True)
class ModelSettings:
    """What shapes a reply. Part of the cache key for some providers, so a fork keeps its parent's.

    `timeout_seconds` is how long a provider may be silent, `longest_seconds` how long a whole reply may take.
    """

    max_tokens: int = 0  # of the reply; 0 for as many as a model of this name surely gives
    thinking_tokens: int = 0  # of thinking before it; 0 for none
    json_schema: Mapping[str, Json] | None = None  # what the reply must be, where it must be JSON
    timeout_seconds: float = 120.0  # how long a provider may be silent
    longest_seconds: float = 900.0  # how long a whole reply may take

    def reply_tokens(self, model: str) -> int:
        """The most tokens that a model is asked for."""
        return self.max_tokens or (LONG_REPLY_TOKENS if _GIVES_LONG_REPLIES.match(model) else REPLY_TOKENS)


@dataclass(frozen=True)
class CachePolicy:
    """Where cache breakpoints stand. `last_message` is the index of the last message that may carry one: a fork keeps
    its parent's, so that it reads the shared prefix and writes nothing beyond it (G2). None: the very last message."""

    last_message: int | None = None  # index of the last message that may carry a breakpoint
    key: str = ""  # one cache for all requests of a conversation, where a provider has keys


@dataclass(frozen=True)
class RawCall:
    """The very keyword arguments a host sent to its SDK. They are sent again as they are, the request's messages after
    them."""

    provider: Provider  # whose arguments they are
    arguments: Mapping[str, object]  # as the host sent them


@dataclass(frozen=True)
class Request:
    """Exactly what a provider gets, but for the job. A fork is the parent's request and one message more."""

    model: str  # its name
    system: tuple[SystemBlock, ...] = ()  # the system prompt
    tools: tuple[ToolSpec, ...] = ()  # what the model may call
    messages: tuple[Message, ...] = ()  # the conversation
    settings: ModelSettings = field(default_factory=ModelSettings)  # what shapes the reply
    cache: CachePolicy = field(default_factory=CachePolicy)  # where cache breakpoints stand
    raw: RawCall | None = None  # a host's own arguments, which stand before the messages
    job: TypedJob | None = None  # for the built-in model: the facts of which the last message is the prose


@dataclass(frozen=True)
class Usage:
    """Tokens of one reply, or the sum of several (G3)."""

    input: int = 0  # tokens sent that no cache knew
    output: int = 0  # tokens received
    cache_read: int = 0  # tokens sent that a cache knew
    cache_created: int = 0  # tokens sent that a cache keeps now

    def __add__(self, other: Usage) -> Usage:
        return Usage(**{kind: count + getattr(other, kind) for kind, count in vars(self).items()})

    @property
    def prompt(self) -> int:
        """All tokens sent, cached or not."""
        return self.input + self.cache_read + self.cache_created

    @property
    def total(self) -> int:
        """All tokens sent and received: what fills a context, and what counts against a cap."""
        return self.prompt + self.output

    @property
    def hit_percent(self) -> float:
        """The share of the prompt that came from the cache."""
        return 100.0 * self.cache_read / self.prompt if self.prompt else 0.0


# Why a reply ended, as providers and servers call it.
_STOP_REASONS: dict[str, StopReason] = {
    **dict.fromkeys(("end_turn", "stop_sequence", "stop", "eos"), "end_turn"),
    **dict.fromkeys(("tool_use", "tool_calls", "function_call"), "tool_use"),
    **dict.fromkeys(("max_tokens", "length", "max_output_tokens", "model_context_window_exceeded"), "max_tokens"),
    **dict.fromkeys(("refusal", "content_filter", "safety"), "refusal"),
}
CUT_OFF: tuple[StopReason, ...] = ("max_tokens", "refusal")  # what a reply holds then may be half of what was meant


def stop_reason_of(told: object) -> StopReason:
    """Why a reply ended, in a word that every part here understands."""
    return _STOP_REASONS.get(str(told).casefold(), "other")


@dataclass(frozen=True)
class Reply:
    """A model's answer."""

    message: Message  # what it said
    stop_reason: StopReason  # why it ended
    usage: Usage = field(default_factory=Usage)  # what it cost
    model: str = ""  # who answered, as the provider names it


def tool_use_of(tool_id: str, name: str, arguments: str, given: Mapping[str, Json] | None = None) -> ToolUse:
    """The call of a tool whose arguments came as JSON text; `given` where there are none. What is no JSON object is a
    fault that the model is told."""
    name = _NOT_IN_A_NAME.sub("_", name)[:_MAX_NAME] or "_"
    if not arguments.strip():
        return ToolUse(tool_id, name, given or {})
    try:
        parsed = json.loads(arguments)
    except (ValueError, RecursionError) as error:
        return ToolUse(tool_id, name, {}, f"the arguments are not valid JSON ({error}): {arguments[:_SHOWN]}")
    if not isinstance(parsed, dict):
        return ToolUse(tool_id, name, {}, f"the arguments are not a JSON object: {arguments[:_SHOWN]}")
    return ToolUse(tool_id, name, parsed)


class Model(Protocol):
    """Anything that answers requests."""

    async def complete(self, request: Request, *, on_text: Callable[[str], None] | None = None) -> Reply:
        """Answer; `on_text` gets the words as they come. Raises ModelError, nothing else; may be cancelled."""
        ...

    async def close(self) -> None:
        """Let go of connections. Called once, when the model is not needed any more."""
        ...


Step = Reply | ModelError | Callable[[Request], Reply]


@dataclass
class ScriptedModel:
    """Answers request after request with the steps of its script, and keeps the requests.

    A step is a reply, an error to raise, or a function of the request. After the last step it raises, so that a loop
    that goes on too long is seen.
    """

    steps: Sequence[Step]
    requests: list[Request] = field(default_factory=list)
    is_closed: bool = False

    async def complete(self, request: Request, *, on_text: Callable[[str], None] | None = None) -> Reply:
        at = len(self.requests)
        self.requests.append(request)
        if at >= len(self.steps):
            raise ModelError(
                f"the script has only {len(self.steps)} steps", kind="bad_request", remedy="Add a step to it"
            )
        step = self.steps[at]
        if isinstance(step, ModelError):
            raise step
        reply = step(request) if callable(step) else step
        if on_text and reply.message.text:
            on_text(reply.message.text)
        return reply

    async def close(self) -> None:
        self.is_closed = True


def says(text: str, *, usage: Usage | None = None) -> Reply:
    """A final reply of plain words."""
    return Reply(Message("assistant", (Text(text),)), "end_turn", usage or Usage())


def calls(*tools: tuple[str, Mapping[str, Json]], text: str = "", usage: Usage | None = None) -> Reply:
    """A reply that calls tools, all at once."""
    words = (Text(text),) if text else ()
    uses = tuple(ToolUse(f"call_{number}", name, arguments) for number, (name, arguments) in enumerate(tools))
    return Reply(Message("assistant", (*words, *uses)), "tool_use", usage or Usage())
