"""Handing a memory to the team, and taking one back: one change of the directory that holds both (E1)."""

from __future__ import annotations

from contextlib import suppress

from memdir.disk.lock import SHORT_WAIT_SECONDS
from memdir.disk.safe_path import INDEX_NAME, TEAM_PREFIX, is_index
from memdir.errors import BadMemoryFile, DiskError, HistoryError, LockBusy, UsageError
from memdir.store.history import PULLED, Origin
from memdir.store.index import Entry, Index
from memdir.store.store import MemoryStore, entry_for
from memdir.store.topic import Topic
from memdir.store.trust import Trust, with_trust
from memdir.text.naming import free_key


def share_memory(store: MemoryStore, key: str, *, max_bytes: int) -> str:
    """Move a memory of the project's own into the team's directory; gives its key there. `undo` takes it back."""
    if key.lower().startswith(TEAM_PREFIX):
        raise UsageError(f"{key} is the team's already", remedy="`memdir sync` brings it to the others")
    data = store.read(key).topic.data
    if len(data) > max_bytes:
        raise BadMemoryFile(
            f"{key} has {len(data):,} bytes, and the team takes at most {max_bytes:,}", remedy="Split it, or cut it"
        )
    return _handed_over(store, key, TEAM_PREFIX + key, data)


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


def unshare_memory(store: MemoryStore, key: str, *, is_own: bool) -> str:
    """Take a memory out of the team's directory into the project's own; with the next sync it goes for all of the team.
    What somebody else wrote keeps saying so. Gives its key."""
    data = store.read(TEAM_PREFIX + key).topic
    kept = data if is_own else with_trust(data, Trust.TEAM)
    return _handed_over(store, TEAM_PREFIX + key, key, kept.data)


def _handed_over(store: MemoryStore, source: str, wanted: str, data: bytes) -> str:
    """Write a memory under another folder, and its line into that folder's index, where its old name goes."""
    if is_index(source):
        raise UsageError(f"{source} is an index, no memory", remedy="Name a memory")
    to_team = wanted.startswith(TEAM_PREFIX)
    with store.changing(Origin("cli", trust="user"), f"{'share' if to_team else 'unshare'} {wanted}") as change:
        mtime_ns = store.read_with_time(source)[1]
        key = free_key(wanted.removesuffix(".md"), lambda one: change.read(one) not in (None, data))
        change.write(key, data, mtime_ns=mtime_ns)
        change.delete(source)
        to, origin = (TEAM_PREFIX, "") if to_team else ("", TEAM_PREFIX)
        old, new = source.removeprefix(origin), key.removeprefix(to)
        line = next((one for one in Index(change.read(origin + INDEX_NAME) or b"").entries() if one.key == old), None)
        entry = Entry(new, line.title, line.hook) if line and not to_team else entry_for(new, Topic(data))
        change.edit_index(lambda index: index.with_entries([entry]), key=to + INDEX_NAME)
        change.edit_index(lambda index: index.without([old]), key=origin + INDEX_NAME)
    return key
