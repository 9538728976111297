"""Recall beside the main request (R4): started when the user's message arrives, joins when ready, never waited for."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from memdir.transcript.message import Message, user

Show = Callable[[], list[str]]  # what was found, as texts; marks it as shown


class Prefetch:
    """A recall in flight. `ready` gives its messages once; `cancel` is called when the turn ends."""

    def __init__(self, find: Callable[[], Awaitable[Show]]) -> None:
        self._task = asyncio.get_running_loop().create_task(self._run(find), name="memdir recall")
        self._is_taken = False

    async def _run(self, find: Callable[[], Awaitable[Show]]) -> Show:
        try:
            return await find()
        except Exception:  # noqa: BLE001 - the turn goes on: recall that fails is recall that finds nothing
            return list

    @property
    def is_done(self) -> bool:
        """Whether `ready` has all that will come."""
        return self._task.done()

    def ready(self) -> list[Message]:
        """The messages to append, if recall has come to an end and they were not taken yet; marks them as shown."""
        if self._is_taken or not self._task.done() or self._task.cancelled():
            return []
        self._is_taken = True
        show = self._task.result()
        return [user(text, is_meta=True) for text in show()]

    async def cancel(self) -> None:
        """The turn is over: what did not come in time is not needed any more."""
        self._task.cancel()
        await asyncio.gather(self._task, return_exceptions=True)
