"""What a machine could not take in, for its disk or its limits: tried again, and nobody loses a word by it (E4, E6)."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from memdir.errors import DiskError, RemoteError
from memdir.share.known import KnownTeam
from memdir.share.remote import Delta, Manifest, PushResult, TeamCaps, Version, digest_of
from memdir.share.sync import Sync
from memdir.store.store import ChangeSet
from tests.security.fakes import github_token
from tests.share.conftest import Team
from tests.share.remotes import GitPlace, Member, memory_text
from tests.share.test_sync import BODY, forget, in_step, shared

THREE = ("folder", "git", "hub-sqlite")
EACH = pytest.mark.parametrize("kind", THREE)  # the rest is the engine's alone
SMALL = TeamCaps(entry_bytes=400)
LONG = "long " * 100


@pytest.fixture
def kind() -> str:
    return "hub-sqlite"


def edit(member: Member, key: str, old: str, new: str) -> None:
    member.put(key, member.read(key).replace(old, new))


def without_room(member: Member, monkeypatch: pytest.MonkeyPatch, name: str = "write") -> None:
    """A sync while the disk is full."""

    def full(*_: object, **__: object) -> None:
        raise DiskError("No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(ChangeSet, name, full)
        report = member.sync()
    (left,) = report.left_out.values()
    assert left.reason == "disk" and left.remedy


@EACH
def test_a_full_disk_costs_nobody_an_edit(team: Team, monkeypatch: pytest.MonkeyPatch) -> None:
    ann, bob = team("ann", "bob")
    shared(ann, bob, a=memory_text("a", BODY), b=memory_text("b", "x"))
    edit(ann, "a.md", "First line", "Ann's words")
    ann.sync()
    without_room(bob, monkeypatch)
    bob.put("b.md", memory_text("b", "y"))
    edit(bob, "a.md", "Third line", "Bob's words")
    report = bob.sync()
    assert report.reason == "" and report.waiting == [] and not report.left_out
    files = in_step(ann, bob)
    assert sorted(files) == ["a.md", "b.md"]
    assert "Ann's words" in files["a.md"] and "Bob's words" in files["a.md"]


@EACH
@pytest.mark.parametrize("left", ["", "\n \n"])
def test_a_file_that_was_emptied_empties_nobody_elses(team: Team, left: str) -> None:
    """By a full disk, or by a slip."""
    ann, bob = team("ann", "bob")
    shared(ann, bob, a=memory_text("a", BODY))
    ann.put("a.md", left)
    told = ann.sync().left_out["a.md"]
    bob.sync()
    assert told.reason == "not_text" and "empty" in told.told and "memdir restore" in told.remedy
    assert bob.read("a.md") == memory_text("a", BODY) and ann.read("a.md") == left


@EACH
def test_a_file_that_was_emptied_is_in_no_conflict_with_what_a_teammate_makes_of_it(team: Team) -> None:
    ann, bob = team("ann", "bob")
    shared(ann, bob, a=memory_text("a", BODY), b=memory_text("b", BODY), c=memory_text("c", BODY))
    ann.put("a.md", "")
    ann.put("b.md", "\n")
    edit(bob, "a.md", "First line", "Bob's words")
    forget(bob, "b.md")
    bob.sync()
    report = ann.sync()
    assert (report.taken, report.deleted, report.conflicts) == (["a.md"], ["b.md"], [])
    assert sorted(in_step(ann, bob)) == ["a.md", "c.md"] and "Bob's words" in ann.read("a.md")


@pytest.mark.parametrize("kind", ["git"])
@pytest.mark.parametrize("left", [b"", b"\n \n"])
def test_what_was_emptied_in_the_repository_empties_nobody_s(team: Team, place: GitPlace, left: bytes) -> None:
    """By plain git, and a slip: each has the text still, and whoever syncs first gives it again."""
    ann, bob = team("ann", "bob")
    shared(ann, bob, a=memory_text("a", BODY), b=memory_text("b", BODY))
    blob = place.run("hash-object", "-w", "--stdin", stdin=left).split()[0].decode()
    there = place.run("ls-tree", "main").replace(place.run("rev-parse", "main:a.md").strip(), blob.encode())
    tree = place.run("mktree", stdin=there).split()[0].decode()
    commit = place.run("commit-tree", tree, "-p", "main", "-m", "emptied").split()[0].decode()
    place.run("update-ref", "refs/heads/main", commit)
    edit(bob, "a.md", "Third line", "Bob's words")
    assert ann.sync(is_dry=True).sent == ann.sync().sent == ["a.md"]
    assert bob.sync().conflicts == [] and "Bob's words" in in_step(ann, bob)["a.md"]


def test_a_full_disk_costs_nobody_a_deletion(team: Team, monkeypatch: pytest.MonkeyPatch) -> None:
    ann, bob = team("ann", "bob")
    shared(ann, bob, a=memory_text("a", BODY), b=memory_text("b", "x"), c=memory_text("c", "y"))
    forget(ann, "a.md")
    ann.sync()
    without_room(bob, monkeypatch, "delete")
    assert "a.md" in bob.files() and bob.sync().deleted == ["a.md"]
    assert sorted(in_step(ann, bob)) == ["b.md", "c.md"]


def test_of_two_texts_neither_is_lost_where_the_second_cannot_be_kept(
    team: Team, monkeypatch: pytest.MonkeyPatch
) -> None:
    ann, bob = team("ann", "bob")
    shared(ann, bob, a=memory_text("a", BODY), b=memory_text("b", "x"))
    for one in (ann, bob):
        edit(one, "a.md", "Second line", f"{one.name}'s words")
    ann.sync()
    whole = Sync._write

    def no_second(self: Sync, change: ChangeSet, key: str, text: bytes, version: Version | None) -> None:
        if "conflict" in key:
            raise DiskError("No space left on device")
        whole(self, change, key, text, version)

    with monkeypatch.context() as patch:
        patch.setattr(Sync, "_write", no_second)
        bob.sync()
    assert "bob's words" in bob.read("a.md")
    files = in_step(bob, ann)
    assert len(files) == 3 and "ann's words" in str(files) and "bob's words" in str(files)


@EACH
def test_what_a_link_kept_away_comes_when_it_is_gone(team: Team, tmp_path: Path) -> None:
    ann, bob = team("ann", "bob")
    shared(ann, bob, a=memory_text("a", BODY))
    (tmp_path / "outside").mkdir()
    os.symlink(tmp_path / "outside", bob.root / "sub")
    ann.put("sub/new.md", memory_text("new", BODY))
    ann.sync()
    assert bob.sync().left_out["sub/new.md"].remedy == "Remove the link"
    assert list(bob.syncing().status()[0].left_out) == ["sub/new.md"]
    os.unlink(bob.root / "sub")
    assert bob.sync().taken == ["sub/new.md"]
    assert sorted(in_step(ann, bob)) == ["a.md", "sub/new.md"]


@EACH
def test_what_did_not_fit_comes_when_it_does(team: Team) -> None:
    ann, bob = team("ann", "bob")
    for number in range(3):
        ann.put(f"m{number}.md", memory_text(f"m{number}", BODY))
    ann.sync()
    bob.caps = TeamCaps(entries=1)
    report = bob.sync()
    assert len(report.taken) == 1 and {one.reason for one in report.left_out.values()} == {"cap"}
    assert bob.sync().reason == "no_change", "nothing of his own waits"
    forget(bob, report.taken[0])
    assert len(bob.sync().taken) == 1 == len(bob.files()), "there is room for one now"
    bob.caps = TeamCaps()
    assert len(bob.sync().taken) == 1
    assert len(in_step(ann, bob)) == 2


@EACH
@pytest.mark.parametrize("reason", ["secret", "private"])
def test_what_keeps_ones_own_text_at_home_is_named_though_a_teammate_changed_the_same_line(
    team: Team, reason: str
) -> None:
    ann, bob = team("ann", "bob")
    shared(ann, bob, x=memory_text("x", "The key is in the vault."))
    is_secret = reason == "secret"
    ann.put(
        "x.md",
        memory_text("x", f"The key is {github_token()}" if is_secret else "Hers.", "project" if is_secret else "user"),
    )
    edit(bob, "x.md", "vault", "safe")
    bob.sync()
    for report in (ann.sync(), ann.sync(), ann.syncing().status()[0]):
        left = report.left_out["x.md"]
        assert left.reason == reason and ("github-token in line 7" in left.told or not is_secret)
        assert report.reason in (reason, "") and github_token() not in str(left)
    named = [one.fields["file"] for one in ann.events.events if one.name == "team.secret_skipped"]
    assert named == (["x.md", "x.md"] if is_secret else []), "by each sync, and not by a look at how it stands"
    ann.put("x.md", memory_text("x", "The key is in the desk."))
    assert len(in_step(ann, bob)) == 2


def test_an_edit_beneath_a_version_that_is_refused_is_told(team: Team) -> None:
    ann, bob = team("ann", "bob")
    shared(ann, bob, a=memory_text("a", BODY), b=memory_text("b", "x"), c=memory_text("c", "y"))
    bob.caps = SMALL
    edit(ann, "a.md", "First line", LONG)
    ann.sync()
    assert bob.sync().waiting == []
    edit(bob, "a.md", "Third line", "Bob's words")
    for report in (bob.sync(), bob.syncing().status()[0]):
        assert (report.sent, report.waiting, report.reason or "too_large") == ([], ["a.md"], "too_large")
        assert "changed here" in report.left_out["a.md"].told and "another name" in report.left_out["a.md"].remedy
    forget(bob, "a.md")
    assert bob.sync().waiting == ["a.md"] and LONG in ann.read("a.md")
    bob.caps = TeamCaps()
    assert LONG in in_step(bob, ann)["a.md"]


def test_what_others_add_and_delete_does_not_fill_the_note(team: Team, monkeypatch: pytest.MonkeyPatch) -> None:
    ann, bob = team("ann", "bob")
    monkeypatch.setattr("memdir.share.known.MAX_ABSENT", 2)
    shared(ann, bob, a=memory_text("a", BODY), b=memory_text("b", "x"), c=memory_text("c", "y"))
    shared(ann, bob, **{f"more{number}": memory_text("more", "x") for number in range(5)})
    for number in range(5):
        forget(ann, f"more{number}.md")
    assert len(in_step(ann, bob)) == 3
    assert all(Path(one.store.place.known_of_team).read_bytes().count(b".md") == 5 for one in (ann, bob))
    ann.put("more1.md", memory_text("more", "again"))
    forget(bob, "b.md")
    assert sorted(in_step(ann, bob)) == ["a.md", "c.md", "more1.md"]


@EACH
def test_what_waits_for_a_network_does_not_fill_the_note(team: Team, monkeypatch: pytest.MonkeyPatch) -> None:
    """With every command and every turn it is tried again."""

    def cut_off(*_: object, **__: object) -> PushResult:
        raise RemoteError("cut off")

    (ann,) = team("ann")
    shared(ann, a=memory_text("a", BODY))
    edit(ann, "a.md", "First", "Second")
    monkeypatch.setattr(ann.remote, "push", cut_off)
    sizes = {len(Path(ann.store.place.known_of_team).read_bytes()) for _ in range(4) if ann.sync(pushes_only=True)}
    assert len(sizes) == 1


@EACH
def test_of_what_does_not_fit_no_more_is_noted_than_anybody_takes_in(
    team: Team, monkeypatch: pytest.MonkeyPatch
) -> None:
    ann, bob = team("ann", "bob")
    monkeypatch.setattr("memdir.share.known.MAX_ABSENT", 2)
    shared(ann, **{f"m{number}": memory_text(f"m{number}", BODY) for number in range(6)})
    bob.caps = TeamCaps(entries=1)
    for _ in range(2):
        assert len(bob.sync().left_out) == 5
        assert Path(bob.store.place.known_of_team).read_bytes().count(b".md") == 3
    bob.caps = TeamCaps()
    assert len(in_step(ann, bob)) == 6


def test_a_note_that_is_too_large_is_not_taken_for_none(team: Team, monkeypatch: pytest.MonkeyPatch) -> None:
    ann, bob = team("ann", "bob")
    shared(ann, bob, a=memory_text("a", BODY), b=memory_text("b", "x"), c=memory_text("c", "y"))
    forget(bob, "a.md")
    with monkeypatch.context() as patch:
        patch.setattr("memdir.share.known.MAX_KNOWN_BYTES", 100)
        with pytest.raises(DiskError) as error:
            bob.sync()
    assert bob.store.place.known_of_team in error.value.remedy and "a.md" not in bob.files()
    assert sorted(in_step(bob, ann)) == ["b.md", "c.md"]


def test_what_did_not_fit_comes_though_its_text_was_not_kept(team: Team) -> None:
    ann, bob = team("ann", "bob")
    bob.caps = SMALL
    ann.put("a.md", memory_text("a", LONG))
    ann.sync()
    bob.sync()
    for path in Path(bob.store.place.texts_of_team).iterdir():
        path.unlink()
    bob.caps = TeamCaps()
    assert bob.sync().taken == ["a.md"]


@pytest.mark.parametrize("kind", ["folder", "git"])  # a hub takes none
def test_what_a_new_version_finds_harmless_comes(team: Team, monkeypatch: pytest.MonkeyPatch) -> None:
    ann, bob = team("ann", "bob")
    data = memory_text("a", "Looks like a token.").encode()
    ann.remote.push(Delta({"a.md": Version(digest_of(data), "ann")}, {"a.md": data}), expected=Manifest())
    with monkeypatch.context() as patch:
        patch.setattr("memdir.share.judge.secrets_in", lambda *_: (["token"], "token in line 6"))
        assert bob.sync().left_out["a.md"].reason == "secret"
    assert bob.sync().taken == ["a.md"]


def test_a_refused_version_is_no_text_that_was_changed_here(team: Team) -> None:
    """The next version holds a line that came with the refused one, and lacks what made it too large."""
    ann, bob, cleo = team("ann", "bob", "cleo")
    shared(ann, bob, cleo, a=memory_text("a", BODY), b=memory_text("b", "x"))
    cleo.caps = SMALL
    edit(bob, "a.md", "First line.\n", f"First line.\n{LONG}\n")
    edit(bob, "a.md", "Third line.\n", "Third line.\nGood line of Bob.\n")
    in_step(ann, bob)
    assert cleo.sync().left_out["a.md"].reason == "too_large"
    edit(bob, "a.md", f"{LONG}\n", "")
    in_step(bob, ann)
    report = cleo.sync()
    assert (report.taken, report.sent, report.conflicts) == (["a.md"], [], [])
    files = in_step(ann, bob, cleo)
    assert "Good line of Bob." in files["a.md"] and len(files) == 2


def test_a_refused_version_that_was_deleted_does_not_come_back(team: Team) -> None:
    ann, bob, cleo = team("ann", "bob", "cleo")
    shared(ann, bob, cleo, a=memory_text("a", BODY), b=memory_text("b", "x"), c=memory_text("c", "y"))
    cleo.caps = SMALL
    bob.put("a.md", bob.read("a.md") + LONG)
    in_step(ann, bob)
    cleo.sync()
    forget(bob, "a.md")
    in_step(ann, bob)
    assert cleo.sync().deleted == ["a.md"]
    assert sorted(in_step(ann, bob, cleo)) == ["b.md", "c.md"]


def test_what_is_changed_here_under_a_refused_version_waits_and_is_merged(team: Team) -> None:
    ann, bob = team("ann", "bob")
    shared(ann, bob, a=memory_text("a", BODY), b=memory_text("b", "x"))
    bob.caps = SMALL
    edit(ann, "a.md", "First line.\n", f"First line.\n{LONG}\n")
    ann.sync()
    bob.sync()
    edit(bob, "a.md", "Third line", "Bob's words")
    assert bob.sync().sent == [] and "Bob's words" in bob.read("a.md")
    bob.caps = TeamCaps()
    files = in_step(bob, ann)
    assert LONG in files["a.md"] and "Bob's words" in files["a.md"] and len(files) == 2


def test_what_was_refused_is_noted_beside_what_lies_here(team: Team) -> None:
    ann, bob = team("ann", "bob")
    shared(ann, bob, a=memory_text("a", BODY), b=memory_text("b", "x"))
    lies = digest_of(bob.read("a.md").encode())
    bob.caps = SMALL
    ann.put("a.md", ann.read("a.md") + LONG)
    ann.sync()
    bob.sync()
    seen = KnownTeam.load(bob.store.place, bob.where).seen["a.md"]
    assert (seen.version.digest, seen.is_here, seen.refused) == (lies, True, "too_large")
    assert seen.there.digest == digest_of(ann.read("a.md").encode())
    forget(bob, "a.md")
    assert bob.sync().sent_deletions == [], "nobody deletes what they have not seen"


@pytest.mark.parametrize("name", ["aux.md", "longer.md", "taken.md"])
def test_what_was_renamed_and_does_not_travel_stays_with_the_others_under_its_old_name(team: Team, name: str) -> None:
    """A name that is no memory's, a limit, a name that a teammate has taken meanwhile and a second text beyond it."""
    ann, bob = team("ann", "bob")
    shared(ann, bob, old=memory_text("old", BODY), one=memory_text("one", "x"), two=memory_text("two", "y"))
    if name == "taken.md":
        bob.put(name, memory_text("taken", "Bob was first."))
        bob.sync()
    if name != "aux.md":
        ann.caps = TeamCaps(entry_bytes=(ann.root / "old.md").stat().st_size - (name == "longer.md"))
    (ann.root / "old.md").rename(ann.root / name)
    report = ann.sync()
    assert report.left_out and report.sent_deletions == []
    bob.sync()
    assert BODY in bob.read("old.md")
    forget(ann, "two.md")
    ann.sync(), bob.sync()
    assert "two.md" not in bob.files()
    if name != "aux.md":
        ann.caps = TeamCaps()
        files = in_step(ann, bob)
        assert "old.md" not in files and BODY in "".join(files.values()), "and goes when it does"


