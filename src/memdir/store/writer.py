"""Carries out change sets on one memory directory: journal, files, history, in that order (S13, S14).

Everything here runs under the directory's lock. Files are moved, and git writes, only while there is a journal: what a
crash leaves is therefore known by the journal alone (`store/recover.py`). docs/nothing-lost.md tells it step by step.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress

from memdir.disk.atomic import abandoned_temporaries, delete_file, disk_error, flush_folder, keep_bytes
from memdir.disk.held_folder import held_folder
from memdir.disk.lock import WAIT_SECONDS, locked
from memdir.disk.plain_file import NotPlain, TooLarge, read_plain
from memdir.disk.replace_file import Merge, replace_file
from memdir.disk.safe_path import folder_of, is_index
from memdir.errors import BadMemoryFile, DiskError, EditConflict, HistoryError, MemdirError, PathEscape
from memdir.events import Event, HeldSink, history_failed, history_repaired, tell
from memdir.layout import Place
from memdir.store.history import MOMENT, OUTSIDE, History, Origin, tell_moment
from memdir.store.index import merge_index
from memdir.store.journal import (
    Journal,
    Operation,
    dated,
    found_aside,
    is_waiting,
    mark_on_disk,
    put_off,
    read_journal,
    set_aside,
    waiting_journals,
    write_journal,
)
from memdir.store.memory_file import read_with_time
from memdir.store.merge import merge_bytes
from memdir.store.repair import repair_all, repair_files_for_people, repair_history, repair_in_words
from memdir.store.scan import MAX_FILE_BYTES

_EMPTY_FOLDERS_KEPT = ("team", "logs")  # folders that mean something even when they are empty


class Writer:
    """Writes to one memory directory and its history."""

    def __init__(self, place: Place, history: History, *, clock: Callable[[], float], sink: HeldSink) -> None:
        self.place = place
        self.history = history
        self.clock = clock
        self.sink = sink
        self._unflushed: set[str] = set()  # folders in which names changed

    @contextmanager
    def locked(self, wait_seconds: float = WAIT_SECONDS) -> Iterator[None]:
        """Hold the directory's lock; every git that runs meanwhile holds it too. Events wait for its end."""
        held = locked(self.place.lock, wait_seconds=wait_seconds)
        with self.sink.held(), held as descriptor, self.history.git.held_by(descriptor):
            yield

    def carry_out(self, journal: Journal, on_progress: Callable[[int, int], None] | None = None) -> None:
        """Make a change set happen, as a whole or, with an error, not at all."""
        if os.path.lexists(self.place.journal):
            put_off(self.place.journal, self.place.waiting)  # complete, but the history did not take it
        write_journal(self.place.journal, journal)
        overtaken: dict[str, bytes | None] = {}
        try:
            for done, operation in enumerate(journal.operations):
                tell(on_progress, done, len(journal.operations))
                operation.after = self.put(operation, overtaken)
            self.flush_names()
        except BaseException:
            self._roll_back(journal)
            raise
        mark_on_disk(self.place.journal)
        if self.record(journal, overtaken=overtaken):
            self.drop_journal()

    def put(self, operation: Operation, overtaken: dict[str, bytes | None]) -> bytes | None:
        """Carry out one operation, merged with what others saved at the same moment; that is noted in `overtaken`."""

        def merge(base: bytes, ours: bytes, theirs: bytes) -> bytes | None:
            overtaken[operation.path] = theirs
            return merge_for(operation.path)(base, ours, theirs)

        return self._replace(operation, merge)

    def flush_names(self) -> None:
        """Make what was put in place or taken away durable; before the history, or the journal's end, says so."""
        for folder in sorted(self._unflushed):
            flush_folder(_nearest(folder))
        self._unflushed.clear()

    def record(
        self, journal: Journal, *, overtaken: dict[str, bytes | None] | None = None, written_over: Sequence[str] = ()
    ) -> bool:
        """Commit a change set, with what others had there before it and what they `wrote over` it since.

        False when the history fails: then the journal has to stay, so that neither text nor lineage is lost.
        """

        def act() -> None:
            waiting = self._waiting()
            self._begin([*waiting.values(), journal])
            for path, earlier in waiting.items():
                self._commit(earlier)
                delete_file(path)
            self._commit(journal, overtaken or {})
            if written_over:
                self._commit(Journal(outside_message(written_over), [], found=tuple(written_over)))

        return self._done_in_history(act)

    def record_outside(self) -> bool:
        """Make what somebody else changed a commit of its own. False when the history cannot take it now."""
        if is_waiting(self.place):
            return False  # an older change set still waits for a history that fails

        def act() -> None:
            paths = self.history.unrecorded()
            lost = self.history.lost_trees()
            if not paths and not lost:
                return
            from memdir.store.secrets.refuse import saved_secrets

            journal = Journal(outside_message(paths, self._moment_of(paths)), [], found=tuple(paths))
            write_journal(self.place.journal, journal)
            if lost:
                self.history.write_trees(lost)
                self.sink.emit(history_repaired(what="the last change of the history was damaged and is whole again"))
            self._begin([journal])
            self._commit(journal)
            for path, found in saved_secrets(self.place.base, paths):
                self.sink.emit(Event("memory.secret", file=path, found=found))
            self.drop_journal()

        return self._done_in_history(act)

    def _moment_of(self, paths: Sequence[str]) -> float:
        """When somebody changed these behind our back, as the disk tells it: a file by its own time, one that is gone
        by its folder's. Not before the last change that we know of; a time to come tells nothing."""
        now = self.clock()
        times: list[float] = []
        with suppress(HistoryError):  # no git, or a damage that is repaired next
            times = [last.moment for last in self.history.log(limit=1)]
        for path in paths:
            place = os.path.join(self.place.base, path)
            with suppress(OSError):
                times.append(os.stat(place if os.path.lexists(place) else _nearest(os.path.dirname(place))).st_mtime)
        return max((time for time in times if time <= now), default=now)

    def repair_all(self) -> list[str]:
        """Have git read all of the history; repair it, or set it aside, where it is damaged. Returns what was done."""
        done = []
        for event in repair_all(self.place, self.history, self.clock()):
            self.sink.emit(event)
            done.append(repair_in_words(event))
        return [
            *done,
            *(f"{path} is as memdir wrote it again" for path in repair_files_for_people(self.place, self.clock())),
        ]

    def drop_journal(self) -> None:
        """Remove the journal. One that cannot be removed is no reason to deny a change that is made and recorded."""
        try:
            delete_file(self.place.journal)
        except DiskError as error:
            self.sink.emit(history_failed(reason=error.message))

    def sweep(self, journal: Journal | None) -> None:
        """Remove what lies aside in the memory directory. A text that is not of this change set is kept as a draft."""
        operations = journal.operations if journal else []
        ours = [part for operation in operations for part in (operation.before, operation.after) if part is not None]
        for path in list(abandoned_temporaries(self.place.base)):
            try:
                data, _ = read_with_time(path)
            except BadMemoryFile:
                continue  # larger than anything we write: somebody's, and theirs to move
            if data and not any(part.startswith(data) for part in ours):
                self.keep_draft("recovered.md", data)
            delete_file(path)

    def keep_draft(self, key: str, data: bytes) -> str:
        """Put text that could not be saved where its author finds it again; returns the path."""
        if os.path.islink(self.place.drafts):
            self.put_aside(self.place.drafts)
        name = key.replace("/", "_")
        path = dated(self.clock(), lambda moment: os.path.join(self.place.drafts, f"{moment}-{name}"))
        keep_bytes(path, data)
        return path

    def current(self, path: str) -> bytes | None:
        """What a file of the directory holds now; EditConflict when something stands there that we never wrote."""
        place = os.path.join(self.place.base, path)
        try:
            return read_plain(place, max_bytes=MAX_FILE_BYTES, follow=False)
        except FileNotFoundError:
            return None
        except (NotPlain, TooLarge, NotADirectoryError) as error:
            raise EditConflict(f"{place} was replaced: {error}", remedy="Move it out of the directory") from None
        except OSError as error:
            raise disk_error(error, "read", place) from error

    def _roll_back(self, journal: Journal) -> None:
        """After an error: as it was before. Where even that fails, the journal stays and the next start finishes."""
        with suppress(MemdirError):  # what is raised is why the change failed
            for operation in reversed(journal.operations):
                self._take_back(operation)
            self.flush_names()
            self.sweep(journal)
            delete_file(self.place.journal)

    def _take_back(self, operation: Operation) -> None:
        back = Operation(operation.path, operation.after, operation.before, operation.mtime_before_ns)
        with suppress(EditConflict):  # somebody's newer text: it stays
            if self.current(operation.path) == operation.after != operation.before:
                self._replace(back, None)

    def _replace(self, operation: Operation, merge: Merge | None) -> bytes | None:
        base, path = os.path.realpath(self.place.base), operation.path
        folder, name = folder_of(base, path), path.rpartition("/")[2]
        self._unflushed.add(os.path.join(base, folder))
        try:
            with held_folder(base, folder, create=operation.after is not None) as held:
                target = os.path.join(held, name)
                put = replace_file(target, operation.before, operation.after, mtime_ns=operation.mtime_ns, merge=merge)
        except FileNotFoundError:
            return None  # its folder is gone, and it shall be
        except OSError as error:
            raise disk_error(error, "create the folder", os.path.join(base, folder)) from error
        if put is None:
            self._drop_empty_folders(folder)
        return put

    def _drop_empty_folders(self, folder: str) -> None:
        while folder and folder not in _EMPTY_FOLDERS_KEPT:
            above, _, name = folder.rpartition("/")
            try:
                with held_folder(os.path.realpath(self.place.base), above) as held:
                    os.rmdir(os.path.join(held, name))
            except (OSError, PathEscape):
                return
            folder = above

    def _done_in_history(self, act: Callable[[], None]) -> bool:
        """Do something in the history, once more when damage could be repaired; False when it cannot be done now."""
        try:
            try:
                act()
            except (HistoryError, DiskError) as error:
                self.history.git.clear_abandoned()  # a git that was killed may have left what stops every other
                for event in repair_history(self.place, self.history, self.clock(), error):
                    self.sink.emit(event)
                act()
        except (HistoryError, DiskError) as error:
            self.sink.emit(history_failed(reason=error.message))
            return False
        return True

    def _waiting(self) -> dict[str, Journal]:
        """The change sets that wait for the history, by their files; what is none of ours is put aside."""
        found = {path: read_journal(path, self.place.base) for path in waiting_journals(self.place.waiting)}
        for path in (path for path, journal in found.items() if journal is None):
            self.put_aside(path)
        return {path: journal for path, journal in found.items() if journal is not None}

    def put_aside(self, path: str) -> None:
        self.sink.emit(Event("journal.set_aside", file=set_aside(path, self.clock(), beside=self.place.journal)))

    def _begin(self, journals: Sequence[Journal]) -> None:
        """Begin a history that has no commit with the files as they were before these change sets: a commit of its own,
        so that taking back one of them takes back nothing else."""
        if self.history.head():
            return
        contents = self.history.beginning()
        for journal in reversed(journals):
            contents |= {operation.path: operation.before for operation in journal.operations}
        begun = {path: data for path, data in contents.items() if data is not None}
        if begun:
            word = "begun again" if found_aside(self.place.history) else "begun"
            message = Origin(OUTSIDE).message(f"history {word} with the files as they are")
            self.history.record(message, (), when=self.clock(), contents=begun)

    def _commit(self, journal: Journal, overtaken: dict[str, bytes | None] | None = None) -> None:
        """Commit a change set; what it displaced is in the history before it, and can be read there."""
        befores = {operation.path: operation.before for operation in journal.operations}
        self.history.keep([data for data in befores.values() if data is not None])
        for contents in (befores, overtaken or {}):
            missing = self.history.missing(contents)
            if missing:
                self.history.record(outside_message(list(missing)), (), when=self.clock(), contents=missing)
        contents = {operation.path: operation.after for operation in journal.operations}
        is_note = bool(journal.message) and not contents and not journal.found
        self.history.record(journal.message, journal.found, when=self.clock(), contents=contents, is_note=is_note)


def _nearest(folder: str) -> str:
    """A folder, or what is left above it: it may have been removed with its last file."""
    while not os.path.isdir(folder):
        folder = os.path.dirname(folder)
    return folder


def merge_for(path: str) -> Merge:
    """How two changes to a file are brought together: an index by its entries, everything else by its lines."""
    return merge_index if is_index(path) else merge_bytes


def outside_message(paths: Sequence[str], moment: float | None = None) -> str:
    """The commit message of a change that nobody announced."""
    shown = paths[0] if len(paths) == 1 else f"{len(paths)} files"
    more = {} if moment is None else {MOMENT: tell_moment(moment)}
    return Origin(OUTSIDE).message(f"changed outside memdir: {shown}", **more)
