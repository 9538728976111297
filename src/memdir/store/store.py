"""The store: one memory directory, read freely and changed only in whole change sets (S13, S14).

Every change, whoever makes it, is a `Change` put together under the directory's lock, written ahead to the journal,
moved into place file by file, and recorded in the history. docs/nothing-lost.md tells it step by step.
"""

from __future__ import annotations

import os
import time
from contextlib import contextmanager

from memdir.disk.atomic import (
    TEMPORARY_PREFIX,
    abandoned_temporaries,
    delete_file,
    disk_error,
    make_folder,
    sweep_temporaries,
    write_bytes_atomic,
)
from memdir.disk.lock import locked
from memdir.disk.safe_path import INDEX_NAME, resolve_key
from memdir.disk.swap import replace_file
from memdir.errors import DiskError, EditConflict, HistoryError, LockBusy, MemoryNotFound
from memdir.events import Nowhere, change_recovered, history_failed, index_truncated, memory_changed
from memdir.store.history import OUTSIDE, History, Origin
from memdir.store.index import Entry, Index, LoadedIndex, load_index, merge_index
from memdir.store.journal import Journal, Operation, read_journal, remove_journal, write_journal
from memdir.store.merge import merge_bytes
from memdir.store.scan import MAX_RETURNED, Header, Scan, Scanner
from memdir.store.topic import Topic

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from memdir.disk.swap import Merge
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
        self._seen: dict[str, tuple[bytes | None, int | None]] = {}  # what the change is based on
        self._index_edits: list[Callable[[Index], Index]] = []

    def read(self, key: str) -> bytes | None:
        """The bytes of a file as this change leaves it so far."""
        return self._files[key][0] if key in self._files else self._before(key)[0]

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

    def edit_index(self, edit: Callable[[Index], Index]) -> None:
        """Change the index as it stands when the change set is written; left out in skip-index mode (S12)."""
        if not self._store.skip_index:
            self._index_edits.append(edit)

    def put_entry(self, key: str, topic: Topic) -> None:
        """Give a memory its line in the index."""
        entry = entry_for(key, topic.name, topic.description)
        self.edit_index(lambda index: index.with_entry(entry))

    def drop_entry(self, key: str) -> None:
        self.edit_index(lambda index: index.without([key]))

    def operations(self) -> list[Operation]:
        """What has to be done on disk, files that would not change left out."""
        if self._index_edits:
            before = self.read(INDEX_NAME) or b""
            index = Index(before)
            for edit in self._index_edits:
                index = edit(index)
            if index.data != before:
                self._files[INDEX_NAME] = (index.data, None)
        prefix = self._store.place.prefix
        found = []
        for key, (after, mtime_ns) in self._files.items():
            before_bytes, mtime_before_ns = self._before(key)
            if before_bytes != after:
                operation = Operation(prefix + key, before_bytes, after, mtime_ns)
                operation.mtime_before_ns = mtime_before_ns
                found.append(operation)
        return found

    def _before(self, key: str) -> tuple[bytes | None, int | None]:
        """A file as it was when this change first looked: what is decided from it must not rest on another state."""
        if key not in self._seen:
            self._seen[key] = _read_with_time(self._store.path_of(key))
        return self._seen[key]


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
        if self._has_leftovers():
            try:
                self.record_outside_changes()
            except LockBusy:
                return  # whoever holds the lock is alive, and began by finishing it

    def scan(self, *, limit: int | None = MAX_RETURNED) -> Scan:
        """What memories there are, newest first (S9)."""
        return self._scanner.scan(limit=limit)

    def path_of(self, key: str) -> str:
        """Where a key leads; PathEscape when it may not be touched."""
        return resolve_key(self.place.root, key, index_allowed=True)

    def read_bytes(self, key: str) -> bytes | None:
        """A file's bytes, None when there is no such file."""
        return _read_with_time(self.path_of(key))[0]

    def read(self, key: str) -> Memory:
        """One memory by its key; MemoryNotFound when there is none."""
        path = self.path_of(key)
        data, mtime_ns = _read_with_time(path)
        if data is None or mtime_ns is None:
            raise MemoryNotFound(f"there is no memory {key} in {self.root}", remedy="`memdir list` shows what there is")
        return Memory(key, path, Topic(data), mtime_ns)

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

        Under the same lock, first what a crash left is finished, and before anything is written, whatever a person left
        unrecorded becomes history of its own: also what was saved while the block ran.
        """
        make_folder(self.place.root)
        with self._locked():
            self._recover()
            change = Change(self)
            is_recorded = False
            try:
                yield change
                operations = change.operations()
            finally:
                is_recorded = self._record_outside()
            if operations:
                journal = Journal(origin.message(subject, **trailers), operations)
                self._carry_out(journal, is_before_recorded=is_recorded)
                written = sum(operation.after is not None for operation in operations)
                counts = {"written": written, "deleted": len(operations) - written}
                self._sink.emit(
                    memory_changed(source=origin.source, scope=self.scope, session=origin.session, **counts)
                )

    def record_outside_changes(self) -> None:
        """Make what was edited by hand part of the history now, before it is shown or undone."""
        if os.path.isdir(self.place.base):
            with self._locked():
                self._recover()
                self._record_outside()

    @contextmanager
    def _locked(self) -> Iterator[None]:
        with locked(self.place.lock) as descriptor, self.history.held_by(descriptor):
            yield

    # Writing ------------------------------------------------------------------------------------------------------

    def _carry_out(self, journal: Journal, *, is_before_recorded: bool) -> None:
        write_journal(self.place.journal, journal)
        try:
            for operation in journal.operations:
                operation.after = self._put(operation, merge=_merge_for(operation.path))
        except BaseException:
            self._roll_back(journal)
            raise
        self._record(journal, journal.message, is_before_recorded=is_before_recorded)

    def _roll_back(self, journal: Journal) -> None:
        """After an error: as it was before. Where even that fails, the journal stays and the next start finishes."""
        try:
            for operation in reversed(journal.operations):
                back = Operation(operation.path, operation.after, operation.before, operation.mtime_before_ns)
                if self._current(operation.path) == operation.after != operation.before:
                    self._put(back, merge=None)
            self._sweep_base(journal)
            remove_journal(self.place.journal)
        except (DiskError, EditConflict):
            return

    def _put(self, operation: Operation, *, merge: Merge | None) -> bytes | None:
        """Carry out one operation; returns the bytes that stand there now, others' changes merged in."""
        target = os.path.join(self.place.base, operation.path)
        if operation.after is not None:
            make_folder(os.path.dirname(target))
        put = replace_file(target, operation.before, operation.after, mtime_ns=operation.mtime_ns, merge=merge)
        if put is None:
            self._drop_empty_folders(os.path.dirname(operation.path))
        return put

    def _drop_empty_folders(self, folder: str) -> None:
        while folder and folder not in _EMPTY_FOLDERS_KEPT:
            try:
                os.rmdir(os.path.join(self.place.base, folder))
            except OSError:
                return
            folder = os.path.dirname(folder)

    def _record(self, journal: Journal, message: str, *, is_before_recorded: bool) -> None:
        """Commit, then drop the journal. A history that fails keeps the journal, so that the lineage is not lost."""
        try:
            if self.history.is_available:
                if not is_before_recorded:
                    self._record_before(journal)
                self._commit(message, journal)
            # A journal that cannot be removed is no reason to deny a change that is made and recorded.
            remove_journal(self.place.journal)
        except (HistoryError, DiskError) as error:
            self._sink.emit(history_failed(reason=error.message))

    def _record_before(self, journal: Journal) -> None:
        """What the files held before the change, where the history may not have it yet."""
        before = {operation.path: operation.before for operation in journal.operations if operation.before is not None}
        if before:
            self.history.record_contents(_outside_message(list(before)), before, when=self._clock())

    def _commit(self, message: str, journal: Journal) -> None:
        contents = {operation.path: operation.after for operation in journal.operations}
        paths = (*contents, *journal.found)
        try:
            self.history.record(message, paths, when=self._clock(), contents=contents)
        except HistoryError:
            self.history.settle()  # a git that was killed, ours or a person's, left locks that stop every later one
            self.history.record(message, paths, when=self._clock(), contents=contents)

    # Recovering ---------------------------------------------------------------------------------------------------

    def _recover(self) -> None:
        """Under the lock, before a change: sweep, settle git, finish a killed change set."""
        self._sweep_state()
        if not os.path.lexists(self.place.journal):
            return  # files are moved and git is run only while there is a journal
        if self.history.is_available:
            self.history.settle()
        journal = read_journal(self.place.journal)
        self._sweep_base(journal)
        if journal is not None:
            self._finish(journal)

    def _has_leftovers(self) -> bool:
        """Whether a crash left something to mend, or somebody is writing just now."""
        names = [*_names_in(self.place.state), *_names_in(self.place.drafts)]
        return any(name == "journal" or name.startswith(TEMPORARY_PREFIX) for name in names)

    def _sweep_state(self) -> None:
        for folder in (self.place.state, self.place.drafts):
            if any(name.startswith(TEMPORARY_PREFIX) for name in _names_in(folder)):
                sweep_temporaries(folder)

    def _sweep_base(self, journal: Journal | None) -> None:
        """Remove what lies aside in the memory directory. A text that is not of this change set is kept as a draft."""
        operations = journal.operations if journal else []
        ours = [part for operation in operations for part in (operation.before, operation.after) if part is not None]
        for path in list(abandoned_temporaries(self.place.base)):
            data, _ = _read_with_time(path)
            if data and not any(part.startswith(data) for part in ours):
                self.keep_draft("recovered.md", data)
            delete_file(path)

    def _finish(self, journal: Journal) -> None:
        """Complete a killed change set. What a person wrote over since then stays; ours is in the history before it."""
        for operation in journal.operations:
            try:
                self._finish_operation(operation)
            except EditConflict:
                if not self.history.is_available and operation.after is not None:
                    self.keep_draft(operation.path, operation.after)
        message = journal.message.rstrip("\n") + "\nRecovered: yes\n"
        self._record(journal, message, is_before_recorded=False)
        self._sink.emit(change_recovered(source="journal", files=len(journal.operations)))

    def _finish_operation(self, operation: Operation) -> None:
        current = self._current(operation.path)
        if current != operation.after:
            wanted = operation.after if current == operation.before else _merged(operation, current)
            merge = _merge_for(operation.path)
            self._put(Operation(operation.path, current, wanted, operation.mtime_ns), merge=merge)

    def _record_outside(self) -> bool:
        """Make what somebody else changed a commit of its own. False when the history cannot take it now."""
        if not self.history.is_available:
            return True
        if os.path.lexists(self.place.journal):
            return False  # an older change set still waits for a history that fails
        try:
            paths = self.history.unrecorded()
            if paths:
                journal = Journal(_outside_message(paths), [], found=tuple(paths))
                write_journal(self.place.journal, journal)
                self._commit(journal.message, journal)
                remove_journal(self.place.journal)
        except (HistoryError, DiskError) as error:
            self._sink.emit(history_failed(reason=error.message))
            return False
        return True

    def _current(self, path: str) -> bytes | None:
        return _read_with_time(os.path.join(self.place.base, path))[0]

    def keep_draft(self, key: str, data: bytes | None) -> str:
        """Put text that could not be saved where its author finds it again; returns the path."""
        make_folder(self.place.drafts)
        moment = time.strftime("%Y%m%d-%H%M%S", time.gmtime(self._clock()))
        name = key.replace("/", "_")
        path = os.path.join(self.place.drafts, f"{moment}-{name}")
        number = 1
        while os.path.lexists(path):  # another text of the same second
            number += 1
            path = os.path.join(self.place.drafts, f"{moment}-{number}-{name}")
        write_bytes_atomic(path, data or b"")
        return path


