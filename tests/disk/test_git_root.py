"""The canonical root across worktrees (S3), against real git."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from memdir.disk.git_root import canonical_root, work_tree_root

Git = Callable[..., str]


def test_any_folder_below_leads_to_the_root(repository: Path) -> None:
    (repository / "a" / "b").mkdir(parents=True)
    assert canonical_root(str(repository / "a" / "b")) == str(repository)


def test_outside_git_the_folder_is_its_own_root(tmp_path: Path) -> None:
    assert canonical_root(str(tmp_path)) == str(tmp_path)
    assert work_tree_root(str(tmp_path)) is None


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a folder to somebody else")
def test_a_repository_above_that_is_a_stranger_s_decides_nothing(tmp_path: Path) -> None:
    """As in a folder where anybody may write; whoever is in a stranger's own folder has chosen it."""
    mine, theirs = tmp_path / "shared" / "mine", tmp_path / "shared" / "theirs"
    for folder in (tmp_path / "shared" / ".git", mine, theirs):
        folder.mkdir(parents=True)
    for path in (tmp_path / "shared", tmp_path / "shared" / ".git", theirs):
        os.chown(path, 65534, 65534)
    assert work_tree_root(str(mine)) is None and canonical_root(str(mine)) == str(mine)
    assert work_tree_root(str(theirs)) == work_tree_root(str(tmp_path / "shared")) == str(tmp_path / "shared")


def test_all_worktrees_share_the_main_repository_s_root(repository: Path, tmp_path: Path, git: Git) -> None:
    git("worktree", "add", "--quiet", str(tmp_path / "second"), cwd=repository)
    (tmp_path / "second" / "deep").mkdir()
    assert canonical_root(str(tmp_path / "second" / "deep")) == str(repository)
    assert work_tree_root(str(tmp_path / "second" / "deep")) == str(tmp_path / "second")


def test_worktrees_of_a_bare_repository_share_its_path(repository: Path, tmp_path: Path, git: Git) -> None:
    git("clone", "--quiet", "--bare", str(repository), str(tmp_path / "bare.git"), cwd=tmp_path)
    git("worktree", "add", "--quiet", str(tmp_path / "one"), cwd=tmp_path / "bare.git")
    git("worktree", "add", "--quiet", "-b", "other", str(tmp_path / "two"), cwd=tmp_path / "bare.git")
    assert canonical_root(str(tmp_path / "one")) == canonical_root(str(tmp_path / "two")) == str(tmp_path / "bare.git")


def test_a_submodule_is_a_project_of_its_own(repository: Path, tmp_path: Path, git: Git) -> None:
    git("clone", "--quiet", str(repository), str(tmp_path / "library"), cwd=tmp_path)
    git(
        "-c",
        "protocol.file.allow=always",
        "submodule",
        "--quiet",
        "add",
        str(tmp_path / "library"),
        "lib",
        cwd=repository,
    )
    assert canonical_root(str(repository / "lib")) == str(repository / "lib")


def test_a_checkout_cannot_borrow_another_project_s_memory(repository: Path, tmp_path: Path, git: Git) -> None:
    """A hostile `.git` file that points into another repository is not believed: that one does not point back."""
    git("worktree", "add", "--quiet", str(tmp_path / "honest"), cwd=repository)
    hostile = tmp_path / "hostile"
    hostile.mkdir()
    (hostile / ".git").write_text((tmp_path / "honest" / ".git").read_text())
    assert canonical_root(str(hostile)) == str(hostile)


def test_a_broken_git_file_is_merely_a_root(tmp_path: Path) -> None:
    for text in (b"", b"gitdir: /nowhere\n", b"\xff\xfe\0", b"gitdir:\n"):
        (tmp_path / ".git").write_bytes(text)
        assert canonical_root(str(tmp_path)) == str(tmp_path)
