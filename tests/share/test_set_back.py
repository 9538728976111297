"""A hub that has lost entries: the machines give it again what they have (E4, E7)."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from memdir.share.known import KnownTeam
from tests.hub.servers import HubServer, start_hub
from tests.share.remotes import HubPlace, member, memory_text
from tests.share.test_sync import BODY, forget, in_step, shared


class Backed:
    """A hub of its own."""

    def __init__(self, folder: Path) -> None:
        self.file, self.log = folder / "hub.sqlite3", folder / "log"
        self.hub: HubServer = start_hub(str(self.file), self.log)


@pytest.fixture
def backed(tmp_path: Path) -> Iterator[Backed]:
    backed = Backed(tmp_path)
    yield backed
    backed.hub.stop()


def test_what_a_hub_has_lost_is_given_again_and_not_deleted(backed: Backed, tmp_path: Path) -> None:
    """It tells neither the entry nor that it was deleted: nobody has deleted it."""
    place = HubPlace(backed.hub)
    ann, bob = (member(place, name, tmp_path, time.time) for name in ("ann", "bob"))
    shared(ann, bob, a=memory_text("a", BODY), b=memory_text("b", BODY), c=memory_text("c", BODY))
    forget(ann, "c.md")
    ann.sync()
    with sqlite3.connect(backed.file) as database:
        database.execute("delete from entries where key = 'a.md'")
    known = KnownTeam.load(bob.store.place, bob.where)
    known.revision = ""  # as when a text had to be asked for again
    known.save()
    report = bob.sync()
    assert (report.deleted, report.sent) == (["c.md"], ["a.md"])
    assert list(in_step(ann, bob)) == ["a.md", "b.md"]
    place.admin.connection.close()
