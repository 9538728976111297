"""Files and messages of impossible times are found like all others (R3, R8)."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from memdir.memdir import MemDir, open_memory
from memdir.recall.selection import LocalSelector
from memdir.transcript.conversation import Conversation
from memdir.transcript.message import user
from tests.conftest import NOW, Clock

YEAR_2300 = 10_413_792_000
SESSION = "0f3a91c2-0000-4000-8000-000000000001"


@pytest.fixture
def memory(project: Path, clock: Clock) -> MemDir:
    return open_memory(project, clock=clock)


@pytest.mark.parametrize("seconds", [YEAR_2300, -YEAR_2300 // 5])
def test_a_file_of_a_far_time_is_found_and_read_once(tmp_path: Path, seconds: int) -> None:
    root = tmp_path / "memory"
    root.mkdir()
    for name, text in (("a.md", "zeppelin hangar"), ("b.md", "tea kettle")):
        (root / name).write_text(text, encoding="utf-8")
    os.utime(root / "a.md", (seconds, seconds))
    selector = LocalSelector(str(root), str(tmp_path / "index"))
    assert selector.refresh() == 2
    assert selector.search("zeppelin yesterday", limit=1) == ["a.md"]
    assert selector.recall("who opens the zeppelin hangar?", now=NOW).ranking.candidates[0].key == "a.md"
    assert LocalSelector(str(root), str(tmp_path / "index")).refresh() == 0


def test_a_daily_log_of_a_far_time_is_found_and_read_once(memory: MemDir) -> None:
    log = Path(memory.place.logs) / "2026" / "09" / "2026-09-01.md"
    log.parent.mkdir(parents=True)
    log.write_text("- 10:00 lunch about flour\n", encoding="utf-8")
    os.utime(log, (YEAR_2300, YEAR_2300))
    assert [hit.path for hit in memory.session_search().search("flour", limit=3, now=NOW)] == [str(log)]
    assert memory.session_search().refresh() == 0


@pytest.mark.parametrize(
    "moment",
    [
        "9999-12-31T23:59:59.999999+00:00",
        "9999-12-31T23:59:59",
        "0001-01-01T00:00:00+14:00",
        "0001-01-01T00:00:00",
        "?",
    ],
)
def test_a_message_of_a_far_time_is_found(memory: MemDir, moment: str) -> None:
    talk = Conversation(memory.transcript(SESSION))
    talk.add(user("Lunch with a supplier about flour."))
    talk.transcript.close()
    path = Path(talk.transcript.path)
    lines = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    changed = [json.dumps({**line, "timestamp": moment} if "timestamp" in line else line) for line in lines]
    path.write_text("\n".join(changed) + "\n", encoding="utf-8")
    assert moment in path.read_text(encoding="utf-8")
    (found,) = memory.session_search().search("flour last week", limit=3, now=NOW)
    assert found.session == SESSION
    assert memory.session_search().refresh() == 0
