"""Search over memories by recall's ranking (R8): those that hold every word of the query first, then what is near.

A past day that the query names ("yesterday") speaks for what was written then; no memory has to hold its words. Parts
of words are no terms of the index: where the ranking finds nothing, the files themselves are looked through.
"""

from __future__ import annotations

import os

from memdir.disk.plain_file import read_plain
from memdir.search.memory_index import MemoryIndex
from memdir.store.scan import MAX_MEMORY_BYTES, walk
from memdir.store.topic import Topic
from memdir.text.stems import term_of
from memdir.text.words import split_words

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from memdir.search.index_store import OnProgress
    from memdir.search.question import Question
    from memdir.search.ranking import Ranking


MAX_RESULTS = 20
_TITLE_WEIGHT = 4  # a word in name or description says what the memory is about
_SNIPPET_CHARACTERS = 160

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable


class Match:
    """One memory that fits, with the line that shows why."""

    __slots__ = ("forms", "key", "mtime_ns", "score", "snippet", "topic")

    def __init__(self, key: str, score: int, snippet: str, topic: Topic, mtime_ns: int) -> None:
        self.forms: tuple[str, ...] = ()  # words of the file that the query means and does not hold
        self.key = key
        self.score = score
        self.snippet = snippet
        self.topic = topic
        self.mtime_ns = mtime_ns

    def holds_all(self, words: tuple[str, ...]) -> bool:
        """Whether every one of these words, case folded, stands in the file or its name."""
        text = (self.key + self.topic.data.decode("utf-8", "replace")).casefold()
        return all(word in text for word in words)

    def show_by(self, words: tuple[str, ...], forms: tuple[str, ...]) -> None:
        """Let the snippet show other forms of the query's words, too."""
        self.forms = forms
        self.snippet = _snippet(self.topic, words + forms)


def search(root: str, query: str, *, limit: int = MAX_RESULTS) -> list[Match]:
    """Memories that hold all words of the query; where none does, those that hold the most of them."""
    words = tuple(dict.fromkeys(query.casefold().split()))
    if not words:
        return []
    count_hits = _counter(words)
    found: list[tuple[int, str, bytes, str]] = []
    most = 1
    for key, entry in walk(root):
        data = _read(entry.path)
        hits = count_hits(key, data)
        if hits >= most:
            most = hits
            found.append((hits, key, data, entry.path))
    matches = [_match(key, data, path, words) for hits, key, data, path in found if hits == most]
    matches.sort(key=lambda match: (-match.score, -match.mtime_ns, match.key))
    return matches[:limit]


def match_in(root: str, key: str, words: tuple[str, ...]) -> Match | None:
    """One memory that somebody else found, as a match; None when it is gone."""
    path = os.path.join(root, key)
    data = _read(path)
    return _match(key, data, path, words) if data else None


def _counter(words: tuple[str, ...]) -> Callable[[str, bytes], int]:
    """Counts the words that a file or its name holds. ASCII is looked for in the bytes: decoding costs more."""
    needles = [word.encode("utf-8", "replace") for word in words]
    is_plain = all(word.isascii() for word in words)

    def count(key: str, data: bytes) -> int:
        if is_plain and data.isascii() and key.isascii():
            lowered = key.encode("ascii").lower() + data.lower()
            return sum([needle in lowered for needle in needles])
        text = (key + data.decode("utf-8", "replace")).casefold()
        return sum([word in text for word in words])

    return count


def _match(key: str, data: bytes, path: str, words: tuple[str, ...]) -> Match:
    topic = Topic(data)
    text = f"{key}\n{data.decode('utf-8', 'replace')}".casefold()
    title = f"{key} {topic.name} {topic.description}".casefold()
    score = sum(text.count(word) + _TITLE_WEIGHT * (word in title) for word in words)
    try:
        mtime_ns = os.stat(path).st_mtime_ns
    except OSError:
        mtime_ns = 0  # deleted since it was read
    return Match(key, score, _snippet(topic, words), topic, mtime_ns)


def _snippet(topic: Topic, words: tuple[str, ...]) -> str:
    """The line of the body that holds the most words."""
    lines = [line.strip() for line in topic.body.splitlines() if line.strip()]
    best = max(lines, key=lambda line: sum(word in line.casefold() for word in words), default="")
    if not any(word in best.casefold() for word in words):
        return ""
    first = min((at for word in words if (at := best.casefold().find(word)) >= 0), default=0)
    start = max(0, first - _SNIPPET_CHARACTERS // 2)
    return ("…" if start else "") + best[start : start + _SNIPPET_CHARACTERS]


def _read(path: str) -> bytes:
    """A file's text; nothing for what cannot be read or is no memory."""
    try:
        return read_plain(path, max_bytes=MAX_MEMORY_BYTES, follow=False)
    except OSError:
        return b""


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
