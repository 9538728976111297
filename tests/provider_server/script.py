"""What the server answers: replies in no provider's form, and the ways it can misbehave."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

Body = dict[str, Any]
Trouble = Literal[
    "wrong_key",
    "no_credit",
    "unknown_model",
    "context_too_long",
    "rate_limit",
    "overloaded",
    "server_error",
    "bad_request",
]


@dataclass(frozen=True)
class Words:
    """Text of the assistant."""

    text: str


@dataclass(frozen=True)
class Call:
    """A tool call. Arguments given as text are sent as they are, JSON or not."""

    name: str
    arguments: Mapping[str, Any] | str
    id: str


@dataclass(frozen=True)
class Thinking:
    """Thinking (Anthropic) or reasoning (OpenAI responses), with what proves that it was not changed."""

    text: str
    signature: str


@dataclass(frozen=True)
class Redacted:
    """Thinking that nobody may read."""

    data: str


Part = Words | Call | Thinking | Redacted


@dataclass(frozen=True)
class Answer:
    """A whole reply."""

    parts: tuple[Part, ...]
    is_cut: bool = False
    is_refusal: bool = False
    is_uncounted: bool = False  # as by a server that copies Anthropic's API and counts no tokens

    @property
    def has_calls(self) -> bool:
        return any(isinstance(part, Call) for part in self.parts)


@dataclass(frozen=True)
class Refusal:
    """An error in the provider's own form."""

    trouble: Trouble
    message: str = ""
    headers: Mapping[str, str] = field(default_factory=dict)
    status: int = 0


@dataclass(frozen=True)
class Hang:
    """Say nothing more after so many events; with none, not even a header."""

    answer: Answer
    after_events: int = 0


@dataclass(frozen=True)
class KeepAlive:
    """Send events that say nothing, for ever."""

    answer: Answer
    after_events: int = 0


@dataclass(frozen=True)
class Drop:
    """Close the connection after so many events; with none, before any header."""

    answer: Answer
    after_events: int = 0


@dataclass(frozen=True)
class EndEarly:
    """End the stream after so many events, in all form: a gateway that lost its provider."""

    answer: Answer
    after_events: int = 0


@dataclass(frozen=True)
class HalfJson:
    """Send half of an event's JSON, then end the stream as if nothing were wrong."""

    answer: Answer
    after_events: int = 0


@dataclass(frozen=True)
class ErrorEvent:
    """An error in the middle of a stream."""

    answer: Answer
    refusal: Refusal
    after_events: int = 0


Fault = Hang | KeepAlive | Drop | EndEarly | HalfJson | ErrorEvent
Outcome = Answer | Refusal | Fault
Step = Outcome | Callable[[Body], Outcome]


def says(text: str) -> Answer:
    """A reply of plain words."""
    return Answer((Words(text),))


def calls(*tools: tuple[str, Mapping[str, Any] | str], text: str = "", ids: str = "call") -> Answer:
    """A reply that calls tools."""
    uses = tuple(Call(name, arguments, f"{ids}_{at}") for at, (name, arguments) in enumerate(tools))
    return Answer((*((Words(text),) if text else ()), *uses))
