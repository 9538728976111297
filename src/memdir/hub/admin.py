"""What `memdir hub admin` does to the database: each action gives an answer for programs, and lines for people."""

from __future__ import annotations

import argparse
import os
import sqlite3
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from operator import itemgetter

from memdir.errors import UsageError
from memdir.hub import people
from memdir.hub.bearer import OF_ROLE, NewToken, make_token
from memdir.hub.hub_commands import ERASING, TAKES
from memdir.hub.hub_database import SQL, Author, HubDatabase, Row, Transaction
from memdir.hub.reply import told_time
from memdir.hub.sqlite_database import SqliteDatabase
from memdir.share.remote import TeamCaps
from memdir.text.words import counted

Told = tuple[dict[str, object], list[str]]
OPERATOR = ""  # in whose name this machine's own commands are recorded
_NOBODY = "Nobody is in it yet"
RAISED_BY = 1_000_000  # at least, where the clock is behind: more than any team changes after a backup
_BACK = (
    "BEFORE YOU START THE HUB: the backup ends at {} and knows of nothing that ended since. Whoever was removed and"
    " every token that was revoked after that works again, and what was purged is back. Repeat every `remove-member`,"
    " `role`, `revoke` and `purge` since then. These may use the hub now:"
)


@dataclass(frozen=True)
class AdminStep:
    """One action in its transaction, and whom it is about."""

    held: Transaction
    options: argparse.Namespace
    now: int
    team: str = ""
    member: str = ""
    name: str = ""  # of the member
    role: str = ""

    @property
    def by(self) -> Author:
        return Author(self.team, OPERATOR)


class _Looked(Exception):
    """Takes a transaction back, of which somebody only wanted to know what it would do."""


async def act(database: HubDatabase, options: argparse.Namespace, now: int, *, is_dry: bool = False) -> Told:
    """Do one action, all of it or nothing. What a dry run tells was done, and is taken back."""
    if options.action == "backup":
        return _backup(database, options.file)
    with suppress(_Looked):
        async with database.transaction() as held:
            told, lines = await ACTIONS[options.action](await _step(held, options, now))
            if is_dry:
                raise _Looked
    if is_dry:
        return {**told, "dryRun": True}, [line if line.startswith(" ") else f"Would be so: {line}" for line in lines]
    if options.action in ERASING:
        warned = await database.scrub()
        return {**told, **warned}, [*lines, *warned.values()]
    return told, lines


async def _step(held: Transaction, options: argparse.Namespace, now: int) -> AdminStep:
    """The team and the member that somebody named, where they have to be there already."""
    step = AdminStep(held, options, now)
    if hasattr(options, "team") and options.action != "add-team":
        rows = await held.run(SQL["team_named"], options.team, options.team)
        (team,) = _first(rows, f"team {options.team!r}", "teams")
        step = replace(step, team=team)
    if hasattr(options, "member") and options.action != "add-member":
        rows = await held.run(SQL["member_named"], step.team, options.member, options.member)
        member, name, role = _first(rows, f"member {options.member!r}", "members TEAM")
        step = replace(step, member=member, name=name, role=role)
    return step


def _first(rows: list[Row], what: str, lists: str) -> Row:
    if not rows:
        raise UsageError(f"there is no {what}", remedy=f"`memdir hub admin {lists}` lists them")
    return rows[0]


async def _teams(step: AdminStep) -> Told:
    rows = await step.held.run(SQL["teams"])
    names = ("id", "name", "revision", "entries", "bytes")
    lines = [
        f"{row[1]}  {row[0]}  {counted(row[3], 'entry', 'entries')}, {counted(row[4], 'byte')}, revision {row[2]}"
        for row in rows
    ]
    return {"teams": [dict(zip(names, row, strict=True)) for row in rows]}, lines or ["There is no team yet."]


async def _add_team(step: AdminStep) -> Told:
    options = step.options
    team = await people.add_team(step.held, options.team, TeamCaps(), step.now)
    step, lines = replace(step, team=team), [f"Team {options.team}: {team}"]
    await _limits(step)
    if options.admin:
        told, shown = await _let_in(step, options.admin, "admin")
        return {"team": team, **told}, [*lines, *shown]
    remedy = f"`memdir hub admin add-member {options.team} NAME --role admin` lets somebody in"
    return {"team": team}, [*lines, f"{_NOBODY}: {remedy}"]


async def _limits(step: AdminStep) -> Told:
    """What a team may have, and from now on where somebody says so; what it has already stays."""
    given = (step.options.entries, step.options.entry_bytes, step.options.team_bytes)
    (limits,) = await step.held.run(SQL["team_limited"], *given, step.team)
    told, names = "{:,} entries, {:,} bytes each, {:,} in all".format(*limits), ("entries", "entryBytes", "teamBytes")
    if any(given):
        await people.record(step.held, step.by, "limits", told, step.now)
    return dict(zip(names, limits, strict=True)), [f"{step.options.team} may have {told}"]


async def _let_in(step: AdminStep, name: str, role: str) -> Told:
    """A new member and their first token."""
    member, name, *_ = await people.add_member(step.held, step.by, name, role, step.now)
    told, lines = await _token(replace(step, member=member, name=name, role=role))
    return {"member": member, **told}, lines


async def _token(step: AdminStep) -> Told:
    options, scopes = step.options, OF_ROLE[step.role]
    expires = step.now + options.days * people.DAY if options.days else None
    new = NewToken(step.team, step.member, step.name, ("read",) if options.read_only else scopes, expires)
    token, value = await people.give_token(step.held, step.by, new, step.now)
    ends = told_time(expires)
    told = f"Token of {step.name}, shown this once ({token}, {f'until {ends}' if ends else 'without an end'}):"
    return {"token": value, "tokenId": token, "expires": ends}, [told, value]


