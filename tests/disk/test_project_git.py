"""Git on a project through a folder of ours: what it still tells, and what is not believed (S15, ADR 0040)."""

from __future__ import annotations

import hashlib
import os
import shutil
import signal
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Literal

import pytest

from memdir.disk.git_root import canonical_root
from memdir.disk.project_git import MAX_SECONDS, ProjectGit
from memdir.disk.repository import LeftOut
from memdir.store.identity import MAX_REMOTES, identify

Git = Callable[..., str]


@pytest.fixture(autouse=True)
def in_time() -> Iterator[None]:
    """Nothing here may wait: what does is broken off instead of holding up the tests."""

    def give_up(*_: object) -> None:
        raise AssertionError("it waits for something in the project")

    before = signal.signal(signal.SIGALRM, give_up)
    signal.alarm(20)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


def ask(tree: Path, *words: str) -> str:
    with ProjectGit(str(tree), refs="all") as git:
        status, output, errors = git.run(*words, timeout_seconds=20)
    assert status == 0, errors
    return output.decode()


def first_commit(tree: Path, git: Git) -> tuple[str, ...]:
    return (git("rev-list", "--max-parents=0", "HEAD", cwd=tree).strip(),)


@pytest.mark.parametrize("state", ["loose", "packed", "detached", "worktree", "submodule", "sha256"])
def test_an_honest_repository_is_read_in_every_shape(state: str, repository: Path, tmp_path: Path, git: Git) -> None:
    tree = shaped(state, repository, tmp_path, git)
    assert identify(str(tree)).root_commits == first_commit(tree, git)
    for words in (("log", "--format=%H %d"), ("ls-files", "--stage"), ("status", "--short"), ("tag",), ("branch",)):
        told = ask(tree, *words)
        assert told == git(*words, cwd=tree) or words[0] == "log", words
        assert told.split()[:1] == git(*words, cwd=tree).split()[:1]


def shaped(state: str, repository: Path, tmp_path: Path, git: Git) -> Path:
    git("tag", "v1", cwd=repository)
    git("branch", "topic/deep", cwd=repository)
    if state == "packed":
        git("pack-refs", "--all", cwd=repository)
        git("gc", "--quiet", cwd=repository)
    elif state == "detached":
        git("checkout", "--quiet", "--detach", cwd=repository)
        git("branch", "--delete", "topic/deep", cwd=repository)
    elif state == "worktree":
        git("worktree", "add", "--quiet", "-b", "second", str(tmp_path / "second"), cwd=repository)
        git("worktree", "lock", str(tmp_path / "second"), cwd=repository)
        git("checkout", "--quiet", "--detach", cwd=repository)
        return tmp_path / "second"
    elif state == "submodule":
        add_submodule(repository, tmp_path, git)
        return repository / "lib"
    elif state == "sha256":
        tree = tmp_path / "other"
        git("init", "--quiet", "--object-format=sha256", str(tree), cwd=tmp_path)
        git("commit", "--quiet", "--allow-empty", "--message=first", cwd=tree)
        return tree
    return repository


def add_submodule(repository: Path, tmp_path: Path, git: Git) -> None:
    git("clone", "--quiet", str(repository), str(tmp_path / "library"), cwd=tmp_path)
    allow = ("-c", "protocol.file.allow=always")
    git(*allow, "submodule", "--quiet", "add", str(tmp_path / "library"), "lib", cwd=repository)


def test_a_repository_without_a_commit_is_one(tmp_path: Path, git: Git) -> None:
    git("init", "--quiet", cwd=tmp_path)
    assert identify(str(tmp_path)).root_commits == ()
    assert "No commits yet" in ask(tmp_path, "status")


