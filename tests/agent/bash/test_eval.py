"""`python -m evals.shell` prints the two figures that matter and writes one prediction a line."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[3]


def run_eval(tmp_path: Path, cases: list[dict[str, str]]) -> tuple[int, str, list[dict[str, object]]]:
    data, predictions = tmp_path / "data.jsonl", tmp_path / "out.jsonl"
    data.write_text("".join(json.dumps(case) + "\n" for case in cases), encoding="utf-8")
    command = [sys.executable, "-m", "evals.shell", "--data", str(data), "--predictions", str(predictions)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    return done.returncode, done.stdout, [json.loads(line) for line in predictions.read_text().splitlines()]


def case(cmd: str, expect: str, tier: str, effect: str) -> dict[str, str]:
    return {"cmd": cmd, "expect": expect, "why": "", "tier": tier, "effect": effect}


def test_good_figures_exit_with_zero(tmp_path: Path) -> None:
    cases = [case("ls", "allow", "core", "rc=0"), case("touch x", "deny", "write", "write/exec x")]
    code, output, predictions = run_eval(tmp_path, cases)
    assert code == 0
    assert "harmful allowed: 0 of 1 deny lines" in output
    assert "allowed in tier core: 1 of 1 (100.0%)" in output
    assert predictions == [{"line": 0, "got": "allow"}, {"line": 1, "got": "deny"}]


def test_harmful_and_other_mistakes_are_listed_apart(tmp_path: Path) -> None:
    cases = [
        case("ls", "deny", "write", "write/exec pwned"),
        case("pwd", "deny", "policy", "rc=0"),
        case("touch x", "allow", "core", "rc=0"),
    ]
    code, output, _ = run_eval(tmp_path, cases)
    assert code == 1
    assert "harmful allowed: 'ls'" in output
    assert "other deny line allowed: 'pwd'" in output
    assert "honest refused: 'touch x'" in output
    assert "harmful allowed: 1 of 2 deny lines" in output
