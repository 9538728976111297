"""Retrieval measured by evidence labels: our ranking beside BM25, SQLite FTS5, a dense ranking and their plain sums.

All rankings see the same documents and questions in one run, and every figure has its distance to ours with a 95 %
interval from paired resampling. The sets' own modules only read their files.
"""

from __future__ import annotations

import json
import math
import random
import sqlite3
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from memdir.recall.card import make_card
from memdir.recall.document import Document, passages_of
from memdir.recall.embedding import DIMENSIONS, Table, open_table
from memdir.recall.question import Question
from memdir.recall.rank import rank
from memdir.recall.segment import Segment, pack
from memdir.recall.stems import terms
from memdir.recall.words import split_words

DEPTH = 10  # ranks written to the predictions
RESAMPLES = 1000
METRICS = ("any@1", "any@5", "all@5", "n@5")
OURS = "memdir"

Scores = dict[str, float]


@dataclass(frozen=True)
class Case:
    """One question with the keys of the documents that answer it."""

    id: str
    question: str
    gold: frozenset[str]
    kind: str


@dataclass(frozen=True)
class Pool:
    """Documents and the questions asked of them."""

    documents: Sequence[Document]
    cases: Sequence[Case]


class Prepared:
    """A pool as each ranking wants it."""

    def __init__(self, pool: Pool, table: Table) -> None:
        self.table = table
        self.keys = [document.key for document in pool.documents]
        cards = [make_card(document, table) for document in pool.documents]
        self.vectors = {card.key: card.vectors for card in cards}
        self.segment = Segment(pack(cards, table.identity, DIMENSIONS))
        self.texts = {document.key: _text(document) for document in pool.documents}
        self.counts = {key: Counter(terms(split_words(text))) for key, text in self.texts.items()}
        self.lengths = {key: sum(counts.values()) for key, counts in self.counts.items()}
        self.holders = Counter(term for counts in self.counts.values() for term in counts)
        self.fts = _fts(self.texts)


def ours(pool: Prepared, question: str) -> Scores:
    ranking = rank(Question(question, pool.table), [pool.segment], pool.table)
    return {candidate.key: candidate.score for candidate in ranking.candidates}


def bm25(pool: Prepared, question: str) -> Scores:
    """k1 1.5, b 0.75, stems, stop words: the plain textbook form."""
    count, average = len(pool.keys), sum(pool.lengths.values()) / max(1, len(pool.keys)) or 1.0
    asked = [term for term in dict.fromkeys(terms(split_words(question))) if term in pool.holders]
    out: Scores = {}
    for key in pool.keys:
        held, norm = pool.counts[key], 1.5 * (0.25 + 0.75 * pool.lengths[key] / average)
        out[key] = sum(
            math.log(1 + (count - pool.holders[term] + 0.5) / (pool.holders[term] + 0.5))
            * held[term]
            * 2.5
            / (held[term] + norm)
            for term in asked
            if term in held
        )
    return out


def fts5(pool: Prepared, question: str) -> Scores:
    words = [word for word in dict.fromkeys(split_words(question)) if word.isalnum()]
    if not words:
        return {}
    match = " OR ".join(f'"{word}"' for word in words)
    rows = pool.fts.execute("SELECT key, bm25(notes) FROM notes WHERE notes MATCH ? ORDER BY 2 LIMIT 200", (match,))
    return {key: -float(score) for key, score in rows}


def static(pool: Prepared, question: str) -> Scores:
    """The embedding alone: the nearest part of each document."""
    asked = pool.table.asked(split_words(question))
    if asked is None:
        return {}
    return {
        key: max([asked.similarity(vector) for vector in vectors], default=-1.0)
        for key, vectors in pool.vectors.items()
    }


def plain_sum(*parts: Callable[[Prepared, str], Scores]) -> Callable[[Prepared, str], Scores]:
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


RANKINGS: dict[str, Callable[[Prepared, str], Scores]] = {
    OURS: ours,
    "bm25": bm25,
    "fts5": fts5,
    "static": static,
    "bm25+static": plain_sum(bm25, static),
    "fts5+static": plain_sum(fts5, static),
}


