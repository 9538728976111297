"""The change set being written, kept aside until it is whole: a killed process is completed by the next one (S13).

A journal holds everything needed to finish: the message, and for each file the bytes before and after. It is written
in one piece before the first file is touched and removed when the history has it and nothing is left aside. So where
there is a journal, work was cut short, and where there is none, there is nothing to do. A change set that is on disk
while the history takes none is put into the waiting folder when the next one begins. Once all its files are in place a
journal is marked: from then on it is only recorded, and what a person does to the files is theirs.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from contextlib import suppress
from itertools import count

from memdir.disk.atomic import disk_error, disk_errors, flush_folder, make_folder, write_bytes_atomic
from memdir.disk.lock import locked
from memdir.disk.plain_file import NEVER_WAIT, NO_LINK, NotPlain, TooLarge, open_plain, read_beginning, read_plain
from memdir.errors import DiskError, LockBusy
from memdir.layout import Place

_MAGIC = b"memdir-journal 2\n"
_MARK = b" "  # the last byte of the magic once every file is in place: one byte is written whole or not at all
_MARKED = _MAGIC[:-1] + _MARK
MAX_JOURNAL_BYTES = 512 << 20  # far above any change set: what is larger is none of ours, and is never read
_DAMAGED = ".damaged-"
_MAX_TIME_NS = 1 << 62  # the year 2116, which every file system can still write down


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

    def __init__(self, message: str, operations: list[Operation], *, found: tuple[str, ...] = ()) -> None:
        self.message = message
        self.operations = operations
        self.found = found
        self.is_on_disk = False  # whether every file was in place: then none is touched again


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
    rest = b"".join([head, b"\n", *parts])
    data = b"".join([_MAGIC, digest_of(rest), b"\n", rest])
    if len(data) > MAX_JOURNAL_BYTES:
        raise DiskError(f"a change of {len(data):,} bytes is too large", remedy="Make it in several parts")
    try:
        write_bytes_atomic(path, data)
    except DiskError:
        _remove_if_it_is(path, data)
        raise


def read_journal(path: str, base: str) -> Journal | None:
    """The change set that a killed process left; None for a file that is no journal, or none of this directory."""
    try:
        magic = read_beginning(path, max_bytes=len(_MAGIC), follow=False)
        if magic not in (_MAGIC, _MARKED):  # what stands there may be of any size
            return None
        rest = read_plain(path, max_bytes=MAX_JOURNAL_BYTES, follow=False)[len(magic) :]
    except (FileNotFoundError, NotPlain, TooLarge):
        return None
    except OSError as error:
        raise disk_error(error, "read", path) from error
    digest, _, rest = rest.partition(b"\n")
    journal = _parse(rest) if digest == digest_of(rest) else None
    if journal is None:
        return None
    paths = [*(operation.path for operation in journal.operations), *journal.found]
    if not all(_is_inside(base, path) for path in paths):
        return None
    journal.is_on_disk = magic == _MARKED
    return journal


def mark_on_disk(path: str) -> None:
    """Note that every file of the change set is in place. Without a flush: a power cut that takes the note back leads
    to files that are as they were then."""
    with suppress(OSError):  # only a change of the files before the next start would be mistaken for one not made
        descriptor = os.open(path, os.O_WRONLY | NEVER_WAIT | NO_LINK)
        try:
            os.lseek(descriptor, len(_MAGIC) - len(_MARK), os.SEEK_SET)
            os.write(descriptor, _MARK)
        finally:
            os.close(descriptor)


def set_aside(path: str, now: float, *, beside: str = "") -> str:
    """Move something of ours that cannot be used out of the way, never deleting it; returns where it is now."""
    aside = dated(now, lambda moment: f"{beside or path}{_DAMAGED}{moment}")
    with disk_errors("set aside", path):
        os.rename(path, aside)
    flush_folder(os.path.dirname(path))
    return aside


def dated(now: float, named: Callable[[str], str]) -> str:
    """A path named after a moment at which nothing stands yet: another one of the same second gets a number."""
    moment = time.strftime("%Y%m%d-%H%M%S", time.gmtime(max(now, 0)))
    paths = (named(moment if number == 1 else f"{moment}-{number}") for number in count(1))
    return next(path for path in paths if not os.path.lexists(path))


def is_waiting(place: Place) -> bool:
    """Whether a change set is on disk and not in the history."""
    return os.path.lexists(place.journal) or bool(waiting_journals(place.waiting))


def is_left_waiting(place: Place) -> bool:
    """The same, when nobody is about to record it."""
    if not is_waiting(place):
        return False
    with suppress(LockBusy), locked(place.lock, wait_seconds=0):
        return is_waiting(place)
    return False  # somebody is just writing it


def found_aside(path: str) -> list[str]:
    """What was set aside from this place because it could not be used, the oldest first."""
    folder, name = os.path.split(path)
    try:
        return sorted(os.path.join(folder, other) for other in names_in(folder) if other.startswith(name + _DAMAGED))
    except DiskError:
        return []


def put_off(path: str, folder: str) -> None:
    """Let a change set that is on disk, but in no history yet, wait behind those that wait already."""
    make_folder(folder)
    last = max((int(os.path.basename(other)) for other in waiting_journals(folder)), default=0)
    with disk_errors("move", path):
        os.rename(path, os.path.join(folder, f"{last + 1:06}"))
    flush_folder(folder)
    flush_folder(os.path.dirname(path))


def waiting_journals(folder: str) -> list[str]:
    """The change sets that wait, in their order; none behind a link, which leads to somebody else's files."""
    names = [] if os.path.islink(folder) else names_in(folder)
    numbers = sorted((name for name in names if name.isascii() and name.isdigit()), key=int)
    return [os.path.join(folder, name) for name in numbers]


