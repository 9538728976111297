"""A selector that takes long to load or to warm, asked beside the conversation and never waited for beyond a limit.

It works in a daemon thread: what it was embedding when the process ends is embedded by the next one. One question at a
time; while it is busy the caller answers from the table alone.
"""

from __future__ import annotations

import asyncio
import threading

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from memdir.recall.local import LocalSelector

MAX_SECONDS = 1.0  # a loaded selector answers in hundredths; the first question of a process may load it


class Staying:
    """Holds the selector that `opened` gives; None from there means that it is not installed."""

    def __init__(self, opened: Callable[[], LocalSelector | None]) -> None:
        self._opened = opened
        self._selector: LocalSelector | None = None
        self._is_missing = False
        self._busy = threading.Lock()

    async def ask(
        self, question: Callable[[LocalSelector], list[str]], *, max_seconds: float = MAX_SECONDS
    ) -> list[str] | None:
        """The selector's answer; None when it is missing, busy or late."""
        if self._is_missing or not self._busy.acquire(blocking=False):
            return None
        loop = asyncio.get_running_loop()
        answer: asyncio.Future[list[str] | None] = loop.create_future()

        def deliver(found: list[str] | None) -> None:
            if not answer.done():
                answer.set_result(found)

        def work() -> None:
            try:
                found = self._answer(question)
            finally:
                self._busy.release()
            if not loop.is_closed():
                loop.call_soon_threadsafe(deliver, found)

        threading.Thread(target=work, name="memdir sentences", daemon=True).start()
        try:
            return await asyncio.wait_for(answer, max_seconds)
        except TimeoutError:
            return None

    def _answer(self, question: Callable[[LocalSelector], list[str]]) -> list[str] | None:
        try:
            self._selector = self._selector or self._opened()
        except (ImportError, OSError, RuntimeError):  # the runtime or the weights do not load here
            self._selector = None
        if self._selector is None:
            self._is_missing = True
            return None
        return question(self._selector)
