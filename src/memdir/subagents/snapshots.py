"""Snapshots share what a sub-agent learned through version control (A3): a folder of memories in the project, and a
note `snapshot.json` that lists them and says when each was saved, since git keeps no times.

The note is written last: a snapshot that was cut short is the one before. One that came with the project is a
stranger's: taken up as the team's words and never as the user's, nothing overwritten, no link followed (L1, S15).
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from glob import glob
from typing import TYPE_CHECKING, Literal

from memdir.agent.judged import PERSONAL, without
from memdir.disk.atomic import delete_file, keep_bytes, write_bytes_atomic
from memdir.disk.held_folder import held_folder
from memdir.disk.plain_file import read_if_plain
from memdir.disk.plain_json import decode, encode
from memdir.disk.safe_path import has_link_below, is_key
from memdir.errors import EditConflict, MemoryNotFound, PathEscape
from memdir.layout import holds_memories
from memdir.store.guard import GUARD_FIELD
from memdir.store.history import Origin
from memdir.store.line_origins import sentences_in
from memdir.store.scan import MAX_MEMORY_BYTES
from memdir.store.secrets.refuse import harmless_name, secrets_in
from memdir.store.shared import why_private
from memdir.store.topic import Topic
from memdir.store.trust import Trust, is_of_team, with_trust
from memdir.text.naming import describe
from memdir.text.sentences import sentences_of

if TYPE_CHECKING:
    from memdir.layout import Layout, Place
    from memdir.store.line_origins import Left
    from memdir.store.store import MemoryStore

NOTE = "snapshot.json"
MAX_NOTE_BYTES = 1 << 20
MAX_FILES = 500  # memories of one snapshot
MAX_AHEAD_SECONDS = 86_400  # that a clock elsewhere may be ahead; what is later is no time
State = Literal["none", "initialize", "prompt-update"]


@dataclass(frozen=True)
class Snapshot:
    """What a project carries for one sub-agent: where, when it was taken, and when each of its memories was saved."""

    root: str  # the project's folder
    path: str  # below it
    updated: float
    saved: Mapping[str, float]

    def read(self, key: str) -> bytes | None:
        """A memory of it; None where there is none that is a plain text."""
        try:
            with _held(self.root, self.path, key) as path:
                data = read_if_plain(path, MAX_MEMORY_BYTES)
        except (OSError, PathEscape):
            return None
        return data if data is not None and _is_text(data) else None


@dataclass(frozen=True)
class Standing:
    """How a sub-agent's memory stands to the project's snapshot of it."""

    state: State
    snapshot: Snapshot | None = None
    known: frozenset[str] = frozenset()  # what was taken up before
    problem: str = ""  # why what lies there is not used


@dataclass
class Taken:
    """What taking a snapshot, or taking one up, did with each memory."""

    added: list[str] = field(default_factory=list)
    same: list[str] = field(default_factory=list)
    kept: list[str] = field(default_factory=list)  # there is another text of that name here, and it stays
    forgotten: list[str] = field(default_factory=list)  # it was here and was deleted
    left_out: dict[str, str] = field(default_factory=dict)
    gone: list[str] = field(default_factory=list)  # it was shared from here, is not any more, and goes from the project

    @property
    def is_news(self) -> bool:
        """Whether a snapshot says anything that this memory does not."""
        return bool(self.added or self.kept or self.left_out)


def standing(layout: Layout, store: MemoryStore, *, now: float) -> Standing:
    """Whether there is a snapshot to begin with, or one that is newer than what was taken up here last (A3)."""
    found = _read_snapshot(layout, store.place.agent, now=now)
    if isinstance(found, str):
        return Standing("none", problem=found)
    updated, known = _synced(store.place)
    if not found.updated > updated:
        return Standing("none", found, known)
    is_new = not updated and not holds_memories(store.root)
    return Standing("initialize" if is_new else "prompt-update", found, known)


def take_up(store: MemoryStore, stands: Standing, *, is_dry: bool = False) -> Taken:
    """Bring what a snapshot holds and this memory does not into it, as the team's words. What is here stays as it is,
    and what was deleted here does not come back. Only tell what would be done when dry."""
    snapshot = stands.snapshot
    if snapshot is None:
        raise MemoryNotFound(
            stands.problem or f"the project has no snapshot of {store.place.agent}",
            remedy="`memdir agents snapshot NAME` takes one of your own",
        )
    gone = store.gone().left
    if is_dry:
        return _sorted(stands, snapshot, gone, store.read_bytes)[0]
    origin = Origin("snapshot", trust=Trust.TEAM.word, reason=f"snapshot of {_moment(snapshot.updated)}")
    with store.changing(origin, f"take up the snapshot of {store.place.agent}") as change:
        taken, texts = _sorted(stands, snapshot, gone, change.read)
        for key, theirs in texts.items():
            change.write(key, theirs, mtime_ns=int(snapshot.saved[key] * 1e9))
            change.put_entry(key, Topic(theirs))
    # Only now: killed before, the same is found again and changes nothing.
    _note_sync(store.place, snapshot.updated, {*stands.known, *taken.added, *taken.same})
    return taken


def _sorted(
    stands: Standing, snapshot: Snapshot, gone: Mapping[str, Left], here: Callable[[str], bytes | None]
) -> tuple[Taken, dict[str, bytes]]:
    """What becomes of each memory of a snapshot, and the texts of those that are new here."""
    taken, texts = Taken(), dict[str, bytes]()
    for key in snapshot.saved:
        data = snapshot.read(key)
        if data is None or (why := _why_not(key, data)):
            told = why if data is not None else "it is missing, too large, or no plain text"
            taken.left_out[harmless_name(key, data or b"")] = told
            continue
        theirs, present = _as_theirs(data), here(key)
        if present is not None:
            is_same = present in (data, theirs) or _as_shared(present) == data
            (taken.same if is_same else taken.kept).append(key)
        elif key not in stands.known and (left := _without_gone(theirs, gone)):
            texts[key] = left
            taken.added.append(key)
        else:
            taken.forgotten.append(key)
    return taken, texts


def _without_gone(data: bytes, gone: Mapping[str, Left]) -> bytes:
    """A memory without the sentences that a person deleted or purged here, under whatever name they come back; empty
    where nothing else is left of it."""
    topic = Topic(data)
    deleted = [text for text in sentences_in(data) if text in gone and not gone[text].is_learned]
    left = without(topic, deleted)
    if deleted and not set(sentences_of(left.body)) - set(deleted):
        return b""
    is_told = set(deleted).isdisjoint(sentences_of(topic.description))
    return (left if is_told else left.with_field("description", describe(left.body))).data


def _why_not(key: str, data: bytes) -> str:
    """Why a file is no memory of a sub-agent's; empty for one that is."""
    if is_of_team("", key):
        return "it would be the team's"
    if key.casefold().startswith("logs/"):
        return "it would be a daily log, which is no memory"
    kinds, told = secrets_in(key, data)
    return f"it holds a secret: {told}" if kinds else ""


