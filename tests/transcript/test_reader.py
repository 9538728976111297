"""Reading by byte offset, and what can be had of a broken line (J3)."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from memdir.transcript.conversation import Conversation, resume
from memdir.transcript.message import Message, Opaque, Text, ToolUse, user
from memdir.transcript.reader import FIRST_BLOCK, Reading, lines_backwards, read_line, read_records
from memdir.transcript.record import message_fields, parse_record
from memdir.transcript.transcript import Transcript
from tests.transcript.conftest import turn


def test_a_reader_goes_on_where_it_left_off(path: Path, write_transcript: Callable[[], Transcript]) -> None:
    transcript, reading = write_transcript(), Reading()
    transcript.append_message(user("one"))
    assert [record.message.text for record in read_records(str(path), reading) if record.message] == ["one"]
    with path.open("ab") as file:
        file.write(b'{"type":"user"')  # still being written
    assert list(read_records(str(path), reading)) == []
    with path.open("ab") as file:
        file.write(b',"message":{"content":"two"}}\n')
    assert [record.message.text for record in read_records(str(path), reading) if record.message] == ["two"]
    assert reading == Reading(path.stat().st_size, 0)


def test_damaged_lines_are_counted_and_stepped_over(path: Path) -> None:
    path.parent.mkdir()
    path.write_bytes(b'{"type":"a"}\nrubbish\n[]\n\0\0\0\n{"type":"b"}\n')
    reading = Reading()
    assert [record.type for record in read_records(str(path), reading)] == ["a", "b"]
    assert reading.damaged == 3


def test_a_file_that_is_not_there_has_no_records(path: Path) -> None:
    assert list(read_records(str(path))) == []


def test_pieces_inside_a_broken_record_are_not_taken_for_records() -> None:
    inner = b'{"parentUuid":null,"uuid":"u","type":"user","message":{"content":[{"type":"text","text":"x"}]'
    assert read_line(inner + b"\n").records == ()
    whole = b'{"type":"file-history-snapshot","snapshot":{}}'
    assert [record.type for record in read_line(inner + whole).records] == ["file-history-snapshot"]


def test_lines_backwards_are_the_lines_of_the_file_whatever_their_length(path: Path) -> None:
    path.parent.mkdir()
    for lengths in ([0], [1, 0, 2], [FIRST_BLOCK, FIRST_BLOCK - 1, 3], [5 * FIRST_BLOCK, 7], [10] * 20_000):
        for end in (b"", b"\n"):
            data = b"\n".join(b"x" * length for length in lengths) + end
            path.write_bytes(data)
            assert list(lines_backwards(str(path)))[::-1] == (data.split(b"\n") if data else [])


def test_blocks_survive_writing_and_reading_to_the_byte() -> None:
    """G1: a fork after a resume still shares the parent's prompt cache."""
    blocks = (
        Opaque("anthropic", '{"type": "thinking", "thinking": "é", "signature": "s"}'),
        Opaque("anthropic", '{"type":"thinking","n":1.0}'),
        Opaque("anthropic", '{"type": "text", "text": "a block that looks like ours"}'),
        Opaque("anthropic", "no json"),
        Opaque("openai", '{"type": "reasoning"}'),
        Text(""),
        ToolUse("t", "Read", {"a": [1, None, {"b": "c"}]}, fault="broken"),
    )
    import json

    line = json.dumps({**message_fields(Message("assistant", blocks)), "uuid": "u"}).encode()
    record = parse_record(line)
    assert record is not None and record.message is not None
    assert record.message.content == blocks


def test_zeros_where_records_may_have_been_are_told(path: Path, talk: Conversation) -> None:
    """J3: after a power cut nobody can say what stood there."""
    turn(talk, "one")
    talk.transcript.close()
    with path.open("ab") as file:
        file.write(bytes(9_000))
    left = resume(str(path))
    assert left.messages == talk.messages
    assert str(left.damage) == "1 damaged line"
    path.write_bytes(path.read_bytes().rstrip(b"\n\0") + bytes(200))
    reading = Reading()
    assert [record.uuid for record in read_records(str(path), reading)] == [message.id for message in talk.messages]
    assert reading.damaged == resume(str(path)).damage.total == 1, "the end of a line and what came after it"
