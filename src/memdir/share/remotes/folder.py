"""A folder that all members can write to: a network drive, or one that a program copies between machines (E7).

There is no lock that all would respect, no time that could be compared, and no order in which files arrive. So each
file has one writer: texts are named by what they hold, and every member keeps a list of its own writes, each with
the writes that it had seen (ADR 0067). Two writes that had not seen each other are merged by everybody alike. A list
is named by what it holds, too: who has read it once need not open it again.

What the lists said is kept on this machine: one that is half copied, locked or set back counts as it was, and so does a
write whose text is still on its way, or never comes: it holds nobody up.
"""

from __future__ import annotations

import errno
import os
import re
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace

from memdir.disk.atomic import TEMPORARY_PREFIX, keep_bytes, write_project_file
from memdir.disk.held_folder import held_folder
from memdir.disk.plain_file import read_if_plain, reason_of
from memdir.disk.plain_json import decode, encode
from memdir.disk.safe_path import is_key
from memdir.errors import DiskError, PathEscape, RemoteError
from memdir.events import tell
from memdir.share.judge import GivenJson
from memdir.share.merge import beside, settle
from memdir.share.remote import GONE, Delta, Manifest, PushResult, Reason, Remote, Room, Version, digest_of, is_digest

MARK = "memdir-team.json"  # says that the folder is one of ours
_MARKED = b'{"format": 1, "what": "memories of a team, kept by memdir"}\n'
MEMBERS, TEXTS = "members", "texts"
COPIED = "Wait until it is copied; where it stays as it is, delete it, and what lies here is given again"
MAX_LIST_BYTES = 16 << 20  # of what one member has written: a few hundred bytes a memory
MAX_KEPT_BYTES = 64 << 20
MAX_MEMBERS, MAX_LISTS = 1_000, 20  # and of one of them; what is more is told: nobody's is passed over
MAX_AT_ODDS = 50  # writes of one memory that had not seen each other, and layers of those without their texts
ABANDONED_SECONDS = 86_400.0  # no write takes a day
_IS_ID = re.compile(r"[0-9a-f]{8,64}").fullmatch  # what a member may be called there
_IS_LIST = re.compile(r"([0-9a-f]{8,64})(?:\.([0-9a-f]{64}))?\.json").fullmatch  # an older memdir names no digest
_MAX_COUNT, _MAX_OWN = 1 << 53, 1 << 62  # writes of a memory by one member, as others tell, and as their own list does

Clock = Mapping[str, int]  # how many writes of each member, for one key, this one had seen
Lists = dict[str, dict[str, "Write"]]  # by member and key
Layer = tuple["Head", dict[str, bytes], list["Write"]]


@dataclass(frozen=True)
class Write:
    """One member's last write of a memory."""

    version: Version
    clock: Clock = field(default_factory=dict)
    base: str = GONE  # the digest of the text that it was made from
    member: str = field(default="", compare=False)  # whose it is
    is_new: bool = field(default=False, compare=False)  # whether no pull here has counted with it yet
    before: Write | None = field(default=None, compare=False)  # what that member had written when one last did

    def has_seen(self, other: Write) -> bool:
        return _is_past(other.clock, self.clock)

    def has_seen_base(self, other: Write) -> bool:
        return _is_past({one: n - (one == other.member) for one, n in other.clock.items()}, self.clock)


@dataclass(frozen=True)
class Head:
    """What all the lists together say of a memory."""

    version: Version
    clock: Clock
    text: bytes | None = None  # None where nobody had to read it
    unread: Reason | None = None  # why its text was not
    earlier: frozenset[str] = frozenset()  # digests of texts that it had, as far as the lists tell
    has_news: bool = False  # whether it is made of a write that no pull here has counted with
    away: tuple[Write, ...] = ()  # writes that it cannot be made of: their texts are not there
    lost: tuple[Write, ...] = ()  # those of them whose texts once were


