"""The embedded database: one SQLite file, one connection, used where it stands: a thread beside would cost more CPU
than SQLite itself (ADR 0068). What is acknowledged is on the disk."""

from __future__ import annotations

import asyncio
import json
import os
import sqlite3
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import ExitStack, asynccontextmanager, closing, suppress

from memdir.disk.atomic import make_folder
from memdir.errors import MemdirError
from memdir.hub import hub_database as tables
from memdir.hub.hub_database import SQL, Applied, Asked, Author, Change, Changed, DatabaseBusy, Outcome, Row, Together

BUSY_SECONDS = 5.0  # another process (`memdir hub admin`) writes for milliseconds
AGAIN_SECONDS = 0.01  # between looks whether it has done so
GATHER_SECONDS = 0.001  # so long a change waits for others to share its way to the disk, which takes longer
LOOK_SECONDS = 0.25  # between looks for what another process wrote
EMPTY_SECONDS = 60.0  # between times that the log of writes is emptied: another process may have erased something
HELD = "another process reads the database file: what was erased stands in the log of writes until that has ended"
MOST_LATEST = 400  # texts of those that a page of 16 KiB tells of, so that there is room for a moment's more
SIGNS = 8  # of a digest tell it from nearly all others, of whatever team
NOTHING = (None, 0, 0)  # how an entry stands that never was


