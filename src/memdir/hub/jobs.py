"""Work for a team that takes minutes: one row a job, one lease a run, its effect and its end in one transaction.

Two workers never both finish a job: who lost the lease, because it took too long, finds that and leaves no trace.
"""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from memdir.hub.hub_database import HubDatabase, Row, Transaction
from memdir.hub.reply import told_time

KINDS = ("dream",)
LEASE_SECONDS = 3_600  # longer than a dream may take (its MAX_SECONDS); whoever needs more is taken for dead
MAX_ATTEMPTS = 3
STUCK_SECONDS = 7_200  # waiting longer than this, nobody works; running longer, somebody hangs
MAX_ERROR = 300

_ASK = (
    "insert into jobs (team, kind, state, created) values (?, ?, 'waiting', ?)"
    " on conflict (team, kind) where state = 'waiting' do nothing"
    " returning id, kind, state, attempts, created, leased_until, error"
)
_FAIL = "update jobs set state = 'failed', finished = ?, error = ? where state = 'running' and {}"
_NEXT = (
    "update jobs set state = 'running', attempts = attempts + 1, lease = ?, leased_until = ? where id ="
    " (select id from jobs where state = 'waiting' or (state = 'running' and leased_until < ? and attempts < ?)"
    " order by id limit 1 {skip_locked}) returning id, team"
)
_EXHAUSTED = _FAIL.format("leased_until < ? and attempts >= ?")
_DONE = "update jobs set state = 'done', finished = ? where id = ? and lease = ? and state = 'running' returning id"
_COLUMNS = "id, kind, state, attempts, created, leased_until, error from jobs"
JOBS_OF_TEAM = f"select {_COLUMNS} where team = ? order by id desc limit 50"
_WAITING = f"select {_COLUMNS} where team = ? and kind = ? and state = 'waiting'"
_PROPOSE = (
    "insert into proposals (team, job, op, key, base, content, reason, state, created, part_of)"
    " values (?, ?, ?, ?, ?, ?, ?, 'open', ?, ?) returning id"
)
_REPLACED = "update proposals set state = 'rejected', content = null, decided = ? where team = ? and state = 'open'"
OPEN = "select count(*), min(created) from jobs where state in ('waiting', 'running')"


@dataclass(frozen=True)
class LeasedJob:
    """One run of one job, by whoever holds its lease."""

    id: int
    team: str
    lease: str


@dataclass(frozen=True)
class ProposedChange:
    """A change that somebody has to accept."""

    op: Literal["put", "delete"]
    key: str
    base: str | None
    content: str | None
    reason: str
    together: str = ""  # changes with the same word here are one proposal


async def ask_for(database: Transaction, team: str, kind: str, now: int) -> tuple[Row, bool]:
    """The job that waits now, and whether it is new."""
    while True:
        if made := await database.run(_ASK, team, kind, now):
            return made[0], True
        if waiting := await database.run(_WAITING, team, kind):  # else a worker has just taken it
            return waiting[0], False


def told_job(row: Row, now: int) -> dict[str, object]:
    id_, kind, state, attempts, created, leased_until, error = row
    age = max(0, now - created) // 1000
    is_open = state in ("waiting", "running")
    is_stuck = is_open and (age > STUCK_SECONDS or (leased_until is not None and leased_until < now))
    told = {"id": id_, "kind": kind, "state": state, "attempts": attempts, "created": told_time(created)}
    return {**told, "ageSeconds": age, "stuck": is_stuck, "error": error}


async def take(database: HubDatabase, now: int, *, lease_seconds: float = LEASE_SECONDS) -> LeasedJob | None:
    """The next job, with a lease; one whose worker went away is taken again, a few times."""
    lease = secrets.token_hex(16)
    await database.run(_EXHAUSTED, now, "the worker went away each time", now, MAX_ATTEMPTS)
    until = now + int(lease_seconds * 1000)
    rows = await database.run(_NEXT.format(skip_locked=database.skip_locked), lease, until, now, MAX_ATTEMPTS)
    return LeasedJob(rows[0][0], rows[0][1], lease) if rows else None


async def finish(database: HubDatabase, job: LeasedJob, proposals: Sequence[ProposedChange], now: int) -> bool:
    """The job is done and its proposals are open, both or neither; False where another has the lease by now."""
    async with database.transaction() as held:
        if not await held.run(_DONE, now, job.id, job.lease):
            return False
        await held.run(_REPLACED, now, job.team)  # of an earlier night: they were made from what is old by now
        first: dict[str, int] = {}
        for one in proposals:
            values = (job.team, job.id, one.op, one.key, one.base, one.content, one.reason, now)
            ((made,),) = await held.run(_PROPOSE, *values, first.get(one.together or one.key))
            first.setdefault(one.together or one.key, made)
    return True


async def drop_proposals(database: Transaction, team: str, why: str, now: int) -> None:
    """A text was erased: what is proposed, or being dreamt right now, may be made of it."""
    await database.run(_FAIL.format("team = ?"), now, why[:MAX_ERROR], team)
    await database.run(_REPLACED, now, team)


async def fail(database: HubDatabase, job: LeasedJob, error: str, now: int) -> None:
    await database.run(_FAIL.format("id = ? and lease = ?"), now, error[:MAX_ERROR], job.id, job.lease)
