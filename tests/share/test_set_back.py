"""A hub that was brought back from a backup, or has lost entries: the machines give it again (E4, E7)."""

from __future__ import annotations

import itertools
import shutil
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from memdir.share.known import KnownTeam
from memdir.share.remote import TeamCaps
from tests.hub.conftest import DATABASES
from tests.hub.servers import HubServer, Postgres, start_hub
from tests.hub.test_serve import run_sql
from tests.share.remotes import HubPlace, member, memory_text
from tests.share.test_not_taken_in import edit
from tests.share.test_sync import BODY, forget, in_step, shared

_numbers = itertools.count()


class Backed:
    """A hub of its own on either database, and a copy of it that can be put back, as docs/how-to/hub.md says."""

    def __init__(self, folder: Path, postgres: Postgres | None) -> None:
        self.copy, self.log, self._postgres = folder / "copy", folder / "log", postgres
        self.file, self._name = folder / "hub.sqlite3", f"back{next(_numbers)}"
        if postgres:
            run_sql(postgres, f"create database {self._name}")
        self.hub: HubServer = start_hub(postgres.url_of(self._name) if postgres else str(self.file), self.log)

    def back_up(self) -> None:
        self.copy.unlink(missing_ok=True)
        if self._postgres:
            subprocess.run(["pg_dump", "-Fc", "-f", str(self.copy), self.hub.database], check=True)
        else:
            self.hub.admin("backup", str(self.copy))

    def set_back(self, *, says_so: bool = True) -> None:
        port, database = self.hub.port, self.hub.database
        self.hub.stop()
        if self._postgres:
            run_sql(self._postgres, f"drop database {self._name}")
            run_sql(self._postgres, f"create database {self._name}")
            subprocess.run(["pg_restore", "--exit-on-error", "-d", database, str(self.copy)], check=True)
        else:
            for end in ("-wal", "-shm"):
                Path(f"{self.file}{end}").unlink(missing_ok=True)
            shutil.copy(self.copy, self.file)
        self.hub = start_hub(database, self.log, port=port)
        if says_so:
            self.hub.admin("restored")


@pytest.fixture(params=DATABASES)
def backed(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Backed]:
    is_postgres = request.param == "postgres"
    if is_postgres and shutil.which("pg_dump") is None:
        pytest.skip("there is no pg_dump here")
    backed = Backed(tmp_path, request.getfixturevalue("postgres") if is_postgres else None)
    yield backed
    backed.hub.stop()


def test_what_was_written_after_the_backup_is_given_again(backed: Backed, tmp_path: Path) -> None:
    place = HubPlace(backed.hub)
    ann, bob, cleo = (member(place, name, tmp_path, time.time) for name in ("ann", "bob", "cleo"))
    shared(ann, bob, cleo, **{name: memory_text(name, BODY) for name in "abcdef"})
    backed.back_up()
    edit(ann, "a.md", "First line", "Today's words")
    ann.put("new.md", memory_text("new", "Also of today."))
    forget(ann, "c.md")
    edit(bob, "b.md", "First line", "Bob's first words")
    in_step(ann, bob, cleo)
    edit(bob, "b.md", "Bob's first words", "Bob's last words")
    in_step(ann, bob)  # Cleo was away
    backed.set_back()
    edit(cleo, "e.md", "First line", "Cleo's words")
    cleo.sync()
    files = in_step(cleo, ann, bob)
    told = "\n".join(files.values())
    assert all(words in told for words in ("Today's words", "Also of today.", "Bob's last words", "Cleo's words"))
    assert "Today's words" in files["a.md"] and files.keys() >= {"a.md", "b.md", "d.md", "e.md", "f.md", "new.md"}
    assert sorted(files) == place.admin.keys()
    assert "c.md" not in files
    assert [key for key in files if "conflict" in key and not key.startswith("b.")] == []
    edit(bob, "a.md", "Third line", "Bob goes on")
    assert "Bob goes on" in in_step(bob, ann, cleo)["a.md"]
    place.admin.connection.close()


def test_what_one_could_not_take_in_before_a_restore_splits_no_team(backed: Backed, tmp_path: Path) -> None:
    place = HubPlace(backed.hub)
    ann, bob = (member(place, name, tmp_path, time.time) for name in ("ann", "bob"))
    for key in ("a.md", "b.md"):
        ann.put(key, memory_text(key, BODY))
    ann.sync()
    bob.caps = bob.remote.caps = TeamCaps(entries=1)
    backed.back_up()
    edit(ann, "b.md", "First line", "Ann's words")
    ann.sync()
    assert bob.sync().left_out["b.md"].reason == "cap"
    backed.set_back()
    bob.caps = bob.remote.caps = TeamCaps()
    bob.remote = place.open("bob", bob.store.place, time.time)
    assert bob.sync().taken == ["b.md"] and "First line" in bob.read("b.md"), "what the hub has"
    assert "Ann's words" in in_step(ann, bob)["b.md"]
    place.admin.connection.close()


