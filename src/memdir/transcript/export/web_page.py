"""A session as one HTML page that needs nothing else: no network, no script, light and dark, good to print.

Of Markdown it knows the little that people and models write in conversations. Everything else is escaped text.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterator, Sequence
from itertools import groupby
from string import Template

from memdir.disk.shipped import shipped_text
from memdir.transcript.export.markdown import Story, arguments, cut, headline, is_worth_showing, moment, speaker
from memdir.transcript.message import Message, Text, ToolResult, ToolUse

_FENCE = re.compile(
    r"^(?P<fence>`{3,}|~{3,})[ \t]*(?P<language>[\w+-]*)[^\n]*\n(?P<code>.*?)(?:^(?P=fence)[`~]*[ \t]*$|\Z)",
    re.M | re.S,
)
_ITEM = re.compile(r"^\s*(?:[-*+]|\d{1,3}[.)])\s+(?=.)")
_NUMBERED = re.compile(r"^\s*\d{1,3}[.)]\s")
_HEADING = re.compile(r"^#{1,6}\s+.+$")
_INLINE = re.compile(
    r"`(?P<code>[^`\n]+)`|\*\*(?P<strong>[^*\n]+)\*\*|(?<![\w*])\*(?P<em>[^*\s][^*\n]*)\*(?![\w*])"
    r"|(?P<url>https?://[^\s<>\"')\]]+)|(?P<words>[^`*h]+|.)"
)
CONTENTS_CHARACTERS = 70  # of a question in the table of contents
OPEN_RESULT_LINES = 12  # a result up to this length is shown unfolded


def to_html(text: str) -> str:
    """A message's text as HTML. Nothing in it can become an element, an attribute or a script of its own."""
    parts: list[str] = []
    at = 0
    for match in _FENCE.finditer(text):
        parts += _prose(text[at : match.start()])
        parts.append(code_block(match["code"].rstrip("\n"), match["language"]))
        at = match.end()
    return "\n".join((*parts, *_prose(text[at:])))


def plain(text: str) -> str:
    """A text as one line without its marks, for titles and tables of contents."""
    return _INLINE.sub(lambda match: match[match.lastgroup or 0], " ".join(text.split()))


def code_block(code: str, language: str = "") -> str:
    label = f' data-language="{html.escape(language)}"' if language else ""
    return f"<pre{label}><code>{html.escape(code)}</code></pre>"


def _prose(text: str) -> Iterator[str]:
    for paragraph in re.split(r"\n[ \t]*\n", text):
        for kind, grouped in groupby(filter(str.strip, paragraph.splitlines()), key=_kind):
            lines = list(grouped)
            if kind == "heading":
                yield from map(_heading, lines)
            elif kind == "item":
                tag = "ol" if _NUMBERED.match(lines[0]) else "ul"
                items = "".join(f"<li>{_inline(_ITEM.sub('', line))}</li>" for line in lines)
                yield f"<{tag}>{items}</{tag}>"
            else:
                yield "<p>" + "<br>".join(map(_inline, lines)) + "</p>"


def _kind(line: str) -> str:
    if _HEADING.match(line):
        return "heading"
    return "item" if _ITEM.match(line) else "words"


def _heading(line: str) -> str:
    words = line.lstrip("#")
    level = min(6, len(line) - len(words) + 2)
    return f"<h{level}>{_inline(words.strip())}</h{level}>"


def _inline(text: str) -> str:
    return _INLINE.sub(_span, text)


def _span(match: re.Match[str]) -> str:
    kind = match.lastgroup or "words"
    words = html.escape(match[kind])
    if kind == "url":
        return f'<a href="{words}" rel="noopener noreferrer">{words}</a>'
    return words if kind == "words" else f"<{kind}>{words}</{kind}>"


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
            short = cut(plain(message.text), CONTENTS_CHARACTERS)
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
