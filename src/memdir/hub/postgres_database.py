"""PostgreSQL: a pool of connections, one statement a request, NOTIFY for what other workers wrote (ADR 0068).

Behind a pooler in transaction mode nothing is prepared, and news need a URL of the server itself.
"""

from __future__ import annotations

import asyncio
import json
import zlib
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from functools import cached_property, lru_cache

import psycopg
from psycopg_pool import AsyncConnectionPool, PoolTimeout

from memdir.errors import MemdirError
from memdir.hub import hub_database as tables
from memdir.hub.hub_database import SQL, Applied, Asked, Author, Change, Changed, DatabaseBusy, Row, Together

LANES = 2  # transactions of changes on their way at once: more would carry fewer each
POOL_SIZE = 8  # connections of one worker: more would wait for the same processor
WAIT_SECONDS = 5.0  # for a free connection, and for a first one
LOOK_SECONDS = 0.5  # between looks where nothing can be listened to
CHANNEL = "memdir_hub"
MIGRATING = 7436_001  # the advisory lock of whoever changes the tables
_REMEDY = "Is PostgreSQL running, is the password in ~/.pgpass or PGPASSFILE, and may this user make tables there?"
# The server went away, shuts down, or is a replica by now: another connection may do better.
_GONE = (psycopg.OperationalError, psycopg.InterfaceError, psycopg.errors.ReadOnlySqlTransaction)


class Connection(psycopg.AsyncConnection[Row]):
    """A connection with one cursor: to make one for each statement costs as much as the statement."""

    @cached_property
    def asking(self) -> psycopg.AsyncCursor[Row]:
        return self.cursor()

    async def run(self, statement: str, *values: object) -> list[Row]:
        await self.asking.execute(_spelled(statement), values)
        return await self.asking.fetchall() if self.asking.description else []

    async def apply(self, author: Author, changes: Sequence[Change], at: int) -> Applied:
        return (await self.apply_all([(author, changes, at)]))[0]

    async def apply_all(self, asked: Sequence[Asked]) -> list[Applied]:
        given = [
            {"number": number, "team": author.team, "member": author.member, "token": author.token, "at": at}
            | {"changes": [{**change._asdict(), "folded": change.folded} for change in changes]}
            for number, (author, changes, at) in enumerate(asked)
        ]
        rows = sorted(await self.run(SQL["postgres_apply"], json.dumps(given)))  # by their numbers
        return [(answer["revision"], [Changed(*one) for one in answer["outcomes"]]) for _, answer in rows]


@lru_cache(1_024)
def _spelled(statement: str) -> bytes:
    """As psycopg wants it."""
    return statement.replace("%", "%%").replace("?", "%s").encode()


class PostgresDatabase:
    """The hub's tables on a server."""

    creates = True
    skip_locked = "for update skip locked"
    text_known = SQL["postgres_text_known"]

    def __init__(self, url: str, *, pooler: bool = False, listen: str = "") -> None:
        self._url = url
        self._listen_url = listen or ("" if pooler else url)
        self._pool = AsyncConnectionPool(
            url,
            connection_class=Connection,
            kwargs={"autocommit": True, "prepare_threshold": None if pooler else 2},
            min_size=2,
            max_size=POOL_SIZE,
            timeout=WAIT_SECONDS,
            open=False,
        )
        self._listening: psycopg.AsyncConnection[Row] | None = None
        self._changes = Together(self._apply_all)
        self._entries = Together(self._all_entries)
        self._revisions = Together(self._all_revisions)

    async def connect(self) -> None:
        try:
            async with await psycopg.AsyncConnection.connect(self._url, prepare_threshold=None) as connection:
                await self._migrate(connection)
        except psycopg.Error as error:  # also of rights, and of a database that is only read
            told = f"the hub's database cannot be used: {str(error).partition(chr(10))[0]}"
            raise MemdirError(told, remedy=_REMEDY) from None
        await self._pool.open(wait=True, timeout=WAIT_SECONDS)

    async def _migrate(self, connection: psycopg.AsyncConnection[Row]) -> None:
        """In one transaction under the lock: of two that start at once the second finds nothing to do."""
        await connection.execute("select pg_advisory_xact_lock(%s)", (MIGRATING,))
        await connection.execute(tables.MADE.encode())
        done = await (await connection.execute(tables.KNOWN.encode())).fetchall()
        known = (number for (number,) in done)
        for number, name, text in tables.missing_migrations("postgres", known, creates=self.creates):
            await connection.execute(text.encode())
            await connection.execute(_spelled(tables.DONE), (number, name))

    async def close(self) -> None:
        if self._listening is not None:
            await self._listening.close()
        await self._pool.close()

    @asynccontextmanager
    async def _connected(self) -> AsyncIterator[Connection]:
        try:
            connection = await self._pool.getconn()
        except PoolTimeout as error:
            raise DatabaseBusy(str(error)) from error
        try:
            yield connection
        except _GONE as error:
            await connection.close()
            raise DatabaseBusy(type(error).__name__, is_full=isinstance(error, psycopg.errors.DiskFull)) from error
        finally:
            await self._pool.putconn(connection)

    async def run(self, statement: str, *values: object) -> list[Row]:
        async with self._connected() as connection:
            return await connection.run(statement, *values)

    async def mark(self, statement: str, *values: object) -> None:
        with suppress(DatabaseBusy):  # a replica that is only read, for a moment
            await self.run(statement, *values)

    async def apply(self, author: Author, changes: Sequence[Change], at: int) -> Applied:
        """Whoever asks while others do shares a transaction with them, of whatever teams: a way to the server and to
        its disk costs more than a change. A team is always in the same lane: its writers would only wait there."""
        lane = str(zlib.crc32(author.team.encode()) % LANES)
        return await self._changes.ask(lane, (author, changes, at))

    async def _apply_all(self, _: str, asked: list[Asked]) -> list[Applied]:
        async with self._connected() as connection:
            return await connection.apply_all(asked)

    async def entry(self, team: str, key: str) -> Row | None:
        return await self._entries.ask("", (team, key))

    async def _all_entries(self, _: str, asked: list[tuple[str, str]]) -> list[Row | None]:
        teams, keys = zip(*asked, strict=True)
        rows = await self.run(SQL["postgres_entries"], list(teams), list(keys))
        return [row if row[1] is not None else None for row in rows]

    async def revision(self, team: str) -> Row:
        return await self._revisions.ask("", team)

    async def _all_revisions(self, _: str, teams: list[str]) -> list[Row]:
        return await self.run(SQL["postgres_revisions"], teams)

    @asynccontextmanager
    async def transaction(self) -> AsyncIterator[Connection]:
        async with self._connected() as connection, connection.transaction():
            yield connection

    async def news(self) -> list[str]:
        """Teams as NOTIFY names them; where the server went away, one looks for oneself until it is back."""
        try:
            if self._listening is not None:
                return [note.payload async for note in self._listening.notifies(timeout=LOOK_SECONDS, stop_after=1)]
            if self._listen_url:
                self._listening = await psycopg.AsyncConnection.connect(self._listen_url, autocommit=True)
                await self._listening.execute(f"listen {CHANNEL}".encode())
                return []
        except psycopg.Error:
            if self._listening is not None:
                await self._listening.close()
                self._listening = None
        await asyncio.sleep(LOOK_SECONDS)
        return []

    async def scrub(self) -> dict[str, str]:
        """The server's own vacuum does it, which would hold up a request for minutes."""
        return {}

    def figures(self) -> dict[str, float]:
        stats = self._pool.get_stats()
        return {f"database_{name}": float(stats.get(name, 0)) for name in ("pool_size", "pool_available")}
