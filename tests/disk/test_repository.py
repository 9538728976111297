"""A git configuration read as data says what git reads in it."""

from __future__ import annotations

import random
import subprocess
from pathlib import Path

import pytest

from memdir.disk.repository import read_git_config

TEXTS = (
    b"[core]\n\trepositoryformatversion = 0\n\tbare = false ; a comment\n",
    b'[remote "origin"]\n\turl = https://example.invalid/a.git # here\n\tfetch = +refs/*:refs/*\n',
    b'[remote "a \\"quoted\\" one"] url = "a;b" c\n',
    b"[Remote.Old]\nURL=one\\\ntwo\n",
    b"\xef\xbb\xbf[core]\r\n\tsymlinks\r\n\tautocrlf = true\r\n",
    b'[a]\nb = "spaces at the end  "  \nc = x\\ty\\\\z\n',
    b'[remote "x"]\n\turl = 1\n\turl = 2\n[core]\n[remote "x"]\n\turl = 3\n',
    b"[include]\n\tpath = other\n# [core]\n;bare = true\n[core]editor=vi\n",
)


@pytest.mark.parametrize("text", TEXTS)
def test_it_reads_what_git_reads(text: bytes, tmp_path: Path) -> None:
    (tmp_path / "config").write_bytes(text)
    command = ["git", "config", "--no-includes", "--file", str(tmp_path / "config"), "--null", "--list"]
    told = subprocess.run(command, capture_output=True, check=True).stdout.decode("utf-8").split("\0")[:-1]
    expected: dict[str, list[str]] = {}
    for line in told:
        key, has_value, value = line.partition("\n")
        expected.setdefault(key, []).append(value if has_value else "true")
    assert read_git_config(text) == expected


def test_no_text_stops_it() -> None:
    """Half a file, or one made to be slow, is read like any other."""
    chance = random.Random(40)
    for _ in range(300):
        whole = chance.choice(TEXTS)
        read_git_config(
            bytes(chance.choice(b'[]"\\\n =;#ab\0\xff') if chance.random() < 0.2 else byte for byte in whole)
        )
    for slow in (b'"', b"\\\n", b'[a "', b" ", b'[x]a="\\\n', b"a=\\"):
        read_git_config(slow * 50_000)
