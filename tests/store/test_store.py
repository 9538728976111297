"""Change sets: whole, serialised, recorded (S13, S14)."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from memdir.disk.git import MANY_BLOBS
from memdir.errors import DiskError, EditConflict, HistoryError, MemoryNotFound, PathEscape
from memdir.layout import Place
from memdir.store.history import Origin
from memdir.store.journal import Journal, Operation, found_aside, mark_on_disk, write_journal
from memdir.store.memories import add_memory, find_key, forget_memories, save_memory
from memdir.store.scan import MAX_FILE_BYTES
from memdir.store.store import MemoryStore
from memdir.store.topic import MemoryType, Topic
from memdir.store.undo import undo
from tests.conftest import Clock, Events

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

CLI = Origin("cli")


def add(store: MemoryStore, text: str, kind: MemoryType = MemoryType.PROJECT) -> str:
    return add_memory(store, text, kind=kind, origin=CLI).memory.key


def break_git(patch: pytest.MonkeyPatch, folder: Path, store: MemoryStore) -> None:
    """A git that has no memory left, and a history that has to ask it."""
    program = folder / "no-memory" / "git"
    program.parent.mkdir(exist_ok=True)
    program.write_text("#!/bin/sh\necho 'fatal: out of memory' >&2\nexit 128\n")
    program.chmod(0o755)
    patch.setenv("PATH", f"{program.parent}{os.pathsep}{os.environ['PATH']}")
    os.unlink(store.place.recorded)


def test_a_memory_is_a_file_and_a_line_and_a_commit(store: MemoryStore, events: Events) -> None:
    key = add(store, "The release branch is cut on 2026-12-01. Mobile waits for it.")
    assert key == "project_the_release_branch_is_cut_on_2026_12_01.md"
    assert Path(store.place.index).read_text() == (f"- [The release branch is cut on 2026-12-01]({key})\n")
    [commit] = store.history.log()
    assert commit.subject == "remember The release branch is cut on 2026-12-01"
    assert {file.path: file.verb for file in commit.files} == {"MEMORY.md": "added", key: "added"}
    assert events.names == ["memory.changed"]


def test_everything_on_disk_is_private(store: MemoryStore) -> None:
    add(store, "secret plans")
    for path in (store.root, store.place.state, store.place.index):
        assert stat.S_IMODE(os.stat(path).st_mode) & 0o077 == 0


def test_the_same_text_twice_is_one_memory(store: MemoryStore) -> None:
    first = add_memory(store, "Tabs, not spaces", kind=MemoryType.FEEDBACK, origin=CLI)
    second = add_memory(store, "Tabs, not spaces", kind=MemoryType.FEEDBACK, origin=CLI)
    assert (first.is_new, second.is_new) == (True, False)
    assert first.memory.key == second.memory.key
    assert len(store.scan().headers) == 1


def test_another_text_under_the_same_title_gets_a_file_of_its_own(store: MemoryStore) -> None:
    keys = [add_memory(store, text, kind=None, name="Same", origin=CLI).memory.key for text in ("one", "two", "three")]
    assert keys == ["same.md", "same_2.md", "same_3.md"]


@pytest.mark.parametrize(
    ("name", "key"),
    [
        ("Über uns!", "über_uns.md"),
        ("設計の決定", "設計の決定.md"),
        ("../../etc/passwd", "etc_passwd.md"),
        ("CON", "note_note.md"),
        ("!!!", "note.md"),
        ("a" * 200, "a" * 48 + ".md"),
        ("é" * 200, "é" * 24 + ".md"),
    ],
)
def test_any_title_gives_a_safe_file_name(store: MemoryStore, name: str, key: str) -> None:
    assert add_memory(store, "text", kind=None, name=name, origin=CLI).memory.key == key


def test_an_edit_changes_the_file_and_its_line(store: MemoryStore) -> None:
    key = add(store, "Old words")
    before = store.read(key).topic
    saved = save_memory(store, key, before.with_field("description", "New words").data, origin=CLI, base=before.data)
    assert saved.topic.description == "New words"
    assert "New words" in Path(store.place.index).read_text()


def test_what_someone_else_changed_meanwhile_is_merged_not_overwritten(store: MemoryStore) -> None:
    key = add_memory(
        store, "one\n\ntwo\n\nthree", kind=MemoryType.PROJECT, name="n", description="d", origin=CLI
    ).memory.key
    base = store.read(key).topic.data
    Path(store.path_of(key)).write_bytes(base.replace(b"three", b"THREE"))
    save_memory(store, key, base.replace(b"one", b"ONE"), origin=CLI, base=base)
    assert store.read(key).topic.body == "\nONE\n\ntwo\n\nTHREE\n"
    with pytest.raises(EditConflict, match="same lines"):
        save_memory(store, key, base.replace(b"one", b"uno"), origin=CLI, base=base)


def test_forgetting_takes_the_file_and_the_line(store: MemoryStore) -> None:
    key, other = add(store, "One"), add(store, "Two")
    forget_memories(store, [key], origin=CLI)
    assert [header.key for header in store.scan().headers] == [other]
    assert key not in Path(store.place.index).read_text()
    with pytest.raises(MemoryNotFound):
        forget_memories(store, [key], origin=CLI)


def test_a_memory_is_found_by_file_title_or_part(store: MemoryStore) -> None:
    add_memory(store, "x", kind=None, name="Real database", origin=CLI)
    add_memory(store, "y", kind=None, name="Real people", origin=CLI)
    for wanted in (
        "real_database.md",
        "real_database",
        "Real Database",
        "datab",
        "tabas",
        "da",
        "database.md",
        str(Path(store.root) / "real_database.md"),
    ):
        assert find_key(store, wanted) == "real_database.md"
    with pytest.raises(MemoryNotFound, match="fits 2 memories"):
        find_key(store, "real")
    add_memory(store, "不要模拟队列", kind=None, name="队列", origin=CLI)
    assert find_key(store, "列") == "队列.md"
    for wanted in ("nothing like it", "ab", "md", ".md", "_", ""):
        with pytest.raises(MemoryNotFound, match="no memory"):
            find_key(store, wanted)


def test_a_hand_edit_is_a_commit_of_its_own_at_the_next_touch(store: MemoryStore) -> None:
    """S14: by whomever, a person in an editor too."""
    key = add(store, "First")
    path = Path(store.path_of(key))
    path.write_text(path.read_text() + "by hand\n")
    (Path(store.root) / "own.md").write_text("written without memdir\n")
    add(store, "Second")
    subjects = [(commit.source, [file.path for file in commit.files]) for commit in store.history.log()]
    assert subjects[1] == ("outside", ["own.md", key])
    assert subjects[0][0] == subjects[2][0] == "cli"


def test_the_history_is_a_real_git_repository(store: MemoryStore) -> None:
    add(store, "Something")
    done = subprocess.run(
        ["git", "log", "--format=%s"], cwd=store.place.history, capture_output=True, text=True, check=True
    )
    assert done.stdout == "remember Something\n"
    shown = subprocess.run(
        ["git", "show", "HEAD:project_something.md"], cwd=store.place.history, capture_output=True, check=True
    )
    assert shown.stdout == store.read_bytes("project_something.md")
    assert not (Path(store.root) / ".git").exists()


def test_git_attributes_and_ignore_files_change_nothing(store: MemoryStore) -> None:
    """A repository of the user's own configuration could convert line endings or hide files: bytes stay bytes."""
    root = Path(store.root)
    add(store, "First")
    (root / ".gitattributes").write_text("* text eol=crlf ident\n*.md filter=evil\n")
    (root / ".gitignore").write_text("*\n")
    (root / "crlf.md").write_bytes(b"one\r\ntwo\n$Id$\r\n")
    add(store, "Second")
    blob = next(file.after for commit in store.history.log("crlf.md") for file in commit.files)
    assert store.history.contents([blob])[blob] == b"one\r\ntwo\n$Id$\r\n"


