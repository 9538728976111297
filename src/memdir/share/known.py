"""What the last sync left here: the team's versions, which of them lie on this disk, and the texts to merge from (E4).

Changes that wait to be sent are no list that could be lost: they are what differs between the directory and this.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field

from memdir.disk.atomic import delete_file, make_folder, write_bytes_atomic
from memdir.disk.plain_file import read_if_plain
from memdir.disk.plain_json import decode, encode
from memdir.disk.safe_path import is_key
from memdir.layout import Place
from memdir.share.remote import GONE, Manifest, Reason, Version, digest_of
from memdir.store.shared import MAX_KNOWN_BYTES

_HEX = frozenset("0123456789abcdef")
_MAX_TEXT_BYTES = 1 << 20


@dataclass(frozen=True)
class SeenMemory:
    """One memory of the team as of the last sync."""

    version: Version
    is_here: bool = False  # whether it lay on this disk then: only such a file can have been deleted here
    refused: Reason | str = ""  # why it was not taken in, where it was not


@dataclass
class KnownTeam:
    """The note of one team directory about one remote."""

    place: Place
    remote: str
    revision: str = ""
    synced: float = 0.0
    seen: dict[str, SeenMemory] = field(default_factory=dict)
    purged: list[str] = field(default_factory=list)  # members of whom something may still be kept beside the team's

    @staticmethod
    def load(place: Place, remote: str) -> KnownTeam:
        """The note; an empty one where there is none, it is damaged, or it is about another remote."""
        found = decode(read_if_plain(place.known_of_team, MAX_KNOWN_BYTES) or b"")
        known = KnownTeam(place, remote)
        if not isinstance(found, dict) or found.get("remote") != remote or not isinstance(found.get("memories"), dict):
            return known
        known.revision = _text(found.get("revision"))
        known.synced = _number(found.get("synced"))
        waiting = found.get("purged")
        known.purged = [one for one in waiting if isinstance(one, str)] if isinstance(waiting, list) else []
        for key, told in found["memories"].items():
            if isinstance(key, str) and is_key(key) and isinstance(told, dict):
                known.seen[key] = _seen(told)
        return known

    def save(self) -> None:
        """Write the note, and drop the texts that nothing is merged from any more."""
        told = {
            "remote": self.remote,
            "revision": self.revision,
            "synced": self.synced,
            "purged": self.purged,
            "memories": {key: _told(one) for key, one in sorted(self.seen.items())},
        }
        make_folder(os.path.dirname(self.place.known_of_team))
        write_bytes_atomic(self.place.known_of_team, encode(told).encode("utf-8", "replace") + b"\n")
        self._drop_texts()

    def manifest(self) -> Manifest:
        return Manifest({key: one.version for key, one in self.seen.items()}, self.revision)

    def digest(self, key: str) -> str:
        return self.seen[key].version.digest if key in self.seen else GONE

    def text(self, key: str) -> bytes | None:
        """What a memory was at the last sync; None where it was not, or nobody kept it."""
        digest = self.digest(key)
        data = read_if_plain(self._path(digest), _MAX_TEXT_BYTES) if digest else None
        return data if data is not None and digest_of(data) == digest else None

    def keep(self, texts: Mapping[str, bytes]) -> None:
        """Keep texts to merge from, before the note tells of them."""
        make_folder(self.place.texts_of_team)
        for data in texts.values():
            path = self._path(digest_of(data))
            if not os.path.lexists(path):
                write_bytes_atomic(path, data, durably=False)  # the remote has it, too

    def note(self, key: str, version: Version, *, is_here: bool, refused: Reason | str = "") -> None:
        self.seen[key] = SeenMemory(version, is_here=is_here, refused=refused)

    def forget(self, key: str) -> None:
        self.seen.pop(key, None)

    def here(self) -> list[str]:
        """The memories that lay on this disk at the last sync."""
        return [key for key, one in self.seen.items() if one.is_here and not one.version.is_gone]

    def _path(self, digest: str) -> str:
        return os.path.join(self.place.texts_of_team, digest)

    def _drop_texts(self) -> None:
        needed = {one.version.digest for one in self.seen.values()}
        try:
            names = os.listdir(self.place.texts_of_team)
        except OSError:
            return
        for name in names:
            if len(name) == 64 and _HEX.issuperset(name) and name not in needed:
                delete_file(self._path(name))


def _seen(told: Mapping[str, object]) -> SeenMemory:
    digest = _text(told.get("digest"))
    is_digest = len(digest) == 64 and _HEX.issuperset(digest)
    author, saved = _text(told.get("author")), _number(told.get("saved"))
    version = Version(digest if is_digest else GONE, author, saved)
    return SeenMemory(version, is_here=told.get("here") is True, refused=_text(told.get("refused")))


def _told(one: SeenMemory) -> dict[str, object]:
    version = one.version
    told: dict[str, object] = {"digest": version.digest, "author": version.author, "saved": version.saved}
    told["here"] = one.is_here
    return {**told, "refused": one.refused} if one.refused else told


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


def _number(value: object) -> float:
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else 0.0
