"""What a remote is to a sync, and the words both speak: versions, manifests, what differs, what became of a push (E4).

A remote holds one text a key and tells who saved it when. It changes only what still is as the writer last saw it, and
keeps a mark where a text was deleted. tests/share/test_remotes.py is what each of them has to pass.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Literal, Protocol

from memdir.store.shared import told_member

Unfit = Literal["secret", "cap", "too_large", "path", "private", "not_text", "disk"]  # the memory itself
Reason = Literal[Unfit, "no_change", "rate", "offline", "not_allowed", "conflict", "purged", "missing"]
_MAX_SECONDS = 1e11  # thousands of years from now
GONE = ""  # the digest of what was deleted
_HEX = frozenset("0123456789abcdef")

_name_of = lru_cache(maxsize=1_000)(told_member)  # a few people, and thousands of versions


def digest_of(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def moment(told: object) -> float:
    """Seconds since the epoch as somebody else tells them; 0 for what no clock shows."""
    is_number = isinstance(told, int | float) and not isinstance(told, bool)
    return float(told) if is_number and 0 <= told < _MAX_SECONDS else 0.0  # type: ignore[arg-type,operator]


def is_digest(text: str) -> bool:
    return len(text) == 64 and _HEX.issuperset(text)


@dataclass(frozen=True)
class TeamCaps:
    """The most that a team may have here (E6)."""

    entries: int = 2_000
    entry_bytes: int = 64 << 10
    total_bytes: int = 16 << 20


@dataclass
class Room:
    """How much more may be taken in (E6): into the directory, what the caps say; from a remote into memory, before
    anybody has looked at it, twice as much, and the rest is refused unread."""

    caps: TeamCaps
    sizes: dict[str, int] = field(default_factory=dict)  # of what is there, by key
    times: int = 1

    def __post_init__(self) -> None:
        self._total = sum(self.sizes.values())

    def fault_of(self, key: str, size: int) -> Reason | None:
        """Why a memory of this size has no place; where it has, it takes it."""
        if size > self.caps.entry_bytes:
            return "too_large"
        total = self._total - self.sizes.get(key, 0) + size
        is_one_more = key not in self.sizes and len(self.sizes) >= self.times * self.caps.entries
        if is_one_more or total > max(self.times * self.caps.total_bytes, self._total):
            return "cap"
        self.sizes[key], self._total = size, total
        return None


@dataclass(frozen=True)
class Version:
    """One state of a shared memory."""

    digest: str  # SHA-256 of its text; GONE where it was deleted
    author: str = ""  # who saved it, as the remote tells
    saved: float = 0.0  # when, in seconds since the epoch: not when it was pulled
    is_purged: bool = False  # deleted with all that its author wrote
    seal: str = field(default="", compare=False)  # by which a hub that has lost it knows its author again

    def __post_init__(self) -> None:
        object.__setattr__(self, "author", _name_of(self.author))  # whoever tells it: a name, and nothing else
        object.__setattr__(self, "saved", moment(self.saved))  # and a time that clocks show

    @property
    def is_gone(self) -> bool:
        return self.digest == GONE


@dataclass(frozen=True)
class Manifest:
    """What somebody knows of a remote: its versions by key, and the remote's own word for that state."""

    versions: Mapping[str, Version] = field(default_factory=dict)
    revision: str = ""
    strays: Mapping[str, str] = field(default_factory=dict)  # digests of what lies here and may have been there
    refused: frozenset[str] = frozenset()  # keys of which something else lies here than what is known

    def digest(self, key: str) -> str:
        return self.versions[key].digest if key in self.versions else GONE


@dataclass(frozen=True)
class Delta:
    """Versions that differ from what somebody knows, with the texts of those that are not deleted."""

    versions: Mapping[str, Version] = field(default_factory=dict)
    texts: Mapping[str, bytes] = field(default_factory=dict)
    revision: str = ""
    missing: frozenset[str] = frozenset()  # known, and neither there nor marked as deleted: the remote lost them
    older: Mapping[str, Version] = field(default_factory=dict)  # what a remote that was set back has of known ones
    replaced: Collection[str] = ()  # keys whose strays were there before the versions that this tells
    refused: Mapping[str, Reason] = field(default_factory=dict)  # what is there and cannot be taken in
    purged: Mapping[str, int] = field(default_factory=dict)  # members of whom nothing up to a revision shall be kept
    told: str = ""  # what a person should know of it


@dataclass(frozen=True)
class PushResult:
    """What the remote took, and why it did not take the rest."""

    accepted: Mapping[str, Version] = field(default_factory=dict)
    refused: Mapping[str, Reason] = field(default_factory=dict)
    revision: str = ""  # empty where others changed something in between: a pull tells
    told: Mapping[str, str] = field(default_factory=dict)  # why, in words, where more is known


class Remote(Protocol):
    """Where a team's memories are kept. RemoteError when it cannot be used now."""

    caps: TeamCaps = TeamCaps()  # what is more is not read
    # Told how many of a push's memories are through, of how many; and how many of a pull's came, of nobody knows (0).
    on_progress: Callable[[int, int], None] | None = None

    def pull(self, known: Manifest) -> Delta:
        """What differs there from what is known here."""

    def push(self, delta: Delta, *, expected: Manifest) -> PushResult:
        """Put these versions there, each only where the remote still holds what is `expected` of its key."""

    def create(self) -> bool:
        """See that it is a team's, or make it one where it is empty; whether a team begins there."""
        return False  # of a hub its admin makes them

    def close(self) -> None:
        """Let go of a connection, if there is one; the next request opens another."""
        return  # most hold none
