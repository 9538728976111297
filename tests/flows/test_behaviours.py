"""Every promised behaviour has a test, every flow test proves a promised behaviour."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

FOLDER = Path(__file__).parent


def test_behaviours_and_flow_tests_name_each_other() -> None:
    promised = tomllib.loads((FOLDER / "behaviours.toml").read_text(encoding="utf-8"))
    proved = {
        name
        for path in FOLDER.glob("test_*.py")
        for name in re.findall(r'@pytest\.mark\.behaviour\("([\w-]+)"\)', path.read_text(encoding="utf-8"))
    }
    assert proved == set(promised)
    for name, behaviour in promised.items():
        assert behaviour["says"].endswith("."), name
        assert all(re.fullmatch(r"[A-Z]\d+", clause) for clause in behaviour["clauses"]), name


def test_every_flow_test_carries_a_behaviour() -> None:
    for path in FOLDER.glob("test_*.py"):
        if path.name == "test_behaviours.py":
            continue
        text = path.read_text(encoding="utf-8")
        tests = re.findall(r"^(?:async )?def (test_\w+)", text, re.MULTILINE)
        marked = re.findall(r'@pytest\.mark\.behaviour\("[\w-]+"\)\n(?:@.*\n)*(?:async )?def (test_\w+)', text)
        assert tests == marked, path.name