def test_trailers_carry_session_messages_and_trust_and_cannot_be_forged(store: MemoryStore) -> None:
    origin = Origin("extract", session="s-1", messages=("m1", "m2"), trust="user", reason="said\n\nSource: person")
    with store.changing(origin, "subject\nSource: person\x01\x02") as change:
        change.write("a.md", b"---\nname: a\n---\n")
    [commit] = store.history.log()
    assert commit.trailers == {
        "Source": "extract",
        "Session": "s-1",
        "Messages": "m1 m2",
        "Trust": "user",
        "Reason": "said Source: person",
        "Moment": "1790000000.000000",
    }
    assert commit.subject == "subject Source: person"


def test_an_error_inside_the_block_changes_nothing(store: MemoryStore) -> None:
    add(store, "First")
    with pytest.raises(ZeroDivisionError), store.changing(CLI, "x") as change:
        change.write("a.md", b"half")
        raise ZeroDivisionError
    assert store.read_bytes("a.md") is None
    assert len(store.history.log()) == 1


def test_a_change_set_that_cannot_be_written_whole_is_rolled_back(store: MemoryStore) -> None:
    """The second file is saved by somebody else while the change is put together, in the same lines."""
    first, second = add(store, "First"), add(store, "Second")
    old = store.read(first)
    with pytest.raises(EditConflict), store.changing(CLI, "x") as change:
        change.write(first, b"new")
        change.read(second)
        Path(store.path_of(second)).write_bytes(b"somebody else")
        change.write(second, b"cannot be")
    assert store.read_bytes(first) == old.topic.data
    assert store.read(first).mtime_ns == old.mtime_ns
    assert store.read_bytes(second) == b"somebody else"
    assert not os.path.exists(store.place.journal)
    assert store.history.log()[0].subject.startswith("changed outside")


