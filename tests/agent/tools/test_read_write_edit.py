"""Read, Write and Edit: results a model can use, nothing changed that was not read (G6)."""

from __future__ import annotations

import os
import socket
from pathlib import Path

import pytest

from memdir.agent import file_access
from memdir.agent.tools.file_tools import MAX_LINE_CHARACTERS, MAX_LINES
from memdir.transcript.message import ToolUse
from tests.agent.boxes import box
from tests.agent.conftest import Run

# Read ----------------------------------------------------------------------------------------------------------------


async def test_lines_are_numbered_from_one(run: Run, folder: Path) -> None:
    (folder / "a.md").write_text("first\n\tsecond\nthird", encoding="utf-8")
    result = await run("Read", file_path="a.md")
    assert result.content == "     1\tfirst\n     2\t\tsecond\n     3\tthird"
    assert not result.is_error


async def test_a_part_of_a_file_and_where_to_read_on(run: Run, folder: Path) -> None:
    (folder / "a.md").write_text("".join(f"line {n}\n" for n in range(1, 11)), encoding="utf-8")
    result = await run("Read", file_path=str(folder / "a.md"), offset=4, limit=2)
    assert result.content == "     4\tline 4\n     5\tline 5\n… 5 more lines: read on with offset 6"
    assert (await run("Read", file_path="a.md", offset=9)).content == "     9\tline 9\n    10\tline 10"
    assert (await run("Read", file_path="a.md", offset=11)).content == "The file has only 10 lines."


@pytest.mark.parametrize(("data", "shown"), [(b"", "is empty."), (b"\n", "     1\t"), (b"\n\n", "     1\t\n     2\t")])
async def test_files_of_almost_nothing(run: Run, folder: Path, data: bytes, shown: str) -> None:
    (folder / "a").write_bytes(data)
    assert (await run("Read", file_path="a")).content.endswith(shown)


async def test_windows_lines_and_bytes_that_are_no_text(run: Run, folder: Path) -> None:
    (folder / "a").write_bytes(b"one\r\ntwo\r\n\xff\xfethree\n")
    assert (await run("Read", file_path="a")).content == "     1\tone\n     2\ttwo\n     3\t\ufffd\ufffdthree"


async def test_a_binary_file_is_named_not_shown(run: Run, folder: Path) -> None:
    (folder / "a.png").write_bytes(b"\x89PNG\0\0" * 1000)
    assert "binary file of 6,000 bytes" in (await run("Read", file_path="a.png")).content


async def test_many_lines_and_endless_lines_are_cut_and_say_so(run: Run, folder: Path) -> None:
    (folder / "many").write_text("x\n" * (MAX_LINES + 5), encoding="utf-8")
    assert f"5 more lines: read on with offset {MAX_LINES + 1}" in (await run("Read", file_path="many")).content
    (folder / "long").write_text("ä" * 5_000_000, encoding="utf-8")
    content = (await run("Read", file_path="long")).content
    assert content == "     1\t" + "ä" * MAX_LINE_CHARACTERS + "… [line cut]"


async def test_the_end_of_a_huge_file_can_be_read(run: Run, folder: Path) -> None:
    line = b"0123456789abcdef" * 4 + b"\n"
    (folder / "huge").write_bytes(line * 1_500_000 + b"the end\n")
    result = await run("Read", file_path="huge", offset=1_500_001)
    assert result.content == "1500001\tthe end"


