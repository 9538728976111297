"""Search over conversations and daily logs: a past day in the query is counted from the day of asking (R8)."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from memdir.memdir import MemDir, open_memory
from memdir.transcript.conversation import Conversation
from memdir.transcript.message import user
from tests.conftest import NOW, Clock

DAY = 86_400


@pytest.fixture
def memory(project: Path, clock: Clock) -> MemDir:
    return open_memory(project, clock=clock)


@pytest.mark.parametrize(
    ("query", "days_old"), [("flour lunch", 1), ("flour lunch nine days ago", 9), ("flour lunch last month", 30)]
)
def test_of_turns_alike_the_one_of_the_named_day_comes_first(
    memory: MemDir, clock: Clock, query: str, days_old: int
) -> None:
    for days in (30, 9, 1):
        clock.now = NOW - days * DAY
        talk = Conversation(memory.transcript(f"{days:08}-0000-4000-8000-000000000001"))
        talk.add(user("Lunch with a supplier about flour."))
        talk.transcript.close()
    found = memory.session_search().search(query, limit=3, now=NOW)
    assert int(found[0].session[:8]) == days_old
    assert len(found) == 3


def test_a_daily_log_counts_as_of_the_day_in_its_name(memory: MemDir) -> None:
    logs = Path(memory.place.logs) / "2026" / "09"
    logs.mkdir(parents=True)
    for day in ("2026-09-01", "2026-09-12", "2026-09-19"):
        (logs / f"{day}.md").write_text("- 10:00 lunch about flour\n", encoding="utf-8")
        os.utime(logs / f"{day}.md", (NOW, NOW))  # as a fresh clone leaves them
    found = memory.session_search().search("flour lunch nine days ago", limit=3, now=NOW)
    assert found[0].moment == "2026-09-12"


@pytest.fixture
def logs(memory: MemDir) -> Path:
    folder = Path(memory.place.logs) / "2026" / "09"
    folder.mkdir(parents=True)
    (folder / "2026-09-01.md").write_text("- 10:00 lunch about flour\n", encoding="utf-8")
    return folder


def found_logs(memory: MemDir, query: str) -> list[str]:
    return [Path(hit.path).name for hit in memory.session_search().search(query, limit=5, now=NOW)]


def test_a_log_may_have_any_name_and_may_go_again(memory: MemDir, logs: Path) -> None:
    for name in ("a#b.md", "#.md", "b#7.md", os.fsdecode(b"caf\xe9.md")):
        (logs / name).write_text("- 11:00 a zeppelin passes\n", encoding="utf-8")
        assert found_logs(memory, "zeppelin") == [name]
        assert memory.session_search().refresh() == 0
        (logs / name).unlink()
        assert found_logs(memory, "zeppelin") == []
    assert found_logs(memory, "flour") == ["2026-09-01.md"]


def test_only_plain_files_are_logs(memory: MemDir, logs: Path, tmp_path: Path) -> None:
    secret = tmp_path / "passwd"
    secret.write_text("zeppelin:x:0:0\n", encoding="utf-8")
    (logs / "2026-09-02.md").symlink_to(secret)
    os.mkfifo(logs / "2026-09-03.md")
    (logs / "2026-09-04.md").mkdir()
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "2026-10-01.md").write_text("- 11:00 a zeppelin passes\n", encoding="utf-8")
    (logs.parent / "10").symlink_to(outside)
    assert found_logs(memory, "zeppelin") == []
    assert found_logs(memory, "flour") == ["2026-09-01.md"]


def test_a_log_that_became_a_link_is_no_longer_shown(memory: MemDir, logs: Path, tmp_path: Path) -> None:
    log = logs / "2026-09-01.md"
    searched = memory.session_search()
    assert searched.search("flour", limit=5, now=NOW)
    log.rename(tmp_path / "elsewhere.md")
    log.symlink_to(tmp_path / "elsewhere.md")
    assert searched.search("flour", limit=5, now=NOW) == []
    assert found_logs(memory, "flour") == []


def test_of_a_daily_log_every_line_that_fits_is_shown_with_its_time(memory: MemDir, logs: Path) -> None:
    """R8, K1."""
    lines = [f"- 1{number}:05 {'words ' * 40}about the zeppelin {number}" for number in range(3)]
    (logs / "2026-09-05.md").write_text("\n".join([*lines, "- 14:00 lunch"]) + "\n", encoding="utf-8")
    hits = memory.session_search().search("zeppelin", limit=9, now=NOW)
    assert [(hit.snippet[:7], hit.snippet[-10:]) for hit in hits] == [
        (f"- 1{number}:05", f"zeppelin {number}"[-10:]) for number in range(3)
    ]
