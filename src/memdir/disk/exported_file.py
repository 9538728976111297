"""Files that a person asked for by name: they overwrite nothing unasked, and nobody else may read them."""

from __future__ import annotations

import os

from memdir.disk.atomic import write_bytes_atomic
from memdir.errors import DiskError


def require_new(path: str, *, replace: bool) -> None:
    """DiskError where something stands at `path` that may not be replaced, or where its folder is missing."""
    if os.path.isdir(path):
        raise DiskError(f"{path} is a folder", remedy="Name a file in it")
    if os.path.lexists(path) and not replace:
        raise DiskError(f"{path} is there already", remedy="Choose another name, or replace it with --force")
    folder = os.path.dirname(path)
    if not os.path.isdir(folder):
        raise DiskError(f"there is no folder {folder}", remedy="Make it first, or name another place")


def write_exported(path: str, data: bytes, *, replace: bool) -> None:
    """Put `data` into a new private file at `path`, or in the place of the one there where that was asked for."""
    path = os.path.abspath(path)
    require_new(path, replace=replace)
    write_bytes_atomic(path, data)
