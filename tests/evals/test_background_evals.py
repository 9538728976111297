"""`python -m evals.extract` and `python -m evals.dream` on small cases of our own, from a relative path."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent.parent
TALK = {
    "id": "one",
    "now": "2026-11-11T10:00:00+01:00",
    "instructions": "",
    "existing": [],
    "messages": [
        {"role": "user", "content": "Add an integration test for the invoice import."},
        {"role": "assistant", "content": "I added one with a mocked database."},
        {
            "role": "user",
            "content": "No, don't mock the database in integration tests, use the real one. A mock hid a bug.",
        },
        {"role": "assistant", "content": "Understood, I switched to the real database."},
    ],
    "expect": [{}],
}


def run(module: str, folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", module, *arguments]
    environment = {"PYTHONPATH": str(ROOT), "PATH": "/usr/bin:/bin", "HOME": str(folder)}
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)


def test_extraction_writes_one_line_a_conversation(tmp_path: Path) -> None:
    (tmp_path / "talks.jsonl").write_text(json.dumps(TALK) + "\n")
    done = run("evals.extract", tmp_path, "--data", "talks.jsonl", "--predictions", "out.jsonl")
    assert done.returncode == 0, done.stderr
    [line] = (tmp_path / "out.jsonl").read_text().splitlines()
    [written] = json.loads(line)["written"]
    assert written["type"] == "feedback"
    assert written["action"] == "create"
    assert "mock" in written["body"]


def test_a_dream_leaves_each_case_beside_its_name(tmp_path: Path) -> None:
    memory = tmp_path / "data" / "case" / "project" / "memory"
    memory.mkdir(parents=True)
    (memory / "freeze.md").write_text(
        "---\nname: Freeze\ndescription: the merge freeze\ntype: project\n---\n\nThe freeze begins tomorrow.\n"
    )
    times = {"now": "2026-03-20T20:00:00Z", "mtimes": {"memory/freeze.md": "2026-03-02T09:00:00Z"}}
    (tmp_path / "data" / "case" / "mtimes.json").write_text(json.dumps(times))
    done = run("evals.dream", tmp_path, "--data", "data", "--out", "out")
    assert done.returncode == 0, done.stderr
    after = tmp_path / "out" / "case" / "memory"
    assert "2026-03-03" in (after / "freeze.md").read_text()
    assert "(freeze.md)" in (after / "MEMORY.md").read_text()


@pytest.mark.parametrize("module", ["evals.extract", "evals.dream"])
def test_a_model_that_is_not_there_is_named(tmp_path: Path, module: str) -> None:
    (tmp_path / "case").mkdir()
    (tmp_path / "talks.jsonl").write_text(json.dumps(TALK) + "\n")
    (tmp_path / "case" / "mtimes.json").write_text('{"now": "2026-03-20T20:00:00Z", "mtimes": {}}')
    (tmp_path / "case" / "project").mkdir()
    place = (
        ["--data", "talks.jsonl", "--predictions", "out"]
        if module == "evals.extract"
        else ["--data", ".", "--out", "o"]
    )
    done = run(module, tmp_path, *place, "--model", "anthropic:claude-sonnet-4-5")
    assert "key" in done.stderr.lower()
