"""Search over memories by recall's ranking (R8): those that hold every word of the query first, then what is near.

Parts of words are no terms of the index: where the ranking finds nothing, the files themselves are looked through.
"""

from __future__ import annotations

from memdir.recall.local import LocalSelector
from memdir.store.search import Match, match_in, search

TYPE_CHECKING = False
if TYPE_CHECKING:
    from memdir.recall.rank import Ranking

MIN_SIMILARITY = 0.5  # of a memory that shares no word with the query
MIN_COVERAGE = 0.5  # of what the query's known words weigh: one common word of many is no match


def search_memories(root: str, place: str, query: str, *, limit: int) -> list[Match]:
    """At most `limit` memories below `root`; `place` is the folder of the derived index."""
    words = tuple(dict.fromkeys(query.casefold().split()))
    selector = LocalSelector(root, place)
    selector.refresh()
    ranking = selector.rank(query, limit=limit)
    near = [match for key in _fitting(ranking) if (match := match_in(root, key, words)) is not None]
    if not near:
        near = search(root, query, limit=limit)
    return sorted(near, key=lambda match: not match.holds_all(words))[:limit]


def _fitting(ranking: Ranking) -> list[str]:
    """The candidates worth showing, best first."""
    weights = ranking.term_weights
    total = sum(weights.values()) or 1.0
    known = sum(weight for term, weight in weights.items() if term not in ranking.unknown_terms) / total
    return [
        candidate.key
        for candidate in ranking.candidates
        if (candidate.matched and candidate.coverage >= MIN_COVERAGE * known) or candidate.similarity >= MIN_SIMILARITY
    ]
