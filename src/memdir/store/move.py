"""Moving memories from one scope to another, and taking that back on both sides (S14); to the team and back (E1).

Two directories have two histories, so a move is two change sets that name each other: first the memory is written where
it shall be, then it goes where it was, under the locks of both. Whoever is killed between leaves it in both places; the
same move finishes it, and undoing takes the second one away.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Container, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from hashlib import sha256

from memdir.disk.lock import SHORT_WAIT_SECONDS
from memdir.disk.safe_path import INDEX_NAME, TEAM_PREFIX, is_index
from memdir.errors import BadMemoryFile, DiskError, EditConflict, HistoryError, LockBusy, MemoryNotFound, UsageError
from memdir.layout import Layout
from memdir.store.frontmatter import TRUST_FIELD
from memdir.store.history import BY, PULLED, Commit, Origin
from memdir.store.index import Entry, Index, entry_for
from memdir.store.memories import find_key
from memdir.store.memory_file import Memory
from memdir.store.store import ChangeSet, MemoryStore
from memdir.store.topic import Topic
from memdir.store.trust import Trust, with_trust
from memdir.store.undo import Undone, not_undone, undo
from memdir.text.naming import free_key

MOVE, OTHER_SIDE, MOVED = "Move", "Other-Side", "Moved"  # trailers: one id for both sides, the other side, the files
_LINK = re.compile(r"(?<=\]\()(<?)([^()<>\n#]+\.md)(?=[#>)])")

Opener = Callable[[str], MemoryStore | None]
UNSHARED = "unshare"  # the source of what was taken back from the team and is somebody else's


@dataclass(frozen=True)
class Moved:
    """A memory that lies in another scope now, or would."""

    file_before: str  # its file name where it was
    file: str  # its file name where it is now: another where that was taken
    path: str  # the file


@dataclass(frozen=True)
class Side:
    """A store that takes part in a move, and by which name its histories know it: a scope, and a project's folder."""

    store: MemoryStore
    name: str


def side_name(scope: str, layout: Layout) -> str:
    """What histories call a scope of this project."""
    return f"{scope} {layout.slug if scope == 'project' else '-'}"


def before_moves(found: Mapping[str, Sequence[Commit]], opener: Opener) -> dict[str, Sequence[Commit]]:
    """What happened to memories in the scopes that they came from, as far as those are here."""
    earlier: dict[str, Sequence[Commit]] = {}
    for commit in (commit for commits in found.values() for commit in commits):
        for moved in commit.trailers.get(MOVED, "").split("; "):
            now, _, before = moved.partition(" < ")
            scope, slug, key = (*before.split(" ", 2), "", "")[:3]
            store = opener(f"{scope} {slug}") if now in found and key else None
            if store is not None:
                earlier.update({f"{name} ({scope})": told for name, told in store.history.lineage(key).items()})
    return earlier


def move_memories(source: Side, target: Side, keys: Sequence[str], *, is_dry: bool = False) -> list[Moved]:
    """Move memories, each with its time, its line in the index, its links and where it came from."""
    memories = [_movable(source.store, key) for key in dict.fromkeys(keys)]
    names = _names(source.store, target.store, memories)
    moved = [Moved(key, name, target.store.path_of(name)) for key, name in names.items()]
    if is_dry or not moved:
        return moved
    links = _Links(source.store.root, target.store.root, names)
    token, told = os.urandom(8).hex(), "; ".join(f"{new} < {source.name} {old}" for old, new in names.items())
    origin, index = _origin(source.store, memories), Index(source.store.read_bytes(INDEX_NAME) or b"")
    lines = {entry.key: entry for entry in index.entries()}
    subject = f"move {', '.join(names)}"
    more = {MOVE: token, MOVED: told}
    to = f"{subject} to {target.store.scope}"
    with source.store.changing(Origin("move", trust="user"), to, **more, **{OTHER_SIDE: target.name}) as change:
        for memory in memories:  # what somebody forgot or changed just now does not come back over there
            if change.read(memory.key) != memory.topic.data:
                raise EditConflict(f"{memory.key} was changed meanwhile", remedy="Nothing was moved: try again")
        more[OTHER_SIDE] = source.name
        with target.store.changing(origin, f"{subject} from {source.store.scope}", **more) as there:
            for memory in memories:
                name, data = names[memory.key], links.moved(memory.topic.data)
                if there.read(name) not in (None, data):
                    raise EditConflict(f"{name} was written there meanwhile", remedy="Nothing was moved: try again")
                if there.read(name) is None:
                    there.put_back(name, data, mtime_ns=memory.mtime_ns)
                known, topic = lines.get(memory.key), Topic(data)
                entry = Entry(name, known.title, known.hook) if known else entry_for(name, topic)
                there.edit_index(lambda index, entry=entry: index.with_entries([entry]))  # type: ignore[misc]
            _relink(target.store, links, there, set(names.values()))
        for memory in memories:
            change.delete(memory.key)
            change.drop_entry(memory.key)
        _relink(source.store, links, change, set(names))
    return moved


