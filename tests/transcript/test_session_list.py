"""A session at a glance: both ends of the file, never the middle (J4)."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from memdir.transcript.conversation import Conversation, history, resume
from memdir.transcript.message import Message, Text, user
from memdir.transcript.session_list import END_BYTES, LONG_END_BYTES, SessionSummary, summary_of
from memdir.transcript.sources.source import OwnSessions, session_ref
from memdir.transcript.transcript import Transcript
from tests.transcript.conftest import turn


def look(path: Path, notes: str = "") -> SessionSummary:
    ref = session_ref(str(path), "memdir")
    assert ref is not None
    return summary_of(ref, OwnSessions(str(path.parent)), notes=notes)


def bytes_read() -> int:
    return int(dict(line.split(": ") for line in Path("/proc/self/io").read_text().splitlines())["rchar"])


def test_the_number_of_messages_is_right_after_branches_compactions_and_resumes(
    path: Path, talk: Conversation, write_transcript: Callable[[], Transcript]
) -> None:
    for number in range(20):
        turn(talk, f"question {number} {'x' * 3000}", call=f"c{number}")
    assert look(path) == SessionSummary(look(path).ref, f"question 0 {'x' * 68}…", 80)
    talk.rewind(talk.messages[39].id)
    assert look(path).messages == 40
    talk.compact(user("summary"), talk.messages[-2:], {})
    turn(talk, "after")
    again = Conversation.resume(write_transcript())
    turn(again, "after a resume")
    assert look(path).messages == 40 + 1 + 2 + 2 == len(history(str(path)).messages)
    again.rewind(again.messages[-3].id)
    assert look(path).messages == len(history(str(path)).messages) == 43
    assert resume(str(path)).depth == 43


def test_a_long_transcript_is_not_read(path: Path, talk: Conversation) -> None:
    for number in range(400):
        turn(talk, f"question {number} {'x' * 2000}")
    assert path.stat().st_size > 20 * END_BYTES
    look(path)
    before = bytes_read()
    found = look(path)
    assert bytes_read() - before < 3 * END_BYTES
    assert (found.messages, found.is_guessed) == (800, False)


def test_a_last_record_that_is_longer_than_an_end_is_found(path: Path, talk: Conversation) -> None:
    turn(talk, "first")
    talk.add(user("y" * (LONG_END_BYTES // 2)))
    assert look(path).messages == 3
    talk.add(Message("assistant", (Text("z" * (2 * LONG_END_BYTES)),)))
    assert look(path).title == "first"


def test_the_length_of_another_agents_session_is_guessed_and_says_so(path: Path) -> None:
    path.parent.mkdir()
    records = [
        {"type": "user", "uuid": f"u{number}", "message": {"role": "user", "content": f"hello {number} {'x' * 900}"}}
        for number in range(3000)
    ]
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    found = look(path)
    assert found.is_guessed
    assert 2900 <= found.messages <= 3100
    path.write_text("".join(json.dumps(record) + "\n" for record in records[:5]))
    assert (look(path).messages, look(path).is_guessed) == (5, False)


@pytest.mark.parametrize("size", [1_000, 300_000, LONG_END_BYTES, 3 * LONG_END_BYTES])
def test_what_a_host_writes_down_for_itself_hides_no_message(path: Path, size: int) -> None:
    """Claude Code keeps whole requests beside what was said, larger than both ends together."""
    path.parent.mkdir()
    said = {"type": "user", "uuid": "u", "message": {"role": "user", "content": "hello"}}
    request = {"type": "request", "uuid": "r", "body": "x" * size}
    for records in ([said, request, said], [request, said, said], [said, said, request]):
        path.write_text("".join(json.dumps(record) + "\n" for record in records))
        found = look(path)
        assert found.messages == 2 or (found.is_guessed and 1 <= found.messages <= 10)


@pytest.mark.parametrize("junk", [b"", b"\0" * 50_000, b"[]\n" * 20_000, b"\xff\xfe", b'{"type":"user","depth":"x"}\n'])
def test_junk_is_a_session_without_a_title(path: Path, junk: bytes) -> None:
    path.parent.mkdir()
    path.write_bytes(junk)
    assert look(path).title == ""
    path.unlink()
    path.mkdir()
    assert look(path).messages == 0