@pytest.mark.parametrize("kind", ["folder", "git"])
@pytest.mark.parametrize("was", ["First line.", "We deploy on Monday, and Ann says when."])
def test_what_was_edited_as_well_as_renamed_and_does_not_travel_stays_too(team: Team, was: str) -> None:
    """In one step, between two syncs: to the others a deletion, and nothing in its place."""
    ann, bob = team("ann", "bob")
    shared(
        ann, bob, old=memory_text("old", was), **{name: memory_text(name, "x") for name in ("one", "two", "s1", "s2")}
    )
    ann.put("aux.md", ann.read("old.md").replace("First", "Another").replace("Monday", "Friday"))
    (ann.root / "old.md").unlink()
    ann.put("con.md", memory_text("con", "Something else, which is new here and has another name."))
    report = ann.sync()
    assert report.left_out.keys() == {"aux.md", "con.md"} and report.sent_deletions == []
    assert was in in_step(bob)["old.md"]
    forget(ann, "one.md")
    (ann.root / "two.md").unlink()
    assert ann.sync().sent_deletions == ["one.md", "two.md"], "what is not there under another name is deleted"
    (ann.root / "aux.md").rename(ann.root / "new.md")
    (ann.root / "con.md").unlink()
    files = in_step(ann, bob)
    assert list(files) == ["new.md", "s1.md", "s2.md"] and was not in files["new.md"], (
        "and the old one goes when the new one does"
    )


