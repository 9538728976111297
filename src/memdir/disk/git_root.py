"""Which project a folder belongs to: its canonical git root, shared by all worktrees (S3).

Reads `.git` files itself instead of asking git: a hook runs this on every prompt, and a git process costs more than
the rest of it.
"""

from __future__ import annotations

import os

_MAX_POINTER_BYTES = 4096  # a `gitdir:` line holds one path


def work_tree_root(folder: str) -> str | None:
    """The nearest folder at or above `folder` that holds `.git`, or None outside git."""
    current = os.path.realpath(folder)
    while True:
        if os.path.lexists(os.path.join(current, ".git")):
            return current
        parent = os.path.dirname(current)
        if parent == current:
            return None
        current = parent


def canonical_root(folder: str) -> str:
    """The main repository's root for any folder in any of its worktrees; `folder` itself outside git."""
    tree = work_tree_root(folder)
    if tree is None:
        return os.path.realpath(folder)
    common = common_git_folder(tree)
    if common is None:
        return tree
    parent, name = os.path.split(common)
    return parent if name == ".git" else common  # a bare repository with worktrees is its own root


def common_git_folder(tree: str) -> str | None:
    """The git folder that the worktree at `tree` shares with its main repository; None when it is no linked worktree.

    A `.git` file is content of the repository's making: it is believed only when the folder it names points back to
    it, or a hostile checkout could borrow another project's memory.
    """
    pointer = os.path.join(tree, ".git")
    if not os.path.isfile(pointer):
        return None
    target = _read_line(pointer)
    if target is None or not target.startswith("gitdir:"):
        return None
    git_folder = _absolute(target.removeprefix("gitdir:").strip(), tree)
    back = _read_line(os.path.join(git_folder, "gitdir"))
    common = _read_line(os.path.join(git_folder, "commondir"))
    if back is None or common is None or _absolute(back, git_folder) != os.path.realpath(pointer):
        return None
    return _absolute(common, git_folder)


def git_folder(tree: str) -> str:
    """The git folder of the work tree at `tree` alone: a linked worktree and a submodule have a file that names it."""
    pointer = os.path.join(tree, ".git")
    target = _read_line(pointer) if os.path.isfile(pointer) else None
    if target is None or not target.startswith("gitdir:"):
        return pointer
    return _absolute(target.removeprefix("gitdir:").strip(), tree)


def _absolute(path: str, base: str) -> str:
    return os.path.realpath(os.path.join(base, path))


def _read_line(path: str) -> str | None:
    try:
        with open(path, "rb") as file:
            data = file.read(_MAX_POINTER_BYTES)
    except OSError:
        return None
    return os.fsdecode(data).split("\n", 1)[0].strip()
