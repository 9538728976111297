"""The benchmarks run: a renamed prompt value or function breaks a test, and not the next who measures."""

from __future__ import annotations

import asyncio
import importlib
import re
from pathlib import Path

import pytest
from benchmarks import cache, hub_scale

FOLDER = Path(cache.__file__).parent


@pytest.mark.parametrize("name", sorted(path.stem for path in FOLDER.glob("*.py") if path.stem != "__init__"))
def test_what_a_benchmark_imports_is_there(name: str) -> None:
    importlib.import_module(f"benchmarks.{name}")


def test_a_fork_reads_its_parents_cache() -> None:
    assert asyncio.run(cache._measured(cache.ANTHROPIC)).is_good


def test_what_teams_need_is_computed_from_the_costs_that_stand_beside_it() -> None:
    page = (FOLDER.parent / "docs/scaling.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| (.+?) \| ([\d,]*) \| ([\d,]*) \| [\d,]* \|$", page, re.MULTILINE)
    spent = {told: tuple(int(one.replace(",", "") or 0) for one in two) for told, *two in rows}
    costs = {told: spent[told] for told in (*hub_scale.COSTS, hub_scale.SCAN, hub_scale.SIZE)}
    assert all(table in page for table in hub_scale.tables(costs))
