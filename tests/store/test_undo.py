"""Undo and restore, byte for byte (S14)."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from memdir.errors import EditConflict, HistoryError, MemoryNotFound, SeveralFit
from memdir.store.history import MADE, Origin
from memdir.store.memories import add_memory, forget_memories, save_memory
from memdir.store.store import MemoryStore
from memdir.store.undo import history_key, newest_own, restore, undo
from tests.conftest import Clock

CLI = Origin("cli")
ODD = b"\xef\xbb\xbf---\r\nname: odd\r\ndescription: d\r\n---\r\n\r\nbytes \xff\xfe, no newline at end"


def files(store: MemoryStore) -> dict[str, bytes]:
    root = Path(store.root)
    return {str(path.relative_to(root)): path.read_bytes() for path in root.rglob("*.md")}


def test_each_undo_goes_one_change_further_back(store: MemoryStore) -> None:
    states = []
    for text in ("One", "Two", "Three"):
        states.append(files(store) if os.path.isdir(store.root) else {})
        add_memory(store, text, kind=None, origin=CLI)
    for state in reversed(states):
        undo(store)
        assert files(store) == state
    with pytest.raises(MemoryNotFound, match="nothing to undo"):
        undo(store)


def test_a_process_knows_its_last_changes_and_not_all_that_it_ever_made(store: MemoryStore) -> None:
    MADE.extend(f"{number:040x}" for number in range(5_000))
    for text in ("One", "Two"):
        add_memory(store, text, kind=None, origin=CLI)
    assert newest_own([store], "")[1].id == store.history.log()[0].id == MADE[-1]
    assert len(MADE) <= 1_000


def test_an_undo_can_be_undone(store: MemoryStore) -> None:
    add_memory(store, "One", kind=None, origin=CLI)
    before = files(store)
    undo(store)
    assert files(store) == {}
    undo(store, store.history.log()[0].id[:10])
    assert files(store) == before


def test_odd_bytes_come_back_exactly(store: MemoryStore) -> None:
    add_memory(store, "One", kind=None, origin=CLI)
    (Path(store.root) / "odd.md").write_bytes(ODD)
    store.record_outside_changes()
    forget_memories(store, ["odd.md"], origin=CLI)
    restore(store, "odd.md")
    assert store.read_bytes("odd.md") == ODD
    undo(store)
    undo(store)
    assert store.read_bytes("odd.md") == ODD


def test_a_hand_edit_is_undone_like_any_change(store: MemoryStore) -> None:
    key = add_memory(store, "One", kind=None, origin=CLI).memory.key
    before = store.read_bytes(key)
    Path(store.path_of(key)).write_bytes(b"ruined")
    undone = undo(store)
    assert undone.commit.source == "outside"
    assert store.read_bytes(key) == before


def test_undoing_an_old_change_keeps_later_ones(store: MemoryStore) -> None:
    first = add_memory(store, "One", kind=None, origin=CLI).memory.key
    commit = store.history.log()[0].id
    second = add_memory(store, "Two", kind=None, origin=CLI).memory.key
    undo(store, commit)
    assert set(files(store)) == {"MEMORY.md", second}
    assert first not in files(store)["MEMORY.md"].decode()
    assert second in files(store)["MEMORY.md"].decode()


def test_lines_changed_since_are_merged_or_refused(store: MemoryStore) -> None:
    key = add_memory(store, "a\n\nb\n\nc", kind=None, name="n", description="d", origin=CLI).memory.key
    base = store.read(key).topic.data
    save_memory(store, key, base.replace(b"\na\n", b"\nA\n"), origin=CLI)
    change = store.history.log()[0].id
    save_memory(store, key, store.read(key).topic.data.replace(b"\nc\n", b"\nC\n"), origin=CLI)
    undo(store, change)
    assert store.read(key).topic.body == "\na\n\nb\n\nC\n"
    save_memory(store, key, store.read(key).topic.data.replace(b"\na\n", b"\nx\n"), origin=CLI)
    with pytest.raises(EditConflict, match="restore"):
        undo(store, change)


def test_what_was_deleted_and_written_anew_comes_back_as_the_refusal_says(store: MemoryStore) -> None:
    """A teammate's edit outlives a deletion: the way back to the text before it is that of its change."""
    key = add_memory(store, "One", kind=None, origin=CLI).memory.key
    first = store.read_bytes(key)
    forget_memories(store, [key], origin=CLI)
    assert add_memory(store, "Two", kind=None, name="One", origin=CLI).memory.key == key
    change = store.history.log(key)[1].id
    with pytest.raises(EditConflict, match="restore") as refused:
        undo(store, change)
    assert f"--at {change[:8]}" in (refused.value.remedy or "")
    restore(store, key, change[:8])
    assert store.read_bytes(key) == first


