"""What memories there are, read from the first lines of each file (S9), and the manifest of them (S10).

Everything that cannot be read is named in the result and costs nothing else. `Scanner` remembers what it read and
re-reads only files whose time, size or inode changed.
"""

from __future__ import annotations

import os
import stat

from memdir.disk.safe_path import INDEX_NAME
from memdir.store.age import iso_time
from memdir.store.frontmatter import find_block, newline_of, read_fields
from memdir.store.taxonomy import parse_type

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from memdir.store.taxonomy import MemoryType

MAX_RETURNED = 200  # more than a model can judge by their descriptions
HEAD_LINES = 30  # frontmatter and a first paragraph
HEAD_BYTES = 4096  # one page: nearly every head fits
LONG_HEAD_BYTES = 64 * 1024  # 30 lines longer than this are not prose

OPEN_FLAGS = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)


class Header:
    """What the scan knows of one memory."""

    __slots__ = ("description", "key", "mtime_ns", "name", "problem", "raw_type", "size", "type")

    def __init__(self, key: str, mtime_ns: int, size: int, fields: dict[str, str], problem: str) -> None:
        self.key = key
        self.mtime_ns = mtime_ns
        self.size = size
        self.name = fields.get("name") or os.path.basename(key)[:-3]
        self.description = fields.get("description", "")
        self.raw_type = fields.get("type", "")
        self.type: MemoryType | None = parse_type(self.raw_type)
        self.problem = problem

    @property
    def mtime(self) -> float:
        return self.mtime_ns / 1e9


class Unreadable:
    """A file that the scan had to leave out, and why."""

    __slots__ = ("key", "reason")

    def __init__(self, key: str, reason: str) -> None:
        self.key = key
        self.reason = reason


class Scan:
    """The result: memories newest first, how many there are in all, and what was left out."""

    __slots__ = ("headers", "total", "unreadable")

    def __init__(self, headers: list[Header], total: int, unreadable: list[Unreadable]) -> None:
        self.headers = headers
        self.total = total
        self.unreadable = unreadable


class Scanner:
    """Scans one memory directory, again and again, reading only what changed."""

    def __init__(self, root: str) -> None:
        self._root = root
        self._seen: dict[str, tuple[int, int, int, Header | Unreadable]] = {}

    def scan(self, *, limit: int | None = MAX_RETURNED) -> Scan:
        """All memories below the root, newest first; at most `limit` of them are returned, all are read."""
        seen: dict[str, tuple[int, int, int, Header | Unreadable]] = {}
        before = self._seen
        for key, entry in walk(self._root):
            known = before.get(key)
            if known is not None:
                status = _stat(entry)
                if status and (status.st_mtime_ns, status.st_size, status.st_ino) == known[:3]:
                    seen[key] = known
                    continue
            seen[key] = _read(entry.path, key)
        self._seen = seen
        return _result([item[3] for item in seen.values()], limit)


def scan(root: str, *, limit: int | None = MAX_RETURNED) -> Scan:
    """One scan of a memory directory."""
    return Scanner(root).scan(limit=limit)


def manifest(headers: Iterable[Header]) -> str:
    """One line a memory, as a model reads it: `- [type] file.md (time): description` (S10)."""
    lines = []
    for header in headers:
        kind = f"[{header.type}] " if header.type else ""
        description = " ".join(header.description.split())
        lines.append(f"- {kind}{header.key} ({iso_time(header.mtime)}){': ' + description if description else ''}")
    return "\n".join(lines)


def walk(root: str) -> Iterator[tuple[str, os.DirEntry[str]]]:
    """Every topic file below `root` with its key; indexes, daily logs and anything that starts with a dot left out."""
    folders = [(root, "")]
    while folders:
        folder, prefix = folders.pop()
        try:
            entries = os.scandir(folder)
        except OSError:
            continue
        with entries:
            for entry in entries:
                name = entry.name
                if name[0] == ".":
                    continue
                if name.endswith(".md"):
                    if name != INDEX_NAME and not entry.is_dir(follow_symlinks=False):
                        yield prefix + name, entry
                elif entry.is_dir(follow_symlinks=False) and not _is_daily_logs(prefix + name):
                    folders.append((entry.path, f"{prefix}{name}/"))


def _is_daily_logs(folder: str) -> bool:
    """`logs/2026` holds days of a daily log, which are no memories (K1); `logs/` itself may hold memories too."""
    return folder.startswith("logs/") and folder[5:].isdigit()


def _stat(entry: os.DirEntry[str]) -> os.stat_result | None:
    try:
        return entry.stat(follow_symlinks=False)
    except OSError:
        return None


def _read(path: str, key: str) -> tuple[int, int, int, Header | Unreadable]:
    try:
        descriptor = os.open(path, OPEN_FLAGS)
    except OSError as error:
        reason = "it is a link" if os.path.islink(path) else os.strerror(error.errno or 0)
        return 0, -1, 0, Unreadable(key, reason)
    try:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            return 0, -1, 0, Unreadable(key, "it is not a plain file")
        data = os.read(descriptor, HEAD_BYTES)
        if len(data) == HEAD_BYTES and _is_open_head(data):
            data += os.read(descriptor, LONG_HEAD_BYTES)
    except OSError as error:
        return 0, -1, 0, Unreadable(key, os.strerror(error.errno or 0))
    finally:
        os.close(descriptor)
    found = _header(key, status, data)
    return status.st_mtime_ns, status.st_size, status.st_ino, found


def _is_open_head(data: bytes) -> bool:
    """Whether the frontmatter goes on beyond what was read, and within the lines that count."""
    return find_block(data) is None and data.count(newline_of(data)) < HEAD_LINES


def _header(key: str, status: os.stat_result, data: bytes) -> Header | Unreadable:
    block = find_block(data)
    if block is not None and (len(data) <= HEAD_BYTES or data.count(b"\n", 0, block.end) <= HEAD_LINES):
        fields = read_fields(data[block.start : block.end], newline_of(data))
        return Header(key, status.st_mtime_ns, status.st_size, fields, "")
    if b"\0" in data:
        return Unreadable(key, "it is not a text file")
    opened = data.lstrip(b"\xef\xbb\xbf").startswith(b"---")
    problem = "its frontmatter is never closed" if opened else "it has no frontmatter"
    return Header(key, status.st_mtime_ns, status.st_size, {"description": _first_words(data)}, problem)


def _first_words(data: bytes) -> str:
    """The first line that says something: the description of an old file that has none."""
    for line in data.split(newline_of(data), HEAD_LINES)[:HEAD_LINES]:
        text = line.decode("utf-8", "replace").lstrip("\ufeff").strip().strip("#*- \t")
        if text:
            return text[:200]
    return ""


def _result(found: list[Header | Unreadable], limit: int | None) -> Scan:
    headers = [item for item in found if isinstance(item, Header)]
    headers.sort(key=_newest_first)
    unreadable = [item for item in found if isinstance(item, Unreadable)]
    return Scan(headers[:limit] if limit is not None else headers, len(headers), unreadable)


def _newest_first(header: Header) -> tuple[int, str]:
    return -header.mtime_ns, header.key
