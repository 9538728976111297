"""`memdir budget`: where it went, what is left, in words and for programs (B2)."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from memdir.cli.budget import CHART_COLUMNS, bar
from memdir.layout import Layout
from memdir.model.budget import Ledger, Spent
from memdir.model.model import Usage
from tests.conftest import Ran

DAY = 86400.0
Memdir = Callable[..., Ran]


def fill(tmp_path: Path, project: Path) -> str:
    """A ledger of three days: two projects, two jobs, a model with a price and one without."""
    layout = Layout(str(tmp_path / "home"), str(project))
    ledger, now = Ledger(layout.ledger), time.time()
    usage = Usage(1000, 100, 8900, 0)
    ledger.add(Spent(now - 40 * DAY, "extract", layout.slug, "claude-haiku-4-5", usage, 1.0))
    ledger.add(Spent(now - 2 * DAY, "extract", layout.slug, "claude-haiku-4-5", usage, 0.25))
    ledger.add(Spent(now, "dream", "-other", "llama4", usage, None))
    ledger.add(Spent(now, "extract", layout.slug, "claude-haiku-4-5", Usage(500), 0.5, "interrupted"))
    return layout.slug


def test_nothing_spent_is_said_with_the_caps(memdir: Memdir) -> None:
    ran = memdir("budget")
    assert ran.code == 0
    assert "today  0 of 2,000,000 tokens · this project 0 of 1,000,000 · $0.00 of $2.00" in ran.out
    assert "No background work in the last 14 days." in ran.out


def test_the_table_shows_days_jobs_projects_and_models(memdir: Memdir, tmp_path: Path, project: Path) -> None:
    slug = fill(tmp_path, project)
    out = memdir("budget").out
    assert "today  10,500 of 2,000,000 tokens · this project 500 of 1,000,000 · $0.50 of $2.00" in out
    lines = {line.split()[0]: line.split() for line in out.splitlines() if line.split()}
    assert lines["extract"][1:] == ["2", "1,500", "8,900", "100", "$0.75"]
    assert lines["dream"][1:] == ["1", "1,000", "8,900", "100", "no", "price"]
    assert lines[slug][1] == "2" and lines["-other"][1] == "1"
    assert lines["llama4"][-2:] == ["no", "price"]
    today = time.strftime("%Y-%m-%d")
    assert lines[today][1] == "2" and lines[today][-1] == "█" * CHART_COLUMNS, "the busiest day has the longest bar"
    assert "3 calls, 1 of them failed, 20,500 tokens, $0.75+" in out
    assert len([line for line in out.splitlines() if line[:2] == "20"]) == 14


def test_a_narrow_table_keeps_its_columns(
    memdir: Memdir, tmp_path: Path, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill(tmp_path, project)
    monkeypatch.setenv("COLUMNS", "60")
    lines = memdir("budget").out.splitlines()
    days = [line for line in lines if line[:3] == "202"]
    assert len({len(line) for line in days} - {len("2026-11-18")}) == 1 and max(map(len, lines)) <= 60
    assert "calls" in lines[lines.index(days[0]) - 1]


def test_the_days_can_be_chosen(memdir: Memdir, tmp_path: Path, project: Path) -> None:
    fill(tmp_path, project)
    assert "2 calls" in memdir("budget", "--days", "1").out
    assert "4 calls" in memdir("budget", "--days", "60").out
    assert memdir("budget", "--days", "0").code == 2


def test_programs_get_json(memdir: Memdir, tmp_path: Path, project: Path) -> None:
    slug = fill(tmp_path, project)
    found = json.loads(memdir("budget", "--json").out)
    assert found["caps"] == {"tokensPerDay": 2_000_000, "tokensPerProject": 1_000_000, "moneyPerDay": 2.0}
    assert found["today"]["tokens"] == 10_500
    assert found["todayThisProject"]["calls"] == 1
    assert [row["day"] for row in found["byDay"]] == sorted(row["day"] for row in found["byDay"])
    assert {row["job"]: row["calls"] for row in found["byJob"]} == {"extract": 2, "dream": 1}
    assert {row["project"] for row in found["byProject"]} == {slug, "-other"}
    assert found["byModel"][0]["model"] == "claude-haiku-4-5" and found["byModel"][0]["money"] == 0.75
    assert found["total"] == {
        "calls": 3,
        "failed": 1,
        "input": 2500,
        "output": 200,
        "cacheRead": 17_800,
        "cacheCreated": 0,
        "tokens": 20_500,
        "money": 0.75,
        "unpriced": 1,
    }


def test_caps_that_are_off_are_not_shown(memdir: Memdir) -> None:
    off = [
        word for name in ("tokensPerDay", "tokensPerProject", "centsPerDay") for word in ("--set", f"budget.{name}=0")
    ]
    assert "today  0 tokens · this project 0 · $0.00\n" in memdir("budget", *off).out


def test_bars_are_seen_from_the_smallest_to_the_largest() -> None:
    assert bar(0) == ""
    assert bar(0.0001) == "▏"
    assert bar(0.5) == "█" * (CHART_COLUMNS // 2)
    assert bar(1) == "█" * CHART_COLUMNS
    lengths = [len(bar(share / 100)) for share in range(101)]
    assert lengths == sorted(lengths)
