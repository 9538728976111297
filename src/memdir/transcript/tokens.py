"""How many tokens a text will cost, without its tokenizer: counted by kinds of characters.

Used where a provider reports no figure of its own. tests/transcript/test_tokens.py holds it against a real tokenizer.
Also which messages stay as they are when the rest of a conversation becomes a summary (N7).
"""

from __future__ import annotations

import json
import math
import string
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from memdir.transcript.message import Message, Opaque, Text, ToolResult, ToolUse

MESSAGE_OVERHEAD = 4  # role and separators of one message


def _lead(first: int, last: int) -> bytes:
    """The first bytes of characters in UTF-8, so that each character counts once."""
    return bytes(range(first, last + 1))


# Tokens a character, fitted to a byte-pair tokenizer over prose in 22 languages, code, JSON, logs and diffs.
_ASCII = (
    (string.ascii_lowercase.encode(), 0.23),
    (string.ascii_uppercase.encode(), 0.43),
    (string.digits.encode(), 0.85),
    (string.punctuation.encode(), 0.32),
    (b"\n", 1.5),
    (b" ", 0.09),
)
_BEYOND = (
    (_lead(0xC2, 0xCB), 2.0),  # Latin with accents
    (_lead(0xCC, 0xCF), 0.95),  # Greek
    (_lead(0xD0, 0xD5), 0.55),  # Cyrillic
    (_lead(0xD6, 0xDF), 0.75),  # Hebrew, Arabic
    (_lead(0xE0, 0xE1), 1.05),  # Indic, Thai, Vietnamese
    (_lead(0xE2, 0xE2), 0.6),  # dashes, quotes, arrows
    (_lead(0xE3, 0xE9), 1.15),  # Chinese, Japanese
    (_lead(0xEA, 0xED), 1.2),  # Korean
    (_lead(0xEE, 0xEF), 1.8),  # full-width forms
    (_lead(0xF0, 0xF4), 2.5),  # emoji
)


def estimate_text(text: str) -> int:
    """About how many tokens a text has."""
    if not text:
        return 0
    data = text.encode("utf-8", "replace")
    classes = _ASCII if len(data) == len(text) else (*_ASCII, *_BEYOND)
    return math.ceil(sum(weight * (len(data) - len(data.translate(None, kind))) for kind, weight in classes))


def estimate_message(message: Message) -> int:
    """About how many tokens a message has, its calls and results included."""
    total = MESSAGE_OVERHEAD
    for block in message.content:
        match block:
            case ToolUse(_, name, arguments):
                total += estimate_text(name) + estimate_text(json.dumps(dict(arguments), ensure_ascii=False))
            case Text(text) | ToolResult(_, text) | Opaque(_, text):
                total += estimate_text(text)
    return total


def estimate_messages(messages: Iterable[Message]) -> int:
    return sum(estimate_message(message) for message in messages)


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
    tokens = estimate_messages(messages[start:])
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
