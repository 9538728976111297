"""A selector that takes long to load or to warm, asked beside the conversation and never waited for beyond a limit.

What it was embedding when the process ends is embedded by the next one. One question at a time; while it is busy the
caller answers from the table alone.
"""

from __future__ import annotations

import asyncio
import threading

from memdir.recall.beside import Stopped

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from memdir.recall.beside import Beside, Check
    from memdir.recall.local import LocalSelector

    Opened = Callable[[Check], LocalSelector | None]

MAX_SECONDS = 1.0  # a loaded selector answers in hundredths; the first question of a process may load it


class Staying:
    """Holds the selector that `opened` gives; None from there means that it is not installed."""

    def __init__(self, opened: Opened, beside: Beside) -> None:
        self._opened = opened
        self._beside = beside
        self._selector: LocalSelector | None = None
        self._is_missing = False
        self._busy = threading.Lock()

    async def ask(
        self, question: Callable[[LocalSelector], list[str]], *, max_seconds: float = MAX_SECONDS
    ) -> list[str] | None:
        """The selector's answer; None when it is missing, busy or late, or fails. Stopped when its owner closes."""
        if self._is_missing or not self._busy.acquire(blocking=False):
            return None

        def work() -> list[str] | None:
            try:
                return self._answer(question)
            finally:
                self._busy.release()

        try:
            return await asyncio.wait_for(self._beside.run(work), max_seconds)
        except TimeoutError:
            return None

    def _answer(self, question: Callable[[LocalSelector], list[str]]) -> list[str] | None:
        if self._selector is None:
            self._selector = self._open()
            self._is_missing = self._selector is None
        self._beside.check()
        try:
            return question(self._selector) if self._selector is not None else None
        except Stopped:
            raise
        except Exception:  # noqa: BLE001 - the runtime has exceptions of its own; the table still answers
            return None

    def _open(self) -> LocalSelector | None:
        try:
            return self._opened(self._beside.check)
        except Stopped:
            raise
        except Exception:  # noqa: BLE001 - the runtime or the weights do not load here
            return None
