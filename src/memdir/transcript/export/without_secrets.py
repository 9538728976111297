"""Secrets are taken out of what leaves the machine, wherever in a conversation they stand (J4, E5)."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from itertools import groupby

from memdir.store.secrets import redact, redact_parts
from memdir.transcript.export.story import Story, changed_values, filtered
from memdir.transcript.message import Block, Message, Text, ToolResult, ToolUse


def without_secrets(story: Story) -> Story:
    """What stands beside each other first, a key and its value, one half and the other; then every text by itself."""
    asides = tuple((name, _beside(messages)) for name, messages in story.asides)
    return filtered(replace(story, messages=_beside(story.messages), asides=asides), redact)


def _beside(messages: Sequence[Message]) -> tuple[Message, ...]:
    """What one side said without a break is one text."""
    found: list[Message] = []
    for _, said in groupby(messages, key=lambda message: message.role):
        run = list(said)
        blocks = [block for message in run for block in message.content]
        texts = iter(redact_parts([_text(block) for block in blocks if _text(block)]))
        for message in run:
            content = tuple(
                _with_text(block, next(texts)) if _text(block) else _call(block) for block in message.content
            )
            found.append(replace(message, content=content))
    return tuple(found)


def _text(block: Block) -> str:
    match block:
        case Text(text):
            return text
        case ToolResult(_, content):
            return content
        case _:
            return ""


def _with_text(block: Block, text: str) -> Block:
    return replace(block, content=text) if isinstance(block, ToolResult) else Text(text)


def _call(block: Block) -> Block:
    """A call's arguments as one text: the name of a field says that its value is a password."""
    if not isinstance(block, ToolUse):
        return block
    block = _values_beside(block)
    text = json.dumps(dict(block.input), ensure_ascii=False, indent=2)
    clean = redact(text)
    if clean == text:
        return block
    try:
        found = json.loads(clean)
    except ValueError:
        found = None  # what was taken out went over a border
    return replace(block, input=found if isinstance(found, dict) else {"arguments": clean})


def _values_beside(use: ToolUse) -> ToolUse:
    """The same call without a secret that begins in one of its values and ends in the next, such as lines of a file."""
    values: list[str] = []

    def collected(value: str) -> str:
        values.append(value)
        return value

    changed_values(use.input, collected)
    clean = iter(redact_parts(values))
    return replace(use, input=changed_values(use.input, lambda _: next(clean)))
