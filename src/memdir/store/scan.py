"""What memories there are, read from the first lines of each file (S9).

Everything that cannot be read is named in the result and costs nothing else. `Scanner` remembers what it read and
re-reads only files whose time, size or inode changed.
"""

from __future__ import annotations

import os

from memdir.disk.plain_file import open_descriptor, reason_of
from memdir.disk.safe_path import INDEX_NAME, is_index
from memdir.store.frontmatter import (
    BOM,
    FENCE,
    LONG_HEAD_BYTES,
    find_block,
    find_simple_block,
    newline_of,
    read_fields,
    read_unclosed,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from memdir.store.topic import MemoryType

    _Seen = tuple[int, int, int, "Header | Unreadable"]

MAX_MEMORY_BYTES = 1 << 20  # a memory is a page; what is larger is none, and the doctor says so
MAX_FILE_BYTES = 16 << 20  # of any other file that we read or record: an index or a log that ran over its limits
MAX_RETURNED = 200  # more than a model can judge by their descriptions
HEAD_LINES = 30  # frontmatter and a first paragraph
HEAD_BYTES = 4096  # one page: nearly every head fits
_DAY_SECONDS = 86_400
_TYPES: dict[str | None, MemoryType | None] = {}  # as files write them


class Header:
    """What the scan knows of one memory. The frontmatter is parsed when a field is first asked for: of thousands of
    files only the newest few are."""

    __slots__ = ("_block", "_fields", "key", "mtime_ns", "problem", "size")

    def __init__(
        self,
        key: str,
        status: os.stat_result,
        block: bytes = b"",
        *,
        fields: dict[str, str] | None = None,
        problem: str = "",
    ) -> None:
        self.key = key  # the file name below the memory directory
        self.mtime_ns: int = status.st_mtime_ns  # when it was last changed, in nanoseconds
        self.size: int = status.st_size  # in bytes
        self.problem = problem  # what is wrong with the file, empty when nothing is
        self._block = block
        self._fields = fields

    def __repr__(self) -> str:
        return f"Header({self.key!r}, name={self.name!r}, type={str(self.type or '')!r})"

    @property
    def fields(self) -> dict[str, str]:
        """The frontmatter as it stands."""
        if self._fields is None:
            self._fields = read_fields(self._block)
            self._block = b""
        return self._fields

    @property
    def name(self) -> str:
        """Its title; the file name where there is none."""
        return self.fields.get("name") or self.key.rsplit("/", 1)[-1][:-3]

    @property
    def description(self) -> str:
        """One line that says what it is about."""
        return self.fields.get("description", "")

    @property
    def type(self) -> MemoryType | None:
        """What it is about; None where the file does not say."""
        text = self.fields.get("type")
        if text not in _TYPES:
            from memdir.store.topic import parse_type  # a hook that only looks at times loads no enum

            _TYPES[text] = parse_type(text)
        return _TYPES[text]

    @property
    def mtime(self) -> float:
        """When it was last changed, in seconds since the epoch."""
        return self.mtime_ns / 1e9


class Unreadable:
    """A file, or a whole folder ("notes/"), that the scan had to leave out, and why."""

    __slots__ = ("key", "reason")

    def __init__(self, key: str, reason: str) -> None:
        self.key = key
        self.reason = reason

    @property
    def is_folder(self) -> bool:
        return self.key.endswith("/")


class Scan:
    """The result: memories newest first, how many there are in all, and what was left out."""

    def __init__(self, headers: list[Header], total: int, unreadable: list[Unreadable]) -> None:
        self.headers = headers
        self.total = total
        self.unreadable = unreadable

    def holds_unread(self, key: str) -> bool:
        """Whether a file is there, or may be, and cannot be read: itself, or the folder that it is in."""
        return any(key == item.key or (item.is_folder and key.startswith(item.key)) for item in self.unreadable)


class Scanner:
    """Scans one memory directory, again and again, reading only what changed."""

    def __init__(self, root: str) -> None:
        self._root = root
        self._seen: dict[str, _Seen] = {}
        self._result = Scan([], 0, [])

    def scan(self, *, limit: int | None = MAX_RETURNED) -> Scan:
        """All memories below the root, newest first; at most `limit` of them are returned, all are read."""
        before = self._seen
        same: list[str] = []
        changed: dict[str, _Seen] = {}
        closed: dict[str, OSError] = {}
        for key, entry in walk(self._root, closed=closed):
            known = before.get(key)
            if known is not None:
                status = status_of(entry)
                if status.st_mtime_ns == known[0] and status.st_size == known[1] and status.st_ino == known[2]:
                    same.append(key)
                    continue
            changed[key] = _read(entry.path, key)
        if changed or len(same) != len(before):  # else there is nothing to put together: most rescans end here
            self._seen = {key: before[key] for key in same} | changed
            self._result = _sorted(self._seen)
        whole = self._result
        folders = [Unreadable(folder, reason_of(error)) for folder, error in closed.items()]
        return Scan(whole.headers[:limit], whole.total, [*whole.unreadable, *folders])


def scan(root: str, *, limit: int | None = MAX_RETURNED) -> Scan:
    """One scan of a memory directory."""
    return Scanner(root).scan(limit=limit)


def walk(
    root: str, *, closed: dict[str, OSError] | None = None, everything: bool = False
) -> Iterator[tuple[str, os.DirEntry[str]]]:
    """Every topic file below `root` with its key; indexes, daily logs and anything that starts with a dot left out.

    `everything` that has no dot before its name is what the history records. Folders that cannot be looked into are put
    into `closed` ("notes/": why): what is in them is there all the same.
    """
    folders = [(root, "")]
    while folders:
        folder, prefix = folders.pop()
        try:
            with os.scandir(folder) as entries:
                for entry in entries:
                    name = entry.name
                    if name[0] == ".":
                        continue
                    if entry.is_dir(follow_symlinks=False):
                        if everything or not _is_no_place(prefix + name):
                            folders.append((entry.path, f"{prefix}{name}/"))
                    elif everything or (name.endswith(".md") and name != INDEX_NAME):
                        yield prefix + name, entry
        except FileNotFoundError:
            continue
        except OSError as error:
            if closed is not None:
                closed[prefix or "./"] = error


def is_nameable(path: str) -> bool:
    """Whether a name is one that people can type and a terminal can show: no control characters, no broken UTF-8."""
    if path.isprintable():
        return True
    import unicodedata

    return not any(unicodedata.category(character) in ("Cc", "Cs") for character in path)


def most_bytes(path: str) -> int:
    """How large a file of a memory directory may be for us to read it."""
    return MAX_FILE_BYTES if is_index(path) else MAX_MEMORY_BYTES


def too_large(size: int, limit: int = MAX_MEMORY_BYTES) -> str:
    """Why a file is left alone."""
    return f"it has {size:,} bytes, and a memory has at most {limit:,}"


def is_in_no_place(key: str) -> bool:
    """Whether a memory of this name would lie where none is looked for."""
    parts = key.split("/")
    return any(_is_no_place("/".join(parts[:end])) for end in range(1, len(parts)))


def _is_no_place(folder: str) -> bool:
    """`logs/2026` holds days of a daily log, which are no memories (K1), `logs/` itself may; `a.md/` holds none."""
    return folder.endswith(".md") or (folder.startswith("logs/") and folder[5:].isdigit())


_GONE = os.stat_result((0,) * 10)


def status_of(entry: os.DirEntry[str]) -> os.stat_result:
    """What the disk tells of a file; of one that is gone again, or may not be looked at, nothing."""
    try:
        return entry.stat(follow_symlinks=False)
    except OSError:
        return _GONE


def _read(path: str, key: str) -> _Seen:
    try:
        descriptor, status = open_descriptor(path, follow=False)
    except OSError as error:
        return 0, -1, 0, Unreadable(key, reason_of(error))
    try:
        if status.st_size > MAX_MEMORY_BYTES:
            return status.st_mtime_ns, status.st_size, status.st_ino, Unreadable(key, too_large(status.st_size))
        data = os.read(descriptor, HEAD_BYTES)
        if len(data) == HEAD_BYTES and _is_open_head(data):
            data += os.read(descriptor, LONG_HEAD_BYTES)
    except OSError as error:
        return 0, -1, 0, Unreadable(key, os.strerror(error.errno or 0))
    finally:
        os.close(descriptor)
    block = find_simple_block(data)
    if block is not None and block.count(b"\n") < HEAD_LINES - 1:
        return status.st_mtime_ns, status.st_size, status.st_ino, Header(key, status, block)
    return status.st_mtime_ns, status.st_size, status.st_ino, _odd_header(key, status, data)


def read_header(root: str, key: str) -> Header | None:
    """What one file tells, as a scan reads it; None where it cannot."""
    found = _read(os.path.join(root, key), key)[3]
    return found if isinstance(found, Header) else None


def _is_open_head(data: bytes) -> bool:
    """Whether the frontmatter goes on beyond what was read: within the lines that count, or where a mark may follow."""
    if find_block(data) is not None:
        return False
    return data.count(newline_of(data)) < HEAD_LINES or data.removeprefix(BOM).startswith(FENCE)


def _odd_header(key: str, status: os.stat_result, data: bytes) -> Header | Unreadable:
    block = find_block(data)
    if block is not None and data.count(newline_of(data), 0, block.end) < HEAD_LINES:
        return Header(key, status, b"", fields=read_fields(data[block.start : block.end], newline_of(data)))
    if b"\0" in data:
        return Unreadable(key, "it is not a text file")
    opened = data.removeprefix(BOM).startswith(FENCE)
    problem = "its frontmatter is never closed, or longer than 30 lines" if opened else "it has no frontmatter"
    fields = {"description": _first_words(data), **read_unclosed(data)}
    return Header(key, status, b"", fields=fields, problem=problem)


def _first_words(data: bytes) -> str:
    """The first line that says something: the description of an old file that has none."""
    for line in data.split(newline_of(data), HEAD_LINES)[:HEAD_LINES]:
        text = line.decode("utf-8", "replace").lstrip("\ufeff").strip().strip("#*- \t")
        if text:
            return text[:200]
    return ""


def _sorted(seen: dict[str, _Seen]) -> Scan:
    found = [seen[key][3] for key in sorted(seen)]
    headers = [item for item in found if isinstance(item, Header)]
    headers.sort(key=lambda header: header.mtime_ns, reverse=True)
    return Scan(headers, len(headers), [item for item in found if isinstance(item, Unreadable)])


def age_days(mtime: float, now: float) -> int:
    """Whole days between two moments, never negative."""
    return max(0, int((now - mtime) // _DAY_SECONDS))


def age_words(mtime: float, now: float) -> str:
    """today, yesterday, or N days ago."""
    days = age_days(mtime, now)
    return "today" if days == 0 else "yesterday" if days == 1 else f"{days} days ago"


def iso_time(mtime: float) -> str:
    """A moment as ISO-8601 in UTC, to the second."""
    from datetime import UTC, datetime

    return datetime.fromtimestamp(int(mtime), UTC).isoformat().replace("+00:00", "Z")
