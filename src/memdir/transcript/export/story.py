"""Everything that was said in a session, from its first message on, compactions or not."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from memdir.transcript.message import Block, Json, Message, Text, ToolResult, ToolUse
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
    """The story with every text in it changed, names, keys and times too."""
    return replace(
        story,
        ref=replace(story.ref, id=change(story.ref.id)),
        title=change(story.title),
        messages=_filtered(story.messages, change),
        asides=tuple((change(name), _filtered(messages, change)) for name, messages in story.asides),
    )


def _filtered(messages: Sequence[Message], change: Callable[[str], str]) -> tuple[Message, ...]:
    return tuple(
        replace(
            message,
            content=tuple(_changed(block, change) for block in message.content),
            timestamp=change(message.timestamp),
        )
        for message in messages
    )


def _changed(block: Block, change: Callable[[str], str]) -> Block:
    match block:
        case Text(text):
            return Text(change(text))
        case ToolResult(_, content):
            return replace(block, content=change(content))
        case ToolUse(_, name, arguments):
            return replace(block, name=change(name), input=changed_values(_with_keys(arguments, change), change))
        case _:
            return block


def changed_values(found: Mapping[str, Json], change: Callable[[str], str]) -> dict[str, Json]:
    """Arguments of a call with every text in them changed, in order, at any depth; names of fields stay."""
    return {key: _changed_value(value, change) for key, value in found.items()}


def _changed_value(value: Json, change: Callable[[str], str]) -> Json:
    if isinstance(value, str):
        return change(value)
    if isinstance(value, dict):
        return changed_values(value, change)
    return [_changed_value(item, change) for item in value] if isinstance(value, list) else value


def _with_keys(found: Mapping[str, Json], change: Callable[[str], str]) -> dict[str, Json]:
    """The same with the names of fields changed. Names that become equal get a number, so that no value is lost."""
    renamed: dict[str, Json] = {}
    for key, value in found.items():
        name = unique = change(str(key))
        while unique in renamed:
            unique = f"{name} ({len(renamed)})"
        renamed[unique] = _with_keys_below(value, change)
    return renamed


def _with_keys_below(value: Json, change: Callable[[str], str]) -> Json:
    if isinstance(value, dict):
        return _with_keys(value, change)
    return [_with_keys_below(item, change) for item in value] if isinstance(value, list) else value
