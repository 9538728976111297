"""A dream over a team's entries, in a folder that is thrown away: what it would change is proposed, nothing is written.

The built-in model does it unless the machine's settings name another. A member accepts or rejects each change.
"""

from __future__ import annotations

import asyncio
import os
import re
import tempfile
from collections.abc import Callable, Mapping
from contextlib import suppress

from memdir.agent.workspace import Draft
from memdir.disk.atomic import keep_bytes, make_folder
from memdir.disk.safe_path import is_index, resolve_key
from memdir.dream.dream import DreamReport, DreamTask
from memdir.errors import MemdirError
from memdir.hub.hub_database import SQL, DatabaseBusy, HubDatabase, Row
from memdir.hub.jobs import LeasedJob, ProposedChange, ask_for, fail, finish, take
from memdir.memdir import open_memory
from memdir.share.merge import conflict_of
from memdir.share.remote import digest_of


async def ask_for_all(database: HubDatabase, now: int) -> None:
    """A dream of every team that has changed since the last one that did not fail was asked for."""
    for (team,) in await database.run(SQL["teams_changed"]):
        async with database.transaction() as held:
            await ask_for(held, team, "dream", now)


async def work(database: HubDatabase, now: Callable[[], int]) -> dict[str, int]:
    """Do what waits, one job after the other. One that fails says so in its row and keeps nobody from the next."""
    counted = {"done": 0, "failed": 0}
    while job := await take(database, now()):
        is_done = False
        with suppress(DatabaseBusy):  # then its lease ends, and another night takes it again
            is_done = await _do(database, job, now)
        counted["done" if is_done else "failed"] += 1
    return counted


async def _do(database: HubDatabase, job: LeasedJob, now: Callable[[], int]) -> bool:
    rows = await database.run(SQL["texts_living"], job.team)
    dreaming = asyncio.ensure_future(asyncio.to_thread(dream_of, rows))
    await asyncio.wait((dreaming,))
    if error := dreaming.exception():  # whatever a text does to the dream: the night is for all teams
        told = f": {error}" if isinstance(error, MemdirError | OSError) else ""
        await fail(database, job, f"{type(error).__name__}{told}", now())
        return False
    return await finish(database, job, dreaming.result(), now())


def dream_of(rows: list[Row]) -> list[ProposedChange]:
    """What a dream would change in these entries (key, time saved, text). Two texts of one memory are a member's to
    settle (`memdir sync --resolve`)."""
    firsts = {key: conflict_of(key, content.encode()) for key, _, content in rows}
    rows = [row for row in rows if not firsts[row[0]] and row[0] not in firsts.values()]
    with tempfile.TemporaryDirectory(prefix="memdir-hub-") as place:
        project = os.path.join(place, "project")
        make_folder(project)
        memory = open_memory(project, home=os.path.join(place, "home"), source="hub")
        memory.start()
        for key, saved, content in rows:
            keep_bytes(resolve_key(memory.place.root, key), content.encode(), mtime_ns=saved * 1_000_000)

        async def dream() -> list[ProposedChange]:
            try:
                outcome = await memory.session("hub").dream(DreamTask(0), is_dry=True)
            finally:
                await memory.close()
            if not isinstance(outcome, DreamReport):
                raise MemdirError(outcome.reason)
            drafts = [draft for draft in outcome.written if not is_index(draft.key)]
            return proposals_of(drafts, {key: content.encode() for key, _, content in rows})

        return asyncio.run(dream())


def proposals_of(drafts: list[Draft], texts: Mapping[str, bytes]) -> list[ProposedChange]:
    """What is deleted is decided together with the memories that hold it from then on, even if they stay as they are:
    half of a merge would lose a text, or tell it twice. A deletion names them; one that names nobody goes with all."""
    gone, keys = [draft for draft in drafts if draft.after is None], {draft.key for draft in drafts}
    named = {one.key: {key for key in (keys | texts.keys()) - {one.key} if _names(one.reason, key)} for one in gone}
    kept = sorted(set().union(*named.values()) - keys)
    groups = [[draft] for draft in drafts if draft.after is not None]
    groups += [[Draft(gone[0].store, key, texts[key], texts[key])] for key in kept]
    for one in gone:
        near = [group for group in groups if not named[one.key] or named[one.key] & {other.key for other in group}]
        apart = [group for group in groups if group not in near]
        groups = [*apart, [*(other for group in near for other in group), one]]
    return [_proposed(draft, group) for group in groups for draft in group]


def _names(reason: str, key: str) -> bool:
    name = os.path.basename(key)
    return name in reason and re.search(rf"(?<![\w.-]){re.escape(name)}(?![\w-])", reason) is not None


def _proposed(draft: Draft, group: list[Draft]) -> ProposedChange:
    into, gone = (", ".join(one.key for one in group if (one.after is None) == is_gone) for is_gone in (False, True))
    told = "; ".join(one.reason.partition("; source:")[0] for one in group if one.after is None)
    reason = (f"{into} takes in {gone}: {told}" if into else told) if gone else f"{into} put in order"
    base = digest_of(draft.before) if draft.before is not None else None
    content = None if draft.after is None else draft.after.decode("utf-8", "replace")
    return ProposedChange("delete" if content is None else "put", draft.key, base, content, reason, group[0].key)
