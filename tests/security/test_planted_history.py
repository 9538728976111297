"""A history that a stranger prepared: whatever it brings along is not obeyed, not followed, not believed (S14, S15)."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from memdir.layout import Layout
from tests.conftest import Ran

Run = Callable[..., Ran]
KEY = "project_the_first_thing.md"
# Every command that touches the history, and one that reads memories beside it.
COMMANDS = (
    ("doctor",),
    ("list",),
    ("log",),
    ("diff",),
    ("why", KEY),
    ("remember", "A new thing"),
    ("undo",),
    ("forget", KEY),
    ("restore", KEY),
    ("recall", "the first thing"),
    ("doctor", "--fix"),
    ("remember", "Another new thing"),
)
# Keys by which git's documentation says that something is run, fetched or read from elsewhere.
CONFIG = """\
[core]
    repositoryformatversion = 1
    bare = true
    fsmonitor = {evil}
    hooksPath = {folder}
    sshCommand = {evil}
    editor = {evil}
    pager = {evil}
    askPass = {evil}
    gitProxy = {evil}
    alternateRefsCommand = {evil}
    attributesFile = {folder}/attributes
    worktree = {folder}
    excludesFile = {folder}/attributes
[extensions]
    partialClone = origin
    worktreeConfig = true
[remote "origin"]
    url = ext::{evil}
    promisor = true
    partialclonefilter = blob:none
    uploadpack = {evil}
    vcs = {evil}
    proxy = {evil}
[protocol]
    allow = always
[protocol "ext"]
    allow = always
[filter "evil"]
    clean = {evil}
    smudge = {evil}
    process = {evil}
    required = true
[diff]
    external = {evil}
[diff "evil"]
    command = {evil}
    textconv = {evil}
[merge "evil"]
    driver = {evil}
[gpg]
    program = {evil}
[gpg "ssh"]
    program = {evil}
    defaultKeyCommand = {evil}
[log]
    showSignature = true
[commit]
    gpgSign = true
[credential]
    helper = {evil}
[alias]
    log = !{evil}
    cat-file = !{evil}
    fsck = !{evil}
    ls-tree = !{evil}
    rev-list = !{evil}
[pager]
    log = {evil}
    diff-tree = {evil}
[uploadpack]
    packObjectsHook = {evil}
[trace2]
    eventTarget = {folder}/ran
[include]
    path = {folder}/included