class FolderRemote(Remote):
    """A team in a folder. `member` is this machine's id there, `name` the person's, `kept` a file of what was read."""

    def __init__(self, folder: str, *, member: str, name: str = "", kept: str = "") -> None:
        self.folder = folder
        self._member = member
        self._name = name
        self._kept = kept
        self._room = Room(self.caps)
        self._second: list[tuple[str, Write, bytes]] = []  # texts that did not fit, with their keys
        self._counted: set[str] = set()  # lists of which nothing is left to be counted with
        self.reads = 0  # files and folders there that were opened

    def pull(self, known: Manifest) -> Delta:
        heads, lists = self._heads(known)
        replaced = {key for key, head in heads.items() if known.strays.get(key) in head.earlier - {head.version.digest}}
        differ = {key for key, head in heads.items() if head.version.digest != known.digest(key) or key in replaced}
        living = {key for key, version in known.versions.items() if not version.is_gone}
        lost = {key for key in living if key not in heads or (key in differ and heads[key].lost)} - known.refused
        changed = {key: heads[key].version for key in differ if heads[key].clock and not heads[key].lost}
        waits = [key for key, head in heads.items() if head.away and not head.lost and key not in changed]
        refused: dict[str, Reason] = dict.fromkeys(waits, "missing")
        refused |= {key: why for key in changed if (why := heads[key].unread)}
        texts = {key: text for key in changed if (text := heads[key].text) is not None}
        unseen = [(key, one) for key, head in heads.items() for one in reversed(head.away) if one.is_new]
        given = {key for key, head in heads.items() if head.lost}  # again, and over nothing that is new
        unseen += [(key, own[key]) for own in lists.values() for key in given & own.keys() if own[key].is_new]
        for key, one in unseen:
            before = {key: one.before} if one.before else {}
            lists[one.member] = {**{name: own for name, own in lists[one.member].items() if name != key}, **before}
            self._counted = {name for name in self._counted if not name.startswith(one.member)}
        self._keep(lists, self._counted)
        return Delta(changed, texts, missing=frozenset(lost), replaced=replaced, refused=refused)

    def push(self, delta: Delta, *, expected: Manifest) -> PushResult:
        """Others may write at this very moment: then both writes stand, and every pull merges them."""
        heads, lists = self._heads(expected)
        writes = dict(lists.get(self._member, {}))
        refused: dict[str, Reason] = {}
        accepted: dict[str, Version] = {}
        for key, version in delta.versions.items():
            head = heads.get(key, Head(Version(GONE), {}))
            stands = head.version.digest if head.clock else expected.digest(key)
            if stands not in (expected.digest(key), version.digest) and not head.lost:
                refused[key] = "conflict"
                continue
            if head.lost or stands != version.digest:
                base = GONE if head.lost and head.has_news else stands
                base = next((one.base for one in head.lost if one.version.digest == version.digest), base)
                count = max(head.clock.get(self._member, 0), writes[key].clock[self._member] if key in writes else 0)
                writes[key] = Write(version, {**head.clock, self._member: count + 1}, base)
            accepted[key] = version
        texts = {key: delta.texts[key] for key, version in accepted.items() if not version.is_gone}
        self._store(texts, writes)
        kept, counted = self._read_kept()
        self._keep({**kept, self._member: writes}, {*counted, self._list_of(writes)[0]})
        return PushResult(accepted, refused)

    # What the lists say

    def _heads(self, known: Manifest) -> tuple[dict[str, Head], Lists]:
        """The memories as all the writes that can be seen make them, and these writes. No text is read that is
        `known`; those of known memories come first, so that nobody who fills the folder keeps them from being read."""
        lists, there = self._lists()
        writes, self._room = _believed(lists), Room(self.caps, times=2)
        heads: dict[str, Head] = {}
        self._second = []
        for key in sorted(writes, key=lambda one: (not known.digest(one), one)):
            all_writes = writes[key]
            head = self._merge(key, all_writes, known.digest(key), there)
            earlier = {digest for write in all_writes for digest in (write.base, write.version.digest)} - {GONE}
            heads[key] = replace(head, earlier=frozenset(earlier))
        for key, write, text in sorted(self._second, key=lambda one: one[0]):  # the same on all machines
            self._put_beside(key, write, text, heads)
        return heads, lists

    def _merge(self, key: str, writes: list[Write], known: str, there: set[str]) -> Head:
        """One version of writes that had not seen each other: an edit outlives a deletion, changes to different lines
        are put together, and a text that does not fit goes beside. A write without its text counts as it was."""
        layers: list[list[Write]] = []  # of writes whose texts are not there
        head, texts, living = self._newest_head(key, writes, known, there)
        while away := [write for write in living if write.version.digest not in texts]:
            layers.append(away)
            writes = [one for one in writes if one not in away] + [one.before for one in away if one.before]
            writes = writes if len(layers) < MAX_AT_ODDS else []
            head, texts, living = self._newest_head(key, writes, known, there)
        head = self._put_together(key, head, [(one, texts[one.version.digest]) for one in living])
        for away in reversed(layers):
            lost = [one for one in away if not one.is_new or self._member == one.member or known == one.version.digest]
            seen = {} if lost and head.has_news else head.clock
            clock = _joined([Write(head.version, seen), *lost])
            head = replace(head, clock=clock, away=(*head.away, *away), lost=(*head.lost, *lost))
        return head

    def _newest_head(self, key: str, writes: list[Write], known: str, there: set[str]) -> Layer:
        """What the newest of these writes make of a memory, their texts, and those that are to be put together."""
        if not (newest := _newest(writes)):
            return Head(Version(GONE), {}), {}, []
        living = sorted((write for write in newest if not write.version.is_gone), key=_order)
        digests = {write.version.digest for write in living}
        head = Head(min(living or newest, key=_order).version, _joined(newest), has_news=any(w.is_new for w in newest))
        if not living or (digests == {known} and known in there):
            return head, {}, []
        sizes = {f"{key} {digest}": self._size(digest) for digest in digests & there}
        faults = [fault for one, size in sizes.items() if (fault := self._room.fault_of(one, size))]
        if faults or len(newest) > MAX_AT_ODDS:
            return replace(head, unread=faults[0] if faults else "cap"), {}, []
        tell(self.on_progress, len(self._room.sizes), 0)
        texts = {digest: text for digest in digests & there if (text := self._text(digest)) is not None}
        return head, texts, living

    def _put_together(self, key: str, head: Head, texts: list[tuple[Write, bytes]]) -> Head:
        text = texts[0][1] if texts else None
        for other, theirs in texts[1:]:
            base = self._text(_common(texts[0][0], other))
            settled = settle(base, theirs, text, self.caps.entry_bytes)
            text = settled.text or b""
            if settled.beside is not None:
                self._second.append((key, other, settled.beside))
        if text is not None and digest_of(text) != head.version.digest:
            saved = max(write.version.saved for write, _ in texts)
            head = replace(head, version=Version(digest_of(text), head.version.author, saved))
        return replace(head, text=text)

    def _put_beside(self, key: str, write: Write, text: bytes, heads: dict[str, Head]) -> None:
        """Give a text that did not fit a place of its own, unless somebody who had seen it has settled that."""

        def is_settled(head: Head | None) -> bool:
            return head is not None and Write(head.version, head.clock).has_seen(write)

        def read(name: str) -> bytes | None:
            head = heads.get(name)
            is_free = head is None or head.version.is_gone or is_settled(head)
            return None if head is None or is_free else head.text or self._text(head.version.digest)

        name, data = beside(key, text, read)
        head = heads.get(name)
        if head is None or (head.version.is_gone and not is_settled(head)):
            clock = {**write.clock, **(head.clock if head else {})}
            heads[name] = Head(Version(digest_of(data), write.version.author), clock, data)

    def _lists(self) -> tuple[Lists, set[str]]:
        """What every member has written, as far as it could ever be read; and the texts that all can find."""
        names, (kept, counted) = self._members(), self._read_kept()
        found: Lists = {}
        self._counted = counted & {name for some in names.values() for name in some}
        for member in sorted({*names, *kept}):
            found[member], own = kept.get(member, {}), names.get(member, set())
            is_ours = member == self._member  # which others may have damaged: it is looked at each time
            read = {name: self._read_list(member, name) for name in sorted(own if is_ours else own - counted)}
            for now in read.values():
                found[member] = _later(found[member], now or {})
            self._counted |= {name for name, now in read.items() if now is not None and name != f"{member}.json"}
            if is_ours and (None in read.values() or own != {self._list_of(found[member])[0]}):
                if not found[member] and None in read.values():
                    path = f"{self.folder}/{MEMBERS}/{min(own)}"
                    raise RemoteError(f"{path}, our own list, cannot be read", remedy=COPIED)
                self._store({}, found[member])
        lists = [found.get(member, {}) for member in (*names, self._member)]  # that somebody new finds, too
        writes = [write for own in lists for one in own.values() for write in (one, one.before) if write]
        return found, self._names(TEXTS) & {one.version.digest for one in writes}

    def _keep(self, lists: Lists, counted: set[str]) -> None:
        told = {member: _told(own) for member, own in lists.items()}
        if self._kept and (lists, counted) != self._read_kept():
            data = encode({"folder": self.folder, "members": told, "counted": sorted(counted)})
            keep_bytes(self._kept, data.encode("utf-8", "replace"))

    def _read_kept(self) -> tuple[Lists, set[str]]:
        """What the lists said, and the names of those of which that is all."""
        found = GivenJson.of(decode(read_if_plain(self._kept, MAX_KEPT_BYTES) or b""))
        found = found if found.get("folder") == self.folder else GivenJson()
        lists, counted = found.part("members"), found.get("counted")
        names = {one for one in counted if isinstance(one, str)} if isinstance(counted, list) else set()
        return {name: _writes(lists.part(name), name) for name in lists if _IS_ID(name)}, names

    def _members(self) -> dict[str, set[str]]:
        """The names of the lists, by member: of one that was killed while writing, or copied now, there may be two."""
        found: dict[str, set[str]] = {}
        for match in (match for name in self._names(MEMBERS) if (match := _IS_LIST(name))):
            found.setdefault(match[1], set()).add(match[0])
        if len({*found, self._member}) > MAX_MEMBERS or any(len(one) > MAX_LISTS for one in found.values()):
            told = f"{self.folder}/{MEMBERS} holds lists of more than {MAX_MEMBERS:,} members, or too many of one"
            raise RemoteError(told, kind="broken", remedy="Delete those there that nobody writes any more")
        return found

    def _names(self, part: str) -> set[str]:
        self.reads += 1
        with self._reached(), suppress(FileNotFoundError), held_folder(self.folder, part) as held:
            names = set(os.listdir(held))
            for path in (os.path.join(held, name) for name in names if name.startswith(TEMPORARY_PREFIX)):
                with suppress(OSError):  # what a writer left that was killed: there is no lock that would tell
                    if time.time() - os.lstat(path).st_mtime > ABANDONED_SECONDS:
                        os.unlink(path)
            return names
        self._require_mark()
        return set()

    def _read_list(self, member: str, name: str) -> dict[str, Write] | None:
        """None for one that cannot be read now, or is not whole."""
        data, match = self._read(MEMBERS, name, MAX_LIST_BYTES) or b"", _IS_LIST(name)
        found = GivenJson.of(decode(data))
        is_whole = match is not None and match[2] in (None, digest_of(data))
        return _writes(found.part("memories"), member) if is_whole and isinstance(found.get("memories"), dict) else None

    def _list_of(self, writes: Mapping[str, Write]) -> tuple[str, bytes]:
        """Our own list: its name, and what it says."""
        told = {"id": self._member, "name": self._name, "memories": _told(writes)}
        data = encode(told).encode("utf-8", "replace") + b"\n"
        return f"{self._member}.{digest_of(data)}.json", data

    def _size(self, digest: str) -> int:
        with suppress(OSError, PathEscape), held_folder(self.folder, TEXTS) as held:
            return os.lstat(os.path.join(held, digest)).st_size
        return 0

    def _text(self, digest: str) -> bytes | None:
        data = self._read(TEXTS, digest, self.caps.entry_bytes) if is_digest(digest) else None
        return data if data is not None and digest_of(data) == digest else None

    # The disk

    def _store(self, texts: Mapping[str, bytes], writes: Mapping[str, Write]) -> None:
        """Texts first: a list never tells of one that is not there. The list before it goes last."""
        name, data = self._list_of(writes)
        if len(data) > MAX_LIST_BYTES:
            raise RemoteError(f"this machine's list in {self.folder} would be larger than anybody reads", kind="broken")
        for done, text in enumerate(texts.values()):
            tell(self.on_progress, done, len(texts))
            if self._text(digest_of(text)) is None:
                self._put(TEXTS, digest_of(text), text)
        self._put(MEMBERS, name, data)
        with suppress(OSError, PathEscape), held_folder(self.folder, MEMBERS) as held:
            for old in (one for one in self._names(MEMBERS) if (match := _IS_LIST(one)) and match[1] == self._member):
                if old != name:
                    os.unlink(os.path.join(held, old))

    def create(self) -> bool:
        """Make an empty folder the team's; one that is the team's already stays as it is. Whether a team began."""
        mark, remedy = os.path.join(self.folder, MARK), "Name an empty folder, or the one that your teammates use"
        with self._reached():
            if os.path.lexists(mark):
                return False
            if any(name[0] != "." or name == ".git" for name in os.listdir(self.folder)):
                raise RemoteError(f"{self.folder} is not empty, and holds no team", kind="broken", remedy=remedy)
            write_project_file(mark, _MARKED)
            return True

    def _require_mark(self) -> None:
        """A folder that is empty may be one that is not mounted now: it is not a team that lost everything."""
        if not os.path.lexists(os.path.join(self.folder, MARK)):
            remedy = "Mount it, or wait until it is copied; `memdir join` makes one"
            raise RemoteError(f"{self.folder} holds no team now", remedy=remedy)

    def _read(self, part: str, name: str, max_bytes: int) -> bytes | None:
        self.reads += 1
        with suppress(OSError, PathEscape), held_folder(self.folder, part) as held:
            return read_if_plain(os.path.join(held, name), max_bytes)
        return None

    def _put(self, part: str, name: str, data: bytes) -> None:
        self._require_mark()
        with self._reached(), held_folder(self.folder, part, create=True) as held:
            mode = os.stat(self.folder).st_mode & 0o777
            if os.stat(held).st_mode & 0o777 != mode:
                os.chmod(held, mode)  # whoever may write to the team's folder may write here
            write_project_file(os.path.join(held, name), data)

    @contextmanager
    def _reached(self) -> Iterator[None]:
        """What the disk refuses here, the team's folder does."""
        try:
            yield
        except PathEscape as error:
            raise RemoteError(f"{self.folder}: {error.message}", kind="broken", remedy=error.remedy) from error
        except (OSError, DiskError) as error:
            code, why = (error.code, error.message) if isinstance(error, DiskError) else (error.errno, reason_of(error))
            if code in (errno.EACCES, errno.EPERM, errno.EROFS):
                remedy = "Ask whoever keeps the folder to let you write there; what you changed waits here"
                told = f"{self.folder} cannot be written to: {why}"
                raise RemoteError(told, kind="not_allowed", remedy=remedy) from error
            told, remedy = f"{self.folder} cannot be reached: {why}", "What you changed waits here until it can"
            raise RemoteError(told, remedy=remedy) from error


