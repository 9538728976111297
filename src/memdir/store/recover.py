"""Repairing what a killed process left: sweep, clear up after git, complete the change set of the journal (S13).

Runs at the next start and before every change, under the directory's lock. Every step may itself be cut short and is
then done again.
"""

from __future__ import annotations

import os
from contextlib import suppress

from memdir.disk.atomic import TEMPORARY_PREFIX, sweep_temporaries
from memdir.disk.git import is_real_folder
from memdir.errors import EditConflict
from memdir.events import Event
from memdir.layout import Place
from memdir.store.journal import Journal, Operation, is_waiting, mark_on_disk, names_in, read_journal, waiting_journals
from memdir.store.writer import Writer, merge_for


def has_leftovers(place: Place) -> bool:
    """Whether a crash left something to repair, or somebody is writing just now."""
    if _misplaced(place):
        return True
    names = [*names_in(place.state), *names_in(place.drafts)]
    ours = (os.path.basename(place.journal), os.path.basename(place.waiting))
    return any(name in ours or name.startswith(TEMPORARY_PREFIX) for name in names)


def recover(writer: Writer) -> None:
    """Leave the directory, the state folder and the history as if nothing had been cut short."""
    place = writer.place
    for path in _misplaced(place):
        writer.put_aside(path)
    for folder in (place.state, place.drafts):
        if any(name.startswith(TEMPORARY_PREFIX) for name in names_in(folder)):
            sweep_temporaries(folder)
    if not is_waiting(place):
        return  # files are moved, and the history is written, only while there is a journal
    writer.history.git.clear_abandoned()
    journal = read_journal(place.journal, place.base)
    if journal is None and os.path.lexists(place.journal):
        writer.put_aside(place.journal)  # what is no journal is not believed
    writer.sweep(journal)
    if journal is not None:
        _finish(writer, journal)
    elif waiting_journals(place.waiting):
        writer.record(Journal("", []))
    with suppress(OSError):  # it is not there, or something still waits in it
        os.rmdir(place.waiting)


def _misplaced(place: Place) -> list[str]:
    """What stands where a folder of ours belongs. A link leads to somebody else's files: nothing there is touched."""
    return [path for path in (place.waiting, place.drafts) if os.path.lexists(path) and not is_real_folder(path)]


def _finish(writer: Writer, journal: Journal) -> None:
    """Complete a change set. What a person wrote over it since stays; ours is in the history before that."""
    unsure = [] if journal.is_on_disk else journal.operations
    edited = [operation for operation in unsure if not _is_complete(writer, operation)]
    writer.flush_names()
    journal.message = journal.message.rstrip("\n") + "\nRecovered: yes\n"
    paths = [operation.path for operation in edited]
    is_recorded = writer.record(journal, written_over=paths)
    for operation in edited:
        _bring_in(writer, operation, is_recorded=is_recorded)
    writer.flush_names()
    if is_recorded:
        writer.drop_journal()
    else:
        mark_on_disk(writer.place.journal)
    writer.sink.emit(Event("memory.recovered", source="journal", files=len(journal.operations)))


def _is_complete(writer: Writer, operation: Operation) -> bool:
    """Carry out an operation that was not; False when somebody else has changed its file since."""
    try:
        current = writer.current(operation.path)
        if current == operation.before != operation.after:
            current = writer.put(Operation(operation.path, current, operation.after, operation.mtime_ns), {})
    except EditConflict:
        return False
    return current == operation.after


def _bring_in(writer: Writer, operation: Operation, *, is_recorded: bool) -> None:
    """Merge our change into what a person wrote over it; where that cannot be done, the person's text stays alone."""
    before, after = operation.before, operation.after
    merged = None
    with suppress(EditConflict):  # saved once more just now, or something stands there that merges with no text
        current = writer.current(operation.path)
        if before is not None and after is not None and current is not None:
            merged = merge_for(operation.path)(before, after, current)
        if merged is not None and current is not None and merged != current:
            if not is_recorded:
                writer.keep_draft(operation.path, current)
            writer.put(Operation(operation.path, current, merged), {})
