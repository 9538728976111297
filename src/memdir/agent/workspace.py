"""A fork's files: what it writes stays a draft until its whole run has succeeded, then becomes one change set.

So a run that fails, is killed or is refused leaves nothing behind and can be repeated with the same messages (X4),
a run is undone by one command, and what others changed meanwhile is merged, never overwritten (S13, D7).
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from memdir.agent.file_access import DiskFiles, walking_order
from memdir.disk.safe_path import INDEX_NAME, is_index
from memdir.errors import BadMemoryFile, EditConflict, MemoryNotFound, PathEscape
from memdir.store.history import Origin
from memdir.store.index import MAX_LINES, Index, merge_index
from memdir.store.merge import merge_bytes
from memdir.store.scan import most_bytes, too_large
from memdir.store.store import ChangeSet, MemoryStore, entry_for
from memdir.store.topic import Topic

# A fork has no tool to delete, since it must keep its parent's list of tools (G1): it writes this instead.
TOMBSTONE = re.compile(rb"^\s*<!--\s*delete:\s*(?P<reason>.*?)\s*-->\s*$", re.DOTALL)


@dataclass(frozen=True)
class Draft:
    """A file that a fork wrote: where, what stood there, what shall stand there (None: deleted, and why)."""

    store: MemoryStore  # where it belongs
    key: str  # its file name below the directory of the store
    before: bytes | None  # what stood there, None for no file
    after: bytes | None  # what shall stand there, None when it is deleted
    reason: str = ""  # why it is deleted

    @property
    def path(self) -> str:
        """Where it stands below the directory that its store shares with others."""
        return self.store.place.prefix + self.key


@dataclass
class Workspace:
    """Memory directories seen through a fork's drafts; everything else on disk can be read and not written."""

    stores: Sequence[MemoryStore]
    drafts: dict[str, Draft] = field(default_factory=dict)
    _disk: DiskFiles = field(default_factory=DiskFiles)

    def is_draft(self, path: str) -> bool:
        return os.path.realpath(path) in self.drafts

    def read(self, path: str) -> bytes:
        draft = self.drafts.get(os.path.realpath(path))
        if draft is None:
            return self._disk.read(path)
        if draft.after is None:
            raise MemoryNotFound(f"there is no file {path}: you deleted it")
        return draft.after

    def write(self, path: str, data: bytes) -> None:
        store, key = self.locate(path)
        if len(data) > most_bytes(key):
            raise BadMemoryFile(
                f"{path}: {too_large(len(data), most_bytes(key))}", remedy="Keep the point, drop the rest"
            )
        real = store.path_of(key)
        known = self.drafts.get(real)
        before = known.before if known else store.read_bytes(key)
        tombstone = TOMBSTONE.match(data)
        if tombstone and is_index(key):
            raise BadMemoryFile(f"{path} is the index and stays", remedy="Delete the lines that are not needed")
        if tombstone:
            self.drafts[real] = Draft(store, key, before, None, tombstone["reason"].decode("utf-8", "replace"))
        else:
            self.drafts[real] = Draft(store, key, before, data)

    def walk(self, folder: str) -> Iterator[str]:
        found = set(self._disk.walk(folder))
        prefix = os.path.realpath(folder) + os.sep
        for path, draft in self.drafts.items():
            if path.startswith(prefix):
                named = os.path.join(folder, path.removeprefix(prefix))  # as the caller names it, links or not
                (found.discard if draft.after is None else found.add)(named)
        yield from sorted(found, key=walking_order)

    def locate(self, path: str) -> tuple[MemoryStore, str]:
        """The store and key of a path; the innermost store where one lies inside another. PathEscape outside all."""
        real = os.path.realpath(path)
        inside = [store for store in self.stores if real.startswith(os.path.realpath(store.root) + os.sep)]
        if not inside:
            roots = ", ".join(store.root for store in self.stores)
            raise PathEscape(f"{path} is outside the memory directory", remedy=f"Write below {roots}")
        store = max(inside, key=lambda store: len(store.root))
        key = os.path.relpath(real, os.path.realpath(store.root)).replace(os.sep, "/")
        store.path_of(key)
        return store, key

    def changed(self) -> list[Draft]:
        """The drafts that differ from what stood there."""
        return [draft for draft in self.drafts.values() if draft.before != draft.after]

    def drop_conflicts(self) -> list[str]:
        """Give up the drafts of files that others changed in the same lines meanwhile: their text wins (D7).

        Then nothing is deleted either: what a deleted file said may have been meant for a file that stays as it is.
        """
        lost = [path for path, draft in self.drafts.items() if draft.key != INDEX_NAME and _clashes(draft)]
        spared = [path for path, draft in self.drafts.items() if draft.after is None] if lost else []
        keys = [self.drafts[path].key for path in lost]
        for path in dict.fromkeys((*lost, *spared)):
            self.give_up(path)
        return keys

    def give_up(self, path: str) -> None:
        """Forget a draft: its file stays as it is, and so does its line in the index, or that it has none."""
        draft = self.drafts.pop(path)
        index_path = draft.store.path_of(INDEX_NAME)
        index = self.drafts.get(index_path)
        if index is None or index.after is None:
            return
        line = next((entry for entry in Index(index.before or b"").entries() if entry.key == draft.key), None)
        after = Index(index.after)
        kept = after.without([draft.key]) if line is None else after.with_entries([line])
        self.drafts[index_path] = replace(index, after=kept.data)

    def commit(
        self, origin: Origin, subject: str, *, times: Mapping[str, int] | None = None, **more: str
    ) -> list[Draft]:
        """Write all drafts, merging what others changed since. Stores of one directory, a project's own and its team's,
        change together or not at all. `times` are the modification times that files bear, by their path, when they
        are put in order and not learned again (S11). `more` goes into the history's record. Returns what was written.

        EditConflict when somebody changed the same lines, or deleted or made the same file: nothing is written then.
        """
        changed = self.changed()
        for base in dict.fromkeys(draft.store.place.base for draft in changed):
            drafts = [draft for draft in changed if draft.store.place.base == base]
            reasons = "; ".join(f"{draft.key}: {draft.reason}" for draft in drafts if draft.after is None)
            self._commit_base(drafts, origin, subject, times, Deleted=reasons, **more)
        self.drafts.clear()
        return changed

    def _commit_base(
        self, drafts: list[Draft], origin: Origin, subject: str, times: Mapping[str, int] | None, **more: str
    ) -> None:
        place = drafts[0].store.place
        outer = next((store for store in self.stores if store.place.root == place.base), drafts[0].store)
        with outer.changing(origin, subject, **more) as change:
            # The fork's own lines first: the index is completed only where it forgot one.
            for draft in sorted(drafts, key=lambda draft: draft.key != INDEX_NAME):
                prefix = draft.store.place.prefix if outer is not draft.store else ""
                _put(change, draft, prefix, times)


