"""Checks around the memories: settings, git and the history, permissions, orphaned stores, unfinished writes."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import stat
import sys
from collections.abc import Iterator

from memdir.agent.bash import is_installed
from memdir.disk.atomic import nearest_existing
from memdir.disk.plain_file import names_in, read_if_plain, read_plain
from memdir.disk.programs import find_program
from memdir.disk.project_git import ProjectGit
from memdir.disk.repository import LeftOut
from memdir.doctor import Finding, Severity
from memdir.errors import DiskError, HistoryError, ModelError
from memdir.layout import nfc, root_of_store, slug_of
from memdir.memdir import MemDir
from memdir.model.choose import choose_model
from memdir.remember.session_state import MAX_UNLEARNED_BYTES, sessions_in
from memdir.settings import UNTRUSTED
from memdir.store.identity import stores
from memdir.store.journal import found_aside, waiting_journals
from memdir.store.repair import closed_parts, unlike_written
from memdir.store.scan import MAX_FILE_BYTES, is_nameable, status_of, walk
from memdir.store.secrets.refuse import harmless_name, secrets_in
from memdir.store.store import MemoryStore
from memdir.text.words import counted

LEAST_FREE = 1 << 17  # bytes: a memory, its index and what the history takes of both
_GIT_SECONDS = 5.0  # to find one commit
_WITHOUT_GIT = "What a memory names is not compared with its history, and a moved project is not recognised by it"
_REPAIRS = (
    "`memdir doctor --fix` writes again what the files on disk still hold. If anything is lost all the same, it "
    "sets the whole history aside, where it stays readable (docs/how-to/history-set-aside.md), and begins a new one"
)
_OPENS = "`memdir doctor --fix` gives you back the right to read and write it, where it is yours"
_OTHERS = stat.S_IRWXG | stat.S_IRWXO


def check_settings(memory: MemDir) -> Iterator[Finding]:
    for refusal in memory.settings.refused:
        what = refusal.name or "the whole file"
        message = f"{what} from the {refusal.layer} settings is not used: {refusal.reason}"
        is_strangers = refusal.layer == UNTRUSTED
        own = "Repair it there; `memdir config list` lists every setting"
        remedy = "Remove it there, or set it in your user settings" if is_strangers else own
        severity: Severity = "warning" if is_strangers or refusal.is_unknown else "error"
        yield Finding("settings", severity, message, refusal.path, remedy)
    if not memory.settings.enabled:
        message = f"memory is off: {memory.settings.off_because}"
        yield Finding("settings", "note", message, "", memory.settings.turn_on)


def check_model(memory: MemDir) -> Iterator[Finding]:
    """What a chosen model lacks; of a key that nobody chose, `who_serves` tells."""
    try:
        choose_model(memory.settings, memory.places.environment)
    except ModelError as error:
        instead = ", and the built-in model serves" if error.kind == "no_sdk" else ""
        message = f"the chosen model cannot be asked: {error.message}{instead}"
        yield Finding("model", "warning", message, "", error.remedy)


def check_writable(store: MemoryStore) -> Iterator[Finding]:
    """What stands in the way of the next write: a folder that is closed, or something else in its place."""
    place = store.place
    for path in dict.fromkeys((place.root, place.base, place.state, place.drafts, place.history, place.waiting)):
        standing = nearest_existing(path)
        if not os.path.isdir(standing):
            message = "a file, a link or something else stands where a folder is needed: nothing can be saved"
            yield Finding("writing", "error", message, standing, "Move it away")
        elif not os.access(standing, os.W_OK | os.X_OK) or not (standing == path or _can_hold_folders(standing)):
            message = "nothing can be written there: you have no right to, or the file system is read-only"
            yield Finding("writing", "error", message, standing, f"chmod u+rwx {standing}, or mount it read-write")
    if shutil.disk_usage(disk := nearest_existing(place.base)).free < LEAST_FREE:
        yield Finding("writing", "error", "the disk is full: nothing can be saved", disk, "Make room there")
    for path in (place.lock, place.index, place.recorded):
        if os.path.lexists(path) and not os.path.isfile(path):
            yield Finding("writing", "error", "something that is no plain file stands there", path, "Move it away")


def check_home(home: str) -> Iterator[Finding]:
    """Who else can put memories, settings and prompts where only a person's own are taken from."""
    try:
        status = os.stat(home)
    except OSError:  # there is none yet
        return
    if os.name == "nt":
        return
    if status.st_uid != os.getuid():
        message = "the home is another user's, who can read and change all that is remembered"
        yield Finding("home", "warning", message, home, "Take one of your own: MEMDIR_HOME")
    elif status.st_mode & 0o002:
        message = "others can write in the home, and so put memories and settings there that pass for yours"
        yield Finding("home", "warning", message, home, f"chmod o-w {shlex.quote(home)}")


def _can_hold_folders(folder: str) -> bool:
    """Whether a new folder can be made there, as nothing but an attempt tells: /proc gives every right and no room."""
    probe = os.path.join(folder, f".memdir-{os.getpid()}")
    try:
        os.mkdir(probe, 0o700)
        os.rmdir(probe)
    except OSError:
        return False
    return True


