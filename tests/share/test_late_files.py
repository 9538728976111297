"""A folder whose files arrive in any order, half, late, never: nobody goes back to an older text (E4, E7)."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from memdir.share.remote import TeamCaps, digest_of
from memdir.share.remotes.folder import FolderRemote
from tests.share.conftest import Team
from tests.share.remotes import Member, memory_text
from tests.share.test_not_taken_in import edit
from tests.share.test_sync import BODY, forget, in_step, shared


@pytest.fixture
def kind() -> str:
    return "folder"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "remote"


def list_of(folder: Path, member: Member) -> Path:
    assert isinstance(member.remote, FolderRemote)
    (found,) = (folder / "members").glob(f"{member.remote._member}.*.json")
    return found


def text_of(folder: Path, member: Member, key: str) -> Path:
    return folder / "texts" / digest_of(member.read(key).encode())


def at_once(folder: Path, first: Member, second: Member) -> None:
    """Both send what they changed, and neither sees the other's list before: as where a program copies the folder."""
    older = list_of(folder, first)
    before = older.read_bytes()
    assert first.sync().sent
    newer = list_of(folder, first)
    after = newer.read_bytes()
    newer.unlink()
    older.write_bytes(before)
    assert second.sync().sent
    older.unlink()
    newer.write_bytes(after)