@pytest.mark.parametrize("there", [LONG, "Another text.", ""])
def test_what_was_edited_and_renamed_over_another_and_does_not_travel_stays_too(team: Team, there: str) -> None:
    """Over one that she could not take in, one that she knows, one that is gone."""
    ann, bob = team("ann", "bob")
    shared(ann, bob, **{name: memory_text(name, f"Of {name}: what we decided, and why.") for name in ("old", "a", "b")})
    ann.caps = SMALL
    bob.put("new.md", memory_text("new", there))
    bob.sync(), ann.sync()
    if not there:
        forget(bob, "new.md")
        bob.sync(), ann.sync()
    ann.put("new.md", ann.read("old.md") + (LONG if there != LONG else "And one line more.\n"))
    (ann.root / "old.md").unlink()
    assert ann.sync().sent_deletions == []
    bob.sync()
    assert "Of old" in bob.read("old.md")


def lose_the_answer(ann: Member) -> None:
    """A sync that the remote took, and nobody here heard of it."""
    push = ann.remote.push

    def lost(delta: Delta, *, expected: Manifest) -> PushResult:
        push(delta, expected=expected)
        raise RemoteError("the answer was lost")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ann.remote, "push", lost)
        assert ann.sync().problem


@EACH
@pytest.mark.parametrize("pushes_only", [False, True])
def test_who_is_killed_before_the_answer_is_in_no_conflict_with_oneself(team: Team, pushes_only: bool) -> None:
    ann, bob = team("ann", "bob")
    shared(ann, bob, x=memory_text("x", "The limit is 10."))
    edit(ann, "x.md", "10", "20")
    ann.put("hand.md", memory_text("hand", BODY))
    lose_the_answer(ann)
    edit(ann, "x.md", "20", "30")
    ann.sync(pushes_only=pushes_only)
    files = in_step(ann, bob)
    assert list(files) == ["hand.md", "x.md"] and "is 30" in files["x.md"]
    assert "(hand.md)" in (ann.root / "MEMORY.md").read_text()
    edit(bob, "x.md", "30", "40")
    edit(ann, "x.md", "30", "50")
    assert len(in_step(bob, ann)) == 3, "a real conflict is one"


