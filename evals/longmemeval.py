"""LongMemEval-S: find the sessions that answer a question among about fifty.

python -m evals.longmemeval --questions longmemeval_s_dev.jsonl.xz --sessions ..._sessions.jsonl.xz [--predictions OUT]
"""

from __future__ import annotations

import json
import lzma
import sys
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from evals.retrieval import Case, Pool, Report, evaluate, report_set
from memdir.search.document import Document, day_of

TURN_WORDS = 200  # of a user's turn that are given a direction: what is pasted behind them is seldom what was said


def main() -> int:
    return report_set("longmemeval", __doc__, run, inputs=("questions", "sessions"))


def run(questions: Path, sessions: Path, predictions: Path | None, *, ours: str) -> Iterator[Report]:
    texts = {record["key"]: record["turns"] for record in _lines(sessions)}
    yield evaluate("LongMemEval-S, session = document", _pools(questions, texts), predictions, ours=ours)


def _pools(questions: Path, texts: dict[str, list[dict[str, str]]]) -> Iterator[Pool]:
    for asked in _lines(questions):
        ids, keys = asked["haystack_session_ids"], asked["session_keys"]
        dated = dict(zip(ids, zip(keys, asked["haystack_dates"], strict=True), strict=True))
        documents = [_document(name, texts[key], _seconds(date)) for name, (key, date) in dated.items()]
        gold = frozenset(asked["answer_session_ids"]) & frozenset(ids)
        if gold:
            case = Case(asked["question_id"], asked["question"], gold, asked["question_type"])
            yield Pool(documents, [case], today=day_of(_seconds(asked["question_date"])))


def _document(name: str, turns: list[dict[str, str]], seconds: float) -> Document:
    """All words count; directions are those of what the user said."""
    said = [" ".join(turn["content"].split()[:TURN_WORDS]) for turn in turns if turn["role"] == "user"]
    body = "\n".join(turn["content"] for turn in turns)
    return Document(name, body=body, passages=[part for part in said if part], mtime_ns=int(seconds) * 10**9)


def _seconds(date: str) -> float:
    """The set writes `2023/05/20 (Sat) 02:21`."""
    return datetime.strptime(date[:10], "%Y/%m/%d").replace(tzinfo=UTC).timestamp()


def _lines(path: Path) -> Iterator[dict[str, Any]]:
    with lzma.open(path, "rt", encoding="utf-8") as source:
        for line in source:
            yield json.loads(line)


if __name__ == "__main__":
    sys.exit(main())
