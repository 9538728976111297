"""What the hub asks of a database: the same statements on SQLite and PostgreSQL, and one way to change entries.

Statements are written with `?` and take times as milliseconds. Nothing but calls of the transaction is awaited inside
`transaction()`: on SQLite it holds the one writer that there is.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Callable, Iterable, Sequence
from contextlib import AbstractAsyncContextManager
from typing import Any, Generic, Literal, NamedTuple, Protocol, TypeVar

from memdir.disk.shipped import shipped_path, shipped_text
from memdir.errors import MemdirError, UsageError

MOST_TOGETHER = 64
NO_HUB = "Is --database right? `memdir hub serve` and `memdir hub admin add-team` make a new one"
# Numbered SQL files are applied once and in order, by whoever holds the database's lock (ADR 0068).
MADE = "create table if not exists hub_migrations (number integer primary key, name text not null)"
KNOWN = "select number from hub_migrations order by number"
DONE = "insert into hub_migrations (number, name) values (?, ?)"


def _statements() -> dict[str, str]:
    """By their names; a line that begins with `--` is for whoever reads the file."""
    named = (part.partition("\n") for part in shipped_text("hub/statements.sql").split("\n-- name: ")[1:])
    return {name: " ".join(line for line in text.split("\n") if line[:2] != "--") for name, _, text in named}


SQL = _statements()
Row = tuple[Any, ...]
Q = TypeVar("Q")
A = TypeVar("A")
Outcome = Literal["created", "changed", "same", "conflict", "missing", "cap", "same-name", "too-large", "purged"]


class DatabaseBusy(Exception):
    """The database cannot be reached, or another writer holds it: nothing can be said about the request's effect."""

    def __init__(self, message: str, *, is_full: bool = False) -> None:
        super().__init__(message)
        self.is_full = is_full  # its disk


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


class Author(NamedTuple):
    """In whose name a team's entries are changed."""

    team: str
    member: str
    token: str | None = None


Asked = tuple[Author, Sequence[Change], int]  # changes in somebody's name, and when
Applied = tuple[int, list[Changed]]  # the team's revision after them


class Transaction(Protocol):
    """Statements that hold together."""

    async def run(self, statement: str, *values: object) -> list[Row]: ...

    async def apply(self, author: Author, changes: Sequence[Change], at: int) -> Applied: ...


class HubDatabase(Transaction, Protocol):
    """One database. Outside of `transaction()` each statement stands for itself."""

    creates: bool  # whether one that is empty becomes a hub's
    skip_locked: str  # at the end of a statement that takes a row which nobody else has
    text_known: str  # the statement that says whether a team had the text of an ETag

    async def connect(self) -> None: ...

    async def close(self) -> None: ...

    async def mark(self, statement: str, *values: object) -> None:
        """As `run`, for what may be left undone: nobody waits for it where the database is busy."""

    async def entry(self, team: str, key: str) -> Row | None:
        """ETag, revision, whether it is deleted, author, time saved and text of one entry."""

    async def revision(self, team: str) -> Row:
        """Of a team, and that from which it went on when it was restored, and the key of its seals."""
        ...

    def transaction(self) -> AbstractAsyncContextManager[Transaction]: ...

    async def news(self) -> list[str]:
        """Wait for the next teams that somebody changed; may return an empty list, to look for oneself."""

    async def scrub(self) -> dict[str, str]:
        """Something was erased: as far as that is ours to do, it stands in no file of the database from now on; where
        somebody keeps us from it, a `warning` says so."""
        ...

    def figures(self) -> dict[str, float]:
        """How it stands, for the metrics."""


def open_database(place: str, *, pooler: bool = False, listen: str = "") -> HubDatabase:
    """The database that `place` names: a PostgreSQL URL, or the path of an SQLite file."""
    if place.startswith(("postgresql://", "postgres://")):
        from memdir.hub.postgres_database import PostgresDatabase

        return PostgresDatabase(place, pooler=pooler, listen=listen)
    from memdir.hub.sqlite_database import SqliteDatabase

    return SqliteDatabase(place.removeprefix("sqlite:///"))


def missing_migrations(engine: str, done: Iterable[int], *, creates: bool) -> list[tuple[int, str, str]]:
    """What is still to be applied: number, name and text of each."""
    folder = f"hub/migrations/{engine}"
    known = {int(name[:4]): name for name in sorted(os.listdir(shipped_path(folder))) if name.endswith(".sql")}
    applied = set(done)
    if not applied and not creates:
        raise UsageError("there is no hub in that database", remedy=NO_HUB)
    if strange := applied - known.keys():
        told = f"the hub's database was made by a newer memdir (step {max(strange)} is not known here)"
        raise MemdirError(told, remedy="Install that version, or a newer one")
    return [(number, name, shipped_text(f"{folder}/{name}")) for number, name in known.items() if number not in applied]


class Together(Generic[Q, A]):
    """What several ask for while the last answer is on its way is asked for at once: a round trip costs more than a
    row. One question at a time for each group; `ask_all` answers a list of them in its order. With `gather_seconds` a
    question waits so long for others before it is asked."""

    def __init__(self, ask_all: Callable[[str, list[Q]], Awaitable[list[A]]], *, gather_seconds: float = 0.0) -> None:
        self._ask_all = ask_all
        self._gather_seconds = gather_seconds
        self._waiting: dict[str, list[tuple[Q, asyncio.Future[A]]]] = {}
        self._running: dict[str, asyncio.Task[None]] = {}

    async def ask(self, group: str, question: Q) -> A:
        answered: asyncio.Future[A] = asyncio.get_running_loop().create_future()
        self._waiting.setdefault(group, []).append((question, answered))
        if group not in self._running:
            self._running[group] = asyncio.create_task(self._serve(group))
        return await answered

    async def _serve(self, group: str) -> None:
        waiting: list[tuple[Q, asyncio.Future[A]]] = []
        try:
            if self._gather_seconds:
                await asyncio.sleep(self._gather_seconds)
            while waiting := self._waiting[group][:MOST_TOGETHER]:
                self._waiting[group] = self._waiting[group][MOST_TOGETHER:]
                answers = await self._ask_all(group, [question for question, _ in waiting])
                for (_, answered), answer in zip(waiting, answers, strict=True):
                    if not answered.done():
                        answered.set_result(answer)
        except DatabaseBusy as error:
            for _, answered in waiting:
                if not answered.done():
                    answered.set_exception(error)
        finally:
            for _, answered in waiting:
                answered.cancel()  # something else went wrong, which the log tells: nobody waits for ever
            del self._running[group]
            if self._waiting[group]:
                self._running[group] = asyncio.create_task(self._serve(group))  # who asked meanwhile
            else:
                del self._waiting[group]