"""
HOOKS = (
    "pre-commit",
    "post-commit",
    "commit-msg",
    "post-index-change",
    "reference-transaction",
    "pre-auto-gc",
    "post-rewrite",
)


@pytest.fixture
def place(memdir: Run, project: Path) -> Path:
    """A store with some history; its state folder."""
    for text in ("The first thing", "The second thing"):
        assert memdir("remember", text).code == 0
    layout = Layout(os.environ["MEMDIR_HOME"], str(project))
    return Path(f"{layout.default_memory}.state")


@pytest.fixture
def evil(tmp_path: Path) -> Path:
    """A program that leaves a mark when it is run."""
    program = tmp_path / "evil" / "evil"
    program.parent.mkdir()
    program.write_text(f"#!/bin/sh\necho ran >> {program.parent}/ran\ncat\n")
    program.chmod(0o755)
    return program


def plant_config(history: Path, evil: Path) -> None:
    text = CONFIG.format(evil=evil, folder=evil.parent)
    (history / "config").write_text(text)
    (history / "config.worktree").write_text(text)
    (evil.parent / "included").write_text(text)
    (evil.parent / "attributes").write_text("* filter=evil diff=evil merge=evil\n")


def plant_attributes(history: Path, evil: Path) -> None:
    plant_config(history, evil)
    (history / "info").mkdir(exist_ok=True)
    memory = Path(str(history.parent).removesuffix(".state"))
    for path in (history / "info" / "attributes", memory / ".gitattributes"):
        path.write_text("* filter=evil diff=evil merge=evil text eol=crlf ident working-tree-encoding=UTF-16\n")
    (memory / ".gitmodules").write_text(f'[submodule "x"]\npath = x\nurl = ext::{evil}\nupdate = !{evil}\n')


def plant_hooks(history: Path, evil: Path) -> None:
    (history / "hooks").mkdir()
    for name in HOOKS:
        shutil.copy(evil, history / "hooks" / name)


def plant_other_places(history: Path, evil: Path) -> None:
    other = evil.parent / "other.git"
    subprocess.run(["git", "init", "--quiet", "--bare", str(other)], check=True)
    plant_config(other, evil)
    for name in ("commondir", "gitdir"):
        (history / name).write_text(f"{other}\n")


def plant_pipes(history: Path, evil: Path) -> None:
    memory = Path(str(history.parent).removesuffix(".state"))
    for path in (memory / ".gitattributes", memory / ".gitignore", history / "shallow", history / "index"):
        os.mkfifo(path)


@pytest.mark.parametrize("plant", [plant_config, plant_attributes, plant_hooks, plant_other_places, plant_pipes])
def test_nothing_of_a_planted_history_runs(
    plant: Callable[[Path, Path], None], memdir: Run, place: Path, evil: Path
) -> None:
    plant(place / "history.git", evil)
    texts = {path.name: path.read_bytes() for path in Path(str(place).removesuffix(".state")).glob("project_*.md")}
    for words in COMMANDS:
        ran = memdir(*words)
        assert ran.code in (0, 1), (words, ran)  # doctor may say what it found
    assert not (evil.parent / "ran").exists()
    kept = {path.name: path.read_bytes() for path in Path(str(place).removesuffix(".state")).glob("project_*.md")}
    assert texts.items() <= kept.items()
    assert not any(path.name.startswith("history.git.") for path in place.iterdir())  # it was sound: nothing set aside


def test_objects_of_another_repository_are_not_read(
    memdir: Run, place: Path, git: Callable[..., str], tmp_path: Path
) -> None:
    """An alternate brings another's secrets, or a commit that replaces ours."""
    other = tmp_path / "other"
    other.mkdir()
    git("init", "--quiet", cwd=other)
    (other / "secret.md").write_text("somebody's secret\n")
    git("add", ".", cwd=other)
    git("commit", "--quiet", "--message=theirs", cwd=other)
    theirs = git("rev-parse", "HEAD", cwd=other).strip()
    objects = place / "history.git" / "objects"
    (objects / "info").mkdir(exist_ok=True)
    (objects / "info" / "alternates").write_text(f"{other}/.git/objects\n")
    assert memdir("diff", theirs).code == 6
    assert memdir("undo", theirs).code == 6
    assert "theirs" not in memdir("log").out
    assert memdir("remember", "More").code == 0


def test_a_replaced_or_grafted_commit_is_not_believed(memdir: Run, place: Path, git: Callable[..., str]) -> None:
    history = place / "history.git"
    log = memdir("log").out
    last, first = git("rev-list", "main", cwd=history).split()[:2]
    git("replace", last, first, cwd=history)
    (history / "info").mkdir(exist_ok=True)
    (history / "info" / "grafts").write_text(f"{last}\n")
    assert memdir("log").out == log
    assert memdir("undo").code == 0
    assert KEY in memdir("list").out


@pytest.mark.parametrize(
    "name", ["", "objects", "refs", "refs/heads", "logs", "refs/heads/main", "logs/refs/heads/main", "HEAD", "config"]
)
def test_a_link_in_a_history_leads_nowhere(name: str, memdir: Run, place: Path, tmp_path: Path) -> None:
    """What it leads to is neither read as ours nor written to."""
    outside = tmp_path / "outside"
    path = Path(os.path.join(place, "history.git", name).rstrip("/"))
    shutil.move(path, outside)
    (tmp_path / "held.lock").write_text("")
    if outside.is_dir():
        (outside / "held.lock").write_text("somebody's")
    before = _tree(outside)
    path.symlink_to(outside)
    memories = _tree(Path(str(place).removesuffix(".state")))
    for words in COMMANDS:
        ran = memdir(*words)
        assert ran.code != 70, (words, ran)
    assert _tree(outside) == before
    after = _tree(Path(str(place).removesuffix(".state")))
    assert {name for name in memories if name not in after} == set()


