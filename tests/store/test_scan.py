"""The scan: what there is, newest first, nothing fatal (S9–S11)."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from memdir.store.scan import MAX_MEMORY_BYTES, MAX_RETURNED, Scanner, age_words, iso_time, scan


def write(root: Path, key: str, text: str | bytes, mtime: float = 1_000_000_000) -> None:
    path = root / key
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    os.utime(path, (mtime, mtime))


def topic(description: str, kind: str = "project") -> str:
    return f"---\nname: n\ndescription: {description}\ntype: {kind}\n---\n\nbody\n"


def test_memories_come_newest_first_with_their_fields(tmp_path: Path) -> None:
    write(tmp_path, "old.md", topic("first"), 100)
    write(tmp_path, "sub/new.md", topic("second", "feedback"), 200)
    found = scan(str(tmp_path))
    assert [(h.key, h.name, h.description, h.type, h.mtime) for h in found.headers] == [
        ("sub/new.md", "n", "second", "feedback", 200.0),
        ("old.md", "n", "first", "project", 100.0),
    ]


def test_indexes_dot_folders_daily_logs_and_other_files_are_left_out(tmp_path: Path) -> None:
    write(tmp_path, "a.md", topic("a"))
    for key in (
        "MEMORY.md",
        "team/MEMORY.md",
        ".obsidian/x.md",
        ".hidden.md",
        "notes.txt",
        "logs/2026/11/2026-11-15.md",
    ):
        write(tmp_path, key, topic("x"))
    write(tmp_path, "team/t.md", topic("t"))
    write(tmp_path, "logs/how_we_log.md", topic("l"))
    assert sorted(header.key for header in scan(str(tmp_path)).headers) == ["a.md", "logs/how_we_log.md", "team/t.md"]


def test_only_the_newest_200_are_returned_but_all_are_counted(tmp_path: Path) -> None:
    for number in range(MAX_RETURNED + 30):
        write(tmp_path, f"m{number:03}.md", topic("x"), number + 1)
    found = scan(str(tmp_path))
    assert len(found.headers) == MAX_RETURNED
    assert found.total == MAX_RETURNED + 30
    assert found.headers[0].key == "m229.md"
    assert len(scan(str(tmp_path), limit=None).headers) == MAX_RETURNED + 30


def test_what_cannot_be_read_is_named_and_costs_nothing_else(tmp_path: Path) -> None:
    write(tmp_path, "good.md", topic("fine"))
    write(tmp_path, "junk.md", bytes(range(256)) * 20)
    (tmp_path / "link.md").symlink_to(tmp_path / "good.md")
    os.mkfifo(tmp_path / "fifo.md")
    (tmp_path / "folder.md").mkdir()
    found = scan(str(tmp_path))
    assert [header.key for header in found.headers] == ["good.md"]
    assert {item.key: item.reason for item in found.unreadable} == {
        "junk.md": "it is not a text file",
        "link.md": "it is a link, no plain file",
        "fifo.md": "it is a FIFO, no plain file",
    }


def test_old_files_without_frontmatter_are_described_by_their_first_words(tmp_path: Path) -> None:
    write(tmp_path, "plain.md", "\n\n# A heading\n\ntext\n")
    write(tmp_path, "open.md", "---\nname: never closed\n")
    write(tmp_path, "empty.md", "")
    headers = {header.key: header for header in scan(str(tmp_path)).headers}
    assert headers["plain.md"].description == "A heading"
    assert headers["plain.md"].name == "plain"
    assert headers["plain.md"].problem == "it has no frontmatter"
    assert "never closed" in headers["open.md"].problem
    assert headers["empty.md"].description == ""


def test_only_the_first_30_lines_count(tmp_path: Path) -> None:
    long_value = "x" * 6_000
    write(tmp_path, "long.md", f"---\nextra: {long_value}\ndescription: seen\n---\n")
    write(tmp_path, "late.md", "---\n" + "a: b\n" * 40 + "description: not seen\n---\n" + "z" * 5000)
    headers = {header.key: header for header in scan(str(tmp_path)).headers}
    assert headers["long.md"].description == "seen"
    assert headers["late.md"].description != "not seen"


def test_a_file_larger_than_a_memory_is_none(tmp_path: Path) -> None:
    write(tmp_path, "most.md", topic("most").encode().ljust(MAX_MEMORY_BYTES))
    write(tmp_path, "more.md", topic("more").encode().ljust(MAX_MEMORY_BYTES + 1))
    found = scan(str(tmp_path))
    assert [header.key for header in found.headers] == ["most.md"]
    [left_out] = found.unreadable
    assert (left_out.key, "1,048,577 bytes" in left_out.reason) == ("more.md", True)


def test_a_missing_directory_is_empty(tmp_path: Path) -> None:
    assert scan(str(tmp_path / "nowhere")).headers == []


def test_a_rescan_sees_every_kind_of_change(tmp_path: Path) -> None:
    scanner = Scanner(str(tmp_path))
    write(tmp_path, "a.md", topic("one"), 10)
    write(tmp_path, "b.md", topic("two"), 20)
    assert [header.key for header in scanner.scan().headers] == ["b.md", "a.md"]
    assert scanner.scan().headers[1] is scanner.scan().headers[1], "an unchanged file is not read again"
    write(tmp_path, "a.md", topic("changed"), 30)
    assert [(h.key, h.description) for h in scanner.scan().headers] == [("a.md", "changed"), ("b.md", "two")]
    (tmp_path / "b.md").unlink()
    write(tmp_path, "c.md", topic("three"), 5)
    assert [header.key for header in scanner.scan().headers] == ["a.md", "c.md"]
    write(tmp_path, "new.md", topic("one!"), 5)
    os.replace(tmp_path / "new.md", tmp_path / "c.md")
    assert [header.description for header in scanner.scan().headers] == ["changed", "one!"]


def test_ten_thousand_files_are_scanned(tmp_path: Path) -> None:
    for number in range(10_000):
        (tmp_path / f"m{number}.md").write_text(f"---\nname: n\ndescription: d{number}\ntype: user\n---\n")
    assert scan(str(tmp_path)).total == 10_000


@pytest.mark.parametrize(
    ("days", "words"),
    [(-1, "today"), (0, "today"), (0.99, "today"), (1, "yesterday"), (2, "2 days ago"), (400.5, "400 days ago")],
)
def test_ages_are_words(days: float, words: str) -> None:
    """S11."""
    assert age_words(1_000_000_000 - days * 86_400, 1_000_000_000) == words


def test_times_are_iso_8601_in_utc() -> None:
    assert iso_time(0) == "1970-01-01T00:00:00Z"