def test_what_came_before_the_restore_was_said_is_deleted_by_nobody(backed: Backed, tmp_path: Path) -> None:
    """The hub was started first: what a machine never heard of, it has not deleted."""
    place = HubPlace(backed.hub)
    ann, bob = (member(place, name, tmp_path, time.time) for name in ("ann", "bob"))
    shared(ann, bob, a=memory_text("a", BODY))
    backed.back_up()
    shared(ann, bob, b=memory_text("b", BODY), c=memory_text("c", BODY))
    forget(ann, "b.md")
    in_step(ann, bob)
    backed.set_back(says_so=False)
    bob.put("new.md", memory_text("new", "Written meanwhile."))
    bob.sync()
    backed.hub.admin("restored")
    assert list(in_step(ann, bob)) == ["a.md", "c.md", "new.md"] == place.admin.keys()
    place.admin.connection.close()


@pytest.mark.parametrize("is_taken_after_a_restore", [False, True])
def test_a_backup_that_is_brought_back_twice_splits_no_team(
    backed: Backed, tmp_path: Path, is_taken_after_a_restore: bool
) -> None:
    """As many changes after each restore: what tells the two apart is not how many there were."""
    place = HubPlace(backed.hub)
    ann, bob, cleo = (member(place, name, tmp_path, time.time) for name in ("ann", "bob", "cleo"))
    shared(ann, bob, cleo, a=memory_text("a", BODY))
    backed.back_up()
    backed.set_back()
    if is_taken_after_a_restore:
        in_step(ann, bob, cleo)
        backed.back_up()
        backed.set_back()
    in_step(ann, bob, cleo)
    shared(ann, bob, one=memory_text("one", BODY), two=memory_text("two", BODY))
    backed.set_back()
    shared(cleo, three=memory_text("three", BODY), four=memory_text("four", BODY))
    files = in_step(bob, cleo, ann)
    assert sorted(files) == place.admin.keys() == ["a.md", "four.md", "one.md", "three.md", "two.md"]
    place.admin.connection.close()


def test_what_is_given_again_stays_its_authors(backed: Backed, tmp_path: Path) -> None:
    """Whoever gives it first, under whatever name, and also if the backup knows nothing of whoever wrote it (L2)."""
    place = HubPlace(backed.hub)
    ann, bob = (member(place, name, tmp_path, time.time) for name in ("ann", "bob"))
    shared(ann, bob, a=memory_text("a", BODY))
    backed.back_up()
    cleo = member(place, "cleo", tmp_path, time.time)
    edit(bob, "a.md", "First line", "Bob's words")
    bob.put("new.md", memory_text("new", "What Bob knows."))
    bob.sync()
    cleo.put("late.md", memory_text("late", "What Cleo knows."))
    in_step(cleo, ann, bob)
    backed.set_back()
    (ann.root / "new.md").rename(ann.root / "renamed.md")
    ann.sync()
    told = place.admin.manifest()["entries"]
    assert {one["key"]: one["by"]["name"] for one in told} == {"a.md": "bob", "renamed.md": "bob", "late.md": "cleo"}
    assert backed.hub.admin("purge", place.admin.team, "bob")["removed"] == ["a.md", "renamed.md"]
    ann.sync()
    assert list(ann.files()) == ["late.md"]
    place.admin.connection.close()


@pytest.mark.parametrize("pushes_only", [False, True])
def test_what_a_purged_member_wrote_after_the_backup_comes_back_by_nobody(
    backed: Backed, tmp_path: Path, pushes_only: bool
) -> None:
    """The purge is said once more after the restore, as the page says, and cannot know that text (L2)."""
    place = HubPlace(backed.hub)
    ann, bob, cid = (member(place, name, tmp_path, time.time) for name in ("ann", "bob", "cid"))
    shared(ann, bob, cid, a=memory_text("a", BODY))
    backed.back_up()
    bob.put("late.md", memory_text("late", "What Bob knows since then."))
    in_step(bob, cid)
    backed.hub.admin("purge", place.admin.team, "bob")
    ann.sync()
    backed.set_back()
    backed.hub.admin("remove-member", place.admin.team, "bob", purge=True)
    if pushes_only:  # by a machine that sends before it takes in
        (cid.root / "late.md").rename(cid.root / "renamed.md")
        cid.sync(pushes_only=True)
    cid.sync()
    ann.sync()
    assert list(ann.files()) == ["a.md"] == place.admin.keys()
    assert "late.md" not in cid.files()
    place.admin.connection.close()


def test_what_a_hub_has_lost_is_given_again_and_not_deleted(backed: Backed, tmp_path: Path) -> None:
    """It tells neither the entry nor that it was deleted: nobody has deleted it."""
    place = HubPlace(backed.hub)
    ann, bob = (member(place, name, tmp_path, time.time) for name in ("ann", "bob"))
    shared(ann, bob, a=memory_text("a", BODY), b=memory_text("b", BODY), c=memory_text("c", BODY))
    forget(ann, "c.md")
    ann.sync()
    backed.hub.rows("delete from entries where key = 'a.md'")
    known = KnownTeam.load(bob.store.place, bob.where)
    known.revision = ""  # as when a text had to be asked for again
    known.save()
    report = bob.sync()
    assert (report.deleted, report.sent) == (["c.md"], ["a.md"])
    assert list(in_step(ann, bob)) == ["a.md", "b.md"]
    place.admin.connection.close()