@pytest.mark.parametrize(
    "path",
    ["../../outside.md", "/outside.md", "link/outside.md", ".hidden.md", "a/../../x.md", "a//b.md", "", "x\0.md"],
)
def test_a_planted_journal_writes_and_deletes_nothing_outside(
    path: str, memdir: Run, place: Path, tmp_path: Path
) -> None:
    from memdir.store.journal import Journal, Operation, write_journal

    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "outside.md").write_text("theirs")
    memory = Path(str(place).removesuffix(".state"))
    (memory / "link").symlink_to(outside)
    (memory.parent / "outside.md").write_text("theirs")
    (memory.parent.parent / "outside.md").write_text("theirs")
    for before, after in ((b"theirs", None), (b"theirs", b"ours"), (None, b"ours")):
        absolute = str(outside / "outside.md") if path == "/outside.md" else path
        write_journal(
            str(place / "journal"), Journal("planted", [Operation(absolute, before, after)], found=(absolute,))
        )
        kept = _tree(tmp_path / "outside"), (memory.parent / "outside.md").read_text()
        ran = memdir("remember", f"After {before!r} and {after!r}")
        assert ran.code == 0 and "set aside" in ran.err
        assert (_tree(tmp_path / "outside"), (memory.parent / "outside.md").read_text()) == kept
        assert not (memory / ".hidden.md").exists()
    assert "journal" in memdir("doctor", "--json").out


def test_a_history_copied_from_another_place_keeps_working(
    memdir: Run, place: Path, tmp_path: Path, project: Path
) -> None:
    """Another path, another owner, another umask: it is the same history."""
    other = tmp_path / "elsewhere"
    memory = Path(str(place).removesuffix(".state"))
    shutil.copytree(memory, other / "memory")
    shutil.copytree(place, other / "memory.state")
    if os.geteuid() == 0:
        for path in (other, *other.rglob("*")):
            os.chown(path, 12345, 12345)
    for path in other.rglob("*"):
        path.chmod(0o755 if path.is_dir() else 0o644)
    given = ("--set", f"memoryDirectory={other / 'memory'}")
    log = memdir("log", *given)
    assert log.code == 0 and "remember The first thing" in log.out, log
    assert memdir("forget", KEY, *given).code == 0
    assert memdir("undo", *given).code == 0
    assert (other / "memory" / KEY).read_bytes() == (memory / KEY).read_bytes()


@pytest.mark.skipif(os.name == "nt", reason="Windows has no modes of this kind")
@pytest.mark.parametrize("mask", [0, 0o022, 0o077, 0o177])
def test_files_of_the_history_are_private_whatever_the_umask(
    mask: int, tmp_path: Path, memdir_command: str, project: Path
) -> None:
    from memdir.disk.git import MANY_BLOBS

    home = tmp_path / "private"
    material = tmp_path / "material"
    material.mkdir()
    for number in range(MANY_BLOBS + 1):  # so many become a pack, which git writes
        (material / f"note_{number}.md").write_text(f"---\nname: Note {number}\ndescription: d\n---\n\nText\n")
    variables = {**os.environ, "MEMDIR_HOME": str(home)}
    for words in (("remember", "One"), ("import", str(material)), ("undo",)):
        subprocess.run(
            [memdir_command, *words], cwd=project, env=variables, umask=mask, check=True, capture_output=True
        )
    found = [path for state in home.rglob("memory.state") for path in state.rglob("*")]
    assert any(path.suffix == ".pack" for path in found)
    modes = {path: path.stat().st_mode & 0o777 for path in found}
    assert {path for path, mode in modes.items() if mode != (0o700 if path.is_dir() else 0o600)} == set()


def _tree(folder: Path) -> dict[str, bytes]:
    if folder.is_file():
        return {"": folder.read_bytes()}
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}
