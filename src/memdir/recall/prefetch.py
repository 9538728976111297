"""Recall beside the main request (R4): started when the user's message arrives, joins when ready, never waited for
beyond what the host allows.

A thread that is inside a library's native code while the interpreter goes away takes the process down with SIGABRT. So
`close` ends what runs, and so does the exit of a program that closed nothing.
"""

from __future__ import annotations

import asyncio
import threading
import time
import weakref
from collections.abc import Callable, Sequence
from concurrent.futures import CancelledError, Future
from typing import TYPE_CHECKING, Any, TypeVar

from memdir.prompts.door import shown_line
from memdir.recall.recall import Prepared, Recaller, RecallRequest, Shown, Stopped
from memdir.transcript.message import Message, user

if TYPE_CHECKING:
    from memdir.model.model import Model, Reply, Request

MAX_WAIT_SECONDS = 10.0  # for one step: a batch or the loading of the sentence model, both well below a second

Found = TypeVar("Found")
HostMessage = Message | dict[str, Any]  # ours, or as an SDK takes it


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

    def run(self, work: Callable[[], Found]) -> Future[Found]:
        """Start `work` now; the future gets what it returns or raises."""
        answer: Future[Found] = Future()
        answer.set_running_or_notify_cancel()

        def body() -> None:
            try:
                self.check()
                answer.set_result(work())
            except Exception as error:  # noqa: BLE001 - whoever waits for it gets it
                answer.set_exception(error)
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


class Prefetch:
    """A recall in flight: opening, choosing and reading happen in a thread, showing is left to whoever takes it. With
    nothing to open, as where memory is off, it finds nothing."""

    def __init__(
        self,
        open_recaller: Callable[[], Recaller] | None,
        threads: RecallThreads,
        text: str,
        *,
        shown: Shown | None = None,
        recent_tools: Sequence[str] = (),
        as_message: Callable[[str], HostMessage] = lambda text: user(text, is_meta=True),
    ) -> None:
        self._open_recaller = open_recaller
        self._recaller: Recaller | None = None
        self._as_message = as_message
        self._loop = asyncio.get_running_loop()
        self._asking: Future[Reply] | None = None
        self._request = RecallRequest(
            text,
            recent_tools=recent_tools,
            shown=shown,
            on_progress=threads.check,
            ask=self._ask,
        )
        self._is_over = False
        self.files: tuple[str, ...] = ()  # the memories that `ready` gave, by their paths
        self._work = threads.run(self._find)

    @property
    def is_done(self) -> bool:
        """Whether `ready` gives all that will come."""
        return self._work.done()

    async def wait(self, seconds: float) -> None:
        """Until recall has come to an end, but no longer than that."""
        if seconds > 0 and not self.is_done:
            done = asyncio.wrap_future(self._work)
            await asyncio.wait({done}, timeout=seconds)
            done.cancel()  # only this wait: the work goes on

    def ready(self) -> list[Any]:
        """The messages to append, if recall has come to an end and they were not taken yet; marks them as shown."""
        if self._is_over or not self.is_done:
            return []
        self._is_over = True
        prepared = self._work.result()
        if self._recaller is None or prepared is None:
            return []
        texts = self._recaller.show(prepared)
        found = (memory.path for _, ready in prepared.scopes for memory, _ in ready)
        self.files = tuple(path for path in found if any(f": {shown_line(path)}:" in text for text in texts))
        return [self._as_message(text) for text in texts]

    def cancel(self) -> None:
        """What did not come in time is not needed any more."""
        self._is_over = True
        if self._asking is not None:
            self._asking.cancel()

    def _find(self) -> Prepared | None:
        if self._open_recaller is None:
            return None
        try:
            self._recaller = self._open_recaller()
            return self._recaller.prepare(self._request, self._recaller.choose(self._request))
        except Exception:  # noqa: BLE001 - the turn goes on: recall that fails is recall that finds nothing
            return None

    def _ask(self, model: Model, request: Request, seconds: float) -> Reply:
        """Ask a model on the loop of the host, to which its connections belong."""
        self._asking = asyncio.run_coroutine_threadsafe(asyncio.wait_for(model.complete(request), seconds), self._loop)
        try:
            return self._asking.result(seconds + 1)
        except CancelledError:
            raise Stopped from None
