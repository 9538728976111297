"""Memories that hold two texts because two people changed the same lines, and how a person settles them (E4)."""

from __future__ import annotations

from memdir.share.merge import CONFLICT_FIELD, conflict_of
from memdir.store.history import Origin
from memdir.store.store import MemoryStore
from memdir.store.topic import Topic


def conflicts_in(store: MemoryStore) -> dict[str, str]:
    """The files that hold a second version of a memory, with the memory that it is of."""
    found = {}
    for memory in store.readable(store.scan(limit=None).headers):
        first = conflict_of(memory.key, memory.topic.data)
        if first:
            found[memory.key] = first
    return found


def resolve(store: MemoryStore, key: str) -> list[str]:
    """Settle a conflict: the text of the file that is named is right, and takes the memory's name; the others of that
    memory go. `undo` brings them back. Gives the files that went."""
    conflicts = conflicts_in(store)
    first = conflicts.get(key, key)
    others = [one for one, of in conflicts.items() if of == first]
    if not others:
        return []
    with store.changing(Origin("cli", trust="user"), f"resolve {first}") as change:
        if key in conflicts:
            topic = Topic(change.read(key) or b"").without_field(CONFLICT_FIELD)
            change.write(first, topic.data)
            change.put_entry(first, topic)
        for one in others:
            change.delete(one)
            change.drop_entry(one)
    return others
