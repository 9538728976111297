"""A session as one HTML page that needs nothing else: no network, no script, light and dark, good to print."""

from __future__ import annotations

import html
from collections.abc import Iterator, Sequence
from string import Template

from memdir.disk.shipped import shipped_text
from memdir.transcript.export.markup import code_block, plain, to_html
from memdir.transcript.export.parts import arguments, headline, is_worth_showing, moment, speaker
from memdir.transcript.export.story import Story
from memdir.transcript.message import Message, Text, ToolResult, ToolUse

CONTENTS_CHARACTERS = 70  # of a question in the table of contents
OPEN_RESULT_LINES = 12  # a result up to this length is shown unfolded


def as_html(story: Story) -> str:
    """The whole page."""
    template = Template(shipped_text("transcript/export/page.html"))
    shown = [message for message in story.messages if is_worth_showing(message)]
    return template.substitute(
        title=html.escape(plain(story.title) or "Untitled session"),
        facts="".join(f"<li>{html.escape(fact)}</li>" for fact in _facts(story)),
        contents="\n".join(_contents(shown)),
        messages="\n".join(_messages(shown)),
        asides="\n".join(_aside(name, messages) for name, messages in story.asides),
    )


def _facts(story: Story) -> Iterator[str]:
    if story.started:
        yield f"{story.started[:16].replace('T', ' ')} UTC"
    yield f"{len(story.messages)} messages"
    yield story.ref.agent
    yield story.ref.id
    if story.damage.total:
        yield f"damaged: {story.damage}"


def _contents(messages: Sequence[Message]) -> Iterator[str]:
    """The user's questions, each a link to its place."""
    for at, message in enumerate(messages):
        if speaker(message) == "User":
            line = plain(message.text)
            short = line if len(line) <= CONTENTS_CHARACTERS else line[: CONTENTS_CHARACTERS - 1] + "…"
            yield f'<li><a href="#m{at}">{html.escape(short)}</a></li>'


def _messages(messages: Sequence[Message], prefix: str = "m") -> Iterator[str]:
    for at, message in enumerate(messages):
        who, when = speaker(message), moment(message)
        time = f"<time>{html.escape(when)}</time>" if when else ""
        head = (
            f'<header><b>{who}</b>{time}<a class="here" href="#{prefix}{at}" aria-label="link to here">#</a></header>'
        )
        body = "\n".join(_blocks(message))
        if who == "Host":
            body = f"<details><summary>put in by the host</summary>{body}</details>"
        yield f'<article id="{prefix}{at}" class="{who.lower()}">{head}\n{body}</article>'


def _blocks(message: Message) -> Iterator[str]:
    for block in message.content:
        match block:
            case Text(text) if text.strip():
                yield to_html(text)
            case ToolUse(_, name, _):
                summary = f"<b>{html.escape(name)}</b> <code>{html.escape(headline(block))}</code>"
                given = code_block(arguments(block), "json")
                yield f'<details class="call"><summary>{summary}</summary>{given}</details>'
            case ToolResult(_, content, is_error):
                yield _result(content, is_error=is_error)


def _result(content: str, *, is_error: bool) -> str:
    lines = content.rstrip().count("\n") + 1
    kind = "failed" if is_error else "result"
    is_open = " open" if lines <= OPEN_RESULT_LINES else ""
    summary = f"{kind}, {lines} line{'s' if lines > 1 else ''}"
    return f'<details class="{kind}"{is_open}><summary>{summary}</summary>{code_block(content.rstrip())}</details>'


def _aside(name: str, messages: Sequence[Message]) -> str:
    shown = [message for message in messages if is_worth_showing(message)]
    inner = "\n".join(_messages(shown, prefix=f"{html.escape(name)}-"))
    return f'<section class="aside"><h2>Sub-agent {html.escape(name)}</h2>\n{inner}</section>'
