"""Which files below a memory directory are memories (S9). On the way of every hook: imports next to nothing."""

from __future__ import annotations

import os

from memdir.disk.safe_path import INDEX_NAME

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

MAX_MEMORY_BYTES = 1 << 20  # a memory is a page; what is larger is none, and the doctor says so
MAX_FILE_BYTES = 16 << 20  # of any other file that we read or record: an index or a log that ran over its limits


def walk(root: str, *, closed: dict[str, str] | None = None) -> Iterator[tuple[str, os.DirEntry[str]]]:
    """Every topic file below `root` with its key; indexes, daily logs and anything that starts with a dot left out.

    Folders that cannot be looked into are put into `closed` ("notes/": why): what is in them is there all the same.
    """
    folders = [(root, "")]
    while folders:
        folder, prefix = folders.pop()
        try:
            entries = os.scandir(folder)
        except FileNotFoundError:
            continue
        except OSError as error:
            if closed is not None:
                closed[prefix or "./"] = os.strerror(error.errno or 0)
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


def large_files(root: str) -> Iterator[tuple[str, int]]:
    """Every file below `root`, of whatever name, that is too large for us to read or record, with its size."""
    for key in _all_files(root):
        try:
            size = os.lstat(os.path.join(root, key)).st_size
        except OSError:
            continue
        if size > MAX_FILE_BYTES:
            yield key, size


def unnameable_files(root: str) -> Iterator[str]:
    """Every file below `root` that is left out of the history for its name."""
    return (key for key in _all_files(root) if not is_nameable(key))


def is_nameable(path: str) -> bool:
    """Whether a name is one that people can type and a terminal can show: no control characters, no broken UTF-8."""
    if path.isprintable():
        return True
    import unicodedata

    return not any(unicodedata.category(character) in ("Cc", "Cs") for character in path)


def _all_files(root: str) -> Iterator[str]:
    for folder, folders, names in os.walk(root):
        folders[:] = [name for name in folders if not name.startswith(".")]
        for name in names:
            yield os.path.relpath(os.path.join(folder, name), root).replace(os.sep, "/")


def most_bytes(path: str) -> int:
    """How large a file of a memory directory may be for us to read it."""
    return MAX_FILE_BYTES if os.path.basename(path) == INDEX_NAME else MAX_MEMORY_BYTES


def too_large(size: int, limit: int = MAX_MEMORY_BYTES) -> str:
    """Why a file is left alone."""
    return f"it has {size:,} bytes, and a memory has at most {limit:,}"


def _is_daily_logs(folder: str) -> bool:
    """`logs/2026` holds days of a daily log, which are no memories (K1); `logs/` itself may hold memories too."""
    return folder.startswith("logs/") and folder[5:].isdigit()