def check_history(store: MemoryStore) -> Iterator[Finding]:
    if not store.history.has_git:
        packed = "log, diff, restore and undo do not work, and what was forgotten may come back"
        message = f"git is not installed: {'diff does not work' if store.history.is_readable else packed}"
        yield Finding("history", "warning", message, "", "Install git")
        return
    try:
        damage = store.history.check()
    except (HistoryError, DiskError) as error:
        damage = [error.message]
    closed = next(closed_parts(store.place.history), None) if damage else None
    if closed:
        message = "the history cannot be read, because it is closed to you; changes wait until it is open"
        yield Finding("history", "error", message, closed[0], _OPENS, fixable=True)
        return
    for line in damage[:5]:
        message = f"the history is damaged: {line}"
        yield Finding("history", "error", message, store.place.history, _REPAIRS, fixable=True)
    for path in unlike_written(store.place):
        message = "it is not as memdir wrote it. memdir never reads it, but git would obey it there"
        yield Finding("history", "note", message, path, "", fixable=True)
    for folder in found_aside(store.place.history):
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
    waiting = waiting_journals(store.place.waiting)
    if waiting:
        message = f"on disk and not in the history yet: {counted(len(waiting), 'change')}, until it works again"
        yield Finding("journal", "warning", message, store.place.waiting, "", fixable=True)
    for path in found_aside(store.place.journal):
        message = "what should have been a change on its way to disk was damaged and is set aside"
        if os.path.islink(path):
            message = "a link stood where memdir keeps its own files; it was not followed, and is set aside"
        yield Finding("journal", "note", message, path, "Look into it for a text that you miss, then delete it")


def check_sessions(memory: MemDir) -> Iterator[Finding]:
    """What is kept of sessions and cannot be read: how far each was learned from, and what is still to be learned."""
    layout, end = memory.layout, "what is said from then on is learned, what was said before is not"
    for name in sessions_in(layout):
        for path in (layout.session_state(name), layout.unheard(name), layout.unlearned(name)):
            for aside in found_aside(path):
                message = f"what was noted of a session was damaged and is set aside; {end}"
                remedy = "Look into it for what you miss and `memdir remember` that, then delete it"
                yield Finding("session", "note", message, aside, remedy)
            if os.path.lexists(path) and not _holds_json(path):
                message = f"what is noted of a session cannot be read. It is set aside when that goes on; {end}"
                yield Finding("session", "warning", message, path, "")


def _holds_json(path: str) -> bool:
    try:
        lines = read_plain(path, max_bytes=MAX_UNLEARNED_BYTES).splitlines()
        return bool(lines) and all(isinstance(json.loads(line), dict) for line in lines)
    except (OSError, ValueError, RecursionError):
        return False


def check_drafts(store: MemoryStore) -> Iterator[Finding]:
    """Texts that were not saved because of a secret lie with it where their author finds them again."""
    for name in names_in(store.place.drafts):
        data = read_if_plain(os.path.join(store.place.drafts, name), MAX_FILE_BYTES) or b""
        path = os.path.join(store.place.drafts, harmless_name(name, data))
        for kind in secrets_in(name, data)[0]:
            message = f"a text that was not saved seems to hold a secret ({kind})"
            yield Finding("secret", "warning", message, path, "Take from it what you need, then delete it")


def check_large(store: MemoryStore) -> Iterator[Finding]:
    """Files that the history leaves out; a memory among them cannot be read either, and is named as such."""
    sizes = [(key, status_of(entry).st_size) for key, entry in walk(store.root, everything=True)]
    for key, size in ((key, size) for key, size in sizes if size > MAX_FILE_BYTES):
        message = f"it has {size:,} bytes: files above {MAX_FILE_BYTES:,} are neither read nor recorded in the history"
        yield Finding("size", "warning", message, key, "Move it out of the memory directory")


def check_names(store: MemoryStore) -> Iterator[Finding]:
    """Files that the history leaves out for their names."""
    for key in (key for key, _ in walk(store.root, everything=True) if not is_nameable(key)):
        message = f"the name {key!a} holds what cannot be shown: the file is not recorded in the history"
        yield Finding("name", "warning", message, "", "Rename it")


def check_permissions(store: MemoryStore) -> Iterator[Finding]:
    if os.name == "nt":
        return
    open_paths = unsafe_paths(store)
    if open_paths:
        message = (
            f"open to other users: {counted(len(open_paths), 'file or folder', 'files or folders')}, as {open_paths[0]}"
        )
        yield Finding("permissions", "warning", message, store.root, "", fixable=True)


def unsafe_paths(store: MemoryStore) -> list[str]:
    """Everything of the store that others may read or write."""
    paths = [path for path in (store.root, store.place.state) if os.path.isdir(path)]
    for _, entry in walk(store.root):
        folder = os.path.dirname(entry.path)
        paths += [entry.path] if folder in paths else [folder, entry.path]
    return [path for path in paths if _is_open(path)]


def _is_open(path: str) -> bool:
    try:
        status = os.lstat(path)
    except OSError:
        return False  # gone, or in a folder that is closed even to us
    return not stat.S_ISLNK(status.st_mode) and bool(status.st_mode & _OTHERS)


def check_slug(memory: MemDir) -> Iterator[Finding]:
    """Two paths that give one name never share a store, and nobody has to wonder at the other name (S3)."""
    layout, plain = memory.layout, slug_of(nfc(memory.layout.project))
    if layout.slug != plain:
        other = root_of_store(os.path.join(layout.projects, plain, "memory")) or "another project"
        message = f"{other} was first to have the name {plain}; this project's has a hash at its end"
        yield Finding("place", "note", message, layout.project_home, "")


def check_orphans(memory: MemDir) -> Iterator[Finding]:
    for record in stores(memory.layout):
        if record.is_orphan and record.slug != memory.layout.slug and not record.is_empty:
            message = f"a store belongs to {record.identity.root}, which is gone"
            yield Finding(
                "orphan", "note", message, record.folder, "`memdir adopt` in the project's new place takes it over"
            )
