"""Sediment: find one-line developer memories, and the newest of several that contradict each other.

python -m evals.sediment --data DIR [--predictions OUT]
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from evals.retrieval import Case, Pool, Report, evaluate, report_set
from memdir.search.document import Document

_STEP_NS = 86_400 * 10**9  # one day between the steps of a sequence


def main() -> int:
    return report_set("sediment", __doc__, run)


def run(data: Path, predictions: Path | None, *, ours: str) -> Iterator[Report]:
    documents = [
        Document(row["id"], body=row["content"], passages=[row["content"]]) for row in _lines(data / "memories.jsonl")
    ]
    known = {document.key for document in documents}
    cases = [
        Case(row["id"], row["query"], frozenset(row["expected"]) & known, row["difficulty"])
        for row in _lines(data / "queries.jsonl")
    ]
    yield evaluate("Sediment", [Pool(documents, [case for case in cases if case.gold])], predictions, ours=ours)
    temporal = predictions.with_suffix(f".temporal{predictions.suffix}") if predictions else None
    yield evaluate("Sediment, newest claim first", _sequences(data / "temporal.jsonl"), temporal, ours=ours)


def _sequences(path: Path) -> Iterator[Pool]:
    for row in _lines(path):
        steps = [
            Document(str(at), body=step["content"], passages=[step["content"]], mtime_ns=step["timestamp"] * _STEP_NS)
            for at, step in enumerate(row["sequence"])
        ]
        yield Pool(steps, [Case(row["id"], row["query"], frozenset([str(row["expected_rank_1"])]), "newest first")])


def _lines(path: Path) -> Iterator[dict[str, Any]]:
    for line in path.read_text(encoding="utf-8").splitlines():
        if line.strip():
            yield json.loads(line)


if __name__ == "__main__":
    sys.exit(main())
