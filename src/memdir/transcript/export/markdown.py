"""A session as one Markdown file, and what a message consists of for any reader: who spoke, what was called."""

from __future__ import annotations

import html
import json
import re
from collections.abc import Iterator, Sequence

from memdir.transcript.export.story import Story
from memdir.transcript.message import Message, Text, ToolResult, ToolUse

_TELLING = ("command", "file_path", "pattern", "query", "url", "path", "prompt", "description")
HEADLINE_CHARACTERS = 100  # of a call: the one argument that says what it is about


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
    return cut(_one_line(telling), HEADLINE_CHARACTERS)


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
        f"# {_one_line(story.title) or 'Untitled session'}",
        "",
        f"- session: `{story.ref.id}` ({story.ref.agent})",
        f"- started: {story.started or 'unknown'}",
        f"- messages: {len(story.messages)}",
    ]
    if story.damage.total:
        head.append(f"- damage: {story.damage}")
    parts = ["\n".join(head), *_messages(story.messages, "##")]
    for name, messages in story.asides:
        parts += [f"## Sub-agent {_one_line(name)}", *_messages(messages, "###")]
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
                summary = html.escape(_one_line(f"{name}: {headline(block)}"), quote=False)
                yield f"<details><summary>{summary}</summary>\n\n{_fenced(arguments(block), 'json')}\n\n</details>"
            case ToolResult(_, content, is_error):
                words = "error" if is_error else "result"
                yield f"<details><summary>{words}</summary>\n\n{_fenced(content, '')}\n\n</details>"


def _fenced(text: str, language: str) -> str:
    """A code block whose fence is longer than any inside it."""
    fence = "`" * max(3, 1 + max((len(run) for run in _RUN.findall(text)), default=0))
    return f"{fence}{language}\n{text.rstrip()}\n{fence}"


def _one_line(text: str) -> str:
    return " ".join(text.split())
