"""Teams, members and tokens, as the routes and `memdir hub admin` change them, each change recorded; and whose words
stand in which texts of a team, as the log of its versions tells: a purge goes by that (ADR 0082)."""

from __future__ import annotations

import asyncio
import hmac
import re
import secrets
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from memdir.hub.bearer import OF_ROLE, NewToken, make_token, random_name
from memdir.hub.hub_database import SQL, Author, Change, HubDatabase, Row, Transaction
from memdir.hub.jobs import drop_proposals
from memdir.hub.reply import HubRefusal, bad_request, not_found
from memdir.layout import nfc
from memdir.share.remote import TeamCaps
from memdir.store.shared import fault_of_member
from memdir.store.topic import IN_OWN_WORDS, Topic

DAY = 86_400_000
LEAST_BYTES = 16  # a sentence that is shorter is anybody's
PAGE = 20  # versions that are looked through at once
_STOPS, _MARKS = re.compile(r"[\n\r.!?;…。！？；]+"), " \t*-•#>,()\"'"

Members = frozenset[str]
Dreamt = dict[tuple[str, int], list[str]]  # by key and time of what a dream wrote: the texts that it was made from


def checked_name(name: object, of: str = "member") -> str:
    """A name that teammates and their models may be shown: one line of letters, digits and a few signs."""
    fault = fault_of_member(name) if isinstance(name, str) else "a name is text"
    if fault:
        raise bad_request(f"{of}: {fault}")
    return nfc(str(name))


async def record(database: Transaction, by: Author, action: str, what: str, now: int) -> None:
    await database.run(SQL["recorded"], by.team, now, by.member, by.token, action, what)


async def add_team(database: Transaction, name: object, limits: TeamCaps, now: int) -> str:
    """The id of a new team."""
    team, plain = random_name("t"), checked_name(name, "team")
    values = (limits.entries, limits.entry_bytes, limits.total_bytes, now, secrets.token_hex(32))
    if not await database.run(SQL["team_made"], team, plain, *values):
        raise HubRefusal(409, "twice", "there is a team of that name already")
    await record(database, Author(team, ""), "team", plain, now)
    return team


async def add_member(database: Transaction, by: Author, name: object, role: object, now: int) -> Row:
    """A new member; one who left comes back as who they were."""
    plain, chosen = checked_name(name), checked_role(role)
    others = [one for _, one, _, _ in await database.run(SQL["members"], by.team) if one != plain]
    is_alike = plain.casefold() in map(str.casefold, others)
    rows = [] if is_alike else await database.run(SQL["member_made"], by.team, random_name("m"), plain, chosen, now)
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
    rows = await database.run(SQL["member"], team, member)
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
    await database.run(SQL["role_set"], chosen, by.team, member)
    await record(database, by, "role", f"{name} as {chosen}", now)
    made_for = [set(scopes.split()) for (scopes,) in await database.run(SQL["scopes"], by.team, member, now, now)]
    return (member, name, chosen, 1), not any(scopes.issuperset(OF_ROLE[chosen]) for scopes in made_for)


async def let_leave(database: Transaction, by: Author, member: str, now: int) -> None:
    """The member stays known, as the author of what they wrote; their tokens end."""
    _, name, _, _ = await member_of(database, by.team, member)
    await _require_other_admin(database, by.team, member)
    await database.run(SQL["member_left"], by.team, member)
    await database.run(SQL["tokens_revoked"], now, by.team, member)
    await record(database, by, "left", name, now)


async def _require_other_admin(database: Transaction, team: str, member: str) -> None:
    """Somebody must be left who can let others in. The team's row is held, so that two do not leave at once."""
    await database.run(SQL["team_locked"], team)
    if await database.run(SQL["admins"], team) == [(member,)]:
        raise HubRefusal(409, "last-admin", "that is the team's last admin", remedy="Make somebody else one first")


async def give_token(database: Transaction, by: Author, new: NewToken, now: int) -> tuple[str, str]:
    name = await _require_here(database, by.team, new.member or "")
    token, value = await make_token(database, new, now)
    await record(database, by, "token", f"{token} for {name}: {' '.join(new.scopes)}", now)
    return token, value


async def revoke_token(database: Transaction, by: Author, token: str, now: int) -> None:
    rows = await database.run(SQL["token_revoked"], now, token)
    if not rows:
        raise not_found("there is no such token")
    await record(database, by._replace(team=rows[0][0] or by.team), "revoke", token, now)  # in that team's audit


def sealed(seal_key: str, etag: str, name: str) -> str:
    """What tells this hub alone that it had a text from a member, whatever else it has lost (ADR 0083)."""
    return hmac.digest(seal_key.encode(), f"{etag} {name}".encode("utf-8", "surrogatepass"), "sha256").hex()


