"""A disk that is really full, for memdir and for git, until somebody makes room (S13)."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest

from . import full_disk
from .conftest import is_thorough
from .homes import SCENARIOS

SAMPLE = ("create",)  # in the default run, with a few sizes
UNSHARE = ("unshare", "--map-root-user", "--mount")

pytestmark = pytest.mark.faults


@cache
def why_not() -> str:
    """Why no file system can be mounted here; empty when one can."""
    words = ["mount", "-t", "tmpfs", "-o", "size=1m,nr_inodes=9", "tmpfs", "/mnt"]
    try:
        done = subprocess.run([*UNSHARE, *words], capture_output=True, text=True, check=False, timeout=30)
    except OSError as error:
        return f"unshare is not there: {error}"
    return "" if done.returncode == 0 else f"a small file system cannot be mounted here: {done.stderr.strip()}"


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "name" in metafunc.fixturenames:
        metafunc.parametrize("name", SCENARIOS if is_thorough(metafunc.config) else SAMPLE)


def test_a_full_disk_loses_nothing(
    name: str, thorough: bool, tmp_path: Path, count: Callable[[str, int], None]
) -> None:
    """S13, for the disk that was full from some call on: memdir's clean-up fails as well, and git's."""
    if why_not():
        pytest.skip(why_not())
    module = full_disk.__name__
    tests = Path(__file__).parents[__package__.count(".") + 1]
    command = [
        *UNSHARE,
        sys.executable,
        "-m",
        module,
        str(tmp_path),
        name,
        str(full_disk.MOST_SPARE if thorough else 2),
    ]
    done = subprocess.run(command, cwd=tests, capture_output=True, text=True, check=False, timeout=600)
    *broken, last = done.stdout.splitlines() or [""]
    assert done.returncode == 0, done.stderr
    assert not broken, done.stdout
    count("runs on a full disk", int(last.removeprefix("tried ")))
