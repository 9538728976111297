"""What the hub asks of a database: the same statements on SQLite and PostgreSQL, and one way to change entries.

Statements are written with `?` and take times as milliseconds. Nothing but calls of the transaction is awaited inside
`transaction()`: on SQLite it holds the one writer that there is.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, Protocol

from memdir.errors import MemdirError

Row = tuple[Any, ...]
Outcome = Literal["created", "changed", "same", "conflict", "missing", "cap", "same-name", "too-large", "purged"]


class DatabaseBusy(Exception):
    """The database cannot be reached, or another writer holds it: nothing can be said about the request's effect."""


class Change(NamedTuple):
    """One change of an entry, and the ETag it was made from; None: there is none yet."""

    op: Literal["put", "delete"]
    key: str
    condition: str | None
    etag: str | None
    content: str | None
    size: int
    saved: int
    reason: str = ""

    @property
    def folded(self) -> str:
        """What two keys have in common that cannot lie beside each other on every disk."""
        return self.key.casefold()


class Changed(NamedTuple):
    """What became of a change, and how the entry stands now."""

    key: str
    outcome: Outcome
    etag: str | None
    revision: int
    deleted: bool


@dataclass(frozen=True, slots=True)
class Author:
    """In whose name a team's entries are changed."""

    team: str
    member: str
    token: str | None = None


class Transaction(Protocol):
    """Statements that hold together."""

    async def run(self, statement: str, *values: object) -> list[Row]: ...

    async def apply(self, author: Author, changes: Sequence[Change], at: int) -> tuple[int, list[Changed]]: ...


class HubDatabase(Transaction, Protocol):
    """One database. Outside of `transaction()` each statement stands for itself."""

    skip_locked: str  # at the end of a statement that takes a row which nobody else has

    async def connect(self) -> None: ...

    async def close(self) -> None: ...

    async def entry(self, team: str, key: str) -> Row | None:
        """ETag, revision, whether it is deleted, author, time saved and text of one entry."""

    async def revision(self, team: str) -> Row:
        """Of a team, and the last one of the backup that it was restored from: what is asked for most."""
        ...

    def transaction(self) -> AbstractAsyncContextManager[Transaction]: ...

    async def news(self) -> list[str]:
        """Wait for the next teams that somebody changed; may return an empty list, to look for oneself."""

    async def scrub(self) -> None:
        """Something was erased: as far as that is ours to do, it stands in no file of the database from now on."""

    def figures(self) -> dict[str, float]:
        """How it stands, for the metrics."""


def open_database(place: str, *, pooler: bool = False, listen: str = "") -> HubDatabase:
    """The database that `place` names: a PostgreSQL URL, or the path of an SQLite file."""
    if place.startswith(("postgresql://", "postgres://")):
        try:
            from memdir.hub.postgres_database import PostgresDatabase
        except ImportError:
            raise MemdirError("the hub is not installed", remedy="pip install 'memdir[hub]'") from None
        return PostgresDatabase(place, pooler=pooler, listen=listen)
    from memdir.hub.sqlite_database import SqliteDatabase

    return SqliteDatabase(place.removeprefix("sqlite:///") if place.startswith("sqlite:///") else place)
