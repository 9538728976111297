"""Writes that are whole or not there (S13)."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from memdir.disk.append import append_bytes
from memdir.disk.atomic import delete_file, make_folder, sweep_temporaries, write_bytes_atomic
from memdir.errors import DiskError


def test_a_written_file_is_private_and_leaves_no_temporary(tmp_path: Path) -> None:
    path = tmp_path / "a.md"
    write_bytes_atomic(str(path), b"text")
    assert path.read_bytes() == b"text"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert os.listdir(tmp_path) == ["a.md"]


def test_a_rewrite_replaces_the_file_without_touching_the_old_inode(tmp_path: Path) -> None:
    path = tmp_path / "a.md"
    path.write_bytes(b"old")
    with path.open("rb") as reader:
        write_bytes_atomic(str(path), b"new")
        assert reader.read() == b"old", "a reader that had the file open must not see half of the new one"
    assert path.read_bytes() == b"new"


def test_a_write_through_a_link_replaces_the_link_not_its_target(tmp_path: Path) -> None:
    target = tmp_path / "outside.md"
    target.write_bytes(b"precious")
    (tmp_path / "a.md").symlink_to(target)
    write_bytes_atomic(str(tmp_path / "a.md"), b"new")
    assert target.read_bytes() == b"precious"


def test_a_given_time_is_the_file_s_time(tmp_path: Path) -> None:
    write_bytes_atomic(str(tmp_path / "a.md"), b"x", mtime_ns=1_000_000_000_000_000_000)
    assert (tmp_path / "a.md").stat().st_mtime_ns == 1_000_000_000_000_000_000


def test_a_missing_folder_is_an_error_that_names_the_path(tmp_path: Path) -> None:
    with pytest.raises(DiskError, match="nowhere"):
        write_bytes_atomic(str(tmp_path / "nowhere" / "a.md"), b"x")


def test_a_folder_in_the_way_is_an_error_with_a_remedy(tmp_path: Path) -> None:
    (tmp_path / "a.md").mkdir()
    with pytest.raises(DiskError, match="move it away"):
        write_bytes_atomic(str(tmp_path / "a.md"), b"x")
    assert os.listdir(tmp_path) == ["a.md"]


def test_folders_are_made_private_with_their_parents(tmp_path: Path) -> None:
    make_folder(str(tmp_path / "a" / "b"))
    make_folder(str(tmp_path / "a" / "b"))
    assert stat.S_IMODE((tmp_path / "a").stat().st_mode) == 0o700
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(DiskError):
        make_folder(str(tmp_path / "file" / "below"))
    with pytest.raises(DiskError, match="something else stands there"):
        make_folder(str(tmp_path / "file"))


def test_deleting_twice_is_no_error(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"")
    delete_file(str(tmp_path / "a"))
    delete_file(str(tmp_path / "a"))
    with pytest.raises(DiskError):
        delete_file(str(tmp_path))


def test_sweeping_removes_only_our_temporaries(tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / ".memdir-tmp-0123").write_bytes(b"half")
    (tmp_path / ".other").write_bytes(b"theirs")
    assert sweep_temporaries(str(tmp_path)) == 1
    assert sorted(os.listdir(tmp_path)) == [".other", "sub"]


def test_appending_never_follows_a_link(tmp_path: Path) -> None:
    append_bytes(str(tmp_path / "log"), b"1\n")
    append_bytes(str(tmp_path / "log"), b"2\n")
    assert (tmp_path / "log").read_bytes() == b"1\n2\n"
    (tmp_path / "link").symlink_to(tmp_path / "log")
    with pytest.raises(DiskError, match="link"):
        append_bytes(str(tmp_path / "link"), b"3\n")
