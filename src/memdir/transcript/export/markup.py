"""The little Markdown that people and models write in conversations, as HTML. Everything else is escaped text."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator

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
