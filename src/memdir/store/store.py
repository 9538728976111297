"""The store: one memory directory, read freely and changed only in whole change sets (S13, S14).

Every change, whoever makes it, is a `Change` put together under the directory's lock, written ahead to the journal,
moved into place file by file, and recorded in the history.
"""

from __future__ import annotations

import os
import time
from contextlib import contextmanager

from memdir.disk.atomic import delete_file, disk_error, make_folder, sweep_temporaries, write_bytes_atomic
from memdir.disk.lock import locked
from memdir.disk.safe_path import INDEX_NAME, resolve_key
from memdir.errors import DiskError, EditConflict, HistoryError, MemoryNotFound
from memdir.events import Nowhere, change_recovered, history_failed, index_truncated, memory_changed
from memdir.store.history import OUTSIDE, History, Origin
from memdir.store.index import Entry, Index, LoadedIndex, load_index
from memdir.store.journal import Journal, Operation, read_journal, remove_journal, write_journal
from memdir.store.merge import merge_bytes
from memdir.store.scan import MAX_RETURNED, Header, Scan, Scanner
from memdir.store.topic import Topic

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from memdir.events import Sink
    from memdir.layout import Place

_EMPTY_FOLDERS_KEPT = ("team", "logs")  # folders that mean something even when they are empty


class Memory:
    """One memory as it stands on disk."""

    __slots__ = ("key", "mtime_ns", "path", "topic")

    def __init__(self, key: str, path: str, topic: Topic, mtime_ns: int) -> None:
        self.key = key
        self.path = path
        self.topic = topic
        self.mtime_ns = mtime_ns

    @property
    def name(self) -> str:
        return self.topic.name or self.key.rsplit("/", 1)[-1][:-3]

    @property
    def mtime(self) -> float:
        return self.mtime_ns / 1e9


class Change:
    """A change set being put together. Nothing is on disk before the `with` block ends."""

    def __init__(self, store: MemoryStore) -> None:
        self._store = store
        self._files: dict[str, tuple[bytes | None, int | None]] = {}
        self._index_edits: dict[str, list[Callable[[Index], Index]]] = {}

    def read(self, key: str) -> bytes | None:
        """The bytes of a file as this change leaves it so far."""
        if key in self._files:
            return self._files[key][0]
        return self._store.read_bytes(key)

    def write(self, key: str, data: bytes, *, base: bytes | None = None, mtime_ns: int | None = None) -> None:
        """Set a file's bytes. `base` is what the caller started from: what others changed since is merged in (S13)."""
        if base is not None:
            current = self.read(key)
            if current is not None and current != base:
                merged = merge_bytes(base, data, current)
                if merged is None:
                    raise EditConflict(
                        f"{key} was changed by someone else in the same lines meanwhile",
                        remedy="Read it again and repeat the change",
                    )
                data = merged
        self._files[key] = (data, mtime_ns)

    def delete(self, key: str) -> None:
        self._files[key] = (None, None)

    def edit_index(self, edit: Callable[[Index], Index], *, key: str = INDEX_NAME) -> None:
        """Change an index as it stands when the change set is written; left out in skip-index mode (S12)."""
        if not self._store.skip_index:
            self._index_edits.setdefault(key, []).append(edit)

    def put_entry(self, key: str, topic: Topic) -> None:
        """Give a memory its line in the index."""
        entry = entry_for(key, topic.name, topic.description)
        self.edit_index(lambda index: index.with_entry(entry))

    def drop_entry(self, key: str) -> None:
        self.edit_index(lambda index: index.without([key]))

    def operations(self) -> list[Operation]:
        """What has to be done on disk, files that would not change left out."""
        for key, edits in self._index_edits.items():
            before = self.read(key) or b""
            index = Index(before)
            for edit in edits:
                index = edit(index)
            if index.data != before:
                self._files[key] = (index.data, None)
        prefix = self._store.place.prefix
        found = []
        for key, (after, mtime_ns) in self._files.items():
            before_bytes = self._store.read_bytes(key)
            if before_bytes != after:
                found.append(Operation(prefix + key, before_bytes, after, mtime_ns))
        return found