def _later(kept: Mapping[str, Write], now: Mapping[str, Write]) -> dict[str, Write]:
    """What a member has written, as it was read once and is now: a list that was set back takes nothing back."""
    back = {key: one for key, one in kept.items() if key in now and now[key] not in (one, *_newest([one, now[key]]))}
    new = {key: replace(one, is_new=True, before=kept.get(key)) for key, one in now.items() if kept.get(key) != one}
    return {**kept, **new, **back}


def _newest(writes: list[Write]) -> list[Write]:
    """The writes that no other has seen; where they are beyond all measure, only the first of them."""
    found: list[Write] = []
    for one in (*writes, *writes):  # again: once somebody has seen the others there may be a place
        if not any(one is other or (other.has_seen(one) and not one.has_seen(other)) for other in found):
            found = [other for other in found if other.has_seen(one) or not one.has_seen(other)]
            found += [one] if len(found) <= MAX_AT_ODDS else []
    return found


def _order(write: Write) -> tuple[str, str, float]:
    """An order that is the same on all machines, whatever their clocks say."""
    return write.version.digest, write.version.author, write.version.saved


def _is_past(clock: Clock, other: Clock) -> bool:
    return all(other.get(member, 0) >= count for member, count in clock.items())


def _joined(writes: list[Write]) -> Clock:
    clock: dict[str, int] = {}
    for write in writes:
        clock |= {member: max(count, clock.get(member, 0)) for member, count in write.clock.items()}
    return clock


