"""A renamed or moved project finds its store again (I1, I2)."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from memdir.errors import MemdirError
from memdir.layout import Layout, Place, slug_of
from memdir.memdir import MemDir, open_memory
from memdir.store.history import Origin
from memdir.store.identity import adopt, find_lost_store, folder_mark, identify, read_identity, stores
from memdir.store.memories import add_memory
from tests.conftest import Events, Ran

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


def test_a_checkout_without_remotes_gets_no_store_of_a_project_that_had_one(
    repository: Path, tmp_path: Path, git: Git
) -> None:
    """Anybody has the first commit of a public project: a stranger must not get what was remembered of it."""
    git("remote", "add", "origin", "git@git.example.org:a/app.git", cwd=repository)
    opened(repository, "Private")
    git("clone", "--quiet", str(repository), str(tmp_path / "strange"), cwd=tmp_path)
    git("remote", "remove", "origin", cwd=tmp_path / "strange")
    shutil.rmtree(repository)
    adoption = open_memory(tmp_path / "strange").start()
    assert adoption is None or (adoption.adopted is None and not adoption.candidates)


def test_two_orphans_are_reported_never_merged(repository: Path, tmp_path: Path, git: Git) -> None:
    copies = [tmp_path / "one", tmp_path / "two"]
    for copy in copies:
        git("clone", "--quiet", str(repository), str(copy), cwd=tmp_path)
        git("remote", "remove", "origin", cwd=copy)
        layout = Layout(os.environ["MEMDIR_HOME"], str(copy))
        os.makedirs(layout.default_memory)
        opened(copy, copy.name)
    for copy in copies:
        shutil.rmtree(copy)
    adoption = open_memory(repository).start()
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


def test_whoever_comes_after_an_adoption_that_was_cut_short_has_the_whole_store(repository: Path) -> None:
    """The state stands under the new name and says the old root, the memory still stands under the old one."""
    old = opened(repository, "Kept")
    renamed = repository.rename(repository.with_name("renamed"))
    place = Place(Layout(os.environ["MEMDIR_HOME"], str(renamed)).default_memory)
    os.makedirs(os.path.dirname(place.root))
    os.rename(old.place.state, place.state)
    assert names(open_memory(renamed)) == ["Kept"]
    assert open_memory(renamed).place.root == place.root
    assert not os.path.exists(old.layout.project_home)


@pytest.mark.parametrize("is_old_root_there", [False, True])
def test_a_store_that_stands_under_the_projects_name_is_its_own(project: Path, *, is_old_root_there: bool) -> None:
    """Moved there by hand, or by another process that has yet to write down whose it is."""
    old = opened(project, "Kept")
    new = project.with_name("new")
    new.mkdir() if is_old_root_there else project.rename(new)
    place = Place(Layout(os.environ["MEMDIR_HOME"], str(new)).default_memory)
    os.rename(old.layout.project_home, os.path.dirname(place.root))
    assert names(open_memory(new)) == ["Kept"]
    memory = open_memory(new)
    memory.add("More of it")
    assert memory.place.root == place.root
    identity = read_identity(place.identity)
    assert identity is not None and identity.root == str(new)


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


def names(memory: MemDir) -> list[str]:
    return [header.name for header in memory.list()]


def test_of_two_copies_that_moved_each_finds_its_own_store(repository: Path, tmp_path: Path) -> None:
    """What stands in the old place now does not matter, either: the folder itself is known again."""
    opened(repository, "First")
    second = tmp_path / "second"
    shutil.copytree(repository, second)
    opened(second, "Second")
    aside = repository.rename(tmp_path / "aside")
    second.rename(repository)
    assert names(open_memory(aside)) == ["First"]
    assert names(open_memory(repository)) == ["Second"]


@pytest.mark.parametrize("has_git", [True, False])
@pytest.mark.parametrize("is_nested", [True, False], ids=["moved", "renamed"])
def test_reading_alone_finds_the_store_of_a_moved_project(
    repository: Path, tmp_path: Path, events: Events, *, has_git: bool, is_nested: bool
) -> None:
    """I1, without git as well: a folder that was empty when it was remembered, and changed since."""
    if not has_git:
        shutil.rmtree(repository / ".git")
    opened(repository, "Kept")
    (repository / "later.txt").write_text("written after the memory")
    (tmp_path / "deep" / "er").mkdir(parents=True)
    new = repository.rename(tmp_path / "deep" / "er" / "x" if is_nested else tmp_path / "renamed")
    memory = open_memory(new, sink=events)
    assert memory.get("Kept").topic.name == "Kept"
    assert events.names == ["store.adopted"]


def test_a_copy_without_git_never_takes_the_store(project: Path, tmp_path: Path) -> None:
    opened(project, "Mine")
    (project / "file").write_text("x")
    copy = tmp_path / "copy"
    subprocess.run(["cp", "-a", str(project), str(copy)], check=True)
    assert names(open_memory(copy)) == []
    shutil.rmtree(project)
    assert names(open_memory(copy)) == [], "a disk that is not mounted looks the same"
    project.mkdir()
    assert names(open_memory(project)) == ["Mine"]


def test_the_next_folder_with_the_number_of_a_deleted_one_is_another(tmp_path: Path) -> None:
    marks = set()
    for count in range(8):
        folder = tmp_path / f"number {count}"
        folder.mkdir()
        marks.add(folder_mark(str(folder)))
        folder.rmdir()
    assert len(marks) == 8


def test_a_project_without_git_on_another_disk_is_offered_its_old_store(project: Path, tmp_path: Path) -> None:
    opened(project, "Kept")
    there = tmp_path / "disk" / project.name
    shutil.copytree(project, there)
    shutil.rmtree(project)
    adoption = open_memory(there).start()
    assert adoption is not None and adoption.adopted is None
    assert [record.identity.root for record in adoption.candidates] == [str(project)]


def test_an_empty_store_is_no_candidate(repository: Path, tmp_path: Path, git: Git) -> None:
    for name, text in (("one", "Kept"), ("two", "")):
        git("clone", "--quiet", str(repository), str(tmp_path / name), cwd=tmp_path)
        git("remote", "remove", "origin", cwd=tmp_path / name)
        os.makedirs(Layout(os.environ["MEMDIR_HOME"], str(tmp_path / name)).default_memory)
        opened(tmp_path / name, text)
        shutil.rmtree(tmp_path / name)
    assert names(open_memory(repository)) == ["Kept"]


def test_a_directory_that_another_program_made_empty_does_not_hide_the_store(repository: Path) -> None:
    opened(repository, "Kept")
    new = repository.rename(repository.with_name("new"))
    os.makedirs(Layout(os.environ["MEMDIR_HOME"], str(new)).default_memory)
    assert names(open_memory(new)) == ["Kept"]


def test_sessions_and_settings_come_with_the_store(repository: Path) -> None:
    old = opened(repository, "Kept")
    Path(old.layout.local_settings).write_text('{"memoryEnabled": false}')
    Path(old.layout.session("monday")).write_text("{}\n")
    new = repository.rename(repository.with_name("new"))
    layout = Layout(os.environ["MEMDIR_HOME"], str(new))
    os.makedirs(layout.project_home)
    memory = open_memory(new)
    memory.start()
    assert not memory.settings.enabled, "off is off, in the new place too"
    assert os.path.exists(layout.session("monday"))
    assert not os.path.exists(old.layout.project_home)
    with pytest.raises(MemdirError, match="memory is off"):
        memory.list()


def test_a_store_that_cannot_be_moved_keeps_nobody_from_reading(repository: Path) -> None:
    old = opened(repository, "Kept")
    new = repository.rename(repository.with_name("new"))
    lock = Path(os.environ["MEMDIR_HOME"], "adopt.lock")
    lock.mkdir()  # nothing can be locked there
    assert names(open_memory(new)) == []
    lock.rmdir()
    assert names(open_memory(new)) == ["Kept"]
    assert not os.path.exists(old.place.root)


def test_many_that_find_a_moved_store_at_once_all_have_it(project: Path, memdir_command: str) -> None:
    """As hooks of several sessions do, after the night in which a project was moved."""
    opened(project, "Kept")
    new = project.rename(project.with_name("new"))
    words = [memdir_command, "list", "--project", str(new)]
    started = [subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) for _ in range(6)]
    for process in started:
        out, errors = process.communicate()
        assert process.returncode == 0 and "Kept" in out, out + errors
        assert "cannot move" not in errors


def test_who_comes_second_to_a_moved_store_finds_it_in_its_new_place(repository: Path) -> None:
    opened(repository, "Kept")
    new = repository.rename(repository.with_name("new"))
    layout = Layout(os.environ["MEMDIR_HOME"], str(new))
    [record] = stores(layout)
    for _ in range(2):
        adopt(layout, record)  # both had looked before either moved it
    assert record.is_empty
    assert names(open_memory(new)) == ["Kept"]


def two_of_one_slug(tmp_path: Path) -> tuple[Path, Path]:
    first, second = tmp_path / "a-b", tmp_path / "a" / "b"
    first.mkdir()
    second.mkdir(parents=True)
    assert slug_of(str(first)) == slug_of(str(second))
    return first, second


def test_projects_whose_slugs_are_equal_never_share_a_store(tmp_path: Path) -> None:
    """S3: the identity decides, and the second gets a hash."""
    first, second = two_of_one_slug(tmp_path)
    opened(first, "Of the first")
    opened(second, "Of the second")
    assert names(open_memory(first)) == ["Of the first"]
    assert names(open_memory(second)) == ["Of the second"]
    assert open_memory(first).layout.slug == slug_of(str(first))
    shutil.rmtree(open_memory(first).layout.project_home)
    assert names(open_memory(second)) == ["Of the second"], "and keeps its name when the first is gone"


def test_the_doctor_tells_who_was_first_to_have_a_name(tmp_path: Path, memdir: Callable[..., Ran]) -> None:
    first, second = two_of_one_slug(tmp_path)
    opened(first, "Of the first")
    opened(second, "Of the second")
    assert f"{first} was first to have the name" in memdir("doctor", cwd=second).out
    assert "was first" not in memdir("doctor", cwd=first).out


def test_a_search_finds_the_store_of_a_moved_project(project: Path) -> None:
    opened(project, "Deploys are frozen")
    [match] = open_memory(project.rename(project.with_name("moved"))).search("frozen")
    assert match.key.endswith(".md")


def test_a_project_that_moved_to_a_path_of_the_same_slug_takes_its_store_along(tmp_path: Path) -> None:
    first, second = two_of_one_slug(tmp_path)
    opened(first, "Kept")
    second.rmdir()
    first.rename(second)
    assert names(open_memory(second)) == ["Kept"]


def test_who_comes_second_to_one_place_is_told_and_changes_nothing(tmp_path: Path) -> None:
    """Both were opened before either wrote: the second may not put its memories among the other's."""
    first, second = map(open_memory, two_of_one_slug(tmp_path))
    first.add("Of the first")
    with pytest.raises(MemdirError, match="has just taken the place"):
        second.add("Of the second")
    assert names(open_memory(first.layout.project)) == ["Of the first"]
    open_memory(second.layout.project).add("Of the second")
    assert names(open_memory(first.layout.project)) == ["Of the first"]


