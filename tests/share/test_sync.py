"""Two and more members on real remotes: what both changed, was deleted, lost, renamed, secret, too much (E4, E5)."""

from __future__ import annotations

import base64
import errno
import os
import shutil
import unicodedata
from collections.abc import Callable
from pathlib import Path
from urllib.parse import quote

import pytest

from memdir.disk.lock import locked
from memdir.errors import LockBusy
from memdir.share.merge import beside
from memdir.share.remote import Delta, Manifest, PushResult, TeamCaps, Version, digest_of
from memdir.share.sync import SyncReport
from memdir.store.history import PULLED, Origin
from memdir.store.memories import forget_memories
from memdir.store.topic import Topic
from memdir.store.undo import undo
from memdir.team.commands import conflicts_in, resolve
from tests.security.fakes import github_token
from tests.share.conftest import Team
from tests.share.remotes import GitPlace, Member, TeamPlace, memory_text

pytestmark = pytest.mark.slow("hub-postgres")

BODY = "First line.\n\nSecond line.\n\nThird line.\n"


def in_step(*members: Member) -> dict[str, str]:
    """All members sync until nothing moves, and hold the same."""
    for _ in range(2):
        for one in members:
            one.sync()
    first, *others = [one.files() for one in members]
    for other in others:
        assert other == first
    return first


def shared(*members: Member, **texts: str) -> None:
    for key, text in texts.items():
        members[0].put(f"{key}.md", text)
    in_step(*members)


def forget(member: Member, key: str) -> None:
    forget_memories(member.store, [key], origin=Origin("cli", trust="user"))


def test_what_one_shares_the_others_have_with_its_line_and_its_age(team: Team) -> None:
    ann, bob = team("ann", "bob")
    ann.put("deploys.md", memory_text("deploys", BODY))
    os.utime(ann.root / "deploys.md", (1e9, 1e9))
    ann.sync()
    assert bob.sync().taken == ["deploys.md"]
    assert bob.read("deploys.md") == ann.read("deploys.md")
    assert (bob.root / "deploys.md").stat().st_mtime == 1e9, "as old as when it was saved (S11)"
    assert "- [deploys](deploys.md) — about deploys" in (bob.root / "MEMORY.md").read_text()
    commit = bob.store.history.log("team/deploys.md", limit=1)[0]
    assert (commit.source, commit.trailers["By"], commit.trailers["Trust"]) == ("team", "ann", "team")


def test_changes_to_different_lines_are_put_together(team: Team) -> None:
    ann, bob = team("ann", "bob")
    shared(ann, bob, a=memory_text("a", BODY))
    ann.put("a.md", ann.read("a.md").replace("First", "Ann's"))
    bob.put("a.md", bob.read("a.md").replace("Third", "Bob's"))
    files = in_step(ann, bob)
    assert list(files) == ["a.md"] and "Ann's line" in files["a.md"] and "Bob's line" in files["a.md"]


def test_of_two_changes_to_one_line_both_texts_stay_until_somebody_settles_it(team: Team) -> None:
    ann, bob, cleo = team("ann", "bob", "cleo")
    shared(ann, bob, cleo, a=memory_text("a", BODY))
    ann.put("a.md", ann.read("a.md").replace("Second line", "Ann's word"))
    bob.put("a.md", bob.read("a.md").replace("Second line", "Bob's word"))
    files = in_step(ann, bob, cleo)
    assert len(files) == 2
    text = "".join(files.values())
    assert "Ann's word" in text and "Bob's word" in text
    ((second, first),) = conflicts_in(cleo.store).items()
    assert first == "a.md" and Topic(files[second].encode()).fields["conflict-with"] == "a.md"
    wanted = files[second].replace("conflict-with: a.md\n", "")
    assert resolve(cleo.store, second) == [second]
    assert in_step(cleo, ann, bob) == {"a.md": wanted}
    undo(cleo.store)
    assert len(in_step(cleo, ann, bob)) == 2, "a settled conflict can be taken back"
    resolve(ann.store, "a.md")
    assert list(in_step(ann, bob, cleo)) == ["a.md"]


@pytest.mark.parametrize("kind", ["folder"])
def test_a_conflict_that_was_settled_meanwhile_empties_no_memory(team: Team, monkeypatch: pytest.MonkeyPatch) -> None:
    (ann,) = team("ann")
    first, second = memory_text("a", "One."), memory_text("a", "Two.")
    name, data = beside("a.md", second.encode(), lambda _: None)
    ann.put("a.md", first)
    ann.put(name, data.decode())
    changing = ann.store.changing

    def overtaken(*words: object, **more: object) -> object:
        """Somebody else has the lock first, and says that the first text is right."""
        Path(ann.store.root, name).unlink()
        return changing(*words, **more)  # type: ignore[arg-type]

    monkeypatch.setattr(ann.store, "changing", overtaken)
    assert resolve(ann.store, name) == [] and ann.read("a.md") == first


def test_an_edit_outlives_a_deletion_whoever_is_first(team: Team) -> None:
    ann, bob = team("ann", "bob")
    for first, second in ((ann, bob), (bob, ann)):
        shared(ann, bob, a=memory_text("a", BODY))
        forget(ann, "a.md")
        bob.put("a.md", bob.read("a.md").replace("First", "Bob's"))
        first.sync()
        second.sync()
        assert "Bob's line" in in_step(first, second)["a.md"]


