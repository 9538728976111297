"""The store: one memory directory, read freely and changed only in whole change sets (S13, S14).

Every change, whoever makes it, is a `ChangeSet`, put together under the directory's lock and carried out by the
`Writer`: written ahead to the journal, moved into place file by file, and recorded in the history.
"""

from __future__ import annotations

import os
import time
from contextlib import contextmanager, suppress
from itertools import groupby
from operator import itemgetter

from memdir.disk.atomic import keep_bytes, make_folder, write_bytes_atomic
from memdir.disk.lock import SHORT_WAIT_SECONDS, WAIT_SECONDS
from memdir.disk.plain_file import read_if_plain
from memdir.disk.safe_path import INDEX_NAME, is_index, resolve_found, resolve_key
from memdir.errors import BadMemoryFile, EditConflict, LockBusy, MemdirError
from memdir.events import Event, HeldSink, NullSink, careful_clock, careful_sink
from memdir.store.history import MOMENT, History, Origin, tell_moment
from memdir.store.index import Entry, Index, LoadedIndex, entry_for, load_index
from memdir.store.journal import Journal, Operation, is_waiting
from memdir.store.memory_file import Memory, read_memory, read_with_time
from memdir.store.merge import merge_bytes
from memdir.store.recover import has_leftovers, recover
from memdir.store.scan import MAX_RETURNED, Header, Scan, Scanner, most_bytes, too_large
from memdir.store.shared import TURN_ON
from memdir.store.topic import Topic
from memdir.store.trust import is_of_team, marked_trust
from memdir.store.writer import Writer

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from typing import Any

    from memdir.events import Sink
    from memdir.layout import Place
    from memdir.store.line_origins import Gone

_MAX_IGNORE_BYTES = 1 << 16


class ChangeSet:
    """A change set being put together. Nothing is on disk before the `with` block ends."""

    def __init__(self, store: MemoryStore) -> None:
        self._store = store
        self._files: dict[str, tuple[bytes | None, int | None]] = {}
        self._seen: dict[str, tuple[bytes | None, int | None]] = {}  # what the change is based on
        self._index_edits: dict[str, list[tuple[Any, Any]]] = {}  # what is done to an index, and with what
        self.on_progress: Callable[[int, int], None] | None = None  # told how many files are in place, of how many
        self.is_note = False  # whether the history is to have it even where no file changes

    def read(self, key: str) -> bytes | None:
        """The bytes of a file as this change leaves it so far."""
        return self._files[key][0] if key in self._files else self._before(key)[0]

    def write(
        self,
        key: str,
        data: bytes,
        *,
        base: bytes | None = None,
        mtime_ns: int | None = None,
        allow_secret: bool = False,
    ) -> None:
        """Set a file's bytes. `base` is what the caller started from: what others changed since is merged in (S13).

        SecretRefused when that brings a secret in; `allow_secret` when a person insists, which is heard outside of
        what others get (S15).
        """
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
        if len(data) > most_bytes(key):
            remedy = "Keep the point, drop the rest"
            raise BadMemoryFile(f"{key}: {too_large(len(data), most_bytes(key))}", remedy=remedy)
        from memdir.store.secrets.refuse import refuse_secrets

        refuse_secrets(key, data, self.read(key), scope=self._store.scope, is_allowed=allow_secret)
        self._refuse_private(key, data, has_team=self._store.has_team)
        self._files[key] = (data, mtime_ns)

    def put_back(self, key: str, data: bytes | None, *, mtime_ns: int | None = None) -> None:
        """Set a file's bytes to what the history has of it, None where there was none: what once stood here is not
        judged again."""
        self._refuse_private(key, data or b"", has_team=True)
        self._files[key] = (data, mtime_ns)

    def _refuse_private(self, key: str, data: bytes, *, has_team: bool) -> None:
        is_agents = self._store.scope.startswith("agent-project:")  # where others read too (E2)
        if is_agents or is_of_team(self._store.scope, key):
            from memdir.store.shared import refuse_private

            refuse_private(key, data, has_team=has_team or is_agents)

    def delete(self, key: str) -> None:
        self._refuse_private(key, b"", has_team=self._store.has_team)
        self._files[key] = (None, None)

    def edit_index(self, edit: Callable[[Index], Index], *, key: str = INDEX_NAME) -> None:
        """Change an index as it stands when the change set is written; left out in skip-index mode (S12)."""
        if not self._store.skip_index:
            self._index_edits.setdefault(key, []).append((lambda index, _: edit(index), None))

    def put_entry(self, key: str, topic: Topic) -> None:
        """Give a memory its line in the index."""
        self._edit_lines(Index.with_entries, entry_for(key, topic))

    def drop_entry(self, key: str) -> None:
        self._edit_lines(Index.without, key)

    def _edit_lines(self, edit: Callable[[Index, list[Any]], Index], item: object) -> None:
        if not self._store.skip_index:
            self._index_edits.setdefault(INDEX_NAME, []).append((edit, item))

    def operations(self) -> list[Operation]:
        """What has to be done on disk, files that would not change left out."""
        for key, edits in self._index_edits.items():
            before = self.read(key) or b""
            index = Index(before)
            for edit, some in groupby(edits, key=itemgetter(0)):  # thousands one by one would take minutes
                index = edit(index, [item for _, item in some])
            if index.data != before:
                self._files[key] = (index.data, None)
        self._hold_back_low_trust()
        prefix = self._store.place.prefix
        found = []
        for key, (after, mtime_ns) in self._files.items():
            before_bytes, mtime_before_ns = self._before(key)
            if before_bytes != after:
                operation = Operation(prefix + key, before_bytes, after, mtime_ns)
                operation.mtime_before_ns = mtime_before_ns
                found.append(operation)
        return found

    def _hold_back_low_trust(self) -> None:
        """No change, whoever worded it, brings the description of a memory of low trust into an index (L3)."""
        for key in [key for key, (data, _) in self._files.items() if data and is_index(key)]:
            index = Index(self._files[key][0] or b"")
            known = {entry.render() for entry in Index(self._before(key)[0] or b"").entries()}
            touched = self._files.keys()
            folder = key[: -len(INDEX_NAME)]
            entries = [e for e in index.entries() if e.render() not in known or folder + e.key in touched]
            held = [entry for e in entries if (entry := self._entry_of_low_trust(folder, e.key))]
            if held:
                self._files[key] = (index.with_entries(held).data, self._files[key][1])

    def _entry_of_low_trust(self, folder: str, key: str) -> Entry | None:
        try:
            data = self.read(folder + key)
        except MemdirError:
            return None  # a line that names no file of ours
        topic = Topic(data or b"")
        return entry_for(key, topic) if marked_trust(topic).is_low else None

    def _before(self, key: str) -> tuple[bytes | None, int | None]:
        """A file as it was when this change first looked: what is decided from it must not rest on another state."""
        if key not in self._seen:
            self._seen[key] = self._store.read_with_time(key)
        return self._seen[key]


