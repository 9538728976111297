"""Work for a team that takes minutes: one row a job, one lease a run, its effect and its end in one transaction.

Two workers never both finish a job: who lost the lease, because it took too long, finds that and leaves no trace.
"""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from memdir.hub.hub_database import SQL, HubDatabase, Row, Transaction
from memdir.hub.reply import told_time

KINDS = ("dream",)
LEASE_SECONDS = 3_600  # longer than a dream may take (its MAX_SECONDS); whoever needs more is taken for dead
MAX_ATTEMPTS = 3
STUCK_SECONDS = 7_200  # waiting longer than this, nobody works; running longer, somebody hangs
MAX_ERROR = 300


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
        if made := await database.run(SQL["job_asked_for"], team, kind, now):
            return made[0], True
        if waiting := await database.run(SQL["job_waiting"], team, kind):  # else a worker has just taken it
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
    await database.run(SQL["jobs_exhausted"], now, "the worker went away each time", now, MAX_ATTEMPTS)
    taken = SQL["job_taken"].format(skip_locked=database.skip_locked)
    rows = await database.run(taken, lease, now + int(lease_seconds * 1000), now, MAX_ATTEMPTS)
    return LeasedJob(rows[0][0], rows[0][1], lease) if rows else None


async def finish(database: HubDatabase, job: LeasedJob, proposals: Sequence[ProposedChange], now: int) -> bool:
    """The job is done and its proposals are open, both or neither; False where another has the lease by now."""
    async with database.transaction() as held:
        if not await held.run(SQL["job_done"], now, job.id, job.lease):
            return False
        await held.run(SQL["proposals_dropped"], now, job.team)  # of an earlier night, made from what is old by now
        first: dict[str, int] = {}
        for one in proposals:
            values = (job.team, job.id, one.op, one.key, one.base, one.content, one.reason, now)
            ((made,),) = await held.run(SQL["proposed"], *values, first.get(one.together or one.key))
            first.setdefault(one.together or one.key, made)
    return True


async def drop_proposals(database: Transaction, team: str, why: str, now: int) -> None:
    """A text was erased: what is proposed, or being dreamt right now, may be made of it."""
    await database.run(SQL["jobs_of_team_failed"], now, why[:MAX_ERROR], team)
    await database.run(SQL["proposals_dropped"], now, team)


async def fail(database: HubDatabase, job: LeasedJob, error: str, now: int) -> None:
    await database.run(SQL["job_failed"], now, error[:MAX_ERROR], job.id, job.lease)
