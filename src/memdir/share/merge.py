"""What becomes of a memory that was changed here and there: one text where both changes fit together, else both (E4).

Nobody's text is lost: an edit outlives a deletion, and of two changes to the same lines the team's stays under the name
and ours goes into a file beside it that says so, and travels like any other until somebody settles it.
"""

from __future__ import annotations

from dataclasses import dataclass

from memdir.share.remote import digest_of
from memdir.store.merge import merge_bytes
from memdir.store.topic import Topic

CONFLICT_FIELD = "conflict-with"  # in the frontmatter of the second text: the file that it is a version of
_DIGITS = 8  # of the text's digest in its name: the same text, whoever sets it aside, has the same name


@dataclass(frozen=True)
class Settled:
    """What stands under a key afterwards (None: nothing), and the second text where there are two."""

    text: bytes | None
    beside: bytes | None = None


def settle(base: bytes | None, ours: bytes | None, theirs: bytes | None) -> Settled:
    """Bring a change here and a change there together. `base` is what both began with, where that is known."""
    if theirs in (ours, base):
        return Settled(ours)
    if ours in (base, None):
        return Settled(theirs)  # an edit there outlives a deletion here
    if theirs is None:
        return Settled(ours)
    merged = merge_bytes(base, ours, theirs) if base is not None else None
    return Settled(theirs, ours) if merged is None else Settled(merged)


def beside(key: str, text: bytes) -> tuple[str, bytes]:
    """The name and the text of the file that holds the second version of a memory."""
    first = key if not (known := conflict_of(text)) else known
    stem = first.removesuffix(".md")
    return f"{stem}.conflict-{digest_of(text)[:_DIGITS]}.md", Topic(text).with_field(CONFLICT_FIELD, first).data


def conflict_of(text: bytes) -> str:
    """The memory that a text is the second version of; empty for one that is none."""
    return Topic(text).fields.get(CONFLICT_FIELD, "")
