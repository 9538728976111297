"""Teams, members and tokens, as the routes and `memdir hub admin` change them; every such change is recorded."""

from __future__ import annotations

from memdir.hub.bearer import OF_ROLE, NewToken, make_token, random_name
from memdir.hub.hub_database import Author, Change, Row, Transaction
from memdir.hub.jobs import drop_proposals
from memdir.hub.reply import HubRefusal, bad_request, not_found
from memdir.layout import nfc
from memdir.share.remote import TeamCaps
from memdir.store.shared import fault_of_member

DAY = 86_400_000

_ACTION = "insert into actions (team, at, member, token, action, what) values (?, ?, ?, ?, ?, ?)"
_NEW_TEAM = (
    "insert into teams (id, name, max_entries, max_entry_bytes, max_bytes, created) values (?, ?, ?, ?, ?, ?)"
    " on conflict (name) do nothing returning id"
)
_NEW_MEMBER = (
    "insert into members (team, id, name, role, created) values (?, ?, ?, ?, ?) on conflict (team, name) do update"
    " set role = excluded.role, active = 1 where members.active = 0 returning id"
)
MEMBERS = "select id, name, role, active from members where team = ? order by name"
_MEMBER = "select id, name, role, active from members where team = ? and id = ?"
TOKENS = (  # of one member, or of all
    "select t.id, t.member, m.name, t.label, t.scopes, t.created, t.expires, t.used, t.revoked from tokens t"
    " join members m on m.team = t.team and m.id = t.member where t.team = ? and (t.member = ? or ? = 1)"
    " order by t.created, t.id"
)
_ADMINS = "select id from members where team = ? and role = 'admin' and active = 1"
_LOCK = "update teams set revision = revision where id = ? returning id"
_REVOKE_OF = "update tokens set revoked = ? where team = ? and member = ? and revoked is null"
_SCOPES = "select scopes from tokens where team = ? and member = ? and revoked is null and coalesce(expires, ?) >= ?"
_REVOKE = "update tokens set revoked = ? where id = ? and revoked is null returning team, member"
_OF_MEMBER = "select key, etag from entries where team = ? and member = ? and deleted = 0 order by key"
_DERIVED = (
    "select e.key, e.etag from entries e where e.team = ? and e.member <> ? and e.deleted = 0 and exists"
    " (select 1 from versions v where v.team = e.team and v.key = e.key and v.member = ? and v.op = 'put' and v.rev >"
    " coalesce((select max(d.rev) from versions d where d.team = e.team and d.key = e.key and d.op = 'delete'), 0))"
)
_AFTER_THEM = (  # what others made of their texts, and is neither begun anew nor there
    "select distinct v.key, v.rev from versions v join versions b on b.team = v.team and b.key = v.key where v.team = ?"
    " and b.rev < v.rev and b.member = ? and b.op = 'put' and v.op = 'put' and v.member <> ? and v.content is not null"
    " and v.rev not in (select rev from entries where team = v.team and deleted = 0) and not exists (select 1 from"
    " versions d where d.team = v.team and d.key = v.key and d.op = 'delete' and d.rev between b.rev and v.rev)"
)
_ERASE = (
    "update versions set content = null, redacted = coalesce(redacted, ?), reason = 'purged'"
    " where team = ? and op = 'put' and {} = ?"
)
ERASE_OLD = (  # never what is in force
    "update versions set content = null, redacted = ? where {} and not exists (select 1 from entries e"
    " where e.team = versions.team and e.rev = versions.rev and e.deleted = 0) returning rev"
)
_PURGED = "update teams set revision = revision + 1 where id = ? returning revision"


def checked_name(name: object) -> str:
    """A name that teammates and their models may be shown: one line of letters, digits and a few signs."""
    fault = fault_of_member(name) if isinstance(name, str) else "a name is text"
    if fault:
        raise bad_request(fault)
    return nfc(str(name))


async def record(database: Transaction, by: Author, action: str, what: str, now: int) -> None:
    await database.run(_ACTION, by.team, now, by.member, by.token, action, what)


async def add_team(database: Transaction, name: object, limits: TeamCaps, now: int) -> str:
    """The id of a new team."""
    team, plain = random_name("t"), checked_name(name)
    values = (limits.entries, limits.entry_bytes, limits.total_bytes, now)
    if not await database.run(_NEW_TEAM, team, plain, *values):
        raise HubRefusal(409, "twice", "there is a team of that name already")
    await record(database, Author(team, ""), "team", plain, now)
    return team


