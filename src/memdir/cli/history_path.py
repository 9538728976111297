"""Which file of the history a person means: one that exists, or one that was deleted."""

from __future__ import annotations

from memdir.disk.safe_path import INDEX_NAME, check_key
from memdir.errors import MemoryNotFound, PathEscape
from memdir.store.memories import find_key

TYPE_CHECKING = False
if TYPE_CHECKING:
    from memdir.store.store import MemoryStore


def history_key(store: MemoryStore, wanted: str) -> str:
    """The key of a memory that exists or once did."""
    if wanted == INDEX_NAME:
        return wanted
    try:
        return find_key(store, wanted)
    except MemoryNotFound:
        for key in (wanted, f"{wanted}.md"):
            try:
                if store.history.log(store.place.prefix + check_key(key), limit=1):
                    return key
            except PathEscape:
                continue
        raise


def history_path(store: MemoryStore, wanted: str) -> str:
    return store.place.prefix + history_key(store, wanted)
