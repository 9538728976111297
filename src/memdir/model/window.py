"""How much a model can take in, and how much of that a conversation fills."""

from __future__ import annotations

import json

from memdir.model.model import Request, Usage
from memdir.model.raw import plain_request
from memdir.transcript.message import Message
from memdir.transcript.tokens import estimate_message, estimate_text

DEFAULT_WINDOW = 128_000  # of a model that nothing is known about: most have this or more
# Windows in tokens by the beginning of a model's name, the longest beginning counts. `model.contextTokens` overrides.
WINDOWS = {
    "claude": 200_000,
    "gpt-5": 400_000,
    "gpt-4.1": 1_047_576,
    "gpt-4o": 128_000,
    "o3": 200_000,
    "o4": 200_000,
    "gemini": 1_048_576,
    "builtin": 200_000,
}


def window_of(model: str, *, configured: int = 0) -> int:
    """The window of a model in tokens."""
    name = model.rsplit("/", 1)[-1].lower()
    known = [prefix for prefix in WINDOWS if name.startswith(prefix)]
    return configured or (WINDOWS[max(known, key=len)] if known else DEFAULT_WINDOW)


class ContextCount:
    """Counts the context of one conversation as it grows: what was counted in an earlier turn is not counted again, so
    that a turn's end costs the same however long the conversation is."""

    def __init__(self) -> None:
        self._frame: tuple[object, object, int] = ((), (), 0)
        self._messages: dict[int, tuple[Message, int]] = {}

    def tokens(self, request: Request, reply: Message, usage: Usage | None = None) -> int:
        """The tokens that request and reply fill: the provider's figure when it reports one, else an estimate."""
        if usage is not None and usage.prompt:
            return usage.total
        request = plain_request(request)  # a host's own arguments hold the conversation
        known, self._messages = self._messages, {}
        total = self._overhead(request)
        for message in (*request.messages, reply):
            counted = known.get(id(message))
            if counted is None or counted[0] is not message:  # an id is unique only as long as its object lives
                counted = (message, estimate_message(message))
            self._messages[id(message)] = counted
            total += counted[1]
        return total

    def _overhead(self, request: Request) -> int:
        system, tools, tokens = self._frame
        if system is not request.system or tools is not request.tools:
            tokens = overhead_tokens(request)
            self._frame = (request.system, request.tools, tokens)
        return tokens


def context_tokens(request: Request, reply: Message, usage: Usage | None = None) -> int:
    """The tokens that request and reply fill: the provider's figure where `usage` has one, else an estimate."""
    return ContextCount().tokens(request, reply, usage)


def overhead_tokens(request: Request) -> int:
    """About how many tokens every request of this conversation has besides its messages."""
    request = plain_request(request)  # a host's own arguments hold system and tools
    system = sum(estimate_text(block.text) for block in request.system)
    schemas = (json.dumps(tool.input_schema, default=dict) for tool in request.tools)
    described = sum(estimate_text(f"{tool.name} {tool.description}") for tool in request.tools)
    return system + described + sum(estimate_text(schema) for schema in schemas)
