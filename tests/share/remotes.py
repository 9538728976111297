"""The remotes that the conformance suite and the state machine run against, each real, each with several members."""

from __future__ import annotations

import itertools
import os
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from memdir.layout import Place
from memdir.share.remote import Remote, TeamCaps
from memdir.share.remotes.folder import FolderRemote
from memdir.share.remotes.git import GitRemote
from memdir.share.remotes.hub import HubRemote
from memdir.share.sync import Sync, SyncReport
from memdir.store.store import MemoryStore
from tests.conftest import Events
from tests.hub.servers import HubServer

_numbers = itertools.count()


class TeamPlace(Protocol):
    """Where one team is kept, for all of its members."""

    where: str

    def open(self, name: str, place: Place, clock: Callable[[], float]) -> Remote: ...

    def contents(self) -> Iterator[bytes]:
        """Every byte that it holds, unpacked."""


class FolderPlace:
    def __init__(self, where: Path) -> None:
        where.mkdir(parents=True)
        self.where = str(where)

    def open(self, name: str, place: Place, clock: Callable[[], float]) -> Remote:
        del clock
        remote = FolderRemote(self.where, member=name.encode().hex().ljust(8, "0"), name=name, kept=place.team_lists)
        remote.create()
        return remote

    def contents(self) -> Iterator[bytes]:
        yield from (path.read_bytes() for path in Path(self.where).rglob("*") if path.is_file())


class GitPlace:
    def __init__(self, where: Path) -> None:
        self.where = str(where)
        self._git("init", "-q", "--bare", "-b", "main", self.where)

    def open(self, name: str, place: Place, clock: Callable[[], float]) -> Remote:
        return GitRemote(self.where, place.team_objects, name=name, clock=clock)

    def contents(self) -> Iterator[bytes]:
        yield self._git("-C", self.where, "cat-file", "--batch-all-objects", "--batch", "--unordered")

    def run(self, *words: str, stdin: bytes = b"") -> bytes:
        """Plain git, by somebody who has no memdir."""
        return self._git(
            "-C", self.where, "-c", "user.name=Max", "-c", "user.email=max@example.org", *words, stdin=stdin
        )

    def _git(self, *words: str, stdin: bytes = b"") -> bytes:
        plain = {"PATH": os.environ["PATH"], "HOME": "/nonexistent", "GIT_CONFIG_NOSYSTEM": "1"}
        return subprocess.run(["git", *words], check=True, env=plain, capture_output=True, input=stdin).stdout


class HubPlace:
    """A team of its own on a hub that serves all tests."""

    def __init__(self, hub: HubServer) -> None:
        self._hub = hub
        self.admin = hub.team(f"share {os.getpid()} {next(_numbers)}")
        self._tokens: dict[str, str] = {}
        self.where = f"hub:http://127.0.0.1:{hub.port}#{self.admin.team}"

    def open(self, name: str, place: Place, clock: Callable[[], float]) -> Remote:
        del place, clock
        if name not in self._tokens:
            self._tokens[name] = self._hub.member(self.admin, name).token
        url = f"http://127.0.0.1:{self._hub.port}"
        return HubRemote(url, team=self.admin.team, token=self._tokens[name])

    def contents(self) -> Iterator[bytes]:
        for table in ("entries", "versions", "actions", "proposals", "jobs", "teams", "members", "tokens"):
            yield from (repr(row).encode() for row in self._hub.rows(f"select * from {table}"))


@dataclass
class Member:
    """One person's machine."""

    name: str
    store: MemoryStore
    remote: Remote
    where: str
    clock: Callable[[], float]
    caps: TeamCaps = field(default_factory=TeamCaps)
    events: Events = field(default_factory=lambda: Events([]))

    @property
    def root(self) -> Path:
        return Path(self.store.root)

    def sync(self, *, is_dry: bool = False, pushes_only: bool = False) -> SyncReport:
        return self.syncing().run(is_dry=is_dry, pushes_only=pushes_only)

    def syncing(self) -> Sync:
        return Sync(self.store, self.remote, self.where, self.name, self.caps, self.clock, self.events)

    def put(self, key: str, text: str) -> None:
        path = self.root / key
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")

    def read(self, key: str) -> str:
        return (self.root / key).read_text(encoding="utf-8")

    def files(self) -> dict[str, str]:
        """Every memory there is, by its key."""
        found = sorted(self.root.rglob("*.md"))
        return {
            path.relative_to(self.root).as_posix(): path.read_text(encoding="utf-8")
            for path in found
            if path.name != "MEMORY.md"
        }


def member(place: TeamPlace, name: str, folder: Path, clock: Callable[[], float]) -> Member:
    home = Place(str(folder / name / "memory"))
    store = MemoryStore(home.team(), scope="team", clock=clock)
    store.ensure()
    return Member(name, store, place.open(name, home, clock), place.where, clock)


def memory_text(name: str, body: str, kind: str = "project") -> str:
    return f"---\nname: {name}\ndescription: about {name}\ntype: {kind}\n---\n\n{body}\n"
