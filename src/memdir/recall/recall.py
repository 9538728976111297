"""Recall for one session: choose, check, read, and hand over what joins the conversation (R1).

The selector is local by default; with a model configured, one side request chooses (R2), and whatever goes wrong with
it falls back to the local choice.
"""

from __future__ import annotations

import os
import time
from _thread import allocate_lock  # a hook should not load all of threading

from memdir.disk.safe_path import resolve_found
from memdir.errors import DiskError, MemdirError, ModelError, PathEscape
from memdir.recall.inject import MAX_SESSION_CHARACTERS, render_memory
from memdir.recall.recall_log import Injection, RecallLog
from memdir.recall.selection import Selection
from memdir.recall.shown import Shown, ShownBySession
from memdir.recall.verify import Verifier

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import TypeVar

    from memdir.events import Sink
    from memdir.model.model import Model
    from memdir.recall.recall_thread import RecallThreads
    from memdir.recall.selection import LocalSelector, Recalled
    from memdir.recall.verify import Missing
    from memdir.recall.warm_selector import Opened, WarmSelector
    from memdir.search.index_store import OnProgress
    from memdir.store.scan import Header
    from memdir.store.store import Memory, MemoryStore

    Found = TypeVar("Found")

MAX_RECALLED = 5  # R1
MAX_ROUNDS = 4  # of choosing anew because something chosen cannot be read
MODEL_SECONDS = 6.0  # a side request that takes longer is not worth waiting for


