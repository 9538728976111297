"""Clients that wait for news of their team: one look at the database for all of them, and a word from it at once."""

from __future__ import annotations

import asyncio
from collections import Counter

from memdir.hub.bounds import MOST_WAITING, MOST_WAITING_OF_TOKEN
from memdir.hub.hub_database import DatabaseBusy, HubDatabase
from memdir.hub.reply import HubRefusal

_REVISION = "select revision from teams where id = ?"
CHUNK = 500  # teams that one statement asks for


class Waiting:
    """Who waits for which team."""

    def __init__(self, database: HubDatabase) -> None:
        self._database = database
        self._waiters: dict[str, set[asyncio.Event]] = {}
        self._of_token: Counter[str] = Counter()
        self._seen: dict[str, int] = {}

    @property
    def count(self) -> int:
        return self._of_token.total()

    def wake(self, team: str) -> None:
        for waiter in self._waiters.get(team, ()):
            waiter.set()

    async def revision(self, team: str) -> int:
        rows = await self._database.run(_REVISION, team)
        return int(rows[0][0]) if rows else 0

    async def beyond(self, team: str, since: int, *, seconds: float, token: str) -> int:
        """The team's revision as soon as it is beyond `since`, or when the time is over."""
        if self.count >= MOST_WAITING or self._of_token[token] >= MOST_WAITING_OF_TOKEN:
            raise HubRefusal(429, "rate", "too many clients wait already").after(seconds)
        waiter = asyncio.Event()
        self._waiters.setdefault(team, set()).add(waiter)
        self._of_token[token] += 1
        try:
            async with asyncio.timeout(seconds):
                while (revision := await self.revision(team)) <= since:
                    self._seen[team] = revision
                    await waiter.wait()
                    waiter.clear()
        except TimeoutError:
            return await self.revision(team)
        finally:
            self._leave(team, waiter, token)
        return revision

    def _leave(self, team: str, waiter: asyncio.Event, token: str) -> None:
        self._of_token[token] -= 1
        self._of_token += Counter()  # drops who waits no more
        self._waiters[team].discard(waiter)
        if not self._waiters[team]:
            del self._waiters[team]
            self._seen.pop(team, None)

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
