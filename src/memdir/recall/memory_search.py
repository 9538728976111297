"""Search over memories (R8): those that hold every word come first, then those that recall's ranking puts near."""

from __future__ import annotations

from memdir.recall.local import LocalSelector
from memdir.store.search import Match, match_in, search

TYPE_CHECKING = False
if TYPE_CHECKING:
    from memdir.recall.rank import Candidate

MIN_SIMILARITY = 0.5  # of a memory that shares no word with the query
MIN_COVERAGE = 0.4  # of the query's weight: one common word of many is no match, a slip that was repaired is


def search_memories(root: str, place: str, query: str, *, limit: int) -> list[Match]:
    """At most `limit` memories below `root`; `place` is the folder of the derived index."""
    words = tuple(dict.fromkeys(query.casefold().split()))
    found = {match.key: match for match in search(root, query, limit=limit) if match.holds_all(words)}
    if len(found) < limit:
        selector = LocalSelector(root, place)
        selector.refresh()
        for candidate in selector.ranked(query, limit=limit):
            if candidate.key not in found and _fits(candidate):
                match = match_in(root, candidate.key, words)
                if match is not None:
                    found[candidate.key] = match
    return list(found.values())[:limit]


def _fits(candidate: Candidate) -> bool:
    return candidate.coverage >= MIN_COVERAGE or candidate.similarity >= MIN_SIMILARITY
