"""`python -m evals.locomo`, `evals.sediment` and `evals.longmemeval` on tiny sets: a table, and predictions."""

from __future__ import annotations

import json
import lzma
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parent.parent.parent
OVEN, TEA = "The oven is calibrated on Mondays.", "Tea is served at four."


def run(name: str, *words: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    """In a folder of its own: the sets keep vectors in `results/`."""
    command = [sys.executable, "-m", f"evals.{name}", *words]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    return subprocess.run(command, cwd=cwd, env=environment, capture_output=True, text=True, check=False)


def write_lines(path: Path, *rows: dict[str, Any]) -> str:
    text = "".join(json.dumps(row) + "\n" for row in rows)
    path.write_bytes(lzma.compress(text.encode()) if path.suffix == ".xz" else text.encode())
    return str(path)


def ranked(path: Path) -> dict[str, list[str]]:
    """The documents for each question, best first."""
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    return {row["id"]: row["ranked"] for row in rows}


def test_sediment_is_read_ranked_and_written(tmp_path: Path) -> None:
    write_lines(tmp_path / "memories.jsonl", {"id": "m1", "content": OVEN}, {"id": "m2", "content": TEA})
    query = {"id": "q1", "query": "when is the oven calibrated?", "expected": ["m1"], "difficulty": "easy"}
    write_lines(tmp_path / "queries.jsonl", query)
    steps = [{"content": "Tea is at three.", "timestamp": 0}, {"content": TEA, "timestamp": 5}]
    write_lines(
        tmp_path / "temporal.jsonl", {"id": "t1", "query": "when is tea?", "sequence": steps, "expected_rank_1": 1}
    )
    done = run("sediment", "--data", str(tmp_path), "--predictions", "out/s.jsonl", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "Sediment: 1 questions" in done.stdout and "Sediment, newest claim first: 1 questions" in done.stdout
    assert ranked(tmp_path / "out" / "s.jsonl") == {"q1": ["m1", "m2"]}
    assert ranked(tmp_path / "out" / "s.temporal.jsonl") == {"t1": ["1", "0"]}


def test_locomo_is_read_ranked_and_written_for_each_granularity(tmp_path: Path) -> None:
    talk = {
        "session_1": [{"dia_id": "D1:1", "speaker": "Ada", "text": OVEN}],
        "session_2": [{"dia_id": "D2:1", "speaker": "Ada", "text": TEA}],
    }
    conversation = {
        "sample_id": "c",
        "conversation": talk,
        "observation": {"session_1": {"Ada": [[OVEN, "D1:1"]]}, "session_2": {"Ada": [[TEA, "D2:1"]]}},
        "qa": [{"question": "Oven calibrated when?", "evidence": ["D1:1"], "category": 4}],
    }
    data = tmp_path / "locomo.json.xz"
    data.write_bytes(lzma.compress(json.dumps([conversation]).encode()))
    done = run("locomo", "--data", str(data), "--predictions", "l.jsonl", "--ranking", "fts5", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    best = {"session": "D1", "turn": "D1:1", "observation": "session_1/Ada/0"}
    for name, key in best.items():
        assert f"LoCoMo, {name} = document: 1 questions" in done.stdout
        assert ranked(tmp_path / f"l.{name}.jsonl") == {"c#0": [key]}, "plain word search finds nothing else"


def test_longmemeval_is_read_ranked_and_written(tmp_path: Path) -> None:
    sessions = [
        {"key": name, "turns": [{"role": "user", "content": text}]} for name, text in (("k1", OVEN), ("k2", TEA))
    ]
    asked = {
        "question_id": "q1",
        "question": "When is the oven calibrated?",
        "question_type": "single",
        "question_date": "2023/05/20 (Sat) 02:21",
        "haystack_session_ids": ["s1", "s2"],
        "session_keys": ["k1", "k2"],
        "haystack_dates": ["2023/05/01 (Mon) 10:00", "2023/05/02 (Tue) 10:00"],
        "answer_session_ids": ["s1"],
    }
    words = (
        "--questions",
        write_lines(tmp_path / "questions.jsonl.xz", asked),
        "--sessions",
        write_lines(tmp_path / "sessions.jsonl.xz", *sessions),
    )
    done = run("longmemeval", *words, "--predictions", "m.jsonl", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "LongMemEval-S, session = document: 1 questions" in done.stdout
    assert ranked(tmp_path / "m.jsonl") == {"q1": ["s1", "s2"]}


@pytest.mark.parametrize(
    ("name", "needed"), [("locomo", "--data"), ("sediment", "--data"), ("longmemeval", "--questions, --sessions")]
)
def test_what_a_set_needs_is_asked_for(tmp_path: Path, name: str, needed: str) -> None:
    done = run(name, cwd=tmp_path)
    assert done.returncode == 2
    assert f"python -m evals.{name}: error: the following arguments are required: {needed}\n" in done.stderr
