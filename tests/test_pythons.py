"""Every Python we promise: the ones that are here are tried, the others are named with a reason."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

ROOT = Path(__file__).parents[1]


def test_a_python_that_is_not_here_is_left_out_with_a_reason() -> None:
    environment = {**os.environ, "PYTHONS": "3.99"}
    done = subprocess.run([ROOT / ".ci" / "pythons"], env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("Python 3.99 is left out: it is not on this machine")


def test_the_promise_and_the_run_name_the_same_pythons() -> None:
    text = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    promised = re.findall(r"Python :: (3\.\d+)", text)
    assert promised[0] == re.search(r'requires-python = ">=(.+)"', text)[1]  # type: ignore[index]
    assert promised == [f"3.{minor}" for minor in range(11, 11 + len(promised))]
    assert "test-pythons" in (ROOT / ".ci" / "run").read_text(encoding="utf-8")