async def _members(step: AdminStep) -> Told:
    rows = await step.held.run(SQL["members"], step.team)
    lines = [f"{name}  {member}  {role}{'' if active else ', left'}" for member, name, role, active in rows]
    return {"members": [*map(people.told_member, rows)]}, lines or [_NOBODY]


async def _tokens(step: AdminStep) -> Told:
    told, lines = [], []
    rows = await step.held.run(SQL["tokens"], step.team, "", 1)
    for token, _, name, _, scopes, *times, revoked in sorted(rows, key=itemgetter(2)):
        made, ends, used = map(told_time, times)
        has_ended = "revoked" if revoked is not None else "expired" if (times[1] or step.now + 1) <= step.now else None
        one = {"id": token, "member": name, "scopes": scopes.split(), "created": made, "expires": ends}
        told.append({**one, "lastUsed": used, "ended": has_ended})
        state = has_ended or (f"until {ends}" if ends else "without an end")
        lines.append(f"{token}  {name}  {scopes}  made {made}, {state}, last used: {used or 'never'}")
    return {"tokens": told}, lines or ["It has no token."]


async def _add_member(step: AdminStep) -> Told:
    return await _let_in(step, step.options.member, step.options.role)


async def _role(step: AdminStep) -> Told:
    role, lines = step.options.role, [f"{step.name} is {step.options.role} now"]
    _, needs_token = await people.set_role(step.held, step.by, step.member, role, step.now)
    if needs_token:
        makes = f"`memdir hub admin token {step.options.team} {step.name}`"
        lines.append(f"Their token was made for less: {makes} makes another")
    return {"member": step.member, "role": role, "needsToken": needs_token}, lines


async def _remove_member(step: AdminStep) -> Told:
    await people.let_leave(step.held, step.by, step.member, step.now)
    more, lines = await _purge(step) if step.options.purge else ({}, [])
    return {"member": step.member, **more}, [f"{step.name} left: all of their tokens have ended", *lines]


async def _purge(step: AdminStep) -> Told:
    told = await people.purge(step.held, step.by, step.member, step.now, derived=step.options.derived)
    many = counted(len(told.removed), "entry", "entries")
    lines = [f"What {step.name} wrote is removed: {many}; each machine follows at its next sync"]
    lines += [f"  {key}{', with what others wrote in it' * (key in told.mixed)}" for key in told.removed]
    if told.derived:
        stays = f"Others wrote these, or old versions, with {step.name}'s words; they stay without --derived: "
        lines.append(stays + ", ".join(told.derived))
    return told._asdict(), lines


async def _revoke(step: AdminStep) -> Told:
    """One token by its id, or all of one member."""
    if not step.member:
        token = step.options.token
        if await step.held.run(SQL["token_has_ended"], token):
            raise UsageError(f"{token} has ended already")
        await people.revoke_token(step.held, step.by, token, step.now)
        return {"revoked": token}, [f"{token} has ended"]
    rows = await step.held.run(SQL["tokens"], step.team, step.member, 0)
    ended = [token for token, *_, revoked in rows if revoked is None]
    for token in ended:
        await people.revoke_token(step.held, step.by, token, step.now)
    return {"revoked": ended}, [f"{token} of {step.name} has ended" for token in ended] or [f"{step.name} has no token"]


async def _metrics(step: AdminStep) -> Told:
    new = NewToken(None, None, "metrics", ("metrics",), None)
    token, value = await make_token(step.held, new, step.now)
    await people.record(step.held, step.by, "token", f"{token} for the metrics", step.now)
    return {"token": value, "tokenId": token}, [f"Token for /metrics, shown this once ({token}):", value]


async def _prune(step: AdminStep) -> Told:
    rows = await step.held.run(SQL["versions_pruned"], step.now, step.now - step.options.days * people.DAY)
    return {"erased": len(rows)}, [f"The texts of {len(rows)} old versions are erased"]


async def _restored(step: AdminStep) -> Told:
    """Revisions that machines saw after the backup must not be given again: each team goes on far above them, from one
    that no other restore began with, of this backup or another, and tells it: two may be made in one second."""
    ((last,),) = await step.held.run(SQL["last_change"])
    teams = await step.held.run(SQL["teams"])
    for team, _, revision, *_ in teams:
        begun = max(revision + RAISED_BY, step.now * 1_000) + int.from_bytes(os.urandom(3))
        await step.held.run(SQL["team_restored"], begun, begun, team)
        await people.record(step.held, Author(team, OPERATOR), "restored", "from a backup", step.now)
    ends, names = told_time(last), ("team", "member", "role")
    active = [dict(zip(names, row, strict=True)) for row in await step.held.run(SQL["members_active"])]
    told = f"{counted(len(teams), 'team')}: each machine gives again what it saw after the backup"
    lines = [told, _BACK.format(ends), *(f"  {one['team']}: {one['member']}, {one['role']}" for one in active)]
    return {"teams": len(teams), "backupEnds": ends, "active": active}, lines


def _backup(database: HubDatabase, path: str) -> Told:
    if not isinstance(database, SqliteDatabase):
        raise UsageError("that copies SQLite only", remedy="PostgreSQL: pg_dump (docs/how-to/hub.md)")
    if os.path.lexists(path):
        raise UsageError(f"{path} is there already", remedy="Name another file")
    try:
        database.back_up(path)
    except (OSError, sqlite3.Error) as error:
        raise UsageError(f"{path} cannot be written: {error}", remedy="Name a file in a folder that is there") from None
    return {"file": path}, [f"Copied to {path}"]


ACTIONS: dict[str, Callable[[AdminStep], Awaitable[Told]]] = {
    action: globals()[f"_{action.replace('-', '_')}"] for action in TAKES
}
