"""Search over memories by recall's ranking (R8): those that hold every word of the query first, then what is near.

A past day that the query names ("yesterday") speaks for what was written then; no memory has to hold its words. Parts
of words are no terms of the index: where the ranking finds nothing, the files themselves are looked through.
"""

from __future__ import annotations

from memdir.search.memory_index import MemoryIndex
from memdir.search.plain_search import Match, match_in, search
from memdir.text.stems import term_of
from memdir.text.words import split_words

TYPE_CHECKING = False
if TYPE_CHECKING:
    from memdir.search.candidate import Ranking
    from memdir.search.index_store import OnProgress
    from memdir.search.question import Question

MIN_SIMILARITY = 0.5  # of a memory that shares no word with the query
MIN_COVERAGE = 0.5  # of what the query's known words weigh: one common word of many is no match


def search_memories(
    root: str, place: str, query: str, *, limit: int, now: float, on_progress: OnProgress | None = None
) -> list[Match]:
    """At most `limit` memories below `root`; `place` is the folder of the derived index, `now` the time of asking."""
    words = tuple(dict.fromkeys(query.casefold().split()))
    index = MemoryIndex(root, place)
    index.refresh(on_progress=on_progress)
    question, ranking = index.rank(query, limit=limit, now=now)
    near = [match for key in _fitting(question, ranking) if (match := match_in(root, key, words)) is not None]
    if not near:
        near = search(root, query, limit=limit)
    near = sorted(near, key=lambda match: not match.holds_all(words))[:limit]
    _add_forms(near, words, ranking)
    return near


def _add_forms(matches: list[Match], words: tuple[str, ...], ranking: Ranking) -> None:
    """Tell by which words of its own a memory was found where it does not hold the query's: slips, other endings."""
    matched = {candidate.key: frozenset(candidate.matched) for candidate in ranking.candidates}
    for match in matches:
        terms = matched.get(match.key)
        if terms and not match.holds_all(words):
            own = split_words(match.topic.data.decode("utf-8", "replace"))
            forms = dict.fromkeys(word for word in own if word not in words and term_of(word) in terms)
            match.show_by(words, tuple(forms))


def _fitting(question: Question, ranking: Ranking) -> list[str]:
    """The candidates worth showing, best first."""
    naming = {term_of(word) for word in question.moment.words} if question.moment is not None else ()
    weights = {term: weight for term, weight in ranking.term_weights.items() if term not in naming}
    known = sum(weight for term, weight in weights.items() if term not in ranking.unknown_terms)
    return [
        candidate.key
        for candidate in ranking.candidates
        if (candidate.matched and sum([weights.get(term, 0.0) for term in candidate.matched]) >= MIN_COVERAGE * known)
        or candidate.similarity >= MIN_SIMILARITY
    ]
