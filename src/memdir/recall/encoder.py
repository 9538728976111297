"""What turns texts into directions: the table of words alone, or the table beside a sentence model.

Everything behind it (cards, segments, ranking, deciding) is the same for both; an index made by one is never read by
the other, because its identity differs.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Protocol

    from memdir.recall.calibration import Calibration
    from memdir.text.embedding import Table
    from memdir.text.planes import Asked, Held

    Part = tuple[str, list[str]]  # a text and its words

    class Encoder(Protocol):
        """Directions for questions and for the parts of documents."""

        @property
        def table(self) -> Table: ...

        @property
        def calibration(self) -> Calibration: ...

        @property
        def meaning_weight(self) -> float: ...  # of the scaled similarity, beside 1 for the scaled word score

        @property
        def identity(self) -> int: ...

        @property
        def dimensions(self) -> int: ...

        def asked(self, part: Part) -> Asked | None: ...

        def held(self, parts: Sequence[Part]) -> list[Held | None]: ...


MEANING_WEIGHT = 0.5  # a sum of words is a rough idea of what is meant


class WordEncoder:
    """The table alone: microseconds a text, in any process."""

    __slots__ = ("calibration", "dimensions", "identity", "meaning_weight", "table")

    def __init__(self, table: Table) -> None:
        from memdir.recall.calibration_words import LEARNED
        from memdir.text.embedding import DIMENSIONS

        self.table = table
        self.calibration: Calibration = LEARNED
        self.identity = table.identity
        self.dimensions = DIMENSIONS
        self.meaning_weight = MEANING_WEIGHT

    def asked(self, part: Part) -> Asked | None:
        return self.table.asked(part[1])

    def held(self, parts: Sequence[Part]) -> list[Held | None]:
        return [self.table.held(words) for _, words in parts]
