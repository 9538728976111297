"""Taking a file's place when no file stands there: a link, a folder or a pipe of somebody's stays what it is (S13)."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable
from pathlib import Path

import pytest

from memdir.disk.replace_file import replace_file
from memdir.errors import DiskError

BEFORE = b"As it was.\n"


def link(path: Path) -> None:
    (path.parent / "elsewhere").write_bytes(BEFORE)
    os.symlink("elsewhere", path)


def link_to_nothing(path: Path) -> None:
    os.symlink("nowhere", path)


def folder(path: Path) -> None:
    path.mkdir()
    (path / "kept").write_bytes(BEFORE)


@pytest.mark.parametrize("wanted", [b"As it is.\n", None], ids=["replaced", "deleted"])
@pytest.mark.parametrize("make", [link, link_to_nothing, folder, os.mkfifo])
def test_what_is_no_file_keeps_its_place(tmp_path: Path, make: Callable[[Path], None], wanted: bytes | None) -> None:
    path = tmp_path / "x.md"
    make(path)
    before = sorted(os.listdir(tmp_path)), stat.S_IFMT(path.lstat().st_mode)
    with pytest.raises(DiskError):
        replace_file(str(path), BEFORE, wanted)
    assert (sorted(os.listdir(tmp_path)), stat.S_IFMT(path.lstat().st_mode)) == before
    if make is link:
        assert (tmp_path / "elsewhere").read_bytes() == BEFORE
