"""A folder that all members can write to: a network drive, or one that a program copies between machines (E7).

There is no lock that all would respect, no time that could be compared, and no order in which files arrive. So each
file has one writer: texts are named by what they hold, and every member keeps a list of its own writes, each with
the writes that it had seen (ADR 0067). Two writes that had not seen each other are merged by everybody alike.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from memdir.disk.atomic import write_project_file
from memdir.disk.held_folder import held_folder
from memdir.disk.plain_file import read_if_plain
from memdir.disk.plain_json import decode, encode
from memdir.disk.safe_path import is_key
from memdir.errors import DiskError, PathEscape, RemoteError
from memdir.share.merge import beside
from memdir.share.remote import (
    GONE,
    HEX,
    Delta,
    Intake,
    Manifest,
    PushResult,
    Reason,
    TeamCaps,
    Version,
    digest_of,
    is_digest,
    moment,
)
from memdir.store.merge import merge_bytes

MARK = "memdir-team.json"  # says that the folder is one of ours
_MARKED = b'{"format": 1, "what": "memories of a team, kept by memdir"}\n'
MEMBERS, TEXTS = "members", "texts"
MAX_LIST_BYTES = 16 << 20  # of what one member has written: a few hundred bytes a memory
MAX_MEMBERS = 1_000
_MAX_COUNT, _MAX_OWN = 1 << 53, 1 << 62  # writes of a memory by one member, as others tell, and as their own list does

Clock = Mapping[str, int]  # how many writes of each member, for one key, this one had seen


@dataclass(frozen=True)
class Write:
    """One member's last write of a memory."""

    version: Version
    clock: Clock = field(default_factory=dict)
    base: str = GONE  # the digest of the text that it was made from

    def has_seen(self, other: Write) -> bool:
        return all(self.clock.get(member, 0) >= count for member, count in other.clock.items())


@dataclass(frozen=True)
class Head:
    """What all the lists together say of a memory."""

    version: Version
    clock: Clock
    text: bytes = b""
    unread: Reason | None = None  # why its text was not


