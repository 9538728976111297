"""Who one is, and what admins do: members, tokens, the audit."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from memdir.hub import people
from memdir.hub.bearer import OF_ROLE, SCOPES, NewToken, known_form
from memdir.hub.bounds import MAX_BATCH, MAX_SMALL_BYTES, read_body
from memdir.hub.entry_routes import read_json, whole_number
from memdir.hub.hub_database import Row
from memdir.hub.hub_state import Hub
from memdir.hub.reply import answer, bad_request, not_found, read_time, told_time

DEFAULT_DAYS = 365  # a token that nobody renews ends by itself
MOST_ACTIONS = 200

_TEAM = (
    "select name, revision, max_entries, max_entry_bytes, max_bytes, live_entries, live_bytes from teams where id = ?"
)
_TOKENS = (
    "select t.id, t.member, m.name, t.label, t.scopes, t.created, t.expires, t.used, t.revoked from tokens t"
    " join members m on m.team = t.team and m.id = t.member where t.team = ? and (t.member = ? or ? = 1)"
    " order by t.created, t.id"
)
# The versions say who changed which entry, the actions the rest.
_AUDIT = (
    "select a.at, a.member, m.name, a.token, a.action, a.what from"
    " (select at, member, token, action, what from actions where team = ? and at < ? union all"
    " select changed, member, token, op, key from versions where team = ? and changed < ?) a"
    " left join members m on m.team = ? and m.id = a.member order by a.at desc, a.what limit ?"
)


class PeopleRoutes:
    """A team's people and what lets them in."""

    def __init__(self, hub: Hub) -> None:
        self._hub = hub

    def routes(self) -> list[Route]:
        team = "/v1/teams/{team}"
        return [
            Route("/v1/me", self.me, methods=["GET"]),
            Route(f"{team}/members", self.members, methods=["GET", "POST"]),
            Route(f"{team}/members/{{member}}", self.member, methods=["PATCH", "DELETE"]),
            Route(f"{team}/members/{{member}}/purge", self.purge, methods=["POST"]),
            Route(f"{team}/tokens", self.tokens, methods=["GET", "POST"]),
            Route(f"{team}/tokens/{{token}}", self.token, methods=["DELETE"]),
            Route(f"{team}/audit", self.audit, methods=["GET"]),
        ]

    async def me(self, request: Request) -> Response:
        identity = await self._hub.identify(request, "read")
        (row,) = await self._hub.database.run(_TEAM, identity.team)
        name, revision, entries, entry_bytes, team_bytes, live, used = row
        limits = {"entries": entries, "entryBytes": entry_bytes, "teamBytes": team_bytes, "batch": MAX_BATCH}
        return answer(
            {
                "team": {"id": identity.team, "name": name, "revision": revision},
                "member": {"id": identity.member, "name": identity.name},
                "role": identity.role,
                "scopes": [scope for scope in SCOPES if scope in identity.scopes],
                "expires": told_time(identity.expires),
                "limits": limits,
                "used": {"entries": live, "bytes": used},
            }
        )

    async def members(self, request: Request) -> Response:
        if request.method == "POST":
            identity = await self._hub.identify(request, "admin")
            given = read_json(await read_body(request, MAX_SMALL_BYTES))
            name, role = given.get("name"), given.get("role")
            async with self._hub.database.transaction() as database:
                row = await people.add_member(database, identity.author, name, role, self._hub.now)
            return answer(people.told_member(row), 201)
        identity = await self._hub.identify(request, "read")
        rows = await self._hub.database.run(people.MEMBERS, identity.team)
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
        role = read_json(await read_body(request, MAX_SMALL_BYTES)).get("role")
        async with self._hub.database.transaction() as database:
            row, needs_token = await people.set_role(database, identity.author, member, role, self._hub.now)
        self._hub.identities.forget()
        return answer({**people.told_member(row), "needsToken": needs_token})

    async def purge(self, request: Request) -> Response:
        identity = await self._hub.identify(request, "admin")
        given = read_json(await read_body(request, MAX_SMALL_BYTES) or b"{}")
        member, is_derived = known_form(request.path_params["member"]), given.get("derived") is True
        async with self._hub.database.transaction() as database:
            told = await people.purge(database, identity.author, member, self._hub.now, derived=is_derived)
        await self._hub.database.scrub()
        self._hub.waiting.wake(identity.team)
        return answer(dict(zip(("revision", "removed", "derived"), told, strict=True)))

    async def tokens(self, request: Request) -> Response:
        if request.method == "POST":
            return await self._new_token(request)
        identity = await self._hub.identify(request, "read")
        rows = await self._hub.database.run(_TOKENS, identity.team, identity.member, int("admin" in identity.scopes))
        return answer({"tokens": [_token(row) for row in rows]})

    async def _new_token(self, request: Request) -> Response:
        identity = await self._hub.identify(request, "admin")
        given = read_json(await read_body(request, MAX_SMALL_BYTES))
        member, days = known_form(given.get("member", identity.member)), given.get("days", DEFAULT_DAYS)
        if not isinstance(days, int) or isinstance(days, bool) or not 0 < days <= people.MAX_DAYS:
            raise bad_request(f"`days` is a number from 1 to {people.MAX_DAYS}")
        async with self._hub.database.transaction() as database:
            _, name, role, _ = await people.member_of(database, identity.team, member)
            scopes = given.get("scopes", list(OF_ROLE[role]))
            if not isinstance(scopes, list) or not scopes or not all(scope in SCOPES for scope in scopes):
                raise bad_request("`scopes` is a list of read, write, admin")
            expires = self._hub.now + days * people.DAY
            label = people.checked_name(given.get("label", name))
            new = NewToken(identity.team, member, label, tuple(s for s in SCOPES if s in scopes), expires)
            token, value = await people.give_token(database, identity.author, new, self._hub.now)
        return answer({"id": token, "token": value, "expires": told_time(expires)}, 201)

    async def token(self, request: Request) -> Response:
        identity = await self._hub.identify(request, "read")
        token = known_form(request.path_params["token"])
        if token != identity.token:
            identity.require_all()
        rows = await self._hub.database.run(_TOKENS, identity.team, identity.member, int("admin" in identity.scopes))
        if token not in [row[0] for row in rows]:
            raise not_found("there is no such token")
        async with self._hub.database.transaction() as database:
            await people.revoke_token(database, identity.author, token, self._hub.now)
        self._hub.identities.forget()
        return answer({"ok": True})

    async def audit(self, request: Request) -> Response:
        identity = await self._hub.identify(request, "admin")
        limit = min(MOST_ACTIONS, max(1, whole_number(request.query_params.get("limit"), MOST_ACTIONS)))
        asked = request.query_params.get("before")
        before = read_time(asked, now=self._hub.now) if asked else self._hub.now + 1_000
        team = identity.team
        rows = await self._hub.database.run(_AUDIT, team, before, team, before, team, limit + 1)
        shown = [
            {"at": told_time(at), "by": {"id": member or "", "name": name or ""}, "token": token}
            | {"action": action, "what": what}
            for at, member, name, token, action, what in rows[:limit]
        ]
        return answer({"actions": shown, "more": len(rows) > limit})


def _token(row: Row) -> dict[str, object]:
    token, member, name, label, scopes, *times, revoked = row
    told = {"id": token, "member": {"id": member, "name": name}, "label": label, "scopes": scopes.split()}
    told |= dict(zip(("created", "expires", "used"), map(told_time, times), strict=True))
    return {**told, "revoked": revoked is not None}
