"""A folder that is held open while something is written into it, or read for others. By then its name
may have become a link (E3).

Elsewhere than on Linux the name itself has to do, which leaves a gap of microseconds.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from memdir.disk.atomic import FOLDER_MODE
from memdir.disk.plain_file import NO_LINK
from memdir.errors import MemdirError, PathEscape

_FOLDER = os.O_RDONLY | getattr(os, "O_DIRECTORY", 0) | getattr(os, "O_CLOEXEC", 0)


@contextmanager
def held_folder(root: str, folder: str = "", *, create: bool = False) -> Iterator[str]:
    """A path to a folder below `root` that leads to this very folder, whatever is put in its place meanwhile.

    No part of it is a link: each is opened from the one before. PathEscape where one is, FileNotFoundError where one is
    missing and not to be made. Linux names an open folder by its descriptor.
    """
    opened = [os.open(root, _FOLDER)]
    try:
        for component in folder.split("/") if folder else ():
            opened.append(_opened_in(opened[-1], component, create=create, told=folder))
        named = f"/proc/self/fd/{opened[-1]}"
        held = named if os.path.isdir(named) else os.path.join(root, folder)
        try:
            yield held
        except MemdirError as error:
            error.message = error.message.replace(held, os.path.join(root, folder).rstrip(os.sep))
            raise
    finally:
        for descriptor in opened:
            os.close(descriptor)


def _opened_in(descriptor: int, component: str, *, create: bool, told: str) -> int:
    """The descriptor of a folder in another."""
    try:
        if create:
            with suppress(FileExistsError):
                os.mkdir(component, FOLDER_MODE, dir_fd=descriptor)
                os.fsync(descriptor)
        return os.open(component, _FOLDER | NO_LINK, dir_fd=descriptor)
    except OSError as error:
        if error.errno in (errno.ELOOP, errno.ENOTDIR, errno.EMLINK) and _is_link(descriptor, component):
            raise PathEscape(f"a part of {told!a} is a link, no folder", remedy="Remove the link") from None
        raise


def _is_link(descriptor: int, component: str) -> bool:
    try:
        return stat.S_ISLNK(os.stat(component, dir_fd=descriptor, follow_symlinks=False).st_mode)
    except OSError:
        return True  # it is swapped back and forth: whoever does so is not trusted