@EACH
@pytest.mark.parametrize("how", ["by hand", "by a word", "renamed"])
def test_what_is_deleted_before_the_answer_came_is_deleted_for_all(team: Team, how: str) -> None:
    ann, bob = team("ann", "bob")
    shared(ann, bob, **{name: memory_text(name, f"Of {name}.") for name in "abc"})
    ann.put("x.md", memory_text("x", BODY))
    lose_the_answer(ann)
    if how == "by a word":
        forget(ann, "x.md")
    elif how == "by hand":
        (ann.root / "x.md").unlink()
    else:
        (ann.root / "x.md").rename(ann.root / "y.md")
    files = in_step(ann, bob)
    assert list(files) == ["a.md", "b.md", "c.md", *(["y.md"] if how == "renamed" else [])]


@EACH
@pytest.mark.parametrize("is_new", [True, False])
@pytest.mark.parametrize("goes_on", [False, True])
def test_what_a_teammate_makes_of_what_was_sent_without_an_answer_is_taken_in(
    team: Team, is_new: bool, goes_on: bool
) -> None:
    """They had it before them: what they deleted does not come back, and what they changed is no conflict."""
    ann, bob = team("ann", "bob")
    shared(ann, bob, a=memory_text("a", "Of a."), b=memory_text("b", "Of b."), c=memory_text("c", "The limit is 10."))
    key = "new.md" if is_new else "c.md"
    ann.put(key, memory_text(key, f"The limit is 20.\n\n{BODY}"))
    lose_the_answer(ann)
    if goes_on:
        ann.put(key, ann.read(key) + "\nAnn goes on.\n")
    bob.sync()
    edit(bob, key, "20", "30")
    bob.sync()
    files = in_step(ann, bob)
    assert "is 30" in files[key] and ("Ann goes on" in files[key]) == goes_on and len(files) == 3 + is_new
    ann.put(key, memory_text(key, "The limit is 40."))
    lose_the_answer(ann)
    if goes_on:
        edit(ann, key, "40", "50")
    bob.sync()
    forget(bob, key)
    bob.sync()
    files = in_step(ann, bob)
    assert (key in files) == goes_on and len(files) == 2 + is_new + goes_on, (
        "an edit outlives a deletion, and nothing else does"
    )