def entry_for(key: str, name: str, description: str) -> Entry:
    """The index line of a memory: its name as the title, its description as the hook."""
    title = name or key.rsplit("/", 1)[-1][:-3]
    return Entry(key, title, "" if description == title else description)


def entry_of(header: Header) -> Entry:
    return entry_for(header.key, header.name, header.description)


def _read_with_time(path: str) -> tuple[bytes | None, int | None]:
    """A file's bytes and its time, from one open file; None when there is none."""
    try:
        with open(path, "rb") as file:
            return file.read(), os.fstat(file.fileno()).st_mtime_ns
    except FileNotFoundError:
        return None, None
    except OSError as error:
        raise disk_error(error, "read", path) from error


def _names_in(folder: str) -> list[str]:
    try:
        return os.listdir(folder)
    except FileNotFoundError:
        return []
    except OSError as error:
        raise disk_error(error, "read the folder", folder) from error


def _merge_for(path: str) -> Merge:
    """How two changes to a file are brought together: an index by its entries, everything else by its lines."""
    return merge_index if os.path.basename(path) == INDEX_NAME else merge_bytes


def _merged(operation: Operation, current: bytes | None) -> bytes:
    """A change set's file with what a person wrote since; EditConflict where only one of them can stay."""
    if operation.before is not None and operation.after is not None and current is not None:
        merged = _merge_for(operation.path)(operation.before, operation.after, current)
        if merged is not None:
            return merged
    raise EditConflict(f"{operation.path} was changed by someone else meanwhile")


def _outside_message(paths: list[str]) -> str:
    shown = paths[0] if len(paths) == 1 else f"{len(paths)} files"
    return Origin(OUTSIDE).message(f"changed outside memdir: {shown}")