def test_a_bare_repository_is_known_by_its_worktrees(repository: Path, tmp_path: Path, git: Git) -> None:
    git("clone", "--quiet", "--bare", str(repository), str(tmp_path / "bare.git"), cwd=tmp_path)
    git("worktree", "add", "--quiet", str(tmp_path / "one"), cwd=tmp_path / "bare.git")
    bare, tree = str(tmp_path / "bare.git"), str(tmp_path / "one")
    assert canonical_root(tree) == bare
    assert identify(bare, tree).root_commits == first_commit(repository, git)
    assert identify(bare).root_commits == (), "looking like one proves nothing"


def test_git_in_a_shell_does_not_look_into_submodules(repository: Path, tmp_path: Path, git: Git) -> None:
    add_submodule(repository, tmp_path, git)
    git("commit", "--quiet", "--message=lib", cwd=repository)
    before = (repository / ".git" / "index").read_bytes()
    assert "lib" not in ask(repository, "ls-files").split("\n")
    assert "README" in ask(repository, "ls-files")
    assert (repository / ".git" / "index").read_bytes() == before


@pytest.mark.parametrize("mode", [0o160644, 0o160755, 0o160001, 0o360000, 0o160000])
def test_a_submodule_in_disguise_is_not_looked_into(mode: int, repository: Path, tmp_path: Path, git: Git) -> None:
    """Git tells one by four bits of the mode, and by them runs itself there, and the filter it finds there."""
    add_submodule(repository, tmp_path, git)
    git("commit", "--quiet", "--message=lib", cwd=repository)
    git("config", "core.fsmonitor", f"touch {tmp_path}/ran; false", cwd=repository / "lib")
    rewrite_index(repository, lambda data: data.replace(b"\0\0\xe0\0", mode.to_bytes(4, "big"), 1))
    ask(repository, "status")
    ask(repository, "diff")
    assert "lib" not in ask(repository, "ls-files").split("\n")
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (b"\0\0\x81\xa4", b"\0\0\x81\xb6"),
        (b"\0\0\x81\xa4", b"\0\0\x40\0"),
        (b"\0\0\x81\xa4", b"\1\0\x81\xa4"),
        (b"README", b"../ADM"),
        (b"README", b".GIT/x"),
        (b"README", b"/tmp/a"),
        (b"README", b"REA\0ME"),
        (b"DIRC\0\0\0\2", b"DIRC\0\0\0\4"),
        (b"TREE", b"link"),
        (b"TREE", b"sdir"),
    ],
)
def test_an_index_that_is_not_plain_is_left_out(old: bytes, new: bytes, repository: Path) -> None:
    assert old in (repository / ".git" / "index").read_bytes()
    rewrite_index(repository, lambda data: data.replace(old, new, 1))
    with pytest.raises(LeftOut, match="its index"):
        ask(repository, "ls-files")


def test_a_split_index_is_left_out_of_a_shell_only(repository: Path, git: Git) -> None:
    git("update-index", "--split-index", cwd=repository)
    assert identify(str(repository)).root_commits == first_commit(repository, git)
    with pytest.raises(LeftOut, match="its index"):
        ask(repository, "ls-files")


def test_git_opens_nothing_through_a_link_and_nothing_private(repository: Path, tmp_path: Path, git: Git) -> None:
    """An index may name a path behind a linked folder; what is committed there is shown, what lies there is not."""
    (tmp_path / "out").mkdir()
    for folder in (tmp_path / "out", repository):
        (folder / "private.md").write_text("committed\n")
    (repository / "l").mkdir()
    (repository / "l" / "private.md").write_text("committed\n")
    git("add", ".", cwd=repository)
    git("commit", "--quiet", "--message=two", cwd=repository)
    shutil.rmtree(repository / "l")
    (repository / "l").symlink_to(tmp_path / "out")
    for folder in (tmp_path / "out", repository):
        (folder / "private.md").write_text("canary\n")
    with ProjectGit(str(repository), refs="all", is_private=lambda path: path == "private.md") as project:
        for words in (["grep", ""], ["diff"], ["diff", "HEAD"], ["status", "-vv"]):
            _, output, _ = project.run(*words, timeout_seconds=20)
            assert b"canary" not in output, words
        assert b"l/private.md:committed" in project.run("grep", "committed", timeout_seconds=20)[1]


