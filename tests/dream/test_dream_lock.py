"""The lock of the dream (D2)."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from memdir.dream.gates import LOCK_NAME, STALE_SECONDS, last_dream, take_dream_lock

NOW = 1_800_000_000.0
HOLD = """
import sys
from memdir.dream.gates import take_dream_lock
lock = take_dream_lock(sys.argv[1], guard=sys.argv[2], now=float(sys.argv[3]))
print("held" if lock else "busy", flush=True)
sys.stdin.readline()
print(lock.is_mine(), flush=True)
lock.done(float(sys.argv[3]), "x")
"""
RACE = """
import sys
from memdir.dream.gates import take_dream_lock
folder, guard, now = sys.argv[1], sys.argv[2], float(sys.argv[3])
held = []
for number, _ in enumerate(sys.stdin):
    lock = take_dream_lock(folder, guard=guard, now=now + number * 7200)
    held.append(lock)  # never given back: in the next round its holder is stale
    print("won" if lock else "lost", sum(lock is not None and lock.is_mine() for lock in held), flush=True)
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "memory").mkdir()
    return tmp_path / "memory"


def take(folder: Path, now: float = NOW) -> object:
    return take_dream_lock(str(folder), guard=str(folder.parent / "guard"), now=now)


def hold(folder: Path, now: float = NOW) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", HOLD, str(folder), str(folder.parent / "guard"), str(now)]
    child = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert child.stdout and child.stdout.readline() == "held\n"
    return child


def test_the_file_s_time_is_the_last_dream_s_time_and_only_after_success(folder: Path) -> None:
    assert last_dream(str(folder), NOW) is None
    lock = take(folder)
    assert lock is not None
    assert last_dream(str(folder), NOW) is None, "while it runs, nothing has been consolidated yet"
    lock.done(NOW, "3 files")  # type: ignore[attr-defined]
    assert last_dream(str(folder), NOW) == NOW
    again = take(folder, NOW + 90_000)
    assert last_dream(str(folder), NOW + 90_000) == NOW
    again.give_up()  # type: ignore[union-attr]
    assert last_dream(str(folder), NOW + 90_000) == NOW


def test_a_dream_that_fails_the_first_time_leaves_no_file(folder: Path) -> None:
    take(folder).give_up()  # type: ignore[union-attr]
    assert os.listdir(folder) == []


def test_the_text_names_the_holder(folder: Path) -> None:
    lock = take(folder)
    assert json.loads((folder / LOCK_NAME).read_text())["pid"] == os.getpid()
    lock.give_up()  # type: ignore[union-attr]


def test_a_living_holder_excludes_others_and_a_killed_one_does_not(folder: Path) -> None:
    with hold(folder) as child:
        assert take(folder) is None
        os.kill(child.pid, signal.SIGKILL)
        child.wait()
        assert last_dream(str(folder), NOW) is None, "a killed dream counts as none"
        lock = take(folder)
        assert lock is not None
        lock.give_up()


def test_a_holder_older_than_an_hour_is_replaced_and_finds_out_before_it_writes(folder: Path) -> None:
    with hold(folder, NOW - STALE_SECONDS - 1) as child:
        lock = take(folder)
        assert lock is not None
        assert lock.is_mine()  # type: ignore[attr-defined]
        out, _ = child.communicate("\n")
        assert out == "False\n"
        assert lock.is_mine(), "its late giving back did not touch ours"  # type: ignore[attr-defined]
        lock.done(NOW, "x")  # type: ignore[attr-defined]
    assert last_dream(str(folder), NOW) == NOW


@pytest.mark.parametrize("kind", ["empty", "garbage", "link", "dangling", "fifo", "folder", "pid", "future"])
def test_nothing_that_stands_there_blocks_for_ever(folder: Path, kind: str) -> None:
    path = folder / LOCK_NAME
    victim = folder.parent / "victim"
    victim.write_text("precious")
    match kind:
        case "empty":
            path.write_text("")
        case "garbage":
            path.write_bytes(b"\xff\0{")
            os.utime(path, (NOW - 10, NOW - 10))
        case "link":
            path.symlink_to(victim)
        case "dangling":
            path.symlink_to(folder / "nowhere")
        case "fifo":
            os.mkfifo(path)
        case "folder":
            path.mkdir()
        case "pid":
            path.write_text(json.dumps({"pid": 1, "started": NOW}))
        case "future":
            path.write_text("{}")
            os.utime(path, (NOW + 10_000_000, NOW + 10_000_000))
    lock = take(folder)
    assert lock is not None
    lock.done(NOW, "x")  # type: ignore[attr-defined]
    assert last_dream(str(folder), NOW) == NOW
    assert victim.read_text() == "precious"
    assert path.is_file() and not path.is_symlink()


def test_a_future_time_or_an_empty_file_means_never(folder: Path) -> None:
    path = folder / LOCK_NAME
    path.write_text("{}")
    os.utime(path, (NOW + 1000, NOW + 1000))
    assert last_dream(str(folder), NOW) is None
    os.utime(path, (NOW + 100, NOW + 100))
    assert last_dream(str(folder), NOW) == NOW + 100, "clocks differ a little"
    path.write_text("")
    assert last_dream(str(folder), NOW) is None


def test_what_a_kill_while_taking_left_is_swept(folder: Path) -> None:
    (folder / f"{LOCK_NAME}-0011").write_text("{}")
    take(folder).give_up()  # type: ignore[union-attr]
    assert os.listdir(folder) == []


def race(folder: Path, processes: int, rounds: int) -> list[tuple[int, int]]:
    """In each round all processes find the same stale holder and try to replace it. Returns, for each round, how many
    won and how many think that they hold the lock."""
    command = [sys.executable, "-c", RACE, str(folder), str(folder.parent / "guard"), str(NOW)]
    children = [
        subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) for _ in range(processes)
    ]
    results = []
    for _ in range(rounds):
        for child in children:
            assert child.stdin
            child.stdin.write("go\n")
            child.stdin.flush()
        said = [child.stdout.readline().split() for child in children if child.stdout]
        results.append(
            (sum(word == "won" for word, _ in said), sum(word == "won" and held == "1" for word, held in said))
        )
    for child in children:
        child.communicate()
    return results


def test_processes_that_race_for_a_stale_lock_never_hold_it_together(folder: Path) -> None:
    rounds = int(os.environ.get("RACE_ROUNDS", "30"))  # `make test-faults` runs 500
    assert race(folder, processes=8, rounds=rounds) == [(1, 1)] * rounds
