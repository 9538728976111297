"""Teams, members and tokens, as the routes and `memdir hub admin` change them, each change recorded; and whose words
stand in which texts of a team, as the log of its versions tells: a purge goes by that (ADR 0082)."""

from __future__ import annotations

import re
from typing import NamedTuple

from memdir.hub.bearer import OF_ROLE, NewToken, make_token, random_name
from memdir.hub.hub_database import Author, Change, Row, Transaction
from memdir.hub.jobs import drop_proposals
from memdir.hub.reply import HubRefusal, bad_request, not_found
from memdir.layout import nfc
from memdir.share.remote import TeamCaps
from memdir.store.shared import fault_of_member
from memdir.store.topic import IN_OWN_WORDS, Topic

DAY = 86_400_000
LEAST_BYTES = 16  # a sentence that is shorter is anybody's
PAGE = 500  # versions that are in memory at once
_STOPS, _MARKS = re.compile(r"[\n\r.!?;…。！？；]+"), " \t*-•#>,()\"'"

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
_LIVE = "select rev, key, etag from entries where team = ? and deleted = 0"
_ERASE = (
    "update versions set content = null, redacted = coalesce(redacted, ?), reason = 'purged' where team = ? and rev = ?"
)
_HOLDS = "update versions set holds = coalesce(holds || ' ', '') || ? where team = ? and rev = ?"
ERASE_OLD = (  # never what is in force
    "update versions set content = null, redacted = ? where {} and not exists (select 1 from entries e"
    " where e.team = versions.team and e.rev = versions.rev and e.deleted = 0) returning rev"
)
_LOG = (
    "select rev, key, etag, member, changed, holds, content from versions where team = ? and rev > ?"
    " order by rev limit ?"
)
_ACCEPTED = (  # what a dream wrote with somebody's yes, and from which texts
    "select p.key, p.decided, s.base from proposals p join proposals s on s.team = p.team"
    " and coalesce(s.part_of, s.id) = coalesce(p.part_of, p.id)"
    " where p.team = ? and p.op = 'put' and p.state = 'accepted' and s.base is not null"
)
_PURGED = "update teams set revision = revision + 1 where id = ? returning revision"
Members = frozenset[str]


def checked_name(name: object, of: str = "member") -> str:
    """A name that teammates and their models may be shown: one line of letters, digits and a few signs."""
    fault = fault_of_member(name) if isinstance(name, str) else "a name is text"
    if fault:
        raise bad_request(f"{of}: {fault}")
    return nfc(str(name))


async def record(database: Transaction, by: Author, action: str, what: str, now: int) -> None:
    await database.run(_ACTION, by.team, now, by.member, by.token, action, what)


async def add_team(database: Transaction, name: object, limits: TeamCaps, now: int) -> str:
    """The id of a new team."""
    team, plain = random_name("t"), checked_name(name, "team")
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


class Purged(NamedTuple):
    """What a purge did, by keys."""

    revision: int
    removed: list[str]
    derived: list[str]  # what others made from it, and stays
    mixed: list[str]  # what was removed though words of others stand in it


async def purge(database: Transaction, by: Author, member: str, now: int, *, derived: bool) -> Purged:
    """Remove what a member wrote, and erase it from the versions and the proposals (L2); if `derived`, what others made
    from it as well."""
    _, name, _, _ = await member_of(database, by.team, member)
    await database.run(_LOCK, by.team)
    hands = await hands_of(database, by.team)
    own = {rev for rev, one in hands.items() if one.is_of(member)}
    made = {rev for rev, one in hands.items() if member in one.all} - own
    live = {rev: (key, etag) for rev, key, etag in await database.run(_LIVE, by.team)}
    goes = own | made if derived else own
    gone = sorted(live.keys() & goes, key=live.__getitem__)
    await database.apply(by, [Change("delete", *live[rev], None, None, 0, now, "purged") for rev in gone], now)
    for rev in goes:
        await database.run(_ERASE, now, by.team, rev)
    for rev in made - goes:
        await database.run(_HOLDS, member, by.team, rev)  # for a purge that takes it along one day
    await drop_proposals(database, by.team, f"{name} was purged", now)
    ((revision,),) = await database.run(_PURGED, by.team)
    await database.run("update members set purged = ? where team = ? and id = ?", revision, by.team, member)
    await record(database, by, "purge", f"{name}: {len(gone)} entries", now)
    mixed = [live[rev][0] for rev in gone if hands[rev].words - {member}]
    stays = sorted({hands[rev].key for rev in made} - {live[rev][0] for rev in gone})
    return Purged(revision, [live[rev][0] for rev in gone], [] if derived else stays, mixed)


class Hands(NamedTuple):
    """Whose one text is."""

    key: str
    author: str  # who sent it first
    all: Members  # whose texts it was made from, its author among them
    words: Members  # of whom a sentence stands in it

    def is_of(self, member: str) -> bool:
        """Whether it goes with its author: not what somebody only took over from others, word for word."""
        return self.author == member and (member in self.words or not self.words)


async def hands_of(database: Transaction, team: str) -> dict[int, Hands]:
    """Of every text that is kept, by its revision."""
    dreamt: dict[tuple[str, int], list[str]] = {}
    for key, decided, base in await database.run(_ACCEPTED, team):
        dreamt.setdefault((key, decided), []).append(base)
    found: dict[int, Hands] = {}
    texts: dict[str, Hands] = {}  # by ETag: a text is the same whoever sends it again
    stands: dict[str, Members] = {}  # by key: who had a hand in what stands there
    said: dict[str, str] = {}  # who was the first to say a sentence
    last = 0
    while rows := await database.run(_LOG, team, last, PAGE):
        for last, key, etag, member, changed, holds, content in rows:
            if etag is None:  # deleted: what comes after is begun anew
                stands.pop(key, None)
                continue
            if etag not in texts:
                words = frozenset(said.setdefault(one, member) for one in _sentences(content or ""))
                sources = (texts[base].all for base in dreamt.get((key, changed), ()) if base in texts)
                made = frozenset({member}).union(words, stands.get(key, ()), *sources)
                texts[etag] = Hands(key, member, made, words)
            one = texts[etag] = texts[etag]._replace(all=texts[etag].all.union((holds or "").split()))
            stands[key] = one.all
            if content is not None:
                found[last] = one._replace(key=key)
    return found


def _sentences(content: str) -> list[str]:
    """What a text says, as it is said again elsewhere: as another list item, with another stop."""
    body = Topic(content.encode()).body.replace(IN_OWN_WORDS, "")
    found = (one.strip(_MARKS).casefold() for one in _STOPS.split(body))
    return [one for one in found if len(one.encode()) >= LEAST_BYTES]
