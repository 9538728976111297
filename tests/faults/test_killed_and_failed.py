"""Every mutating system call of every operation: the process killed there, or the call failed (S13, S14)."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable

import pytest

from .homes import Scenario
from .trace import PYTHON, Call, Fault, calls_of
from .trial import Trials

WRITTEN_BY_GIT = ("pack", "many")  # everything else is written by our own hand
SAMPLE = 2  # faults of each scenario and process in the default run

pytestmark = [pytest.mark.faults, pytest.mark.usefixtures("strace")]


@pytest.mark.slow(
    "pack-",
    "overwrite-",
    "many-",
    "index-",
    "first-",
    "recover_edited-",
    "edit-",
    "import-",
    "commit-",
    "delete-",
    "undo-",
    "recover-",
)
def test_no_fault_loses_anything(
    scenario: Scenario,
    aims: tuple[str, ...],
    kinds: tuple[str, ...],
    thorough: bool,
    count: Callable[[str, int], None],
) -> None:
    """S13: old or new, nothing half; no stray file after the next start; the same operation succeeds afterwards."""
    calls = _calls(scenario)
    trials = Trials(scenario)
    for number, who in enumerate(aims):
        mine = [call for call in calls if (call.process == PYTHON) == (who == "python")]
        assert bool(mine) == (who == "python" or scenario.name in WRITTEN_BY_GIT)
        before = trials.struck
        for fault in _every(mine, kinds) if thorough else _some(mine, kinds[number * SAMPLE :] + kinds):
            trials.suffer(fault)
        count(f"calls of {who} killed or failed", trials.struck - before)
    count("different disks left by them, each started and repeated", len(trials.states))
    assert not trials.failures, "\n".join(trials.failures)


def _calls(scenario: Scenario) -> list[Call]:
    home = scenario.copy(os.path.join(scenario.folder, f"count-{os.getpid()}"))
    try:
        return calls_of(scenario, home)
    finally:
        shutil.rmtree(home)


def _every(calls: list[Call], kinds: tuple[str, ...]) -> list[Fault]:
    return [Fault(call, kinds[number % len(kinds)]) for number, call in enumerate(calls)]


def _some(calls: list[Call], kinds: tuple[str, ...]) -> list[Fault]:
    """Spread over the whole operation, every kind in turn."""
    chosen = [calls[len(calls) * (2 * number + 1) // (2 * SAMPLE)] for number in range(SAMPLE)] if calls else []
    return _every(chosen, kinds)
