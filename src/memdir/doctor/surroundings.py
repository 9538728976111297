"""Checks around the memories: settings, git and the history, permissions, orphaned stores, unfinished writes."""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Iterator

from memdir.agent.bash import is_installed
from memdir.disk.programs import find_program
from memdir.disk.project_git import ProjectGit
from memdir.disk.repository import LeftOut
from memdir.doctor.finding import Finding
from memdir.errors import DiskError, HistoryError
from memdir.memdir import MemDir
from memdir.store.identity import stores
from memdir.store.journal import damaged_journals, put_off_before
from memdir.store.mend import damaged_histories, unlike_written
from memdir.store.store import MemoryStore
from memdir.store.walk import MAX_FILE_BYTES, large_files, unnameable_files, walk

_GIT_SECONDS = 5.0  # to find one commit
_WITHOUT_GIT = "What a memory names is not compared with its history, and a moved project is not recognised by it"
_REPAIRS = "`memdir doctor --fix` makes again what is certain, and sets a history aside that cannot be read"
_OTHERS = stat.S_IRWXG | stat.S_IRWXO


def check_settings(memory: MemDir) -> Iterator[Finding]:
    for refusal in memory.settings.refused:
        what = refusal.name or "the whole file"
        message = f"{what} from the {refusal.layer} settings is not used: {refusal.reason}"
        yield Finding("settings", "warning", message, refusal.path, "Remove it there, or set it in your user settings")


def check_history(store: MemoryStore) -> Iterator[Finding]:
    if not store.history.is_available:
        message = "git is not installed: changes are not recorded, so log, diff, restore and undo do not work"
        yield Finding("history", "warning", message, "", "Install git")
        return
    try:
        damage = store.history.check()
    except (HistoryError, DiskError) as error:
        damage = [error.message]
    for line in damage[:5]:
        message = f"the history is damaged: {line}"
        yield Finding("history", "error", message, store.place.history, _REPAIRS, fixable=True)
    for path in unlike_written(store.place):
        message = "it is not as memdir wrote it. memdir never reads it, but git would obey it there"
        yield Finding("history", "note", message, path, "", fixable=True)
    for folder in damaged_histories(store.place):
        message = "a damaged history was set aside; a new one began with the files as they were"
        yield Finding("set-aside", "note", message, folder, "docs/how-to/history-set-aside.md tells what to do with it")


def check_project_git(memory: MemDir) -> Iterator[Finding]:
    """Why the project's own git is left out, where it is: it may only be read, never run what a stranger wrote."""
    tree = memory.layout.work_tree
    if not find_program("git") or not os.path.lexists(os.path.join(tree, ".git")):
        return
    try:
        with ProjectGit(tree) as git:
            status, _, errors = git.run("cat-file", "-e", "HEAD^{tree}", timeout_seconds=_GIT_SECONDS)
            is_begun = bool(git.repository.commit_of(git.repository.head()))
    except LeftOut as left_out:
        reason, remedy = left_out.reason, left_out.remedy
    else:
        if status == 0 or not is_begun:
            return
        reason = errors.decode("utf-8", "replace").strip().rpartition("\n")[2] or "its last commit cannot be read"
        remedy = "`git fsck` in the project tells more"
    message = f"the project's git is left out: {reason}. {_WITHOUT_GIT}"
    yield Finding("git", "note", message, tree, remedy)


def check_bash() -> Iterator[Finding]:
    """Forks do without a shell where the extra is missing; elsewhere than on Linux it would not help."""
    if sys.platform.startswith("linux") and not is_installed():
        message = "background work has no Bash: it looks around with Read, Grep and Glob"
        yield Finding("bash", "note", message, "", "pip install 'memdir[bash]'")


def check_unfinished(store: MemoryStore) -> Iterator[Finding]:
    if os.path.lexists(store.place.journal):
        message = "a change was cut short, or is not in the history yet; the next one completes it"
        yield Finding("journal", "warning", message, store.place.journal, "", fixable=True)
    waiting = put_off_before(store.place.waiting)
    if waiting:
        message = f"{len(waiting)} changes are on disk and not in the history yet; it takes them once it works again"
        yield Finding("journal", "warning", message, store.place.waiting, "", fixable=True)
    for path in damaged_journals(store.place):
        message = "what should have been a change on its way to disk was damaged and is set aside"
        if os.path.islink(path):
            message = "a link stood where memdir keeps its own files; it was not followed, and is set aside"
        yield Finding("journal", "note", message, path, "Look into it for a text that you miss, then delete it")


def check_large(store: MemoryStore) -> Iterator[Finding]:
    """Files that the history leaves out; a memory among them cannot be read either, and is named as such."""
    for key, size in large_files(store.root):
        message = f"it has {size:,} bytes: files above {MAX_FILE_BYTES:,} are neither read nor recorded in the history"
        yield Finding("size", "warning", message, key, "Move it out of the memory directory")


def check_names(store: MemoryStore) -> Iterator[Finding]:
    """Files that the history leaves out for their names."""
    for key in unnameable_files(store.root):
        message = f"the name {key!a} holds what cannot be shown: the file is not recorded in the history"
        yield Finding("name", "warning", message, "", "Rename it")


def check_permissions(store: MemoryStore) -> Iterator[Finding]:
    if os.name == "nt":
        return
    open_paths = unsafe_paths(store)
    if open_paths:
        message = f"{len(open_paths)} files or folders can be read by other users, {open_paths[0]} among them"
        yield Finding("permissions", "warning", message, store.root, "", fixable=True)


def unsafe_paths(store: MemoryStore) -> list[str]:
    """Everything of the store that others may read or write."""
    paths = [path for path in (store.root, store.place.state) if os.path.isdir(path)]
    for _, entry in walk(store.root):
        folder = os.path.dirname(entry.path)
        paths += [entry.path] if folder in paths else [folder, entry.path]
    return [path for path in paths if not os.path.islink(path) and os.stat(path).st_mode & _OTHERS]


def check_orphans(memory: MemDir) -> Iterator[Finding]:
    for record in stores(memory.layout):
        if record.is_orphan and record.slug != memory.layout.slug:
            message = f"a store belongs to {record.identity.root}, which is gone"
            yield Finding(
                "orphan", "note", message, record.folder, "`memdir adopt` in the project's new place takes it over"
            )
