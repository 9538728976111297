"""A memory stays its author's, whoever brings it back, renames it or settles a conflict over it (L1, L2)."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from memdir import open_memory
from memdir.store.shared import author_of
from memdir.team.commands import conflicts_in, resolve
from tests.hub.servers import HubServer
from tests.share.conftest import Team
from tests.share.remotes import GitPlace, HubPlace, Member, TeamPlace, member, memory_text
from tests.share.test_sync import in_step

EXPORT = memory_text("export", "The export job writes parquet to bucket nine.")


def by(who: Member, key: str) -> str:
    return author_of(who.store.place, key)


def test_what_somebody_else_deletes_and_brings_back_stays_its_authors(team: Team) -> None:
    ann, bob, cat = team("ann", "bob", "cat")
    ann.put("export.md", EXPORT)
    for key in ("a.md", "b.md"):  # one file less is no accident then
        ann.put(key, memory_text(key, f"What Ann says of {key}."))
    for one in (ann, bob, cat):
        one.sync()
    (bob.root / "export.md").unlink()
    assert bob.sync().sent_deletions == ["export.md"]
    assert cat.sync().deleted == ["export.md"]
    bob.put("export.md", EXPORT)
    for one in (bob, cat, ann):
        one.sync()
    assert [by(one, "export.md") for one in (ann, bob, cat)] == ["ann"] * 3


def test_what_somebody_else_renames_stays_its_authors(team: Team) -> None:
    ann, bob, cat = team("ann", "bob", "cat")
    ann.put("export.md", EXPORT)
    ann.sync()
    bob.sync()
    (bob.root / "export.md").rename(bob.root / "parquet.md")
    for one in (bob, cat, ann):
        one.sync()
    assert [by(one, "parquet.md") for one in (ann, bob, cat)] == ["ann"] * 3
    cat.put("parquet.md", EXPORT + "And Cat's line.\n")
    cat.sync()
    bob.sync()
    assert by(bob, "parquet.md") == by(cat, "parquet.md") == "cat", "what one changes is one's own"


@pytest.mark.parametrize("kind", ["folder", "git", "hub-sqlite"])
def test_what_a_sync_took_in_that_was_killed_stays_its_authors(team: Team) -> None:
    ann, bob = team("ann", "bob")
    ann.put("export.md", EXPORT)
    in_step(ann, bob)
    ann.put("export.md", EXPORT + "And Ann's line.\n")
    ann.sync()

    def killed() -> float:
        """At the first look at the clock after the text has come."""
        if "Ann's line" in bob.read("export.md"):
            raise KeyboardInterrupt
        return time.time()

    bob.clock = killed
    with pytest.raises(KeyboardInterrupt):
        bob.sync()
    bob.clock = time.time
    bob.sync(pushes_only=True)
    bob.sync()
    assert by(bob, "export.md") == "ann", "and no word of Bob's own"


def test_what_plain_git_took_out_comes_back_as_its_authors(tmp_path: Path) -> None:
    place = GitPlace(tmp_path / "remote")
    ann, bob = (member(place, name, tmp_path, time.time) for name in ("ann", "bob"))
    keys = [f"n{number}.md" for number in range(10)]
    for key in keys:
        ann.put(key, memory_text(key, f"What Ann says of {key}."))
    ann.sync()
    bob.sync()
    tree = place.run("ls-tree", "main").decode().splitlines()
    kept = "\n".join(row for row in tree if row.split("\t")[1] not in keys[:6])
    made = place.run("mktree", stdin=f"{kept}\n".encode()).decode().strip()
    commit = place.run("commit-tree", made, "-p", "main", "-m", "tidy", stdin=b"").decode().strip()
    place.run("update-ref", "refs/heads/main", commit)
    bob.sync()
    cat = member(place, "cat", tmp_path, time.time)
    cat.sync()
    ann.sync()
    assert {by(one, key) for one in (ann, bob, cat) for key in keys} == {"ann"}


def purge(place: HubPlace, name: str, **order: bool) -> list[str]:
    members = place.admin.ask("GET", "members").body["members"]
    (leaving,) = [one["id"] for one in members if one["name"] == name]
    return list(place.admin.ask("POST", f"members/{leaving}/purge", order).body["removed"])


def test_a_conflict_that_somebody_settled_goes_with_whose_text_it_was(
    make_place: Callable[[str, Path], TeamPlace], tmp_path: Path
) -> None:
    place = make_place("hub-sqlite", tmp_path)
    assert isinstance(place, HubPlace)
    ann, bob = (member(place, name, tmp_path, time.time) for name in ("ann", "bob"))
    ann.put("x.md", memory_text("x", "The port is 7000."))
    ann.sync()
    bob.sync()
    ann.put("x.md", memory_text("x", "The port is 7100 as Ann has it."))
    bob.put("x.md", memory_text("x", "The port is 7200 as Bob has it."))
    for one in (ann, bob, ann):
        one.sync()
    (second,) = conflicts_in(ann.store)
    resolve(ann.store, second)
    ann.sync()
    assert "as Bob has it" in ann.read("x.md")
    assert purge(place, "bob", derived=True) == ["x.md"]
    bob.sync()
    ann.sync()
    assert "x.md" not in ann.files() and "x.md" not in bob.files()
    for one in (ann, bob):
        one.remote.close()
    place.admin.connection.close()


def test_a_purge_leaves_what_another_wrote_and_they_only_took_away_and_brought_back(
    hubs: dict[str, HubServer], memdir_command: str, project: Path, tmp_path: Path
) -> None:
    place = HubPlace(hubs["hub-sqlite"])
    url, homes = f"http://127.0.0.1:{hubs['hub-sqlite'].port}", (tmp_path / "ann", tmp_path / "bob")
    for home in homes:
        token = hubs["hub-sqlite"].member(place.admin, home.name).token
        words = [memdir_command, "join", url, "--home", str(home), "--project", str(project)]
        subprocess.run(words, input=f"{token}\n", text=True, capture_output=True, timeout=60, check=True)
    ann, bob = (open_memory(project, home=home) for home in homes)
    said = ("The export job writes parquet to bucket nine", "The second tunnel leads to staging")
    keys = [ann.add(text).memory.key for text in said]
    ann.team.share(*keys)
    ann.team.sync()
    bob.team.sync()
    bob.team.unshare(keys[0])
    bob.forget(keys[1], scope="team")
    bob.team.sync()
    ann.team.sync()
    bob.undo(scope="team")
    bob.undo()
    bob.team.sync()
    ann.team.sync()
    assert [author_of(one.place, key) for one in (ann, bob) for key in keys] == ["ann"] * 4
    ann.team.unshare(keys[0])
    ann.team.sync()
    assert purge(place, "bob") == []
    report = ann.team.sync()
    assert (report.purged, report.deleted) == ([], [])
    assert ann.get(keys[0]) and ann.get(f"team/{keys[1]}")
    place.admin.connection.close()
