"""What works for the team in the background, and what it proposes: nothing of it is written unless a member says so."""

from __future__ import annotations

from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from memdir.hub.bounds import path_number, read_json, require_key
from memdir.hub.entry_routes import harmless_reason, refusal_of
from memdir.hub.hub_database import SQL, Change
from memdir.hub.hub_state import Hub
from memdir.hub.jobs import KINDS, ask_for, told_job
from memdir.hub.people import record
from memdir.hub.reply import HubRefusal, answer, bad_request, told_time
from memdir.share.remote import digest_of

STATES = ("open", "accepted", "rejected")


class JobRoutes:
    """Jobs and proposals of a team."""

    def __init__(self, hub: Hub) -> None:
        self._hub = hub

    async def jobs(self, request: Request) -> Response:
        if request.method == "POST":
            identity = await self._hub.identify(request, "admin")
            kind = (await read_json(request)).get("kind")
            if kind not in KINDS:
                raise bad_request(f"`kind` is {' or '.join(KINDS)}")
            async with self._hub.database.transaction() as database:
                row, is_new = await ask_for(database, identity.team, kind, self._hub.now)
            return answer(told_job(row, self._hub.now), 201 if is_new else 200)
        identity = await self._hub.identify(request, "read")
        rows = await self._hub.database.run(SQL["jobs_of_team"], identity.team)
        return answer({"jobs": [told_job(row, self._hub.now) for row in rows]})

    async def proposals(self, request: Request) -> Response:
        identity = await self._hub.identify(request, "read")
        state = request.query_params.get("state", "open")
        if state not in STATES:
            raise bad_request(f"`state` is one of {', '.join(STATES)}")
        shown: dict[int, dict[str, Any]] = {}
        values = (int(request.query_params.get("content") == "0"), *(identity.team, state) * 2)
        for id_, job, reason, at, created, *parts in await self._hub.database.run(SQL["proposals"], *values):
            change = dict(zip(("op", "key", "base", "content"), parts, strict=True))
            told = {"id": id_, "job": job, "reason": reason, "state": at, "created": told_time(created), **change}
            shown.setdefault(id_, {**told, "changes": []})["changes"].append(change)
        return answer({"proposals": list(shown.values())})

    async def decide(self, request: Request) -> Response:
        identity = await self._hub.identify(request, "write")
        state = {"accept": "accepted", "reject": "rejected"}.get(str((await read_json(request)).get("decision")))
        if state is None:
            raise bad_request("`decision` is accept or reject")
        proposal = path_number(request, "proposal")
        now = self._hub.now  # one moment, by which a purge knows the version
        async with self._hub.database.transaction() as database:
            rows = await database.run(SQL["proposal_decided"], state, identity.member, now, identity.team, proposal)
            if not rows:
                if not await database.run(SQL["proposal_known"], identity.team, proposal):
                    told, remedy = "there is no such proposal", "`memdir review` lists what waits"
                    raise HubRefusal(404, "not-found", told, remedy=remedy)
                raise HubRefusal(409, "twice", "that was decided already")
            if state == "accepted":  # all of its changes or none: a refusal takes back what was done
                changes = sorted((self._change(*row) for row in rows), key=lambda change: change.op)
                _, done = await database.apply(identity.author, changes, now)
                if refused := next(filter(None, map(refusal_of, done)), None):
                    if refused.kind == "conflict":
                        refused.message = "somebody has changed the text since it was dreamt of"
                        refused.remedy = "Reject it: the next night looks at the text as it is now"
                    raise refused
            await database.run(SQL["proposal_emptied"], identity.team, proposal)
            await record(database, identity.author, state, f"proposal {proposal}", now)
        self._hub.waiting.wake(identity.team)
        return answer({"ok": True})

    def _change(self, op: str, key: str, base: str | None, content: str | None, reason: str) -> Change:
        """As a member would send it, and looked at as closely."""
        require_key(key)
        if op == "delete":
            return Change("delete", key, base, None, None, 0, self._hub.now, harmless_reason(reason))
        data = (content or "").encode()
        self._hub.require_shareable(key, data)
        return Change("put", key, base, digest_of(data), content, len(data), self._hub.now)
