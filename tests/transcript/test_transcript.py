"""Appending: one write a record, private, never torn, on a fresh line after a crash (J1, J3)."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
import uuid
from collections.abc import Callable
from pathlib import Path

import pytest

from memdir.disk.open_writers import left_alone
from memdir.errors import DiskError
from memdir.transcript.conversation import Conversation, resume
from memdir.transcript.message import Message, Text, user
from memdir.transcript.reader import read_records
from memdir.transcript.transcript import Transcript

Opener = Callable[[], Transcript]


def test_a_record_is_one_private_json_line_with_its_links_first(path: Path, write_transcript: Opener) -> None:
    transcript = write_transcript()
    first = transcript.append_message(user("Grüße,\n“you” \ud800"))
    transcript.append_message(Message("assistant", (Text("Hello."),)))
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    lines = path.read_bytes().splitlines()
    assert len(lines) == 2
    assert lines[1].startswith(b'{"parentUuid":"' + first.id.encode() + b'","uuid":"')
    record = json.loads(lines[1])
    assert record["sessionId"] == "one"
    assert record["cwd"] == "/app"
    assert record["timestamp"] == "2026-09-21T14:13:20.000Z"
    assert record["isSidechain"] is False
    assert resume(str(path)).messages[0] == first


def test_an_id_of_ours_is_a_random_uuid(write_transcript: Opener) -> None:
    transcript = write_transcript()
    ids = {transcript.append_message(user("hi")).id for _ in range(50)}
    assert len(ids) == 50
    assert all(str(uuid.UUID(one)) == one and uuid.UUID(one).version == 4 for one in ids)
    assert {uuid.UUID(one).variant for one in ids} == {uuid.RFC_4122}


def test_an_append_is_exactly_one_write(
    tmp_path: Path, write_transcript: Opener, monkeypatch: pytest.MonkeyPatch
) -> None:
    written: list[bytes] = []
    real = os.write
    monkeypatch.setattr(os, "write", lambda descriptor, data: written.append(bytes(data)) or real(descriptor, data))
    talk = Conversation(write_transcript())
    talk.add(user("x" * 100_000))
    talk.add(Message("assistant", (Text("y"),)))
    talk.compact(user("summary"), talk.messages[-1:], {})
    assert len(written) == 3
    assert written[2].count(b"\n") == 2, "boundary and summary together"


def test_half_a_line_of_a_killed_writer_is_followed_by_a_fresh_line(path: Path, write_transcript: Opener) -> None:
    write_transcript().append_message(user("one"))
    with path.open("ab") as file:
        file.write(b'{"parentUuid":"x","uu')
    write_transcript().append_message(user("two"))
    assert [json.loads(line)["message"]["content"][0]["text"] for line in path.read_bytes().splitlines()[::2]] == [
        "one",
        "two",
    ]


def test_a_full_disk_tears_only_the_record_at_hand(
    path: Path, write_transcript: Opener, monkeypatch: pytest.MonkeyPatch
) -> None:
    transcript = write_transcript()
    transcript.append_message(user("one"))
    real = os.write
    left = iter([10])

    def short(descriptor: int, data: bytes) -> int:
        room = next(left, 0)
        if not room:
            raise OSError(28, "No space left on device")
        return real(descriptor, data[:room])

    with monkeypatch.context() as patched:
        patched.setattr(os, "write", short)
        with pytest.raises(DiskError, match="No space left"):
            transcript.append_message(user("two"))
    transcript.append_message(user("three"))
    assert [message.text for message in resume(str(path)).messages] == ["one", "three"]
    assert json.loads(path.read_bytes().splitlines()[-1])["message"]["content"][0]["text"] == "three"


def test_a_place_that_cannot_be_written_is_a_disk_error(tmp_path: Path, path: Path, write_transcript: Opener) -> None:
    path.parent.mkdir()
    path.symlink_to(tmp_path / "elsewhere")
    with pytest.raises(DiskError, match="symbolic link"):
        write_transcript().append_message(user("one"))


def test_presence_is_seen_while_a_writer_lives_and_by_several_at_once(path: Path, write_transcript: Opener) -> None:
    first, second = write_transcript(), write_transcript()
    first.append_message(user("one"))
    second.append_message(user("two"))
    with left_alone(str(path)) as alone:
        assert not alone
    first.close()
    with left_alone(str(path)) as alone:
        assert not alone
    second.close()
    with left_alone(str(path)) as alone:
        assert alone
        late = write_transcript()
        late.append_message(user("three"))  # written, though not marked yet
    late.append_message(user("four"))
    with left_alone(str(path)) as alone:
        assert not alone
    with left_alone(str(path) + ".gone") as alone:
        assert not alone


WRITER = """
import sys, time
from memdir.transcript.transcript import Transcript
from memdir.transcript.message import user
path, number = sys.argv[1:]
transcript = Transcript(path, session_id="one", cwd="/", clock=time.time)
for at in range(200):
    transcript.append_message(user(f"{number}-{at} " + number * 20_000))
"""


def test_eight_processes_append_to_one_file_and_tear_no_line(path: Path) -> None:
    """J1: 8 processes of 200 records of 20 kB each."""
    path.parent.mkdir()
    writers = [subprocess.Popen([sys.executable, "-c", WRITER, str(path), str(number)]) for number in range(8)]
    assert [writer.wait() for writer in writers] == [0] * 8
    texts = [record.message.text for record in read_records(str(path)) if record.message]
    assert len(texts) == 1600
    assert all(text.partition(" ")[2] == text[0] * 20_000 for text in texts)
    for number in range(8):
        mine = [text.partition(" ")[0] for text in texts if text.startswith(f"{number}-")]
        assert mine == [f"{number}-{at}" for at in range(200)]
