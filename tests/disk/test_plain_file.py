"""The one door for reading: plain files of bounded size, and never a wait (S15)."""

from __future__ import annotations

import os
import socket
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from memdir.disk.plain_file import NotPlain, TooLarge, open_plain, read_beginning, read_plain
from tests.security.obstacles import OBSTACLES, put


@pytest.mark.parametrize("kind", OBSTACLES)
@pytest.mark.parametrize("read", [read_plain, read_beginning], ids=["read_plain", "read_beginning"])
def test_what_is_no_plain_file_is_refused_at_once(tmp_path: Path, kind: str, read: Callable[..., bytes]) -> None:
    put(kind, tmp_path / "thing")
    with pytest.raises(OSError, match="."):
        read(str(tmp_path / "thing"), max_bytes=100)
    with pytest.raises(OSError, match="."):
        read(str(tmp_path / "thing"), max_bytes=100, follow=False)


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux has /proc")
@pytest.mark.parametrize("path", ["/proc/kmsg", "/proc/self/mem", "/proc/self/pagemap", "/proc/version"])
def test_what_the_kernel_makes_up_is_refused(path: str) -> None:
    with pytest.raises(OSError, match="."):
        read_beginning(path, max_bytes=1 << 20)


def test_a_file_is_read_whole_up_to_its_limit_and_not_at_all_beyond(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"x" * 100)
    assert read_plain(str(path), max_bytes=100) == b"x" * 100
    assert read_beginning(str(path), max_bytes=10) == b"x" * 10
    with pytest.raises(TooLarge, match="100 bytes"):
        read_plain(str(path), max_bytes=99)
    path.write_bytes(b"")
    assert read_plain(str(path), max_bytes=0) == b""
    with pytest.raises(FileNotFoundError):
        read_plain(str(tmp_path / "none"), max_bytes=1)


def test_links_are_followed_only_where_that_was_said(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"x")
    (tmp_path / "link").symlink_to("file")
    with open_plain(str(tmp_path / "link")) as file:
        assert file.read() == b"x"
    with pytest.raises(NotPlain, match="a link"):
        open_plain(str(tmp_path / "link"), follow=False)


def test_the_reason_names_what_stands_there(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo")
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(tmp_path / "socket"))
    for name, word in (("fifo", "FIFO"), ("socket", "socket"), (".", "folder")):
        with pytest.raises(NotPlain, match=word):
            read_plain(str(tmp_path / name), max_bytes=1, follow=False)
