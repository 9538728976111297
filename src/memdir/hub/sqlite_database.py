"""The embedded database: one SQLite file, one connection, used where it stands: a thread beside would cost more CPU
than SQLite itself (ADR 0068). What is acknowledged is on the disk."""

from __future__ import annotations

import asyncio
import os
import sqlite3
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, closing

from memdir.disk.atomic import make_folder
from memdir.errors import MemdirError
from memdir.hub import migrations
from memdir.hub.hub_database import Author, Change, Changed, DatabaseBusy, Outcome, Row

BUSY_SECONDS = 5.0  # another process (`memdir hub admin`) writes for milliseconds
LOOK_SECONDS = 0.25  # between looks for what another process wrote

_TEAM = "select revision, live_entries, live_bytes, max_entries, max_entry_bytes, max_bytes from teams where id = ?"
_ENTRY = "select etag, rev, deleted, size from entries where team = ? and key = ?"
_SAME_NAME = "select 1 from entries where team = ? and folded = ? and deleted = 0"
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
        self._version = 0

    @property
    def _connection(self) -> sqlite3.Connection:
        assert self._found is not None, "the database is open"
        return self._found

    async def connect(self) -> None:
        make_folder(os.path.dirname(self.path))
        mask = os.umask(0o077)  # the texts of a team are not for everybody on this machine
        try:
            self._found = sqlite3.connect(self.path, timeout=BUSY_SECONDS, isolation_level=None)
            self._found.execute("pragma journal_mode = wal")
            self._migrate(self._found)
        except sqlite3.DatabaseError as error:
            told = f"the hub's database {self.path} cannot be opened: {error}"
            raise MemdirError(told, remedy="Name another with --database, or bring back a backup") from None
        finally:
            os.umask(mask)
        self._found.execute("pragma synchronous = full")
        self._found.execute("pragma foreign_keys = on")

    @staticmethod
    def _migrate(connection: sqlite3.Connection) -> None:
        connection.execute("begin immediate")
        with connection:
            connection.execute(migrations.MADE)
            done = [number for (number,) in connection.execute(migrations.KNOWN)]
            for number, name, text in migrations.missing("sqlite", done):
                for statement in text.split(";\n"):
                    connection.execute(statement)
                connection.execute(migrations.DONE, (number, name))

    async def close(self) -> None:
        if self._found is not None:
            self._found.close()
            self._found = None

    async def run(self, statement: str, *values: object) -> list[Row]:
        try:
            return self._connection.execute(statement, values).fetchall()
        except sqlite3.OperationalError as error:
            raise DatabaseBusy(str(error)) from error

    @asynccontextmanager
    async def transaction(self) -> AsyncIterator[SqliteDatabase]:
        if self._connection.in_transaction:
            yield self  # part of a larger one
            return
        try:
            self._connection.execute("begin immediate")
        except sqlite3.OperationalError as error:
            raise DatabaseBusy(str(error)) from error
        with self._connection:
            yield self

    async def apply(self, author: Author, changes: Sequence[Change], at: int) -> tuple[int, list[Changed]]:
        async with self.transaction():
            return self._apply(author, changes, at)

    def _apply(self, author: Author, changes: Sequence[Change], at: int) -> tuple[int, list[Changed]]:
        """As hub_apply of PostgreSQL: each change is judged by itself."""
        run = self._connection.execute
        revision, entries, total, *limits = run(_TEAM, (author.team,)).fetchone()
        begun, answers = revision, []
        for change in changes:
            found = run(_ENTRY, (author.team, change.key)).fetchone()
            is_live = found is not None and not found[2]
            etag, rev, deleted, size = found or (None, 0, 0, 0)
            old_size = size if is_live else 0
            outcome = _judged(change, etag if is_live else None, is_live=is_live, is_known=found is not None)
            if outcome in ("created", "changed") and change.op == "put":
                outcome = _within(change, outcome, entries, total - old_size, limits)
                if outcome == "created" and run(_SAME_NAME, (author.team, change.folded)).fetchone():
                    outcome = "same-name"
            if outcome in ("created", "changed"):
                revision += 1
                entries += (change.op == "put") - is_live
                total += change.size - old_size
                etag, rev, deleted = change.etag, revision, int(change.op == "delete")
                self._write(author, change, revision, at)
            answers.append(Changed(change.key, outcome, etag, rev, bool(deleted)))
        if revision > begun:
            run(_COUNT, (revision, entries, total, author.team))
        return revision, answers

    def _write(self, author: Author, change: Change, revision: int, at: int) -> None:
        key, etag, size, saved, reason = change.key, change.etag, change.size, change.saved, change.reason
        who = (author.member, author.token, saved, at, reason)
        self._connection.execute(_VERSION, (author.team, revision, key, change.op, etag, size, change.content, *who))
        deleted = int(change.op == "delete")
        entry = (author.team, key, change.folded, revision, etag, size, deleted, reason, author.member, saved, at)
        self._connection.execute(_WRITE, entry)

    async def news(self) -> list[str]:
        """What this process wrote is known to it; another's is seen by a number that SQLite keeps."""
        await asyncio.sleep(LOOK_SECONDS)
        return []

    def figures(self) -> dict[str, float]:
        return {"database_bytes": float(os.path.getsize(self.path))}

    def back_up(self, path: str) -> None:
        """A copy as of now, beside whoever writes."""
        with closing(sqlite3.connect(path)) as copy:
            self._connection.backup(copy)


def _judged(change: Change, live_etag: str | None, *, is_live: bool, is_known: bool) -> Outcome:
    if change.op == "delete" and not is_live:
        return "same" if is_known else "missing"
    if is_live and change.op == "put" and live_etag == change.etag:
        return "same"
    if live_etag != change.condition:
        return "conflict"
    return "changed" if is_live else "created"


def _within(change: Change, outcome: Outcome, entries: int, others_bytes: int, limits: Sequence[int]) -> Outcome:
    max_entries, max_entry_bytes, max_bytes = limits
    if change.size > max_entry_bytes:
        return "too-large"
    if (outcome == "created" and entries >= max_entries) or others_bytes + change.size > max_bytes:
        return "cap"
    return outcome
