"""What the last commit holds, and how each file looked on disk when it was recorded: by that, changes are found without
reading the files.

Derived, and our own note of the last commit: a table that is missing, damaged or of another commit is made again.
"""

from __future__ import annotations

import os
from collections.abc import Mapping

from memdir.disk.atomic import write_bytes_atomic
from memdir.disk.git import is_object_id
from memdir.disk.plain_file import read_if_plain
from memdir.store.journal import digest_of

_MAGIC = b"memdir-recorded 1"
_MAX_BYTES = 64 << 20  # half a million files


class LastCommit:
    """The files of one commit: the name of each content, and the look of its file ("" when it has to be read)."""

    def __init__(self, head: str, tree: str, files: dict[str, str]) -> None:
        self.head = head
        self.tree = tree
        self.files = files
        self.looks: dict[str, str] = {}
        self.saved_ns = 0

    def is_unchanged(self, path: str, status: os.stat_result) -> bool:
        """Whether a file is certainly what was recorded. One saved at the very time of the table may not be."""
        return self.looks.get(path) == look_of(status) and status.st_ctime_ns < self.saved_ns

    def changed(self, names: Mapping[str, str]) -> LastCommit:
        """The table with other contents ("": no file). A file that becomes a folder, or the reverse, goes."""
        after = LastCommit("", "", {path: name for path, name in self.files.items() if path not in names})
        written = {path: name for path, name in names.items() if name}
        folders = {folder for path in written for folder in _folders_of(path)}
        for path in [path for path in after.files if path in folders or any(map(written.get, _folders_of(path)))]:
            del after.files[path]
        after.looks = {path: look for path, look in self.looks.items() if path in after.files}
        after.files |= written
        return after

    def save(self, path: str) -> None:
        """Keep the table, durably: by it a branch is believed."""
        rows = [
            f"{name} {self.looks.get(file, '')}\t".encode("ascii") + os.fsencode(file)
            for file, name in self.files.items()
        ]
        body = b"\0".join([f"{self.head} {self.tree}".encode("ascii"), *rows])
        write_bytes_atomic(path, b"\n".join((_MAGIC, digest_of(body), body)))
        self.saved_ns = time_of(path)


def _folders_of(path: str) -> list[str]:
    return [path[:at] for at, character in enumerate(path) if character == "/"]


def look_of(status: os.stat_result) -> str:
    return f"{status.st_size} {status.st_mtime_ns} {status.st_ctime_ns} {status.st_ino}"


def load_last_commit(path: str) -> LastCommit | None:
    """The table, whatever commit it is of; None when there is none that is sound."""
    data = read_if_plain(path, _MAX_BYTES) or b""
    magic, _, rest = data.partition(b"\n")
    digest, _, body = rest.partition(b"\n")
    if magic != _MAGIC or digest != digest_of(body):
        return None
    first, *rows = body.split(b"\0")
    head, _, tree = first.decode("ascii", "replace").partition(" ")
    if not is_object_id(head) or not is_object_id(tree):
        return None
    table = LastCommit(head, tree, {})
    for row in rows:
        known, _, file = row.partition(b"\t")
        name, _, look = known.decode("ascii", "replace").partition(" ")
        table.files[os.fsdecode(file)] = name
        if look:
            table.looks[os.fsdecode(file)] = look
    table.saved_ns = time_of(path)
    return table


def time_of(path: str) -> int:
    """When a file was written, in nanoseconds by the file system's clock; 0 where there is none."""
    try:
        return os.lstat(path).st_mtime_ns
    except OSError:
        return 0
