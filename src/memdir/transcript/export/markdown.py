"""A session from its first message on, compactions or not, and as one Markdown file; what a message consists of for any
reader: who spoke, what was called. Without secrets where it leaves the machine, wherever they stand (J4, E5)."""

from __future__ import annotations

import html
import json
import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby

from memdir.disk.plain_json import decode
from memdir.store.secrets import redact, redact_parts
from memdir.transcript.conversation import history, resume
from memdir.transcript.message import Block, Json, Message, Text, ToolResult, ToolUse
from memdir.transcript.session_list import WHOLE_RECORDS
from memdir.transcript.sources.source import SessionRef, TranscriptSource, transcripts_in
from memdir.transcript.tree import Damage

_TELLING = ("command", "file_path", "pattern", "query", "url", "path", "prompt", "description")
HEADLINE_CHARACTERS = 100  # of a call: the one argument that says what it is about


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
            content=tuple(_changed(block, change, keys=True) for block in message.content),
            timestamp=change(message.timestamp),
        )
        for message in messages
    )


def _changed(block: Block, change: Callable[[str], str], *, keys: bool = False) -> Block:
    match block:
        case Text(text):
            return Text(change(text))
        case ToolResult(_, content):
            return replace(block, content=change(content))
        case ToolUse(_, name, arguments):
            changed = _changed_arguments(arguments, change, keys=keys)
            return replace(block, name=change(name) if keys else name, input=changed)
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
    asides = tuple((name, _spoken(messages)) for name, messages in story.asides)
    return filtered(replace(story, messages=_spoken(story.messages), asides=asides), redact)


def _spoken(messages: Sequence[Message]) -> tuple[Message, ...]:
    """What one side said without a break is one text; a call is one of its own."""
    found: list[Message] = []
    for _, run in groupby(messages, key=lambda message: message.role):
        said = list(run)
        blocks = (block for message in said for block in message.content if not isinstance(block, ToolUse))
        clean = iter(_beside(list(blocks)))
        for message in said:
            content = (_call(block) if isinstance(block, ToolUse) else next(clean) for block in message.content)
            found.append(replace(message, content=tuple(content)))
    return tuple(found)


def _beside(blocks: Sequence[Block]) -> list[Block]:
    """The blocks without a secret that begins in one of their texts and ends in the next, such as lines of a file."""
    texts: list[str] = []

    def collected(text: str) -> str:
        texts.append(text)
        return text

    for block in blocks:
        _changed(block, collected)
    clean = iter(redact_parts([text for text in texts if text]))
    return [_changed(block, lambda text: next(clean) if text else text) for block in blocks]


def _call(use: ToolUse) -> Block:
    """A call's arguments as one text: the name of a field says that its value is a password."""
    [block] = _beside([use])
    text = json.dumps(block.input, ensure_ascii=False, indent=2) if isinstance(block, ToolUse) else ""
    clean = redact(text)
    if clean == text:
        return block
    found = decode(clean.encode("utf-8", "replace"))  # nothing where what was taken out went over a border
    return replace(use, input=found if isinstance(found, dict) else {"arguments": clean})


def speaker(message: Message) -> str:
    """Who a message is from, in one word."""
    if message.role == "assistant":
        return "Assistant"
    if message.is_meta:
        return "Host"
    is_answer = message.tool_results and not message.text
    return "Tools" if is_answer else "User"


def headline(use: ToolUse) -> str:
    """A call in one line: the argument that tells most of it."""
    texts = {name: value for name, value in use.input.items() if isinstance(value, str) and value.strip()}
    telling = next((texts[name] for name in _TELLING if name in texts), next(iter(texts.values()), ""))
    return cut(" ".join(telling.split()), HEADLINE_CHARACTERS)


def cut(line: str, most: int) -> str:
    return line if len(line) <= most else line[: most - 1] + "…"


def arguments(use: ToolUse) -> str:
    """A call's arguments as indented JSON."""
    return json.dumps(dict(use.input), ensure_ascii=False, indent=2)


def is_worth_showing(message: Message) -> bool:
    """Whether there is anything in a message that a person can read."""
    return bool(message.tool_uses or message.tool_results or message.text.strip())


def moment(message: Message) -> str:
    """The time of a message to the minute; empty when its record has none."""
    return message.timestamp[:16].replace("T", " ")


_RUN = re.compile(r"`{3,}")


def as_markdown(story: Story) -> str:
    """Headings for messages, folded blocks for calls and their results."""
    head = [
        f"# {' '.join(story.title.split()) or 'Untitled session'}",
        "",
        f"- session: `{story.ref.id}` ({story.ref.agent})",
        f"- started: {story.started or 'unknown'}",
        f"- messages: {len(story.messages)}",
    ]
    if story.damage.total:
        head.append(f"- damage: {story.damage}")
    parts = ["\n".join(head), *_messages(story.messages, "##")]
    for name, messages in story.asides:
        parts += [f"## Sub-agent {' '.join(name.split())}", *_messages(messages, "###")]
    return "\n\n".join(parts) + "\n"


def _messages(messages: Sequence[Message], level: str) -> Iterator[str]:
    for message in messages:
        if is_worth_showing(message):
            when = f" · {moment(message)}" if message.timestamp else ""
            yield f"{level} {speaker(message)}{when}"
            yield from _blocks(message)


def _blocks(message: Message) -> Iterator[str]:
    for block in message.content:
        match block:
            case Text(text) if text.strip():
                yield text.strip("\n")
            case ToolUse(_, name, _):
                summary = html.escape(" ".join(f"{name}: {headline(block)}".split()), quote=False)
                yield f"<details><summary>{summary}</summary>\n\n{_fenced(arguments(block), 'json')}\n\n</details>"
            case ToolResult(_, content, is_error):
                words = "error" if is_error else "result"
                yield f"<details><summary>{words}</summary>\n\n{_fenced(content, '')}\n\n</details>"


def _fenced(text: str, language: str) -> str:
    """A code block whose fence is longer than any inside it."""
    fence = "`" * max(3, 1 + max((len(run) for run in _RUN.findall(text)), default=0))
    return f"{fence}{language}\n{text.rstrip()}\n{fence}"