class MemoryStore:
    """One memory directory. Project, team, user and sub-agent memory are the same store with another place."""

    def __init__(
        self,
        place: Place,
        *,
        scope: str = "project",
        skip_index: bool = False,
        clock: Callable[[], float] = time.time,
        sink: Sink | None = None,
    ) -> None:
        self.place = place
        self.scope = scope
        self.skip_index = skip_index
        self.history = History(place)
        self._clock = clock
        self._sink: Sink = sink or Nowhere()
        self._scanner = Scanner(place.root)

    @property
    def root(self) -> str:
        return self.place.root

    def ensure(self) -> None:
        """Create the directory, so that no model turn is wasted on `mkdir` (S4), and finish what a crash left."""
        make_folder(self.place.root)
        if os.path.exists(self.place.journal):
            with self.changing(Origin(OUTSIDE), "recover"):
                pass

    def scan(self, *, limit: int | None = MAX_RETURNED) -> Scan:
        """What memories there are, newest first (S9)."""
        return self._scanner.scan(limit=limit)

    def path_of(self, key: str) -> str:
        """Where a key leads; PathEscape when it may not be touched."""
        return resolve_key(self.place.root, key, index_allowed=True)

    def read_bytes(self, key: str) -> bytes | None:
        """A file's bytes, None when there is no such file."""
        path = self.path_of(key)
        try:
            with open(path, "rb") as file:
                return file.read()
        except FileNotFoundError:
            return None
        except OSError as error:
            raise disk_error(error, "read", path) from error

    def read(self, key: str) -> Memory:
        """One memory by its key; MemoryNotFound when there is none."""
        data = self.read_bytes(key)
        if data is None:
            raise MemoryNotFound(f"there is no memory {key} in {self.root}", remedy="`memdir list` shows what there is")
        path = self.path_of(key)
        return Memory(key, path, Topic(data), os.stat(path).st_mtime_ns)

    def load_index(self) -> LoadedIndex:
        """The index within its limits, as a model gets it (S8)."""
        loaded = load_index(self.read_bytes(INDEX_NAME) or b"")
        if loaded.lines_cut or loaded.bytes_cut:
            cut = {"lines_cut": loaded.lines_cut, "bytes_cut": loaded.bytes_cut}
            self._sink.emit(index_truncated(lines=loaded.line_count, size_bytes=loaded.size_bytes, **cut))
        return loaded

    @contextmanager
    def changing(self, origin: Origin, subject: str, **trailers: str) -> Iterator[Change]:
        """Put a change set together and write it as a whole when the block ends without an error.

        First, under the same lock, whatever a crash or a person left unrecorded becomes history of its own.
        """
        make_folder(self.place.root)
        with locked(self.place.lock):
            self._recover()
            change = Change(self)
            yield change
            operations = change.operations()
            if operations:
                self._carry_out(Journal(origin.message(subject, **trailers), operations))
                written = sum(operation.after is not None for operation in operations)
                counts = {"written": written, "deleted": len(operations) - written}
                self._sink.emit(
                    memory_changed(source=origin.source, scope=self.scope, session=origin.session, **counts)
                )

    def record_outside_changes(self) -> None:
        """Make what was edited by hand part of the history now, before it is shown or undone."""
        if os.path.isdir(self.place.base):
            with locked(self.place.lock):
                self._recover()

    # Writing ------------------------------------------------------------------------------------------------------

    def _carry_out(self, journal: Journal) -> None:
        write_journal(self.place.journal, journal)
        done: list[Operation] = []
        try:
            for operation in journal.operations:
                self._put(operation.path, operation.after, operation.mtime_ns)
                done.append(operation)
        except BaseException:
            self._roll_back(done)
            raise
        self._record(journal.message, [operation.path for operation in journal.operations])

    def _roll_back(self, done: list[Operation]) -> None:
        """After an error: as it was before. Where even that fails, the journal stays and the next start finishes."""
        try:
            for operation in reversed(done):
                self._put(operation.path, operation.before, None)
            remove_journal(self.place.journal)
        except DiskError:
            return

    def _put(self, path: str, data: bytes | None, mtime_ns: int | None) -> None:
        target = os.path.join(self.place.base, path)
        if data is None:
            delete_file(target)
            self._drop_empty_folders(os.path.dirname(path))
        else:
            make_folder(os.path.dirname(target))
            write_bytes_atomic(target, data, mtime_ns=mtime_ns)

    def _drop_empty_folders(self, folder: str) -> None:
        while folder and folder not in _EMPTY_FOLDERS_KEPT:
            try:
                os.rmdir(os.path.join(self.place.base, folder))
            except OSError:
                return
            folder = os.path.dirname(folder)

    def _record(self, message: str, paths: list[str]) -> None:
        """Commit, then drop the journal. A history that fails keeps the journal, so that the lineage is not lost."""
        if self.history.is_available:
            try:
                self.history.record(message, paths, when=self._clock())
            except (HistoryError, DiskError) as error:
                self._sink.emit(history_failed(reason=error.message))
                return
        remove_journal(self.place.journal)

    # Recovering ---------------------------------------------------------------------------------------------------

    def _recover(self) -> None:
        """Under the lock, before a change: sweep, settle git, finish a killed change set, record outside changes."""
        self._sweep_state()
        if self.history.is_available:
            self.history.settle()
        journal = read_journal(self.place.journal)
        if journal is not None:
            sweep_temporaries(self.place.base)
            self._finish(journal)
        self._record_outside()

    def _sweep_state(self) -> None:
        for name in os.listdir(self.place.state):
            if name.startswith(".memdir-tmp-"):
                delete_file(os.path.join(self.place.state, name))

    def _finish(self, journal: Journal) -> None:
        """Complete a killed change set. What a person wrote over since then stays; ours is in the history before it."""
        theirs: list[Operation] = []
        for operation in journal.operations:
            target = os.path.join(self.place.base, operation.path)
            current, mtime_ns = _read_with_time(target)
            if current == operation.after:
                continue
            if current != operation.before:
                theirs.append(Operation(operation.path, operation.after, current, mtime_ns))
                if not self.history.is_available:
                    self.keep_draft(operation.path, operation.after)
                    continue
            self._put(operation.path, operation.after, operation.mtime_ns)
        message = journal.message.rstrip("\n") + "\nRecovered: yes\n"
        self._record(message, [operation.path for operation in journal.operations])
        for operation in theirs:
            self._put(operation.path, operation.after, operation.mtime_ns)
        self._sink.emit(change_recovered(source="journal", files=len(journal.operations)))

    def _record_outside(self) -> None:
        if not self.history.is_available:
            return
        try:
            paths = self.history.unrecorded()
            if paths:
                shown = paths[0] if len(paths) == 1 else f"{len(paths)} files"
                self.history.record(
                    Origin(OUTSIDE).message(f"changed outside memdir: {shown}"), paths, when=self._clock()
                )
        except (HistoryError, DiskError) as error:
            self._sink.emit(history_failed(reason=error.message))

    def keep_draft(self, key: str, data: bytes | None) -> str:
        """Put text that could not be saved where its author finds it again; returns the path."""
        make_folder(self.place.drafts)
        moment = time.strftime("%Y%m%d-%H%M%S", time.gmtime(self._clock()))
        path = os.path.join(self.place.drafts, f"{moment}-{key.replace('/', '_')}")
        write_bytes_atomic(path, data or b"")
        return path


def entry_for(key: str, name: str, description: str) -> Entry:
    """The index line of a memory: its name as the title, its description as the hook."""
    title = name or key.rsplit("/", 1)[-1][:-3]
    return Entry(key, title, "" if description == title else description)


def entry_of(header: Header) -> Entry:
    return entry_for(header.key, header.name, header.description)


def _read_with_time(path: str) -> tuple[bytes | None, int | None]:
    try:
        with open(path, "rb") as file:
            return file.read(), os.fstat(file.fileno()).st_mtime_ns
    except FileNotFoundError:
        return None, None
