"""Repairs a damaged history: make again what is certain, else set it aside whole (S14, ADR 0041).

Only the holder of the directory's lock may repair. A history is set aside when it can be read from the disk and git
says that it is broken: never for a full disk, a missing permission, a git that is not there or was killed.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator

from memdir.disk.atomic import FILE_MODE, FOLDER_MODE, disk_error, disk_errors, write_bytes_atomic
from memdir.disk.git import FOLDERS, FOR_PEOPLE, KILLED, is_real_folder, read_batch
from memdir.disk.plain_file import read_if_plain
from memdir.errors import DiskError, HistoryError, MemdirError
from memdir.events import Event, history_repaired
from memdir.layout import Place
from memdir.store.history import History
from memdir.store.journal import set_aside

_NEVER_WRITTEN = (
    "config.worktree", "hooks", "commondir", "gitdir", "info/attributes", "info/grafts", "modules", "shallow",
    "objects/info/alternates", "objects/info/http-alternates", "refs/replace", "worktrees",
)  # fmt: skip
# What git says when it is not the history that is broken.
_REFUSED = (errno.EACCES, errno.EPERM, errno.EROFS, errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
_BUSY = (errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.EAGAIN, errno.EBUSY, errno.EINTR, errno.ENOLCK, errno.ETXTBSY)
_DISK_GONE = (errno.EIO, errno.ESTALE, errno.ENOTCONN, errno.ETIMEDOUT, errno.ENODEV, errno.EHOSTDOWN)
_WORDS = ("out of memory", "did not end in", "not installed", "could not be started", "unable to create thread", KILLED)


def repair_history(place: Place, history: History, now: float, error: MemdirError) -> Iterator[Event]:
    """Repair what is damaged; tells what was done. `error` is how it showed, and is raised when there is none."""
    if is_passing(place, error):
        raise error
    if not history.git.exists:
        history.forget_table()
        yield history_repaired(what="the history was gone; a new one begins with the files as they are")
        return
    yield from _open_up(place.history)
    for path in _move_wrong_kinds(place, now):
        yield history_repaired(what=f"{path} was not what it should be and is set aside")
    try:
        words = _find_branch(history)
        history.forget_table()
        history.read_through()
    except (HistoryError, DiskError) as still:
        if is_passing(place, still):
            raise
        yield set_history_aside(place, history, now, still.message)
        return
    if words:
        yield history_repaired(what=words)


def repair_all(place: Place, history: History, now: float) -> Iterator[Event]:
    """The same for every version that the history holds, after what the files on disk still know was put back."""
    yield from _open_up(place.history)
    try:
        complaints = history.check()
    except (HistoryError, DiskError) as error:
        yield from repair_history(place, history, now, error)
        return
    if not complaints:
        return
    if not history.git.exists:
        yield from repair_history(place, history, now, HistoryError(complaints[0]))
        return
    history.keep([data for data in history.beginning().values() if data is not None])
    complaints = history.check()
    if complaints and not is_passing(place, HistoryError(complaints[0])):
        yield set_history_aside(place, history, now, complaints[0])
    elif not complaints:
        yield history_repaired(what="damaged versions in the history were written again from the files")


def repair_in_words(event: Event) -> str:
    """What was done to a history, in words."""
    if event.name == "history.set_aside":
        folder, reason = event.fields["folder"], event.fields["reason"]
        return f"the history could not be read and is set aside in {folder}; a new one begins ({reason})"
    if event.name == "journal.set_aside":
        return f"a change that had been cut short was damaged and is set aside in {event.fields['file']}"
    return str(event.fields["what"])


def set_history_aside(place: Place, history: History, now: float, reason: str) -> Event:
    """Move a history away, never deleting it: the next commit begins a new one."""
    folder = set_aside(place.history, now)
    history.forget_table()
    return Event("history.set_aside", folder=folder, reason=reason)


def is_passing(place: Place, error: MemdirError) -> bool:
    """Whether an error may go away by itself, or by what its remedy says, and tells nothing about the history."""
    codes = (*_REFUSED, *_BUSY, *_DISK_GONE)
    if isinstance(error, DiskError):
        return error.code in codes
    said = error.message.replace(place.history, "")  # git tells in words only; a folder's name is none of them
    return any(text in said for text in (*map(os.strerror, codes), *_WORDS))


def unlike_written(place: Place) -> list[str]:
    """What people's git goes by and is not as we wrote it: memdir never reads it, but it could make git run things."""
    paths = {os.path.join(place.history, name): data for name, data in FOR_PEOPLE.items()}
    found = [path for path, data in paths.items() if read_if_plain(path, len(data)) != data]
    extras = (os.path.join(place.history, name) for name in _NEVER_WRITTEN)
    return [*found, *(path for path in extras if os.path.lexists(path))] if os.path.lexists(place.history) else []


