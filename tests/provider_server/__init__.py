"""A model provider for tests: real HTTP on this machine, replies from a script, prompt caching by the documented rules.

It speaks Anthropic Messages, OpenAI chat completions, OpenAI responses and Gemini, streamed and whole, is as strict
about requests as the providers are, and misbehaves when the script says so.

with ProviderServer([says("Hello."), Hang(says("never"), after_events=3)]) as server: ...
"""

from tests.provider_server.script import (
    Answer,
    Call,
    Drop,
    EndEarly,
    ErrorEvent,
    HalfJson,
    Hang,
    KeepAlive,
    Redacted,
    Refusal,
    Step,
    Thinking,
    Words,
    calls,
    says,
)
from tests.provider_server.server import KEY, ProviderServer, Recorded

__all__ = [
    "KEY",
    "Answer",
    "Call",
    "Drop",
    "EndEarly",
    "ErrorEvent",
    "HalfJson",
    "Hang",
    "KeepAlive",
    "ProviderServer",
    "Recorded",
    "Redacted",
    "Refusal",
    "Step",
    "Thinking",
    "Words",
    "calls",
    "says",
]
