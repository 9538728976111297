"""Adding, finding, saving and removing single memories, each as one change set with its index line."""

from __future__ import annotations

import os
import unicodedata

from memdir.disk.safe_path import check_key
from memdir.errors import BadMemoryFile, MemoryNotFound, PathEscape
from memdir.store.store import Memory, MemoryStore
from memdir.store.topic import Topic, require_valid
from memdir.text.words import cut_at_word

TYPE_CHECKING = False
if TYPE_CHECKING:
    from memdir.store.history import Origin
    from memdir.store.taxonomy import MemoryType

MAX_STEM = 48  # a file name that still fits a column of `ls`
MAX_NAME_WORDS = 7
NAMELESS = "note"  # the file name of a memory whose title has no letter
MAX_DESCRIPTION = 200  # longer descriptions are bodies


class Added:
    """The outcome of adding: the memory, and whether it was already there word for word."""

    __slots__ = ("is_new", "memory")

    def __init__(self, memory: Memory, *, is_new: bool) -> None:
        self.memory = memory
        self.is_new = is_new


def add_memory(  # noqa: PLR0913 - what a memory consists of
    store: MemoryStore,
    body: str,
    *,
    kind: MemoryType | None,
    origin: Origin,
    name: str = "",
    description: str = "",
    allow_secret: bool = False,
) -> Added:
    """Write a new memory. The same text twice is one memory: a command repeated after a crash adds nothing.

    SecretRefused when it holds a secret; `allow_secret` is for a person who insists (S15).
    """
    description = description or describe(body)
    name = name or short_name(description)
    topic = Topic.compose(name=name, description=description, kind=kind, body=body)
    with store.changing(origin, f"remember {name}") as change:
        stem = stem_of(name, kind)
        key = _free_key(store, stem, topic)
        is_new = store.read_bytes(key) is None
        if is_new:
            change.write(key, topic.data, allow_secret=allow_secret)
        change.put_entry(key, topic)
    return Added(store.read(key), is_new=is_new)


def save_memory(
    store: MemoryStore,
    key: str,
    data: bytes,
    *,
    origin: Origin,
    base: bytes | None = None,
    allow_secret: bool = False,
) -> Memory:
    """Write a changed memory and its index line; what others changed since `base` is merged in. SecretRefused when that
    brings a secret in and nobody insists."""
    topic = require_valid(data, key)
    with store.changing(origin, f"edit {key}") as change:
        change.write(key, data, base=base, allow_secret=allow_secret)
        change.put_entry(key, topic)
    return store.read(key)


def with_text(topic: Topic, text: str, *, name: str = "", description: str = "") -> Topic:
    """A memory with another text. A name or description that was made from the text before is made anew."""
    was_described = topic.description == describe(topic.body)
    description = description or (describe(text) if was_described else topic.description)
    was_named = was_described and topic.name == short_name(topic.description)
    name = name or (short_name(description) if was_named else topic.name)
    changed = topic.with_field("name", name).with_field("description", description)
    return changed.with_body("\n" + text.strip("\n") + "\n")


def forget_memory(store: MemoryStore, key: str, *, origin: Origin) -> None:
    """Delete a memory and its index line; `undo` brings both back."""
    store.read(key)
    with store.changing(origin, f"forget {key}") as change:
        change.delete(key)
        change.drop_entry(key)


def find_key(store: MemoryStore, wanted: str) -> str:
    """The one memory that `wanted` names: by file, by file without ending, by name, or by a part of either."""
    exact = _existing_key(store, wanted)
    if exact:
        return exact
    scan = store.scan(limit=None)
    folded = wanted.strip().casefold()
    names = {header.key: header.name.casefold() for header in scan.headers}
    by_name = [key for key, name in names.items() if folded in (name, os.path.basename(key)[:-3].casefold())]
    by_part = [key for key, name in names.items() if folded and (folded in key.casefold() or folded in name)]
    unread = [item.key for item in scan.unreadable if folded and folded in item.key.casefold()]
    for found in (by_name, by_part, unread):
        if len(found) == 1:
            return found[0]
        if found:
            shown = ", ".join(sorted(found)[:5]) + (" …" if len(found) > 5 else "")
            raise MemoryNotFound(f"{wanted!r} fits {len(found)} memories: {shown}", remedy="Give the whole file name")
    raise MemoryNotFound(f"there is no memory {wanted!r} in {store.root}", remedy="`memdir list` shows what there is")


def describe(body: str) -> str:
    """A description for a text that came without one: its first sentence, or the beginning of it."""
    text = " ".join(body.split()).lstrip("#*-> ")
    for at, character in enumerate(text):
        if character in "。！？" or (character in ".!?" and text[at + 1 : at + 2] in ("", " ")):
            text = text[: at + 1]
            break
    return cut_at_word(text.rstrip(". ") if len(text) <= MAX_DESCRIPTION else text, MAX_DESCRIPTION)


def short_name(description: str) -> str:
    """A title: the description up to its first pause, or its first words."""
    words = description.split()[:MAX_NAME_WORDS]
    pause = next((at for at, word in enumerate(words) if at > 0 and word[-1] in ",;:—–("), len(words) - 1)
    return " ".join(words[: pause + 1]).rstrip(",;:.…—–( ")[:MAX_DESCRIPTION] or "memory"


def stem_of(name: str, kind: MemoryType | None) -> str:
    """A file name from a title: words of letters and digits of any script, joined by underscores."""
    text = unicodedata.normalize("NFKC", name).casefold()
    text = unicodedata.normalize(
        "NFC", "".join(c if c.isalnum() or unicodedata.category(c)[0] == "M" else " " for c in text)
    )
    stem = ""
    for word in text.split():
        if stem and len((stem + word).encode()) > MAX_STEM:
            break
        stem = f"{stem}_{word}" if stem else word.encode()[:MAX_STEM].decode("utf-8", "ignore")
    stem = stem or NAMELESS
    prefixed = stem if kind is None or stem.startswith(f"{kind}_") else f"{kind}_{stem}"
    try:
        check_key(prefixed + ".md")
    except PathEscape:
        return f"{kind or NAMELESS}_note"
    return prefixed


def _free_key(store: MemoryStore, stem: str, topic: Topic) -> str:
    """The first of stem.md, stem_2.md, … that is free, or that already holds this very memory."""
    number = 1
    while True:
        key = f"{stem}.md" if number == 1 else f"{stem}_{number}.md"
        try:
            present = store.read_bytes(key)
        except (BadMemoryFile, PathEscape):  # something else has that name
            present = b""
        if present is None or present == topic.data:
            return key
        number += 1


def _existing_key(store: MemoryStore, wanted: str) -> str:
    for key in (wanted, f"{wanted}.md", wanted.removeprefix(store.root).lstrip("/\\")):
        try:
            if store.read_bytes(check_key(key)) is not None:
                return key
        except PathEscape:
            continue
    return ""