class FolderRemote:
    """A team in a folder. `member` is this machine's own id there, `name` the person's."""

    def __init__(self, folder: str, *, member: str, name: str = "") -> None:
        self.folder = folder
        self.caps = TeamCaps()
        self._member = member
        self._name = name

    def pull(self, known: Manifest) -> Delta:
        heads = self._heads(known)
        changed = {key: head for key, head in heads.items() if head.version.digest != known.digest(key)}
        living = {key for key, version in known.versions.items() if not version.is_gone}
        return Delta(
            {key: head.version for key, head in changed.items()},
            {key: head.text for key, head in changed.items() if not head.version.is_gone and not head.unread},
            missing=frozenset(living - heads.keys()),
            refused={key: head.unread for key, head in changed.items() if head.unread},
        )

    def push(self, delta: Delta, *, expected: Manifest) -> PushResult:
        """Others may write at this very moment: then both writes stand, and every pull merges them."""
        heads = self._heads(expected)
        refused: dict[str, Reason] = {}
        accepted: dict[str, Version] = {}
        writes = dict(self._read_list(self._member))
        for key, version in delta.versions.items():
            head = heads.get(key)
            stands = head.version.digest if head else GONE
            if stands not in (expected.digest(key), version.digest):
                refused[key] = "conflict"
                continue
            if stands != version.digest:
                clock = dict(head.clock) if head else {}
                clock[self._member] = clock.get(self._member, 0) + 1
                writes[key] = Write(version, clock, stands)
            accepted[key] = version
        texts = {key: delta.texts[key] for key, version in accepted.items() if not version.is_gone}
        self._store(texts, writes)
        return PushResult(accepted, refused)

    def close(self) -> None:
        """Nothing is held."""

    # What the lists say

    def _heads(self, known: Manifest) -> dict[str, Head]:
        """The memories as all the writes that can be seen make them; those that are known first, so that nobody who
        fills the folder keeps them from being read."""
        writes = _believed({member: dict(self._read_list(member)) for member in self._members()})
        heads: dict[str, Head] = {}
        second: list[tuple[str, Write, bytes]] = []
        intake = Intake(self.caps)
        for key in sorted(writes, key=lambda one: (not known.digest(one), one)):
            self._merge(key, _newest(writes[key]), heads, second, intake)
        for key, write, text in second:
            _put_beside(key, write, text, heads)
        return heads

    def _merge(
        self,
        key: str,
        writes: list[Write],
        heads: dict[str, Head],
        second: list[tuple[str, Write, bytes]],
        intake: Intake,
    ) -> None:
        """One version of writes that had not seen each other: an edit outlives a deletion, changes to different lines
        are put together, and a text that does not fit goes beside."""
        clock: dict[str, int] = {}
        for write in writes:
            clock |= {member: max(count, clock.get(member, 0)) for member, count in write.clock.items()}
        sizes = {write.version.digest: self._size(write.version.digest) for write in writes}
        faults = [fault for size in sizes.values() if size is not None and (fault := intake.fault_of(size))]
        if faults:
            heads[key] = Head(max(writes, key=_order).version, clock, unread=faults[0])
            return
        texts = {digest: self._text(digest) for digest in sizes}
        living = [write for write in writes if texts[write.version.digest] is not None]
        if not living:
            if all(write.version.is_gone for write in writes):
                heads[key] = Head(min(writes, key=_order).version, clock)
            return  # else its texts are still on their way
        first, *others = sorted(living, key=_order)
        text = texts[first.version.digest] or b""
        for other in others:
            theirs, base = texts[other.version.digest] or b"", self._text(other.base)
            merged = merge_bytes(base, text, theirs) if base is not None else None
            merged = text if text == theirs else merged
            if merged is None:
                second.append((key, other, theirs))
            else:
                text = merged
        version = first.version
        if digest_of(text) != version.digest:
            version = Version(digest_of(text), version.author, max(write.version.saved for write in living))
        heads[key] = Head(version, clock, text)

    def _members(self) -> list[str]:
        try:
            with held_folder(self.folder, MEMBERS) as held:
                names = sorted(name.removesuffix(".json") for name in os.listdir(held) if name.endswith(".json"))
        except FileNotFoundError:
            self._require_mark()
            return []
        except OSError as error:
            raise self._offline(error) from error
        except PathEscape as error:
            raise RemoteError(f"{self.folder}: {error.message}", kind="broken", remedy=error.remedy) from error
        return [name for name in names if _is_id(name)][:MAX_MEMBERS]

    def _read_list(self, member: str) -> Iterator[tuple[str, Write]]:
        data = self._read(MEMBERS, f"{member}.json", MAX_LIST_BYTES)
        found = decode(data or b"")
        told = found.get("memories") if isinstance(found, dict) else None
        for key, one in told.items() if isinstance(told, dict) else ():
            if isinstance(key, str) and isinstance(one, dict) and is_key(key):
                yield key, _write(one)

    def _size(self, digest: str) -> int | None:
        if not is_digest(digest):
            return None
        try:
            with held_folder(self.folder, TEXTS) as held:
                return os.lstat(os.path.join(held, digest)).st_size
        except (OSError, PathEscape):
            return None

    def _text(self, digest: str) -> bytes | None:
        if not is_digest(digest):
            return None
        data = self._read(TEXTS, digest, self.caps.entry_bytes)
        return data if data is not None and digest_of(data) == digest else None

    # The disk

    def _store(self, texts: Mapping[str, bytes], writes: Mapping[str, Write]) -> None:
        """Texts first: a list never tells of one that is not there."""
        told = {"id": self._member, "name": self._name, "memories": {key: _told(one) for key, one in writes.items()}}
        try:
            for data in texts.values():
                digest = digest_of(data)
                if self._text(digest) is None:
                    self._put(TEXTS, digest, data)
            self._put(MEMBERS, f"{self._member}.json", encode(told).encode("utf-8", "replace") + b"\n")
        except DiskError as error:
            raise RemoteError(f"{self.folder} cannot be written to: {error.message}", remedy=error.remedy) from error

    def create(self) -> None:
        """Make an empty folder the team's; one that is the team's already stays as it is."""
        try:
            if os.listdir(self.folder) and not os.path.lexists(os.path.join(self.folder, MARK)):
                raise RemoteError(
                    f"{self.folder} is not empty, and holds no team",
                    kind="broken",
                    remedy="Name an empty folder, or the one that your teammates use",
                )
            if not os.path.lexists(os.path.join(self.folder, MARK)):
                write_project_file(os.path.join(self.folder, MARK), _MARKED)
        except (OSError, DiskError) as error:
            raise self._offline(error) from error

    def _require_mark(self) -> None:
        """A folder that is empty may be one that is not mounted now: it is not a team that lost everything."""
        if not os.path.lexists(os.path.join(self.folder, MARK)):
            raise RemoteError(
                f"{self.folder} holds no team now",
                remedy="Mount it, or wait until it is copied; `memdir join` makes one",
            )

    def _read(self, part: str, name: str, max_bytes: int) -> bytes | None:
        try:
            with held_folder(self.folder, part) as held:
                return read_if_plain(os.path.join(held, name), max_bytes)
        except (OSError, PathEscape):
            return None

    def _put(self, part: str, name: str, data: bytes) -> None:
        self._require_mark()
        try:
            with held_folder(self.folder, part, create=True) as held:
                mode = os.stat(self.folder).st_mode & 0o777
                if os.stat(held).st_mode & 0o777 != mode:
                    os.chmod(held, mode)  # whoever may write to the team's folder may write here
                write_project_file(os.path.join(held, name), data)
        except OSError as error:
            raise self._offline(error) from error

    def _offline(self, error: OSError | DiskError) -> RemoteError:
        why = error.message if isinstance(error, DiskError) else os.strerror(error.errno or 0)
        return RemoteError(f"{self.folder} cannot be reached: {why}", remedy="What you changed waits here until it can")


