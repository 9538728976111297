"""The remotes that the conformance suite and the state machines run against, each real, each with several members."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from memdir.layout import Place
from memdir.share.judge import TeamCaps
from memdir.share.remote import Remote
from memdir.share.remotes.folder import FolderRemote
from memdir.share.remotes.git import GitRemote
from memdir.share.sync import Sync, SyncReport
from memdir.store.store import MemoryStore
from tests.conftest import Events

KINDS = ("folder", "git")


def made(kind: str, where: Path) -> str:
    """An empty remote."""
    if kind == "folder":
        where.mkdir(parents=True)
    else:
        subprocess.run(["git", "init", "-q", "--bare", "-b", "main", str(where)], check=True, env=plain())
    return str(where)


def plain() -> dict[str, str]:
    return {"PATH": os.environ["PATH"], "HOME": "/nonexistent", "GIT_CONFIG_NOSYSTEM": "1"}


def opened(kind: str, where: str, name: str, place: Place, clock: Callable[[], float]) -> Remote:
    if kind == "folder":
        remote = FolderRemote(where, member=name.encode().hex().ljust(8, "0"), name=name)
        remote.create()
        return remote
    return GitRemote(where, place.team_objects, name=name, clock=clock)


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


def member(kind: str, where: str, name: str, folder: Path, clock: Callable[[], float]) -> Member:
    place = Place(str(folder / name / "memory"))
    store = MemoryStore(place.team(), scope="team", clock=clock)
    store.ensure()
    return Member(name, store, opened(kind, where, name, place, clock), where, clock)


def memory_text(name: str, body: str, kind: str = "project") -> str:
    return f"---\nname: {name}\ndescription: about {name}\ntype: {kind}\n---\n\n{body}\n"