def test_a_rename_against_an_edit_keeps_both(team: Team) -> None:
    ann, bob = team("ann", "bob")
    shared(ann, bob, old=memory_text("a", BODY))
    os.rename(ann.root / "old.md", ann.root / "new.md")
    ann.put("more.md", memory_text("more", "x"))
    bob.put("old.md", bob.read("old.md").replace("First", "Bob's"))
    files = in_step(ann, bob)
    assert "First line" in files["new.md"] and "Bob's line" in files["old.md"]


def test_a_rename_in_capitals_only_is_a_rename(team: Team) -> None:
    ann, bob = team("ann", "bob")
    shared(ann, bob, deploys=memory_text("a", BODY), other=memory_text("b", BODY))
    os.rename(ann.root / "deploys.md", ann.root / "Deploys.md")
    assert sorted(in_step(ann, bob)) == ["Deploys.md", "other.md"]


@pytest.mark.parametrize("names", [("freeze.md", "Freeze.md"), ("Freeze.md", "freeze.md")])
def test_somebody_elses_memory_can_be_renamed_in_capitals_only(team: Team, names: tuple[str, str]) -> None:
    """It stays its author's, and the name that goes is by whoever renamed it."""
    ann, bob, cid = team("ann", "bob", "cid")
    ann.put(names[0], memory_text("freeze", BODY))
    shared(ann, bob, cid, other=memory_text("other", BODY))
    os.rename(bob.root / names[0], bob.root / names[1])
    bob.sync()
    cid.sync()
    assert sorted(cid.files()) == sorted((names[1], "other.md"))
    assert sorted(in_step(ann, bob, cid)) == sorted((names[1], "other.md"))


def test_two_memories_whose_names_differ_in_capitals_only_do_not_share_a_name(team: Team) -> None:
    """On another disk one of them would be written over the other."""
    ann, bob, cleo = team("ann", "bob", "cleo")
    ann.put("Deploys.md", memory_text("a", "Ann's deploys."))
    bob.put("deploys.md", memory_text("b", "Bob's deploys."))
    ann.sync()
    bob.sync()
    files = in_step(ann, bob, cleo)
    assert len(files) == 2 == len({key.casefold() for key in files})
    assert "Ann's deploys." in "".join(files.values()) and "Bob's deploys." in "".join(files.values())


def test_a_name_that_only_looks_like_another_stays_here_and_costs_no_other_memory(team: Team) -> None:
    """E3: as pasted from a PDF, with a ligature."""
    ann, bob = team("ann", "bob")
    shared(ann, bob, config=memory_text("config", "Ann's."))
    ann.put("con\ufb01g.md", memory_text("odd", "Pasted."))
    ann.put("other.md", memory_text("other", "Another."))
    assert sorted(ann.sync().left_out) == ["con\ufb01g.md"]
    bob.sync()
    assert sorted(bob.files()) == ["config.md", "other.md"]
    assert "Pasted." in ann.read("con\ufb01g.md")


@pytest.mark.parametrize("kind", ["git"])
def test_names_without_end_in_a_repository_are_told_in_part_and_cost_little(team: Team, place: TeamPlace) -> None:
    """E6: each that is told is looked through for secrets."""
    assert isinstance(place, GitPlace)
    [ann] = team("ann")
    ann.put("own.md", memory_text("own", "Ann's."))
    ann.sync()
    blob = place.run("hash-object", "-w", "--stdin", stdin=b"x").decode().strip()
    rows = [f"100644 blob {blob}\tn{number}\x01{'x' * 600}.md\0" for number in range(600)]
    tree = (
        place.run("mktree", "-z", stdin=(place.run("ls-tree", "-z", "main") + "".join(rows).encode())).decode().strip()
    )
    commit = place.run("commit-tree", tree, "-p", "main", stdin=b"by hand").decode().strip()
    place.run("update-ref", "refs/heads/main", commit)
    told = ann.sync().left_out
    assert len(told) == 500 and all(len(one.file) <= 500 for one in told.values())
    assert sorted(ann.files()) == ["own.md"]


@pytest.mark.parametrize("kind", ["git"])
@pytest.mark.parametrize("keys", [("plan.md", "Plan.md"), ("Plan.md", "plan.md")])
def test_a_name_in_other_capitals_that_came_by_plain_git_is_another_name(
    team: Team, place: TeamPlace, keys: tuple[str, str]
) -> None:
    assert isinstance(place, GitPlace)
    ann, bob = team("ann", "bob")
    shared(ann, bob, other=memory_text("other", "x"), **{keys[0].removesuffix(".md"): memory_text("plan", "Ann's")})
    blob = place.run("hash-object", "-w", "--stdin", stdin=memory_text("plan", "Max's").encode()).decode().strip()
    rows = f"{place.run('ls-tree', 'main').decode()}100644 blob {blob}\t{keys[1]}\n"
    tree = place.run("mktree", stdin=rows.encode()).decode().strip()
    commit = place.run("commit-tree", tree, "-p", "main", stdin=b"by hand").decode().strip()
    place.run("update-ref", "refs/heads/main", commit)
    files = in_step(bob, ann)
    assert len(files) == 3 == len({key.casefold() for key in files}) and "Plan.md" in files
    assert all(f"{name}'s" in str(files) for name in ("Ann", "Max"))
    names = place.run("ls-tree", "--name-only", "main").decode().split()
    assert sorted(names) == sorted(files)


def test_a_name_that_a_mac_spells_in_its_own_way_is_one_name(team: Team) -> None:
    ann, bob = team("ann", "bob")
    ann.put(unicodedata.normalize("NFD", "müller.md"), memory_text("m", BODY))
    bob.put(unicodedata.normalize("NFC", "müller.md"), memory_text("m", BODY))
    assert list(in_step(ann, bob)) == [unicodedata.normalize("NFC", "müller.md")]


