"""Going back: undo a change set, restore a file, both byte for byte and themselves part of the history (S14)."""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass

from memdir.disk.safe_path import INDEX_NAME, is_index, is_key
from memdir.errors import EditConflict, HistoryError, MemoryNotFound, SeveralFit
from memdir.store.history import MADE, OUTSIDE, PULLED, Commit, FileChange, Origin
from memdir.store.index import merge_index
from memdir.store.memories import find_key, no_such_memory, the_only
from memdir.store.merge import merge_bytes
from memdir.store.store import ChangeSet, MemoryStore
from memdir.store.topic import Topic

LOOK_BACK = 1000  # commits searched for one that is not undone yet


@dataclass(frozen=True)
class Undone:
    """The change set that was taken back, and the files it touched."""

    commit: Commit  # the change that was taken back
    paths: list[str]  # the files it touched


def undo(
    store: MemoryStore,
    revision: str = "",
    *,
    is_dry: bool = False,
    more: Mapping[str, str] | None = None,
    first: Callable[[ChangeSet], None] = lambda _: None,
) -> Undone:
    """Take back one change set: the named one, or the newest that was not taken back yet; only tell it when dry. `more`
    goes into the history's record; `first` is done before anything is written, and where it fails nothing is."""
    _require_recorded(store)
    newest = (commit for commit in standing(store) if _ours(commit) or commit.is_beginning)
    commit = named_change(store, revision) if revision else next(newest, None)
    if commit is None:
        raise MemoryNotFound("there is nothing to undo", remedy="`memdir log` shows every change")
    if commit.is_beginning:
        raise MemoryNotFound(
            f"there is nothing to undo before {commit.id[:8]}: the history begins with the files as they were then",
            remedy="`memdir forget` deletes a memory; `memdir log` shows every change",
        )
    files = _ours(commit)
    if not files:
        remedy = "`memdir diff` shows what it changed"
        raise MemoryNotFound(f"{commit.id[:8]} changed no file that memdir may write", remedy=remedy)
    if not revision:
        _require_no_surprise(commit, files)
    if is_dry:
        return Undone(commit, [file.path for file in files])
    subject = f"undo {commit.id[:8]}: {commit.subject}"
    contents = _contents(store, [blob for file in files for blob in (file.before, file.after)])
    times = _first_times(store.history.log()) if any(file.before for file in files) else {}
    with store.changing(Origin("undo"), subject, Undoes=commit.id, **(more or {})) as change:
        for file in files:
            _take_back(store, change, commit, file, contents, times.get((file.path, file.before)))
        first(change)
    return Undone(commit, [file.path for file in files])


def _require_no_surprise(commit: Commit, files: Sequence[FileChange]) -> None:
    """Files that somebody put here are deleted only on purpose: nobody remembers them as memdir's last change."""
    added = [file.path for file in files if not file.before]
    if added and commit.source == OUTSIDE:
        more = f" and {len(added) - 1} more" if len(added) > 1 else ""
        raise EditConflict(
            f"the newest change was made outside memdir, and taking it back would delete {added[0]}{more}",
            remedy=f"`memdir undo {commit.id[:8]}` does so; `memdir log` shows more",
        )


def _ours(commit: Commit) -> list[FileChange]:
    """The files of a change that memdir may write: those of other names are in the history, and people's own."""
    return [file for file in commit.files if is_key(file.path, index_allowed=True)]


def restore(
    store: MemoryStore, key: str, revision: str = "", *, first: Callable[[ChangeSet], None] = lambda _: None
) -> Commit:
    """Bring a file back as it was after `revision`; without one, before its newest change. `first` as above."""
    _require_recorded(store)
    path = store.place.prefix + key
    commits = store.history.log(path)
    if not commits:
        raise MemoryNotFound(f"the history knows no file {key}", remedy="`memdir log` shows what it knows")
    source, blob = _version(store, commits, path, revision)
    data = _contents(store, [blob])[blob]
    with store.changing(Origin("restore"), f"restore {key} from {source.id[:8]}") as change:
        change.put_back(key, data, mtime_ns=_first_times(commits).get((path, blob)))
        if not is_index(key):
            change.put_entry(key, Topic(data))
        first(change)
    return source