class MemoryStore:
    """One memory directory. Project, team, user and sub-agent memory are the same store with another place."""

    def __init__(
        self,
        place: Place,
        *,
        scope: str = "project",
        skip_index: bool = False,
        has_team: bool = True,
        clock: Callable[[], float] = time.time,
        sink: Sink | None = None,
    ) -> None:
        self.place = place
        self.scope = scope
        self.skip_index = skip_index
        self.has_team = has_team  # whether what lies in `team/` may be written (E1)
        self.history = History(place)
        self._sink = HeldSink(careful_sink(NullSink() if sink is None else sink))
        self._writer = Writer(place, self.history, clock=careful_clock(clock), sink=self._sink)
        self._scanner = Scanner(place.root)
        self._gone: Gone | None = None

    @property
    def root(self) -> str:
        return self.place.root

    def ensure(self) -> None:
        """Create the directory, so that no model turn is wasted on `mkdir` (S4), and finish what a crash left."""
        self._make_root()
        if has_leftovers(self.place):
            with suppress(LockBusy):  # whoever holds the lock is alive, and began by finishing it
                self.record_outside_changes(wait_seconds=SHORT_WAIT_SECONDS)

    def _make_root(self) -> None:
        make_folder(self.place.root)
        if self.place.unshared:
            _ignore_in_git(self.place.unshared)
        if self.place.agent and not os.path.lexists(self.place.agent_note):
            keep_bytes(self.place.agent_note, self.place.agent.encode(), durably=False)

    def scan(self, *, limit: int | None = MAX_RETURNED) -> Scan:
        """What memories there are, newest first (S9)."""
        return self._scanner.scan(limit=limit)

    def path_of(self, key: str) -> str:
        """Where a key leads; PathEscape when it may not be touched."""
        return resolve_key(self.place.root, key, index_allowed=True)

    def read_bytes(self, key: str) -> bytes | None:
        """A file's bytes, None when there is no such file."""
        return self.read_with_time(key)[0]

    def read_with_time(self, key: str) -> tuple[bytes | None, int | None]:
        """A file's bytes and its time; BadMemoryFile when it is larger than it may be."""
        return read_with_time(self.path_of(key), max_bytes=most_bytes(key))

    def read(self, key: str) -> Memory:
        """One memory by its key; MemoryNotFound when there is none."""
        return read_memory(self.root, key, self.path_of(key))

    def readable(self, headers: Iterable[Header]) -> Iterator[Memory]:
        """The memories of a scan that can be read now, whatever their names: an odd file costs no other."""
        root = os.path.realpath(self.root)
        for header in headers:
            try:
                yield read_memory(self.root, header.key, resolve_found(root, header.key, is_real=True))
            except MemdirError:
                continue

    def load_index(self) -> LoadedIndex:
        """The index within its limits, as a model gets it (S8)."""
        loaded = load_index(self.read_bytes(INDEX_NAME) or b"")
        if loaded.lines_cut or loaded.bytes_cut:
            cut = {"lines_cut": loaded.lines_cut, "bytes_cut": loaded.bytes_cut}
            self._sink.emit(Event("index.truncated", lines=loaded.line_count, size_bytes=loaded.size_bytes, **cut))
        return loaded

    @contextmanager
    def changing(self, origin: Origin, subject: str, **trailers: str) -> Iterator[ChangeSet]:
        """Put a change set together and write it as a whole when the block ends without an error.

        Under the same lock, first what a crash left is finished, and before anything is written, whatever a person left
        unrecorded becomes history of its own: also what was saved while the block ran.
        """
        if self.scope == "team" and not self.has_team:
            raise MemdirError("team memory is off", remedy=TURN_ON)
        self._make_root()
        with self._writer.locked():
            recover(self._writer)
            change = ChangeSet(self)
            try:
                yield change
                operations = change.operations()
            finally:
                self._writer.record_outside()
            if operations or change.is_note:
                trailers = {MOMENT: tell_moment(self._writer.clock())} | trailers
                journal = Journal(origin.message(subject, **trailers), operations)
                self._writer.carry_out(journal, change.on_progress)
            if operations:
                written = sum(operation.after is not None for operation in operations)
                counts = {"written": written, "deleted": len(operations) - written}
                self._sink.emit(
                    Event("memory.changed", source=origin.source, scope=self.scope, session=origin.session, **counts)
                )

    def record_outside_changes(self, *, wait_seconds: float = WAIT_SECONDS) -> bool:
        """Make what was edited by hand part of the history now, before it is shown or undone. False when it fails."""
        if not os.path.isdir(self.place.base):
            return True
        with self._writer.locked(wait_seconds):
            recover(self._writer)
            return self._writer.record_outside()

    def gone(self) -> Gone:
        """What once stood here and stands here no more, what somebody did by hand just now included."""
        from memdir.store.line_origins import Gone

        self._gone = self._gone or Gone(self.history)
        with suppress(LockBusy):  # whoever holds it long is told of elsewhere
            self.record_outside_changes(wait_seconds=SHORT_WAIT_SECONDS)
        self._gone.refresh()
        return self._gone

    def is_waiting(self) -> bool:
        """Whether a change was cut short, or is on disk and not in the history."""
        return is_waiting(self.place)

    def repair_history(self) -> list[str]:
        """Make again what is damaged of the history, or set it aside. Returns what was done, in words."""
        with self._writer.locked():
            return self._writer.repair_all()

    def keep_draft(self, key: str, data: bytes) -> str:
        """Put text that could not be saved where its author finds it again; returns the path."""
        return self._writer.keep_draft(key, data)


def _ignore_in_git(folder: str) -> None:
    """Have git leave out all of a folder, its own `.gitignore` too, whatever a repository's other files say (A1); what
    a person wrote there stays above: git believes the last line that fits."""
    path = os.path.join(folder, ".gitignore")
    found = read_if_plain(path, _MAX_IGNORE_BYTES) or b""  # a link that came with the repository is replaced
    if found.rstrip(b"\n").rpartition(b"\n")[2] != b"*":
        above = found.rstrip(b"\r\n") + b"\n" if found.strip() else b""
        write_bytes_atomic(path, above + b"*\n")