@pytest.mark.parametrize("has_both", [False, True])
def test_a_folder_that_a_mac_spells_in_its_own_way_is_one_folder(team: Team, has_both: bool) -> None:
    ann, bob = team("ann", "bob")
    key = unicodedata.normalize("NFC", "café/menu.md")
    ann.put(unicodedata.normalize("NFD", key), memory_text("menu", BODY))
    if has_both:
        ann.put(f"{os.path.dirname(key)}/wine.md", memory_text("wine", BODY))
    ann.sync(), bob.sync()
    bob.put(key, bob.read(key).replace("First", "Bob's"))
    bob.sync()
    assert "Bob's line" in in_step(ann, bob)[key]


def test_a_file_that_cannot_be_shared_is_not_deleted_for_all_because_of_how_its_name_is_spelled(team: Team) -> None:
    ann, bob = team("ann", "bob")
    key, as_on_a_mac = (unicodedata.normalize(form, "café/menu.md") for form in ("NFC", "NFD"))
    shared(ann, bob, **{os.path.splitext(key)[0]: memory_text("menu", BODY)}, other=memory_text("other", BODY))
    os.rename(ann.root / os.path.dirname(key), ann.root / os.path.dirname(as_on_a_mac))
    ann.put(as_on_a_mac, memory_text("menu", "x" * (64 << 10)))
    report = ann.syncing().status()[0]
    assert (report.waiting, list(report.left_out)) == ([], [key])
    assert ann.sync().sent_deletions == []
    bob.sync()
    assert key in bob.files()


def test_deletions_reach_everybody_and_new_members_too(team: Team) -> None:
    ann, bob = team("ann", "bob")
    shared(ann, bob, a=memory_text("a", BODY), b=memory_text("b", BODY))
    forget(ann, "a.md")
    assert ann.sync().sent_deletions == ["a.md"]
    assert bob.sync().deleted == ["a.md"] and "a.md" not in (bob.root / "MEMORY.md").read_text()
    (cleo,) = team("cleo")
    assert list(in_step(ann, bob, cleo)) == ["b.md"]


def _wiped(member: Member) -> None:
    shutil.rmtree(member.root)


def _emptied(member: Member) -> None:
    for path in member.root.rglob("*.md"):
        path.unlink()


def _halved(member: Member) -> None:
    for path in sorted(member.root.glob("m*.md"))[:7]:
        path.unlink()


def _without_note(member: Member) -> None:
    _wiped(member)
    shutil.rmtree(os.path.dirname(member.store.place.known_of_team))


def _half_without_texts(member: Member) -> None:
    _halved(member)
    shutil.rmtree(member.store.place.texts_of_team)


def _without_state(member: Member) -> None:
    _halved(member)
    shutil.rmtree(member.store.place.state)


@pytest.mark.parametrize("lose", [_wiped, _emptied, _halved, _without_note, _half_without_texts, _without_state])
def test_a_directory_that_was_lost_deletes_nothing(team: Team, lose: Callable[[Member], None]) -> None:
    ann, bob = team("ann", "bob")
    shared(ann, bob, **{f"m{number}": memory_text(f"m{number}", BODY) for number in range(10)})
    lose(bob)
    assert bob.sync().sent_deletions == []
    assert len(in_step(bob, ann)) == 10


def test_a_directory_that_was_put_back_from_an_older_copy_takes_nobody_back(team: Team, tmp_path: Path) -> None:
    """As a backup does it, with the times that the files had."""
    ann, bob = team("ann", "bob")
    shared(ann, bob, **{name: memory_text(name, BODY) for name in "abcdefgh"})
    forget(bob, "h.md")
    in_step(ann, bob)
    shutil.copytree(ann.root, tmp_path / "copy")
    for key in ("a.md", "b.md", "c.md"):
        bob.put(key, bob.read(key).replace("First", "Bob's"))
    bob.put("new.md", memory_text("new", BODY))
    had = in_step(bob, ann)
    shutil.rmtree(ann.root)
    shutil.copytree(tmp_path / "copy", ann.root)
    assert ann.sync(pushes_only=True).sent == []
    assert set(ann.sync(is_dry=True).brought_back) == {"a.md", "b.md", "c.md", "new.md"}
    report = ann.sync()
    assert (report.sent, report.sent_deletions, report.conflicts) == ([], [], [])
    assert in_step(ann, bob) == had


def test_what_a_person_takes_back_in_many_memories_is_taken_back_for_all(team: Team) -> None:
    """By `undo`, which puts the times of the files back, too; or by writing what stood there once more."""
    ann, bob = team("ann", "bob")
    shared(ann, bob, a=memory_text("a", BODY), b=memory_text("b", BODY))
    had = ann.files()
    for way in ("undo", "by hand"):
        with ann.store.changing(Origin("dream"), "all anew") as change:
            for key in had:
                change.write(key, had[key].replace("First", f"New {way}").encode())
        assert in_step(ann, bob) != had
        if way == "undo":
            undo(ann.store)
        else:
            for key, text in had.items():
                ann.put(key, text)
        assert in_step(ann, bob) == had, way


def test_what_was_lost_here_and_deleted_by_a_teammate_is_not_called_back(team: Team) -> None:
    ann, bob = team("ann", "bob")
    shared(ann, bob, a=memory_text("a", BODY), b=memory_text("b", BODY))
    forget(ann, "a.md")
    ann.sync()
    _wiped(bob)
    report = bob.sync()
    assert (report.deleted, report.brought_back) == (["a.md"], ["b.md"])


