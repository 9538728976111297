"""The local event log (V1)."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
from pathlib import Path

from memdir.events import Event, FanOut, request_refused
from memdir.telemetry.jsonl import JsonlLog
from tests.conftest import Events


def lines(path: Path) -> list[dict[str, object]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_an_event_is_one_line_with_time_name_and_fields(tmp_path: Path) -> None:
    path = tmp_path / "logs" / "events.jsonl"
    JsonlLog(str(path), max_bytes=1000).emit(request_refused(what="a path", reason="/memory"))
    [line] = lines(path)
    assert (line["event"], line["what"], line["reason"]) == ("memory.refused", "a path", "/memory")
    assert str(line["time"]).endswith("Z")
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_a_full_log_is_rotated_and_three_old_ones_are_kept(tmp_path: Path) -> None:
    log = JsonlLog(str(tmp_path / "events.jsonl"), max_bytes=200)
    for number in range(40):
        log.emit(Event("x", number=number))
    names = sorted(name for name in os.listdir(tmp_path) if name.endswith(".jsonl"))
    assert names == ["events.1.jsonl", "events.2.jsonl", "events.3.jsonl", "events.jsonl"]
    numbers = [
        line["number"]
        for name in ("events.2.jsonl", "events.1.jsonl", "events.jsonl")
        for line in lines(tmp_path / name)
    ]
    assert numbers == list(range(40))[-len(numbers) :]


def test_a_log_that_cannot_be_written_disturbs_nobody(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    JsonlLog(str(tmp_path / "file" / "events.jsonl"), max_bytes=100).emit(Event("x"))
    (tmp_path / "link.jsonl").symlink_to(tmp_path / "file")
    JsonlLog(str(tmp_path / "link.jsonl"), max_bytes=100).emit(Event("x"))
    assert (tmp_path / "file").read_text() == "in the way"


def test_eight_processes_tear_no_line(tmp_path: Path) -> None:
    code = (
        "import sys; from memdir.events import Event; from memdir.telemetry.jsonl import JsonlLog\n"
        "log = JsonlLog(sys.argv[1], max_bytes=10**9)\n"
        "for n in range(50): log.emit(Event('x', text='y' * 5000, n=n))"
    )
    children = [subprocess.Popen([sys.executable, "-c", code, str(tmp_path / "e.jsonl")]) for _ in range(8)]
    assert [child.wait() for child in children] == [0] * 8
    assert len(lines(tmp_path / "e.jsonl")) == 400


def test_several_sinks_get_every_event(events: Events) -> None:
    FanOut([events, events]).emit(Event("x", a=1))
    assert list(map(repr, events.events)) == ["Event('x', a=1)"] * 2
