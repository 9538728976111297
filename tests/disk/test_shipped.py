"""What the package ships is found from anywhere, also where it is installed."""

from __future__ import annotations

from pathlib import Path

import pytest

from memdir.disk.shipped import shipped_bytes, shipped_lines, shipped_map, shipped_path, shipped_text
from memdir.errors import MemdirError

TABLE = "text/stop_words.txt"


def test_a_file_is_found_whatever_the_working_folder_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert Path(shipped_path(TABLE)).is_absolute()
    assert shipped_text(TABLE).encode() == shipped_bytes(TABLE) == bytes(shipped_map(TABLE))


def test_a_table_has_no_comments_and_no_empty_lines() -> None:
    lines = shipped_lines(TABLE)
    assert lines and all(line.strip() and not line.startswith("#") for line in lines)
    assert set(lines) < set(shipped_text(TABLE).split("\n"))


def test_what_is_not_shipped_is_an_error_of_ours() -> None:
    for read in (shipped_text, shipped_lines, shipped_bytes, shipped_map):
        with pytest.raises(MemdirError, match=r"text/nothing.txt is missing. Install memdir again"):
            read("text/nothing.txt")


TABLES = [path for path in Path(shipped_path("")).rglob("*.txt") if path.name != "minilm.vocab.txt"]


@pytest.mark.parametrize("table", TABLES, ids=lambda path: path.name)
def test_a_table_that_was_cut_anywhere_is_noticed(table: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Half of the forms of secrets would let the other half pass."""
    assert shipped_lines(str(table.relative_to(shipped_path(""))))
    data = table.read_bytes()
    monkeypatch.setattr("memdir.disk.shipped._PACKAGE", str(tmp_path))
    for at in (len(data) // 2, data.rindex(b"\n", 0, -1), data.rindex(b"\n", 0, -1) + 1, len(data) - 2):
        (tmp_path / "table.txt").write_bytes(data[:at])
        with pytest.raises(MemdirError, match=r"table.txt is (?:cut short|damaged)"):
            shipped_lines("table.txt")


@pytest.mark.parametrize("data", [b"", b"\n \n", b"# only a remark\n", b"\xff\xfe: broken\n"])
def test_a_table_that_lost_its_rows_stops_everything(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, data: bytes
) -> None:
    """An empty table of secrets would let every secret pass."""
    (tmp_path / "table.txt").write_bytes(data)
    monkeypatch.setattr("memdir.disk.shipped._PACKAGE", str(tmp_path))
    with pytest.raises(MemdirError, match=r"table.txt is (?:empty|damaged)"):
        shipped_lines("table.txt")
