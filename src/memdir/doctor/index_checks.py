"""Checks of the index against the files (S7, S8)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from memdir.disk.safe_path import INDEX_NAME, TEAM_PREFIX, is_key
from memdir.doctor import Finding
from memdir.errors import MemdirError
from memdir.store.index import MAX_ENTRY_CHARACTERS, Index, load_index
from memdir.store.scan import Header
from memdir.store.store import MemoryStore, entry_for
from memdir.text.words import counted

_SHOWN = 5


def own_headers(store: MemoryStore) -> list[Header]:
    """The memories that this store's own index lists: the team's are in the team's, refused names in none."""
    headers = store.scan(limit=None).headers
    return [header for header in headers if not header.key.startswith(TEAM_PREFIX) and is_key(header.key)]


def check_index(store: MemoryStore) -> Iterator[Finding]:
    """Files without a line, lines without a file, lines twice, lines too long, an index too long."""
    try:
        data = store.read_bytes(INDEX_NAME) or b""
    except MemdirError as error:
        yield Finding("index", "error", error.message, INDEX_NAME, error.remedy)
        return
    index = Index(data)
    present = {header.key for header in own_headers(store)}
    listed = Counter(entry.key for entry in index.entries())
    holds_unread = store.scan(limit=None).holds_unread
    dead = (key for key in listed.keys() - present if store_lacks(store, key) and not holds_unread(key))
    for what, keys in (
        ("memories without a line", present - listed.keys()),
        ("lines that name no file", dead),
        ("memories with two lines", (key for key, count in listed.items() if count > 1)),
        ("lines that tell what nobody vouched for", _told_unverified(store, index)),
    ):
        if some := sorted(keys):
            shown = ", ".join(some[:_SHOWN]) + (" …" if len(some) > _SHOWN else "")
            yield Finding("index", "warning", f"{what} ({len(some)}): {shown}", INDEX_NAME, fixable=True)
    yield from _check_size(data)


def _told_unverified(store: MemoryStore, index: Index) -> set[str]:
    """Memories of low trust whose line says more than their title and where they are from (L3)."""
    notes = {entry.key: entry for header in own_headers(store) if (entry := entry_for(header.key, header)).is_note}
    return {line.key for line in index.entries() if line.key in notes and line.hook != notes[line.key].hook}


def store_lacks(store: MemoryStore, key: str) -> bool:
    """Whether a line's target is neither a memory nor any other file below the directory."""
    try:
        return store.read_bytes(key) is None
    except MemdirError:
        return True  # a key that may not even be looked at names no memory of ours


def _check_size(data: bytes) -> Iterator[Finding]:
    loaded = load_index(data)
    if loaded.lines_cut or loaded.bytes_cut:
        message = f"it has {loaded.line_count} lines and {loaded.size_bytes:,} bytes: its end is not loaded"
        yield Finding("index", "warning", message, INDEX_NAME, "Merge or delete memories, or run a dream")
    long = [line for line in data.decode("utf-8", "replace").splitlines() if len(line) > MAX_ENTRY_CHARACTERS + 50]
    if long:
        message = f"longer than {MAX_ENTRY_CHARACTERS} characters: {counted(len(long), 'line')}"
        yield Finding("index", "note", message, INDEX_NAME, "Move detail into the topic files")