def require_history(store: MemoryStore) -> None:
    if not store.history.is_readable:
        raise HistoryError(
            "git is not installed, so the history cannot be read",
            remedy="Install git; what changes until then is kept, and can be taken back afterwards",
        )


def _require_recorded(store: MemoryStore) -> None:
    """Going back by a history that lacks the newest change would take back another one."""
    require_history(store)
    if not store.record_outside_changes():
        raise HistoryError(
            "a change is not in the history yet, so nothing can be taken back",
            remedy="`memdir doctor` tells what stops the history; the change is recorded once that is gone",
        )


def _contents(store: MemoryStore, blobs: Sequence[str]) -> dict[str, bytes]:
    """The bytes of all these; where one is lost, nothing is done."""
    found = store.history.contents(blobs)
    lost = sorted({blob for blob in blobs if blob and blob not in found})
    if lost:
        raise HistoryError(
            f"the history is damaged: {len(lost)} of the versions that this needs are lost, {lost[0][:8]} among them",
            remedy="`memdir doctor` tells more; docs/how-to/history-set-aside.md what to do",
        )
    return found


def named_change(store: MemoryStore, revision: str) -> Commit:
    """The change with this id, or the beginning of one; MemoryNotFound where there is none."""
    commit = store.history.find_commit(revision)
    if commit is None:
        raise MemoryNotFound(f"the history knows no change {revision!r}", remedy="`memdir log` shows their ids")
    return commit


def standing(store: MemoryStore) -> Iterator[Commit]:
    """The changes that were not taken back, newest first, and no undo among them."""
    for commit in not_undone(store, limit=LOOK_BACK):
        if commit.source != PULLED and "Undoes" not in commit.trailers:  # what was pulled is nobody's last one
            yield commit


def not_undone(store: MemoryStore, limit: int | None = None) -> Iterator[Commit]:
    """All changes but those that were taken back, newest first."""
    undone: set[str] = set()
    for commit in store.history.log(limit=limit):
        undone.add(commit.trailers.get("Undoes", ""))
        if commit.id not in undone:
            yield commit


def scope_of(stores: Mapping[str, MemoryStore], revision: str = "") -> str:
    """Where a change is to be taken back: the scope whose history knows it, or that of the newest which can be."""
    for store in stores.values():
        _require_recorded(store)
    if revision:
        return next((one for one, store in stores.items() if store.history.find_commit(revision)), next(iter(stores)))
    newest = {
        one: next((commit for commit in standing(store) if _ours(commit) and not commit.is_beginning), None)
        for one, store in stores.items()
    }
    found = [(stores[one].history.order_of(commit), one) for one, commit in newest.items() if commit]
    return max(found)[1] if found else next(iter(stores))


def newest_own(stores: Sequence[MemoryStore], session: str) -> tuple[MemoryStore, Commit]:
    """The newest change that stands among those of one conversation and of this process: what others wrote meanwhile
    is not taken back by a key. MemoryNotFound where none is left."""
    found = []
    for store in stores:
        require_history(store)
        theirs = (commit for commit in standing(store) if commit.source != OUTSIDE and _ours(commit))
        own = (one for one in theirs if one.id in MADE or one.trailers.get("Session") == session)
        found += [(store, commit) for commit in itertools.islice(own, 1)]
    if not found:
        raise MemoryNotFound(
            "this conversation has changed nothing that is not taken back",
            remedy="`memdir undo` takes back what others changed; `memdir log` shows it first",
        )
    return max(found, key=lambda one: (one[1].time, MADE.index(one[1].id) if one[1].id in MADE else -1))


