"""Everything that was said in a session, from its first message on, compactions or not; without secrets where it leaves
the machine, wherever in a conversation they stand (J4, E5)."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby

from memdir.store.secrets import redact, redact_parts
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
            return replace(block, name=change(name), input=_changed_arguments(arguments, change, keys=True))
        case _:
            return block


def _changed_arguments(found: Mapping[str, Json], change: Callable[[str], str], *, keys: bool) -> dict[str, Json]:
    """Arguments of a call with every text in them changed, in order, at any depth; with `keys`, names of fields too.
    Names that become equal get a number, so that no value is lost."""
    changed: dict[str, Json] = {}
    for key, value in found.items():
        name = unique = change(str(key)) if keys else key
        while unique in changed:
            unique = f"{name} ({len(changed)})"
        changed[unique] = _changed_value(value, change, keys=keys)
    return changed


def _changed_value(value: Json, change: Callable[[str], str], *, keys: bool) -> Json:
    match value:
        case str():
            return change(value)
        case dict():
            return _changed_arguments(value, change, keys=keys)
        case list():
            return [_changed_value(item, change, keys=keys) for item in value]
    return value


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

    _changed_arguments(use.input, collected, keys=False)
    clean = iter(redact_parts(values))
    return replace(use, input=_changed_arguments(use.input, lambda _: next(clean), keys=False))