async def add_member(database: Transaction, by: Author, name: object, role: object, now: int) -> Row:
    """A new member; one who left comes back as who they were."""
    plain, chosen = checked_name(name), checked_role(role)
    others = [one for _, one, _, _ in await database.run(MEMBERS, by.team) if one != plain]
    is_alike = plain.casefold() in map(str.casefold, others)
    rows = [] if is_alike else await database.run(_NEW_MEMBER, by.team, random_name("m"), plain, chosen, now)
    if not rows:
        raise HubRefusal(409, "twice", "there is a member of that name already", remedy="Change their role instead")
    await record(database, by, "member", f"{plain} as {chosen}", now)
    return rows[0][0], plain, chosen, 1


def told_member(row: Row) -> dict[str, object]:
    return {"id": row[0], "name": row[1], "role": row[2], "active": bool(row[3])}


def checked_role(role: object) -> str:
    if not isinstance(role, str) or role not in OF_ROLE:
        raise bad_request("a role is reader, writer or admin")
    return role


async def member_of(database: Transaction, team: str, member: str) -> Row:
    rows = await database.run(_MEMBER, team, member)
    if not rows:
        raise not_found("there is no such member")
    return rows[0]


async def _require_here(database: Transaction, team: str, member: str) -> str:
    """The name of a member who has not left."""
    _, name, _, active = await member_of(database, team, member)
    if not active:
        raise HubRefusal(404, "not-found", f"{name} has left", remedy="Add them again, by the same name")
    return str(name)


async def set_role(database: Transaction, by: Author, member: str, role: object, now: int) -> tuple[Row, bool]:
    """The member as they are now, and whether no token of theirs lets them do all that the role allows: a token never
    comes to allow more than it was made for."""
    chosen = checked_role(role)
    name = await _require_here(database, by.team, member)
    if chosen != "admin":
        await _require_other_admin(database, by.team, member)
    await database.run("update members set role = ? where team = ? and id = ?", chosen, by.team, member)
    await record(database, by, "role", f"{name} as {chosen}", now)
    made_for = [set(scopes.split()) for (scopes,) in await database.run(_SCOPES, by.team, member, now, now)]
    return (member, name, chosen, 1), not any(scopes.issuperset(OF_ROLE[chosen]) for scopes in made_for)


async def let_leave(database: Transaction, by: Author, member: str, now: int) -> None:
    """The member stays known, as the author of what they wrote; their tokens end."""
    _, name, _, _ = await member_of(database, by.team, member)
    await _require_other_admin(database, by.team, member)
    await database.run("update members set active = 0 where team = ? and id = ?", by.team, member)
    await database.run(_REVOKE_OF, now, by.team, member)
    await record(database, by, "left", name, now)


async def _require_other_admin(database: Transaction, team: str, member: str) -> None:
    """Somebody must be left who can let others in. The team's row is held, so that two do not leave at once."""
    await database.run(_LOCK, team)
    if await database.run(_ADMINS, team) == [(member,)]:
        raise HubRefusal(409, "last-admin", "that is the team's last admin", remedy="Make somebody else one first")


async def give_token(database: Transaction, by: Author, new: NewToken, now: int) -> tuple[str, str]:
    name = await _require_here(database, by.team, new.member or "")
    token, value = await make_token(database, new, now)
    await record(database, by, "token", f"{token} for {name}: {' '.join(new.scopes)}", now)
    return token, value


async def revoke_token(database: Transaction, by: Author, token: str, now: int) -> None:
    rows = await database.run(_REVOKE, now, token)
    if not rows:
        raise not_found("there is no such token")
    await record(database, by._replace(team=rows[0][0] or by.team), "revoke", token, now)  # in that team's audit


async def purge(
    database: Transaction, by: Author, member: str, now: int, *, derived: bool
) -> tuple[int, list[str], list[str]]:
    """Remove what a member wrote, and erase it from the versions and the proposals (L2). Gives the revision, what was
    removed, and what others made from it; that goes, too, if `derived`."""
    _, name, _, _ = await member_of(database, by.team, member)
    await database.run(_LOCK, by.team)
    own = await database.run(_OF_MEMBER, by.team, member)
    others = sorted(await database.run(_DERIVED, by.team, member, member))
    gone = [*own, *(others if derived else ())]
    deletions = [Change("delete", key, etag, None, None, 0, now, "purged") for key, etag in gone]
    await database.apply(by, deletions, now)
    await database.run(_ERASE.format("member"), now, by.team, member)
    after = await database.run(_AFTER_THEM, by.team, member, member)
    for _, rev in after if derived else ():
        await database.run(_ERASE.format("rev"), now, by.team, rev)
    await drop_proposals(database, by.team, f"{name} was purged", now)
    ((revision,),) = await database.run(_PURGED, by.team)
    await database.run("update members set purged = ? where team = ? and id = ?", revision, by.team, member)
    await record(database, by, "purge", f"{name}: {len(gone)} entries", now)
    return revision, [key for key, _ in gone], [] if derived else sorted({key for key, _ in (*others, *after)})