def _take_back(
    store: MemoryStore,
    change: ChangeSet,
    commit: Commit,
    file: FileChange,
    contents: Mapping[str, bytes],
    mtime_ns: int | None,
) -> None:
    """Put one file back to what it was before the commit; later changes to other lines of it stay."""
    key = file.path.removeprefix(store.place.prefix)
    if not file.path.startswith(store.place.prefix):
        raise EditConflict(f"{file.path} belongs to another scope", remedy="Undo this change in the scope of that file")
    before, after, current = contents.get(file.before), contents.get(file.after), change.read(key)
    if current == after:
        target = before
    elif current == before:
        return
    elif key == INDEX_NAME:
        target = merge_index(after or b"", before or b"", current or b"")
    else:
        target = merge_bytes(after or b"", before or b"", current or b"") if before is not None and current else None
        if target is None:
            scope = "" if store.scope == "project" else f" --scope {store.scope}"
            raise EditConflict(
                f"{key} has changed in the same lines since {commit.id[:8]}",
                remedy=f"`memdir restore {key} --at {commit.id[:8]}{scope}` brings back a whole version",
            )
    is_exact = target is not None and target == before and key != INDEX_NAME
    change.put_back(key, target, mtime_ns=mtime_ns if is_exact else None)


def _first_times(commits: Sequence[Commit]) -> dict[tuple[str, str], int]:
    """When each content of a file was first recorded: an old memory must not look new because it came back (S11)."""
    return {(file.path, file.after): commit.time * 1_000_000_000 for commit in commits for file in commit.files}


def _version(store: MemoryStore, commits: list[Commit], path: str, revision: str) -> tuple[Commit, str]:
    """The commit and content id to go back to."""
    if revision:
        wanted = named_change(store, revision)
        since = itertools.dropwhile(lambda commit: commit.id != wanted.id, commits)  # one that deleted it has no text
        versions = [*since] or [commit for commit in commits if commit.time <= wanted.time] or commits
    else:
        versions = commits[1:]
    for commit in versions:
        blob = next((file.after for file in commit.files if file.path == path), "")
        if blob:
            return commit, blob
    remedy = f"`memdir log {path}` shows what it has"
    raise MemoryNotFound(f"the history has no earlier version of {path}", remedy=remedy)


def history_key(store: MemoryStore, wanted: str, *, is_rather_gone: bool = True) -> str:
    """The key of a memory that exists or once did; of two that have a part of a name, the one that is gone."""
    require_history(store)
    if wanted == INDEX_NAME:
        return wanted
    try:
        found = find_key(store, wanted)
    except (MemoryNotFound, SeveralFit):
        if gone := _gone_key(store, wanted):
            return gone
        raise
    names = (found, os.path.basename(found), f"{Topic(store.read_bytes(found) or b'').name}.md")
    is_part = is_rather_gone and f"{wanted.strip().removesuffix('.md')}.md".casefold() not in map(str.casefold, names)
    with suppress(MemoryNotFound):
        return (_gone_key(store, wanted) if is_part else "") or found
    return found


def _gone_key(store: MemoryStore, wanted: str) -> str:
    """The one file that only the history knows by this name, or by a part of it; MemoryNotFound when several do."""
    prefix, folded = store.place.prefix, wanted.strip().casefold()
    paths = (file.path for commit in store.history.log() for file in commit.files if file.path.startswith(prefix))
    keys = [key for key in dict.fromkeys(path.removeprefix(prefix) for path in paths) if is_key(key)]
    exact = [key for key in keys if wanted in (key, key.removesuffix(".md"))]
    near = [key for key in keys if folded and folded in key.casefold()]
    found = exact or [key for key in near if store.read_bytes(key) is None]
    if not found and not near:
        raise no_such_memory(store, wanted, dict.fromkeys(keys, ""))
    return the_only(found, wanted, "files that are gone")
