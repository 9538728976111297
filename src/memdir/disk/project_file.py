"""Files of a project are the person's: written as safely as our own, with the permissions that they should have."""

from __future__ import annotations

import os
import stat

from memdir.disk.atomic import disk_error, make_folder, write_bytes_atomic

_NEW_FILE = 0o664  # no text needs to be run, and none has to be written by strangers, even in /tmp


def write_project_file(path: str, data: bytes) -> None:
    """Put `data` at `path`. A file keeps its mode; a new one gets what its folder allows, so memories stay private."""
    folder = os.path.dirname(path)
    make_folder(folder)
    try:
        mode = stat.S_IMODE(os.stat(path).st_mode)
    except FileNotFoundError:
        mode = os.stat(folder).st_mode & _NEW_FILE
    write_bytes_atomic(path, data)
    try:
        os.chmod(path, mode)
    except OSError as error:
        raise disk_error(error, "set the permissions of", path) from error