def test_a_file_that_was_deleted_by_hand_is_deleted_for_all_where_the_rest_is_there(team: Team) -> None:
    ann, bob = team("ann", "bob")
    shared(ann, bob, **{f"m{number}": memory_text(f"m{number}", BODY) for number in range(5)})
    (ann.root / "m1.md").unlink()
    assert sorted(in_step(ann, bob)) == ["m0.md", "m2.md", "m3.md", "m4.md"]


def test_all_can_be_deleted_by_a_word(team: Team) -> None:
    ann, bob = team("ann", "bob")
    shared(ann, bob, a=memory_text("a", BODY), b=memory_text("b", BODY))
    forget(ann, "a.md")
    forget(ann, "b.md")
    assert in_step(ann, bob) == {}


@pytest.mark.parametrize("kind", ["folder"])
@pytest.mark.parametrize(("by_name", "others"), [(100, 24), (5, 0)])
def test_what_was_deleted_by_a_word_long_ago_is_deleted_for_all(
    team: Team, monkeypatch: pytest.MonkeyPatch, by_name: int, others: int
) -> None:
    """As after weeks without a network, with hundreds of changes since."""
    monkeypatch.setattr("memdir.share.sync._LOOKED_BACK", 3)
    monkeypatch.setattr("memdir.share.sync._BY_NAME", by_name, raising=False)
    ann, bob = team("ann", "bob")
    shared(ann, bob, **{f"m{number:02}": memory_text(f"m{number}", BODY) for number in range(24)})
    for number in range(15):
        forget(ann, f"m{number:02}.md")
    for number in range(others):
        with ann.store.changing(Origin("cli", trust="user"), "save own.md") as change:
            change.write("own.md", memory_text("own", f"Day {number}").encode())
    assert len(ann.sync().sent_deletions) == 15
    assert len(in_step(ann, bob)) == 9 + bool(others)


