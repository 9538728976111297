"""A session as one HTML page that needs nothing else: no network, no script, light and dark, good to print.

Of Markdown it knows the little that people and models write in conversations. Everything else is escaped text.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterator, Sequence
from string import Template

from memdir.disk.shipped import shipped_text
from memdir.transcript.export.markdown import arguments, headline, is_worth_showing, moment, speaker
from memdir.transcript.export.story import Story
from memdir.transcript.message import Message, Text, ToolResult, ToolUse

_FENCE = re.compile(
    r"^(?P<fence>`{3,}|~{3,})[ \t]*(?P<language>[\w+-]*)[^\n]*\n(?P<code>.*?)(?:^(?P=fence)[`~]*[ \t]*$|\Z)",
    re.M | re.S,
)
_ITEM = re.compile(r"^\s*(?:[-*+]|\d{1,3}[.)])\s+(?P<text>.+)$")
_NUMBERED = re.compile(r"^\s*\d{1,3}[.)]\s")
_HEADING = re.compile(r"^(?P<marks>#{1,6})\s+(?P<text>.+)$")
_INLINE = re.compile(
    r"(?P<code>`[^`\n]+`)|\*\*(?P<bold>[^*\n]+)\*\*|(?<![\w*])\*(?P<italic>[^*\s][^*\n]*)\*(?![\w*])|(?P<url>https?://[^\s<>\"')\]]+)"
)


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
    return _INLINE.sub(_unmarked, " ".join(text.split()))


def _unmarked(match: re.Match[str]) -> str:
    return (match["code"] or "").strip("`") or match["bold"] or match["italic"] or match["url"]


def code_block(code: str, language: str = "") -> str:
    label = f' data-language="{html.escape(language)}"' if language else ""
    return f"<pre{label}><code>{html.escape(code)}</code></pre>"


def _prose(text: str) -> Iterator[str]:
    for paragraph in re.split(r"\n[ \t]*\n", text):
        lines = [line for line in paragraph.splitlines() if line.strip()]
        while lines:
            taken, part = _next_part(lines)
            yield part
            lines = lines[taken:]


def _next_part(lines: list[str]) -> tuple[int, str]:
    """The element that some lines begin with, and how many of them it takes."""
    heading = _HEADING.match(lines[0])
    if heading:
        level = min(6, len(heading["marks"]) + 2)
        return 1, f"<h{level}>{_inline(heading['text'])}</h{level}>"
    if _ITEM.match(lines[0]):
        count = _while(lines, is_item=True)
        tag = "ol" if _NUMBERED.match(lines[0]) else "ul"
        items = "".join(f"<li>{_inline(_without_mark(line))}</li>" for line in lines[:count])
        return count, f"<{tag}>{items}</{tag}>"
    count = _while(lines, is_item=False)
    return count, "<p>" + "<br>".join(_inline(line) for line in lines[:count]) + "</p>"


def _without_mark(line: str) -> str:
    return _ITEM.sub(r"\g<text>", line)


def _while(lines: list[str], *, is_item: bool) -> int:
    for at, line in enumerate(lines):
        if bool(_ITEM.match(line)) != is_item or (at and _HEADING.match(line)):
            return max(at, 1)
    return len(lines)


def _inline(text: str) -> str:
    parts, at = [], 0
    for match in _INLINE.finditer(text):
        parts.append(html.escape(text[at : match.start()]))
        parts.append(_span(match))
        at = match.end()
    return "".join((*parts, html.escape(text[at:])))


def _span(match: re.Match[str]) -> str:
    if match["code"]:
        return f"<code>{html.escape(match['code'][1:-1])}</code>"
    if match["bold"]:
        return f"<strong>{html.escape(match['bold'])}</strong>"
    if match["italic"]:
        return f"<em>{html.escape(match['italic'])}</em>"
    url = html.escape(match["url"])
    return f'<a href="{url}" rel="noopener noreferrer">{url}</a>'


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