def _as_theirs(data: bytes) -> bytes:
    """A memory of somebody else's: it speaks for no user, is checked before no tool, and can be changed."""
    topic = Topic(data).without_field(GUARD_FIELD).without_field("pinned")
    if topic.kind in PERSONAL:
        topic = topic.without_field("type")
    return with_trust(topic, Trust.TEAM).data


def _as_shared(data: bytes) -> bytes:
    """A memory as others get it: what is checked before a tool runs, everybody says for themselves (Q1)."""
    return Topic(data).without_field(GUARD_FIELD).data


def take_snapshot(layout: Layout, store: MemoryStore, *, now: float, is_dry: bool = False) -> Taken:
    """Put what this memory holds into the project, for everyone who works on it; what is about a person or holds a
    secret stays here. EditConflict where a newer one lies there that was not taken up."""
    stands, taken, name = standing(layout, store, now=now), Taken(), store.place.agent
    before = stands.snapshot
    if stands.problem:
        raise EditConflict(stands.problem, remedy="Look at it, and move it away")
    seen = take_up(store, stands, is_dry=True) if before else Taken()
    if stands.state != "none" and seen.is_news:
        told = f"the project has a snapshot of {name} that was not taken up here"
        raise EditConflict(told, remedy=f"`memdir agents take {name}` takes it up, then take yours")
    files = dict(_to_share(store, taken))
    theirs = {key: before.saved[key] for key in before.saved.keys() - stands.known - {*seen.same}} if before else {}
    for key in [key for key in theirs.keys() & files.keys() if before and before.read(key) != files[key][0]]:
        taken.left_out[harmless_name(key, files.pop(key)[0])] = "another text of somebody else's has this name there"
    taken.gone += sorted((before.saved.keys() if before else set()) - theirs.keys() - files.keys())
    if not files and not taken.gone:
        raise MemoryNotFound(
            f"there is nothing of {name} to share",
            remedy="; ".join(f"{key}: {why}" for key, why in taken.left_out.items()),
        )
    old = {key: before.read(key) for key in before.saved} if before else {}
    for key, (data, _) in files.items():
        (taken.same if old.get(key) == data else taken.added).append(key)
    if not is_dry:
        _write_snapshot(layout, store, files, theirs, max(now, before.updated + 0.001 if before else 0.0))
    return taken


