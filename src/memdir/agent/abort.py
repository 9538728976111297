"""A signal to stop, given by a user, a shutdown or a deadline."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from typing import TypeVar

Result = TypeVar("Result")


class Aborted(Exception):
    """The work was stopped on purpose."""


class Abort:
    """Set once; whoever waits under it stops at once."""

    def __init__(self) -> None:
        self._event = asyncio.Event()
        self.reason = ""

    @property
    def is_set(self) -> bool:
        return self._event.is_set()

    def set(self, reason: str) -> None:
        self.reason = self.reason or reason
        self._event.set()

    def check(self) -> None:
        """Aborted when the signal has been given."""
        if self.is_set:
            raise Aborted(self.reason)

    async def guard(self, work: Awaitable[Result]) -> Result:
        """The result of `work`, or Aborted as soon as the signal is given; the work is cancelled and waited for."""
        task = asyncio.ensure_future(work)
        signal = asyncio.ensure_future(self._event.wait())
        try:
            await asyncio.wait((task, signal), return_when=asyncio.FIRST_COMPLETED)
            if task.done():
                return task.result()
            raise Aborted(self.reason)
        finally:
            for pending in (task, signal):
                pending.cancel()
            await asyncio.gather(task, signal, return_exceptions=True)
