"""What every remote has to do (E4, E7): ten contracts, for a folder, a git repository and a hub alike."""

from __future__ import annotations

from memdir.share.remote import GONE, Delta, Manifest, Remote, Version, digest_of
from tests.share.conftest import Team

SAVED = 1_700_000_000.0


def delta(author: str = "ann", **texts: bytes | None) -> Delta:
    found = {f"{name}.md": text for name, text in texts.items()}
    versions = {key: Version(GONE if text is None else digest_of(text), author, SAVED) for key, text in found.items()}
    return Delta(versions, {key: text for key, text in found.items() if text is not None})


def known(remote: Remote, before: Manifest | None = None) -> Manifest:
    """What is known after a pull."""
    before = before or Manifest()
    found = remote.pull(before)
    return Manifest({**before.versions, **found.versions}, found.revision)


def test_1_an_empty_remote_has_nothing(team: Team) -> None:
    (ann,) = team("ann")
    found = ann.remote.pull(Manifest())
    assert (dict(found.versions), found.missing, dict(found.refused)) == ({}, frozenset(), {})


def test_2_what_was_put_there_comes_back_with_who_and_when(team: Team) -> None:
    ann, bob = team("ann", "bob")
    result = ann.remote.push(delta(a=b"one\n"), expected=known(ann.remote))
    assert list(result.accepted) == ["a.md"] and not result.refused
    found = bob.remote.pull(Manifest())
    assert found.texts["a.md"] == b"one\n"
    assert (found.versions["a.md"].author, found.versions["a.md"].saved) == ("ann", SAVED)


def test_3_only_what_differs_is_told(team: Team) -> None:
    ann, bob = team("ann", "bob")
    ann.remote.push(delta(a=b"one\n", b=b"two\n"), expected=known(ann.remote))
    seen = known(bob.remote)
    assert not bob.remote.pull(seen).versions
    ann.remote.push(delta(b=b"other\n"), expected=known(ann.remote))
    assert list(bob.remote.pull(seen).versions) == ["b.md"]


def test_4_a_write_needs_what_it_was_made_from(team: Team) -> None:
    ann, bob = team("ann", "bob")
    ann.remote.push(delta(a=b"one\n"), expected=known(ann.remote))
    stale = known(bob.remote)
    ann.remote.push(delta(a=b"two\n"), expected=known(ann.remote))
    result = bob.remote.push(delta("bob", a=b"mine\n"), expected=stale)
    assert (dict(result.accepted), dict(result.refused)) == ({}, {"a.md": "conflict"})
    assert known(ann.remote).versions["a.md"].digest == digest_of(b"two\n")


def test_4_a_write_needs_it_of_its_own_key_and_not_only_the_newest_state(team: Team) -> None:
    """Whoever knows the newest revision may still have an older text of one key, because it could not be taken in."""
    ann, bob = team("ann", "bob")
    ann.remote.push(delta(a=b"one\n", b=b"one\n"), expected=known(ann.remote))
    older = known(bob.remote)
    ann.remote.push(delta(a=b"two\n"), expected=known(ann.remote))
    newest = known(bob.remote, older)
    mixed = Manifest({**newest.versions, "a.md": older.versions["a.md"]}, newest.revision)
    result = bob.remote.push(delta("bob", a=b"mine\n", b=b"mine\n"), expected=mixed)
    assert (list(result.accepted), dict(result.refused)) == (["b.md"], {"a.md": "conflict"})
    texts = bob.remote.pull(Manifest()).texts
    assert (texts["a.md"], texts["b.md"]) == (b"two\n", b"mine\n")


def test_5_a_first_write_does_not_go_over_another(team: Team) -> None:
    ann, bob = team("ann", "bob")
    before = known(bob.remote)
    ann.remote.push(delta(a=b"one\n"), expected=known(ann.remote))
    assert bob.remote.push(delta("bob", a=b"mine\n"), expected=before).refused == {"a.md": "conflict"}


def test_6_a_deletion_is_told_and_needs_the_same(team: Team) -> None:
    ann, bob = team("ann", "bob")
    ann.remote.push(delta(a=b"one\n", b=b"two\n"), expected=known(ann.remote))
    seen = known(bob.remote)
    assert list(ann.remote.push(delta(a=None), expected=known(ann.remote)).accepted) == ["a.md"]
    found = bob.remote.pull(seen)
    assert {key: version.digest for key, version in found.versions.items()} == {"a.md": GONE}
    stale = Manifest({"b.md": Version(digest_of(b"older\n"))}, "")
    assert bob.remote.push(delta("bob", b=None), expected=stale).refused == {"b.md": "conflict"}


def test_7_what_was_deleted_can_be_written_anew(team: Team) -> None:
    ann, bob = team("ann", "bob")
    ann.remote.push(delta(a=b"one\n"), expected=known(ann.remote))
    ann.remote.push(delta(a=None), expected=known(ann.remote))
    seen = known(bob.remote)
    assert list(bob.remote.push(delta("bob", a=b"again\n"), expected=seen).accepted) == ["a.md"]
    assert known(ann.remote).versions["a.md"].digest == digest_of(b"again\n")


def test_8_the_same_write_twice_is_one(team: Team) -> None:
    """An answer may be lost: whoever asks again is not refused, or finds the very text there with the next pull."""
    (ann,) = team("ann")
    before = known(ann.remote)
    ann.remote.push(delta(a=b"one\n"), expected=before)
    result = ann.remote.push(delta(a=b"one\n"), expected=before)
    assert set(result.refused.values()) <= {"conflict"}
    assert known(ann.remote).versions["a.md"].digest == digest_of(b"one\n")


def test_8_a_write_that_clashes_costs_no_deletion(team: Team) -> None:
    """What is known after a refused write is what was known before: a pull then still tells what others deleted."""
    ann, bob = team("ann", "bob")
    ann.remote.push(delta(a=b"one\n", b=b"two\n"), expected=known(ann.remote))
    seen = known(bob.remote)
    ann.remote.push(delta(a=None, b=b"other\n"), expected=known(ann.remote))
    result = bob.remote.push(delta("bob", b=b"mine\n"), expected=seen)
    assert dict(result.refused) == {"b.md": "conflict"}
    found = bob.remote.pull(Manifest(seen.versions, result.revision))
    assert found.versions["a.md"].is_gone and not found.missing


def test_9_names_in_all_scripts_and_texts_of_all_sizes_come_through(team: Team) -> None:
    ann, bob = team("ann", "bob")
    texts = {
        "müller": "ünïcode\r\nzwei\n".encode(),
        "подсказка": b"x" * 60_000,
        "deep/er/file": b"",
        "with space": b"no newline",
    }
    texts |= {f"large {number}": f"{number} {'ж' * 30_000}\n".encode() for number in range(60)}  # six bytes in JSON
    result = ann.remote.push(delta(**texts), expected=known(ann.remote))
    assert not result.refused
    assert bob.remote.pull(Manifest()).texts == {f"{name}.md": text for name, text in texts.items()}


def test_10_many_travel_at_once(team: Team) -> None:
    ann, bob = team("ann", "bob")
    told, before = list[tuple[int, int]](), known(ann.remote)
    ann.remote.on_progress = lambda done, total: told.append((done, total))
    texts = {f"m{number:03}": f"text {number}\n".encode() for number in range(250)}
    assert len(ann.remote.push(delta(**texts), expected=before).accepted) == 250
    assert len(bob.remote.pull(Manifest()).texts) == 250
    assert {total for _, total in told} == {250} and told == sorted(told) and 100 in dict(told), "how far it is"
