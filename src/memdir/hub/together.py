"""What several ask for while the last answer is on its way is asked for at once: a round trip costs more than a row."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Generic, TypeVar

from memdir.hub.hub_database import DatabaseBusy

MOST_TOGETHER = 64

Q = TypeVar("Q")
A = TypeVar("A")


class Together(Generic[Q, A]):
    """One question at a time for each group; `ask_all` answers a list of them in its order. With `gather_seconds` a
    question waits so long for others before it is asked."""

    def __init__(self, ask_all: Callable[[str, list[Q]], Awaitable[list[A]]], *, gather_seconds: float = 0.0) -> None:
        self._ask_all = ask_all
        self._gather_seconds = gather_seconds
        self._waiting: dict[str, list[tuple[Q, asyncio.Future[A]]]] = {}
        self._running: dict[str, asyncio.Task[None]] = {}

    async def ask(self, group: str, question: Q) -> A:
        answered: asyncio.Future[A] = asyncio.get_running_loop().create_future()
        self._waiting.setdefault(group, []).append((question, answered))
        if group not in self._running:
            self._running[group] = asyncio.create_task(self._serve(group))
        return await answered

    async def _serve(self, group: str) -> None:
        try:
            if self._gather_seconds:
                await asyncio.sleep(self._gather_seconds)
            while waiting := self._waiting[group][:MOST_TOGETHER]:
                self._waiting[group] = self._waiting[group][MOST_TOGETHER:]
                await self._answer(group, waiting)
        finally:
            del self._running[group], self._waiting[group]

    async def _answer(self, group: str, waiting: list[tuple[Q, asyncio.Future[A]]]) -> None:
        try:
            answers = await self._ask_all(group, [question for question, _ in waiting])
            for (_, answered), answer in zip(waiting, answers, strict=True):
                if not answered.done():
                    answered.set_result(answer)
        except DatabaseBusy as error:
            for _, answered in waiting:
                if not answered.done():
                    answered.set_exception(error)
        finally:
            for _, answered in waiting:
                answered.cancel()  # something else went wrong, which the log tells: nobody waits for ever
