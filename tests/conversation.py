"""A long conversation with many tools, the same every time: what a fork shares with its parent."""

from __future__ import annotations

import random
from collections.abc import Sequence

from memdir.model.model import CachePolicy, ModelSettings, Request, SystemBlock, ToolSpec
from memdir.transcript.message import Block, Message, Text, ToolResult, ToolUse

TOOLS = 30
MESSAGES = 60
_SYLLABLES = (
    "ka",
    "lo",
    "mi",
    "ner",
    "pul",
    "sto",
    "tra",
    "ven",
    "zi",
    "dor",
    "fen",
    "gul",
    "har",
    "jin",
    "bex",
    "qua",
)


def words(chance: random.Random, count: int) -> str:
    """Something that looks like text."""
    return " ".join("".join(chance.choices(_SYLLABLES, k=chance.randint(1, 4))) for _ in range(count))


def tool_specs(count: int = TOOLS) -> tuple[ToolSpec, ...]:
    chance = random.Random(count)
    return tuple(
        ToolSpec(
            f"tool_{number}",
            words(chance, 60),
            {"type": "object", "properties": {"file_path": {"type": "string", "description": words(chance, 8)}}},
        )
        for number in range(count)
    )


def conversation(count: int = MESSAGES) -> tuple[Message, ...]:
    """Questions, calls of several tools at once, results, answers; begins with the user, ends with the assistant."""
    chance = random.Random(count)
    messages: list[Message] = []
    while len(messages) < count:
        at = len(messages)
        uses = tuple(ToolUse(f"t{at}_{n}", f"tool_{n}", {"file_path": words(chance, 2)}) for n in range(1 + at % 3))
        messages.append(_message(at, "user", [Text(words(chance, 80))]))
        messages.append(_message(at + 1, "assistant", [Text(words(chance, 20)), *uses]))
        messages.append(_message(at + 2, "user", [ToolResult(use.id, words(chance, 250)) for use in uses]))
        messages.append(_message(at + 3, "assistant", [Text(words(chance, 120))]))
    return tuple(messages[:count])


def _message(at: int, role: str, blocks: Sequence[Block]) -> Message:
    return Message("assistant" if role == "assistant" else "user", tuple(blocks), f"m{at}")


def parent_request(model: str, memory_section: str, messages: Sequence[Message], *, key: str = "session-1") -> Request:
    """The host's own request: what is the same for everyone, the boundary, the memory section, the messages (P6)."""
    everyone = words(random.Random(7), 1500)
    system = (SystemBlock(everyone, ends_prefix=True), SystemBlock(memory_section, ends_prefix=True))
    return Request(model, system, tool_specs(), tuple(messages), ModelSettings(), CachePolicy(key=key))
