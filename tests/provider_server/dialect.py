"""What every dialect of the server has to know: how to judge a request, and how to say an answer in its form."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from typing import Any, Protocol

from tests.provider_server.prompt_cache import CacheUse
from tests.provider_server.script import Answer, Body, Refusal


class BadRequest(Exception):
    """The request is not what the provider takes."""


@dataclass
class Issued:
    """What the server gave out and wants back unchanged."""

    signed: set[tuple[str, str]] = field(default_factory=set)
    redacted: set[str] = field(default_factory=set)


class Dialect(Protocol):
    """One API."""

    def check(self, body: Body) -> None:
        """BadRequest when the provider would not take this."""
        ...

    def use_cache(self, body: Body) -> CacheUse: ...

    def whole(self, answer: Answer, body: Body, use: CacheUse) -> bytes:
        """The reply as one JSON."""
        ...

    def events(self, answer: Answer, body: Body, use: CacheUse) -> list[bytes]:
        """The reply as a stream of events."""
        ...

    def keep_alive(self) -> bytes:
        """An event that says nothing."""
        ...

    def error(self, refusal: Refusal) -> tuple[int, bytes]:
        """Status and body of an error."""
        ...

    def error_event(self, refusal: Refusal) -> bytes: ...


def require(condition: object, message: str) -> None:
    if not condition:
        raise BadRequest(message)


def require_name(name: str) -> None:
    """Of a tool, wherever it stands in a conversation."""
    require(re.fullmatch("[a-zA-Z0-9_-]{1,64}", name), "name: string should match pattern '^[a-zA-Z0-9_-]{1,64}$'")


def event(data: Any, name: str = "") -> bytes:
    """One server-sent event."""
    text = data if isinstance(data, str) else json.dumps(data, ensure_ascii=False)
    if any("\ud800" <= one <= "\udfff" for one in text):  # half a character: only an escape can tell of it
        text = json.dumps(data)
    return (f"event: {name}\n" if name else "").encode() + b"data: " + text.encode("utf-8") + b"\n\n"


def pieces(text: str, size: int = 12) -> list[str]:
    """A text as it comes in a stream."""
    return [text[at : at + size] for at in range(0, len(text), size)] or [""]


def output_tokens(answer: Answer) -> int:
    return max(1, len(repr(answer.parts)) // 8)
