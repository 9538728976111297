"""Training: our written examples are well formed, and the same data gives the same bytes."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from evals.extract import run
from evals.train_extract import WRITTEN, fit_two, read_written, train

from memdir.model.builtin.builtin_model import BuiltinModel
from memdir.model.builtin.extract.judge import pack

from .talk import NOW, messages


def test_every_written_example_is_read_and_its_marks_stand_in_the_text() -> None:
    examples = read_written(WRITTEN)
    assert len(examples) > 1000
    for example in examples:
        said = [(line.id.split(".")[0], line.text) for line in example.conversation.lines if line.kind == "said"]
        spoken = {span: [text for message, text in said if message == str(span.message)] for span in example.spans}
        assert all(any(span.text in text for text in texts) for span, texts in spoken.items()), example.id
        assert not any("[F " in text or "[W " in text for _, text in said), example.id
        files = {memory.file for memory in example.conversation.existing}
        assert example.updates <= files, example.id


def test_the_same_examples_give_the_same_bytes() -> None:
    few = read_written(WRITTEN)[::150]
    first, folds = train(few, [])
    again, _ = train(few, [])
    assert pack(first) == pack(again)
    assert len(folds) == 5


def test_the_fit_separates_what_can_be_separated() -> None:
    rows = [{"bias": 1.0, "rule": 1.0}, {"bias": 1.0, "talk": 1.0}] * 10
    weights = fit_two(rows, [True, False] * 10, [1.0] * 20, 10.0)
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