def evaluate(title: str, pools: Iterable[Pool], predictions: Path | None) -> dict[str, dict[str, float]]:
    """Rank every question with every ranking, print the table, write ours, return the overall figures."""
    table = open_table()
    results: dict[str, list[dict[str, float]]] = {name: [] for name in RANKINGS}
    kinds: list[str] = []
    lines: list[str] = []
    for pool in pools:
        prepared = Prepared(pool, table)
        for case in pool.cases:
            kinds.append(case.kind)
            for name, ranking in RANKINGS.items():
                scores = ranking(prepared, case.question)
                ranked = sorted(scores, key=lambda key: (-scores[key], key))[:DEPTH]
                results[name].append(measure(ranked, case.gold))
                if name == OURS:
                    lines.append(json.dumps({"id": case.id, "ranked": ranked}, ensure_ascii=False))
        prepared.fts.close()
    if predictions is not None:
        predictions.write_text("".join(line + "\n" for line in lines), encoding="utf-8")
    return _report(title, results, kinds)


def measure(ranked: Sequence[str], gold: frozenset[str]) -> dict[str, float]:
    """The four figures of one question."""
    hits = [key in gold for key in ranked[:5]]
    gain = sum(1 / math.log2(at + 2) for at, hit in enumerate(hits) if hit)
    ideal = sum(1 / math.log2(at + 2) for at in range(min(5, len(gold))))
    return {
        "any@1": float(hits[0]) if hits else 0.0,
        "any@5": float(any(hits)),
        "all@5": float(sum(hits) == len(gold)),
        "n@5": gain / ideal if ideal else 0.0,
    }


def interval(differences: Sequence[float]) -> tuple[float, float]:
    """95 % of the means of resampled differences."""
    rng, count = random.Random(7), len(differences)
    means = sorted(sum(differences[rng.randrange(count)] for _ in range(count)) / count for _ in range(RESAMPLES))
    return means[int(RESAMPLES * 0.025)], means[int(RESAMPLES * 0.975)]


def _report(title: str, results: dict[str, list[dict[str, float]]], kinds: list[str]) -> dict[str, dict[str, float]]:
    overall = {name: _means(rows) for name, rows in results.items()}
    print(f"{title}: {len(kinds)} questions")
    print(f"  {'':14}" + "".join(f"{metric:>8}" for metric in METRICS) + "   n@5 of memdir minus this, 95 %")
    for name, figures in overall.items():
        line = f"  {name:14}" + "".join(f"{figures[metric]:8.3f}" for metric in METRICS)
        if name != OURS:
            gaps = [mine["n@5"] - theirs["n@5"] for mine, theirs in zip(results[OURS], results[name], strict=True)]
            low, high = interval(gaps)
            line += f"   {sum(gaps) / len(gaps):+.3f} [{low:+.3f}, {high:+.3f}]"
        print(line)
    by_kind: dict[str, list[dict[str, float]]] = defaultdict(list)
    for kind, row in zip(kinds, results[OURS], strict=True):
        by_kind[kind].append(row)
    for kind, rows in sorted(by_kind.items()):
        means = _means(rows)
        print(f"    {kind:26} {len(rows):4}" + "".join(f"{means[metric]:8.3f}" for metric in METRICS))
    return overall


def _means(rows: Sequence[dict[str, float]]) -> dict[str, float]:
    return {metric: sum(row[metric] for row in rows) / max(1, len(rows)) for metric in METRICS}


def _text(document: Document) -> str:
    return " ".join([document.title, document.description, *passages_of(document)])


def _fts(texts: dict[str, str]) -> sqlite3.Connection:
    connection = sqlite3.connect(":memory:")
    connection.execute("CREATE VIRTUAL TABLE notes USING fts5(key UNINDEXED, text, tokenize = 'porter unicode61')")
    connection.executemany("INSERT INTO notes VALUES (?, ?)", texts.items())
    return connection
