"""When a dream is due (D1)."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from memdir.dream.gates import LOCK_NAME, SCAN_SECONDS, DreamGates, Due, NotDue
from tests.conftest import Clock


@pytest.fixture
def gates(tmp_path: Path, clock: Clock) -> DreamGates:
    (tmp_path / "memory").mkdir()
    return DreamGates(str(tmp_path / "memory"), str(tmp_path), "current", lambda: "", clock)


def touch_sessions(tmp_path: Path, count: int, when: float) -> None:
    for number in range(count):
        path = tmp_path / f"session-{number}.jsonl"
        path.write_text("{}\n")
        os.utime(path, (when + number, when + number))


def consolidated(tmp_path: Path, when: float) -> None:
    path = tmp_path / "memory" / LOCK_NAME
    path.write_text("{}")
    os.utime(path, (when, when))


def test_five_other_sessions_after_a_day_make_a_dream_due(gates: DreamGates, tmp_path: Path, clock: Clock) -> None:
    consolidated(tmp_path, clock.now - 25 * 3600)
    touch_sessions(tmp_path, 5, clock.now - 1000)
    due = gates.check()
    assert due == Due(tuple(f"session-{number}" for number in range(5)))


def test_the_current_session_and_old_ones_do_not_count(gates: DreamGates, tmp_path: Path, clock: Clock) -> None:
    consolidated(tmp_path, clock.now - 25 * 3600)
    touch_sessions(tmp_path, 4, clock.now - 1000)
    (tmp_path / "current.jsonl").write_text("{}\n")
    (tmp_path / "old.jsonl").write_text("{}\n")
    os.utime(tmp_path / "old.jsonl", (clock.now - 26 * 3600,) * 2)
    assert gates.check() == NotDue("sessions")


def test_the_gates_close_in_the_order_of_their_cost(gates: DreamGates, tmp_path: Path, clock: Clock) -> None:
    touch_sessions(tmp_path, 9, clock.now - 1000)
    gates.why_closed = lambda: "dreaming is off"
    assert gates.check() == NotDue("dreaming is off")
    gates.why_closed = lambda: ""
    consolidated(tmp_path, clock.now - 23 * 3600)
    assert gates.check() == NotDue("time")
    consolidated(tmp_path, clock.now - 24 * 3600)
    assert isinstance(gates.check(), Due)


def test_sessions_are_counted_at_most_every_ten_minutes(gates: DreamGates, tmp_path: Path, clock: Clock) -> None:
    assert gates.check() == NotDue("sessions")
    touch_sessions(tmp_path, 5, clock.now)
    clock.now += SCAN_SECONDS - 1
    assert gates.check() == NotDue("scanned_recently")
    clock.now += 1
    assert isinstance(gates.check(), Due)


STAT_COUNT = """
import sys
from memdir.dream.gates import DreamGates
gates = DreamGates(sys.argv[1], sys.argv[2], "x", lambda: "", lambda: float(sys.argv[3]))
gates.check()
print("BEGIN", flush=True)
for _ in range(100):
    gates.check()
print("END", flush=True)
"""


@pytest.mark.skipif(shutil.which("strace") is None, reason="strace is not installed: system calls cannot be counted")
def test_while_closed_a_turn_costs_one_stat(tmp_path: Path, clock: Clock) -> None:
    (tmp_path / "memory").mkdir()
    consolidated(tmp_path, clock.now - 3600)
    log = tmp_path / "trace"
    command = [
        "strace",
        "-o",
        str(log),
        sys.executable,
        "-c",
        STAT_COUNT,
        str(tmp_path / "memory"),
        str(tmp_path),
        str(clock.now),
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if "Operation not permitted" in done.stderr:
        pytest.skip("strace may not trace here")
    lines = log.read_text().splitlines()
    begin = next(at for at, line in enumerate(lines) if "BEGIN" in line)
    end = next(at for at, line in enumerate(lines) if "END" in line)
    ours = ("brk", "mmap", "munmap", "write(1")
    between = [line for line in lines[begin + 1 : end] if not line.startswith(ours)]
    assert len(between) == 100
    assert all("stat" in line for line in between)
