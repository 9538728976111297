"""Appending to a file: what a hook does in every run, and so a module of its own (ADR 0003)."""

from __future__ import annotations

import os

from memdir.disk.plain_file import BINARY, NEVER_WAIT, NO_LINK, require_plain

_APPEND = os.O_WRONLY | os.O_CREAT | os.O_APPEND | NO_LINK | NEVER_WAIT | BINARY
_PRIVATE = 0o600


def append_bytes(path: str, data: bytes) -> None:
    """Append with one `write` on an append-only descriptor, so that concurrent writers never tear a line (J1). A folder
    that is not there is made."""
    try:
        try:
            descriptor = os.open(path, _APPEND, _PRIVATE)
        except FileNotFoundError:
            from memdir.disk.atomic import make_folder

            make_folder(os.path.dirname(path) or os.curdir)
            descriptor = os.open(path, _APPEND, _PRIVATE)
        try:
            require_plain(os.fstat(descriptor))
            os.write(descriptor, data)
        finally:
            os.close(descriptor)
    except OSError as error:
        from memdir.disk.atomic import disk_error

        raise disk_error(error, "append to", path) from error