def test_restore_without_a_change_takes_the_version_before_the_newest(store: MemoryStore) -> None:
    key = add_memory(store, "One", kind=None, origin=CLI).memory.key
    first = store.read(key).topic
    save_memory(store, key, first.with_body("\nTwo\n").data, origin=CLI)
    save_memory(store, key, first.with_body("\nThree\n").data, origin=CLI)
    restore(store, key)
    assert store.read(key).topic.body == "\nTwo\n"
    oldest = store.history.log(key)[-1].id
    restore(store, key, oldest[:8])
    assert store.read_bytes(key) == first.data


@pytest.mark.parametrize("part", ["grafana", "grafana_board", "Grafana", "errors", "in_bergen.md"])
def test_a_part_of_a_name_means_the_memory_that_is_gone_and_not_one_that_lives(store: MemoryStore, part: str) -> None:
    lives = add_memory(store, "Grafana board for latency in Oslo", kind=None, origin=CLI).memory.key
    save_memory(store, lives, (store.read_bytes(lives) or b"") + b"\nAsk Marta for access.\n", origin=CLI)
    gone = add_memory(store, "Grafana board for errors in Bergen", kind=None, origin=CLI).memory.key
    assert "grafana" in lives and "grafana" in gone
    forget_memories(store, [gone], origin=CLI)
    assert history_key(store, part) == gone
    for whole in (lives, lives[:-3], store.read(lives).topic.name, "oslo", "latency"):
        assert history_key(store, whole) == lives
    assert history_key(store, "grafana", is_rather_gone=False) == lives, "of what is asked why it is there"
    restore(store, history_key(store, part))
    assert b"Ask Marta" in (store.read_bytes(lives) or b"") and store.read_bytes(gone)
    with pytest.raises(SeveralFit):
        history_key(store, "grafana")


def test_what_comes_back_is_as_old_as_it_was(store: MemoryStore, clock: Clock) -> None:
    """S11: an old memory must not look new because it was deleted and brought back."""
    key = add_memory(store, "One", kind=None, origin=CLI).memory.key
    saved = clock.now
    clock.now += 90 * 86_400
    forget_memories(store, [key], origin=CLI)
    undo(store)
    assert store.read(key).mtime == saved
    forget_memories(store, [key], origin=CLI)
    restore(store, key)
    assert store.read(key).mtime == saved


def test_unknown_changes_and_files_are_named(store: MemoryStore) -> None:
    add_memory(store, "One", kind=None, origin=CLI)
    with pytest.raises(MemoryNotFound, match="deadbeef"):
        undo(store, "deadbeef")
    with pytest.raises(MemoryNotFound, match="--help"):
        undo(store, "--help")
    with pytest.raises(MemoryNotFound, match="never.md"):
        restore(store, "never.md")
    with pytest.raises(MemoryNotFound, match="no earlier version"):
        restore(store, "one.md")


def test_without_git_one_looks_and_goes_back_as_with_it(store: MemoryStore, monkeypatch: pytest.MonkeyPatch) -> None:
    """S14: as in a small container, whose system has none."""
    add_memory(store, "One", kind=None, origin=CLI)
    add_memory(store, "Two", kind=None, origin=CLI)
    for name in ("sub/by hand.md", "sub/deep/über.md"):
        path = Path(store.root, name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(name, encoding="utf-8")
    store.record_outside_changes()
    forget_memories(store, ["one.md"], origin=CLI)
    first, *_, last = reversed([one.id for one in store.history.log()])

    def told() -> object:
        history = store.history
        some = [history.log(), history.log("sub"), history.log("sub/by hand.md"), history.log(since=first)]
        some += [history.log(limit=2), [one for one in [history.find_commit(first[:8])] if one]]
        commits = [
            (
                one.id,
                one.time,
                one.subject,
                one.trailers,
                one.has_parent,
                [(f.path, f.before, f.after) for f in one.files],
            )
            for one in (one for log in some for one in log)
        ]
        texts = history.contents([file.after for one in some[0] for file in one.files])
        return commits, texts, history.is_behind(first, last), history.is_behind(last, first)

    with_git = told()
    monkeypatch.setenv("PATH", "/nowhere")
    assert told() == with_git
    undo(store)
    assert store.read("one.md").topic.body == "\nOne\n"
    Path(store.root, "one.md").write_text("changed", encoding="utf-8")
    restore(store, "one.md")
    assert store.read("one.md").topic.body == "\nOne\n"


def test_what_git_has_packed_needs_git_and_says_so(store: MemoryStore, monkeypatch: pytest.MonkeyPatch) -> None:
    add_memory(store, "One", kind=None, origin=CLI)
    store.history.git.pack(store.history.head())
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(HistoryError, match="Install git"):
        store.history.log()
    later = MemoryStore(store.place)
    with pytest.raises(HistoryError, match="Install git|git is not installed"):
        undo(later)