class SqliteDatabase:
    """The hub's tables in one file."""

    creates = True
    skip_locked = ""  # there is one writer at a time anyway
    text_known = SQL["sqlite_text_known"]

    _connection: sqlite3.Connection  # from `connect` on
    _empty_at = 0.0
    _latest = MOST_LATEST + 1  # for all that is known

    def __init__(self, path: str) -> None:
        self.path = os.path.abspath(path)
        self._changes = Together(self._apply_all, gather_seconds=GATHER_SECONDS)

    async def connect(self) -> None:
        make_folder(os.path.dirname(self.path))
        try:
            with ExitStack() as until_ready:
                self._connection = sqlite3.connect(self.path, timeout=BUSY_SECONDS, isolation_level=None)
                until_ready.callback(self._connection.close)  # one that is of a newer version, or damaged, is let go
                _keep_private(self.path)
                self._connection.execute("pragma page_size = 16384")  # seven texts of two kilobytes a page, not one
                self._connection.execute("pragma journal_mode = wal")
                self._migrate(self._connection)
                until_ready.pop_all()
        except (OSError, sqlite3.DatabaseError) as error:
            told = f"the hub's database {self.path} cannot be opened: {error}"
            raise MemdirError(told, remedy="Name another with --database, or bring back a backup") from None
        self._connection.execute("pragma busy_timeout = 0")  # from now on nobody waits inside the database: `run`
        self._connection.execute("pragma secure_delete = on")  # what is erased is overwritten
        self._connection.execute("pragma synchronous = full")
        self._connection.execute("pragma cache_size = -16384")  # in KiB: what several batches write is written once
        self._connection.execute("pragma foreign_keys = on")

    def _migrate(self, connection: sqlite3.Connection) -> None:
        connection.execute("begin immediate")
        with connection:
            connection.execute(tables.MADE)
            done = [number for (number,) in connection.execute(tables.KNOWN)]
            for number, name, text in tables.missing_migrations("sqlite", done, creates=self.creates):
                for statement in text.split(";\n"):
                    connection.execute(statement)
                connection.execute(tables.DONE, (number, name))

    async def close(self) -> None:
        self._connection.close()

    async def run(self, statement: str, *values: object) -> list[Row]:
        """While another process writes, everybody else is answered: who has to wait does so outside of SQLite."""
        until = time.monotonic() + BUSY_SECONDS
        while True:
            try:
                return self._connection.execute(statement, values).fetchall()
            except sqlite3.OperationalError as error:
                is_held = error.sqlite_errorcode & 0xFF == sqlite3.SQLITE_BUSY and not self._connection.in_transaction
                if not is_held or time.monotonic() > until:
                    raise DatabaseBusy(str(error), is_full=error.sqlite_errorcode == sqlite3.SQLITE_FULL) from error
            await asyncio.sleep(AGAIN_SECONDS)

    async def mark(self, statement: str, *values: object) -> None:
        with suppress(sqlite3.OperationalError):
            self._connection.execute(statement, values)

    @asynccontextmanager
    async def transaction(self) -> AsyncIterator[SqliteDatabase]:
        if self._connection.in_transaction:
            yield self  # part of a larger one
            return
        await self.run("begin immediate")
        try:
            with self._connection:
                yield self
        except sqlite3.OperationalError as error:  # a full disk, which is often found out at the end
            raise DatabaseBusy(str(error), is_full=error.sqlite_errorcode == sqlite3.SQLITE_FULL) from error

    async def revision(self, team: str) -> Row:
        return (await self.run(SQL["sqlite_revision"], team))[0]

    async def entry(self, team: str, key: str) -> Row | None:
        return next(iter(await self.run(SQL["sqlite_entry"], team, key)), None)

    async def apply(self, author: Author, changes: Sequence[Change], at: int) -> Applied:
        """Whoever asks while others do shares one transaction with them: to reach the disk costs more than all else."""
        if self._connection.in_transaction:
            return self._apply([(author, changes, at)])[0]
        return await self._changes.ask("", (author, changes, at))

    async def _apply_all(self, _: str, asked: list[Asked]) -> list[Applied]:
        async with self.transaction():
            return self._apply(asked)

    def _apply(self, asked: Sequence[Asked]) -> list[Applied]:
        """As hub_apply of PostgreSQL: each change is judged by itself."""
        run, keys, texts = self._connection.execute, dict[str, list[str]](), dict[str, list[str]]()
        for author, changes, _ in asked:
            named, sent = keys.setdefault(author.team, []), texts.setdefault(author.team, [])
            for change in changes:
                named.append(change.key)
                if change.etag:
                    sent.append(change.etag[:SIGNS])
        given = json.dumps(keys)
        teams = {team: _Team(*row) for team, *row in run(SQL["sqlite_teams"], (given,))}
        for team, key, etag, revision, size in run(SQL["sqlite_entries"], (given,)):
            teams[team].known[key] = (etag, revision, size)
        for _, team, etag, member, reason in sorted(run(SQL["sqlite_texts_sent"], (json.dumps(texts),)), reverse=True):
            teams[team].authors[etag] = member  # in the end, of whoever sent it first
            teams[team].purged |= {etag} if reason == "purged" else set()
        for team, some in keys.items():
            new = {key: key.casefold() for key in some if teams[team].known.get(key, NOTHING)[0] is None}
            if new:
                others = [name for key, name in new.items() if name != key]
                taken = run(SQL["sqlite_names_taken"], (team, json.dumps(list(new.values())), json.dumps(others)))
                teams[team].taken.update(name for (name,) in taken)
        answers = [teams[author.team].apply(author, changes, at) for author, changes, at in asked]
        write, made = self._connection.executemany, [row for team in teams.values() for row in team.texts]
        self._latest += len(made)
        write(SQL["sqlite_text_made"], made)
        write(SQL["sqlite_version_made"], [row for team in teams.values() for row in team.versions])
        write(SQL["sqlite_entry_written"], [row for team in teams.values() for row in team.entries])
        counted = [(one.revision, one.live_entries, one.live_bytes, team) for team, one in teams.items() if one.entries]
        write(SQL["sqlite_team_counted"], counted)
        return answers

    async def news(self) -> list[str]:
        """What this process wrote is known to it; another's is seen by a number that SQLite keeps."""
        await asyncio.sleep(LOOK_SECONDS)
        with suppress(DatabaseBusy):
            if self._latest > MOST_LATEST:
                await self._settle()
            if time.monotonic() > self._empty_at:
                await self._empty_log()
        return []

    async def _settle(self) -> None:
        """The latest texts go among the rest, as long as there is room for those to come on one page."""
        async with self.transaction() as held:
            await held.run(SQL["sqlite_texts_settled"])
            await held.run(SQL["sqlite_texts_moved"])
        self._latest = 0

    async def scrub(self) -> dict[str, str]:
        """What was overwritten stands in the log of writes until that is emptied; who reads an older state holds it."""
        until = time.monotonic() + BUSY_SECONDS
        while not await self._empty_log():
            if time.monotonic() > until:
                return {"warning": HELD}
            await asyncio.sleep(AGAIN_SECONDS)
        return {}

    async def _empty_log(self) -> bool:
        is_held = (await self.run("pragma wal_checkpoint(truncate)"))[0][0]
        self._empty_at = 0.0 if is_held else time.monotonic() + EMPTY_SECONDS
        return not is_held

    def figures(self) -> dict[str, float]:
        return {"database_bytes": float(os.path.getsize(self.path))}

    def back_up(self, path: str) -> None:
        """A copy as of now, beside whoever writes."""
        with closing(sqlite3.connect(path)) as copy:
            _keep_private(path)
            self._connection.backup(copy)


