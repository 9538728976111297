"""The benchmarks run: a renamed prompt value or function breaks a test, and not the next who measures."""

from __future__ import annotations

import asyncio
import importlib
from pathlib import Path

import pytest
from benchmarks import cache

FOLDER = Path(cache.__file__).parent


@pytest.mark.parametrize("name", sorted(path.stem for path in FOLDER.glob("*.py") if path.stem != "__init__"))
def test_what_a_benchmark_imports_is_there(name: str) -> None:
    importlib.import_module(f"benchmarks.{name}")


def test_a_fork_reads_its_parents_cache() -> None:
    assert asyncio.run(cache._measured(cache.ANTHROPIC)).is_good
