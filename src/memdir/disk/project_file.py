"""Files of a project are the person's: written as safely as our own, with the permissions that they should have."""

from __future__ import annotations

import os
import stat

from memdir.disk.atomic import disk_error, make_folder, write_bytes_atomic


def write_project_file(path: str, data: bytes) -> None:
    """Put `data` at `path`. A file keeps its mode; a new one gets what its folder allows, so memories stay private."""
    folder = os.path.dirname(path)
    make_folder(folder)
    try:
        mode = stat.S_IMODE(os.stat(path).st_mode)
    except FileNotFoundError:
        mode = stat.S_IMODE(os.stat(folder).st_mode) & 0o666
    write_bytes_atomic(path, data)
    try:
        os.chmod(path, mode)
    except OSError as error:
        raise disk_error(error, "set the permissions of", path) from error
