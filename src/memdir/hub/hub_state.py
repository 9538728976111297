"""What all answers of one worker share: database, clock, who is who, who waits, what was counted."""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Callable, Sequence
from functools import partial

from starlette.requests import Request

from memdir.hub import bounds
from memdir.hub.bearer import Bearer, Identities, token_of
from memdir.hub.hub_database import Change, DatabaseBusy, HubDatabase
from memdir.hub.reply import HubRefusal, bad_request, not_found

CHUNK = 500  # teams that one statement asks for
INLINE_BYTES = 4 * 1024  # more is looked through in a thread, so that others are answered meanwhile


class Waiting:
    """Clients that wait for news of their team: one look at the database for all of them, a word from it at once."""

    def __init__(self, database: HubDatabase) -> None:
        self._database = database
        self._waiters: dict[str, set[asyncio.Event]] = {}
        self._of_token: Counter[str] = Counter()
        self._seen: dict[str, int] = {}
        self._is_ending = False

    @property
    def count(self) -> int:
        return self._of_token.total()

    def wake(self, team: str) -> None:
        for waiter in self._waiters.get(team, ()):
            waiter.set()

    def let_go(self) -> None:
        """The hub ends: whoever waits is answered at once, and may come again."""
        self._is_ending = True
        for team in self._waiters:
            self.wake(team)

    async def beyond(self, team: str, since: int, *, seconds: float, token: str) -> int:
        """The team's revision as soon as it is beyond `since`, or when the time is over."""
        is_too_much = self._of_token[token] >= bounds.MOST_WAITING_OF_TOKEN or self.count >= bounds.MOST_WAITING
        if is_too_much or len(self._waiters.get(team, ())) >= bounds.MOST_WAITING_OF_TEAM:
            raise HubRefusal(429, "rate", "too many clients wait already").after(seconds)
        waiter = asyncio.Event()
        self._waiters.setdefault(team, set()).add(waiter)
        self._of_token[token] += 1
        try:
            async with asyncio.timeout(seconds):
                while (revision := (await self._database.revision(team))[0]) <= since and not self._is_ending:
                    if self._seen.setdefault(team, revision) != revision:
                        self._seen[team] = revision
                        self.wake(team)  # those who have waited longer have not heard of it yet
                    await waiter.wait()
                    waiter.clear()
        except TimeoutError:
            revision = (await self._database.revision(team))[0]
        finally:
            self._of_token[token] -= 1
            self._of_token += Counter()  # drops who waits no more
            self._waiters[team].discard(waiter)
            if not self._waiters[team]:
                del self._waiters[team]
                self._seen.pop(team, None)
        return int(revision)

    async def watch(self) -> None:
        """Runs as long as the hub does. A word that was lost costs half a second, never a client's whole wait."""
        while True:
            for team in await self._database.news():
                self.wake(team)
            try:
                await self._look()
            except DatabaseBusy:
                continue  # it is told to those who ask; news come when it is back

    async def _look(self) -> None:
        teams = list(self._waiters)
        for first in range(0, len(teams), CHUNK):
            some = teams[first : first + CHUNK]
            marks = ", ".join("?" * len(some))
            rows = await self._database.run(f"select id, revision from teams where id in ({marks})", *some)  # noqa: S608
            for team, revision in rows:
                if revision != self._seen.get(team, revision):
                    self._seen[team] = revision
                    self.wake(team)


class Hub:
    """One worker's hub. It keeps nothing that another worker would need."""

    def __init__(
        self,
        database: HubDatabase,
        *,
        clock: Callable[[], float] = time.time,
        check: Callable[[str, bytes], None] = bounds.require_shareable,
        rates: bounds.Rates | None = None,
    ) -> None:
        allowed = rates or bounds.Rates()
        self.database = database
        self.clock = clock
        self.identities = Identities(database, clock)
        self.waiting = Waiting(database)
        self.counted: Counter[tuple[str, int]] = Counter()  # requests by route and status
        self.seconds: dict[str, float] = {}  # spent by route
        self.require_shareable = check
        self._buckets = bounds.Buckets(allowed.of_token, allowed.burst_of_token)
        self._in_flight = bounds.InFlight()
        self._strangers = bounds.Buckets(allowed.of_stranger, allowed.burst_of_stranger)

    @property
    def now(self) -> int:
        return int(self.clock() * 1000)

    async def identify(self, request: Request, scope: str) -> Bearer:
        """Who asks, if their token lets them do this in this team."""
        if b"mdh_" in request.scope["query_string"] or b"token=" in request.scope["query_string"]:
            raise bad_request("a token never stands in a URL; it is known to logs now: revoke it")
        try:
            token = token_of(request.scope["headers"])
            identity = await self.identities.of(token)
        except HubRefusal as refused:
            if refused.status == 401:  # who has a token is not kept out by others behind the same address
                client = request.scope.get("client")
                self._strangers.take(str(client[0]) if client else "")
            raise
        self._buckets.take(identity.token)
        team = request.path_params.get("team")
        if team is not None and team != identity.team:
            raise not_found()
        identity.require(scope)
        request.scope["in_flight"] = partial(self._in_flight.hold, identity.token)
        request.scope["still"] = partial(self._still, identity, token)
        return identity

    async def _still(self, identity: Bearer, token: str) -> None:
        """A body may take its time, and a look through it: a token that was revoked meanwhile, or may do less by now,
        writes nothing."""
        now = await self.identities.of(token)
        if now is not identity and now != identity:
            raise HubRefusal(403, "not-allowed", "what this token may do was changed meanwhile", remedy="Try again")

    async def unshareable(self, request: Request, changes: Sequence[Change]) -> dict[str, HubRefusal]:
        """Which of these must not be shared, by their keys, and why."""
        if sum([change.size for change in changes]) <= INLINE_BYTES:
            return self._unshareable(changes)
        refused = await asyncio.to_thread(self._unshareable, changes)
        await request.scope["still"]()
        return refused

    def _unshareable(self, changes: Sequence[Change]) -> dict[str, HubRefusal]:
        found = {}
        for change in changes:
            try:
                if change.content is not None:
                    self.require_shareable(change.key, change.content.encode())
            except HubRefusal as refused:
                found[change.key] = refused
        return found
