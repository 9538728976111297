"""Lines of files of any size, read in blocks (J3, S15)."""

from __future__ import annotations

import os
import random
import tracemalloc
from collections.abc import Callable
from pathlib import Path

import pytest

from memdir.transcript.reader import FIRST_BLOCK, MAX_LINE_BYTES, lines_backwards, lines_forwards
from tests.conftest import Ran

SAID = b'{"type":"user","uuid":"%s","parentUuid":null,"message":{"role":"user","content":"the %s zebra crossing"}}\n'
HOLE = 64 << 30  # nobody reads this through in a test


def absurd(path: Path) -> None:
    """A record, a hole, a record, and another hole."""
    with path.open("wb") as file:
        file.write(SAID % (b"a1", b"first"))
        file.seek(HOLE)
        file.write(b"\n" + SAID % (b"b2", b"second"))
        file.truncate(2 * HOLE)


def test_lines_are_the_same_in_both_directions_whatever_their_length(tmp_path: Path) -> None:
    chance, path = random.Random(4), tmp_path / "x.jsonl"
    for _ in range(20):
        lengths = [chance.choice((0, 1, 9, FIRST_BLOCK - 1, FIRST_BLOCK, 3 * FIRST_BLOCK)) for _ in range(9)]
        path.write_bytes(b"\n".join(bytes([chance.randrange(65, 90)]) * length for length in lengths))
        data = path.read_bytes()
        forwards = list(lines_forwards(str(path)))
        assert [line.data for line in forwards] == data.splitlines(keepends=True)
        assert all(data[line.start : line.end] == line.data for line in forwards)
        assert list(lines_backwards(str(path)))[::-1] == data.split(b"\n") if data else True


@pytest.mark.skipif(not hasattr(os, "SEEK_DATA"), reason="the system cannot tell where a hole ends")
def test_holes_are_passed_over_in_both_directions(tmp_path: Path) -> None:
    absurd(tmp_path / "x.jsonl")
    forwards = [line.data for line in lines_forwards(str(tmp_path / "x.jsonl"))]
    backwards = list(lines_backwards(str(tmp_path / "x.jsonl")))
    for lines in (forwards, backwards):
        assert sum(b"first zebra" in line for line in lines) == 1
        assert sum(b"second zebra" in line for line in lines) == 1
        assert sum(map(len, lines)) < 16 << 20


@pytest.mark.parametrize("filling", [b"\0", b"x"])
def test_a_line_that_no_record_has_is_never_held_whole(tmp_path: Path, filling: bytes) -> None:
    path = tmp_path / "x.jsonl"
    with path.open("wb") as file:
        file.write(SAID % (b"a1", b"first") + b'{"uuid":"long"')
        for _ in range((MAX_LINE_BYTES >> 20) + 40):
            file.write(filling * (1 << 20))
        file.write(b"\n" + SAID % (b"b2", b"second"))
    tracemalloc.start()
    try:
        told = [line.data for line in lines_forwards(str(path))]
        back = list(lines_backwards(str(path)))
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 2 * MAX_LINE_BYTES
    assert b"first" in told[0] and b"second" in told[2] and told[1].startswith(b'{"uuid":"long"')
    assert any(b"first" in line for line in back) and any(b"second" in line for line in back)


@pytest.mark.skipif(not hasattr(os, "SEEK_DATA"), reason="the system cannot tell where a hole ends")
@pytest.mark.parametrize(
    "words",
    [("sessions",), ("sessions", "show", "yy"), ("sessions", "export", "yy"), ("search", "--sessions", "zebra")],
)
def test_an_absurd_session_costs_no_command_its_answer(
    project: Path, memdir: Callable[..., Ran], words: tuple[str, ...]
) -> None:
    from memdir.memdir import open_memory

    home = Path(open_memory(project).layout.project_home)
    home.mkdir(parents=True)
    absurd(home / "yy.jsonl")
    ran = memdir(*words)
    assert ran.code == 0
    assert "zebra crossing" in ran.out
