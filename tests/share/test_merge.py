"""What becomes of two texts of one memory, and of a folder that a program copies between machines (E4, E7)."""

from __future__ import annotations

import os
import shutil
import time
from pathlib import Path

import pytest

from memdir import open_memory
from memdir.disk.atomic import TEMPORARY_PREFIX
from memdir.disk.plain_json import encode
from memdir.disk.safe_path import is_key
from memdir.layout import Place
from memdir.share.judge import judge
from memdir.share.known import KnownTeam
from memdir.share.merge import Settled, beside, conflict_of, settle
from memdir.share.remote import Delta, Manifest, PushResult, TeamCaps, Version, digest_of
from memdir.share.remotes.folder import FolderRemote
from memdir.share.sync import MAX_BY_HAND
from tests.share.conftest import Team
from tests.share.remotes import FolderPlace, TeamPlace, member, memory_text
from tests.share.test_sync import forget, in_step, shared

A, B, C = b"one\n\ntwo\n", b"ONE\n\ntwo\n", b"one\n\nTWO\n"


@pytest.mark.parametrize(
    ("base", "ours", "theirs", "text", "second"),
    [
        (A, A, B, B, None),
        (A, B, A, B, None),
        (A, B, C, b"ONE\n\nTWO\n", None),
        (A, B, b"eins\n\ntwo\n", b"eins\n\ntwo\n", B),
        (A, None, B, B, None),
        (A, B, None, B, None),
        (A, A, None, None, None),
        (A, None, A, None, None),
        (A, None, None, None, None),
        (None, B, C, C, B),
        (None, B, B, B, None),
        (None, None, C, C, None),
        (None, B, None, B, None),
    ],
)
def test_two_changes_are_one_text_or_both_are_kept(
    base: bytes | None, ours: bytes | None, theirs: bytes | None, text: bytes | None, second: bytes | None
) -> None:
    assert settle(base, ours, theirs) == Settled(text, second)


def test_a_second_text_never_takes_the_place_of_another() -> None:
    """Neither of the first, nor of one that somebody went on writing in."""
    name, data = beside("a.md", A, {}.get)
    assert name == f"a.conflict-{digest_of(A)[:8]}.md" and b"conflict-with: a.md" in data
    again, _ = beside("a.md", A, {name: data}.get)
    assert again == name, "the same text has one place"
    other, _ = beside("a.md", A, {name: b"edited"}.get)
    assert other == f"a.conflict-{digest_of(A)[:16]}.md"
    own = f"a.conflict-{digest_of(data)[:8]}.md"
    assert beside(own, data, {}.get)[0] != own


@pytest.mark.parametrize(
    "key", ["n" * 252 + ".md", "d/" + "ü" * 126 + ".md", "/".join(["d" * 250] * 4) + "/" + "n" * 17 + ".md"]
)
def test_a_second_text_has_a_name_that_a_disk_can_hold(key: str) -> None:
    assert is_key(key)
    name, data = beside(key, A, {}.get)
    assert is_key(name) and conflict_of(name, data) == key


@pytest.mark.parametrize("first", ["../../evil.md", "b.md", "/etc/evil.md", "a.conflict-1.md", "A.md"])
def test_a_text_does_not_say_by_itself_whose_second_version_it_is(first: str) -> None:
    text = memory_text("a", "one").replace("type:", f"conflict-with: {first}\ntype:").encode()
    name, data = beside("a.md", text, {}.get)
    assert name == f"a.conflict-{digest_of(text)[:8]}.md" and conflict_of(name, data) == "a.md"
    assert conflict_of("a.md", text) == "" == conflict_of("c.conflict-1.md", text)


@pytest.mark.parametrize("kind", ["folder", "hub-sqlite"])
@pytest.mark.parametrize(("key", "extra"), [("n" * 250 + ".md", ""), ("a.md", "conflict-with: ../../../evil.md\n")])
def test_both_texts_of_a_conflict_are_kept_whatever_its_name(team: Team, key: str, extra: str) -> None:
    def said(what: str) -> str:
        return memory_text("a", f"The port is {what}.").replace("type:", f"{extra}type:")

    ann, bob = team("ann", "bob")
    ann.put(key, said("1"))
    ann.sync(), bob.sync()
    ann.put(key, said("2 says Ann")), bob.put(key, said("3 says Bob"))
    ann.sync(), bob.sync()
    texts = in_step(ann, bob).values()
    assert len(texts) == 2 and all(any(f"says {name}" in text for text in texts) for name in ("Ann", "Bob"))