def _common(one: Write, other: Write) -> str:
    """The text that two writes were both made from; GONE where that of each may hold what the other never saw."""
    return other.base if one.has_seen_base(other) else one.base if other.has_seen_base(one) else GONE


def _writes(told: GivenJson, member: str) -> dict[str, Write]:
    return {key: _write(told.part(key), member) for key in told if isinstance(told[key], dict) and is_key(key)}


def _write(told: GivenJson, member: str) -> Write:
    counts = told.part("seen").items()
    seen = {member: min(n, _MAX_OWN + 1) for member, n in counts if isinstance(n, int) and n > 0}
    version = Version(told.text("digest"), told.text("by"), told.get("saved", 0.0))
    return Write(version, seen, told.text("base"), member)


def _believed(lists: Lists) -> dict[str, list[Write]]:
    """All writes by key, but those that tell of more writes of somebody than there can be: nobody could count on."""
    found: dict[str, list[Write]] = {}
    for key, write in ((key, write) for own in lists.values() for key, write in own.items()):
        owns = {one: lists[one][key].clock.get(one, 0) for one in write.clock if key in lists.get(one, ())}
        if all(n <= max(_MAX_COUNT, min(owns.get(one, 0), _MAX_OWN)) for one, n in write.clock.items()):
            found.setdefault(key, []).append(write)
    return found


def _told(writes: Mapping[str, Write]) -> dict[str, object]:
    told: dict[str, object] = {}
    for key, one in sorted(writes.items()):  # the same list, however it came about, has the same name
        version = {"digest": one.version.digest, "by": one.version.author, "saved": one.version.saved}
        told[key] = {**version, "seen": dict(sorted(one.clock.items())), "base": one.base}
    return told