async def test_a_file_too_large_to_hold_is_pointed_to_grep(
    run: Run, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(file_access, "MAX_FILE_BYTES", 10)
    (folder / "a").write_text("x" * 11, encoding="utf-8")
    result = await run("Read", file_path="a")
    assert result.is_error and "Grep" in result.content


async def test_what_is_no_plain_file_is_an_error_that_says_what_it_is(
    run: Run, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / "sub").mkdir()
    os.mkfifo(folder / "pipe")
    with socket.socket(socket.AF_UNIX) as listener:
        monkeypatch.chdir(folder)  # the path of a socket has to be short
        listener.bind("socket")
        for name, words in (
            ("sub", "is a folder"),
            ("pipe", "no plain file"),
            ("socket", "no plain file"),
            ("none", "there is no file"),
            ("sub/none", "there is no file"),
            ("a\0b", "failed"),
        ):
            result = await run("Read", file_path=name)
            assert result.is_error, name
            assert words in result.content, name


# Write ---------------------------------------------------------------------------------------------------------------


async def test_a_new_file_is_made_with_its_folders(run: Run, folder: Path) -> None:
    result = await run("Write", file_path="deep/er/a.md", content="ünïcödé\n")
    assert result.content == f"Created {folder}/deep/er/a.md."
    assert (folder / "deep/er/a.md").read_text(encoding="utf-8") == "ünïcödé\n"


async def test_a_file_that_was_not_read_is_not_replaced(run: Run, folder: Path) -> None:
    (folder / "a.md").write_text("precious", encoding="utf-8")
    result = await run("Write", file_path="a.md", content="new")
    assert result.is_error and "Read it first" in result.content
    assert (folder / "a.md").read_text(encoding="utf-8") == "precious"
    await run("Read", file_path="a.md")
    assert (await run("Write", file_path="a.md", content="new")).content == f"Replaced {folder}/a.md."
    assert (await run("Write", file_path="a.md", content="newer")).content.startswith("Replaced"), (
        "it knows what it wrote"
    )


async def test_the_mode_of_a_file_stays_and_a_link_stays_a_link(run: Run, folder: Path) -> None:
    script = folder / "run.sh"
    script.write_text("#!/bin/sh\n", encoding="utf-8")
    script.chmod(0o755)
    (folder / "link.sh").symlink_to(script)
    await run("Read", file_path="link.sh")
    await run("Write", file_path="link.sh", content="#!/bin/sh\necho\n")
    assert (folder / "link.sh").is_symlink()
    assert script.read_text(encoding="utf-8") == "#!/bin/sh\necho\n"
    assert script.stat().st_mode & 0o777 == 0o755


@pytest.mark.parametrize(("mode", "expected"), [(0o755, 0o644), (0o700, 0o600), (0o777, 0o664)])
async def test_a_new_file_is_as_private_as_its_folder(run: Run, folder: Path, mode: int, expected: int) -> None:
    folder.chmod(mode)
    await run("Write", file_path="a.txt", content="x")
    assert (folder / "a.txt").stat().st_mode & 0o777 == expected


async def test_half_a_character_does_not_break_the_write(run: Run, folder: Path) -> None:
    await run("Write", file_path="a.md", content="half \ud83d of a face")
    assert (folder / "a.md").read_text(encoding="utf-8") == "half ? of a face"


# Edit (G6) -----------------------------------------------------------------------------------------------------------


async def edit(run: Run, old: str, new: str, **more: bool) -> str:
    return (await run("Edit", file_path="a.md", old_string=old, new_string=new, **more)).content


async def test_an_edit_needs_a_read(run: Run, folder: Path) -> None:
    (folder / "a.md").write_text("one two", encoding="utf-8")
    assert "has not been read yet" in await edit(run, "one", "1")
    await run("Read", file_path="a.md", limit=1)
    assert (await edit(run, "one", "1")).startswith("Edited")
    assert (await edit(run, "two", "2")).startswith("Edited"), "its own edit counts as read"
    assert (folder / "a.md").read_text(encoding="utf-8") == "1 2"


async def test_an_edit_fails_when_the_file_changed_since(run: Run, folder: Path) -> None:
    (folder / "a.md").write_text("one two", encoding="utf-8")
    await run("Read", file_path="a.md")
    status = (folder / "a.md").stat()
    (folder / "a.md").write_text("one TWO", encoding="utf-8")
    os.utime(folder / "a.md", ns=(status.st_atime_ns, status.st_mtime_ns))  # by content, not by time
    assert "has changed since it was read" in await edit(run, "one", "1")
    assert (folder / "a.md").read_text(encoding="utf-8") == "one TWO"


async def test_a_file_is_the_same_by_any_of_its_names(run: Run, folder: Path) -> None:
    (folder / "a.md").write_text("one", encoding="utf-8")
    (folder / "link.md").symlink_to(folder / "a.md")
    await run("Read", file_path=str(folder / ".." / "folder" / "link.md"))
    assert (await edit(run, "one", "1")).startswith("Edited")


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("nine", "9", "does not stand in the file"),
        ("one", "1", "stands in the file 2 times"),
        ("", "x", "old_string is empty"),
        ("two", "two", "nothing to change"),
    ],
)
async def test_an_edit_that_cannot_be_meant_is_refused(run: Run, folder: Path, old: str, new: str, words: str) -> None:
    (folder / "a.md").write_text("one two one", encoding="utf-8")
    await run("Read", file_path="a.md")
    assert words in await edit(run, old, new)
    assert (folder / "a.md").read_text(encoding="utf-8") == "one two one"


async def test_every_place_when_asked_for(run: Run, folder: Path) -> None:
    (folder / "a.md").write_text("one two one", encoding="utf-8")
    await run("Read", file_path="a.md")
    assert "in 2 places" in await edit(run, "one", "1", replace_all=True)
    assert (folder / "a.md").read_text(encoding="utf-8") == "1 two 1"


async def test_bytes_that_were_not_meant_stay_as_they_are(run: Run, folder: Path) -> None:
    (folder / "a.md").write_bytes(b"\xef\xbb\xbfone\r\n\xff\xfe two\r\nthree")
    await run("Read", file_path="a.md")
    await edit(run, "two", "2")
    assert (folder / "a.md").read_bytes() == b"\xef\xbb\xbfone\r\n\xff\xfe 2\r\nthree"


async def test_windows_line_endings_are_met_and_kept(run: Run, folder: Path) -> None:
    """Read does not show them, so a model cannot know them."""
    (folder / "a.md").write_bytes(b"one\r\ntwo\r\nthree\r\n")
    await run("Read", file_path="a.md")
    await edit(run, "one\ntwo", "1\n2\n2b")
    assert (folder / "a.md").read_bytes() == b"1\r\n2\r\n2b\r\nthree\r\n"


async def test_read_opens_no_place_of_credentials_however_it_is_reached(tmp_path: Path) -> None:
    secret = f"secret-{os.getpid()}"
    (tmp_path / ".env").write_text(secret, encoding="utf-8")
    (tmp_path / "notes.txt").symlink_to(".env")
    (tmp_path / "src").mkdir()
    for path in (".env", "./src/../.env", "notes.txt", str(tmp_path / ".env")):
        result = await box(tmp_path).run(ToolUse("1", "Read", {"file_path": path}))
        assert result.is_error
        assert "ask the user" in result.content
        assert secret not in result.content


async def test_an_edit_that_would_make_a_giant_is_refused_before_it_is_made(run: Run, folder: Path) -> None:
    (folder / "a.md").write_text("a" * 4000, encoding="utf-8")
    await run("Read", file_path="a.md")
    assert "larger than" in await edit(run, "a", "b" * 100_000, replace_all=True)
    assert (folder / "a.md").stat().st_size == 4000
