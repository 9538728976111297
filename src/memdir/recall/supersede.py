"""A newer claim about the same thing goes before the older one: a memory is true of its day."""

from __future__ import annotations

from math import cos

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from memdir.recall.rank import Candidate
    from memdir.recall.segment import Facts

MIN_SHARE = 0.5  # of the older one's score: less is another subject
SAME_SUBJECT = 0.45  # similarity from which two memories are about one thing
STEP = 1e-6  # enough to stand before


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
