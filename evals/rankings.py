"""The rankings that are compared: ours, BM25, SQLite FTS5, each dense one alone, and their plain sums."""

from __future__ import annotations

import math
import sqlite3
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING
from zlib import crc32

from memdir.search.document import Document, Question, index_documents
from memdir.search.ranking import rank
from memdir.search.segment import Segment
from memdir.search.segment_writer import pack
from memdir.text.stems import terms
from memdir.text.words import split_words

if TYPE_CHECKING:
    from evals.sentences import Sentences
    from memdir.search.vectors import Encoder

OURS = "memdir"
OURS_WITH_EXTRA = "memdir[minilm]"
Scores = dict[str, float]


@dataclass(frozen=True)
class Encoders:
    """What the default install has, and what the extra adds where it is installed."""

    words: Encoder
    pair: Encoder | None = None
    sentences: Sentences | None = None


class Prepared:
    """Some documents as each ranking wants them."""

    def __init__(self, documents: Sequence[Document], encoders: Encoders, today: int | None) -> None:
        self.encoders = encoders
        self.today = today
        self.keys = [document.key for document in documents]
        indexed = index_documents(documents, encoders.words)
        self.vectors = {one.key: one.vectors for one in indexed}
        self.segment = Segment(pack(indexed, encoders.words.identity, encoders.words.dimensions))
        self.counts = {one.key: {term: (n >> 8) + (n & 255) for term, n in one.counts.items()} for one in indexed}
        self.lengths = {one.key: one.length for one in indexed}  # single terms alone, as the textbook counts
        self.holders = Counter(term for counts in self.counts.values() for term in counts)
        self.parts = {document.key: document.passages or [_text(document)] for document in documents}
        self.fts = _fts({document.key: _text(document) for document in documents})
        if encoders.pair is not None:
            indexed = index_documents(documents, encoders.pair)
            self.pair_segment = Segment(pack(indexed, encoders.pair.identity, encoders.pair.dimensions))


Ranking = Callable[[Prepared, str], Scores]


def ours(pool: Prepared, question: str) -> Scores:
    ranking = rank(Question(question, pool.encoders.words, today=pool.today), [pool.segment])
    return {candidate.key: candidate.score for candidate in ranking.candidates}


def ours_with_extra(pool: Prepared, question: str) -> Scores:
    assert pool.encoders.pair is not None
    ranking = rank(Question(question, pool.encoders.pair, today=pool.today), [pool.pair_segment])
    return {candidate.key: candidate.score for candidate in ranking.candidates}


def bm25(pool: Prepared, question: str) -> Scores:
    """k1 1.5, b 0.75, stems, stop words: the plain textbook form."""
    count, average = len(pool.keys), sum(pool.lengths.values()) / max(1, len(pool.keys)) or 1.0
    asked = [crc32(term.encode()) for term in dict.fromkeys(terms(split_words(question)))]
    weights = {
        term: math.log(1 + (count - pool.holders[term] + 0.5) / (pool.holders[term] + 0.5))
        for term in asked
        if term in pool.holders
    }
    out: Scores = {}
    for key in pool.keys:
        held, norm = pool.counts[key], 1.5 * (0.25 + 0.75 * pool.lengths[key] / average)
        out[key] = sum(w * held[term] * 2.5 / (held[term] + norm) for term, w in weights.items() if term in held)
    return out


def fts5(pool: Prepared, question: str) -> Scores:
    words = [word for word in dict.fromkeys(split_words(question)) if word.isalnum()]
    if not words:
        return {}
    match = " OR ".join(f'"{word}"' for word in words)
    rows = pool.fts.execute("SELECT key, bm25(notes) FROM notes WHERE notes MATCH ? ORDER BY 2 LIMIT 200", (match,))
    return {key: -float(score) for key, score in rows}


def static(pool: Prepared, question: str) -> Scores:
    """The table alone: the nearest part of each document."""
    asked = pool.encoders.words.query_vector((question, split_words(question)))
    if asked is None:
        return {}
    return {
        key: max([asked.similarity(vector) for vector in vectors], default=-1.0)
        for key, vectors in pool.vectors.items()
    }


def minilm(pool: Prepared, question: str) -> Scores:
    """The sentence model alone: the nearest part of each document."""
    sentences = pool.encoders.sentences
    assert sentences is not None
    asked = sentences.rows([question])[0]
    return {
        key: float(max(sentences.rows(parts) @ asked, default=-1.0)) if parts else -1.0
        for key, parts in pool.parts.items()
    }


def plain_sum(*parts: Ranking) -> Ranking:
    """Min-max scaled scores added one to one."""

    def added(pool: Prepared, question: str) -> Scores:
        total: Scores = dict.fromkeys(pool.keys, 0.0)
        for part in parts:
            scores = part(pool, question)
            low, high = min(scores.values(), default=0.0), max(scores.values(), default=0.0)
            for key, score in scores.items():
                total[key] += (score - low) / (high - low or 1.0)
        return total

    return added


DEFAULT: dict[str, Ranking] = {
    OURS: ours,
    "bm25": bm25,
    "fts5": fts5,
    "static": static,
    "bm25+static": plain_sum(bm25, static),
    "fts5+static": plain_sum(fts5, static),
}
WITH_EXTRA: dict[str, Ranking] = {
    OURS_WITH_EXTRA: ours_with_extra,
    "minilm": minilm,
    "bm25+minilm": plain_sum(bm25, minilm),
}


def rankings(encoders: Encoders) -> dict[str, Ranking]:
    """Every ranking that this installation can make."""
    return {**DEFAULT, **WITH_EXTRA} if encoders.pair is not None else DEFAULT


def rivals() -> Iterator[tuple[str, str]]:
    """Which of ours each of the others is compared with."""
    yield from ((name, OURS) for name in DEFAULT if name != OURS)
    yield from ((name, OURS_WITH_EXTRA) for name in WITH_EXTRA if name != OURS_WITH_EXTRA)


def _text(document: Document) -> str:
    return " ".join([document.title, document.description, document.body])


def _fts(texts: dict[str, str]) -> sqlite3.Connection:
    connection = sqlite3.connect(":memory:")
    connection.execute("CREATE VIRTUAL TABLE notes USING fts5(key UNINDEXED, text, tokenize = 'porter unicode61')")
    connection.executemany("INSERT INTO notes VALUES (?, ?)", texts.items())
    return connection
