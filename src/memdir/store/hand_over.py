"""Handing a memory to the team, and taking one back: one change of the directory that holds both (E1)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import partial

from memdir.disk.lock import SHORT_WAIT_SECONDS
from memdir.disk.safe_path import INDEX_NAME, TEAM_PREFIX, is_index
from memdir.errors import BadMemoryFile, DiskError, HistoryError, LockBusy, UsageError
from memdir.store.history import PULLED, Origin
from memdir.store.index import Entry, Index
from memdir.store.store import ChangeSet, MemoryStore, entry_for
from memdir.store.topic import Topic
from memdir.store.trust import Trust, with_trust
from memdir.text.naming import free_key

UNSHARED = "unshare"  # the source of what was taken back from the team and is somebody else's


def share_memories(store: MemoryStore, keys: Sequence[str], *, max_bytes: int) -> list[str]:
    """Move memories of the project's own into the team's directory, all or none; gives their keys there. One that is
    there already stays: whoever was interrupted calls again."""
    texts = {key: store.read(key).topic.data for key in keys}
    for key, data in texts.items():
        if len(data) > max_bytes:
            told = f"{key} has {len(data):,} bytes, and the team takes at most {max_bytes:,}"
            raise BadMemoryFile(told, remedy="Split it, or cut it")
    wanted = {key: TEAM_PREFIX + key for key in keys if not key.lower().startswith(TEAM_PREFIX)}
    moved = _handed_over(store, wanted, texts, Origin("cli", trust="user"), "share") if wanted else {}
    return [moved.get(key, key) for key in keys]


def is_written_here(team: MemoryStore, key: str) -> bool:
    """Whether this machine's own history shows that a memory of the team's was written here and nothing of it came from
    others. Who wrote it, as a remote tells, is what its writer says."""
    with suppress(LockBusy, HistoryError, DiskError):
        team.record_outside_changes(wait_seconds=SHORT_WAIT_SECONDS)
    try:
        commits = team.history.log(team.place.prefix + key) if team.history.is_readable else []
    except HistoryError:
        commits = []
    found = False
    for commit in commits:  # newest first
        if any(file.verb == "deleted" for file in commit.files if file.path == team.place.prefix + key):
            break
        if commit.source == PULLED or commit.is_beginning:
            return False
        found = True
    return found


def unshare_memories(store: MemoryStore, keys: Sequence[str], *, others: Mapping[str, str]) -> list[str]:
    """Take memories out of the team's directory into the project's own; with the next sync they go for the team. What
    somebody else wrote (`others`: by whom) keeps saying so, and is a change of its own. Gives their keys."""
    texts: dict[str, bytes] = {}
    of_whom: dict[str | None, dict[str, str]] = {}
    for key in keys:
        of_whom.setdefault(others.get(key), {})[TEAM_PREFIX + key] = key
        topic = store.read(TEAM_PREFIX + key).topic
        texts[TEAM_PREFIX + key] = (with_trust(topic, Trust.TEAM) if key in others else topic).data
    moved: dict[str, str] = {}
    for who, wanted in of_whom.items():
        origin = Origin("cli", trust="user") if who is None else Origin(UNSHARED, trust="team")
        moved |= _handed_over(store, wanted, texts, origin, "unshare", **({"By": who} if who else {}))
    return [moved[TEAM_PREFIX + key] for key in keys]


def _handed_over(
    store: MemoryStore,
    wanted: Mapping[str, str],
    texts: Mapping[str, bytes],
    origin: Origin,
    verb: str,
    **trailers: str,
) -> dict[str, str]:
    """Write memories under another folder, and their lines into that folder's index, where their old names go; gives
    the new key of each."""
    named = next((source for source in wanted if is_index(source)), "")
    if named:
        raise UsageError(f"{named} is an index, no memory", remedy="Name a memory")
    to, back = (TEAM_PREFIX, "") if verb == "share" else ("", TEAM_PREFIX)
    moved: dict[str, str] = {}
    with store.changing(origin, f"{verb} {', '.join(list(wanted.values())[:3])}", **trailers) as change:
        lines = {one.key: one for one in Index(change.read(back + INDEX_NAME) or b"").entries()}
        entries = []
        for source, target in wanted.items():
            data, mtime_ns = texts[source], store.read_with_time(source)[1]
            key = free_key(target.removesuffix(".md"), partial(_is_taken, change, data))
            change.write(key, data, mtime_ns=mtime_ns)
            change.delete(source)
            moved[source], line = key, lines.get(source.removeprefix(back)) if verb == "unshare" else None
            new = key.removeprefix(to)
            entries.append(Entry(new, line.title, line.hook) if line else entry_for(new, Topic(data)))
        change.edit_index(lambda index: index.with_entries(entries), key=to + INDEX_NAME)
        gone = [source.removeprefix(back) for source in wanted]
        change.edit_index(lambda index: index.without(gone), key=back + INDEX_NAME)
    return moved


def _is_taken(change: ChangeSet, data: bytes, key: str) -> bool:
    return change.read(key) not in (None, data)