def _write_snapshot(
    layout: Layout,
    store: MemoryStore,
    files: Mapping[str, tuple[bytes, float]],
    theirs: Mapping[str, float],
    updated: float,
) -> None:
    """The memories first, then the note that lists them and those of others, then what was shared from here and is not
    any more, goes."""
    root, folder = layout.work_tree, layout.agent_snapshot(store.place.agent)
    for key, (data, _) in files.items():
        with _held(root, folder, key, create=True) as path:
            write_bytes_atomic(path, data)
    times = {**theirs, **{key: saved for key, (_, saved) in files.items()}}
    listed = {key: {"savedAt": _moment(saved)} for key, saved in sorted(times.items())}
    with _held(root, folder, NOTE, create=True) as path:
        write_bytes_atomic(path, f"{encode({'updatedAt': _moment(updated), 'files': listed})}\n".encode())
    known = _synced(store.place)[1]
    for key in sorted(known - files.keys()):
        with suppress(FileNotFoundError), _held(root, folder, key) as path:
            delete_file(path)
    _note_sync(store.place, updated, {*known, *files})


@contextmanager
def _held(root: str, folder: str, key: str, *, create: bool = False) -> Iterator[str]:
    """Where a file of a snapshot lies, its folder held open: no part of the way below the project is a link (E3)."""
    inner, name = os.path.split(os.path.join(os.path.relpath(folder, root), key))
    with held_folder(root, inner.replace(os.sep, "/"), create=create) as held:
        yield os.path.join(held, name)


def _to_share(store: MemoryStore, taken: Taken) -> Iterator[tuple[str, tuple[bytes, float]]]:
    for header in store.scan(limit=None).headers[:MAX_FILES]:
        key = header.key
        if not is_key(key):
            taken.left_out[harmless_name(key)] = "its name is no plain one"
            continue
        data = store.read_bytes(key) or b""
        why = _why_not(key, data) or why_private(data)
        if why or not _is_text(data):
            taken.left_out[harmless_name(key, data)] = why or "no text"
            continue
        yield key, (_as_shared(data), header.mtime)


def _read_snapshot(layout: Layout, agent: str, *, now: float) -> Snapshot | str:
    """What the project carries for a sub-agent, or why it is nothing to use."""
    path = layout.agent_snapshot(agent)
    if has_link_below(layout.work_tree, path):
        return f"a part of {path} is a link"
    data = read_if_plain(os.path.join(path, NOTE), MAX_NOTE_BYTES)
    if data is None:
        return ""
    note = decode(data)
    updated = _seconds(note.get("updatedAt")) if isinstance(note, dict) else None
    if not isinstance(note, dict) or updated is None or updated > now + MAX_AHEAD_SECONDS:
        return f"{os.path.join(path, NOTE)} says no time that can be"
    listed = note.get("files")
    told = listed if isinstance(listed, dict) else dict.fromkeys(sorted(glob("*.md", root_dir=path)))
    saved = {}
    for key, about in list(told.items())[:MAX_FILES]:
        if is_key(key):
            moment = _seconds(about.get("savedAt")) if isinstance(about, dict) else None
            saved[key] = min(updated if moment is None else moment, now)
    return Snapshot(layout.work_tree, path, updated, saved)


def _synced(place: Place) -> tuple[float, frozenset[str]]:
    """When the snapshot was taken that was last taken up, or made, here, and which memories it had; 0 for never."""
    note = decode(read_if_plain(place.synced_snapshot, MAX_NOTE_BYTES) or b"")
    if not isinstance(note, dict):
        return 0.0, frozenset()
    keys = note.get("files")
    known = [key for key in keys if isinstance(key, str) and is_key(key)] if isinstance(keys, list) else []
    return _seconds(note.get("updatedAt")) or 0.0, frozenset(known)


def _note_sync(place: Place, updated: float, keys: set[str]) -> None:
    note = encode({"updatedAt": _moment(updated), "files": sorted(keys)})
    keep_bytes(place.synced_snapshot, note.encode())


def _moment(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _seconds(moment: object) -> float | None:
    """A moment in seconds; None for what is none, or lies before all clocks."""
    try:
        found = datetime.fromisoformat(moment if isinstance(moment, str) else "")
        seconds = (found if found.tzinfo else found.replace(tzinfo=UTC)).timestamp()
    except (ValueError, OverflowError, OSError):
        return None
    return seconds if seconds > 0 else None


def _is_text(data: bytes) -> bool:
    try:
        data.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return b"\0" not in data