def rewrite_index(tree: Path, change: Callable[[bytes], bytes]) -> None:
    path = tree / ".git" / "index"
    data = change(path.read_bytes()[:-20])
    path.write_bytes(data + hashlib.sha1(data).digest())


def test_nothing_is_left_of_the_folder_and_nothing_changed_in_the_project(
    repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "temporary").mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "temporary"))
    before = {path: path.lstat().st_mtime_ns for path in repository.rglob("*")}
    ask(repository, "status")
    identify(str(repository))
    (repository / ".git" / "HEAD").write_text("nonsense")
    with pytest.raises(LeftOut), ProjectGit(str(repository)):
        pass
    assert list((tmp_path / "temporary").iterdir()) == []
    after = {path: path.lstat().st_mtime_ns for path in repository.rglob("*")}
    assert {path.name for path in after if after[path] != before.get(path)} == {"HEAD"}


PLACES = (
    *(".git", ".git/HEAD", ".git/config", ".git/index", ".git/packed-refs", ".git/shallow", ".git/refs/heads/main"),
    *(".git/refs", ".git/objects", ".git/objects/pack", ".git/objects/pack/pack-1.idx", ".git/objects/aa"),
    *(".git/objects/info/alternates", ".git/commondir", ".git/gitdir", ".git/sharedindex.1", ".git/info"),
)


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("kind", ["pipe", "device", "link out", "huge"])
def test_what_is_no_plain_file_neither_blocks_nor_is_believed(
    place: str, kind: str, repository: Path, tmp_path: Path, git: Git
) -> None:
    """Every answer comes at once, and is the true one or none."""
    true = first_commit(repository, git)
    path = repository / place
    other = make_other(tmp_path, git)
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    path.unlink(missing_ok=True)
    put(kind, path, other / place)
    assert canonical_root(str(repository)) == str(repository)
    assert identify(str(repository)).root_commits in ((), true)
    with suppress(LeftOut), ProjectGit(str(repository), refs="all") as git_there:
        git_there.run("status", timeout_seconds=10)


def put(kind: str, path: Path, other: Path) -> None:
    if kind == "pipe":
        os.mkfifo(path)
    elif kind == "device":
        path.symlink_to("/dev/zero")
    elif kind == "link out":
        path.symlink_to(other)
    else:
        path.touch()
        os.truncate(path, 3 << 30)


def make_other(tmp_path: Path, git: Git) -> Path:
    """Another project, of which nothing may be learned."""
    other = tmp_path / "other"
    git("init", "--quiet", str(other), cwd=tmp_path)
    git("commit", "--quiet", "--allow-empty", "--message=secret", cwd=other)
    return other


@pytest.mark.parametrize("trick", ["git file", "git link", "worktree", "objects", "alternates", "core.worktree"])
def test_a_checkout_cannot_pass_for_another_project(trick: str, repository: Path, tmp_path: Path, git: Git) -> None:
    """Or it would be given that project's memories (I1)."""
    hostile = tmp_path / "hostile"
    victim = repository / ".git"
    git("init", "--quiet", str(hostile), cwd=tmp_path)
    if trick in ("git file", "git link"):
        shutil.rmtree(hostile / ".git")
        if trick == "git link":
            (hostile / ".git").symlink_to(victim)
        else:
            (hostile / ".git").write_text(f"gitdir: {victim}\n")
    elif trick == "worktree":
        shutil.rmtree(hostile / ".git")
        forged = hostile / "worktrees" / "w"
        forged.mkdir(parents=True)
        (hostile / ".git").write_text("gitdir: worktrees/w\n")
        (forged / "gitdir").write_text(f"{hostile}/.git\n")
        (forged / "commondir").write_text(f"{victim}\n")
        (forged / "HEAD").write_text("ref: refs/heads/main\n")
    else:
        pretend(trick, hostile, victim)
    assert canonical_root(str(hostile)) == str(hostile)
    assert identify(str(hostile)).root_commits == ()