def _put_beside(key: str, write: Write, text: bytes, heads: dict[str, Head]) -> None:
    """Give a text that did not fit a place of its own, unless somebody who had seen it has settled that."""
    living = {name: head for name, head in heads.items() if not head.version.is_gone}
    name, data = beside(key, text, lambda one: living[one].text if one in living else None)
    head = heads.get(name)
    if head is None or (head.version.is_gone and not Write(head.version, head.clock).has_seen(write)):
        clock = {**write.clock, **(head.clock if head else {})}
        heads[name] = Head(Version(digest_of(data), write.version.author), clock, data)


def _newest(writes: list[Write]) -> list[Write]:
    """The writes that no other has seen."""
    return [one for one in writes if not any(other.has_seen(one) and not one.has_seen(other) for other in writes)]


def _order(write: Write) -> tuple[str, str, float]:
    """An order that is the same on all machines, whatever their clocks say."""
    return write.version.digest, write.version.author, write.version.saved


def _is_id(name: str) -> bool:
    return 8 <= len(name) <= 64 and HEX.issuperset(name)


def _write(told: Mapping[str, object]) -> Write:
    digest, base, author = (
        value if isinstance(value := told.get(name), str) else "" for name in ("digest", "base", "by")
    )
    clock = told.get("seen")
    counts = clock.items() if isinstance(clock, dict) else ()
    seen = {str(member): count for member, count in counts if isinstance(count, int) and count > 0}
    return Write(Version(digest, author, moment(told.get("saved"))), seen, base)


def _believed(lists: Mapping[str, Mapping[str, Write]]) -> dict[str, list[Write]]:
    """All writes by key, but for those that tell of more writes of somebody than there can be: nobody could count on
    from there."""
    found: dict[str, list[Write]] = {}
    for key, write in ((key, write) for writes in lists.values() for key, write in writes.items()):
        own = {
            member: lists[member][key].clock.get(member, 0) for member in write.clock if key in lists.get(member, ())
        }
        if all(n <= max(_MAX_COUNT, min(own.get(member, 0), _MAX_OWN)) for member, n in write.clock.items()):
            found.setdefault(key, []).append(write)
    return found


def _told(write: Write) -> dict[str, object]:
    version = write.version
    told = {"digest": version.digest, "by": version.author, "saved": version.saved}
    return {**told, "seen": dict(write.clock), "base": write.base}
