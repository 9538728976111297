"""Recall beside the main request (R4): started when the user's message arrives, joins when ready, never waited for."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from memdir.transcript.message import Message, user


class Prefetch:
    """A recall in flight. `ready` gives its messages once; `cancel` is called when the turn ends."""

    def __init__(self, choose: Callable[[], Awaitable[list[str]]], render: Callable[[list[str]], list[str]]) -> None:
        self._task = asyncio.get_running_loop().create_task(self._run(choose), name="memdir recall")
        self._render = render
        self._is_taken = False

    async def _run(self, choose: Callable[[], Awaitable[list[str]]]) -> list[str]:
        try:
            return await choose()
        except Exception:  # noqa: BLE001 - the turn goes on: recall that fails is recall that finds nothing
            return []

    @property
    def is_done(self) -> bool:
        """Whether `ready` has all that will come."""
        return self._task.done()

    def ready(self) -> list[Message]:
        """The messages to append, if recall has come to an end and they were not taken yet; marks them as shown."""
        if self._is_taken or not self._task.done() or self._task.cancelled():
            return []
        self._is_taken = True
        return [user(text, is_meta=True) for text in self._render(self._task.result())]

    async def cancel(self) -> None:
        """The turn is over: what did not come in time is not needed any more."""
        self._task.cancel()
        await asyncio.gather(self._task, return_exceptions=True)
