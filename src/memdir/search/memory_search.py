"""Search over memories by recall's ranking (R8): those that hold every word of the query first, then what is near.

A past day that the query names ("yesterday") speaks for what was written then; no memory has to hold its words. Parts
of words are no terms of the index: where the ranking finds nothing, the files themselves are looked through.
"""

from __future__ import annotations

import os

from memdir.disk.plain_file import read_plain
from memdir.search.document import day_of
from memdir.search.index_store import MemoryIndex
from memdir.store.scan import MAX_MEMORY_BYTES, walk
from memdir.store.topic import Topic
from memdir.text.stems import term_of
from memdir.text.words import split_words

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from memdir.search.document import Question
    from memdir.search.index_store import OnProgress
    from memdir.search.ranking import Ranking

MAX_RESULTS = 20
MIN_SIMILARITY = 0.5  # of a memory that shares no word with the query
MIN_COVERAGE = 0.5  # of what the query's known words weigh: one common word of many is no match
SNIPPET_CHARACTERS = 160
_TITLE_WEIGHT = 4  # a word in name or description says what the memory is about


class Match:
    """One memory that fits, with the line that shows why."""

    __slots__ = ("_text", "forms", "key", "mtime_ns", "scope", "snippet", "topic", "words")

    def __init__(self, key: str, data: bytes, mtime_ns: int, words: tuple[str, ...]) -> None:
        self.key = key  # the file name below the memory directory
        self.topic: Topic = Topic(data)  # the file, read
        self.mtime_ns = mtime_ns  # when it was last changed, in nanoseconds
        self.words = words  # of the query, case folded
        self.scope = "project"
        self._text = f"{key}\n{data.decode('utf-8', 'replace')}".casefold()
        self.show_by(())

    def __repr__(self) -> str:
        return f"Match({self.key!r}, {self.snippet!r})"

    @property
    def held(self) -> int:
        """How many of the query's words stand in the file or its name."""
        return sum([word in self._text for word in self.words])

    @property
    def score(self) -> int:
        """How often the words stand in it; a word in the title counts more."""
        title = f"{self.key} {self.topic.name} {self.topic.description}".casefold()
        return sum(self._text.count(word) + _TITLE_WEIGHT * (word in title) for word in self.words)

    def show_by(self, forms: tuple[str, ...]) -> None:
        """Let the snippet show other forms of the query's words, too."""
        self.forms = forms
        words = (*self.words, *forms)
        line = snippet(self.topic.body, words)
        self.snippet = line if any(word in line.casefold() for word in words) else ""


def search_memories(
    root: str, place: str, query: str, *, limit: int, now: float, on_progress: OnProgress | None = None
) -> list[Match]:
    """At most `limit` memories below `root`; `place` is the folder of the derived index, `now` the time of asking."""
    words = words_of(query)
    index = MemoryIndex(root, place)
    index.refresh(on_progress=on_progress)
    question, ranking = index.ranked(query, keep=limit, today=day_of(now))
    near = [match for key in _fitting(question, ranking) if (match := _match(root, key, words)) is not None]
    near = near or plain_search(root, query, limit=limit)
    near = sorted(near, key=lambda match: match.held < len(words))[:limit]
    _add_forms(near, ranking)
    return near


def plain_search(root: str, query: str, *, limit: int = MAX_RESULTS) -> list[Match]:
    """Memories that hold all words of the query in any case; where none does, those that hold the most of them."""
    words = words_of(query)
    found: list[Match] = []
    most = 1
    for key, _ in walk(root):
        match = _match(root, key, words)
        if match is not None and match.held >= most:
            found = found if match.held == most else []
            most = match.held
            found.append(match)
    return sorted(found, key=lambda match: (-match.score, -match.mtime_ns, match.key))[:limit]


def words_of(query: str) -> tuple[str, ...]:
    """What is looked for in texts, each word once and case folded."""
    return tuple(dict.fromkeys(query.casefold().split()))


def snippet(text: str, words: Sequence[str]) -> str:
    """The line that holds most of the words, cut around the first of them."""
    lines = [" ".join(line.split()) for line in text.splitlines() if line.strip()]
    best = max(lines, key=lambda line: count_words(line, words), default="")
    folded = best.casefold()
    first = min((at for word in words if (at := folded.find(word)) >= 0), default=0)
    start = max(0, first - SNIPPET_CHARACTERS // 2)
    return ("…" if start else "") + best[start : start + SNIPPET_CHARACTERS]


def count_words(text: str, words: Sequence[str]) -> int:
    folded = text.casefold()
    return sum(word in folded for word in words)


def _match(root: str, key: str, words: tuple[str, ...]) -> Match | None:
    """A memory as a match; None for what cannot be read or is none."""
    path = os.path.join(root, key)
    try:
        return Match(key, read_plain(path, max_bytes=MAX_MEMORY_BYTES, follow=False), os.stat(path).st_mtime_ns, words)
    except OSError:
        return None


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


def _add_forms(matches: list[Match], ranking: Ranking) -> None:
    """Tell by which words of its own a memory was found where it does not hold the query's: slips, other endings."""
    matched = {candidate.key: frozenset(candidate.matched) for candidate in ranking.candidates}
    for match in matches:
        terms = matched.get(match.key)
        if terms and match.held < len(match.words):
            own = split_words(match.topic.data.decode("utf-8", "replace"))
            match.show_by(tuple(dict.fromkeys(w for w in own if w not in match.words and term_of(w) in terms)))
