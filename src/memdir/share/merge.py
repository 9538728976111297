"""What becomes of a memory that was changed here and there: one text where both changes fit together, else both (E4).

Nobody's text is lost: an edit outlives a deletion, and of two changes to the same lines the team's stays under the name
and ours goes into a file beside it that says so, and travels like any other until somebody settles it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from memdir.disk.safe_path import MAX_COMPONENT_BYTES, MAX_KEY_BYTES, is_key
from memdir.share.remote import TeamCaps, digest_of
from memdir.store.merge import merge_bytes
from memdir.store.topic import Topic

CONFLICT_FIELD = "conflict-with"  # in the frontmatter of the second text: the file that it is a version of
_SECOND = ".conflict-"  # in its name
DIGITS = 8  # of the text's digest in its name: the same text, whoever sets it aside, has the same name


@dataclass(frozen=True)
class Settled:
    """What stands under a key afterwards (None: nothing), and the second text where there are two."""

    text: bytes | None
    beside: bytes | None = None


def settle(
    base: bytes | None, ours: bytes | None, theirs: bytes | None, max_bytes: int = TeamCaps.entry_bytes
) -> Settled:
    """Bring a change here and a change there together. `base` is what both began with, where that is known. Two that
    are together more than a memory may hold do not fit together."""
    if ours is not None and theirs is not None and not theirs.strip():
        return Settled(ours)  # a full disk or a slip emptied it there, and nobody's word
    if ours in (base, None) and theirs not in (ours, base):
        return Settled(theirs)  # an edit there outlives a deletion here
    if theirs in (ours, base, None):
        return Settled(ours)
    merged = merge_bytes(base, ours, theirs) if base is not None and ours is not None else None
    return Settled(theirs, ours) if merged is None or len(merged) > max_bytes else Settled(merged)


def beside(key: str, text: bytes, read: Callable[[str], bytes | None]) -> tuple[str, bytes]:
    """The name and the text of the file that holds the second version of a memory. `read` tells what lies under a name:
    somebody may have gone on writing in an earlier one, and its own name is the first version's."""
    first, digest = conflict_of(key, text) or key, digest_of(text)
    data = Topic(text).with_field(CONFLICT_FIELD, first).data
    for digits in range(DIGITS, len(digest) + 1, DIGITS):
        name = name_beside(first, f"{_SECOND}{digest[:digits]}")
        if name != key and read(name) in (None, data):
            break
    return name, data


def is_second_of(key: str, data: bytes, texts: Mapping[str, bytes]) -> bool:
    """Whether a file is the second version of one of these texts, word for word."""
    first = conflict_of(key, data)
    return first in texts and Topic(texts[first]).with_field(CONFLICT_FIELD, first).data == data


def name_beside(key: str, mark: str) -> str:
    """A name like a memory's with a mark at its end, that any disk can hold: as much of it as has room."""
    folder, _, name = key.rpartition("/")
    room = min(MAX_COMPONENT_BYTES, MAX_KEY_BYTES - len(folder.encode()) - 1) - len(f"{mark}.md")
    stem = name.removesuffix(".md").encode()[: max(room, 0)].decode("utf-8", "ignore").rstrip(" .")
    found = f"{folder}/{stem}{mark}.md".lstrip("/")
    return found if is_key(found) else f"memory{mark}.md"


def conflict_of(key: str, text: bytes) -> str:
    """The memory that a file holds the second version of; empty for one that does not. Its text says so, and anybody
    may write that: the name has to say the same."""
    first = Topic(text).fields.get(CONFLICT_FIELD, "")
    _, dot, digits = key.removesuffix(".md").rpartition(_SECOND)
    return first if dot and is_key(first) and key == name_beside(first, dot + digits) else ""
