"""What turns texts into directions: the table of words alone, or the table beside a sentence model.

Everything behind it (cards, segments, ranking, deciding) is the same for both; an index made by one is never read by
the other, because its identity differs.
"""

from __future__ import annotations

from memdir.search.bitvectors import doc_vector, query_vector
from memdir.text.embedding import DIMENSIONS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Protocol

    from memdir.search.bitvectors import DocVector, QueryVector
    from memdir.text.embedding import Table

    Part = tuple[str, list[str]]  # a text and its words

    class Encoder(Protocol):
        """Directions for questions and for the parts of documents."""

        @property
        def table(self) -> Table: ...

        @property
        def name(self) -> str: ...  # of what was learned with its directions

        @property
        def meaning_weight(self) -> float: ...  # of the scaled similarity, beside 1 for the scaled word score

        @property
        def identity(self) -> int: ...

        @property
        def dimensions(self) -> int: ...

        def query_vector(self, part: Part) -> QueryVector | None: ...

        def doc_vectors(self, parts: Sequence[Part]) -> list[DocVector | None]: ...


MEANING_WEIGHT = 0.5  # a sum of words is a rough idea of what is meant


class WordEncoder:
    """The table alone: microseconds a text, in any process."""

    name = "words"
    __slots__ = ("dimensions", "identity", "meaning_weight", "table")

    def __init__(self, table: Table) -> None:
        self.table = table
        self.identity = table.identity
        self.dimensions = DIMENSIONS
        self.meaning_weight = MEANING_WEIGHT

    def query_vector(self, part: Part) -> QueryVector | None:
        total = self.table.question_sum(part[1])
        return None if total is None else query_vector(total)

    def doc_vectors(self, parts: Sequence[Part]) -> list[DocVector | None]:
        totals = [self.table.document_sum(words) for _, words in parts]
        return [None if total is None else doc_vector(total) for total in totals]
