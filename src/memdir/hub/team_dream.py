"""A dream over a team's entries, in a folder that is thrown away: what it would change is proposed, nothing is written.

The built-in model does it unless the machine's settings name another. A member accepts or rejects each change.
"""

from __future__ import annotations

import asyncio
import os
import tempfile
from collections.abc import Callable

from memdir.disk.atomic import make_folder, write_bytes_atomic
from memdir.disk.safe_path import is_index, resolve_key
from memdir.dream.dream import DreamReport, DreamTask
from memdir.errors import MemdirError
from memdir.hub.hub_database import HubDatabase, Row
from memdir.hub.jobs import ProposedChange, ask_for, fail, finish, take
from memdir.memdir import open_memory
from memdir.share.remote import digest_of

_CHANGED = (
    "select t.id from teams t where exists (select 1 from entries e where e.team = t.id and e.changed >"
    " coalesce((select max(j.created) from jobs j where j.team = t.id and j.kind = 'dream'), 0)) order by t.id"
)
_ENTRIES = (
    "select e.key, e.saved, v.content from entries e join versions v on v.team = e.team and v.rev = e.rev"
    " where e.team = ? and e.deleted = 0 order by e.key"
)


async def ask_for_all(database: HubDatabase, now: int) -> None:
    """A dream of every team that has changed since it was last asked for."""
    for (team,) in await database.run(_CHANGED):
        async with database.transaction() as held:
            await ask_for(held, team, "dream", now)


async def work(database: HubDatabase, now: Callable[[], int]) -> dict[str, int]:
    """Do what waits, one job after the other. One that fails says so in its row and keeps nobody from the next."""
    counted = {"done": 0, "failed": 0}
    while job := await take(database, now()):
        rows = await database.run(_ENTRIES, job.team)
        try:
            proposals = await asyncio.to_thread(dream_of, rows)
        except (MemdirError, OSError) as error:
            await fail(database, job, f"{type(error).__name__}: {error}", now())
            counted["failed"] += 1
            continue
        counted["done" if await finish(database, job, proposals, now()) else "failed"] += 1
    return counted


def dream_of(rows: list[Row]) -> list[ProposedChange]:
    """What a dream would change in these entries (key, time saved, text)."""
    with tempfile.TemporaryDirectory(prefix="memdir-hub-") as place:
        project = os.path.join(place, "project")
        make_folder(project)
        memory = open_memory(project, home=os.path.join(place, "home"), source="hub")
        memory.start()
        for key, saved, content in rows:
            path = resolve_key(memory.place.root, key)
            make_folder(os.path.dirname(path))
            write_bytes_atomic(path, content.encode(), mtime_ns=saved * 1_000_000)

        async def dream() -> list[ProposedChange]:
            try:
                outcome = await memory.session("hub").dream(DreamTask(0), is_dry=True)
            finally:
                await memory.close()
            if not isinstance(outcome, DreamReport):
                raise MemdirError(outcome.reason)
            return [
                _proposed(draft.key, draft.before, draft.after, draft.reason)
                for draft in outcome.written
                if not is_index(draft.key)
            ]

        return asyncio.run(dream())


def _proposed(key: str, before: bytes | None, after: bytes | None, reason: str) -> ProposedChange:
    base = digest_of(before) if before is not None else None
    content = None if after is None else after.decode("utf-8", "replace")
    return ProposedChange("delete" if after is None else "put", key, base, content, reason)
