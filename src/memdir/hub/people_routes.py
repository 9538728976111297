"""Who one is, and what admins do: members, tokens, the audit."""

from __future__ import annotations

import re

from starlette.requests import Request
from starlette.responses import Response

from memdir.hub import people
from memdir.hub.bearer import OF_ROLE, SCOPES, Bearer, NewToken, known_form
from memdir.hub.bounds import MAX_BATCH, limit_of, read_json
from memdir.hub.hub_commands import MAX_DAYS
from memdir.hub.hub_database import SQL, Row
from memdir.hub.hub_state import Hub
from memdir.hub.reply import answer, bad_request, not_found, read_time, told_time

DEFAULT_DAYS = 365  # a token that nobody renews ends by itself
MOST_ACTIONS = 200
_PLACE = re.compile(r"([0-9]{1,15})\.([0-9]{1,18})")  # of an action in the audit: when, and its number


class PeopleRoutes:
    """A team's people and what lets them in."""

    def __init__(self, hub: Hub) -> None:
        self._hub = hub

    async def me(self, request: Request) -> Response:
        identity = await self._hub.identify(request, "read")
        (row,) = await self._hub.database.run(SQL["team_told"], identity.team)
        name, revision, entries, entry_bytes, team_bytes, live, used = row
        limits = {"entries": entries, "entryBytes": entry_bytes, "teamBytes": team_bytes, "batch": MAX_BATCH}
        told: dict[str, object] = {"team": {"id": identity.team, "name": name, "revision": revision}}
        told |= {"member": {"id": identity.member, "name": identity.name}, "role": identity.role}
        told |= {"scopes": [scope for scope in SCOPES if scope in identity.scopes]}
        told |= {"expires": told_time(identity.expires), "limits": limits, "used": {"entries": live, "bytes": used}}
        return answer(told)

    async def members(self, request: Request) -> Response:
        if request.method == "POST":
            identity = await self._hub.identify(request, "admin")
            given = await read_json(request)
            name, role = given.get("name"), given.get("role")
            async with self._hub.database.transaction() as database:
                row = await people.add_member(database, identity.author, name, role, self._hub.now)
            return answer(people.told_member(row), 201)
        identity = await self._hub.identify(request, "read")
        rows = await self._hub.database.run(SQL["members"], identity.team)
        return answer({"members": [people.told_member(row) for row in rows]})

    async def member(self, request: Request) -> Response:
        member = known_form(request.path_params["member"])
        identity = await self._hub.identify(request, "read")
        if request.method == "PATCH" or member != identity.member:
            identity.require("admin")
        identity.require_all()
        if request.method == "DELETE":
            async with self._hub.database.transaction() as database:
                await people.let_leave(database, identity.author, member, self._hub.now)
            self._hub.identities.forget()
            return answer({"ok": True})
        role = (await read_json(request)).get("role")
        async with self._hub.database.transaction() as database:
            row, needs_token = await people.set_role(database, identity.author, member, role, self._hub.now)
        self._hub.identities.forget()
        return answer({**people.told_member(row), "needsToken": needs_token})

    async def purge(self, request: Request) -> Response:
        identity = await self._hub.identify(request, "admin")
        given = await read_json(request, empty=b"{}")
        member, is_derived = known_form(request.path_params["member"]), given.get("derived") is True
        log = people.TeamLog(identity.team)
        await log.read(self._hub.database, breathes=True)  # in the transaction nobody else is answered
        async with self._hub.database.transaction() as database:
            told = await people.purge(database, identity.author, member, self._hub.now, derived=is_derived, log=log)
        warned = await self._hub.database.scrub()
        self._hub.waiting.wake(identity.team)
        return answer({**told._asdict(), **warned})

    async def tokens(self, request: Request) -> Response:
        if request.method == "POST":
            return await self._new_token(request)
        identity = await self._hub.identify(request, "read")
        return answer({"tokens": [_token(row) for row in await self._tokens_of(identity)]})

    async def _tokens_of(self, identity: Bearer) -> list[Row]:
        """One's own; of everybody, for an admin."""
        is_all = int("admin" in identity.scopes)
        return await self._hub.database.run(SQL["tokens"], identity.team, identity.member, is_all)

    async def _new_token(self, request: Request) -> Response:
        identity = await self._hub.identify(request, "admin")
        given = await read_json(request)
        member, days = known_form(given.get("member", identity.member)), given.get("days", DEFAULT_DAYS)
        if not isinstance(days, int) or isinstance(days, bool) or not 0 < days <= MAX_DAYS:
            raise bad_request(f"`days` is a number from 1 to {MAX_DAYS}")
        async with self._hub.database.transaction() as database:
            _, name, role, _ = await people.member_of(database, identity.team, member)
            scopes = given.get("scopes", list(OF_ROLE[role]))
            if not isinstance(scopes, list) or not scopes or not all(scope in SCOPES for scope in scopes):
                raise bad_request("`scopes` is a list of read, write, admin")
            expires = self._hub.now + days * people.DAY
            label = people.checked_name(given.get("label", name), "label")
            new = NewToken(identity.team, member, label, tuple(s for s in SCOPES if s in scopes), expires)
            token, value = await people.give_token(database, identity.author, new, self._hub.now)
        return answer({"id": token, "token": value, "expires": told_time(expires)}, 201)

    async def token(self, request: Request) -> Response:
        identity = await self._hub.identify(request, "read")
        token = known_form(request.path_params["token"])
        if token != identity.token:
            identity.require_all()
        if token not in [row[0] for row in await self._tokens_of(identity)]:
            raise not_found("there is no such token")
        async with self._hub.database.transaction() as database:
            await people.revoke_token(database, identity.author, token, self._hub.now)
        self._hub.identities.forget()
        return answer({"ok": True})

    async def audit(self, request: Request) -> Response:
        identity = await self._hub.identify(request, "admin")
        team, limit, asked = identity.team, limit_of(request, MOST_ACTIONS), request.query_params.get("before")
        at, number = 1 << 62, 0  # also what a worker told whose clock was ahead
        if asked:
            named = _PLACE.fullmatch(asked)
            at, number = map(int, named.groups()) if named else (read_time(asked, now=self._hub.now), 0)
        rows = await self._hub.database.run(SQL["audit"], team, at, team, at, team, at, number, limit + 1)
        shown = [
            {"at": told_time(at), "by": {"id": member or "", "name": name or ""}, "token": token}
            | {"action": action, "what": what}
            for at, _, member, name, token, action, what in rows[:limit]
        ]
        place = f"{rows[limit - 1][0]}.{rows[limit - 1][1]}" if len(rows) > limit else None
        return answer({"actions": shown, "more": place is not None, "next": place})


def _token(row: Row) -> dict[str, object]:
    token, member, name, label, scopes, *times, revoked = row
    told = {"id": token, "member": {"id": member, "name": name}, "label": label, "scopes": scopes.split()}
    told |= dict(zip(("created", "expires", "used"), map(told_time, times), strict=True))
    return {**told, "revoked": revoked is not None}
