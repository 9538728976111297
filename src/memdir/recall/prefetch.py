"""Recall beside the main request (R4): started when the user's message arrives, joins when ready, never waited for
beyond what the host allows.

A thread that is inside a library's native code while the interpreter goes away takes the process down with SIGABRT. So
`close` ends what runs, and so does the exit of a program that closed nothing.
"""

from __future__ import annotations

import asyncio
import os
import threading
import time
import weakref
from collections.abc import Callable, Sequence
from concurrent.futures import CancelledError, Future
from typing import TYPE_CHECKING, Any, TypeVar

from memdir.errors import ModelError
from memdir.recall.recall import Prepared, Recaller, RecallRequest, Shown, Stopped
from memdir.transcript.message import Message, user

if TYPE_CHECKING:
    from memdir.model.model import Model, Reply, Request
    from memdir.recall.selection import LocalSelector, Recalled

    Check = Callable[[], None]  # raises Stopped when the work is no longer wanted

MAX_WAIT_SECONDS = 10.0  # for one step: a batch or the loading of the sentence model, both well below a second
WARM_SECONDS = 1.0  # a loaded selector answers in hundredths; the first question of a process may load it

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


class WarmSelector:
    """A selector that takes long to load or to warm, asked in a thread and never waited for beyond a limit. None from
    `opened` means that it is not installed. One question at a time; while it is busy the table alone answers."""

    def __init__(self, opened: Callable[[Check], LocalSelector | None], threads: RecallThreads) -> None:
        self._opened = opened
        self._threads = threads
        self._selector: LocalSelector | None = None
        self._is_missing = False
        self._busy = threading.Lock()

    def ask(
        self, question: Callable[[LocalSelector], Recalled], *, max_seconds: float = WARM_SECONDS
    ) -> Recalled | None:
        """The selector's answer; None when it is missing, busy or late, or fails. Stopped when its owner closes."""
        if self._is_missing or not self._busy.acquire(blocking=False):
            return None

        def work() -> Recalled | None:
            try:
                return self._answer(question)
            except Stopped:
                raise
            except Exception:  # noqa: BLE001 - the runtime has exceptions of its own; the table still answers
                return None
            finally:
                self._busy.release()

        try:
            return self._threads.run(work).result(max_seconds)
        except TimeoutError:
            return None

    def _answer(self, question: Callable[[LocalSelector], Recalled]) -> Recalled | None:
        if self._selector is None:
            self._is_missing = True  # and stays so, where the runtime or the weights do not load
            self._selector = self._opened(self._threads.check)
            self._is_missing = self._selector is None
        self._threads.check()
        return question(self._selector) if self._selector is not None else None


def open_selector(root: str, place: str, *, check: Check | None = None) -> LocalSelector | None:
    """A selector with the sentence model over a directory, with an index of its own; None without the extra."""
    from memdir.recall.selection import LocalSelector
    from memdir.search import has_sentence_model
    from memdir.search.minilm import PairEncoder, SentenceModel
    from memdir.text.embedding import open_table

    if not has_sentence_model():
        return None
    encoder = PairEncoder(open_table(), SentenceModel(check=check))
    return LocalSelector(root, os.path.join(place, "minilm"), encoder=encoder)


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
            text, recent_tools=recent_tools, shown=shown, on_progress=threads.check, ask=self._ask
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
        shown = self._recaller.show(prepared)
        self.files = tuple(one.memory.path for one in shown)
        return [self._as_message(one.reminder) for one in shown]

    def end(self) -> None:
        """The turn has ended: what is still looked for is not needed any more, and what was found is still taken."""
        if not self.is_done:
            self.cancel()

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
        except CancelledError as error:
            if self._is_over:
                raise Stopped from None
            raise ModelError("the model gave up by itself", kind="bad_reply") from error
