"""Finds programs by name, without the weight of `shutil`."""

from __future__ import annotations

import os


def find_program(name: str) -> str:
    """The full path of a program, or "" when it is not installed."""
    names = (name, f"{name}.exe") if os.name == "nt" else (name,)
    for folder in os.environ.get("PATH", os.defpath).split(os.pathsep):
        for candidate in names:
            path = os.path.join(folder, candidate)
            if os.access(path, os.X_OK) and os.path.isfile(path):
                return path
    return ""
