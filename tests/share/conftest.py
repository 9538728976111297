from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.hub.conftest import postgres  # noqa: F401 - a fixture
from tests.hub.servers import HubServer, start_hub
from tests.share.remotes import FolderPlace, GitPlace, HubPlace, Member, TeamPlace, member

Team = Callable[..., list[Member]]
MakePlace = Callable[[str, Path], TeamPlace]
# A test asks more often than a person does; how often one may ask is tried in tests/hub.
UNLIMITED = "from memdir.hub import bounds; bounds.Rates.__init__.__defaults__ = (1e9,) * 4"
KINDS = ("folder", "git", "hub-sqlite", "hub-postgres")


@pytest.fixture(scope="session")
def hubs(request: pytest.FixtureRequest, room: Path) -> Iterator[dict[str, HubServer]]:
    """A hub on each database, started when the first test asks for it."""

    class Started(dict[str, HubServer]):
        def __missing__(self, kind: str) -> HubServer:
            folder = Path(tempfile.mkdtemp(prefix="hub-", dir=room))
            is_postgres = kind == "hub-postgres"
            place = request.getfixturevalue("postgres").url if is_postgres else str(folder / "hub.sqlite3")
            self[kind] = start_hub(place, folder / "log", before=UNLIMITED)
            return self[kind]

    started = Started()
    try:
        yield started
    finally:
        for server in started.values():
            server.stop()


@pytest.fixture
def make_place(hubs: dict[str, HubServer]) -> MakePlace:
    """An empty place for a team."""

    def make(kind: str, where: Path) -> TeamPlace:
        if kind.startswith("hub"):
            return HubPlace(hubs[kind])
        return FolderPlace(where) if kind == "folder" else GitPlace(where)

    return make


@pytest.fixture(params=KINDS)
def kind(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def place(kind: str, make_place: MakePlace, tmp_path: Path) -> TeamPlace:
    return make_place(kind, tmp_path / "remote")


@pytest.fixture
def team(place: TeamPlace, tmp_path: Path) -> Iterator[Team]:
    """Members of one team, each on a machine of their own."""
    all_members: list[Member] = []

    def members(*names: str, clock: Callable[[], float] = time.time) -> list[Member]:
        made = [member(place, name, tmp_path, clock) for name in names]
        all_members.extend(made)
        return made

    yield members
    for one in all_members:
        one.remote.close()