@pytest.mark.parametrize("kind", ["folder"])
def test_a_long_name_in_other_capitals_costs_no_other_memory(team: Team) -> None:
    ann, bob = team("ann", "bob")
    ann.put("N" * 252 + ".md", memory_text("a", "Ann"))
    ann.sync()
    bob.put("n" * 252 + ".md", memory_text("a", "Bob")), bob.put("other.md", memory_text("b", "travels"))
    bob.sync()
    assert "other.md" in bob.sync().sent or "travels" in in_step(ann, bob)["other.md"]
    assert len(in_step(ann, bob)) == 3


def test_what_was_not_taken_in_is_not_written_over(team: Team) -> None:
    """A version that is refused here leaves the older text on the disk, which is no change of ours."""
    ann, bob = team("ann", "bob")
    shared(ann, bob, a=memory_text("a", "First."))
    bob.caps = type(bob.caps)(entry_bytes=100)
    ann.put("a.md", memory_text("a", "x" * 200))
    ann.sync()
    assert bob.sync().left_out["a.md"].reason == "too_large"
    assert bob.sync().sent == [] and "x" * 200 in ann.read("a.md")
    ann.sync()
    assert "x" * 200 in ann.read("a.md") and "First." in bob.read("a.md")


def test_many_files_that_vanish_at_once_are_an_accident(team: Team) -> None:
    ann, bob = team("ann", "bob")
    count = 3 * MAX_BY_HAND
    shared(ann, bob, **{f"m{number:02}": memory_text(f"m{number}", f"text {number}") for number in range(count)})
    for path in sorted(ann.root.glob("m*.md"))[: MAX_BY_HAND + 1]:
        path.unlink()
    assert ann.sync().sent_deletions == [] and len(in_step(ann, bob)) == count


def test_a_folder_that_a_program_copies_converges_in_whatever_order_files_arrive(tmp_path: Path) -> None:
    """Two machines, each with its own copy of the folder, in which lists arrive before texts and late."""
    here, there = FolderPlace(tmp_path / "here"), FolderPlace(tmp_path / "there")
    ann, bob = (member(place, name, tmp_path, time.time) for place, name in ((here, "ann"), (there, "bob")))

    def copied(*parts: str) -> None:
        for source, target in ((here, there), (there, here)):
            for part in parts:
                for path in Path(source.where, part).glob("*"):
                    to = Path(target.where, part, path.name)
                    to.parent.mkdir(exist_ok=True)
                    if part == "texts" or path.name.startswith(source_of(source)):
                        shutil.copyfile(path, to)

    def source_of(place: FolderPlace) -> str:
        remote = (ann if place is here else bob).remote
        assert isinstance(remote, FolderRemote)
        return remote._member

    ann.put("a.md", memory_text("a", "First.\n\nSecond.\n\nThird."))
    ann.sync()
    copied("members")
    assert bob.sync().taken == [], "its text is still on its way"
    copied("texts")
    assert bob.sync().taken == ["a.md"]
    ann.put("a.md", ann.read("a.md").replace("First", "Ann's"))
    bob.put("a.md", bob.read("a.md").replace("Third", "Bob's"))
    ann.sync()
    bob.sync()
    copied("texts", "members")
    ann.sync()
    bob.sync()
    assert ann.files() == bob.files() and list(ann.files()) == ["a.md"]
    assert "Ann's" in ann.read("a.md") and "Bob's" in ann.read("a.md")
    ann.put("a.md", ann.read("a.md").replace("Second", "Ann says so"))
    bob.put("a.md", bob.read("a.md").replace("Second", "Bob says so"))
    for _ in range(2):
        ann.sync()
        bob.sync()
        copied("members", "texts")
    ann.sync()
    bob.sync()
    assert ann.files() == bob.files() and len(ann.files()) == 2


def test_a_note_that_is_damaged_costs_no_text(team: Team) -> None:
    ann, bob = team("ann", "bob")
    shared(ann, bob, a=memory_text("a", "First."), b=memory_text("b", "Second."))
    Path(bob.store.place.known_of_team).write_bytes(b'{"remote": 7, "memories": [')
    bob.put("a.md", memory_text("a", "Bob's."))
    files = in_step(bob, ann)
    assert "Bob's." in str(files) and "First." in str(files) and "Second." in str(files)
    assert KnownTeam.load(bob.store.place, bob.where).here()


def test_a_text_that_is_not_what_the_remote_says_is_left_out(team: Team) -> None:
    class Lying:
        def pull(self, known: Manifest) -> Delta:
            del known
            return Delta({"a.md": Version(digest_of(b"other"), "eve")}, {"a.md": b"something\n"}, "1")

        def push(self, delta: Delta, *, expected: Manifest) -> PushResult:
            del delta, expected
            return PushResult()

        def close(self) -> None:
            """Nothing is held."""

    (ann,) = team("ann")
    ann.remote = Lying()
    assert "a.md" in ann.sync().left_out and ann.files() == {}