async def author_of(database: HubDatabase, by: Author, change: Change, told: dict[str, object], now: int) -> Author:
    """In whose name a change is made: of whoever sends it, unless a seal says whose a text is that the hub has lost."""
    name, seal = told.get("author"), told.get("seal")
    if not isinstance(name, str) or not isinstance(seal, str) or change.etag is None:
        return by
    _, _, seal_key = await database.revision(by.team)
    if not hmac.compare_digest(sealed(seal_key, change.etag, name).encode(), seal.encode("utf-8", "replace")):
        return by
    if await database.run(database.text_known, by.team, change.etag):
        return by
    ((member, is_active, purged),) = await database.run(SQL["author"], by.team, random_name("m"), name, now)
    if purged is not None and not is_active:
        raise HubRefusal(409, "purged", "that text is of a member who was purged")
    return by._replace(member=member)


class Purged(NamedTuple):
    """What a purge did, by keys."""

    revision: int
    removed: list[str]
    derived: list[str]  # what others made from it, and stays
    mixed: list[str]  # what was removed though words of others stand in it


async def purge(
    database: Transaction, by: Author, member: str, now: int, *, derived: bool, log: TeamLog | None = None
) -> Purged:
    """Remove what a member wrote, and erase it from the versions and the proposals (L2); if `derived`, what others made
    from it as well. The log may have been read before, as far as it went then."""
    _, name, _, _ = await member_of(database, by.team, member)
    await database.run(SQL["team_locked"], by.team)
    texts = await (log or TeamLog(by.team)).read(database)
    own = {rev for rev, one in texts.items() if one.is_of(member)}
    made = {rev for rev, one in texts.items() if member in one.all} - own
    live = {rev: (key, etag) for rev, key, etag in await database.run(SQL["entries_living"], by.team)}
    goes = own | made if derived else own
    gone = sorted(live.keys() & goes, key=live.__getitem__)
    await database.apply(by, [Change("delete", *live[rev], None, None, 0, now, "purged") for rev in gone], now)
    for rev in goes:
        await database.run(SQL["version_purged"], now, by.team, rev)
    for rev in made - goes:
        await database.run(SQL["version_holds"], member, by.team, rev)  # for a purge that takes it along one day
    await drop_proposals(database, by.team, f"{name} was purged", now)
    ((revision,),) = await database.run(SQL["team_purged"], by.team)
    await database.run(SQL["member_purged"], revision, by.team, member)
    await record(database, by, "purge", f"{name}: {len(gone)} entries", now)
    mixed = [live[rev][0] for rev in gone if texts[rev].words - {member}]
    stays = sorted({texts[rev].key for rev in made} - {live[rev][0] for rev in gone})
    return Purged(revision, [live[rev][0] for rev in gone], [] if derived else stays, mixed)


class TextAuthors(NamedTuple):
    """Whose one text is."""

    key: str
    author: str  # who sent it first
    all: Members  # whose texts it was made from, its author among them
    words: Members  # of whom a sentence stands in it

    def is_of(self, member: str) -> bool:
        """Whether it goes with its author: not what somebody only took over from others, word for word."""
        return self.author == member and (member in self.words or not self.words)


@dataclass
class TeamLog:
    """Of every text of a team, by its revision, whose it is, as far as it was read; in one that is no longer kept
    nobody but its author has a hand."""

    team: str
    found: dict[int, TextAuthors] = field(default_factory=dict)
    texts: dict[str, TextAuthors] = field(default_factory=dict)  # by ETag: a text is the same whoever sends it again
    stands: dict[str, Members] = field(default_factory=dict)  # by key: who had a hand in what stands there
    said: dict[str, str] = field(default_factory=dict)  # who was the first to say a sentence
    last: int = 0

    async def read(self, database: Transaction, *, breathes: bool = False) -> dict[int, TextAuthors]:
        """Read on to its end. Where it `breathes`, others are answered meanwhile."""
        dreamt: Dreamt = {}
        for key, decided, base in await database.run(SQL["accepted"], self.team):
            dreamt.setdefault((key, decided), []).append(base)
        while rows := await database.run(SQL["log"], self.team, self.last, PAGE):
            for row in rows:
                self._take(dreamt, *row)
            if breathes:
                await asyncio.sleep(0)
        return self.found

    def _take(self, dreamt: Dreamt, rev: int, key: str, etag: str | None, member: str, *row: Any) -> None:
        self.last, (changed, holds, content) = rev, row
        if etag is None:  # deleted: what comes after is begun again
            self.stands.pop(key, None)
            return
        if etag not in self.texts:
            words = frozenset(self.said.setdefault(one, member) for one in _sentences(content or ""))
            sources = (self.texts[base].all for base in dreamt.get((key, changed), ()) if base in self.texts)
            made = frozenset({member}).union(words, self.stands.get(key, ()), *sources)
            self.texts[etag] = TextAuthors(key, member, made, words)
        one = self.texts[etag] = self.texts[etag]._replace(all=self.texts[etag].all.union((holds or "").split()))
        self.stands[key] = one.all
        self.found[rev] = one._replace(key=key, all=one.all if content is not None else frozenset())


def _sentences(content: str) -> list[str]:
    """What a text says, as it is said again elsewhere: as another list item, with another stop."""
    body = Topic(content.encode()).body.replace(IN_OWN_WORDS, "")
    found = (one.strip(_MARKS).casefold() for one in _STOPS.split(body))
    return [one for one in found if len(one.encode()) >= LEAST_BYTES]