@pytest.mark.parametrize("kind", ["folder"])
def test_what_was_forgotten_without_git_is_deleted_for_all(team: Team, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nonexistent")
    ann, bob = team("ann", "bob")
    shared(ann, bob, a=memory_text("a", BODY), b=memory_text("b", BODY))
    forget(bob, "a.md")
    assert bob.sync().sent_deletions == ["a.md"] and list(in_step(bob, ann)) == ["b.md"]


def test_taking_back_a_pull_deletes_nothing_for_the_others(team: Team) -> None:
    ann, bob = team("ann", "bob")
    shared(ann, a=memory_text("a", BODY), b=memory_text("b", BODY))
    bob.sync()
    undo(bob.store, bob.store.history.log("team", limit=1)[0].id)
    assert bob.files() == {}
    assert sorted(in_step(bob, ann)) == ["a.md", "b.md"]


@pytest.mark.parametrize("kind", ["folder"])
def test_taking_back_a_pull_of_one_memory_of_many_deletes_nothing_either(team: Team) -> None:
    ann, bob = team("ann", "bob")
    shared(ann, bob, **{f"m{number}": memory_text(f"m{number}", BODY) for number in range(6)})
    ann.put("new.md", memory_text("new", BODY))
    in_step(ann, bob)
    undo(bob.store, bob.store.history.log("team", limit=1)[0].id)
    assert "new.md" not in bob.files()
    report = bob.sync()
    assert (report.sent_deletions, report.brought_back) == ([], ["new.md"])
    assert "new.md" in in_step(bob, ann)


@pytest.mark.parametrize("kind", ["folder"])
def test_what_was_set_aside_and_could_not_be_brought_back_is_not_deleted_for_all(team: Team) -> None:
    ann, bob = team("ann", "bob")
    shared(ann, bob, **{f"m{number}": memory_text(f"m{number}", BODY) for number in range(6)})
    with bob.store.changing(Origin(PULLED, trust="team"), "set aside: another team's") as change:
        change.delete("m1.md")
        change.drop_entry("m1.md")
    report = bob.sync()
    assert (report.sent_deletions, report.brought_back) == ([], ["m1.md"])
    assert len(in_step(bob, ann)) == 6


@pytest.mark.parametrize("kind", ["folder"])
@pytest.mark.parametrize("others", [0, 1, 6])
def test_taking_back_what_one_shared_takes_it_from_all_in_a_team_of_any_size(team: Team, others: int) -> None:
    ann, bob = team("ann", "bob")
    shared(ann, bob, **{f"m{number}": memory_text(f"m{number}", BODY) for number in range(others)})
    topic = Topic(memory_text("s", BODY).encode())
    with ann.store.changing(Origin("cli", trust="user"), "share s.md") as change:
        change.write("s.md", topic.data)
        change.put_entry("s.md", topic)
    assert len(in_step(ann, bob)) == others + 1
    undo(ann.store)
    assert ann.sync().sent_deletions == ["s.md"]
    assert len(in_step(ann, bob)) == others


@pytest.mark.parametrize("kind", ["git"])
@pytest.mark.parametrize("left", [0, 2])
def test_a_commit_that_empties_the_repository_is_not_followed(team: Team, place: TeamPlace, left: int) -> None:
    """By plain git, and half of all at once: it is told, and nothing is deleted (E4)."""
    assert isinstance(place, GitPlace)
    ann, bob = team("ann", "bob")
    shared(ann, bob, **{f"m{number}": memory_text(f"m{number}", BODY) for number in range(4)})
    rows = place.run("ls-tree", "main").splitlines(keepends=True)[:left]
    tree = place.run("mktree", stdin=b"".join(rows)).decode().strip()
    head = place.run("commit-tree", tree, "-p", "main", "-m", "clean up").decode().strip()
    place.run("update-ref", "refs/heads/main", head)
    report = bob.sync()
    assert report.deleted == [] and len(bob.files()) == 4
    assert f"{4 - left} of the team's 4 memories" in report.problem and "memdir forget" in report.problem
    assert not ann.sync().problem and len(in_step(ann, bob)) == 4
    (cleo,) = team("cleo")
    assert len(cleo.sync().taken) == 4
    rows = place.run("ls-tree", "main").splitlines(keepends=True)[1:]
    tree = place.run("mktree", stdin=b"".join(rows)).decode().strip()
    head = place.run("commit-tree", tree, "-p", "main", "-m", "one less").decode().strip()
    place.run("update-ref", "refs/heads/main", head)
    assert bob.sync().deleted == ["m0.md"] and len(in_step(ann, bob, cleo)) == 3, "one by plain git is a deletion"


@pytest.mark.parametrize("kind", ["git"])
@pytest.mark.parametrize("goes_on", [False, True])
def test_a_repository_that_was_set_back_takes_nobody_back(team: Team, place: TeamPlace, goes_on: bool) -> None:
    """Somebody forces an older commit on it, or another one on top of that."""
    assert isinstance(place, GitPlace)
    ann, bob = team("ann", "bob")
    shared(ann, bob, **{f"m{number}": memory_text(f"m{number}", BODY) for number in range(4)})
    old = place.run("rev-parse", "main").decode().strip()
    ann.put("m0.md", ann.read("m0.md").replace("First", "Ann's"))
    ann.put("new.md", memory_text("new", BODY))
    forget(ann, "m1.md")
    in_step(ann, bob)
    if goes_on:
        old = place.run("commit-tree", f"{old}^{{tree}}", "-p", old, "-m", "another").decode().strip()
    place.run("update-ref", "refs/heads/main", old)
    files = in_step(bob, ann)
    assert "Ann's line" in str(files.values()) and "new.md" in files
    if not goes_on:
        assert sorted(files) == ["m0.md", "m2.md", "m3.md", "new.md"] and "Ann's line" in files["m0.md"]


@pytest.mark.parametrize("kind", ["git"])
def test_a_repository_that_was_set_back_to_when_something_was_deleted_for_a_while_deletes_nothing(
    team: Team, place: TeamPlace
) -> None:
    assert isinstance(place, GitPlace)
    ann, bob = team("ann", "bob")
    shared(ann, bob, freeze=memory_text("freeze", BODY), a=memory_text("a", BODY), b=memory_text("b", BODY))
    text = ann.read("freeze.md")
    forget(ann, "freeze.md")
    in_step(ann, bob)
    old = place.run("rev-parse", "main").decode().strip()
    ann.put("freeze.md", text)
    in_step(ann, bob)
    place.run("update-ref", "refs/heads/main", old)
    assert bob.sync().deleted == []
    assert sorted(in_step(bob, ann)) == ["a.md", "b.md", "freeze.md"]


@pytest.mark.parametrize("kind", ["git"])
@pytest.mark.parametrize("reason", ["private", "cap"])
def test_what_a_repository_was_set_back_from_and_nobody_took_in_counts_no_more(
    team: Team, place: TeamPlace, reason: str
) -> None:
    assert isinstance(place, GitPlace)
    ann, bob = team("ann", "bob")
    for key in ("a.md", "b.md"):
        ann.put(key, memory_text(key, BODY))
    ann.sync()
    good = place.run("rev-parse", "main").decode().strip()
    text = memory_text("b.md", "Withdrawn.", "user" if reason == "private" else "project")
    blob = place.run("hash-object", "-w", "--stdin", stdin=text.encode()).decode().strip()
    rows = [*place.run("ls-tree", "main").splitlines()[:1], f"100644 blob {blob}\tb.md".encode()]
    tree = place.run("mktree", stdin=b"\n".join(rows)).decode().strip()
    place.run("update-ref", "refs/heads/main", place.run("commit-tree", tree, "-p", good, "-m", "b").decode().strip())
    bob.caps = bob.remote.caps = TeamCaps(entries=1) if reason == "cap" else TeamCaps()
    assert bob.sync().left_out["b.md"].reason == reason
    if reason == "private":
        ann.sync()
    place.run("update-ref", "refs/heads/main", good)
    bob.caps = bob.remote.caps = TeamCaps()
    files = in_step(bob, ann)
    assert sorted(files) == ["a.md", "b.md"] and "First line." in files["b.md"]
    ann.put("b.md", files["b.md"].replace("First", "Ann's"))
    assert ann.sync().sent == ["b.md"] and "Ann's line." in in_step(bob, ann)["b.md"]


@pytest.mark.parametrize("kind", ["git"])
def test_what_was_taken_out_of_a_repository_by_force_is_not_sent_there_again(team: Team, place: TeamPlace) -> None:
    """A secret that plain git had put there: what is only sent does not bring it back with its commit (E5)."""
    assert isinstance(place, GitPlace)
    (ann,) = team("ann")
    shared(ann, a=memory_text("a", BODY))
    good, token = place.run("rev-parse", "main").decode().strip(), github_token()
    blob = place.run("hash-object", "-w", "--stdin", stdin=memory_text("b", f"Use {token}").encode()).decode().strip()
    rows = place.run("ls-tree", "main") + f"100644 blob {blob}\tb.md\n".encode()
    tree = place.run("mktree", stdin=rows).decode().strip()
    place.run("update-ref", "refs/heads/main", place.run("commit-tree", tree, "-p", good, "-m", "b").decode().strip())
    assert ann.sync().left_out["b.md"].reason == "secret"
    place.run("update-ref", "refs/heads/main", good)
    place.run("gc", "--quiet", "--prune=now")
    ann.put("c.md", memory_text("c", BODY))
    assert ann.sync(pushes_only=True).reason == "conflict"
    assert ann.sync().sent == ["c.md"] and ann.sync(pushes_only=True).reason == "no_change"
    assert token.encode() not in b"".join(place.contents())


def test_undo_takes_back_what_one_did_oneself_and_not_what_came_from_the_team(team: Team) -> None:
    ann, bob = team("ann", "bob")
    shared(ann, bob, a=memory_text("a", BODY), b=memory_text("b", BODY))
    forget(bob, "a.md")
    ann.put("c.md", memory_text("c", BODY))
    ann.sync()
    bob.sync()
    undo(bob.store)
    assert sorted(bob.files()) == ["a.md", "b.md", "c.md"]


def secrets() -> dict[str, str]:
    token = github_token()
    half = len(token) // 2
    return {
        "plain": token,
        "full_width": "".join(chr(ord(c) + 0xFEE0) if "!" <= c <= "~" else c for c in token),
        "zero_width": "\u200b".join(token),
        "percent": "".join(f"%{ord(c):02X}" for c in token),
        "percent_twice": quote(quote(token, safe="")).replace("_", "%5F"),
        "base64": base64.b64encode(f"token: {token} end".encode()).decode(),
        "bold": f"{token[:half]}****{token[half:]}",
        "tag": f"{token[:half]}<b></b>{token[half:]}",
        "comment": f"{token[:half]}<!-- -->{token[half:]}",
        "entity": "".join(f"&#{ord(c)};" for c in token),
        "code": f"{token[:half]}``{token[half:]}",
        "italics": f"{token[:half]}*{token[half:]}*",
        "emphasis": f"**{token[:half]}**{token[half:]}",
        "struck": f"{token[:half]}~~{token[half:]}~~",
        "link": f"[{token[:half]}](x){token[half:]}",
        "broken": f"{token[:half]}<br/>{token[half:]}",
        "soft_hyphen": f"{token[:half]}&shy;{token[half:]}",
        "zero_width_entity": f"{token[:half]}&#8203;{token[half:]}",
        "second_link": f"{token[:half]}[{token[half:]}](x)",
        "hex": token.encode().hex(),
        "unicode": "".join(f"\\u{ord(c):04x}" for c in token),
        "escaped": token.replace("_", "\\_"),
        "wrapped": f"{token[:half]}\\\n{token[half:]}",
    }


@pytest.mark.parametrize("part", ["body", "field"])
def test_a_secret_never_leaves_in_whatever_dress(team: Team, part: str, place: TeamPlace) -> None:
    ann, bob = team("ann", "bob")
    values = {form: value for form, value in secrets().items() if part == "body" or "\n" not in value}
    for form, value in values.items():
        text = memory_text("x", value) if part == "body" else memory_text("x", "y").replace("about x", value)
        ann.put(f"leak_{form}.md", text)
    ann.put("fine.md", memory_text("fine", BODY))
    report = ann.sync()
    assert report.sent == ["fine.md"]
    assert {key for key, one in report.left_out.items() if one.reason == "secret"} == {f"leak_{f}.md" for f in values}
    for form, value in values.items():
        told = report.left_out[f"leak_{form}.md"].told
        assert "github" in told and "line" in told and value not in told and github_token()[:10] not in told
    assert bob.sync().taken == ["fine.md"]
    needles = [github_token().encode(), *(value.encode() for value in values.values())]
    for data in place.contents():
        assert not any(needle in data for needle in needles)
    told = [str(event) for event in ann.events.events]
    assert sum("team.secret_skipped" in one for one in told) == len(values)
    assert not any(value in one for one in told for value in values.values())


LOOKED, WRITTEN = [(0, 3), (1, 3), (2, 3)], [(0, 4), (1, 4), (2, 4), (3, 4)]  # the index is written last
SENT = {"folder": LOOKED, "git": [(1, 3), (2, 3), (3, 3)], "hub-sqlite": [(0, 3)]}  # a hub takes a hundred at once
CAME = {"folder": [(1, 0), (2, 0), (3, 0)], "git": [], "hub-sqlite": [(3, 0)]}  # what git fetches it does not tell


@pytest.mark.parametrize("kind", [*SENT])
def test_a_sync_tells_how_far_it_is_while_it_fetches_looks_through_sends_and_writes(team: Team, kind: str) -> None:
    ann, bob = team("ann", "bob")
    for number in range(3):
        ann.put(f"m{number}.md", memory_text(f"m{number}", BODY))
    for one, came, done in ((ann, [], SENT[kind]), (bob, CAME[kind], WRITTEN)):
        syncing, seen = one.syncing(), list[tuple[int, int]]()
        syncing.on_progress = lambda count, total: seen.append((count, total))  # noqa: B023 - called in this turn
        syncing.run()
        assert seen[0] == (0, 0), "a person sees at once that it goes on"
        assert [told for told in seen if told != (0, 0)] == [*came, *LOOKED, *done]


@pytest.mark.parametrize("kind", ["folder", "git"])  # a hub takes none
def test_a_secret_that_somebody_else_put_there_is_not_taken_in(team: Team) -> None:
    ann, bob = team("ann", "bob")
    data = memory_text("leak", f"The token is {github_token()}").encode()
    ann.remote.push(Delta({"leak.md": Version(digest_of(data), "ann")}, {"leak.md": data}), expected=Manifest())
    report = bob.sync()
    assert report.taken == [] and report.left_out["leak.md"].reason == "secret" and bob.files() == {}
    assert bob.sync().sent_deletions == [], "and not deleted for the others either"
    assert bob.sync().left_out["leak.md"].reason == "secret", "told as long as it is there"
    assert os.listdir(bob.store.place.texts_of_team) == [], "nor kept beside"


def test_what_is_about_a_person_stays_at_home(team: Team) -> None:
    ann, bob = team("ann", "bob")
    ann.put("me.md", memory_text("me", "I know databases.", kind="user"))
    assert ann.sync().left_out["me.md"].reason == "private"
    assert bob.sync().taken == []


def test_limits_are_told_and_keep_nobody_from_the_rest(team: Team) -> None:
    ann, bob = team("ann", "bob")
    ann.caps = TeamCaps(entries=3, entry_bytes=1_000, total_bytes=2_000)
    ann.put("large.md", memory_text("large", "x" * 2_000))
    for number in range(5):
        ann.put(f"m{number}.md", memory_text(f"m{number}", "y" * 400))
    report = ann.sync()
    assert report.left_out["large.md"].reason == "too_large"
    assert [one.reason for key, one in report.left_out.items() if key != "large.md"] == ["cap", "cap"]
    assert len(report.sent) == 3 == len(bob.sync().taken)
    assert "team.capped" in [event.name for event in ann.events.events]
    ann.put("m0.md", memory_text("m0", "shorter"))
    assert ann.sync().sent == ["m0.md"], "what is there can still be changed"


def test_it_is_named_why_nothing_was_sent(team: Team) -> None:
    (ann,) = team("ann")
    assert ann.sync().reason == "no_change"
    ann.put("leak.md", memory_text("x", github_token()))
    assert ann.sync().reason == "secret"
    reasons = [event.fields["reason"] for event in ann.events.events if event.name == "team.push_suppressed"]
    assert reasons == ["no_change", "secret"]


@pytest.mark.parametrize("kind", ["folder", "git"])
def test_offline_is_normal_and_nothing_is_lost(team: Team, tmp_path: Path) -> None:
    ann, bob = team("ann", "bob")
    shared(ann, bob, a=memory_text("a", BODY))
    os.rename(tmp_path / "remote", tmp_path / "away")
    ann.put("b.md", memory_text("b", BODY))
    forget(ann, "a.md")
    report = ann.sync()
    assert (report.reason, sorted(report.waiting)) == ("offline", ["a.md", "b.md"]) and report.problem
    os.mkdir(tmp_path / "remote")  # a drive that is not mounted is an empty folder
    assert ann.sync().reason == "offline"
    assert ann.files().keys() == {"b.md"} and bob.files().keys() == {"a.md"}
    os.rmdir(tmp_path / "remote")
    os.rename(tmp_path / "away", tmp_path / "remote")
    assert list(in_step(ann, bob)) == ["b.md"]


@pytest.mark.parametrize("kind", ["folder"])
def test_two_syncs_of_one_directory_are_never_at_it_together(team: Team, monkeypatch: pytest.MonkeyPatch) -> None:
    (ann,) = team("ann")
    ann.put("a.md", memory_text("a", BODY))
    monkeypatch.setattr("memdir.share.sync.WAIT_SECONDS", 0.05)
    with locked(ann.store.place.team_lock, wait_seconds=1.0), pytest.raises(LockBusy):
        ann.sync()
    assert ann.sync().sent == ["a.md"]


@pytest.mark.parametrize("kind", ["folder"])
def test_a_dry_run_changes_nothing_on_either_side(team: Team) -> None:
    ann, bob = team("ann", "bob")
    shared(ann, bob, a=memory_text("a", BODY))
    ann.put("new.md", memory_text("new", BODY))
    bob.put("other.md", memory_text("other", BODY))
    bob.sync()
    before = list(ann.events.events)
    report = ann.sync(is_dry=True)
    assert (report.taken, report.sent) == (["other.md"], ["new.md"])
    assert ann.files().keys() == {"a.md", "new.md"}
    assert ann.events.events == before, "what did not happen is no event"
    assert bob.sync().taken == []


def done(report: SyncReport) -> dict[str, object]:
    """What a sync did, or would do."""
    names = ("taken", "deleted", "sent", "sent_deletions", "conflicts", "brought_back", "reason")
    return {name: getattr(report, name) for name in names} | {"left_out": sorted(report.left_out)}


@pytest.mark.parametrize("kind", ["folder", "hub-sqlite"])
def test_a_dry_run_tells_what_the_sync_after_it_does(team: Team) -> None:
    ann, bob = team("ann", "bob")
    shared(ann, bob, both=memory_text("both", BODY), merged=memory_text("merged", BODY), old=memory_text("old", BODY))
    ann.put("both.md", memory_text("both", "Ann's.\n"))
    ann.put("merged.md", memory_text("merged", BODY.replace("First", "Ann's first")))
    ann.put("new.md", memory_text("new", BODY))
    bob.put("both.md", memory_text("both", "Bob's.\n"))
    bob.put("merged.md", memory_text("merged", BODY.replace("Third", "Bob's third")))
    forget(bob, "old.md")
    bob.sync()
    files = ann.files()
    told = ann.sync(is_dry=True)
    assert ann.files() == files and len(told.conflicts) == 1
    assert done(told) == done(ann.sync())


@pytest.mark.parametrize("kind", ["folder", "hub-sqlite"])
def test_a_dry_run_of_a_first_sync_tells_of_two_texts(team: Team) -> None:
    ann, bob = team("ann", "bob")
    shared(ann, x=memory_text("x", "What Ann says."))
    bob.put("x.md", memory_text("x", "What Bob says."))
    told = bob.sync(is_dry=True)
    assert len(told.conflicts) == 1
    assert done(told) == done(bob.sync())


@pytest.mark.parametrize("kind", ["folder", "hub-sqlite"])
def test_a_dry_run_tells_what_was_lost_here_and_would_come_back(team: Team) -> None:
    ann, bob = team("ann", "bob")
    shared(ann, bob, a=memory_text("a", BODY), b=memory_text("b", BODY))
    shutil.rmtree(ann.root)
    told = ann.sync(is_dry=True)
    assert told.brought_back == ["a.md", "b.md"] and not ann.root.exists()
    assert done(told) == done(ann.sync())


def test_a_push_alone_takes_nothing_in(team: Team) -> None:
    """On a change, while somebody may be in the middle of a turn (E4)."""
    ann, bob = team("ann", "bob")
    shared(ann, bob, a=memory_text("a", BODY))
    bob.put("b.md", memory_text("b", BODY))
    bob.sync()
    ann.put("c.md", memory_text("c", BODY))
    report = ann.sync(pushes_only=True)
    assert report.taken == [] and "b.md" not in ann.files()
    assert sorted(in_step(ann, bob)) == ["a.md", "b.md", "c.md"]


HOSTILE = (
    "../out.md",
    "/etc/out.md",
    "a/../../out.md",
    "..%2fout.md",
    "%2e%2e/out.md",
    "..\\out.md",
    "C:out.md",
    "．．/out.md",
    "a\u2215..\u2215out.md",
    "nul.md",
    "CLAUDE.md",
    "MEMORY.md",
    ".hidden.md",
    "-rf.md",
    "a\0b.md",
    "x" * 300 + ".md",
    "out.txt",
)


def test_no_key_of_a_remote_leads_out(team: Team, tmp_path: Path) -> None:
    """E3 on the way in: whatever a remote's content says, it is judged as if nobody had."""
    data = memory_text("x", "out").encode()

    class Hostile:
        def pull(self, known: Manifest) -> Delta:
            del known
            return Delta(dict.fromkeys(HOSTILE, Version(digest_of(data), "eve")), dict.fromkeys(HOSTILE, data), "1")

        def close(self) -> None:
            """Nothing is held."""

        def push(self, delta: Delta, *, expected: Manifest) -> PushResult:
            del expected
            return PushResult(dict(delta.versions))

    (ann,) = team("ann")
    ann.remote = Hostile()
    before = sorted(path for path in tmp_path.rglob("*") if "memory.state" not in str(path))
    report = ann.sync()
    assert report.taken == [] and report.left_out.keys() == set(HOSTILE)
    assert sorted(path for path in tmp_path.rglob("*") if "memory.state" not in str(path)) == before


def test_links_in_the_directory_are_neither_followed_nor_sent(team: Team, tmp_path: Path) -> None:
    ann, bob = team("ann", "bob")
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "private.md").write_text(memory_text("private", "Mine alone."))
    os.symlink(outside / "private.md", ann.root / "link.md")
    os.symlink(outside, ann.root / "folder")
    os.link(outside / "private.md", ann.root / "hard.md")
    report = ann.sync()
    assert report.sent == [] and {"hard.md"} <= report.left_out.keys()
    os.symlink(outside, bob.root / "sub")
    ann.put("sub/new.md", memory_text("new", BODY))
    ann.sync()
    assert "sub/new.md" in bob.sync().left_out
    assert os.listdir(outside) == ["private.md"]


