"""What stands where a file should be."""

from __future__ import annotations

import os
import socket
from pathlib import Path

OBSTACLES = ("fifo", "link to a fifo", "link to /dev/zero", "link to /dev/tty", "socket", "folder", "circle")


def put(kind: str, path: Path) -> None:
    """Put an obstacle at `path`, in place of whatever stands there."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.unlink(missing_ok=True)
    if kind == "fifo":
        os.mkfifo(path)
    elif kind == "link to a fifo":
        os.mkfifo(path.with_name(".a-fifo"))
        path.symlink_to(".a-fifo")
    elif kind.startswith("link to /dev"):
        path.symlink_to(kind.removeprefix("link to "))
    elif kind == "socket":
        _bind(path)
    elif kind == "folder":
        path.mkdir()
    else:
        path.symlink_to(path.name)


def _bind(path: Path) -> None:
    """A socket's address may have 100 characters at most: bind it by its name in its folder."""
    before = Path.cwd()
    os.chdir(path.parent)
    try:
        with socket.socket(socket.AF_UNIX) as listener:
            listener.bind(path.name)
    finally:
        os.chdir(before)
