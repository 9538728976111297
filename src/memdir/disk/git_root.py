"""Which project a folder belongs to: its canonical git root, shared by all worktrees (S3).

Reads `.git` files itself instead of asking git: a hook runs this on every prompt, and a git process costs more than
the rest of it. Nothing here depends on whether git is there, or agrees.
"""

from __future__ import annotations

import os

from memdir.disk.plain_file import read_if_plain

_MAX_POINTER_BYTES = 4096  # a `gitdir:` line holds one path


def work_tree_root(folder: str) -> str | None:
    """The nearest folder at or above `folder` that holds `.git`, or None outside git. One above that belongs to neither
    us nor whoever owns `folder` is none: in a place like /tmp anybody could make it, and so decide what our project is.
    """
    start = current = os.path.realpath(folder)
    us = os.getuid() if os.name == "posix" else 0
    while True:
        path = os.path.join(current, ".git")
        if os.path.lexists(path) and (current == start or _owner(path) in (_owner(start), us)):
            return current
        parent = os.path.dirname(current)
        if parent == current:
            return None
        current = parent


def _owner(path: str) -> int | None:
    try:
        return os.lstat(path).st_uid
    except OSError:
        return None


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


def linked_worktrees(root: str) -> list[str]:
    """The other worktrees of a repository, by its root. Each has to say the same itself, as whoever asks it is told."""
    found = []
    for common in (os.path.join(root, ".git"), root):
        worktrees = os.path.join(common, "worktrees")
        for name in sorted(os.listdir(worktrees)) if os.path.isdir(worktrees) else ():
            pointer = _read_path(os.path.join(worktrees, name, "gitdir"), os.path.join(worktrees, name))
            found += [os.path.dirname(pointer)] if pointer else []
    return [tree for tree in found if tree != root and canonical_root(tree) == root]


def common_git_folder(tree: str) -> str | None:
    """The git folder that the worktree at `tree` shares with its main repository; None when it is no linked worktree.

    A `.git` file is content of the repository's making: it is believed only when it names one of the worktrees of that
    main repository, and this one points back to it, or a hostile checkout could borrow another project's memory.
    """
    folder = _pointed_at(tree)
    if folder is None:
        return None
    back = _read_path(os.path.join(folder, "gitdir"), folder)
    common = _read_path(os.path.join(folder, "commondir"), folder)
    if back is None or common is None or back != os.path.realpath(os.path.join(tree, ".git")):
        return None
    return common if os.path.dirname(folder) == os.path.join(common, "worktrees") else None


def git_folder(tree: str) -> str:
    """The git folder of the work tree at `tree` alone: a linked worktree and a submodule have a file that names it."""
    return _pointed_at(tree) or os.path.join(tree, ".git")


def _pointed_at(tree: str) -> str | None:
    return _read_path(os.path.join(tree, ".git"), tree, prefix="gitdir:")


def _read_path(file: str, base: str, *, prefix: str = "") -> str | None:
    """The path that a file of one line holds; None for one on another machine, which looking at it would ask for."""
    data = read_if_plain(file, _MAX_POINTER_BYTES)
    if data is None or b"\0" in data:
        return None
    line = os.fsdecode(data).split("\n", 1)[0].strip()
    path = line.removeprefix(prefix).strip()
    if not path or not line.startswith(prefix) or path.startswith(("//", "\\\\")):
        return None
    return os.path.realpath(os.path.join(base, path))
