"""Training: the examples are well formed, and the same data gives the same file."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from evals.extract import run
from evals.extract_data import TRAINED, UNREAD, read
from evals.train_extract import example_of, fit_two, train, written

from memdir.model.builtin.builtin_model import BuiltinModel

from .talk import NOW, messages


def test_every_example_is_read_and_its_marks_stand_in_the_text() -> None:
    for author in (*TRAINED, *UNREAD):
        for case in read(author):
            said = [block.get("text", "") for message in case["messages"] for block in message["content"]]
            assert all(any(span["text"] in text for text in said) for span in case["spans"]), case["id"]
            files = {memory["file"] for memory in case["existing"]}
            meant = {one["action"] for one in case.get("expect", ())} - {"create"}
            assert {one.removeprefix("update:") for one in meant} <= files, case["id"]


def test_nothing_of_the_unread_fold_is_trained_on() -> None:
    assert not set(UNREAD) & set(TRAINED)


def test_the_same_examples_give_the_same_file() -> None:
    few = [example_of({**case, "author": "c1"}) for case in read("c1")][::4]
    assert list(written(train(few))) == list(written(train(few)))


def test_the_fit_separates_what_can_be_separated() -> None:
    rows = [{"bias": 1.0, "rule": 1.0}, {"bias": 1.0, "talk": 1.0}] * 10
    weights = fit_two(rows, [True, False] * 10, 10.0)
    assert weights["rule"] > 1 > -1 > weights["talk"]


def test_the_eval_writes_predictions_for_a_scorer(tmp_path: Path) -> None:
    case = {
        "id": "x1",
        "now": NOW,
        "instructions": "",
        "existing": [],
        "messages": messages("u: hi\na: Ran it.\nu: benchmarks always run on bench01, never on a laptop\na: OK."),
        "expect": [],
    }
    data, out = tmp_path / "data.jsonl", tmp_path / "out.jsonl"
    data.write_text(json.dumps(case) + "\n", encoding="utf-8")
    command = [sys.executable, "-m", "evals.extract", "--data", str(data), "--predictions", str(out)]
    done = subprocess.run(command, capture_output=True, text=True, check=True, encoding="utf-8")
    assert "nothing expected: 1 conversations" in done.stdout
    written = json.loads(out.read_text(encoding="utf-8"))
    assert written == {"id": "x1", "written": run(case, BuiltinModel(), "builtin")}
    assert [one["action"] for one in written["written"]] == ["create"]
