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