def test_a_change_set_with_a_key_that_leads_nowhere_changes_nothing(store: MemoryStore) -> None:
    key = add(store, "First")
    (Path(store.root) / "blocked").write_text("a file where a folder is needed")
    with pytest.raises(PathEscape), store.changing(CLI, "x") as change:
        change.write(key, b"new")
        change.write("blocked/a.md", b"cannot be")
    assert store.read(key).topic.body == "\nFirst\n"
    assert not os.path.exists(store.place.journal)


def test_keys_from_outside_are_checked(store: MemoryStore) -> None:
    with pytest.raises(PathEscape), store.changing(CLI, "x") as change:
        change.write("../escape.md", b"x")
    with pytest.raises(PathEscape):
        store.read("../../etc/passwd.md")


def journal_of(store: MemoryStore, *operations: Operation) -> None:
    write_journal(store.place.journal, Journal(Origin("extract", session="s").message("cut short"), list(operations)))


def test_a_killed_change_set_is_completed_with_its_own_lineage(store: MemoryStore, events: Events) -> None:
    key = add(store, "First")
    before = store.read_bytes(key)
    journal_of(store, Operation(key, before, b"after"), Operation("new.md", None, b"new"))
    (Path(store.root) / ".memdir-tmp-aa").write_bytes(b"half")
    store.ensure()
    assert store.read_bytes(key) == b"after"
    assert store.read_bytes("new.md") == b"new"
    commit = store.history.log()[0]
    assert (commit.subject, commit.source, commit.trailers["Recovered"]) == ("cut short", "extract", "yes")
    assert sorted(os.listdir(store.root)) == ["MEMORY.md", "new.md", key]
    assert not os.path.exists(store.place.journal)
    assert "memory.recovered" in events.names


def test_what_a_person_wrote_after_the_crash_wins_and_ours_is_in_the_history(store: MemoryStore) -> None:
    key = add(store, "First")
    journal_of(store, Operation(key, store.read_bytes(key), b"ours"))
    Path(store.path_of(key)).write_bytes(b"theirs")
    store.ensure()
    assert store.read_bytes(key) == b"theirs"
    newest, ours = store.history.log(key)[:2]
    assert (newest.source, ours.source) == ("outside", "extract")
    assert store.history.contents([ours.files[0].after]) == {ours.files[0].after: b"ours"}


def test_a_damaged_journal_is_put_aside_not_believed(store: MemoryStore) -> None:
    add(store, "First")
    for data in (
        b"",
        b"memdir-journal 1\n",
        b"memdir-journal 1\n{}\n",
        b'memdir-journal 1\n{"message":"x","files":[{"path":"a.md","before":null,"after":99,"mtime_ns":null}]}\nshort',
        b"\0" * 50,
    ):
        Path(store.place.journal).write_bytes(data)
        store.ensure()
        assert not os.path.exists(store.place.journal)
    assert len(store.scan().headers) == 1


