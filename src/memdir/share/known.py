"""What the last sync left here: the team's versions, which of them lie on this disk, and the texts to merge from (E4).

Changes that wait to be sent are no list that could be lost: they are what differs between the directory and this.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace

from memdir.disk.atomic import delete_file, keep_bytes
from memdir.disk.plain_file import read_if_plain
from memdir.disk.plain_json import encode
from memdir.disk.safe_path import is_key
from memdir.errors import DiskError, UsageError
from memdir.layout import Place
from memdir.share.judge import GivenJson, LocalTexts
from memdir.share.remote import GONE, Manifest, Reason, TeamCaps, Version, digest_of, is_digest, moment
from memdir.store.shared import MAX_KNOWN_BYTES, note_of_team

_MAX_TEXT_BYTES = 1 << 20
_MAX_AUTHORS = 4_000  # of texts: twice what a team has
MAX_ABSENT = 2 * TeamCaps.entries  # memories of the note that are not here: not taken in, or deleted


@dataclass(frozen=True)
class SeenMemory:
    """One memory of the team as of the last sync: what lay here, and what the remote had instead where that differs."""

    version: Version  # what changes here are changes of
    is_here: bool = False  # whether it lay on this disk then: only such a file can have been deleted here
    offered: Version | None = None  # what the remote has and was not taken in; it is tried again with every pull
    refused: Reason | str = ""  # why it was not

    @property
    def there(self) -> Version:
        return self.offered or self.version


@dataclass
class KnownTeam:
    """The note of one team directory about one remote."""

    place: Place
    remote: str
    revision: str = ""
    team: str = ""  # its name, as the remote tells it
    synced: float = 0.0
    seen: dict[str, SeenMemory] = field(default_factory=dict)
    strays: dict[str, str] = field(default_factory=dict)  # digests of what lies here and this does not know, at first
    purged: list[str] = field(default_factory=list)  # members of whom something may still be kept beside the team's
    authors: dict[str, str] = field(default_factory=dict)  # of every text that stood here, by digest: it may come back
    seals: dict[str, str] = field(default_factory=dict)  # of those that a hub gave, in proof of their authors
    sending: dict[str, list[str]] = field(default_factory=dict)  # digests of what may be there since the pull, in order
    held: dict[str, str] = field(default_factory=dict)  # why the remote did not take what was last given to it
    purges: dict[str, int] = field(default_factory=dict)  # the last of each member, by its revision: once is enough

    @staticmethod
    def load(place: Place, remote: str) -> KnownTeam:
        """The note; an empty one where there is none, or it is damaged. What one team wrote goes to no other."""
        path = place.known_of_team
        if os.path.lexists(path) and os.lstat(path).st_size > MAX_KNOWN_BYTES:  # as none it would undo what was deleted
            remedy = f"Move {path} away: the next sync is then like a first one"
            raise DiskError("the note of what the team had is larger than anybody reads", remedy=remedy)
        found = GivenJson(note_of_team(place))
        if (before := found.text("remote")) not in ("", remote):
            told = f"what lies in team/ is of another team, {before}"
            raise UsageError(told, remedy="`memdir join` of yours: it sets that aside, or takes it along")
        if not before or not isinstance(found.get("memories"), dict):
            return KnownTeam(place, remote)
        known = KnownTeam(place, remote, found.text("revision"), found.text("team"), moment(found.get("synced")))
        memories, authors, seals, purges = map(found.part, ("memories", "authors", "seals", "purges"))
        known.seen = {key: _seen(memories.part(key)) for key in memories if is_key(key)}
        known.authors = {digest: authors.text(digest) for digest in authors}
        sending, purged = found.part("sending"), found.get("purged")
        known.sending = {key: _texts(sending[key]) for key in sending}
        known.purged = _texts(purged)
        known.held = {key: found.part("held").text(key) for key in found.part("held")}
        known.seals = {digest: seals.text(digest) for digest in seals}
        known.purges = {name: purges.number(name) for name in purges}
        known.authors |= {one.version.digest: one.version.author for one in known.seen.values()}
        return known

    def save(self) -> None:
        """Write the note, and drop what nobody needs: texts that nothing is merged from any more, and of what is not
        here all but the newest, however much others add and delete. What was not taken in is asked for again."""
        absent = [(not one.offered, -one.there.saved, key) for key, one in self.seen.items() if one.version.is_gone]
        for is_deleted, _, key in sorted(absent)[MAX_ABSENT:]:
            del self.seen[key]
            self.revision = self.revision if is_deleted else ""
        names = ("remote", "revision", "team", "synced", "purged", "purges", "held", "sending")
        told = {name: getattr(self, name) for name in names}
        told |= {name: dict(list(getattr(self, name).items())[-_MAX_AUTHORS:]) for name in ("authors", "seals")}
        told["memories"] = {key: _told(one) for key, one in sorted(self.seen.items())}
        keep_bytes(self.place.known_of_team, encode(told).encode("utf-8", "replace") + b"\n")
        needed = {one.version.digest for one in self.seen.values()}
        needed |= {one.there.digest for one in self.seen.values() if one.refused != "secret"}  # which is not kept
        needed = needed.union(*self.sending.values())
        with suppress(OSError):  # there are none yet
            for name in os.listdir(self.place.texts_of_team):
                if is_digest(name) and name not in needed:
                    delete_file(self._path(name))

    def manifest(self) -> Manifest:
        refused = frozenset(key for key in self.seen if self.is_refused(key))
        return Manifest({key: one.there for key, one in self.seen.items()}, self.revision, self.strays, refused)

    def is_refused(self, key: str) -> bool:
        """Whether the remote has something else of it that was not taken in."""
        return key in self.seen and self.seen[key].offered is not None

    def digest(self, key: str) -> str:
        return self.seen[key].version.digest if key in self.seen else GONE

    def text(self, key: str) -> bytes | None:
        """What a memory was at the last sync; None where it was not, or nobody kept it."""
        return self.kept(self.digest(key))

    def kept(self, digest: str) -> bytes | None:
        data = read_if_plain(self._path(digest), _MAX_TEXT_BYTES) if digest else None
        return data if data is not None and digest_of(data) == digest else None

    def keep(self, texts: Mapping[str, bytes]) -> None:
        """Keep texts to merge from, before the note tells of them."""
        for data in filter(bytes.strip, texts.values()):  # who has an earlier one than an empty one puts back no copy
            path = self._path(digest_of(data))
            if not os.path.lexists(path):
                keep_bytes(path, data, durably=False)  # the remote has it, too

    def note(self, key: str, version: Version, *, is_here: bool) -> None:
        self.seen[key] = SeenMemory(version, is_here=is_here)
        self.authors |= {} if version.is_gone else {version.digest: version.author}
        self.seals |= {version.digest: version.seal} if version.seal else {}

    def note_refused(self, key: str, offered: Version, reason: Reason | str) -> None:
        """Note what the remote has beside what lies here: nothing is merged from a text that never did."""
        self.seen[key] = replace(self.seen.get(key, SeenMemory(Version(GONE))), offered=offered, refused=reason)

    def waiting(self) -> dict[str, Version]:
        """What the remote has and was not taken in. What nobody kept the text of is asked for again."""
        found: dict[str, Version] = {}
        for key, one in list(self.seen.items()):
            if one.offered and (one.offered.is_gone or self.kept(one.offered.digest) is not None):
                found[key] = one.offered
            elif one.offered:
                self.seen[key], self.revision = replace(one, offered=None, refused=""), ""
        return found

    def here(self) -> list[str]:
        """The memories that lay on this disk at the last sync."""
        return [key for key, one in self.seen.items() if one.is_here and not one.version.is_gone]

    def last_here(self) -> dict[str, str]:
        """What lay on this disk last, by digest: at that sync, or sent since then without an answer."""
        sent = {key: digests[-1] for key, digests in self.sending.items() if digests}
        last = {key: self.digest(key) for key in self.here()} | sent
        return {key: digest for key, digest in last.items() if digest != GONE}

    def unanswered(self) -> dict[str, str]:
        """Digests of what was sent since the last pull and was new to everybody: where the remote has had it, it came
        from here."""
        new = self.sending.items()
        return {key: sent[-1] for key, sent in new if sent and sent[-1] != GONE and sent[-1] not in self.authors}

    def older(self, local: LocalTexts) -> list[str]:
        """Memories in whose place lies what stood here before, in a file older than the last text is here: a copy that
        was put back. Whoever writes that text once more writes it now."""
        found, order = list[str](), {digest: number for number, digest in enumerate(self.authors)}
        for key, last in self.last_here().items():
            digest = digest_of(local.texts[key]) if key in local.texts else last
            with suppress(OSError):  # nobody kept the last one
                if order.get(digest, len(order)) < order.get(last, 0):
                    found += [key] if local.saved[key] < os.stat(self._path(last)).st_mtime else []
        return found

    def _path(self, digest: str) -> str:
        return os.path.join(self.place.texts_of_team, digest)


def _texts(told: object) -> list[str]:
    return [one for one in told if isinstance(one, str)] if isinstance(told, list) else []


def _seen(told: GivenJson) -> SeenMemory:
    offered = _version(told.part("offered")) if "offered" in told else None
    return SeenMemory(_version(told), told.get("here") is True, offered, told.text("refused"))


def _version(told: GivenJson) -> Version:
    digest, is_purged = told.text("digest"), told.get("purged") is True
    return Version(digest if is_digest(digest) else GONE, told.text("author"), told.get("saved", 0.0), is_purged)


def _told(one: SeenMemory) -> dict[str, object]:
    told: dict[str, object] = {**_plain(one.version), "here": one.is_here}
    return {**told, "offered": _plain(one.offered), "refused": one.refused} if one.offered else told


def _plain(version: Version) -> dict[str, object]:
    told: dict[str, object] = {"digest": version.digest, "author": version.author, "saved": version.saved}
    return told | ({"purged": True} if version.is_purged else {})
