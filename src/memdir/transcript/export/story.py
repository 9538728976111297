"""Everything that was said in a session, from its first message on, compactions or not."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from memdir.transcript.message import Block, Message, Text, ToolResult, ToolUse
from memdir.transcript.resume import history, resume
from memdir.transcript.sources.source import SessionRef, TranscriptSource, transcripts_in
from memdir.transcript.tree import Damage

WHOLE_RECORDS = ("memdir", "claude-code")  # agents whose records form a tree


@dataclass(frozen=True)
class Story:
    """A session to be read: title, messages in order, side chains by the name of their agent."""

    ref: SessionRef
    title: str
    messages: tuple[Message, ...]
    asides: tuple[tuple[str, tuple[Message, ...]], ...] = ()
    damage: Damage = field(default_factory=Damage)

    @property
    def started(self) -> str:
        return next((message.timestamp for message in self.messages if message.timestamp), "")


def tell(ref: SessionRef, source: TranscriptSource, *, title: str) -> Story:
    """Read a session whole, with its sub-agents. What its source leaves out, since nobody said it, is the host's."""
    if ref.agent not in WHOLE_RECORDS:
        return Story(ref, title, tuple(source.messages(ref)))
    told = history(ref.path)
    said = {message.id for message in source.messages(ref)}
    messages = tuple(message if message.id in said else replace(message, is_meta=True) for message in told.messages)
    return Story(ref, title, messages, tuple(_asides(ref)), told.damage)


def _asides(ref: SessionRef) -> list[tuple[str, tuple[Message, ...]]]:
    folder = os.path.join(ref.path.removesuffix(".jsonl"), "subagents")
    names = {os.path.basename(path).removesuffix(".jsonl"): path for path in transcripts_in(folder)}
    return [(name, resume(path, is_sidechain=True).messages) for name, path in sorted(names.items())]


def filtered(story: Story, change: Callable[[str], str]) -> Story:
    """The story with every text changed: that is how secrets are taken out of what leaves the machine."""
    asides = tuple((name, _filtered(messages, change)) for name, messages in story.asides)
    return replace(story, title=change(story.title), messages=_filtered(story.messages, change), asides=asides)


def _filtered(messages: Sequence[Message], change: Callable[[str], str]) -> tuple[Message, ...]:
    return tuple(
        replace(message, content=tuple(_changed(block, change) for block in message.content)) for message in messages
    )


def _changed(block: Block, change: Callable[[str], str]) -> Block:
    match block:
        case Text(text):
            return Text(change(text))
        case ToolResult(_, content):
            return replace(block, content=change(content))
        case ToolUse(_, _, arguments):
            plain = {key: change(value) if isinstance(value, str) else value for key, value in arguments.items()}
            return replace(block, input=plain)
        case _:
            return block