def test_abandoned_git_locks_stop_nothing(store: MemoryStore) -> None:
    add(store, "First")
    for name in ("index.lock", "HEAD.lock", "refs/heads/main.lock"):
        (Path(store.place.history) / name).write_text("")
    add(store, "Second")
    assert len(store.history.log()) == 2


def test_without_git_everything_else_works(store: MemoryStore, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path / "nothing-here"))
    key = add(store, "First")
    assert store.read(key).topic.body == "\nFirst\n"
    assert store.history.is_readable and not store.history.has_git
    assert not os.path.exists(store.place.journal)
    forget_memories(store, [key], origin=CLI)
    assert store.scan().headers == []


@pytest.mark.parametrize("begun", [True, False], ids=["a history", "no history yet"])
@pytest.mark.parametrize("is_packed", [False, True], ids=["loose", "packed"])
def test_what_changes_without_git_is_in_the_history_when_git_is_back(
    begun: bool, is_packed: bool, store: MemoryStore, events: Events, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Recording needs no git; where it does, because somebody packed the history, the changes wait."""
    if begun:
        add(store, "First")
    if begun and is_packed:
        store.history.git.pack(store.history.head())
    with monkeypatch.context() as patch:
        patch.setenv("PATH", "/nowhere")
        later = MemoryStore(store.place, sink=events)
        key = add(later, "Second")
        Path(store.root, "by_hand.md").write_text("by hand")
        forget_memories(later, [key], origin=CLI)
        add_memory(later, "Third", kind=None, origin=Origin("fork"))
        assert later.is_waiting() == (begun and is_packed)
    back = MemoryStore(store.place, sink=events)
    assert back.record_outside_changes()
    log = back.history.log()
    subjects = [commit.subject for commit in log if commit.source != "outside"]
    assert subjects == ["remember Third", f"forget {key}", "remember Second", *(["remember First"] if begun else [])]
    assert "by_hand.md" in {file.path for commit in log for file in commit.files}
    undo(back, next(commit.id for commit in log if commit.subject.startswith("forget")))
    assert back.read(key).topic.body == "\nSecond\n"
    assert back.history.check() == []


def test_many_files_are_recorded_without_git(store: MemoryStore, monkeypatch: pytest.MonkeyPatch) -> None:
    Path(store.root).mkdir()
    for number in range(150):
        Path(store.root, f"{number}.md").write_text(f"Number {number}")
    with monkeypatch.context() as patch:
        patch.setenv("PATH", "/nowhere")
        forget_memories(store, ["7.md"], origin=CLI)
    assert not store.is_waiting()
    undo(store)
    assert store.read_bytes("7.md") == b"Number 7"


def test_a_history_that_fails_does_not_fail_the_write_and_catches_up(
    store: MemoryStore, events: Events, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    add(store, "First")
    with monkeypatch.context() as patch:
        break_git(patch, tmp_path, store)
        later = MemoryStore(store.place, sink=events)
        key = add(later, "Second")
        assert later.read(key).name == "Second"
        assert "history.failed" in events.names
        forget_memories(later, [key], origin=CLI)
        add(later, "Third")
        with pytest.raises(HistoryError, match="not in the history yet"):
            undo(later)
        assert "project_third.md" in os.listdir(store.root)
    add(store, "Fourth")
    subjects = [commit.subject for commit in store.history.log()]
    assert subjects == [
        "remember Fourth",
        "remember Third",
        "forget project_second.md",
        "remember Second",
        "remember First",
    ]
    assert not os.path.lexists(store.place.waiting)


def test_a_journal_of_a_version_that_we_do_not_know_is_put_aside_and_nothing_of_it_done(store: MemoryStore) -> None:
    add(store, "First")
    write_journal(store.place.journal, Journal("cut short", [Operation("new.md", None, b"new")]))
    of_ours = Path(store.place.journal).read_bytes()
    Path(store.place.journal).write_bytes(of_ours.replace(b"memdir-journal 2", b"memdir-journal 3", 1))
    store.ensure()
    assert not Path(store.root, "new.md").exists()
    assert len(found_aside(store.place.journal)) == 1
    assert not store.is_waiting()


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="only Linux holds a process to RLIMIT_AS")
@pytest.mark.parametrize("version", [1, 2])
def test_a_journal_of_any_size_is_put_aside_without_being_read(store: MemoryStore, version: int) -> None:
    """S15: a sparse file, larger than any change set, in a process that has no room for it."""
    add(store, "First")
    with open(store.place.journal, "wb") as file:
        file.write(b"memdir-journal %d\n" % version)
        file.truncate(8 << 30)
    program = (
        "import resource, sys; resource.setrlimit(resource.RLIMIT_AS, (2 << 30, 2 << 30))\n"
        "from memdir.layout import Place; from memdir.store.store import MemoryStore\n"
        "MemoryStore(Place(sys.argv[1])).ensure()"
    )
    done = subprocess.run([sys.executable, "-c", program, store.root], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert [name for name in os.listdir(store.place.state) if name.startswith("journal.damaged-")]
    assert not store.is_waiting()


def put_giant(path: Path) -> None:
    with open(path, "wb") as file:
        file.truncate(MAX_FILE_BYTES + 1)


@pytest.mark.parametrize("is_new", [False, True], ids=["changed", "added"])
@pytest.mark.parametrize(
    "put",
    [
        put_giant,
        os.mkfifo,
        Path.mkdir,
        lambda path: path.symlink_to("../other.md"),
        lambda path: path.symlink_to("nowhere.md"),
        lambda path: (path.parent.rmdir(), path.parent.write_bytes(b"a file where the folder was")),
    ],
    ids=["giant", "pipe", "folder", "link to the same text", "link to nothing", "no folder"],
)
def test_something_strange_in_a_file_s_place_stops_neither_recovery_nor_the_next_change(
    put: Callable[[Path], object], is_new: bool, store: MemoryStore
) -> None:
    """S13: somebody else's, like a text that was saved over ours; ours is in the history."""
    path = Path(store.root, "area", "note.md")
    with store.changing(CLI, "add") as change:
        change.write("other.md", b"before\n")
        change.write("area/note.md", b"before\n")
    journal_of(store, Operation("area/note.md", None if is_new else b"before\n", b"after\n"))
    path.unlink()
    put(path)
    stands = os.lstat(path).st_ino if os.path.lexists(path) else None
    add(store, "The next change")
    assert (os.lstat(path).st_ino if os.path.lexists(path) else None) == stands
    ours = next(commit for commit in store.history.log("area/note.md") if commit.source == "extract")
    assert store.history.contents([ours.files[0].after]) == {ours.files[0].after: b"after\n"}
    assert not store.is_waiting()
    assert [name for name in os.listdir(store.root) if name.startswith(".")] == []


def test_a_change_that_fails_says_why_whatever_taking_it_back_meets(store: MemoryStore) -> None:
    """S13."""
    with store.changing(CLI, "add") as change:
        change.write("a.md", b"before\n")
    with pytest.raises(DiskError, match="cannot create the folder"), store.changing(CLI, "change") as change:
        change.write("folder/b.md", b"after\n")
        change.write("a.md", b"after\n")
        change.operations()
        Path(store.root, "folder").write_bytes(b"a file where the folder should be")
        put_giant(Path(store.root, "a.md"))
    assert not store.is_waiting()


def revert(path: Path, before: bytes | None) -> None:
    path.unlink() if before is None else path.write_bytes(before)


LINES = b"".join(b"line %d\n" % number for number in range(20))
BOTH_ENDS = b"our first\n" + LINES + b"our last\n"


@pytest.mark.parametrize(
    ("before", "after", "by_hand"),
    [
        (None, LINES, None),
        (LINES, BOTH_ENDS, LINES),
        (LINES, BOTH_ENDS, LINES + b"our last\n"),
        (LINES, BOTH_ENDS, None),
        (LINES, None, LINES),
    ],
    ids=["deleted", "reverted", "half of it reverted", "deleted a change", "put back"],
)
def test_what_a_person_takes_back_while_the_history_fails_stays_so(
    before: bytes | None,
    after: bytes | None,
    by_hand: bytes | None,
    store: MemoryStore,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    """S13: our change was on disk and waits for the history alone."""
    add(store, "First")
    note = Path(store.root, "note.md")
    if before is not None:
        note.write_bytes(before)
        store.record_outside_changes()
    with monkeypatch.context() as patch:
        break_git(patch, tmp_path, store)
        later = MemoryStore(store.place)
        with later.changing(CLI, "change by memdir") as change:
            change.delete("note.md") if after is None else change.write("note.md", after)
        revert(note, by_hand)
        for _ in range(2):
            MemoryStore(store.place).ensure()
            assert (note.read_bytes() if note.exists() else None) == by_hand
    MemoryStore(store.place).ensure()
    assert (note.read_bytes() if note.exists() else None) == by_hand
    assert [commit.source for commit in store.history.log("note.md")[:2]] == ["outside", "cli"]
    assert not store.is_waiting()


def test_what_a_person_takes_back_after_a_crash_stays_so_where_the_change_was_on_disk(store: MemoryStore) -> None:
    """S13: killed between the last file and the end of the commit."""
    add(store, "First")
    journal_of(store, Operation("new.md", None, b"new"))
    mark_on_disk(store.place.journal)
    MemoryStore(store.place).ensure()
    assert not Path(store.root, "new.md").exists()
    assert [commit.source for commit in store.history.log("new.md")] == ["outside", "extract"]


def test_in_skip_index_mode_only_topic_files_are_written(tmp_path: Path) -> None:
    """S12."""
    store = MemoryStore(Place(str(tmp_path / "memory")), skip_index=True)
    key = add(store, "First")
    assert os.listdir(store.root) == [key]
    forget_memories(store, [key], origin=CLI)


def test_the_team_directory_shares_its_project_s_history(store: MemoryStore) -> None:
    """E1: its own index, inside the memory directory."""
    team = MemoryStore(store.place.team(), scope="team")
    key = add(team, "Shared rule")
    assert Path(store.root, "team", "MEMORY.md").exists()
    assert [file.path for file in store.history.log()[0].files] == ["team/MEMORY.md", f"team/{key}"]
    assert [header.key for header in store.scan().headers] == [f"team/{key}"]


def test_a_folder_left_empty_by_a_deletion_is_removed(store: MemoryStore) -> None:
    with store.changing(CLI, "add") as change:
        change.write("area/deep/a.md", b"---\nname: a\n---\n")
    forget_memories(store, ["area/deep/a.md"], origin=CLI)
    assert os.listdir(store.root) == []


def test_loading_an_overlong_index_emits_an_event(store: MemoryStore, events: Events) -> None:
    """S8, V1."""
    store.ensure()
    Path(store.place.index).write_text("- [x](x.md)\n" * 300)
    loaded = store.load_index()
    assert loaded.lines_cut and not loaded.bytes_cut
    assert (events.events[-1].name, events.events[-1].fields["lines"]) == ("index.truncated", 300)


def test_many_changes_are_packed(store: MemoryStore, clock: Clock) -> None:
    add(store, "First")
    sample = Path(store.place.history) / "objects" / "17"
    sample.mkdir(exist_ok=True)
    for number in range(20):
        (sample / f"{number:038x}").write_bytes(b"")
    for path in sample.iterdir():
        path.unlink()
    assert store.history.check() == []
    assert Topic(store.read(add(store, "Second")).topic.data).name == "Second"


def test_many_files_brought_by_hand_are_recorded_as_one_pack(store: MemoryStore) -> None:
    """S14: a store of thousands of files taken over from elsewhere; as loose objects each would be flushed alone."""
    store.ensure()
    for number in range(MANY_BLOBS + 5):
        Path(store.root, f"note_{number}.md").write_text(f"---\nname: {number}\n---\n")
    store.record_outside_changes()
    commit = store.history.log()[0]
    assert len(commit.files) == MANY_BLOBS + 5
    assert store.history.contents([commit.files[0].after]) == {
        commit.files[0].after: Path(store.root, commit.files[0].path).read_bytes()
    }
    packs = os.listdir(os.path.join(store.place.history, "objects", "pack"))
    assert sorted(name.rpartition(".")[2] for name in packs) in (["idx", "pack"], ["idx", "pack", "rev"])
    assert store.history.check() == []
