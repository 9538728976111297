"""A failure nobody foresaw: the traceback goes to a file, the person gets its path."""

from __future__ import annotations

import os
import sys

from memdir.disk.atomic import append_bytes, make_folder
from memdir.errors import MemdirError
from memdir.settings import Environment

MAX_DETAILS = 100_000  # characters: an endless recursion has a long tale


def report_crash(error: Exception) -> None:
    """Tell in one line, keep the details, without secrets, in the home's logs."""
    import traceback

    from memdir.store.secrets import beginning

    details = beginning("".join(traceback.format_exception(error)), MAX_DETAILS)
    path = os.path.join(Environment.read().home, "logs", "crash.log")
    where = f"The details are in {path}"
    try:
        make_folder(os.path.dirname(path))
        append_bytes(path, details.encode("utf-8", "replace") + b"\n")
    except (MemdirError, OSError):
        where = details
    print(f"memdir: something went wrong inside memdir ({type(error).__name__}). {where}", file=sys.stderr)
