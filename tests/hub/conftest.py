"""One PostgreSQL and one hub on each database for all tests of a process; each test has teams of its own."""

from __future__ import annotations

import itertools
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.hub.servers import Client, HubServer, Postgres, postgres_programs, postgres_server, start_hub

DATABASES = ("sqlite", "postgres")


@pytest.fixture(scope="session")
def postgres() -> Iterator[Postgres]:
    if postgres_programs() is None:
        pytest.skip("PostgreSQL is not installed here (apt-get install postgresql)")
    with postgres_server() as server:
        yield server


@pytest.fixture(scope="session", params=DATABASES)
def hub(request: pytest.FixtureRequest, room: Path) -> Iterator[HubServer]:
    """A hub on each database."""
    folder = Path(tempfile.mkdtemp(prefix="hub-", dir=room))
    is_postgres = request.param == "postgres"
    place = request.getfixturevalue("postgres").url if is_postgres else str(folder / "hub.sqlite3")
    server = start_hub(place, folder / "log")
    try:
        yield server
    finally:
        server.stop()


_numbers = itertools.count()


@pytest.fixture
def team(hub: HubServer) -> Client:
    """The admin of a team that nobody else uses."""
    return hub.team(f"team {next(_numbers)}")


@pytest.fixture
def join(hub: HubServer, team: Client) -> Callable[..., Client]:
    """Lets somebody else in."""
    return lambda name, role="writer", **options: hub.member(team, name, role, **options)