def pretend(trick: str, hostile: Path, victim: Path) -> None:
    (hostile / ".git" / "HEAD").write_text((victim / "refs" / "heads" / "main").read_text())
    if trick == "objects":
        shutil.rmtree(hostile / ".git" / "objects")
        (hostile / ".git" / "objects").symlink_to(victim / "objects")
    elif trick == "alternates":
        (hostile / ".git" / "objects" / "info" / "alternates").write_text(f"{victim}/objects\n")
    else:
        with (hostile / ".git" / "config").open("a") as file:
            file.write(f"[core]\n\tworktree = {victim.parent}\n")


def test_a_path_on_another_machine_is_not_looked_at(tmp_path: Path) -> None:
    for path in ("//example.invalid/share/x", r"\\example.invalid\share\x"):
        (tmp_path / ".git").write_text(f"gitdir: {path}\n")
        assert canonical_root(str(tmp_path)) == str(tmp_path)
        with pytest.raises(LeftOut):
            ProjectGit(str(tmp_path))


COMMIT = b"1" * 40


def pack(repository: Path, refs: int, length: int = 8) -> None:
    lines = (b"%s refs/tags/%0*d\n" % (COMMIT, length, number) for number in range(refs))
    (repository / ".git" / "packed-refs").write_bytes(b"".join(lines))


def fill(folder: Path, names: Iterable[str]) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for name in names:
        (folder / name).touch()


def test_refs_that_name_nothing_cost_no_look_at_the_others(repository: Path) -> None:
    """Each asked for the whole list of packed refs again: a minute of standing still for a few empty files."""
    pack(repository, 60_000)
    fill(repository / ".git" / "refs" / "heads" / "z", map(str, range(1_500)))
    started = time.monotonic()
    assert len(ask(repository, "for-each-ref", "--count=9", "--format=%(refname)").split()) == 9
    assert time.monotonic() - started < MAX_SECONDS + 2


def nest(repository: Path) -> None:
    (repository / ".git" / "refs" / "heads" / "/".join(["d"] * 200)).mkdir(parents=True)


BOMBS: dict[str, Callable[[Path], None]] = {
    "a million packed refs": lambda tree: pack(tree, 1_000_000, 1),
    "giant packed refs": lambda tree: pack(tree, 20_000, 2_000),
    "many loose refs": lambda tree: fill(tree / ".git" / "refs" / "heads" / "z", map(str, range(2_100))),
    "folders in folders": nest,
    "many parts of an index": lambda tree: fill(tree / ".git", (f"sharedindex.{n}" for n in range(200))),
    "many names": lambda tree: fill(tree / ".git", (f"x{n}" for n in range(10_100))),
}


@pytest.mark.parametrize("bomb", BOMBS)
def test_what_no_repository_holds_is_left_out_before_it_costs_anything(bomb: str, repository: Path) -> None:
    refs: Literal["head", "all"] = "head" if bomb in ("many parts of an index", "many names") else "all"
    BOMBS[bomb](repository)
    started = time.monotonic()
    with pytest.raises(LeftOut), ProjectGit(str(repository), refs=refs):
        pass
    assert time.monotonic() - started < MAX_SECONDS


def test_getting_ready_counts_against_the_time_that_is_given(repository: Path) -> None:
    with pytest.raises(LeftOut, match="too long"), ProjectGit(str(repository), refs="all", timeout_seconds=0):
        pass


def test_a_thousand_remotes_do_not_make_a_record_that_cannot_be_read(repository: Path) -> None:
    with (repository / ".git" / "config").open("a") as file:
        file.writelines(f'[remote "r{n}"]\n\turl = https://example.com/{n}/{"x" * 500}\n' for n in range(1_500))
    assert len(identify(str(repository)).remotes) == MAX_REMOTES
