"""`python -m evals.paths` on a small corpus of our own."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent.parent
CASES = [
    {"key": "good.md", "expect": "allow", "why": "plain", "tier": "plain", "must": True},
    {"key": "../x.md", "expect": "deny", "why": "leaves", "tier": "traversal", "must": True},
    {
        "key": "l/x.md",
        "expect": "deny",
        "why": "link",
        "tier": "symlink",
        "must": True,
        "setup": {"symlinks": {"l": "../../outside"}},
    },
    {"key": "f.md", "expect": "deny", "why": "fifo", "tier": "node", "must": False, "setup": {"fifo": ["f.md"]}},
    {
        "key": "h.md",
        "expect": "deny",
        "why": "hard",
        "tier": "node",
        "must": False,
        "setup": {"hardlinks": {"h.md": "../../outside/victim.md"}},
    },
    {
        "key": "d/x.md",
        "expect": "allow",
        "why": "folder",
        "tier": "nested",
        "must": True,
        "setup": {"dirs": ["d"], "files": {"d/y.md": "t"}},
    },
    {"key": 7, "expect": "deny", "why": "type", "tier": "type", "must": True},
]


def run(tmp_path: Path, cases: list[dict[str, object]]) -> subprocess.CompletedProcess[str]:
    data = tmp_path / "data.jsonl"
    data.write_text("".join(json.dumps(case) + "\n" for case in cases))
    command = [sys.executable, "-m", "evals.paths", "--data", str(data), "--predictions", str(tmp_path / "out.jsonl")]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)


def test_predictions_and_both_figures_are_printed(tmp_path: Path) -> None:
    ran = run(tmp_path, CASES)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert "hostile accepted: 0 of 5" in ran.stdout
    assert "harmless refused: 0 of 2" in ran.stdout
    predictions = [json.loads(line) for line in (tmp_path / "out.jsonl").read_text().splitlines()]
    assert [prediction["got"] for prediction in predictions] == [case["expect"] for case in CASES]


def test_a_judge_that_is_wrong_is_told_so(tmp_path: Path) -> None:
    ran = run(tmp_path, [{"key": "good.md", "expect": "deny", "why": "x", "tier": "t", "must": True}])
    assert ran.returncode == 1
    assert "accepted: 'good.md'" in ran.stdout