def turned_into_a_link(one: Member) -> None:
    shutil.move(one.root / "sub", one.root.parent / "moved")
    os.symlink(one.root.parent / "moved", one.root / "sub")


def turned_into_a_file(one: Member) -> None:
    shutil.rmtree(one.root / "sub")
    one.put("sub", "no folder")


@pytest.mark.parametrize("spoil", [turned_into_a_link, turned_into_a_file])
def test_what_lies_in_a_folder_that_is_none_any_more_is_told_and_not_deleted_for_all(
    team: Team, spoil: Callable[[Member], None]
) -> None:
    ann, bob = team("ann", "bob")
    ann.put("sub/one.md", memory_text("one", BODY))
    shared(ann, bob, a=BODY, b=BODY, c=BODY)
    before = bob.files()
    spoil(ann)
    report = ann.sync()
    assert report.sent_deletions == [] and report.left_out["sub/one.md"].reason == "path"
    assert bob.sync().deleted == [] and bob.files() == before


def test_a_folder_that_cannot_be_looked_into_is_told_and_not_deleted_for_all(
    team: Team, monkeypatch: pytest.MonkeyPatch
) -> None:
    ann, bob = team("ann", "bob")
    ann.put("sub/one.md", memory_text("one", BODY))
    shared(ann, bob, a=BODY, b=BODY, c=BODY)
    scandir = os.scandir

    def broken(path: str) -> object:
        if path == str(ann.root / "sub"):
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        return scandir(path)

    monkeypatch.setattr(os, "scandir", broken)
    report = ann.sync()
    assert report.sent_deletions == [] and report.left_out["sub/"].reason == "path"
    assert bob.sync().deleted == []


def test_a_folder_that_becomes_a_link_while_the_team_takes_what_was_in_it_ends_no_sync(
    team: Team, monkeypatch: pytest.MonkeyPatch
) -> None:
    ann, bob = team("ann", "bob")
    ann.put("sub/one.md", memory_text("one", BODY))
    push = ann.remote.push

    def spoiled(delta: Delta, *, expected: Manifest) -> PushResult:
        turned_into_a_link(ann)
        return push(delta, expected=expected)

    monkeypatch.setattr(ann.remote, "push", spoiled)
    assert ann.sync().sent == ["sub/one.md"]
    assert bob.sync().taken == ["sub/one.md"]
