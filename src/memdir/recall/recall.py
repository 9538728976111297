"""The one way from a message to the text that joins a conversation: choose, prepare, show (R1).

Library, command line and hooks walk it alike, each step a plain function call; a host that must not wait walks it in a
thread (`prefetch.py`).
"""

from __future__ import annotations

import os
import time
from _thread import allocate_lock  # a hook should not load all of threading

from memdir.errors import DiskError, MemdirError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Protocol

    from memdir.events import Sink
    from memdir.model.model import Model, Reply, Request
    from memdir.recall.selection import LocalChooser, Selection
    from memdir.recall.verify import Missing, Verifier
    from memdir.search.index_store import OnProgress
    from memdir.store.store import Memory, MemoryStore

    AskModel = Callable[[Model, Request, float], Reply]  # the last is how many seconds it may take

    class Chooser(Protocol):
        """Chooses memories of one scope for a message."""

        scope: str
        root: str

        def choose(self, request: RecallRequest) -> Selection: ...


MAX_RECALLED = 5  # R1
MAX_SESSIONS = 1_000  # a host that serves more starts the oldest again


class Stopped(Exception):
    """Whoever wanted the work has closed."""


class Shown:
    """What one session has been shown, of whatever scope: never twice, and never more than fits (R1, R7)."""

    __slots__ = ("_shown", "characters", "session")

    def __init__(self, session: str = "") -> None:
        self.session = session
        self._shown: set[tuple[str, str]] = set()
        self.characters = 0

    def keys(self, scope: str) -> frozenset[str]:
        """The memories of a scope that were shown."""
        return frozenset([key for of, key in self._shown if of == scope])

    def add(self, scope: str, key: str, characters: int) -> None:
        self._shown.add((scope, key))
        self.characters += characters

    def forget(self) -> None:
        """The context was emptied: what had been shown may come again."""
        self._shown.clear()
        self.characters = 0


class ShownBySession:
    """What each session of a host was shown; a session that is opened again goes on with its own."""

    def __init__(self) -> None:
        self._sessions: dict[str, Shown] = {}

    def of(self, session: str) -> Shown:
        found = self._sessions[session] = self._sessions.pop(session, Shown(session))
        if len(self._sessions) > MAX_SESSIONS:
            del self._sessions[next(iter(self._sessions))]
        return found


class RecallRequest:
    """A message that memories are wanted for, and how whoever asks wants the work done."""

    __slots__ = ("ask", "on_progress", "recent_tools", "shown", "text")

    def __init__(
        self,
        text: str,
        *,
        recent_tools: Sequence[str] = (),
        shown: Shown | None = None,
        on_progress: OnProgress | None = None,
        ask: AskModel | None = None,
    ) -> None:
        self.text = text
        self.recent_tools = recent_tools
        self.shown = shown or Shown()
        self.on_progress = on_progress  # may raise Stopped
        self.ask = ask  # how a model is waited for; by itself where nobody says

    def check(self) -> None:
        """Go on, or raise Stopped."""
        if self.on_progress is not None:
            self.on_progress(0, 0)


class Prepared:
    """Memories that were read and checked, ready to be shown at once."""

    __slots__ = ("request", "scopes")

    def __init__(
        self, request: RecallRequest, scopes: list[tuple[Selection, list[tuple[Memory, list[Missing]]]]]
    ) -> None:
        self.request = request
        self.scopes = scopes


class Recaller:
    """Finds memories for messages and renders them: those of the first chooser, then, as far as there is room, those of
    the others."""

    def __init__(
        self,
        chooser: Chooser,
        others: Sequence[LocalChooser],
        store_for: Callable[[str], MemoryStore],
        project: str,
        *,
        sink: Sink,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._chooser = chooser
        self._others = others
        self._store_for = store_for
        self._project = project
        self._verifier: Verifier | None = None
        self._sink = sink
        self._clock = clock
        self._reading = allocate_lock()  # the verifier is not made for two
        self.not_logged = ""  # why what was shown last is not in the log

    def choose(self, request: RecallRequest) -> list[Selection]:
        """Which memories help, scope by scope."""
        found = [self._chooser.choose(request)]
        for other in self._others:
            room = MAX_RECALLED - sum(len(selection.keys) for selection in found)
            if room > 0 and os.path.isdir(other.root):
                try:
                    selection = other.choose(request)
                except (MemdirError, OSError):  # what is wrong with the user's memories costs the project's nothing
                    continue
                selection.keys = selection.keys[:room]
                found.append(selection)
        return found

    def prepare(self, request: RecallRequest, selections: Sequence[Selection]) -> Prepared:
        """Do what takes long, reading and checking: `show` only puts together."""
        from memdir.recall.verify import Verifier

        with self._reading:
            verifier = self._verifier = self._verifier or Verifier(self._project)
            read = [(selection, self._read_and_check(selection, verifier)) for selection in selections]
            return Prepared(request, read)

    def show(self, prepared: Prepared) -> list[str]:
        """The memories as text for the conversation; marks them as shown."""
        return [text for selection, ready in prepared.scopes for text in self._show(prepared.request, selection, ready)]

    def _read_and_check(self, selection: Selection, verifier: Verifier) -> list[tuple[Memory, list[Missing]]]:
        store = self._store_for(selection.scope)
        found = [memory for key in selection.keys[:MAX_RECALLED] if (memory := _read(store, key)) is not None]
        return [(memory, verifier.missing(f"{memory.topic.description}\n{memory.topic.body}")) for memory in found]

    def _show(
        self, request: RecallRequest, selection: Selection, ready: Sequence[tuple[Memory, list[Missing]]]
    ) -> list[str]:
        from memdir.recall.inject import MAX_SESSION_CHARACTERS, render_memory

        rendered: list[str] = []
        shown: list[str] = []
        so_far, scope = request.shown, selection.scope
        for memory, missing in ready:
            if memory.key in so_far.keys(scope) or not os.path.exists(memory.path):
                continue  # another recall in flight had it too, or it was forgotten meanwhile
            room = MAX_SESSION_CHARACTERS - so_far.characters
            text = render_memory(memory, now=self._clock(), missing=missing, room=room, scope=scope)
            so_far.add(scope, memory.key, len(text))
            rendered.append(text)
            shown.append(memory.key)
        self._tell(request, selection, shown)
        return rendered

    def _tell(self, request: RecallRequest, selection: Selection, shown: Sequence[str]) -> None:
        from memdir.events import memory_recalled, request_refused
        from memdir.recall.recall_log import Injection, RecallLog

        characters = request.shown.characters
        self._sink.emit(memory_recalled(files=len(shown), characters=characters, prompt_hash=selection.prompt_hash))
        if not shown:
            return
        place = self._store_for(selection.scope).place
        keys = tuple([place.prefix + key for key in shown])  # the team shares its project's log
        injection = Injection(self._clock(), request.shown.session, keys, message=request.text, by=selection.by)
        try:
            RecallLog(place.state).add(injection)
        except DiskError as error:  # full or read-only: a log must never cost the memory
            self.not_logged = str(error)
            self._sink.emit(request_refused(what="the recall log", reason=error.message))


def _read(store: MemoryStore, key: str) -> Memory | None:
    """A memory that was found a moment ago; None when it is gone or may not be read."""
    try:
        return store.read_found(key)
    except MemdirError:
        return None