def _put(change: ChangeSet, draft: Draft, prefix: str, times: Mapping[str, int] | None) -> None:
    key, index_key = prefix + draft.key, prefix + INDEX_NAME
    if draft.key == INDEX_NAME:
        change.edit_index(_merger(draft), key=index_key)
        return
    _refuse_clash(draft, change.read(key))
    if draft.after is None:
        change.delete(key)
        change.edit_index(lambda index: index.without([draft.key]), key=index_key)
        return
    change.write(key, draft.after, base=draft.before or b"", mtime_ns=(times or {}).get(draft.path))
    if not is_index(draft.key):
        # What puts everything in order knows which lines a full index has no room for.
        room = MAX_LINES if times is not None else sys.maxsize
        change.edit_index(_completer(draft, Topic(draft.after), room), key=index_key)


def _clashes(draft: Draft) -> bool:
    """Whether somebody changed the file meanwhile in a way that cannot be merged."""
    current = draft.store.read_bytes(draft.key)
    if current == draft.before:
        return False
    if draft.after is None or current is None or draft.before is None:
        return True
    return merge_bytes(draft.before, draft.after, current) is None


def _refuse_clash(draft: Draft, current: bytes | None) -> None:
    """What somebody else deleted or changed meanwhile is not ours to bring back or to delete."""
    if current != draft.before and (current is None or draft.after is None):
        verb = "deleted" if current is None else "changed"
        raise EditConflict(f"{draft.key} was {verb} by someone else meanwhile", remedy="Read it again, then decide")


def _merger(draft: Draft) -> Callable[[Index], Index]:
    """Brings a fork's own edit of the index into the index as it stands now."""
    return lambda current: Index(merge_index(draft.before or b"", draft.after or b"", current.data))


def _completer(draft: Draft, topic: Topic, room: int) -> Callable[[Index], Index]:
    """Gives a memory the line that its writer forgot, and one that still tells the old description the new one; a
    line that somebody worded otherwise stays as it is."""
    entry = entry_for(draft.key, topic)
    old = Topic(draft.before or b"")
    outdated = entry_for(draft.key, old).render()

    def complete(index: Index) -> Index:
        line = next((known.render() for known in index.entries() if known.key == draft.key), None)
        is_forgotten = line is None and index.data.count(b"\n") < room
        return index.with_entries([entry]) if is_forgotten or line == outdated else index

    return complete