def test_a_disk_that_folds_capitals_keeps_two_projects_apart(tmp_path: Path) -> None:
    """The home's disk says that both slugs are one folder, as a link does here."""
    upper, lower = tmp_path / "App", tmp_path / "app"
    upper.mkdir()
    lower.mkdir()
    memory = opened(upper, "Of the upper")
    os.symlink(memory.layout.project_home, os.path.join(memory.layout.projects, slug_of(str(lower))))
    assert names(open_memory(lower)) == []
    opened(lower, "Of the lower")
    assert names(open_memory(upper)) == ["Of the upper"]
    assert names(open_memory(lower)) == ["Of the lower"]


def test_one_folder_by_two_spellings_is_one_project_and_two_are_two(tmp_path: Path) -> None:
    """`é` as one character and as two: a disk may tell them apart, and both have the same slug."""
    composed, split = tmp_path / "caf\u00e9", tmp_path / "cafe\u0301"
    composed.mkdir()
    split.mkdir()
    opened(split, "Split")
    assert names(open_memory(composed)) == []
    opened(composed, "Composed")
    assert names(open_memory(split)) == ["Split"]
    assert open_memory(split).layout.work_tree == str(split), "as the disk spells it"


def test_two_very_long_paths_have_two_stores(tmp_path: Path) -> None:
    deep = tmp_path.joinpath(*["a" * 60] * 4)
    for name in ("one", "two"):
        (deep / name).mkdir(parents=True)
        opened(deep / name, name)
    assert names(open_memory(deep / "one")) == ["one"]
    moved = deep.rename(tmp_path / "short")
    assert names(open_memory(moved / "two")) == ["two"]


