"""The embedded database: one SQLite file, one connection, used where it stands: a thread beside would cost more CPU
than SQLite itself (ADR 0068). What is acknowledged is on the disk."""

from __future__ import annotations

import asyncio
import json
import os
import sqlite3
import time
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager, closing, contextmanager

from memdir.disk.atomic import make_folder
from memdir.errors import MemdirError
from memdir.hub import hub_database as tables
from memdir.hub.hub_database import Author, Change, Changed, DatabaseBusy, Outcome, Row, Together

BUSY_SECONDS = 5.0  # another process (`memdir hub admin`) writes for milliseconds
AGAIN_SECONDS = 0.01  # between looks whether it has done so
GATHER_SECONDS = 0.001  # so long a change waits for others to share its way to the disk, which takes longer
Asked = tuple[Author, Sequence[Change], int]
Applied = tuple[int, list[Changed]]
LOOK_SECONDS = 0.25  # between looks for what another process wrote

_TEAM = "select revision, live_entries, live_bytes, max_entries, max_entry_bytes, max_bytes from teams where id = ?"
_ENTRY = (
    "select e.etag, e.rev, e.deleted, e.member, e.saved, v.content from entries e"
    " left join versions v on v.team = e.team and v.rev = e.rev where e.team = ? and e.key = ?"
)
_ENTRIES = (
    "select key, etag, rev, deleted, size from entries where team = ? and key in (select value from json_each(?))"
)
_SAME_NAMES = "select folded from entries where team = ? and deleted = 0 and folded in (select value from json_each(?))"
_PURGED = (
    "select key, etag from versions where team = ? and key in (select value from json_each(?)) and reason = 'purged'"
)
_VERSION = (
    "insert into versions (team, rev, key, op, etag, size, content, member, token, saved, changed, reason)"
    " values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
)
_WRITE = (
    "insert into entries (team, key, folded, rev, etag, size, deleted, reason, member, saved, changed)"
    " values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) on conflict (team, key) do update set rev = excluded.rev,"
    " etag = excluded.etag, size = excluded.size, deleted = excluded.deleted, reason = excluded.reason,"
    " member = excluded.member, saved = excluded.saved, changed = excluded.changed"
)
_COUNT = "update teams set revision = ?, live_entries = ?, live_bytes = ? where id = ?"


class SqliteDatabase:
    """The hub's tables in one file."""

    skip_locked = ""  # there is one writer at a time anyway

    def __init__(self, path: str) -> None:
        self.path = os.path.abspath(path)
        self._found: sqlite3.Connection | None = None
        self._changes = Together(self._apply_all, gather_seconds=GATHER_SECONDS)

    @property
    def _connection(self) -> sqlite3.Connection:
        assert self._found is not None, "the database is open"
        return self._found

    async def connect(self) -> None:
        make_folder(os.path.dirname(self.path))
        try:
            with _for_us_alone():
                self._found = sqlite3.connect(self.path, timeout=BUSY_SECONDS, isolation_level=None)
                self._found.execute("pragma page_size = 16384")  # seven texts of two kilobytes a page, not one
                self._found.execute("pragma journal_mode = wal")
                self._migrate(self._found)
        except sqlite3.DatabaseError as error:
            told = f"the hub's database {self.path} cannot be opened: {error}"
            raise MemdirError(told, remedy="Name another with --database, or bring back a backup") from None
        self._found.execute("pragma busy_timeout = 0")  # from now on nobody waits inside the database: `run`
        self._found.execute("pragma secure_delete = on")  # what is erased is overwritten
        self._found.execute("pragma synchronous = full")
        self._found.execute("pragma foreign_keys = on")

    @staticmethod
    def _migrate(connection: sqlite3.Connection) -> None:
        connection.execute("begin immediate")
        with connection:
            connection.execute(tables.MADE)
            done = [number for (number,) in connection.execute(tables.KNOWN)]
            for number, name, text in tables.missing_migrations("sqlite", done):
                for statement in text.split(";\n"):
                    connection.execute(statement)
                connection.execute(tables.DONE, (number, name))

    async def close(self) -> None:
        if self._found is not None:
            self._found.close()
            self._found = None

    async def run(self, statement: str, *values: object) -> list[Row]:
        """While another process writes, everybody else is answered: who has to wait does so outside of SQLite."""
        until = time.monotonic() + BUSY_SECONDS
        while True:
            try:
                return self._connection.execute(statement, values).fetchall()
            except sqlite3.OperationalError as error:
                is_held = error.sqlite_errorcode & 0xFF == sqlite3.SQLITE_BUSY and not self._connection.in_transaction
                if not is_held or time.monotonic() > until:
                    raise DatabaseBusy(str(error)) from error
            await asyncio.sleep(AGAIN_SECONDS)

    @asynccontextmanager
    async def transaction(self) -> AsyncIterator[SqliteDatabase]:
        if self._connection.in_transaction:
            yield self  # part of a larger one
            return
        await self.run("begin immediate")
        with self._connection:
            yield self

    async def revision(self, team: str) -> Row:
        return (await self.run("select revision, restored from teams where id = ?", team))[0]

    async def entry(self, team: str, key: str) -> Row | None:
        rows = await self.run(_ENTRY, team, key)
        return rows[0] if rows else None

    async def apply(self, author: Author, changes: Sequence[Change], at: int) -> tuple[int, list[Changed]]:
        """Whoever asks while others do shares one transaction with them: to reach the disk costs more than all else."""
        if self._connection.in_transaction:
            return self._apply(author.team, [(author, changes, at)])[0]
        return await self._changes.ask("", (author, changes, at))

    async def _apply_all(self, _: str, asked: list[Asked]) -> list[Applied]:
        of_team: dict[str, list[Asked]] = {}
        for one in asked:
            of_team.setdefault(one[0].team, []).append(one)
        try:
            async with self.transaction():
                done = {team: iter(self._apply(team, some)) for team, some in of_team.items()}
        except sqlite3.OperationalError as error:
            raise DatabaseBusy(str(error)) from error
        return [next(done[author.team]) for author, _, _ in asked]

    def _apply(self, team: str, asked: Sequence[Asked]) -> list[Applied]:
        """As hub_apply of PostgreSQL: each change is judged by itself."""
        rows = self._connection.execute(_TEAM, (team,)).fetchall()
        if not rows:
            raise LookupError("the team is gone")
        state = _Team(*rows[0])
        keys = [change.key for _, changes, _ in asked for change in changes]
        state.known = {row[0]: row[1:] for row in self._connection.execute(_ENTRIES, (team, json.dumps(keys)))}
        state.purged = set(self._connection.execute(_PURGED, (team, json.dumps(keys))))
        new = [key.casefold() for key in keys if key not in state.known or state.known[key][2]]
        if new:
            state.taken = {name for (name,) in self._connection.execute(_SAME_NAMES, (team, json.dumps(new)))}
        answers = [(state.apply(author, changes, at), state.revision) for author, changes, at in asked]
        if state.versions:
            self._connection.executemany(_VERSION, state.versions)
            self._connection.executemany(_WRITE, state.entries)
            self._connection.execute(_COUNT, (state.revision, state.live_entries, state.live_bytes, team))
        return [(revision, done) for done, revision in answers]

    async def news(self) -> list[str]:
        """What this process wrote is known to it; another's is seen by a number that SQLite keeps."""
        await asyncio.sleep(LOOK_SECONDS)
        return []

    async def scrub(self) -> None:
        """What was overwritten stands in the log of writes until that is emptied; who reads an older state holds it."""
        until = time.monotonic() + BUSY_SECONDS
        while (await self.run("pragma wal_checkpoint(truncate)"))[0][0] and time.monotonic() < until:
            await asyncio.sleep(AGAIN_SECONDS)

    def figures(self) -> dict[str, float]:
        return {"database_bytes": float(os.path.getsize(self.path))}

    def back_up(self, path: str) -> None:
        """A copy as of now, beside whoever writes."""
        with _for_us_alone(), closing(sqlite3.connect(path)) as copy:
            self._connection.backup(copy)


