"""Objects of a history, as git itself would write and print them."""

from __future__ import annotations

import subprocess
from pathlib import Path

from memdir.disk.git import object_id, read_batch, tree_objects

PATHS = ("a.md", "a/b.md", "a-b/c.md", "a.b", "ab/c/d.md", "team/x y.md", "team/ä.md", "z", "a0")


def git(folder: Path, *words: str, stdin: bytes = b"") -> bytes:
    return subprocess.run(["git", "-C", str(folder), *words], input=stdin, capture_output=True, check=True).stdout


def test_trees_are_named_as_git_names_them(tmp_path: Path) -> None:
    git(tmp_path, "init", "-q")
    for path in PATHS:
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(path, encoding="utf-8")
    git(tmp_path, "add", "-A")
    trees = tree_objects({path: object_id("blob", path.encode()) for path in PATHS})
    assert object_id("tree", trees[-1]) == git(tmp_path, "write-tree").decode().strip()
    assert len(trees) == 6, "the root and its five folders, the inner ones first"


def test_what_cat_file_prints_is_read_object_by_object_and_the_missing_are_told(tmp_path: Path) -> None:
    git(tmp_path, "init", "-q")
    contents = (b"", b"one\ntwo", b"missing\n")
    names = [git(tmp_path, "hash-object", "-w", "--stdin", stdin=data).strip() for data in contents]
    printed = git(tmp_path, "cat-file", "--batch", stdin=b"\n".join([*names, b"0" * 40, b"HEAD:a file 12"]) + b"\n")
    assert list(read_batch(printed)) == [*((b"blob", data) for data in contents), (b"", b""), (b"", b"")]