class Recaller:
    """Finds memories for messages and renders them; knows what each session has been shown."""

    def __init__(
        self,
        store: MemoryStore,
        selector: LocalSelector,
        *,
        project: str,
        log: RecallLog,
        sink: Sink,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._store = store
        self._selector = selector
        self._verifier = Verifier(project)
        self._log = log
        self._sink = sink
        self._clock = clock
        self.shown_by_session = ShownBySession()  # a host's recalls of several scopes share one
        self.opened: Opened | None = None  # a selector too slow to start for a hook
        self.not_logged = ""  # why what was shown last is not in the log
        self._threads: RecallThreads | None = None
        self._warm: WarmSelector | None = None
        self._selecting = allocate_lock()  # one choice at a time: the index is not made for two

    def shown(self, session: str = "") -> Shown:
        """What a session has been shown, of all scopes."""
        return self.shown_by_session.of(session)

    def choose(
        self,
        text: str,
        *,
        recent_tools: Sequence[str] = (),
        session: str = "",
        on_progress: OnProgress | None = None,
    ) -> Recalled:
        """The local choice, with everything that explains it."""
        surfaced = self.shown(session).keys(self._store.scope)
        with self._selecting:
            self._selector.refresh(on_progress=on_progress)
            return self._recall(self._selector, text, recent_tools=recent_tools, surfaced=surfaced)

    async def choose_in_time(self, text: str, *, recent_tools: Sequence[str] = (), session: str = "") -> Selection:
        """The local choice of a process that stays: by the sentence model where it is there and ready, else as ever."""
        from memdir.recall.warm_selector import WarmSelector

        threads = self._open_threads()
        surfaced = self.shown(session).keys(self._store.scope)

        def ask(selector: LocalSelector) -> list[str]:
            selector.refresh(on_progress=threads.check)
            return self._recall(selector, text, recent_tools=recent_tools, surfaced=surfaced).keys

        if self.opened is not None:
            self._warm = self._warm or WarmSelector(self.opened, threads)
            found = await self._warm.ask(ask)
            if found is not None:
                return Selection(found, "sentences")
        threads.check()  # closed meanwhile: nothing new is begun
        return Selection(await self._in_turn(lambda: ask(self._selector)), "words")

    async def choose_by_model(
        self,
        text: str,
        *,
        open_model: Callable[[], Model],
        name: str,
        recent_tools: Sequence[str] = (),
        overrides: str = "",
        session: str = "",
    ) -> Selection:
        """The model's choice; the local one when there is none, or it fails, is late or answers something else (R2)."""
        import asyncio

        from memdir.recall.model_select import select_by_model, select_prompt
        from memdir.recall.recall_thread import Stopped

        surfaced = self.shown(session).keys(self._store.scope)
        try:
            prompt = select_prompt(overrides)
            model, headers = await self._in_turn(lambda: (open_model(), self._headers(surfaced)))
            request = select_by_model(text, headers, model=model, name=name, recent_tools=recent_tools, prompt=prompt)
            chosen = await asyncio.wait_for(request, MODEL_SECONDS)
        except Stopped:
            raise
        except Exception as error:  # noqa: BLE001 - a model is a host's own code, and none may cost the turn
            self._model_failed(error)
            choice = await self.choose_in_time(text, recent_tools=recent_tools, session=session)
            choice.instead_of_model = _told(error)
            return choice
        return Selection(chosen, "model", prompt_hash=prompt.hash)

    async def prepare(self, choice: Selection, *, session: str = "", message: str = "") -> Callable[[], list[str]]:
        """Do beside the conversation what takes long, reading and checking; what comes back shows it, at once."""
        ready = await self._in_turn(lambda: self._read_and_check(choice.keys))
        return lambda: self._show(ready, session, message, choice)

    def render(self, chosen: Selection | Sequence[str], *, session: str = "", message: str = "") -> list[str]:
        """The chosen memories as text for the conversation, each read in full and checked; marks them as shown."""
        choice = chosen if isinstance(chosen, Selection) else Selection(list(chosen), "")
        return self._show(self._read_and_check(choice.keys), session, message, choice)

    def _read_and_check(self, keys: Sequence[str]) -> list[tuple[Memory, list[Missing]]]:
        found = [memory for key in keys[:MAX_RECALLED] if (memory := self._read(key)) is not None]
        return [
            (memory, self._verifier.missing(f"{memory.topic.description}\n{memory.topic.body}")) for memory in found
        ]

    def _show(
        self, ready: Sequence[tuple[Memory, list[Missing]]], session: str, message: str, choice: Selection
    ) -> list[str]:
        rendered: list[str] = []
        shown: list[str] = []
        so_far = self.shown(session)
        for memory, missing in ready:
            if memory.key in so_far.keys(self._store.scope) or not os.path.exists(memory.path):
                continue  # another recall in flight had it too, or it was forgotten meanwhile
            room = MAX_SESSION_CHARACTERS - so_far.characters
            text = render_memory(memory, now=self._clock(), missing=missing, room=room, scope=self._store.scope)
            so_far.add(self._store.scope, memory.key, len(text))
            rendered.append(text)
            shown.append(memory.key)
        keys = tuple([self._store.place.prefix + key for key in shown])  # the team shares its project's log
        injection = Injection(self._clock(), session, keys, message=message, by=choice.by)
        self._tell(injection, choice.prompt_hash)
        return rendered

    async def close(self) -> None:
        """End what runs beside the conversation. A later choice starts anew."""
        threads, self._threads, self._warm = self._threads, None, None
        if threads is not None:
            await threads.close()

    def _open_threads(self) -> RecallThreads:
        from memdir.recall.recall_thread import RecallThreads

        self._threads = self._threads or RecallThreads()
        return self._threads

    async def _in_turn(self, work: Callable[[], Found]) -> Found:
        """Work in a thread, after what was begun before it: the conversation goes on meanwhile (R4)."""
        threads = self._open_threads()

        def wait_and_work() -> Found:
            with self._selecting:
                threads.check()
                return work()

        return await threads.run(wait_and_work)

    def _model_failed(self, error: Exception) -> None:
        """Tell why this machine chooses instead; in one word, for an error may quote the request."""
        from memdir.events import request_refused

        reason = error.kind if isinstance(error, ModelError) else type(error).__name__
        self._sink.emit(request_refused(what="recall by a model", reason=reason))

    def _headers(self, surfaced: frozenset[str]) -> list[Header]:
        """What a model may choose from."""
        return [one for one in self._store.scan().headers if one.key not in surfaced and self._is_readable(one.key)]

    def _recall(
        self, selector: LocalSelector, text: str, *, recent_tools: Sequence[str], surfaced: frozenset[str]
    ) -> Recalled:
        """What the selector chooses among the memories that can be read: another one never takes a place."""
        now = self._clock()
        for _ in range(MAX_ROUNDS):
            recalled = selector.recall(text, now=now, recent_tools=recent_tools, surfaced=surfaced)
            unreadable = [key for key in recalled.keys if not self._is_readable(key)]
            if not unreadable:
                break
            surfaced = surfaced.union(unreadable)
        return recalled

    def _is_readable(self, key: str) -> bool:
        try:
            return os.access(resolve_found(self._store.root, key), os.R_OK)
        except PathEscape:
            return False

    def _read(self, key: str) -> Memory | None:
        """A memory that was found a moment ago; None when it is gone or may not be read."""
        try:
            return self._store.read_found(key)
        except MemdirError:
            return None

    def _tell(self, injection: Injection, prompt_hash: str) -> None:
        from memdir.events import memory_recalled, request_refused

        files, characters = len(injection.keys), self.shown(injection.session).characters
        self._sink.emit(memory_recalled(files=files, characters=characters, prompt_hash=prompt_hash))
        try:
            if files:
                self._log.add(injection)
        except DiskError as error:  # full or read-only: a log must never cost the memory
            self.not_logged = str(error)
            self._sink.emit(request_refused(what="the recall log", reason=error.message))


def _told(error: Exception) -> str:
    """Why a model did not choose, in words for the person who asks."""
    if isinstance(error, TimeoutError):
        return f"no answer within {MODEL_SECONDS:g} s"
    return str(error) if isinstance(error, MemdirError) else f"{type(error).__name__}: {error}"
