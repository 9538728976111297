"""Finds programs by name, without the weight of `shutil`, and never in the folder that happens to be the current one.

An empty or relative entry of PATH means that folder: a stranger's project could bring a `git` of its own.
"""

from __future__ import annotations

import os


def find_program(name: str) -> str:
    """The full path of a program, or "" when it is not installed."""
    names = (name, f"{name}.exe") if os.name == "nt" else (name,)
    for folder in filter(None, search_path().split(os.pathsep)):
        for candidate in names:
            path = os.path.join(folder, candidate)
            if os.access(path, os.X_OK) and os.path.isfile(path):
                return path
    return ""


def search_path() -> str:
    """PATH, for programs that we start and for those that they start."""
    folders = os.environ.get("PATH", os.defpath).split(os.pathsep)
    return os.pathsep.join(folder for folder in folders if os.path.isabs(folder))