def repair_files_for_people(place: Place, now: float) -> list[str]:
    """Put that back as it was written; what stood there is set aside. Returns what was."""
    changed = unlike_written(place)
    for path in changed:
        if os.path.lexists(path):
            set_aside(path, now)
        if os.path.basename(path) in FOR_PEOPLE:
            write_bytes_atomic(path, FOR_PEOPLE[os.path.basename(path)])
    return changed


def _open_up(folder: str) -> Iterator[Event]:
    """Give the owner back what he needs to read and write."""
    changed = 0
    for path, mode in closed_parts(folder):
        with disk_errors("open", path):
            os.chmod(path, mode)
        changed += 1
    if changed:
        what = f"{changed} files and folders of the history were closed to their owner, and are open again"
        yield history_repaired(what=what)


def closed_parts(folder: str) -> Iterator[tuple[str, int]]:
    """What of a history its owner may not read, and the mode it should have; whoever opens it gets what is below."""
    if not is_real_folder(folder):
        return
    if _is_closed(folder, FOLDER_MODE):
        yield folder, FOLDER_MODE
    for current, folders, files in os.walk(folder):
        for names, mode in ((folders, FOLDER_MODE), (files, FILE_MODE)):
            yield from ((path, mode) for name in names if _is_closed(path := os.path.join(current, name), mode))


def _is_closed(path: str, mode: int) -> bool:
    needed = stat.S_IRUSR | (mode & stat.S_IXUSR)
    try:
        status = os.lstat(path)
    except FileNotFoundError:
        return False
    except OSError as error:
        raise disk_error(error, "look at", path) from error
    return not stat.S_ISLNK(status.st_mode) and status.st_mode & needed != needed


def _move_wrong_kinds(place: Place, now: float) -> Iterator[str]:
    """Set aside what stands where a folder of ours should be; the objects' and the whole are judged elsewhere."""
    for name in FOLDERS:
        path = os.path.join(place.history, name).rstrip(os.sep)
        if name in ("", "objects") or not os.path.lexists(path) or is_real_folder(path):
            continue
        if all(is_real_folder(above) for above in (place.history, os.path.dirname(path))):
            yield set_aside(path, now)
    branch = os.path.join(place.history, "refs", "heads", "main")
    if os.path.isdir(branch):
        yield set_aside(branch, now)


def _find_branch(history: History) -> str:
    """Make sure that the branch names the last commit; returns what was done, "" for nothing."""
    git = history.git
    git.look_over()
    git.create()
    named, noted, logged = git.named_head(), history.noted_head(), git.logged_head()
    last = _last_commit(history, named, noted, logged)
    if not last or named == last == logged:
        return ""
    git.point_to(last, named, date=0)
    if named == last:
        return f"the log of the history's branch was damaged and names the last change {last[:8]} again"
    return f"the branch of the history was damaged and leads to the last change {last[:8]} again"


def _last_commit(history: History, named: str, noted: str, logged: str) -> str:
    """The commit that two of branch, note and log are certain of; else the one that no other commit builds on."""
    known = [name for name in (named, noted, logged) if name and history.is_commit(name)]
    if len(known) < 2:
        return _only_tip(history, named, noted, logged)
    for name in dict.fromkeys(known):
        if all(other == name or history.is_behind(other, name) for other in known):
            return name
    if noted == logged:
        return noted  # the branch was led astray
    raise history.git.failure("its branch leads to a change that does not follow from its last one")


def _only_tip(history: History, named: str, noted: str, logged: str) -> str:
    """HistoryError when a commit is lost, or which was the last is unsure."""
    parents = _parents(history)
    built_on = {parent for _, known in parents.values() for parent in known}
    tips = [name for name in parents if name not in built_on]
    for name in (noted, logged):
        if name in tips:
            return name
    if any(name and name not in parents for name in (noted, logged, named)):
        raise history.git.failure("its last change is lost")
    # A commit that nothing builds on was cut short where its parents led to another that took its place.
    if named in tips and all(history.is_behind(parent, named) for name in tips for parent in parents[name][1]):
        return named
    if len({parents[name] for name in tips}) <= 1:  # of a change set that was recorded twice, one is as good
        return max(tips, default="")
    raise history.git.failure("its branch is lost, and which change was the last is not certain")


def _parents(history: History) -> dict[str, tuple[bytes, tuple[str, ...]]]:
    """Tree and parents of every commit among the objects."""
    every = history.git.run("cat-file", "--batch-all-objects", "--batch-check=%(objectname) %(objecttype)")
    names = [line.split(b" ")[0] for line in every.split(b"\n") if line.endswith(b" commit")]
    output = history.git.run("cat-file", "--batch", stdin=b"".join(name + b"\n" for name in names))
    found = {}
    for name, (_, data) in zip(names, read_batch(output), strict=True):
        head = data.partition(b"\n\n")[0].split(b"\n")
        known = tuple(line[7:].decode("ascii", "replace") for line in head if line.startswith(b"parent "))
        if data:
            found[name.decode("ascii")] = (head[0], known)
    return found
