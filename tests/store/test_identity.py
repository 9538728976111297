"""A renamed or moved project finds its store again (I1, I2)."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from memdir.layout import Layout, Place
from memdir.memdir import MemDir, open_memory
from memdir.store.history import Origin
from memdir.store.identity import adopt, find_lost_store, identify, read_identity, stores
from memdir.store.memories import add_memory
from tests.conftest import Events

Git = Callable[..., str]


def opened(folder: Path, text: str = "", sink: Events | None = None) -> MemDir:
    memory = open_memory(folder, sink=sink)
    memory.start()
    if text:
        add_memory(memory.store, text, kind=None, origin=Origin("cli"))
    return memory


def test_a_store_remembers_root_first_commit_and_remotes(repository: Path, git: Git) -> None:
    token = "tok" + "en123"
    git("remote", "add", "origin", f"https://user:{token}@git.example.org/Team/App.git", cwd=repository)
    memory = opened(repository)
    identity = read_identity(memory.place.identity)
    assert identity is not None
    assert identity.root == str(repository)
    assert identity.root_commits == (git("rev-parse", "HEAD", cwd=repository).strip(),)
    assert identity.remotes == ("git.example.org/team/app",)
    assert token not in Path(memory.place.identity).read_text()


def test_a_renamed_project_adopts_its_store_and_says_so(repository: Path, events: Events) -> None:
    old = opened(repository, "Kept")
    renamed = repository.rename(repository.with_name("renamed"))
    memory = opened(renamed, sink=events)
    assert [header.name for header in memory.store.scan().headers] == ["Kept"]
    assert [commit.subject for commit in memory.store.history.log()] == ["remember Kept"]
    assert events.names == ["store.adopted"]
    assert not os.path.exists(old.place.root)
    assert opened(renamed).start() is None, "adopted once"


def test_a_clone_elsewhere_adopts_only_when_the_original_is_gone(repository: Path, tmp_path: Path, git: Git) -> None:
    opened(repository, "Kept")
    git("clone", "--quiet", str(repository), str(tmp_path / "clone"), cwd=tmp_path)
    adoption = open_memory(tmp_path / "clone").start()
    assert adoption is not None
    assert adoption.adopted is None
    assert [record.identity.root for record in adoption.candidates] == [str(repository)]
    assert open_memory(tmp_path / "clone").store.scan().headers == []


def test_two_orphans_are_reported_never_merged(repository: Path, tmp_path: Path, git: Git) -> None:
    copies = [tmp_path / "one", tmp_path / "two"]
    for copy in copies:
        git("clone", "--quiet", str(repository), str(copy), cwd=tmp_path)
        git("remote", "remove", "origin", cwd=copy)
        layout = Layout(os.environ["MEMDIR_HOME"], str(copy))
        os.makedirs(layout.default_memory)
        opened(copy, copy.name)
    new = copies[0].rename(tmp_path / "new")
    copies[1].rename(tmp_path / "elsewhere")
    adoption = open_memory(new).start()
    assert adoption is not None and adoption.adopted is None
    assert len(adoption.candidates) == 2


def test_another_project_with_other_remotes_is_not_the_same(repository: Path, tmp_path: Path, git: Git) -> None:
    git("remote", "add", "origin", "git@git.example.org:a/app.git", cwd=repository)
    opened(repository, "Private to a")
    git("clone", "--quiet", str(repository), str(tmp_path / "fork"), cwd=tmp_path)
    git("remote", "set-url", "origin", "git@git.example.org:b/app.git", cwd=tmp_path / "fork")
    repository.rename(tmp_path / "gone")
    assert open_memory(tmp_path / "fork").start() is None


@pytest.mark.parametrize(
    "spelling",
    ["git@git.example.org:a/app.git", "https://git.example.org/A/app", "ssh://git@git.example.org/a/app.git/"],
)
def test_a_remote_is_the_same_however_it_is_spelled(repository: Path, git: Git, spelling: str) -> None:
    git("remote", "add", "origin", spelling, cwd=repository)
    assert identify(str(repository)).remotes == ("git.example.org/a/app",)


def test_a_shallow_clone_claims_no_first_commit(repository: Path, tmp_path: Path, git: Git) -> None:
    (repository / "more").write_text("x")
    git("add", ".", cwd=repository)
    git("commit", "--quiet", "-m", "second", cwd=repository)
    git("clone", "--quiet", "--depth=1", f"file://{repository}", str(tmp_path / "shallow"), cwd=tmp_path)
    assert identify(str(tmp_path / "shallow")).root_commits == ()


def test_an_adoption_that_was_cut_short_is_completed(repository: Path) -> None:
    old = opened(repository, "Kept")
    renamed = repository.rename(repository.with_name("renamed"))
    layout = Layout(os.environ["MEMDIR_HOME"], str(renamed))
    os.makedirs(layout.project_home)
    Path(layout.project_home, "session.jsonl").write_text("{}\n")
    os.rename(old.place.state, Place(layout.default_memory).state)
    adoption = find_lost_store(layout)
    assert adoption.adopted is not None
    assert [header.name for header in opened(renamed).store.scan().headers] == ["Kept"]


def test_adopting_beside_existing_sessions_keeps_them(repository: Path) -> None:
    opened(repository, "Kept")
    renamed = repository.rename(repository.with_name("renamed"))
    layout = Layout(os.environ["MEMDIR_HOME"], str(renamed))
    os.makedirs(layout.project_home)
    Path(layout.project_home, "session.jsonl").write_text("{}\n")
    [record] = list(stores(layout))
    adopt(layout, record)
    assert Path(layout.project_home, "session.jsonl").exists()
    assert [header.name for header in opened(renamed).store.scan().headers] == ["Kept"]


def test_worktrees_share_one_memory_unless_declared_isolated(repository: Path, tmp_path: Path, git: Git) -> None:
    """I2."""
    git("worktree", "add", "--quiet", str(tmp_path / "second"), cwd=repository)
    assert open_memory(tmp_path / "second").place.root == open_memory(repository).place.root
    Path(os.environ["MEMDIR_HOME"]).mkdir()
    Path(os.environ["MEMDIR_HOME"], "settings.json").write_text('{"worktrees": "isolated"}')
    assert open_memory(tmp_path / "second").place.root != open_memory(repository).place.root


def test_a_damaged_identity_is_merely_unknown(tmp_path: Path) -> None:
    for data in (b"", b"[]", b"{}", b'{"root": 1}', b"\xff"):
        (tmp_path / "identity.json").write_bytes(data)
        assert read_identity(str(tmp_path / "identity.json")) is None
