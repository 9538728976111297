"""A machine that lost its note of the team: what others deleted or had purged meanwhile does not come back (E4, L2)."""

from __future__ import annotations

import os
import shutil

import pytest

from tests.share.conftest import Team
from tests.share.remotes import HubPlace, Member, TeamPlace, memory_text
from tests.share.test_not_taken_in import THREE, edit
from tests.share.test_sync import BODY, forget, in_step, shared


@pytest.fixture(params=THREE)
def kind(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def lose_note(member: Member) -> None:
    """All that a sync keeps, and none of the files."""
    shutil.rmtree(os.path.dirname(member.store.place.known_of_team))


def test_what_others_deleted_stays_deleted(team: Team) -> None:
    ann, bob = team("ann", "bob")
    shared(ann, bob, **{f"m{number}": memory_text(f"m{number}", BODY) for number in range(4)})
    lose_note(bob)
    forget(ann, "m1.md")
    edit(ann, "m2.md", "First", "Ann's")
    ann.sync()
    report = bob.sync()
    assert (report.deleted, report.sent) == (["m1.md"], []), "what lies here was there, and Ann had seen it"
    files = in_step(ann, bob)
    assert sorted(files) == ["m0.md", "m2.md", "m3.md"] and "Ann's line" in files["m2.md"]


@pytest.mark.parametrize("kind", ["folder"])
def test_what_others_deleted_is_asked_for_before_anything_is_given(team: Team) -> None:
    ann, bob = team("ann", "bob")
    shared(ann, bob, a=memory_text("a", BODY), b=memory_text("b", BODY), c=memory_text("c", BODY))
    forget(ann, "a.md")
    ann.sync()
    lose_note(bob)
    assert bob.sync(pushes_only=True).sent == []
    assert sorted(in_step(ann, bob)) == ["b.md", "c.md"]


def test_what_is_new_here_or_was_changed_here_goes_to_the_team(team: Team) -> None:
    """Only the very text that was deleted is taken as deleted."""
    ann, bob = team("ann", "bob")
    shared(ann, bob, a=memory_text("a", BODY), b=memory_text("b", BODY), c=memory_text("c", BODY))
    lose_note(bob)
    forget(ann, "a.md")
    ann.sync()
    edit(bob, "a.md", "First", "Bob's")
    bob.put("new.md", memory_text("new", BODY))
    files = in_step(bob, ann)
    assert sorted(files) == ["a.md", "b.md", "c.md", "new.md"] and "Bob's line" in files["a.md"]


@pytest.mark.parametrize("kind", ["folder"])
def test_what_one_deleted_and_writes_again_is_there(team: Team) -> None:
    (ann,) = team("ann")
    shared(ann, a=memory_text("a", BODY), b=memory_text("b", BODY))
    text = ann.read("a.md")
    forget(ann, "a.md")
    ann.sync()
    ann.put("a.md", text)
    assert ann.sync().sent == ["a.md"]


@pytest.mark.parametrize("kind", ["hub-sqlite"])
def test_what_was_purged_stays_purged(team: Team, place: TeamPlace) -> None:
    assert isinstance(place, HubPlace)
    ann, bob = team("ann", "bob")
    ann.put("hers.md", memory_text("hers", "What Ann said."))
    bob.put("his.md", memory_text("his", "What Bob said."))
    in_step(ann, bob)
    lose_note(bob)
    members = place.admin.ask("GET", "members").body["members"]
    (leaving,) = [one["id"] for one in members if one["name"] == "ann"]
    assert place.admin.ask("POST", f"members/{leaving}/purge", {}).status == 200
    report = bob.sync()
    assert (report.deleted, report.sent) == (["hers.md"], [])
    assert place.admin.keys() == ["his.md"] and list(bob.files()) == ["his.md"]
    place.admin.connection.close()