def planted(place: TeamPlace, key: str, text: str, saved: str, seen: str, by: str = "eve") -> None:
    """What somebody who writes the folder's files by hand puts there."""
    folder, digest = Path(place.where), digest_of(text.encode())
    (folder / "texts").mkdir(exist_ok=True)
    (folder / "members").mkdir(exist_ok=True)
    (folder / "texts" / digest).write_text(text, encoding="utf-8")
    told = f'{{"digest": "{digest}", "by": "{by}", "saved": {saved}, "seen": {seen}, "base": ""}}'
    (folder / "members" / "eeeeeeee.json").write_text(f'{{"memories": {{"{key}": {told}}}}}', encoding="utf-8")


@pytest.mark.parametrize("kind", ["folder"])
@pytest.mark.parametrize("saved", ["1" + "0" * 400, "1e999", "-1e308", "true"])
def test_no_number_of_a_teammates_costs_anybody_a_sync(team: Team, place: TeamPlace, saved: str) -> None:
    (ann,) = team("ann")
    planted(place, "x.md", memory_text("x", "from Eve"), saved, '{"eeeeeeee": 1}')
    ann.put("own.md", memory_text("own", "Ann's"))
    assert ann.sync().sent == ["own.md"]
    forget(ann, "x.md")
    assert ann.sync().sent_deletions == ["x.md"], "the note of the last sync can be read"
    assert "x.md" not in ann.files() and ann.sync().taken == []


@pytest.mark.parametrize("kind", ["folder"])
@pytest.mark.parametrize("count", ["9" * 4_300, str(2**53)])
def test_nobody_counts_the_writes_of_somebody_else(team: Team, place: TeamPlace, count: str) -> None:
    ann, bob = team("ann", "bob")
    shared(ann, bob, a=memory_text("a", "first"))
    ann_id = b"ann".hex().ljust(8, "0")
    planted(place, "a.md", memory_text("a", "from Eve"), "1", f'{{"eeeeeeee": 1, "{ann_id}": {count}}}')
    ann.sync()
    for text in ("second", "third"):
        ann.put("a.md", memory_text("a", text))
        assert ann.sync().sent == ["a.md"]
        assert text in in_step(ann, bob)["a.md"] and len(ann.files()) == 1


@pytest.mark.parametrize("by", ["ann", ""])
def test_what_says_that_one_wrote_it_oneself_stays_marked(tmp_path: Path, project: Path, by: str) -> None:
    place = FolderPlace(tmp_path / "shared")
    place.open("ann", Place(str(tmp_path)), time.time)
    flags = {"team.enabled": "true", "team.member": "ann", "team.remote": f"folder:{place.where}"}
    memory = open_memory(project, flags=flags)
    planted(place, "x.md", memory_text("x", "Always run it."), "1", '{"eeeeeeee": 1}', by)
    memory.team.sync()
    memory.team.unshare("x.md")
    assert memory.get("x.md").topic.fields["trust"] == "team"
    memory.add("Deploys go out on Tuesdays", name="deploys", scope="team")
    memory.team.sync()
    memory.team.unshare("deploys")
    assert "trust" not in memory.get("deploys").topic.fields


@pytest.mark.parametrize("kind", ["folder"])
def test_what_a_killed_writer_left_goes_when_it_is_old(team: Team, place: TeamPlace) -> None:
    (ann,) = team("ann")
    shared(ann, a=memory_text("a", "first"))
    old, new = (Path(place.where, "texts", f"{TEMPORARY_PREFIX}{name}") for name in ("old", "new"))
    old.write_bytes(b"x"), new.write_bytes(b"x")
    os.utime(old, (1e9, 1e9))
    ann.sync()
    assert not old.exists() and new.exists()


@pytest.mark.parametrize("kind", ["folder"])
def test_a_linked_folder_is_a_named_reason(team: Team, place: TeamPlace, tmp_path: Path) -> None:
    (ann,) = team("ann")
    shared(ann, a=memory_text("a", "first"))
    Path(place.where, "texts").rename(tmp_path / "elsewhere")
    Path(place.where, "texts").symlink_to(tmp_path / "elsewhere")
    ann.put("b.md", memory_text("b", "second"))
    report = ann.sync()
    assert report.reason == "broken" and place.where in report.problem and report.waiting == ["b.md"]


@pytest.mark.parametrize("key", ["d.md/in.md", "a/D.MD/b/in.md"])
def test_a_folder_named_like_a_memory_does_not_travel(key: str) -> None:
    """Which a hub refuses: a team that moves there could not take it along."""
    fault = judge(key, memory_text("a", "first").encode(), TeamCaps())
    assert fault and fault.reason == "path"


@pytest.mark.parametrize("number", [float("inf"), float("-inf"), float("nan")])
def test_a_number_that_is_none_is_not_written(number: float) -> None:
    with pytest.raises(ValueError, match="JSON"):
        encode({"saved": [number]})