def test_without_git_a_subfolder_is_in_the_project_above_that_has_memories(project: Path) -> None:
    """S3."""
    opened(project, "Kept")
    below = project / "src" / "deep"
    below.mkdir(parents=True)
    memory = open_memory(below)
    assert names(memory) == ["Kept"]
    assert memory.layout.work_tree == str(project)


def test_a_subfolder_finds_the_store_of_the_project_above_after_both_moved(project: Path, tmp_path: Path) -> None:
    opened(project, "Kept")
    (project / "src").mkdir()
    project.rename(tmp_path / "elsewhere")
    memory = open_memory(tmp_path / "elsewhere" / "src")
    assert names(memory) == ["Kept"]
    assert memory.layout.project == str(tmp_path / "elsewhere")
    memory.add("More of it")
    assert len(open_memory(tmp_path / "elsewhere").list()) == 2


def test_a_subfolder_keeps_the_store_it_has_and_an_empty_one_above_is_none(project: Path) -> None:
    (project / "own").mkdir()
    (project / "new").mkdir()
    opened(project)
    assert open_memory(project / "new").layout.project == str(project / "new")
    opened(project / "own", "Of its own")
    opened(project, "Above")
    assert names(open_memory(project / "own")) == ["Of its own"]


@pytest.mark.parametrize("whose", ["home", "open to all"])
def test_nobody_climbs_into_a_home_or_a_folder_of_all(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, whose: str
) -> None:
    above = tmp_path / "above"
    (above / "notes").mkdir(parents=True)
    opened(above, "Not of the notes")
    if whose == "home":
        monkeypatch.setenv("HOME", str(above))
    else:
        above.chmod(0o1777)
    assert names(open_memory(above / "notes")) == []
    assert names(open_memory(above)) == ["Not of the notes"]


@pytest.mark.parametrize("damage", ["cut", "emptied", "garbled", "a folder"])
def test_a_damaged_identity_loses_no_store_and_gives_it_to_nobody_else(
    damage: str, tmp_path: Path, memdir: Callable[..., Ran]
) -> None:
    """Two projects whose paths give one name: whose the store is must not hang on one file (S3)."""
    first, second = tmp_path / "a-b", tmp_path / "a" / "b"
    for folder in (first, second):
        folder.mkdir(parents=True)
    memdir("remember", "We plan to acquire Initech", cwd=first)
    file = Path(open_memory(first).place.identity)
    data = file.read_bytes()
    file.unlink()
    if damage == "a folder":
        file.mkdir()
    else:
        file.write_bytes({"cut": data[:20], "emptied": b"", "garbled": data[::-1]}[damage])
    assert "Initech" not in memdir("list", cwd=second).out
    memdir("remember", "Something else", cwd=second)
    assert "Initech" not in memdir("list", cwd=second).out
    assert "Initech" in memdir("list", cwd=first).out
    assert "Something else" not in memdir("list", cwd=first).out