def of_size(word: str, size: int) -> str:
    return memory_text("a", word * (size // len(word)))[: size - 1] + "\n"


@pytest.mark.parametrize(
    ("caps", "size"), [(TeamCaps(), TeamCaps.entry_bytes - 6), (TeamCaps(entries=1), 2_000)], ids=["bytes", "entries"]
)
def test_of_two_texts_written_at_once_the_second_has_a_place_though_it_fits_no_limit(
    team: Team, folder: Path, caps: TeamCaps, size: int
) -> None:
    ann, bob = team("ann", "bob")
    shared(ann, bob, a=memory_text("a", BODY))
    ann.caps = bob.caps = caps
    for one in (ann, bob):
        one.put("a.md", of_size(f"{one.name} ", size))
    at_once(folder, ann, bob)
    told = [second for _ in range(2) for one in (ann, bob) for second in one.sync().conflicts]
    texts = [*ann.files().items(), *bob.files().items()]
    assert ann.read("a.md") == bob.read("a.md") and [key for key, _ in texts if key != "a.md"] == told != []
    assert all(any(f"{name} {name}" in text for _, text in texts) for name in ("ann", "bob"))
    loser = ann if told[0] in ann.files() else bob
    loser.put(told[0], memory_text("a", f"What {loser.name} said, cut short"))
    ann.caps = bob.caps = TeamCaps()
    files = in_step(loser, ann, bob)
    assert sorted(files) == sorted(["a.md", *told]) and "cut short" in files[told[0]]


def test_two_texts_that_are_too_large_together_are_both_kept_and_all_go_on(team: Team, folder: Path) -> None:
    ann, bob, cleo = team("ann", "bob", "cleo")
    shared(ann, bob, cleo, a=memory_text("a", BODY), b=memory_text("b", BODY), c=memory_text("c", BODY))
    edit(ann, "a.md", "First line", "Ann's words " * 4_000)
    edit(bob, "a.md", "Third line", "Bob's words " * 4_000)
    at_once(folder, ann, bob)
    files = in_step(cleo, bob, ann)
    assert len(files) == 4 and "Ann's words" in str(files) and "Bob's words" in str(files)
    ann.put("a.md", memory_text("a", "Cut short"))
    assert "Cut short" in in_step(ann, bob, cleo)["a.md"]
    forget(bob, "a.md")
    assert "a.md" not in in_step(bob, ann, cleo)


@pytest.mark.parametrize("words", [f"Ann's words {number}" for number in range(4)])  # which is merged into which
def test_an_edit_whose_text_comes_late_holds_nobody_up_and_is_not_taken_as_seen(
    team: Team, folder: Path, words: str
) -> None:
    ann, bob, cleo = team("ann", "bob", "cleo")
    shared(ann, bob, cleo, a=memory_text("a", BODY))
    edit(ann, "a.md", "First line", words)
    edit(bob, "a.md", "Third line", "Bob's words")
    at_once(folder, ann, bob)
    text = text_of(folder, ann, "a.md")
    late = text.read_bytes()
    text.unlink()
    assert cleo.sync().taken == ["a.md"]
    edit(cleo, "a.md", "Second line", "Cleo's words")
    report = cleo.sync()
    assert (report.sent, report.left_out["a.md"].reason, report.waiting) == (["a.md"], "missing", [])
    text.write_bytes(late)
    files = in_step(cleo, bob, ann)
    assert all(f"{name}'s words" in files["a.md"] for name in ("Ann", "Bob", "Cleo")) and len(files) == 1


@pytest.mark.parametrize("content", [None, b"not the text"])
def test_a_text_that_is_announced_and_never_comes_blocks_nobody(
    team: Team, folder: Path, content: bytes | None
) -> None:
    ann, bob = team("ann", "bob")
    shared(ann, bob, a=memory_text("a", BODY))
    seen = {ann.remote._member: 1, "d" * 8: 1}  # type: ignore[attr-defined]
    told = {key: {"digest": "a" * 64, "by": "eve", "saved": 1, "seen": seen} for key in ("a.md", "b.md", "c.md")}
    hostile = folder / "members" / f"{'d' * 8}.json"
    hostile.write_text(json.dumps({"memories": told}), encoding="utf-8")
    if content is not None:
        (folder / "texts" / ("a" * 64)).write_bytes(content)
    edit(ann, "a.md", "First line", "Ann's words")
    ann.put("b.md", memory_text("b", BODY))
    assert ann.sync().sent == ["a.md", "b.md"]
    report = bob.sync()
    assert sorted(report.taken) == ["a.md", "b.md"] and bob.sync().reason == "no_change"
    assert report.left_out["c.md"].reason == "missing" and "members" in report.left_out["c.md"].remedy
    (cleo,) = team("cleo")
    assert sorted(in_step(cleo, ann, bob)) == ["a.md", "b.md"]
    hostile.unlink()  # what it says to do
    assert bob.sync().left_out == {}


def test_what_was_merged_stays_so_where_one_of_the_texts_is_lost(team: Team, folder: Path) -> None:
    ann, bob, cleo = team("ann", "bob", "cleo")
    shared(ann, bob, cleo, a=memory_text("a", BODY))
    edit(ann, "a.md", "First line", "Ann's words")
    edit(bob, "a.md", "Third line", "Bob's words")
    at_once(folder, ann, bob)
    in_step(ann, bob, cleo)
    list_of(folder, bob).unlink()  # Bob has left
    edit(cleo, "a.md", "Second line", "Cleo's words")
    (dan,) = team("dan")
    files = in_step(ann, cleo, dan)
    assert all(f"{name}'s words" in files["a.md"] for name in ("Ann", "Bob", "Cleo")), files
    edit(dan, "a.md", "Cleo's", "Dan's")
    assert "Dan's words" in in_step(dan, ann, cleo)["a.md"]


def test_a_list_that_comes_before_its_text_makes_nobody_send_an_older_one(team: Team, folder: Path) -> None:
    ann, cleo = team("ann", "cleo")
    shared(ann, cleo, a=memory_text("a", BODY), b=memory_text("b", BODY))
    edit(ann, "a.md", "First line", "Ann's words")
    ann.sync()
    text = text_of(folder, ann, "a.md")
    late = text.read_bytes()
    for part in (b"", late[:10], None):
        text.unlink() if part is None else text.write_bytes(part)
        report = cleo.sync()
        assert (report.sent, report.taken, report.sent_deletions) == ([], [], [])
    text.write_bytes(late)
    files = in_step(ann, cleo)
    assert sorted(files) == ["a.md", "b.md"] and "Ann's words" in files["a.md"]


@pytest.mark.parametrize("what", ["half", "empty", "absent", "older", "both"])
def test_a_list_that_is_damaged_takes_nobody_back(team: Team, folder: Path, what: str) -> None:
    """Neither one's own, which is written again, nor another's, which counts as it was."""
    ann, bob, cleo = team("ann", "bob", "cleo")
    shared(ann, bob, cleo, **{name: memory_text(name, BODY) for name in "abc"})
    edit(bob, "a.md", "First line", "Bob's words")
    edit(bob, "b.md", "First line", "Bob's words")
    in_step(ann, bob, cleo)
    old = list_of(folder, ann)
    older = old.read_bytes()
    edit(ann, "a.md", "Bob's words", "Ann's later words")
    in_step(ann, bob, cleo)
    forget(ann, "b.md")
    in_step(ann, bob, cleo)
    path = list_of(folder, ann)
    whole = path.read_bytes()
    if what in ("half", "empty"):
        path.write_bytes({"half": whole[:200], "empty": b""}[what])
    else:
        path.unlink()
    if what in ("older", "both"):
        old.write_bytes(older)
    if what == "both":  # as a program copies it, or a machine was killed: the newer one counts
        path.write_bytes(whole)
    for one in (bob, cleo):
        report = one.sync()
        assert (report.deleted, report.sent_deletions, report.conflicts) == ([], [], [])
        assert "Ann's later words" in one.read("a.md") and "b.md" not in one.files()
    ann.sync()
    assert b"b.md" in list_of(folder, ann).read_bytes(), "what she deleted is in her list again, the only one"
    ann.put("new.md", memory_text("new", "x"))
    (dan,) = team("dan")
    files = in_step(ann, bob, cleo, dan)
    assert sorted(files) == ["a.md", "c.md", "new.md"] and "Ann's later words" in files["a.md"]


def test_an_own_list_that_cannot_be_read_is_not_written_over(team: Team, folder: Path) -> None:
    (ann,) = team("ann")
    shared(ann, a=memory_text("a", BODY))
    list_of(folder, ann).write_bytes(b'{"id": "')
    Path(ann.store.place.team_lists).unlink()
    ann.put("b.md", memory_text("b", "x"))
    report = ann.sync()
    assert report.reason == "offline" and str(list_of(folder, ann)) in report.problem
    assert list_of(folder, ann).read_bytes() == b'{"id": "' and "b.md" in report.waiting
    list_of(folder, ann).unlink()  # what it says to do where it stays so
    (bob,) = team("bob")
    assert sorted(in_step(ann, bob)) == ["a.md", "b.md"]


def test_what_the_folder_has_lost_is_given_again(team: Team, folder: Path) -> None:
    """A text, and the list of somebody who left: whoever joins later has it all."""
    ann, bob = team("ann", "bob")
    shared(ann, bob, a=memory_text("a", BODY), b=memory_text("b", "x"))
    edit(bob, "b.md", "x", "Bob's words")
    in_step(ann, bob)
    text_of(folder, ann, "a.md").unlink()
    list_of(folder, bob).unlink()
    ann.sync()
    (cleo,) = team("cleo")
    assert sorted(cleo.sync().taken) == ["a.md", "b.md"]
    assert "Bob's words" in in_step(ann, cleo, bob)["b.md"] and len(ann.files()) == 2


@pytest.mark.parametrize("is_known", [False, True])
def test_what_is_given_again_goes_over_nothing_that_another_wrote_meanwhile(
    team: Team, folder: Path, is_known: bool
) -> None:
    ann, bob, cleo = team("ann", "bob", "cleo")
    if is_known:
        shared(ann, bob, cleo, a=memory_text("a", BODY))
    ann.put("a.md", memory_text("a", "What Ann knows."))
    bob.put("a.md", memory_text("a", "What Bob knows."))
    ann.sync()
    text_of(folder, ann, "a.md").unlink()
    bob.sync()
    ann.sync()
    told = "".join(in_step(cleo, bob, ann).values())
    assert "What Ann knows." in told and "What Bob knows." in told


def test_one_who_is_alone_goes_on_where_the_own_text_was_lost(team: Team, folder: Path) -> None:
    (ann,) = team("ann")
    shared(ann, a=memory_text("a", BODY))
    text_of(folder, ann, "a.md").unlink()
    edit(ann, "a.md", "First line", "Ann's words")
    assert ann.sync().sent == ["a.md"]
    assert "Ann's words" in ann.read("a.md") and len(ann.files()) == 1


def test_a_conflict_that_was_settled_stays_so(team: Team) -> None:
    """The writes that made it still stand beside each other: who deleted the second text had seen them."""
    ann, bob, cleo = team("ann", "bob", "cleo")
    ann.put("a.md", memory_text("a", "Ann's words."))
    bob.put("a.md", memory_text("a", "Bob's words."))
    of_ann, of_bob = ann.remote, bob.remote
    assert isinstance(of_ann, FolderRemote) and isinstance(of_bob, FolderRemote)
    kept = of_bob._lists
    of_bob._lists = lambda: ({}, set())  # type: ignore[method-assign] # Bob's copy of the folder is empty still
    ann.sync()
    bob.sync()
    of_bob._lists = kept  # type: ignore[method-assign]
    files = in_step(ann, bob, cleo)
    (second,) = set(files) - {"a.md"}
    forget(cleo, second)
    assert list(in_step(cleo, ann, bob)) == ["a.md"]
    (dan,) = team("dan")
    assert list(in_step(dan, cleo)) == ["a.md"]


def test_only_what_differs_is_read(team: Team) -> None:
    ann, bob = team("ann", "bob")
    shared(ann, bob, **{f"m{number}": memory_text(f"m{number}", BODY) for number in range(20)})
    bob.put("his.md", memory_text("his", BODY))
    in_step(ann, bob)
    remote, looks = bob.remote, 3  # both folders, and one's own list, however many members there are
    assert isinstance(remote, FolderRemote)
    remote.reads = 0
    bob.sync()
    assert remote.reads == looks
    edit(ann, "m7.md", "First", "Ann's")
    ann.sync()
    remote.reads = 0
    assert bob.sync().taken == ["m7.md"] and remote.reads == looks + 2, "her list, and the text"
    edit(bob, "m8.md", "First", "Bob's")
    remote.reads = 0
    assert bob.sync().sent == ["m8.md"] and remote.reads <= 2 * looks + 2


def test_a_list_whose_text_is_late_is_read_again_until_it_came(team: Team, folder: Path) -> None:
    ann, bob = team("ann", "bob")
    shared(ann, bob, a=memory_text("a", BODY))
    edit(ann, "a.md", "First", "Ann's")
    ann.sync()
    text = text_of(folder, ann, "a.md")
    late = text.read_bytes()
    text.unlink()
    assert [bob.sync().taken for _ in range(2)] == [[], []]
    text.write_bytes(late)
    assert bob.sync().taken == ["a.md"]


def test_the_list_of_an_older_memdir_is_read_and_gives_way_to_one_with_its_name(team: Team, folder: Path) -> None:
    ann, bob = team("ann", "bob")
    shared(ann, bob, a=memory_text("a", BODY))
    named = list_of(folder, ann)
    member, _, _ = named.name.partition(".")
    named.rename(named.with_name(f"{member}.json"))
    (cleo,) = team("cleo")
    assert cleo.sync().taken == ["a.md"]
    edit(ann, "a.md", "First", "Ann's")
    assert ann.sync().sent == ["a.md"]
    assert list_of(folder, ann) and not named.with_name(f"{member}.json").exists()
    assert "Ann's" in in_step(ann, bob, cleo)["a.md"]


def test_a_list_never_becomes_larger_than_anybody_reads(team: Team, monkeypatch: pytest.MonkeyPatch) -> None:
    (ann,) = team("ann")
    monkeypatch.setattr("memdir.share.remotes.folder.MAX_LIST_BYTES", 300)
    for number in range(5):
        ann.put(f"m{number}.md", memory_text(f"m{number}", BODY))
    report = ann.sync()
    assert report.problem and report.sent == [] and len(report.waiting) == 5
