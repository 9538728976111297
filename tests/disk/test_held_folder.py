"""A folder that is held is the folder that was opened, whatever has its name meanwhile (E3)."""

from __future__ import annotations

import os
import time
from contextlib import suppress
from pathlib import Path

import pytest

from memdir.disk.atomic import write_bytes_atomic
from memdir.disk.held_folder import held_folder
from memdir.errors import DiskError, PathEscape
from tests.share.test_link_race import SECONDS, swapping


def test_a_file_goes_into_the_folder_that_was_opened(tmp_path: Path) -> None:
    (tmp_path / "root" / "sub").mkdir(parents=True)
    (tmp_path / "outside").mkdir()
    with held_folder(str(tmp_path / "root"), "sub") as held:
        os.rename(tmp_path / "root" / "sub", tmp_path / "root" / "moved")
        os.symlink(tmp_path / "outside", tmp_path / "root" / "sub")
        write_bytes_atomic(os.path.join(held, "a.md"), b"a")
    assert (tmp_path / "root" / "moved" / "a.md").read_bytes() == b"a"
    assert os.listdir(tmp_path / "outside") == []


@pytest.mark.parametrize("create", [False, True])
def test_no_part_may_be_a_link(tmp_path: Path, *, create: bool) -> None:
    (tmp_path / "root").mkdir()
    (tmp_path / "outside" / "deep").mkdir(parents=True)
    os.symlink(tmp_path / "outside", tmp_path / "root" / "sub")
    for folder in ("sub", "sub/deep", "sub/new"):
        with pytest.raises(PathEscape), held_folder(str(tmp_path / "root"), folder, create=create):
            pass
    assert os.listdir(tmp_path / "outside") == ["deep"]


def test_an_error_names_the_folder_as_people_know_it(tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    with pytest.raises(DiskError) as told, held_folder(str(tmp_path), "sub") as held:
        write_bytes_atomic(os.path.join(held, "no", "a.md"), b"a")
    assert str(tmp_path / "sub" / "no") in told.value.message and "/proc/" not in told.value.message


def test_nothing_goes_elsewhere_while_the_folder_is_swapped_for_a_link(tmp_path: Path) -> None:
    sub, outside = tmp_path / "root" / "sub", tmp_path / "outside"
    sub.mkdir(parents=True)
    outside.mkdir()
    until, written = time.monotonic() + SECONDS, 0
    with swapping(sub, outside, tmp_path / "aside"):
        while time.monotonic() < until:
            with suppress(OSError, DiskError, PathEscape), held_folder(str(tmp_path / "root"), "sub") as held:
                write_bytes_atomic(os.path.join(held, "a.md"), b"a", durably=False)
                written += 1
    assert os.listdir(outside) == [] and written
