"""What ranking reads of a thing that can be recalled: a memory, a session, a turn, a fact."""

from __future__ import annotations

PASSAGE_WORDS = 90  # what one averaged vector can still tell apart


class Document:
    """Plain text with a key; for a memory `title` is its name and `kind` its type (S6)."""

    __slots__ = ("body", "description", "key", "kind", "mtime_ns", "passages", "size", "title")

    def __init__(  # noqa: PLR0913 - one keyword a field, all but the key optional
        self,
        key: str,
        *,
        title: str = "",
        description: str = "",
        body: str = "",
        kind: str = "",
        mtime_ns: int = 0,
        size: int = 0,
        passages: list[str] | None = None,
    ) -> None:
        self.key = key
        self.title = title
        self.description = description
        self.body = body
        self.kind = kind
        self.mtime_ns = mtime_ns
        self.size = size
        self.passages = passages  # where the caller knows the natural parts (turns); else the body is cut here


def passages_of(document: Document) -> list[str]:
    """The parts of the body that get a vector of their own: paragraphs joined up to a readable length."""
    if document.passages is not None:
        return document.passages
    out: list[str] = []
    held: list[str] = []
    count = 0
    for part in document.body.split("\n"):
        words = len(part.split())
        if not words:
            continue
        if held and count + words > PASSAGE_WORDS:
            out.append(" ".join(held))
            held, count = [], 0
        held.append(part)
        count += words
    if held:
        out.append(" ".join(held))
    return out
