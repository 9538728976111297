"""Many processes, one directory: the lock loses nothing (S13: 685 of 800 lines were lost by rename alone)."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from memdir.store.index import Index
from memdir.store.topic import Topic

from . import verify, writer
from .homes import Scenario, files_of, variables

pytestmark = pytest.mark.faults


def test_many_processes_lose_no_file_no_line_and_no_commit(
    thorough: bool, workplace: str, count: Callable[[str, int], None]
) -> None:
    processes, writes = (8, 100) if thorough else (4, 6)
    folder = os.path.join(workplace, "writers")
    scenario = Scenario("writers", "create", folder, {}, {}, {})
    os.makedirs(scenario.project)
    command = [sys.executable, str(Path(writer.__file__)), scenario.project]
    running = [
        subprocess.Popen([*command, f"w{number}", str(writes)], env=variables(scenario.home), stderr=subprocess.PIPE)
        for number in range(processes)
    ]
    errors = [process.communicate(timeout=900)[1] for process in running]
    assert [process.returncode for process in running] == [0] * processes, errors

    files = files_of(scenario.place(scenario.home).root)
    index = Index(files.pop("MEMORY.md"))
    assert len(files) == processes * writes // 2
    assert index.keys() == set(files)
    assert len(index.entries()) == len(files)
    for key, data in files.items():
        assert Topic(data).description.startswith("Changed"), key
    verify.check_history(scenario, scenario.home)
    verify.check_no_strays(scenario, scenario.home)
    log = verify.git(
        scenario, scenario.home, "log", "--format=%s%x09%(trailers:key=Session,valueonly,separator=)"
    ).stdout
    assert len(log.splitlines()) == len(set(log.splitlines())) == processes * writes
    verify.check_recorded(scenario, scenario.home, files_of(scenario.place(scenario.home).root), source="extract")
    count("writes by processes side by side", processes * writes)