@contextmanager
def _for_us_alone() -> Iterator[None]:
    """Files made here are 0600: the texts of a team are not for everybody on this machine."""
    mask = os.umask(0o077)
    try:
        yield
    finally:
        os.umask(mask)


class _Team:
    """A team while changes are applied to it, and what has to be written at the end."""

    def __init__(self, revision: int, live_entries: int, live_bytes: int, *limits: int) -> None:
        self.revision = revision
        self.live_entries = live_entries
        self.live_bytes = live_bytes
        self._max_entries, self._max_entry_bytes, self._max_bytes = limits
        self.known: dict[str, tuple[str | None, int, int, int]] = {}  # ETag, revision, whether deleted, size
        self.purged: set[Row] = set()  # keys, and the ETags that they may not have again
        self.taken: set[str] = set()  # folded keys that live
        self.versions: list[Row] = []
        self.entries: list[Row] = []

    def apply(self, author: Author, changes: Sequence[Change], at: int) -> list[Changed]:
        answers = []
        for change in changes:
            etag, revision, deleted, size = self.known.get(change.key, (None, 0, 1, 0))
            outcome = _judged(change, None if deleted else etag, is_live=not deleted, is_known=change.key in self.known)
            if change.op == "put" and outcome in ("created", "changed"):
                outcome = self._within(change, outcome, 0 if deleted else size)
            if outcome in ("created", "changed"):
                self._write(author, change, at, is_live=not deleted, old_size=0 if deleted else size)
                etag, revision, deleted, _ = self.known[change.key]
            answers.append(Changed(change.key, outcome, etag, revision, bool(deleted and change.key in self.known)))
        return answers

    def _within(self, change: Change, outcome: Outcome, old_size: int) -> Outcome:
        if (change.key, change.etag) in self.purged:
            return "purged"
        if change.size > self._max_entry_bytes:
            return "too-large"
        is_full = outcome == "created" and self.live_entries >= self._max_entries
        if is_full or self.live_bytes - old_size + change.size > self._max_bytes:
            return "cap"
        return "same-name" if outcome == "created" and change.folded in self.taken else outcome

    def _write(self, author: Author, change: Change, at: int, *, is_live: bool, old_size: int) -> None:
        is_put, folded = change.op == "put", change.folded
        self.revision += 1
        self.live_entries += is_put - is_live
        self.live_bytes += change.size - old_size
        (self.taken.add if is_put else self.taken.discard)(folded)
        self.known[change.key] = (change.etag, self.revision, int(not is_put), change.size)
        key, etag, size, saved, reason = change.key, change.etag, change.size, change.saved, change.reason
        at_revision, who = (author.team, self.revision), author.member
        text = (change.content, who, author.token)
        self.versions.append((*at_revision, key, change.op, etag, size, *text, saved, at, reason))
        entry = (author.team, key, folded, self.revision, etag, size, int(not is_put), reason, who, saved, at)
        self.entries.append(entry)


def _judged(change: Change, live_etag: str | None, *, is_live: bool, is_known: bool) -> Outcome:
    if change.op == "delete" and not is_live:
        return "same" if is_known else "missing"
    if is_live and change.op == "put" and live_etag == change.etag:
        return "same"
    if live_etag != change.condition:
        return "conflict"
    return "changed" if is_live else "created"
