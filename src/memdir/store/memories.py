"""Adding, finding, saving and removing single memories, each as one change set with its index line."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from contextlib import suppress

from memdir.disk.safe_path import check_key
from memdir.errors import BadMemoryFile, MemoryNotFound, PathEscape, SeveralFit, UsageError
from memdir.store.form import headed
from memdir.store.guard import GUARD_FIELD
from memdir.store.history import Origin
from memdir.store.memory_file import Memory
from memdir.store.scan import MAX_MEMORY_BYTES
from memdir.store.store import MemoryStore
from memdir.store.topic import MemoryType, Topic, require_valid
from memdir.text.naming import describe, file_stem, first_words, free_key, titled
from memdir.text.words import split_words

CLOSE = 0.75  # of the letters of a word and a mistyped one
LISTING = "`memdir list --scope all` shows what there is (in Python: `memory.list()`)"
MAX_GIVEN = {"name": 200, "description": 400}  # characters: all that a list shows of them


class Added:
    """The outcome of adding: the memory, and whether it was already there word for word."""

    __slots__ = ("is_new", "memory")

    def __init__(self, memory: Memory, *, is_new: bool) -> None:
        self.memory = memory  # as it is on disk now
        self.is_new = is_new  # False when the same text was already there

    def __repr__(self) -> str:
        return f"Added({self.memory!r}, is_new={self.is_new})"


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
    _require_room(name=name, description=description, text=body)
    title, rest = titled(body)
    description = description or describe(rest)
    name = name or title or first_words(description, is_taken=lambda name: _is_of_other(store, name, kind, description))
    topic = Topic.compose(name=name, description=description, kind=kind, body=body)
    with store.changing(origin, f"remember {name}") as change:
        key = free_key(file_stem(name, kind or ""), lambda key: _holds_other(store, key, topic))
        is_new = store.read_bytes(key) is None
        if is_new:
            change.write(key, topic.data, allow_secret=allow_secret)
        change.put_entry(key, topic)
    return Added(store.read(key), is_new=is_new)


def require_words(text: object, *others: object) -> None:
    """An error for what cannot be the text of a memory, its name or its description."""
    for one in (text, *others):
        if not isinstance(one, str):
            raise UsageError(f"a memory is made of text, not {type(one).__name__}", remedy="Pass a string")
        if any("\ud800" <= letter <= "\udfff" for letter in one):
            raise UsageError("the text holds half of a character", remedy="Decode it as UTF-8 before")
        if "\0" in one:
            raise BadMemoryFile("the text holds NUL bytes: it is no text", remedy="Take them out, or convert it first")
    if not str(text).strip():
        raise BadMemoryFile("there is nothing to remember: the text is empty", remedy="Say what to remember")


def _require_room(**parts: str) -> None:
    """BadMemoryFile for what would not be read again, or not be shown: at the door, before anything is written."""
    for what, text in parts.items():
        most = MAX_GIVEN.get(what, MAX_MEMORY_BYTES - 4_000)
        size, unit = (len(text.encode()), "bytes") if what == "text" else (len(text), "characters")
        if size > most:
            remedy = "Split it into several memories" if what == "text" else "Put what is longer into the text"
            raise BadMemoryFile(f"the {what} has {size:,} {unit}, and at most {most:,} are kept", remedy=remedy)


def save_memory(
    store: MemoryStore, key: str, data: bytes, *, origin: Origin, base: bytes | None = None, allow_secret: bool = False
) -> Memory:
    """Write a changed memory and its index line; what others changed since `base` is merged in. SecretRefused when that
    brings a secret in and nobody insists."""
    topic = require_valid(data, key)
    with store.changing(origin, f"edit {key}") as change:
        change.write(key, data, base=base, allow_secret=allow_secret)
        change.put_entry(key, topic)
    return store.read(key)


def with_text(topic: Topic, text: str, *, name: str = "", description: str = "") -> Topic:
    """A memory with another text, which may bring a header. A name or description that was made from the text before is
    made again; what carries a guard stays a rule (Q1)."""
    if given := headed(text):
        require_words(given.body)
        name = name or (given.name if given.name != topic.name else "")
        description = description or (given.description if given.description != topic.description else "")
        kind = given.kind if GUARD_FIELD not in topic.fields else None
        topic, text = topic.with_field("type", kind) if kind else topic, given.body
    old_title, old_rest = titled(topic.body)
    title, rest = titled(text)
    was_described = topic.description == describe(old_rest)
    description = description or (describe(rest) if was_described else topic.description)
    was_named = was_described and topic.name == (old_title or first_words(topic.description))
    name = name or (title or first_words(description) if was_named else topic.name)
    changed = topic.with_field("name", name).with_field("description", description)
    return changed.with_body("\n" + text.strip("\n") + "\n")


def forget_memories(store: MemoryStore, keys: Sequence[str], *, origin: Origin) -> None:
    """Delete memories and their index lines as one change; `undo` brings all of it back."""
    for key in keys:
        store.read(key)
    with store.changing(origin, f"forget {', '.join(keys)}") as change:
        for key in keys:
            change.delete(key)
            change.drop_entry(key)


def find_key(store: MemoryStore, wanted: str, *, elsewhere: MemoryStore | None = None) -> str:
    """The one memory that `wanted` names: by file, by file without ending, by name, or by a part of either, of one
    or two letters where a word begins so; of a store inside this one (`elsewhere`) only where no other fits."""
    if not isinstance(wanted, str):
        raise UsageError(f"a memory is named by a text, not {type(wanted).__name__}", remedy="Pass its key or its name")
    if exact := _existing_key(store, wanted):
        return exact
    scan = store.scan(limit=None)
    folded = wanted.strip().casefold()
    inside = elsewhere.place.prefix if elsewhere is not None else "\n"
    names = {one.key: one.name.casefold() for one in scan.headers if not one.key.startswith(inside)}
    files = {key: os.path.basename(key).casefold() for key in names}
    by_name = [key for key, name in names.items() if folded in (name, files[key], files[key][:-3])]
    within = "" if len(folded) > 2 or not folded.isascii() else r"(?<![^\W_])"
    part = re.compile(within + re.escape(folded.removesuffix(".md") or "\0"))
    by_part = [key for key, name in names.items() if part.search(f"{key[:-3].casefold()}\n{name}")]
    unread = [item.key for item in scan.unreadable if part.search(item.key.removesuffix(".md").casefold())]
    for found in (by_name, by_part, unread):
        if key := the_only(found, wanted, "memories"):
            return key
    if elsewhere is not None:
        with suppress(MemoryNotFound):
            return inside + find_key(elsewhere, wanted)
    raise no_such_memory(store, wanted, names)


def the_only(found: Sequence[str], wanted: str, what: str) -> str:
    """The one that was found, "" for none."""
    if len(found) > 1:
        shown = ", ".join(sorted(found)[:5]) + (" …" if len(found) > 5 else "")
        raise SeveralFit(f"{wanted!r} fits {len(found)} {what}: {shown}", remedy="Give the whole file name")
    return next(iter(found), "")


def no_such_memory(store: MemoryStore, wanted: str, names: Mapping[str, str]) -> MemoryNotFound:
    """The error, with those of the memories (by key) of whose file or name somebody may have mistyped some words."""
    from difflib import get_close_matches

    told = {key: {*split_words(key.removesuffix(".md")), *split_words(name)} for key, name in names.items()}
    every = set[str]().union(*told.values())
    near = [set(get_close_matches(word, every, cutoff=CLOSE)) for word in split_words(wanted.removesuffix(".md"))]
    meant = sorted(key for key, words in told.items() if near and all(words & one for one in near))[:3]
    remedy = f"Did you mean {' or '.join(meant)}? " if meant else ""
    remedy += LISTING
    return MemoryNotFound(f"there is no memory {wanted!r} in {store.root}", remedy=remedy)


def _holds_other(store: MemoryStore, key: str, topic: Topic) -> bool:
    """Whether a name is taken by something else than this very memory."""
    try:
        return store.read_bytes(key) not in (None, topic.data)
    except (BadMemoryFile, PathEscape):
        return True


def _is_of_other(store: MemoryStore, name: str, kind: MemoryType | None, description: str) -> bool:
    """Whether the file that a name gives tells of something else."""
    try:
        standing = store.read_bytes(f"{file_stem(name, kind or '')}.md")
    except (BadMemoryFile, PathEscape):
        return False
    return standing is not None and Topic(standing).description != description


def _existing_key(store: MemoryStore, wanted: str) -> str:
    for key in (wanted, f"{wanted}.md", wanted.removeprefix(store.root).lstrip("/\\")):
        with suppress(PathEscape):
            if store.read_bytes(check_key(key)) is not None:
                return key
    return ""
