"""Who chooses memories for a message on this machine, and what explains the choice (R1, R3, O2)."""

from __future__ import annotations

import os
from _thread import allocate_lock  # a hook should not load all of threading

from memdir.disk.safe_path import resolve_found
from memdir.errors import PathEscape
from memdir.recall.recall import Selection
from memdir.search.document import day_of
from memdir.search.index_store import MemoryIndex
from memdir.search.ranking import KEPT

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence

    from memdir.layout import Place
    from memdir.recall.decide import Calibration, Decision
    from memdir.recall.prefetch import WarmSelector
    from memdir.recall.recall import RecallRequest
    from memdir.search.ranking import Ranking
    from memdir.search.vectors import Encoder

MAX_ROUNDS = 4  # of choosing again because something chosen cannot be read


class Recalled:
    """What was chosen for a message, with everything that explains it (O2)."""

    def __init__(self, ranking: Ranking, decision: Decision) -> None:
        self.ranking, self.decision = ranking, decision

    @property
    def keys(self) -> list[str]:
        return self.decision.chosen


class LocalSelector(MemoryIndex):
    """Ranks and decides without a model. Holds the index and the table between calls; a hook asks once and ends."""

    def __init__(self, root: str, place: str, *, encoder: Encoder | None = None) -> None:
        super().__init__(root, place, encoder=encoder)
        self._calibration: Calibration | None = None

    def recall(
        self, text: str, *, now: float, recent_tools: Sequence[str] = (), surfaced: Collection[str] = ()
    ) -> Recalled:
        """The few memories that clearly help with a message, or none."""
        from memdir.recall.decide import decide, load_calibration, reading  # a search decides nothing

        self._calibration = learned = self._calibration or load_calibration(self.encoder.name)
        today = day_of(now)
        question, ranking = self.ranked(text, keep=KEPT + len(surfaced), today=today)
        reader = self.encoder.reader
        read = reading(reader, text, self._read) if reader is not None else None
        return Recalled(
            ranking,
            decide(question, ranking, learned, today=today, recent_tools=recent_tools, surfaced=surfaced, read=read),
        )


class LocalChooser:
    """Chooses among the memories of one scope: by the sentence model where it is there and ready, else by words."""

    def __init__(
        self,
        place: Place,
        scope: str,
        selector: LocalSelector,
        *,
        clock: Callable[[], float],
        warm: WarmSelector | None = None,
        has_team: bool = True,
    ) -> None:
        self.root, self.scope, self.clock = place.root, scope, clock
        self._selector, self._warm, self._has_team = selector, warm, has_team
        self._choosing = allocate_lock()  # one choice at a time: the index is not made for two

    def choose(self, request: RecallRequest) -> Selection:
        """The local choice, with everything that explains it."""
        if self._warm is not None:
            found = self._warm.ask(lambda selector: self._recall(selector, request))
            if found is not None:
                return Selection(self.scope, found.keys, "sentences", explained=found)
            request.check()  # closed meanwhile: nothing new is begun
        with self._choosing:
            found = self._recall(self._selector, request)
        return Selection(self.scope, found.keys, "words", explained=found)

    def passed_over(self, request: RecallRequest) -> frozenset[str]:
        """The memories of this scope that take no place."""
        return request.passed_over(self.scope, self.root, has_team=self._has_team)

    def _recall(self, selector: LocalSelector, request: RecallRequest) -> Recalled:
        """What the selector chooses among the memories that can be read: another one never takes a place."""
        selector.refresh(on_progress=request.on_progress)
        now, surfaced = self.clock(), self.passed_over(request)
        for _ in range(MAX_ROUNDS):
            recalled = selector.recall(request.text, now=now, recent_tools=request.recent_tools, surfaced=surfaced)
            unreadable = [key for key in recalled.keys if not is_readable(self.root, key)]
            if not unreadable:
                break
            surfaced = surfaced.union(unreadable)
        return recalled


def is_readable(root: str, key: str) -> bool:
    """Whether a memory may be read: what leads out of its directory may not."""
    try:
        return os.access(resolve_found(root, key), os.R_OK)
    except PathEscape:
        return False
