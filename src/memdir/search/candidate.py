"""What ranking finds: candidates with all that speaks for them; a newer claim about one thing before the older one."""

from __future__ import annotations

from math import cos

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from memdir.search.segment import Facts, Segment

MIN_SHARE = 0.5  # of the older one's score: less is another subject
SAME_SUBJECT = 0.45  # similarity from which two memories are about one thing
STEP = 1e-6  # enough to stand before


class Candidate:
    """One document that might help, with everything that speaks for or against it."""

    __slots__ = (
        "card", "coverage", "facts", "key", "matched", "rarest", "score", "segment", "similarity", "title_coverage",
        "title_similarity",
        "whole_similarity", "word_score",
    )  # fmt: skip

    def __init__(self, segment: Segment, card: int) -> None:
        self.segment = segment
        self.card = card
        self.key = segment.key(card)
        self.facts: Facts = segment.facts(card)
        self.matched: list[str] = []
        self.word_score = 0.0
        self.coverage = 0.0  # share of the question's term weight that the card holds
        self.title_coverage = 0.0
        self.rarest = 0.0
        self.title_similarity = 0.0
        self.whole_similarity = 0.0
        self.similarity = 0.0  # the mean of both
        self.score = 0.0


class Ranking:
    """Candidates, best first, and what is known of the question against all cards."""

    __slots__ = ("candidates", "cards", "middle_similarity", "term_weights", "unknown_terms")

    def __init__(self) -> None:
        self.candidates: list[Candidate] = []
        self.cards = 0
        self.middle_similarity = 0.0
        self.term_weights: dict[str, float] = {}
        self.unknown_terms: list[str] = []  # of the question: in no card at all


def put_newer_first(best: Sequence[Candidate], angle: float) -> bool:
    """Raise the first newer claim above the one it replaces; whether there was any.

    Only one: with every pair set right, claims that are merely alike change places too.
    """
    for place, older in enumerate(best):
        for newer in best[place + 1 :]:
            if newer.facts.mtime_ns <= older.facts.mtime_ns or newer.score < MIN_SHARE * older.score:
                continue
            if _alike(older, newer, angle) >= SAME_SUBJECT:
                newer.score = older.score + STEP
                return True
    return False


def _alike(one: Candidate, other: Candidate, angle: float) -> float:
    """How near two memories are, by the signs of their last parts."""
    if not _is_claim(one.facts) or not _is_claim(other.facts):
        return 0.0
    mine, theirs = one.facts.first_row + one.facts.rows - 1, other.facts.first_row + other.facts.rows - 1
    return cos(angle * (one.segment.codes()[mine] ^ other.segment.codes()[theirs]).bit_count())


def _is_claim(facts: Facts) -> bool:
    """A memory or one statement; a talk of many parts is a record, and a newer one does not replace it."""
    return facts.rows == 1 or (facts.rows > 1 and facts.has_head)
