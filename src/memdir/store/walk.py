"""Which files below a memory directory are memories (S9). On the way of every hook: imports next to nothing."""

from __future__ import annotations

import os

from memdir.disk.safe_path import INDEX_NAME

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

OPEN_FLAGS = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)


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
