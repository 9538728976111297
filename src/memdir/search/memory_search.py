"""Search over memories by recall's ranking (R8): those that hold every word of the query first, then what is near.

A past day that the query names ("yesterday") speaks for what was written then; no memory has to hold its words. Parts
of words are no terms of the index: where the ranking finds nothing, the files themselves are looked through.
"""

from __future__ import annotations

import os

from memdir.disk.plain_file import read_with_status
from memdir.search.encoder import WordEncoder
from memdir.search.index_store import IndexStore
from memdir.search.indexed_document import Document, day_of
from memdir.search.plain_search import Match, match_in, search
from memdir.search.question import Question
from memdir.search.ranking import KEPT, rank
from memdir.store.walk import MAX_MEMORY_BYTES, walk
from memdir.text.embedding import open_table
from memdir.text.stems import term_of
from memdir.text.words import split_words

TYPE_CHECKING = False
if TYPE_CHECKING:
    from memdir.search.candidate import Ranking
    from memdir.search.encoder import Encoder
    from memdir.search.index_store import OnProgress

MIN_SIMILARITY = 0.5  # of a memory that shares no word with the query
MIN_COVERAGE = 0.5  # of what the query's known words weigh: one common word of many is no match


class MemoryIndex:
    """The index over one memory directory; `place` is its folder and may be deleted any time."""

    __slots__ = ("_index", "_root", "encoder")

    def __init__(self, root: str, place: str, *, encoder: Encoder | None = None) -> None:
        self._root = root
        self.encoder = encoder or WordEncoder(open_table())
        self._index = IndexStore(place, self.encoder)

    def refresh(self, *, on_progress: OnProgress | None = None) -> int:
        """Look at every file's time and size and read what changed. Returns how many files were read."""
        current = {}
        for key, entry in walk(self._root):
            try:
                status = entry.stat(follow_symlinks=False)
            except OSError:
                continue  # deleted meanwhile
            if status.st_size <= MAX_MEMORY_BYTES:
                current[key] = (status.st_mtime_ns, status.st_size)
        return self._index.refresh(current, self._read, on_progress=on_progress)

    def update(self, key: str) -> None:
        """One file is known to have changed: no look at the others."""
        document = self._read(key)
        if document is None:
            self._index.forget([key])
        else:
            self._index.add([document])

    def search(self, text: str, *, limit: int) -> list[str]:
        """Keys in order of rank, without a decision (R8)."""
        return [candidate.key for candidate in self.ranked(text, keep=max(KEPT, limit))[1].candidates[:limit]]

    def rank(self, text: str, *, limit: int, now: float) -> tuple[Question, Ranking]:
        """At least `limit` candidates where there are so many, with what is known of the query."""
        return self.ranked(text, keep=max(KEPT, limit), today=day_of(now))

    def ranked(self, text: str, *, keep: int, today: int | None = None) -> tuple[Question, Ranking]:
        question = Question(text, self.encoder, today=today)
        return question, rank(question, self._index.segments, gone=self._index.gone, keep=keep)

    def _read(self, key: str) -> Document | None:
        """A memory as a document; None when it cannot be read. Time, size and text come from one open file (S9)."""
        from memdir.store.topic import Topic  # a start that reads no file needs no parser

        try:
            path = os.path.join(self._root, key)
            data, status = read_with_status(path, max_bytes=MAX_MEMORY_BYTES, follow=False)
        except OSError:
            return None
        topic = Topic(data)
        return Document(
            key,
            title=topic.name,
            description=topic.description,
            body=topic.body,
            kind=str(topic.kind or ""),
            mtime_ns=status.st_mtime_ns,
            size=status.st_size,
        )


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
