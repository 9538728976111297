"""How much a model can take in, and how much of that a conversation fills."""

from __future__ import annotations

import json

from memdir.model.model import Request, Usage
from memdir.transcript.message import Message
from memdir.transcript.tokens import estimate_message, estimate_messages, estimate_text

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


def context_tokens(request: Request, reply: Message, usage: Usage | None = None) -> int:
    """The tokens that request and reply fill: the provider's figure when it reports one, else an estimate."""
    if usage is not None and usage.prompt:
        return usage.prompt + usage.output
    return overhead_tokens(request) + estimate_messages(request.messages) + estimate_message(reply)


def overhead_tokens(request: Request) -> int:
    """About how many tokens every request of this conversation has besides its messages."""
    system = sum(estimate_text(block.text) for block in request.system)
    schemas = (json.dumps(tool.input_schema, default=dict) for tool in request.tools)
    described = sum(estimate_text(f"{tool.name} {tool.description}") for tool in request.tools)
    return system + described + sum(estimate_text(schema) for schema in schemas)