@EACH
def test_what_was_sent_and_never_came_there_is_an_edit(team: Team, monkeypatch: pytest.MonkeyPatch) -> None:
    """Though the team had that very text before."""
    ann, bob = team("ann", "bob")
    shared(ann, bob, a=memory_text("a", "Of a."), b=memory_text("b", "Of b."), x=memory_text("x", "The limit is 10."))
    edit(bob, "x.md", "10", "20")
    in_step(bob, ann)
    edit(ann, "x.md", "20", "10")

    def cut_off(*_: object, **__: object) -> PushResult:
        raise RemoteError("cut off")

    with monkeypatch.context() as patch:
        patch.setattr(ann.remote, "push", cut_off)
        ann.sync()
    edit(bob, "x.md", "20", "30")
    bob.sync()
    files = in_step(ann, bob)
    assert len(files) == 4 and "is 10" in str(files) and "is 30" in str(files)


@EACH
@pytest.mark.parametrize("is_new", [True, False])
def test_a_directory_that_is_lost_before_the_answer_came_takes_what_was_sent_from_nobody(
    team: Team, is_new: bool
) -> None:
    ann, bob = team("ann", "bob")
    shared(ann, bob, a=memory_text("a", "Of a."), x=memory_text("x", "The limit is 10."))
    if is_new:
        ann.put("y.md", memory_text("y", BODY))
    else:
        edit(ann, "x.md", "10", "20")
    lose_the_answer(ann)
    bob.sync()
    had = bob.files()
    shutil.rmtree(ann.root)
    ann.store.ensure()
    assert in_step(ann, bob) == had


def test_a_teammates_rename_is_taken_in_where_the_team_is_full(team: Team) -> None:
    ann, bob = team("ann", "bob")
    shared(ann, bob, x=memory_text("x", BODY), y=memory_text("y", "x"))
    bob.caps = bob.remote.caps = TeamCaps(entries=2)
    (ann.root / "x.md").rename(ann.root / "z.md")
    ann.sync()
    assert bob.sync().left_out == {} and sorted(bob.files()) == ["y.md", "z.md"]


def test_a_rename_in_a_team_that_is_full_is_one(team: Team) -> None:
    ann, bob = team("ann", "bob")
    shared(ann, bob, old=memory_text("old", BODY), one=memory_text("one", "x"))
    ann.caps = bob.caps = TeamCaps(entries=2)
    (ann.root / "old.md").rename(ann.root / "new.md")
    report = ann.sync()
    assert (report.sent, report.sent_deletions, report.left_out) == (["new.md"], ["old.md"], {})
    assert sorted(in_step(ann, bob)) == ["new.md", "one.md"]
