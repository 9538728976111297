"""The change set being written, kept aside until it is whole: a killed process is completed by the next one (S13).

A journal holds everything needed to finish: the message, and for each file the bytes before and after. It is written
in one piece before the first file is touched and removed when the history has it and nothing is left aside. So where
there is a journal, work was cut short, and where there is none, there is nothing to mend.
"""

from __future__ import annotations

import os

from memdir.disk.atomic import delete_file, disk_error, write_bytes_atomic
from memdir.errors import DiskError

_MAGIC = b"memdir-journal 1\n"


class Operation:
    """One file of a change set: its path below the base directory, its bytes before and after (None: no file)."""

    __slots__ = ("after", "before", "mtime_before_ns", "mtime_ns", "path")

    def __init__(self, path: str, before: bytes | None, after: bytes | None, mtime_ns: int | None = None) -> None:
        self.path = path
        self.before = before
        self.after = after
        self.mtime_ns = mtime_ns
        self.mtime_before_ns: int | None = None  # only to take the change back: a journal completes it


class Journal:
    """A change set on its way to disk, or (`found`) paths that somebody else changed, on their way into the history."""

    __slots__ = ("found", "message", "operations")

    def __init__(self, message: str, operations: list[Operation], *, found: tuple[str, ...] = ()) -> None:
        self.message = message
        self.operations = operations
        self.found = found


def write_journal(path: str, journal: Journal) -> None:
    """Put the journal in place, or raise and leave none: an error must not be followed by the change it denied."""
    import json

    sizes = [
        {
            "path": operation.path,
            "before": None if operation.before is None else len(operation.before),
            "after": None if operation.after is None else len(operation.after),
            "mtime_ns": operation.mtime_ns,
        }
        for operation in journal.operations
    ]
    head = json.dumps({"message": journal.message, "files": sizes, "found": journal.found}).encode("ascii")
    parts = [part for operation in journal.operations for part in (operation.before, operation.after) if part]
    data = b"".join([_MAGIC, head, b"\n", *parts])
    try:
        write_bytes_atomic(path, data)
    except DiskError:
        _remove_if_it_is(path, data)
        raise


def read_journal(path: str) -> Journal | None:
    """The change set that a killed process left, or None. A file that is no journal is put aside, not believed."""
    try:
        with open(path, "rb") as file:
            data = file.read()
        journal = _parse(data)
        if journal is None:
            os.replace(path, path + ".damaged")
    except FileNotFoundError:
        return None
    except OSError as error:
        raise disk_error(error, "read", path) from error
    return journal


def remove_journal(path: str) -> None:
    delete_file(path)


def _parse(data: bytes) -> Journal | None:
    import json

    head, newline, rest = data.removeprefix(_MAGIC).partition(b"\n")
    if not data.startswith(_MAGIC) or not newline:
        return None
    try:
        parsed = json.loads(head)
        operations = []
        for item in parsed["files"]:
            before, rest = _take(rest, item["before"])
            after, rest = _take(rest, item["after"])
            operations.append(Operation(str(item["path"]), before, after, item["mtime_ns"]))
        return Journal(str(parsed["message"]), operations, found=tuple(map(str, parsed.get("found", ()))))
    except (ValueError, KeyError, TypeError):
        return None


def _take(rest: bytes, size: int | None) -> tuple[bytes | None, bytes]:
    if size is None:
        return None, rest
    if len(rest) < size:
        raise ValueError("cut short")
    return rest[:size], rest[size:]


def _remove_if_it_is(path: str, data: bytes) -> None:
    """Take back a journal that is in place but perhaps not durable; an older one that still waits stays."""
    try:
        with open(path, "rb") as file:
            is_ours = file.read() == data
        if is_ours:
            os.unlink(path)
    except OSError:
        return  # where not even that works, the next start completes the change set
