"""What `memdir hub admin` does to the database: each action gives an answer for programs, and lines for people."""

from __future__ import annotations

import argparse
import os
from collections.abc import Awaitable, Callable

from memdir.errors import UsageError
from memdir.hub.bearer import OF_ROLE, NewToken, make_token
from memdir.hub.hub_database import Author, HubDatabase, Row, Transaction
from memdir.hub.people import (
    DAY,
    MEMBERS,
    add_member,
    add_team,
    give_token,
    let_leave,
    purge,
    record,
    revoke_token,
    set_role,
)
from memdir.hub.sqlite_database import SqliteDatabase
from memdir.share.remote import TeamCaps

Told = tuple[dict[str, object], list[str]]
OPERATOR = ""  # in whose name this machine's own commands are recorded

_TEAM = "select id, name from teams where id = ? or name = ?"
_TEAMS = "select id, name, revision, live_entries, live_bytes from teams order by name"
_MEMBER = "select id, name, role, active from members where team = ? and (id = ? or name = ?)"
_PRUNE = (
    "update versions set content = null, redacted = ? where content is not null and changed < ? and not exists"
    " (select 1 from entries e where e.team = versions.team and e.key = versions.key and e.rev = versions.rev"
    " and e.deleted = 0) returning rev"
)

RAISED_BY = 1_000_000  # more than any team changes between a backup and its restore
_RESTORED = (
    "update teams set restored = revision, revision = revision + ? where restored = 0 or revision <> restored + ?"
    " returning id"
)


async def _team(database: Transaction, name: str) -> str:
    rows = await database.run(_TEAM, name, name)
    if not rows:
        raise UsageError(f"there is no team {name!r}", remedy="`memdir hub admin teams` lists them")
    return str(rows[0][0])


async def _member(database: Transaction, team: str, name: str) -> Row:
    rows = await database.run(_MEMBER, team, name, name)
    if not rows:
        raise UsageError(f"there is no member {name!r}", remedy="`memdir hub admin members TEAM` lists them")
    return rows[0]


async def _list_teams(database: HubDatabase, _: argparse.Namespace, __: int) -> Told:
    rows = await database.run(_TEAMS)
    names = ("id", "name", "revision", "entries", "bytes")
    lines = [f"{row[1]}  {row[0]}  {row[3]} entries, {row[4]} bytes, revision {row[2]}" for row in rows]
    return {"teams": [dict(zip(names, row, strict=True)) for row in rows]}, lines or ["There is no team yet."]


async def _add_team(database: HubDatabase, options: argparse.Namespace, now: int) -> Told:
    limits = TeamCaps(options.entries, options.entry_bytes, options.team_bytes)
    async with database.transaction() as held:
        team = await add_team(held, options.team, limits, now)
        told: dict[str, object] = {"team": team}
        lines = [f"Team {options.team}: {team}"]
        if options.admin:
            member, *_ = await add_member(held, Author(team, OPERATOR), options.admin, "admin", now)
            more, shown = await _token_for(held, team, member, options, now)
            told, lines = {**told, "member": member, **more}, [*lines, *shown]
    return told, lines


async def _token_for(database: Transaction, team: str, member: str, options: argparse.Namespace, now: int) -> Told:
    _, name, role, _ = await _member(database, team, member)
    scopes = ("read",) if getattr(options, "read_only", False) else OF_ROLE[role]
    expires = now + options.days * DAY if options.days else None
    new = NewToken(team, member, name, scopes, expires)
    token, value = await give_token(database, Author(team, OPERATOR), new, now)
    return {"token": value, "tokenId": token}, [f"Token of {name}, shown this once ({token}):", value]


async def _list_members(database: HubDatabase, options: argparse.Namespace, _: int) -> Told:
    rows = await database.run(MEMBERS, await _team(database, options.team))
    names = ("id", "name", "role", "active")
    lines = [f"{row[1]}  {row[0]}  {row[2]}{'' if row[3] else ', left'}" for row in rows]
    return {"members": [{**dict(zip(names, row, strict=True)), "active": bool(row[3])} for row in rows]}, lines


async def _add_member(database: HubDatabase, options: argparse.Namespace, now: int) -> Told:
    async with database.transaction() as held:
        team = await _team(held, options.team)
        member, *_ = await add_member(held, Author(team, OPERATOR), options.member, options.role, now)
        told, lines = await _token_for(held, team, member, options, now)
    return {"member": member, **told}, lines


