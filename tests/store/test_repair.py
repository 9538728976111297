"""A damaged history: made again where that is certain, else set aside whole; `undo` takes back nothing else (S14)."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from memdir.disk.git import Git
from memdir.errors import EditConflict, HistoryError, MemoryNotFound
from memdir.layout import Place
from memdir.store.history import Origin
from memdir.store.journal import found_aside
from memdir.store.memories import add_memory, forget_memories
from memdir.store.repair import unlike_written
from memdir.store.store import MemoryStore
from memdir.store.undo import restore, undo
from tests.conftest import Clock, Events, Ran

CLI = Origin("cli")
NO_ID = b"0123456789" * 4 + b"\n"


@pytest.fixture
def lived_in(store: MemoryStore) -> MemoryStore:
    for text in ("First", "Second", "Third"):
        add(store, text)
    return store


def add(store: MemoryStore, text: str) -> str:
    return add_memory(store, text, kind=None, origin=CLI).memory.key


def again(store: MemoryStore, events: Events) -> MemoryStore:
    """The same directory in a new process."""
    return MemoryStore(store.place, sink=events, clock=store._writer.clock)


def memories(store: MemoryStore) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in Path(store.root).glob("*.md")}


def branch(store: MemoryStore) -> Path:
    return Path(store.place.history, "refs", "heads", "main")


def loose(store: MemoryStore, name: str) -> Path:
    return Path(store.place.history, "objects", name[:2], name[2:])


def damage(path: Path, data: bytes) -> None:
    path.chmod(0o600)
    path.write_bytes(data)


DAMAGES: dict[str, Callable[[MemoryStore], None]] = {
    "no branch": lambda store: branch(store).unlink(),
    "an empty branch": lambda store: damage(branch(store), b""),
    "garbage in the branch": lambda store: damage(branch(store), b"\xff\0garbage"),
    "a branch to nowhere": lambda store: damage(branch(store), NO_ID),
    "an older branch": lambda store: damage(branch(store), store.history.log()[2].id.encode() + b"\n"),
    "no branch and no log of it": lambda store: (branch(store).unlink(), os.unlink(store.history.git.reflog), None)[-1],
    "no refs at all": lambda store: shutil.rmtree(branch(store).parent.parent),
    "a file instead of refs": lambda store: (shutil.rmtree(branch(store).parents[1]), branch(store).parents[1].touch())[
        -1
    ],
    "a folder instead of the branch": lambda store: (branch(store).unlink(), branch(store).mkdir())[-1],
    "a pipe instead of the branch": lambda store: (branch(store).unlink(), os.mkfifo(branch(store)))[-1],
    "no HEAD": lambda store: os.unlink(os.path.join(store.place.history, "HEAD")),
    "garbage in HEAD": lambda store: damage(Path(store.place.history, "HEAD"), b"garbage"),
    "garbage in the config": lambda store: damage(Path(store.place.history, "config"), b"[garbage"),
    "an index of git's": lambda store: damage_new(Path(store.place.history, "index")),
    "garbage in the table": lambda store: damage(Path(store.place.recorded), b"garbage"),
    "packed refs of garbage": lambda store: damage_new(Path(store.place.history, "packed-refs")),
}


def damage_new(path: Path) -> None:
    path.write_bytes(b"\xff\0garbage")


@pytest.mark.parametrize("name", DAMAGES)
def test_what_is_certain_is_made_again(name: str, lived_in: MemoryStore, events: Events) -> None:
    """A memory, a deletion and two undos after the damage: each does what it says, in the same history."""
    before, length = memories(lived_in), len(lived_in.history.log())
    DAMAGES[name](lived_in)
    store = again(lived_in, events)
    key = add(store, "Fourth")
    assert undo(store).commit.subject == "remember Fourth"
    assert memories(store) == before
    forget_memories(store, ["second.md"], origin=CLI)
    assert undo(store).commit.subject == "forget second.md"
    assert memories(store) == before and key not in memories(store)
    assert found_aside(store.place.history) == []
    assert len(store.history.log()) == length + 4
    assert store.history.check() == []


def test_a_branch_that_git_packed_away_is_found(lived_in: MemoryStore, events: Events) -> None:
    subprocess.run(["git", "gc", "--quiet"], cwd=lived_in.place.history, check=True)
    assert not branch(lived_in).exists()
    store = again(lived_in, events)
    add(store, "Fourth")
    assert [commit.subject for commit in store.history.log()][:2] == ["remember Fourth", "remember Third"]
    assert "history.repaired" not in events.names


def damaged_commit(store: MemoryStore) -> None:
    damage(loose(store, store.history.log()[0].id), b"")


def damaged_tree(store: MemoryStore) -> None:
    tree = store.history.git.run("rev-parse", f"{store.history.head()}^{{tree}}").decode().strip()
    damage(loose(store, tree), b"\0" * 30)
    os.unlink(store.place.recorded)


def no_objects(store: MemoryStore) -> None:
    shutil.rmtree(store.history.git.objects)


def objects_elsewhere(store: MemoryStore) -> None:
    os.rename(store.history.git.objects, store.history.git.objects + ".moved")
    os.symlink(store.history.git.objects + ".moved", store.history.git.objects)


def no_folder(store: MemoryStore) -> None:
    shutil.rmtree(store.place.history)
    Path(store.place.history).write_text("a file")


@pytest.mark.parametrize("spoil", [damaged_commit, damaged_tree, no_objects, objects_elsewhere, no_folder])
def test_what_cannot_be_read_is_set_aside_and_a_new_one_begins(
    spoil: Callable[[MemoryStore], None], lived_in: MemoryStore, events: Events
) -> None:
    before = memories(lived_in)
    spoil(lived_in)
    store = again(lived_in, events)
    add(store, "Fourth")
    [aside] = found_aside(store.place.history)
    assert os.path.basename(aside).startswith("history.git.damaged-")
    assert "history.set_aside" in events.names
    assert [commit.subject for commit in store.history.log()] == [
        "remember Fourth",
        "history begun again with the files as they are",
    ]
    undo(store)
    assert memories(store) == before
    with pytest.raises(MemoryNotFound, match="nothing to undo"):
        undo(store)
    with pytest.raises(MemoryNotFound, match="nothing to undo"):
        undo(store, store.history.log()[-1].id)
    assert memories(store) == before
    assert store.history.check() == []


@pytest.mark.parametrize("spoil", [damaged_commit, damaged_tree, no_objects, objects_elsewhere, no_folder])
def test_a_folder_s_name_is_not_taken_for_a_fault_that_passes(
    spoil: Callable[[MemoryStore], None], tmp_path: Path, events: Events
) -> None:
    store = MemoryStore(Place(str(tmp_path / "Permission denied: out of memory" / "memory")), sink=events)
    add(store, "First")
    spoil(store)
    add(again(store, events), "Second")
    assert len(found_aside(store.place.history)) == 1
    assert "history.failed" not in events.names


def test_what_a_person_wrote_before_the_history_began_is_not_undone(store: MemoryStore) -> None:
    """A folder of memories taken over from another agent: its first commit is no change."""
    store.ensure()
    for name in ("one.md", "two.md"):
        Path(store.root, name).write_text("---\nname: x\ndescription: d\n---\n")
    before = memories(store)
    with pytest.raises(MemoryNotFound, match="nothing to undo"):
        undo(store)
    assert memories(store) == before


def test_a_text_whose_version_is_damaged_is_kept_when_it_is_forgotten(lived_in: MemoryStore, events: Events) -> None:
    """git believes in an object because it is there; forgetting would have lost the text for good."""
    text = lived_in.read_bytes("second.md")
    blob = next(file.after for file in lived_in.history.log("second.md")[0].files if file.path == "second.md")
    damage(loose(lived_in, blob), b"")
    store = again(lived_in, events)
    forget_memories(store, ["second.md"], origin=CLI)
    restore(store, "second.md")
    assert store.read_bytes("second.md") == text


def test_a_version_that_is_lost_is_said_and_nothing_is_done(lived_in: MemoryStore, events: Events) -> None:
    key = "second.md"
    old = lived_in.history.log(key)[0].files[-1].after
    with lived_in.changing(CLI, "edit second.md") as change:
        change.write(key, b"---\nname: Second\ndescription: other\n---\n")
    damage(loose(lived_in, old), b"garbage")
    before = memories(lived_in)
    with pytest.raises(HistoryError, match="versions that this needs are lost"):
        undo(again(lived_in, events))
    assert memories(lived_in) == before


def test_a_fault_that_passes_sets_nothing_aside(
    lived_in: MemoryStore, events: Events, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    words = ("out of memory", "error: No space left on device", "Permission denied", "Input/output error", "")
    for number, said in enumerate(words):
        program = tmp_path / f"bin{number}" / "git"
        program.parent.mkdir()
        program.write_text(f"#!/bin/sh\necho 'fatal: {said}' >&2\n{'exit 128' if said else 'kill -9 $$'}\n")
        program.chmod(0o755)
        os.unlink(lived_in.place.recorded)
        with monkeypatch.context() as patch:
            patch.setenv("PATH", f"{program.parent}{os.pathsep}{os.environ['PATH']}")
            store = again(lived_in, events)
            key = add(store, f"While git says {said}")
            with pytest.raises(HistoryError, match="not in the history yet"):
                undo(store)
            assert key in memories(store)
        assert found_aside(lived_in.place.history) == []
        lived_in.record_outside_changes()
    assert len(lived_in.history.log()) == 3 + len(words)


def test_being_killed_while_a_history_is_set_aside_costs_nothing(lived_in: MemoryStore, events: Events) -> None:
    """The rename is all there is to it: whoever comes next finds no history, and begins one."""
    os.rename(lived_in.place.history, f"{lived_in.place.history}.damaged-20260101-000000")
    store = again(lived_in, events)
    before = memories(store)
    add(store, "Fourth")
    undo(store)
    assert memories(store) == before
    assert store.history.log()[-1].subject == "history begun again with the files as they are"


def test_a_second_history_set_aside_in_the_same_second_keeps_the_first(
    lived_in: MemoryStore, events: Events, clock: Clock
) -> None:
    for number in range(3):
        no_objects(lived_in)
        add(again(lived_in, events), f"Again {number}")
    assert len(found_aside(lived_in.place.history)) == 3


def test_a_clock_that_jumps_back_hides_no_change(lived_in: MemoryStore, events: Events, clock: Clock) -> None:
    path = Path(lived_in.root, "second.md")
    status = path.stat()
    data = path.read_bytes().replace(b"Second", b"Secund")
    path.write_bytes(data)
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))  # the same size and the same time
    clock.now -= 10_000_000
    store = again(lived_in, events)
    store.record_outside_changes()
    [commit] = store.history.log("second.md", limit=1)
    assert commit.source == "outside"


def test_many_damaged_versions_in_a_pack_are_named_and_set_aside_by_doctor(
    memdir: Callable[..., Ran], project: Path
) -> None:
    for text in ("First", "Second", "Third"):
        memdir("remember", text)
    memdir("forget", "note_second.md" if "note_second" in memdir("list").out else "second")
    history = Path(memdir("path").out.strip() + ".state", "history.git")
    git = Git(str(history))
    git.pack(git.head())
    [pack] = (history / "objects" / "pack").glob("*.pack")
    data = bytearray(pack.read_bytes())
    for place in range(len(data) // 2, len(data) - 30):
        data[place] ^= 0xFF
    damage(pack, bytes(data))
    said = memdir("doctor")
    assert said.code == 1 and "the history is damaged" in said.out
    repaired = memdir("doctor", "--fix")
    assert "set aside" in repaired.out
    assert memdir("doctor").out.count("the history is damaged") == 0
    assert "a damaged history was set aside" in memdir("doctor").out
    assert memdir("remember", "Fourth").code == 0
    assert memdir("undo").code == 0


def test_every_command_says_that_a_change_is_not_recorded(
    memdir: Callable[..., Ran], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    memdir("remember", "First")
    state = Path(memdir("path").out.strip() + ".state")
    program = tmp_path / "bin" / "git"
    program.parent.mkdir()
    program.write_text("#!/bin/sh\necho 'fatal: out of memory' >&2\nexit 128\n")
    program.chmod(0o755)
    (state / "recorded").unlink()
    with monkeypatch.context() as patch:
        patch.setenv("PATH", f"{program.parent}{os.pathsep}{os.environ['PATH']}")
        for words in (
            ("remember", "Second"),
            ("list", "--json"),
            ("recall", "second"),
            ("show", "First"),
            ("settings",),
            ("remember", "--json", "Third"),
            ("doctor", "--json"),
        ):
            said = memdir(*words)
            assert said.err.count("not in the history yet") == 1, words
        refused = memdir("undo")
        assert refused.code == 11 and "not in the history yet" in refused.err
    assert "not in the history" not in memdir("remember", "Fourth").err
    assert memdir("list").err == ""
    assert memdir("log").out.count("remember ") == 4


@pytest.mark.parametrize("tree", ["", "notes"], ids=["the root", "a folder"])
@pytest.mark.parametrize("is_gone", [False, True], ids=["emptied", "gone"])
@pytest.mark.parametrize("first", ["remember", "undo"])
def test_a_tree_of_the_last_change_is_made_again_at_once(
    tree: str, is_gone: bool, first: str, lived_in: MemoryStore, events: Events, git: Callable[..., str]
) -> None:
    Path(lived_in.root, "notes").mkdir()
    Path(lived_in.root, "notes", "deep.md").write_text("deep")
    lived_in.record_outside_changes()
    newest = lived_in.history.log()[0].id
    name = git("rev-parse", f"main:{tree}", cwd=Path(lived_in.place.history)).strip()
    damage(loose(lived_in, name), b"")
    if is_gone:
        loose(lived_in, name).unlink()
    store = again(lived_in, events)
    if first == "remember":
        add(store, "Fourth")
    undo(store, newest if first == "undo" else "")
    assert "history.repaired" in events.names and found_aside(store.place.history) == []
    assert store.history.check() == [] and len(store.history.log()) >= 5


def test_a_lost_version_that_is_still_on_disk_does_not_stop_undo(lived_in: MemoryStore, events: Events) -> None:
    newest = lived_in.history.log()[0]
    blob = next(file.after for file in newest.files if file.path == "third.md")
    damage(loose(lived_in, blob), b"")
    store = again(lived_in, events)
    assert undo(store).commit.id == newest.id
    assert not Path(store.root, "third.md").exists()
    undo(store, store.history.log()[0].id)
    assert b"Third" in Path(store.root, "third.md").read_bytes()
    assert store.history.check() == []


@pytest.mark.parametrize(
    "name", ["shallow", "info/grafts", "refs/replace/x", "worktrees/x", "modules/x", "objects/info/http-alternates"]
)
def test_what_git_would_obey_and_memdir_never_wrote_is_named(name: str, lived_in: MemoryStore) -> None:
    planted = Path(lived_in.place.history, name)
    planted.parent.mkdir(parents=True, exist_ok=True)
    planted.write_text("")
    assert any(str(planted).startswith(path) for path in unlike_written(lived_in.place))
    lived_in.repair_history()
    assert unlike_written(lived_in.place) == [] and not planted.exists()


def test_doctor_says_what_fix_will_do_before_it_sets_a_history_aside(memdir: Callable[..., Ran]) -> None:
    memdir("remember", "Old words", "--name", "old")
    store = MemoryStore(Place(memdir("path").out.strip()))
    memdir("forget", "old")
    blob = next(file.before for file in store.history.log()[0].files if file.path.endswith("old.md"))
    damage(loose(store, blob), b"")
    assert "sets the whole history aside" in memdir("doctor").out


def planted_commit(store: MemoryStore) -> str:
    """A commit without files, that follows from nothing."""
    git = ["git", f"--git-dir={store.place.history}", "-c", "user.name=a", "-c", "user.email=a@b"]
    tree = subprocess.run([*git, "hash-object", "-t", "tree", "-w", "--stdin"], input=b"", capture_output=True)
    command = [*git, "commit-tree", tree.stdout.decode().strip(), "-m", "remember x\n\nSource: cli"]
    return subprocess.run(command, capture_output=True, check=True, text=True).stdout.strip()


def lead_astray(store: MemoryStore) -> None:
    damage(branch(store), planted_commit(store).encode() + b"\n")


def lead_back(store: MemoryStore) -> None:
    damage(branch(store), store.history.log()[2].id.encode() + b"\n")


def lose_table(store: MemoryStore) -> None:
    os.unlink(store.place.recorded)


def lose_log(store: MemoryStore) -> None:
    os.unlink(store.history.git.reflog)


def damage_log(store: MemoryStore) -> None:
    log = Path(store.history.git.reflog)
    log.write_bytes(log.read_bytes().replace(store.history.head().encode(), NO_ID.strip()))


CONTRADICTIONS = {
    "an older branch, no table": (lead_back, lose_table),
    "an older branch, no log": (lead_back, lose_log),
    "an older branch, neither": (lead_back, lose_table, lose_log),
    "a foreign branch": (lead_astray,),
    "a log of nowhere": (damage_log,),
    "neither table nor log": (lose_table, lose_log),
    "a foreign commit beside, neither table nor log": (planted_commit, lose_table, lose_log),
}


@pytest.mark.parametrize("name", CONTRADICTIONS)
def test_what_two_of_branch_log_and_table_are_certain_of_is_believed(
    name: str, lived_in: MemoryStore, events: Events
) -> None:
    before, subjects = memories(lived_in), [commit.subject for commit in lived_in.history.log()]
    for spoil in CONTRADICTIONS[name]:
        spoil(lived_in)
    store = again(lived_in, events)
    store.record_outside_changes()
    assert memories(store) == before
    assert [commit.subject for commit in store.history.log()] == subjects
    assert undo(store).commit.subject == "remember Third"
    assert again(store, events).history.check() == []


@pytest.mark.parametrize(
    "spoils", [(lead_astray, lose_log), (lead_astray, lose_table), (lead_astray, lose_table, lose_log)]
)
def test_a_branch_that_follows_from_nothing_is_never_believed(
    spoils: tuple[Callable[[MemoryStore], None], ...], lived_in: MemoryStore, events: Events
) -> None:
    before = memories(lived_in)
    for spoil in spoils:
        spoil(lived_in)
    store = again(lived_in, events)
    with pytest.raises(HistoryError, match="last change"):
        store.history.check()
    add(store, "Fourth")
    assert len(found_aside(store.place.history)) == 1
    assert undo(store).commit.subject == "remember Fourth"
    with pytest.raises(MemoryNotFound, match="nothing to undo"):
        undo(store)
    assert memories(store) == before


def test_files_that_came_from_outside_are_deleted_only_by_name(lived_in: MemoryStore) -> None:
    Path(lived_in.root, "own.md").write_text("---\nname: x\ndescription: d\n---\n")
    before = memories(lived_in)
    with pytest.raises(EditConflict, match=r"would delete own\.md"):
        undo(lived_in)
    assert memories(lived_in) == before
    undo(lived_in, lived_in.history.head())
    assert "own.md" not in memories(lived_in)
    assert undo(lived_in).commit.subject == "remember Third"