def names_in(folder: str) -> list[str]:
    """What is in a folder of ours; nothing where it is not there, or no folder."""
    with disk_errors("read the folder", folder), suppress(FileNotFoundError, NotADirectoryError):
        return os.listdir(folder)
    return []


def digest_of(rest: bytes) -> bytes:
    """A checksum, as our files of state begin with it."""
    from hashlib import sha256

    return sha256(rest).hexdigest().encode("ascii")


def _is_inside(base: str, path: str) -> bool:
    """Whether a path may be one of ours: no part of it hidden or leading upwards, no folder a link that leads out."""
    parts = path.split("/")
    if "\0" in path or not all(part and not part.startswith(".") for part in parts):
        return False
    real_base = os.path.realpath(base)
    folder = os.path.realpath(os.path.join(real_base, *parts[:-1]))
    return folder == real_base or folder.startswith(real_base.rstrip(os.sep) + os.sep)


def _parse(data: bytes) -> Journal | None:
    import json

    head, newline, rest = data.partition(b"\n")
    if not newline:
        return None
    try:
        parsed = json.loads(head)
        operations = []
        for item in parsed["files"]:
            before, rest = _take(rest, item["before"])
            after, rest = _take(rest, item["after"])
            operations.append(Operation(str(item["path"]), before, after, _time(item["mtime_ns"])))
        if rest:
            return None
        return Journal(str(parsed["message"]), operations, found=tuple(map(str, parsed.get("found", ()))))
    except (ValueError, KeyError, TypeError, RecursionError):
        return None


def _take(rest: bytes, size: int | None) -> tuple[bytes | None, bytes]:
    if size is None:
        return None, rest
    if not 0 <= size <= len(rest):
        raise ValueError("cut short")
    return rest[:size], rest[size:]


def _time(value: object) -> int | None:
    if value is None or (isinstance(value, int) and 0 <= value < _MAX_TIME_NS):
        return value
    raise ValueError("no time")


def _remove_if_it_is(path: str, data: bytes) -> None:
    """Take back a journal that is in place but perhaps not durable; an older one that still waits stays."""
    with suppress(OSError):  # where not even that works, the next start completes the change set
        with open_plain(path, follow=False) as file:
            is_ours = file.read(len(data) + 1) == data
        if is_ours:
            os.unlink(path)
