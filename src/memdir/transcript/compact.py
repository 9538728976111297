"""Which messages of a conversation stay as they are when the rest becomes a summary (N7). No model, no disk."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from memdir.transcript.message import Message
from memdir.transcript.tokens import estimate_message


@dataclass(frozen=True)
class Tail:
    """How much of the end of a conversation is kept word for word."""

    min_tokens: int = 10_000  # enough for the last piece of work
    min_messages: int = 5  # with words in them: what was last talked about
    max_tokens: int = 40_000  # beyond this the floor of messages is given up

    @staticmethod
    def within(window: int) -> Tail:
        """The same for a small window: a tail must leave room for work."""
        return Tail(min_tokens=min(10_000, window // 20), max_tokens=min(40_000, window // 5))


def tail_start(messages: Sequence[Message], covered: int, tail: Tail) -> int:
    """Where the tail begins: with what the summary does not cover, further back until the floor is reached.

    Never between a tool call and its result.
    """
    start = min(covered, len(messages))
    tokens = sum(estimate_message(message) for message in messages[start:])
    spoken = sum(bool(message.text) for message in messages[start:])
    while start > 0 and (tokens < tail.min_tokens or spoken < tail.min_messages):
        added = estimate_message(messages[start - 1])
        if tokens + added > tail.max_tokens:
            break
        start -= 1
        tokens += added
        spoken += bool(messages[start].text)
    return whole_calls(messages, start)


def whole_calls(messages: Sequence[Message], start: int) -> int:
    """The nearest place at or before `start` that has no call before it whose result comes after it."""
    while start > 0 and _open_results(messages, start):
        start -= 1
    return start


def _open_results(messages: Sequence[Message], start: int) -> bool:
    """Whether a result at or after `start` answers a call before it."""
    calls = {use.id for message in messages[start:] for use in message.tool_uses}
    return any(result.tool_use_id not in calls for message in messages[start:] for result in message.tool_results)