def _keep_private(path: str) -> None:
    """A new file becomes 0600, and SQLite makes those beside it alike: the texts of a team are not for everybody."""
    if not os.path.getsize(path):
        os.chmod(path, 0o600)


class _Team:
    """A team while changes are applied to it, and what has to be written at the end."""

    def __init__(self, revision: int, live_entries: int, live_bytes: int, *limits: int) -> None:
        self.revision = revision
        self.live_entries = live_entries
        self.live_bytes = live_bytes
        self._max_entries, self._max_entry_bytes, self._max_bytes = limits
        self.known: dict[str, tuple[str | None, int, int]] = {}  # ETag (None: it was deleted), revision, size
        self.authors: dict[str, str] = {}  # who sent a text first, by its ETag
        self.purged: set[str] = set()  # ETags of texts that may not come again
        self.taken: set[str] = set()  # folded keys that live
        self.texts: list[Row] = []
        self.versions: list[Row] = []
        self.entries: list[Row] = []

    def apply(self, author: Author, changes: Sequence[Change], at: int) -> Applied:
        answers = []
        for change in changes:
            etag, revision, size = self.known.get(change.key, NOTHING)
            outcome = self._judged(change, etag, size)
            if outcome in ("created", "changed"):
                self._write(author, change, at, is_live=etag is not None, old_size=size)
                etag, revision = change.etag, self.revision
            is_deleted = etag is None and change.key in self.known
            answers.append(Changed(change.key, outcome, etag, revision, is_deleted))
        return self.revision, answers

    def _judged(self, change: Change, etag: str | None, old_size: int) -> Outcome:
        if change.op == "delete" and etag is None:
            return "same" if change.key in self.known else "missing"
        if change.op == "put" and etag == change.etag:
            return "same"
        if etag != change.condition:
            return "conflict"
        if change.op == "put" and (fault := self._fault(change, is_new=etag is None, old_size=old_size)):
            return fault
        return "created" if etag is None else "changed"

    def _fault(self, change: Change, *, is_new: bool, old_size: int) -> Outcome | None:
        """Why the team cannot take in this text."""
        if change.etag in self.purged:
            return "purged"
        if change.size > self._max_entry_bytes:
            return "too-large"
        is_full = is_new and self.live_entries >= self._max_entries
        if is_full or self.live_bytes - old_size + change.size > self._max_bytes:
            return "cap"
        return "same-name" if is_new and change.folded in self.taken else None

    def _write(self, author: Author, change: Change, at: int, *, is_live: bool, old_size: int) -> None:
        op, key, _, etag, content, size, saved, reason = change
        is_put, folded, team, who = op == "put", change.folded, author.team, author.member
        self.revision += 1
        self.live_entries += is_put - is_live
        self.live_bytes += size - old_size
        (self.taken.add if is_put else self.taken.discard)(folded)
        self.known[key] = (etag, self.revision, size)
        self.versions.append((team, self.revision, key, op, etag, size, content, who, author.token, saved, at, reason))
        if etag:
            self.texts.append((etag[:SIGNS], self.revision))
            who = self.authors.setdefault(etag, who)  # whoever sends it again (ADR 0082)
        self.entries.append((team, key, folded, self.revision, etag, size, int(not is_put), reason, who, saved, at))