def _movable(store: MemoryStore, key: str) -> Memory:
    if key.lower().startswith(TEAM_PREFIX) or is_index(key):
        raise UsageError(f"{key} is not yours alone to move", remedy="Write down what of it is so for you")
    return store.read(key)


def _names(source: MemoryStore, store: MemoryStore, memories: Sequence[Memory]) -> dict[str, str]:
    """The name that each will have: its own, unless another memory has it there. One that a move which was cut short
    left there already is the same."""
    names = {memory.key: memory.key for memory in memories}
    for memory in memories:
        expected = _Links(source.root, store.root, names).moved(memory.topic.data)
        stem, taken = memory.key.removesuffix(".md"), set(names.values()) - {memory.key}
        names[memory.key] = free_key(
            stem,
            lambda key, own=expected, taken=taken: key in taken or store.read_bytes(key) not in (None, own),  # type: ignore[misc]
        )
    return names


@dataclass(frozen=True)
class _Links:
    """Links between memories, by where both ends lie before a move and after it."""

    source: str
    target: str
    names: Mapping[str, str]  # of what moves

    def moved(self, data: bytes) -> bytes:
        """The text of a memory that moves."""
        return self.rewritten(data, self.source, self.target)

    def rewritten(self, data: bytes, before: str, after: str) -> bytes:
        """The text of a memory that lies in a folder before the move, and in one after it."""
        places = {os.path.join(self.source, old): os.path.join(self.target, new) for old, new in self.names.items()}

        def link(match: re.Match[str]) -> str:
            old = os.path.normpath(os.path.join(before, match[2].strip()))
            place = places.get(old, old)
            is_ours = place in places.values() or os.path.isfile(place)
            inside = old.startswith((self.source + os.sep, self.target + os.sep))
            if not (is_ours and inside) or (place == old and before == after):
                return match[0]
            return match[1] + os.path.relpath(place, after).replace(os.sep, "/")

        text = data.decode("utf-8", "surrogateescape")
        return _LINK.sub(link, text).encode("utf-8", "surrogateescape")


def _relink(store: MemoryStore, links: _Links, change: ChangeSet, without: set[str]) -> None:
    """Keep the links of those that stay."""
    for memory in store.readable(store.scan(limit=None).headers):
        after = links.rewritten(memory.topic.data, store.root, store.root)
        if memory.key not in without and after != memory.topic.data:
            change.put_back(memory.key, after)


def _origin(store: MemoryStore, memories: Sequence[Memory]) -> Origin:
    """Where memories come from, so that their new history tells it by itself: a project may be gone one day."""
    if not store.history.is_readable:
        return Origin("move", trust="user")
    logs = (store.history.log(store.place.prefix + memory.key) for memory in memories)
    found = [next((commit for commit in log if commit.trailers.get("Session")), None) for log in logs]
    sessions = {commit.trailers["Session"] for commit in found if commit}
    messages = [word for commit in found if commit for word in commit.trailers.get("Messages", "").split()]
    if len(sessions) != 1:
        return Origin("move", trust="user")
    return Origin("move", session=sessions.pop(), messages=tuple(dict.fromkeys(messages)), trust="user")


def key_to_move(source: MemoryStore, target: MemoryStore, memory: str) -> str:
    """The memory that is meant where it comes from; MemoryNotFound, which tells where it is there already."""
    try:
        return find_key(source, memory)
    except MemoryNotFound:
        there = ""
        with suppress(MemoryNotFound):
            there = find_key(target, memory)
        if there:
            told = f"{there} is in scope {target.scope} already"
            raise MemoryNotFound(told, remedy="There is nothing to move") from None
        raise


def undo_both(store: MemoryStore, revision: str, *, opener: Opener, is_dry: bool = False) -> Undone:
    """Take back a change; a move on both of its sides, first where the memory comes back to."""
    asked = undo(store, revision, is_dry=True)
    token = asked.commit.trailers.get(MOVE)
    if not token:
        return undo(store, revision, is_dry=is_dry)
    name = asked.commit.trailers.get(OTHER_SIDE, "")
    other = opener(name)
    others = not_undone(other) if other is not None else ()
    partner = next((commit for commit in others if commit.trailers.get(MOVE) == token), None)
    if other is None or partner is None:
        if _adds(asked.commit) and not (other and _holds_still(other, asked.commit)):
            raise MemoryNotFound(
                f"the place that {', '.join(_adds(asked.commit))} came from is not here any more",
                remedy="`memdir forget` deletes a memory",
            )
        return undo(store, revision, is_dry=is_dry)
    sides = [(store, asked.commit), (other, partner)]
    for side, commit in sides:
        _require_as_moved(side, commit)
    if is_dry:
        return asked
    again = os.urandom(8).hex()
    names = {id(store): name, id(other): partner.trailers.get(OTHER_SIDE, "")}
    for side, commit in sorted(sides, key=lambda one: bool(_adds(one[1]))):
        undo(side, commit.id, more={MOVE: again, OTHER_SIDE: names[id(side)]})
    return asked


