"""What becomes of a memory that was changed here and there: one text where both changes fit together, else both (E4).

Nobody's text is lost: an edit outlives a deletion, and of two changes to the same lines the team's stays under the name
and ours goes into a file beside it that says so, and travels like any other until somebody settles it.
"""

from __future__ import annotations

from collections.abc import Callable
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


def beside(key: str, text: bytes, read: Callable[[str], bytes | None]) -> tuple[str, bytes]:
    """The name and the text of the file that holds the second version of a memory. `read` tells what lies under a name:
    somebody may have gone on writing in an earlier one, and its own name is the first version's."""
    first = key if not (known := conflict_of(text)) else known
    stem, digest = first.removesuffix(".md"), digest_of(text)
    data = Topic(text).with_field(CONFLICT_FIELD, first).data
    for digits in range(_DIGITS, len(digest) + 1, _DIGITS):
        name = f"{stem}.conflict-{digest[:digits]}.md"
        if name != key and read(name) in (None, data):
            break
    return name, data


def conflict_of(text: bytes) -> str:
    """The memory that a text is the second version of; empty for one that is none."""
    return Topic(text).fields.get(CONFLICT_FIELD, "")
