"""Recall for one session: choose, check, read, and hand over what joins the conversation (R1).

The selector is local by default; with a model configured, one side request chooses (R2), and whatever goes wrong with
it falls back to the local choice.
"""

from __future__ import annotations

import time

from memdir.errors import MemdirError
from memdir.recall.inject import MAX_SESSION_CHARACTERS, render_memory
from memdir.recall.recall_log import Injection, RecallLog
from memdir.recall.verify import Verifier

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from memdir.events import Sink
    from memdir.model.model import Model
    from memdir.recall.derived import OnProgress
    from memdir.recall.local import LocalSelector, Recalled
    from memdir.recall.staying import Staying
    from memdir.store.store import Memory, MemoryStore

MAX_RECALLED = 5  # R1
MODEL_SECONDS = 6.0  # a side request that takes longer is not worth waiting for


class Surfacing:
    """What a session has been shown: never shown twice, and never more than fits (R1, R7)."""

    __slots__ = ("characters", "keys")

    def __init__(self) -> None:
        self.keys: set[str] = set()
        self.characters = 0


class Recaller:
    """Finds memories for messages of one session and renders them."""

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
        self.surfacing = Surfacing()
        self.opened: Callable[[], LocalSelector | None] | None = None  # a selector too slow to start for a hook
        self._staying: Staying | None = None
        self._prompt_hash = ""  # of the last choice, when a model made it

    def choose(self, text: str, *, recent_tools: Sequence[str] = (), on_progress: OnProgress | None = None) -> Recalled:
        """The local choice, with everything that explains it."""
        self._prompt_hash = ""
        self._selector.refresh(on_progress=on_progress)
        return self._selector.recall(text, now=self._clock(), recent_tools=recent_tools, surfaced=self.surfacing.keys)

    async def choose_in_time(self, text: str, *, recent_tools: Sequence[str] = ()) -> list[str]:
        """The local choice of a process that stays: by the sentence model where it is there and ready, else as ever."""
        from memdir.recall.staying import Staying

        surfaced, now = frozenset(self.surfacing.keys), self._clock()

        def ask(selector: LocalSelector) -> list[str]:
            selector.refresh()
            return selector.recall(text, now=now, recent_tools=recent_tools, surfaced=surfaced).keys

        if self.opened is not None:
            self._staying = self._staying or Staying(self.opened)
            found = await self._staying.ask(ask)
            if found is not None:
                self._prompt_hash = ""
                return found
        return self.choose(text, recent_tools=recent_tools).keys

    async def choose_by_model(
        self, text: str, *, model: Model, name: str, recent_tools: Sequence[str] = (), overrides: str = ""
    ) -> list[str]:
        """The model's choice; the local one when it fails or takes too long (R2)."""
        import asyncio

        from memdir.recall.model_select import select_by_model, select_prompt

        prompt = select_prompt(overrides)
        headers = [header for header in self._store.scan().headers if header.key not in self.surfacing.keys]
        request = select_by_model(text, headers, model=model, name=name, recent_tools=recent_tools, prompt=prompt)
        try:
            chosen = await asyncio.wait_for(request, MODEL_SECONDS)
        except (MemdirError, TimeoutError):
            return await self.choose_in_time(text, recent_tools=recent_tools)
        self._prompt_hash = prompt.hash
        return chosen

    def render(self, keys: Sequence[str], *, session: str = "") -> list[str]:
        """The chosen memories as text for the conversation, each read in full and checked; marks them as shown."""
        rendered: list[str] = []
        shown: list[str] = []
        for key in keys[:MAX_RECALLED]:
            room = MAX_SESSION_CHARACTERS - self.surfacing.characters
            memory = self._read(key)
            if memory is None or room <= 0:
                continue
            missing = self._verifier.missing(f"{memory.topic.description}\n{memory.topic.body}")
            text = render_memory(memory, now=self._clock(), missing=missing, room=room, scope=self._store.scope)
            self.surfacing.keys.add(key)
            self.surfacing.characters += len(text)
            rendered.append(text)
            shown.append(key)
        self._tell(shown, session)
        return rendered

    def _read(self, key: str) -> Memory | None:
        """A memory that was chosen a moment ago; None when it is gone or may not be read."""
        try:
            return self._store.read(key)
        except MemdirError:
            return None

    def _tell(self, keys: Sequence[str], session: str) -> None:
        from memdir.events import memory_recalled

        characters = self.surfacing.characters
        self._sink.emit(memory_recalled(files=len(keys), characters=characters, prompt_hash=self._prompt_hash))
        if keys:
            self._log.add(Injection(self._clock(), session, tuple(keys)))
