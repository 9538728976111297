"""Who chooses memories for a message on this machine, and what a choice holds (R1, R3, O2)."""

from __future__ import annotations

from memdir.search.document import day_of
from memdir.search.index_store import MemoryIndex
from memdir.search.ranking import KEPT

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Sequence
    from typing import Literal

    from memdir.recall.decide import Calibration, Decision
    from memdir.search.question import Question
    from memdir.search.ranking import Ranking
    from memdir.search.vectors import Encoder

    Chooser = Literal["words", "sentences", "model", ""]  # nobody: names that a host put together


class Selection:
    """The memories that were chosen: by the table of words, by the sentence model beside it, or by a model."""

    __slots__ = ("by", "instead_of_model", "keys", "prompt_hash")

    def __init__(self, keys: list[str], by: Chooser, *, prompt_hash: str = "") -> None:
        self.keys = keys
        self.by: Chooser = by
        self.prompt_hash = prompt_hash  # what a model was told
        self.instead_of_model = ""  # why the model that should have chosen did not


class Recalled:
    """What was chosen for a message, with everything that explains it (O2)."""

    __slots__ = ("decision", "question", "ranking")

    def __init__(self, question: Question, ranking: Ranking, decision: Decision) -> None:
        self.question = question
        self.ranking = ranking
        self.decision = decision

    @property
    def keys(self) -> list[str]:
        return self.decision.chosen


class LocalSelector(MemoryIndex):
    """Ranks and decides without a model. Holds the index and the table between calls; a hook asks once and ends."""

    __slots__ = ("_calibration",)

    def __init__(self, root: str, place: str, *, encoder: Encoder | None = None) -> None:
        super().__init__(root, place, encoder=encoder)
        self._calibration: Calibration | None = None

    def recall(
        self, text: str, *, now: float, recent_tools: Sequence[str] = (), surfaced: Collection[str] = ()
    ) -> Recalled:
        """The few memories that clearly help with a message, or none."""
        from memdir.recall.decide import decide, load_calibration  # a search decides nothing

        self._calibration = learned = self._calibration or load_calibration(self.encoder.name)
        today = day_of(now)
        question, ranking = self.ranked(text, keep=KEPT + len(surfaced), today=today)
        decision = decide(question, ranking, learned, today=today, recent_tools=recent_tools, surfaced=surfaced)
        return Recalled(question, ranking, decision)
