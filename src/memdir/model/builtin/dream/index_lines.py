"""Single lines of an index: what they link to, whether a page knows what they say, and how they are cut to length."""

from __future__ import annotations

import re
from urllib.parse import unquote

from memdir.model.builtin.dream.dream_words import flat, tokens
from memdir.store.index import MAX_ENTRY_CHARACTERS


def is_known(part: str, said: list[str], known: set[str]) -> bool:
    words = flat(part)
    if not words or any(f" {words} " in f" {text} " for text in said):
        return True
    return all(token in known for token in tokens(part))


def resolve_link(folder: str, key: str) -> str:
    parts: list[str] = []
    for part in f"{folder}{unquote(key)}".split("/"):
        if part == "..":
            parts = parts[:-1]
        elif part not in ("", "."):
            parts.append(part)
    return "/".join(parts)


def decodes(data: bytes | None) -> bool:
    try:
        (data or b"").decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True


def without_frontmatter(text: str) -> str:
    """An index has no frontmatter (S7); what stood there stays, as a comment."""
    match = re.match(r"---[ \t]*\r?\n(.*?)\r?\n?---[ \t]*(?:\r?\n|$)", text, re.DOTALL)
    if not match:
        return text
    inner = match[1].replace("--", "- -")
    return (f"<!--\n{inner}\n-->\n" if inner.strip() else "") + text[match.end() :]


def wrapped(text: str) -> list[str]:
    """A long line as several, cut at words."""
    indent = text[: len(text) - len(text.lstrip())]
    found = []
    while len(text) > MAX_ENTRY_CHARACTERS:
        at = text.rfind(" ", len(indent) + 1, MAX_ENTRY_CHARACTERS)
        at = at if at > len(indent) else MAX_ENTRY_CHARACTERS
        found.append(text[:at].rstrip())
        text = f"{indent}{'  ' if indent else ''}{text[at:].lstrip()}"
    return [*found, text]


def cut(text: str, width: int) -> str:
    if len(text) <= width:
        return text
    head, _, hook = text.partition(") — ")
    room = width - len(head) - 5
    if room < 10:
        return f"{head})" if hook else text
    cut = hook[:room]
    return f"{head}) — {cut[: cut.rfind(' ')] if ' ' in cut else cut}…"


def first_words(body: str) -> str:
    for line in body.splitlines():
        text = line.strip().strip("#*-|`> \t")
        if text:
            return text[:120]
    return ""


def reason_for(gone: list[str], before: bytes | None) -> str:
    reason = "index rebuilt from the files" if before is not None else "index made from the files"
    return reason + (f"; entries without a file dropped: {' / '.join(gone)}" if gone else "")