async def _set_role(database: HubDatabase, options: argparse.Namespace, now: int) -> Told:
    async with database.transaction() as held:
        team = await _team(held, options.team)
        member, name, *_ = await _member(held, team, options.member)
        _, needs_token = await set_role(held, Author(team, OPERATOR), member, options.role, now)
    lines = [f"{name} is {options.role} now"]
    if needs_token:
        lines.append(f"Their token was made for less: `memdir hub admin token {options.team} {name}` makes another")
    return {"member": member, "role": options.role, "needsToken": needs_token}, lines


async def _remove_member(database: HubDatabase, options: argparse.Namespace, now: int) -> Told:
    async with database.transaction() as held:
        team = await _team(held, options.team)
        member, name, *_ = await _member(held, team, options.member)
        await let_leave(held, Author(team, OPERATOR), member, now)
    told: dict[str, object] = {"member": member}
    lines = [f"{name} left: all of their tokens have ended"]
    if options.purge:
        more, shown = await _purge(database, options, now)
        told, lines = {**told, **more}, [*lines, *shown]
    return told, lines


async def _purge(database: HubDatabase, options: argparse.Namespace, now: int) -> Told:
    async with database.transaction() as held:
        team = await _team(held, options.team)
        member, name, *_ = await _member(held, team, options.member)
        by = Author(team, OPERATOR)
        revision, removed, derived = await purge(held, by, member, now, derived=options.derived)
    await database.scrub()
    lines = [f"What {name} wrote is removed: {len(removed)} entries; each machine follows at its next sync"]
    if derived:
        lines.append(f"Others have changed these since, and they stay (--derived removes them): {', '.join(derived)}")
    return {"revision": revision, "removed": removed, "derived": derived}, lines


async def _make_token(database: HubDatabase, options: argparse.Namespace, now: int) -> Told:
    async with database.transaction() as held:
        team = await _team(held, options.team)
        member, *_ = await _member(held, team, options.member)
        return await _token_for(held, team, member, options, now)


async def _revoke(database: HubDatabase, options: argparse.Namespace, now: int) -> Told:
    async with database.transaction() as held:
        await revoke_token(held, Author(OPERATOR, OPERATOR), options.token, now)
    return {"revoked": options.token}, [f"{options.token} has ended"]


async def _metrics(database: HubDatabase, _: argparse.Namespace, now: int) -> Told:
    token, value = await make_token(database, NewToken(None, None, "metrics", ("metrics",), None), now)
    await record(database, Author(OPERATOR, OPERATOR), "token", f"{token} for the metrics", now)
    return {"token": value, "tokenId": token}, [f"Token for /metrics, shown this once ({token}):", value]


async def _prune(database: HubDatabase, options: argparse.Namespace, now: int) -> Told:
    rows = await database.run(_PRUNE, now, now - options.days * DAY)
    await database.scrub()
    return {"erased": len(rows)}, [f"The texts of {len(rows)} old versions are erased"]


async def _restored(database: HubDatabase, _: argparse.Namespace, now: int) -> Told:
    """Revisions that machines saw after the backup must not be given again: each team goes on far above them, and tells
    the last one that the backup has. Said twice in a row, it is done once."""
    async with database.transaction() as held:
        teams = await held.run(_RESTORED, RAISED_BY, RAISED_BY)
        for (team,) in teams:
            await record(held, Author(team, OPERATOR), "restored", "from a backup", now)
    return {"teams": len(teams)}, [f"{len(teams)} teams: each machine gives again what it saw after the backup"]


async def _backup(database: HubDatabase, options: argparse.Namespace, _: int) -> Told:
    if not isinstance(database, SqliteDatabase):
        raise UsageError("that copies SQLite only", remedy="PostgreSQL: pg_dump (docs/how-to/hub.md)")
    if os.path.lexists(options.file):
        raise UsageError(f"{options.file} is there already", remedy="Name another file")
    database.back_up(options.file)
    return {"file": options.file}, [f"Copied to {options.file}"]


ACTIONS: dict[str, Callable[[HubDatabase, argparse.Namespace, int], Awaitable[Told]]] = {
    "teams": _list_teams,
    "add-team": _add_team,
    "members": _list_members,
    "add-member": _add_member,
    "role": _set_role,
    "remove-member": _remove_member,
    "purge": _purge,
    "token": _make_token,
    "revoke": _revoke,
    "metrics": _metrics,
    "prune": _prune,
    "backup": _backup,
    "restored": _restored,
}
