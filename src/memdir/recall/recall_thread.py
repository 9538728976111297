"""Work in a thread beside the conversation: it stops when asked, and is waited for at the end, briefly.

A thread that is inside a library's native code while the interpreter goes away takes the process down with SIGABRT. So
`close` ends what runs, and so does the exit of a program that closed nothing.
"""

from __future__ import annotations

import asyncio
import threading
import time
import weakref

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, TypeVar

    Found = TypeVar("Found")
    Check = Callable[[], None]  # raises Stopped when the work is no longer wanted

MAX_WAIT_SECONDS = 10.0  # for one step: a batch or the loading of the sentence model, both well below a second


class Stopped(Exception):
    """Whoever wanted the work has closed."""


class RecallThreads:
    """Threads of one owner. What they do must call `check` between its steps."""

    def __init__(self) -> None:
        self._stop = threading.Event()
        self._threads: set[threading.Thread] = set()
        self._end = weakref.finalize(self, _end, self._stop, self._threads)  # runs at exit too

    def check(self, *_: int) -> None:
        """Go on, or raise Stopped. Takes what a report of progress is given, to be one."""
        if self._stop.is_set():
            raise Stopped

    def run(self, work: Callable[[], Found]) -> asyncio.Future[Found]:
        """Start `work` now; the future gets what it returns or raises, unless nobody waits for it any more."""
        loop = asyncio.get_running_loop()
        answer: asyncio.Future[Found] = loop.create_future()

        def body() -> None:
            try:
                self.check()
                found = work()
            except Exception as error:  # noqa: BLE001 - whoever waits for it gets it
                _deliver(loop, answer, answer.set_exception, error)
            else:
                _deliver(loop, answer, answer.set_result, found)
            finally:
                self._threads.discard(threading.current_thread())

        thread = threading.Thread(target=body, name="memdir recall", daemon=True)
        self._threads.add(thread)
        thread.start()
        return answer

    async def close(self) -> None:
        """Ask every thread to stop and wait until it has."""
        await asyncio.to_thread(self._end)


def _end(stop: threading.Event, threads: set[threading.Thread]) -> None:
    stop.set()
    deadline = time.monotonic() + MAX_WAIT_SECONDS
    for thread in list(threads):
        thread.join(max(0.0, deadline - time.monotonic()))


def _deliver(
    loop: asyncio.AbstractEventLoop, answer: asyncio.Future[Any], put: Callable[[Any], None], what: object
) -> None:
    try:
        loop.call_soon_threadsafe(lambda: None if answer.done() else put(what))
    except RuntimeError:
        return  # the loop was closed meanwhile
