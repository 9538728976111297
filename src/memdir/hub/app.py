"""The hub as an ASGI application: routes, health, metrics, and one place where what goes wrong becomes an answer."""

from __future__ import annotations

import asyncio
import json
import sys
import time
from typing import Any

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Match, Route
from starlette.types import Receive, Scope, Send

from memdir.errors import MemdirError
from memdir.hub.entry_routes import EntryRoutes
from memdir.hub.hub_database import SQL, DatabaseBusy
from memdir.hub.hub_state import Hub
from memdir.hub.job_routes import JobRoutes
from memdir.hub.people_routes import PeopleRoutes
from memdir.hub.reply import HttpReply, HubRefusal, answer, not_found

QUIET = frozenset((200, 201, 304, 404, 409, 410, 412, 428))  # the everyday; the rest is worth a line of the log
RETRY_SECONDS = 2


def to_stderr(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


class HubApp:
    """Answers for one worker. A request that is worth it is a line of JSON on stderr; with `access_log` every one."""

    def __init__(self, hub: Hub, *, access_log: bool = False) -> None:
        self._hub = hub
        self._access_log = access_log
        entries, people, jobs, team = EntryRoutes(hub), PeopleRoutes(hub), JobRoutes(hub), "/v1/teams/{team}"
        self.routes = [
            Route(f"{team}/entries/{{key:path}}", entries.entry, methods=["GET", "PUT", "DELETE"]),
            Route(f"{team}/entries", entries.manifest, methods=["GET"]),
            Route(f"{team}/batch", entries.batch, methods=["POST"]),
            Route(f"{team}/changes", entries.changes, methods=["GET"]),
            Route(f"{team}/versions", entries.versions, methods=["GET"]),
            Route(f"{team}/versions/{{revision}}", entries.version, methods=["GET"]),
            Route(f"{team}/versions/{{revision}}/redact", entries.redact, methods=["POST"]),
            Route("/v1/me", people.me, methods=["GET"]),
            Route(f"{team}/members", people.members, methods=["GET", "POST"]),
            Route(f"{team}/members/{{member}}", people.member, methods=["PATCH", "DELETE"]),
            Route(f"{team}/members/{{member}}/purge", people.purge, methods=["POST"]),
            Route(f"{team}/tokens", people.tokens, methods=["GET", "POST"]),
            Route(f"{team}/tokens/{{token}}", people.token, methods=["DELETE"]),
            Route(f"{team}/audit", people.audit, methods=["GET"]),
            Route(f"{team}/jobs", jobs.jobs, methods=["GET", "POST"]),
            Route(f"{team}/proposals", jobs.proposals, methods=["GET"]),
            Route(f"{team}/proposals/{{proposal}}", jobs.decide, methods=["POST"]),
            Route("/health", self.health, methods=["GET"]),
            Route("/ready", self.ready, methods=["GET"]),
            Route("/metrics", self.metrics, methods=["GET"]),
        ]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._live(receive, send)
        elif scope["type"] == "http":
            await self._answer(scope, receive, send)

    async def _answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        begun = time.perf_counter()
        route, status, kind = "none", 500, ""
        try:
            found = self._route(scope)
            route = found.path
            response: Response = await found.endpoint(Request(scope, receive))
            status = response.status_code
            await response(scope, receive, send)
        except (HubRefusal, DatabaseBusy) as error:
            busy = HubRefusal(503, "busy", "the database cannot be reached", remedy="Try again").after(RETRY_SECONDS)
            full = HubRefusal(503, "full", "the disk of the hub is full", remedy="Make room on it").after(RETRY_SECONDS)
            refused = error if isinstance(error, HubRefusal) else full if error.is_full else busy
            status, kind = refused.status, refused.kind
            await refused.response()(scope, receive, send)
        except Exception:
            if status == 500:
                await HubRefusal(500, "bug", "something went wrong in the hub").response()(scope, receive, send)
            raise  # the server's log says where
        finally:
            if let_go := scope.get("until_answered"):
                let_go()
            spent = time.perf_counter() - begun
            self._hub.counted[route, status] += 1
            self._hub.seconds[route] = self._hub.seconds.get(route, 0.0) + spent
            if self._access_log or status not in QUIET:
                self._tell(scope["method"], route, status, spent, kind)

    def _route(self, scope: Scope) -> Route:
        if "\0" in scope["path"]:
            raise not_found()
        match scope["path"].split("/", 5):  # the way that is walked most
            case ["", "v1", "teams", team, "entries", key] if team and key and scope["method"] in ("GET", "PUT"):
                scope["path_params"] = {"team": team, "key": key}
                return self.routes[0]
        allowed: list[str] = []
        for route in self.routes:
            match, child = route.matches(scope)
            if match == Match.FULL:
                scope.update(child)
                return route
            if match == Match.PARTIAL:
                allowed += sorted(route.methods or ())
        if allowed:
            refused = HubRefusal(405, "method", "that cannot be done with this path")
            refused.headers["allow"] = ", ".join(allowed)
            raise refused
        raise not_found()

    def _tell(self, method: str, route: str, status: int, spent: float, kind: str) -> None:
        """The route, never the path or a header: those hold keys, and what an attacker wants to see in a log."""
        told = {"at": round(self._hub.clock(), 3), "method": method[:10], "route": route, "status": status}
        told |= {"kind": kind} if kind else {}
        to_stderr(json.dumps({**told, "ms": round(spent * 1000, 2)}))

    async def _live(self, receive: Receive, send: Send) -> None:
        await receive()
        try:
            await self._hub.database.connect()
        except MemdirError as error:
            await send({"type": "lifespan.startup.failed", "message": str(error)})
            return
        watch = asyncio.create_task(self._hub.waiting.watch())
        await send({"type": "lifespan.startup.complete"})
        await receive()
        watch.cancel()
        await asyncio.wait((watch,))
        await self._hub.database.close()
        await send({"type": "lifespan.shutdown.complete"})

    async def health(self, _: Request) -> Response:
        """The process answers. No database and no queue is asked: a full one must not make a proxy kill the hub."""
        return answer({"ok": True})

    async def ready(self, _: Request) -> Response:
        await self._hub.database.run("select 1")
        return answer({"ok": True})

    async def metrics(self, request: Request) -> Response:
        await self._hub.identify(request, "metrics")
        ((count, created),) = await self._hub.database.run(SQL["jobs_open"])
        age = 0.0 if created is None else max(0.0, (self._hub.now - created) / 1000)
        figures: dict[str, Any] = {"waiting_clients": self._hub.waiting.count, "jobs_open": count}
        figures |= {"oldest_job_seconds": age, **self._hub.database.figures()}
        lines = [f"memdir_hub_{name} {value:g}" for name, value in figures.items()]
        for (route, status), times in sorted(self._hub.counted.items()):
            lines.append(f'memdir_hub_requests_total{{route="{route}",status="{status}"}} {times}')
        for route, seconds in sorted(self._hub.seconds.items()):
            lines.append(f'memdir_hub_request_seconds_total{{route="{route}"}} {seconds:.6f}')
        return HttpReply(200, "\n".join([*lines, ""]).encode(), b"text/plain; version=0.0.4")
