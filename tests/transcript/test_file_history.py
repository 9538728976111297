"""Files that a conversation edited can be shown and restored to any point of it (J2, J3)."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable
from pathlib import Path

import pytest

from memdir.agent.file_access import RecordedFiles
from memdir.errors import BadMemoryFile
from memdir.transcript.conversation import Conversation
from memdir.transcript.file_history import MAX_KEPT_BYTES, Attribution, FileHistory, Step
from memdir.transcript.message import user
from memdir.transcript.transcript import Transcript
from tests.transcript.conftest import turn


@pytest.fixture
def history(talk: Conversation, tmp_path: Path) -> FileHistory:
    return FileHistory(talk.transcript, str(tmp_path / "file-history"))


@pytest.fixture
def files(history: FileHistory) -> RecordedFiles:
    return RecordedFiles([history.changed])


def test_every_point_can_be_shown_and_restored(
    talk: Conversation, history: FileHistory, files: RecordedFiles, tmp_path: Path
) -> None:
    one, two = tmp_path / "one.py", tmp_path / "new" / "two.py"
    one.write_bytes(b"old\n")
    one.chmod(0o755)
    start = turn(talk, "start")[-1].id
    files.write(str(one), b"first\n")
    middle = turn(talk, "middle")[-1].id
    files.write(str(one), b"second\n")
    files.write(str(two), b"two\n")
    end = turn(talk, "end")[-1].id
    assert [history.show(str(one), point) for point in (start, middle, end)] == [b"old\n", b"first\n", b"second\n"]
    assert [history.show(str(two), point) for point in (start, middle, end)] == [None, None, b"two\n"]
    assert history.plan(end) == []
    assert set(history.restore(start)) == {Step(str(one), b"old\n"), Step(str(two), None)}
    assert one.read_bytes() == b"old\n"
    assert stat.S_IMODE(one.stat().st_mode) == 0o755
    assert not two.exists()
    (tmp_path / "new").chmod(0o755)
    history.restore(end)
    assert (one.read_bytes(), two.read_bytes()) == (b"second\n", b"two\n"), "going back is itself undone"
    assert stat.S_IMODE(two.stat().st_mode) == 0o644


def test_a_hand_s_edit_between_two_of_ours_is_kept_too(
    talk: Conversation, history: FileHistory, files: RecordedFiles, tmp_path: Path
) -> None:
    path = tmp_path / "a.txt"
    files.write(str(path), b"agent")
    point = turn(talk, "one")[-1].id
    path.write_bytes(b"person")
    files.write(str(path), b"agent again")
    assert history.show(str(path), point) == b"agent"
    history.changed(str(path), b"agent again", b"x")
    assert Path(history.folder, os.listdir(history.folder)[0]).stat().st_mode & 0o77 == 0
    assert b"person" in {Path(history.folder, name).read_bytes() for name in os.listdir(history.folder)}


def test_a_file_too_large_is_left_as_it_is(talk: Conversation, history: FileHistory, tmp_path: Path) -> None:
    path = tmp_path / "large.bin"
    point = talk.add(user("x")).id
    history.changed(str(path), b"x" * (MAX_KEPT_BYTES + 1), b"small")
    path.write_bytes(b"small")
    assert history.plan(point) == []


def test_a_kept_content_that_was_tampered_with_is_not_used(
    talk: Conversation, history: FileHistory, files: RecordedFiles, tmp_path: Path
) -> None:
    path = tmp_path / "a.txt"
    path.write_bytes(b"before")
    point = talk.add(user("x")).id
    files.write(str(path), b"after")
    for name in os.listdir(history.folder):
        Path(history.folder, name).write_bytes(b"evil")
    assert history.plan(point) == []
    assert history.show(str(path), point) is None


def test_a_point_that_does_not_exist_is_refused(talk: Conversation, history: FileHistory) -> None:
    talk.add(user("x"))
    with pytest.raises(BadMemoryFile, match="no message nowhere"):
        history.plan("nowhere")


def test_attribution_counts_what_the_agent_put_in_and_survives_a_resume(
    path: Path, talk: Conversation, tmp_path: Path, write_transcript: Callable[[], Transcript]
) -> None:
    attribution = Attribution()
    file = str(tmp_path / "a.py")
    attribution.changed(file, b"def a(): pass\n", b"def a(): return 1\n")
    attribution.changed(file, b"def a(): return 1\n", b"def a(): return 12\n")
    attribution.changed(str(tmp_path / "b.py"), None, b"12345")
    assert attribution.written == {file: len("return 1") + 1, str(tmp_path / "b.py"): 5}
    assert Attribution.load(str(path)) == Attribution()
    attribution.save(talk.transcript)
    turn(talk, "later")
    assert Attribution.load(str(path)) == attribution