def _holds_still(store: MemoryStore, commit: Commit) -> bool:
    """Whether what came with a commit lies on the other side too: the move, or its undoing, was cut short."""
    before = moves_of(commit)
    return all(store.read_bytes(before.get(path, ("", path))[1]) is not None for path in _adds(commit))


def moves_of(commit: Commit) -> dict[str, tuple[str, str]]:
    """The files that a change brought from another directory: which one, and their path there."""
    pairs = (part.partition(" < ") for part in commit.trailers.get(MOVED, "").split("; "))
    words = {path: before.split(" ", 2) for path, sign, before in pairs if sign}
    return {path: (f"{one[0]} {one[1]}", one[2]) for path, one in words.items() if len(one) == 3}


def _adds(commit: Commit) -> list[str]:
    return [file.path for file in commit.files if not file.before and not is_index(file.path)]


def _require_as_moved(store: MemoryStore, commit: Commit) -> None:
    """What was changed since it came is not deleted: moving it back takes the change along."""
    for path in _adds(commit):
        recorded = next(file.after for file in commit.files if file.path == path)
        newest = store.history.log(path, limit=1)
        if not any(file.path == path and file.after == recorded for one in newest for file in one.files):
            raise EditConflict(
                f"{path} has changed since it was moved",
                remedy=f"`memdir move {path}` with the other scope moves it back",
            )


def share_memories(store: MemoryStore, keys: Sequence[str], *, max_bytes: int, given: Container[str]) -> list[str]:
    """Move memories of the project's own into the team's directory, all or none; gives their keys there. One that is
    there already stays: whoever was interrupted calls again. What was taken back from there is again the very text that
    the team was `given`, by its digest, and so its author's."""

    def as_given(data: bytes) -> bytes:
        plain = Topic(data).without_field(TRUST_FIELD).data
        return plain if _marked(plain) == data and sha256(plain).hexdigest() in given else data

    texts = {key: store.read(key).topic.data for key in keys}
    for key, data in texts.items():
        if len(data) > max_bytes:
            told = f"{key} has {len(data):,} bytes, and the team takes at most {max_bytes:,}"
            raise BadMemoryFile(told, remedy="Split it, or cut it")
    wanted = {key: TEAM_PREFIX + key for key in keys if not key.lower().startswith(TEAM_PREFIX)}
    moved = _handed_over(store, wanted, texts, as_given, Origin("cli", trust="user"), "share") if wanted else {}
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
    found = is_back = False
    for commit in commits:  # newest first
        if any(file.verb == "deleted" for file in commit.files if file.path == team.place.prefix + key):
            if not is_back:
                break
            is_back = False  # what was lost and brought back here is whose it was
        elif commit.source == PULLED and BY not in commit.trailers:
            is_back = True
        elif commit.source == PULLED or commit.is_beginning:
            return False
        else:
            found = True
    return found


def unshare_memories(store: MemoryStore, memories: Mapping[str, bytes], *, others: Mapping[str, str]) -> list[str]:
    """Take memories, as they were read, out of the team's directory into the project's own; with the next sync they go
    for the team. What somebody else wrote (`others`: by whom) keeps saying so, as a change of its own. Gives keys."""
    texts = {TEAM_PREFIX + key: data for key, data in memories.items()}
    of_whom: dict[str | None, dict[str, str]] = {}
    for key in memories:
        of_whom.setdefault(others.get(key), {})[TEAM_PREFIX + key] = key
    moved: dict[str, str] = {}
    for who, wanted in of_whom.items():
        origin = Origin("cli", trust="user") if who is None else Origin(UNSHARED, trust="team")
        changed = bytes if who is None else _marked
        moved |= _handed_over(store, wanted, texts, changed, origin, "unshare", **({"By": who} if who else {}))
    return [moved[TEAM_PREFIX + key] for key in memories]


def _marked(data: bytes) -> bytes:
    return with_trust(Topic(data), Trust.TEAM).data


def _handed_over(
    store: MemoryStore,
    wanted: Mapping[str, str],
    texts: Mapping[str, bytes],
    changed: Callable[[bytes], bytes],
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
            data, mtime_ns = store.read_with_time(source)
            if data is None or data != texts[source]:  # what was judged, and asked whose it is, is another text
                raise EditConflict(f"{source} was changed meanwhile", remedy="Look at it, and try again")
            data = changed(data)
            key = free_key(target.removesuffix(".md"), lambda one: change.read(one) not in (None, data))  # noqa: B023 - at once
            change.write(key, data, mtime_ns=mtime_ns)
            change.delete(source)
            moved[source], line = key, lines.get(source.removeprefix(back)) if verb == "unshare" else None
            new = key.removeprefix(to)
            entries.append(Entry(new, line.title, line.hook) if line else entry_for(new, Topic(data)))
        change.edit_index(lambda index: index.with_entries(entries), key=to + INDEX_NAME)
        gone = [source.removeprefix(back) for source in wanted]
        change.edit_index(lambda index: index.without(gone), key=back + INDEX_NAME)
    return moved
