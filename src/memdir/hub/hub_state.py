"""What all answers of one worker share: database, clock, who is who, who waits, what was counted."""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Callable, Sequence

from starlette.requests import Request

from memdir.hub.bearer import Bearer, Identities, token_of
from memdir.hub.bounds import Buckets, Rates
from memdir.hub.content_check import require_shareable
from memdir.hub.hub_database import HubDatabase
from memdir.hub.reply import HubRefusal, bad_request, not_found
from memdir.hub.waiting import Waiting

INLINE_BYTES = 32 * 1024  # more is looked through in a thread, so that others are answered meanwhile

Check = Callable[[str, bytes], None]


class Hub:
    """One worker's hub. It keeps nothing that another worker would need."""

    def __init__(
        self,
        database: HubDatabase,
        *,
        clock: Callable[[], float] = time.time,
        check: Check | None = require_shareable,
        rates: Rates | None = None,
    ) -> None:
        bounds = rates or Rates()
        self.database = database
        self.clock = clock
        self.identities = Identities(database, clock)
        self.waiting = Waiting(database)
        self.counted: Counter[tuple[str, int]] = Counter()  # requests by route and status
        self.seconds: dict[str, float] = {}  # spent by route
        self._check = check
        self._buckets = Buckets(bounds.of_token, bounds.burst_of_token, time.monotonic)
        self._strangers = Buckets(bounds.of_stranger, bounds.burst_of_stranger, time.monotonic)

    @property
    def now(self) -> int:
        return int(self.clock() * 1000)

    async def identify(self, request: Request, scope: str) -> Bearer:
        """Who asks, if their token lets them do this in this team."""
        if b"mdh_" in request.scope["query_string"] or b"token=" in request.scope["query_string"]:
            raise bad_request("a token never stands in a URL; it is known to logs now: revoke it")
        try:
            identity = await self.identities.of(token_of(request.scope["headers"]))
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
        return identity

    def require_shareable(self, key: str, data: bytes) -> None:
        if self._check is not None:
            self._check(key, data)

    async def check(self, items: Sequence[tuple[str, bytes]]) -> list[HubRefusal | None]:
        """What must not be shared among these texts."""
        if self._check is None or sum(len(data) for _, data in items) <= INLINE_BYTES:
            return self._checked(items)
        return await asyncio.to_thread(self._checked, items)

    def _checked(self, items: Sequence[tuple[str, bytes]]) -> list[HubRefusal | None]:
        found: list[HubRefusal | None] = []
        for key, data in items:
            try:
                self.require_shareable(key, data)
                found.append(None)
            except HubRefusal as refused:
                found.append(refused)
        return found
