"""Whose a text is: whoever sent it first, under whatever name and whoever sends it again; a purge finds their words
wherever they stand, and nobody else's (L1, L2)."""

from __future__ import annotations

import asyncio
import sqlite3
import subprocess
from collections.abc import Callable, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

from memdir.disk.shipped import shipped_text
from memdir.hub.hub_database import SQL, Author, Change, HubDatabase
from memdir.hub.jobs import ProposedChange, ask_for, finish, take
from memdir.hub.sqlite_database import MOST_LATEST, SqliteDatabase
from memdir.share.remote import digest_of
from tests.hub.servers import Client, HubServer, now, start_hub

Join = Callable[..., Client]
EXPORT = "The export job writes parquet to bucket nine."
VPN = "Staging is reached by the second tunnel only."


def purge(team: Client, member: Client, **order: bool) -> Any:
    return team.ask("POST", f"members/{member.member}/purge", order).body


def whose(team: Client) -> dict[str, str]:
    return {one["key"]: one["by"]["name"] for one in team.manifest()["entries"]}


def texts(hub: HubServer, team: Client) -> str:
    return str(hub.rows("select content from versions where team = ?", team.team))


def test_a_text_that_somebody_else_deletes_and_brings_back_stays_its_authors(team: Client, join: Join) -> None:
    bob, cat = join("bob"), join("cat")
    etag = bob.put("export.md", EXPORT).body["etag"]
    assert cat.delete("export.md", etag).status == 200
    assert cat.put("export.md", EXPORT).status == 201
    assert whose(team) == {"export.md": "bob"}
    assert team.get("export.md").headers["memdir-by"] == bob.member
    assert purge(team, cat, derived=True)["removed"] == [], "who brought it back wrote none of it"
    assert team.get("export.md").data == EXPORT.encode()
    assert purge(team, bob)["removed"] == ["export.md"]


def test_a_text_under_another_name_is_still_its_authors_and_goes_with_them(
    hub: HubServer, team: Client, join: Join
) -> None:
    bob = join("bob")
    etag = bob.put("vpn.md", VPN).body["etag"]
    team.batch(
        {"op": "delete", "key": "vpn.md", "ifMatch": etag},
        {"op": "put", "key": "tunnel.md", "ifMatch": None, "content": VPN},
    )
    assert whose(team) == {"tunnel.md": "bob"}
    assert purge(team, bob)["removed"] == ["tunnel.md"]
    assert VPN not in texts(hub, team)
    assert team.put("again.md", VPN).kind == "purged", "under no name"


def test_nobody_gives_words_to_another(team: Client, join: Join) -> None:
    bob, cat = join("bob"), join("cat")
    bob.put("his.md", VPN)
    named = {"by": {"id": bob.member, "name": "bob"}, "author": bob.member, "member": bob.member}
    cat.batch({"op": "put", "key": "hers.md", "ifMatch": None, "content": EXPORT, **named})
    assert whose(team) == {"his.md": "bob", "hers.md": "cat"}
    assert purge(team, bob, derived=True)["removed"] == ["his.md"]


def lose(hub: HubServer, team: Client, *members: Client) -> None:
    """As after a restore: the backup knows neither the texts nor these members."""
    for table in ("entries", "versions"):
        hub.rows(f"delete from {table} where team = ?", team.team)
    for member in members:
        hub.rows("delete from members where team = ? and id = ?", team.team, member.member)


def given_again(seen: Mapping[str, Any]) -> list[dict[str, object]]:
    return [
        {"op": "put", "key": key, "ifMatch": None, "content": one["content"], "author": one["by"]["name"]}
        | {"seal": one["seal"]}
        for key, one in seen.items()
    ]


def test_what_several_members_wrote_is_given_again_as_a_whole_or_not_at_all(
    hub: HubServer, team: Client, join: Join
) -> None:
    bob, cat, dan = join("bob"), join("cat"), join("dan")
    bob.put("export.md", EXPORT)
    dan.put("vpn.md", VPN)
    seen = {one["key"]: one for one in cat.manifest(more="&content=1")["entries"]}
    lose(hub, team)
    # In the way of the second of two revisions.
    columns, values = "team, rev, key, op, size, member, saved, changed, reason", "?, 4, 'x', 'put', 0, '', 0, 0, ''"
    hub.rows(f"insert into versions ({columns}) values ({values})", team.team)
    batch = {"changes": given_again(seen)}
    assert cat.ask("POST", "batch", batch).status == 500
    assert whose(team) == {}, "of a request that failed nothing was done"
    hub.rows("delete from versions where team = ?", team.team)
    assert [one["status"] for one in cat.ask("POST", "batch", batch).body["results"]] == [201, 201]
    assert whose(team) == {"export.md": "bob", "vpn.md": "dan"}


def test_what_a_hub_has_lost_and_another_gives_back_is_its_authors(hub: HubServer, team: Client, join: Join) -> None:
    bob, cat, dan = join("bob"), join("cat"), join("dan")
    bob.put("export.md", EXPORT)
    dan.put("vpn.md", VPN)
    seen = {one["key"]: one for one in cat.manifest(more="&content=1")["entries"]}
    lose(hub, team, dan)
    assert [one["status"] for one in cat.batch(*given_again(seen))["results"]] == [201, 201]
    assert whose(team) == {"export.md": "bob", "vpn.md": "dan"}
    (left,) = [one for one in team.ask("GET", "members").body["members"] if one["name"] == "dan"]
    assert not left["active"] and join("dan").member == left["id"], "whom the backup did not know is let in by nobody"
    audit = team.ask("GET", "audit?limit=5").body["actions"]
    assert {one["by"]["name"] for one in audit if one["action"] == "put"} == {"cat"}, "who gave it"
    assert purge(team, cat, derived=True)["removed"] == []
    assert purge(team, bob)["removed"] == ["export.md"]


def test_no_seal_lets_anybody_act_in_a_teammates_name(team: Client, join: Join) -> None:
    """A text that the hub has not lost is its author's by its ETag; whoever puts it back did so."""
    bob, cat = join("bob"), join("cat")
    bob.put("policy.md", VPN)
    (his,) = cat.manifest(more="&content=1")["entries"]
    etag = bob.put("policy.md", EXPORT, his["etag"]).body["etag"]
    told = {"author": "bob", "seal": his["seal"]}
    done = cat.batch({"op": "put", "key": "policy.md", "ifMatch": etag, "content": VPN, **told})
    assert done["results"][0]["status"] == 200 and whose(team) == {"policy.md": "bob"}
    versions = team.ask("GET", "versions?key=policy.md").body["versions"]
    assert [one["by"]["name"] for one in versions] == ["cat", "bob", "bob"]
    assert team.ask("GET", "audit?limit=1").body["actions"][0]["by"]["name"] == "cat"


def test_an_older_text_of_a_purged_member_comes_back_under_no_name_though_it_was_pruned(
    hub: HubServer, team: Client, join: Join
) -> None:
    bob, cat = join("bob"), join("cat")
    old = bob.put("export.md", EXPORT).body["etag"]
    bob.put("export.md", f"{EXPORT} And more.", old)
    hers = cat.put("hers.md", VPN).body["etag"]
    assert cat.delete("hers.md", hers).status == 200
    gone = bob.put("hers.md", VPN).body["etag"]
    assert bob.delete("hers.md", gone).status == 200
    hub.rows("update versions set content = null where team = ? and rev not in (2)", team.team)  # as `prune` does
    told = purge(team, bob)
    assert (told["removed"], told["derived"]) == (["export.md"], [])
    assert team.put("again.md", EXPORT).kind == "purged"
    assert team.put("hers.md", VPN).status == 201, "what he only brought back is not his"


def test_no_seal_gives_words_to_another(hub: HubServer, team: Client, join: Join) -> None:
    bob, cat, other = join("bob"), join("cat"), hub.team(f"beside {team.team}")
    bob.put("his.md", VPN)
    hub.member(other, "bob").put("his.md", EXPORT)
    (his,), (elsewhere,) = (one.manifest(more="&content=1")["entries"] for one in (team, other))
    forged = (
        {"author": "bob", "seal": his["seal"]},  # of another text
        {"author": "bob", "seal": elsewhere["seal"]},  # of this text, by a member of that name in another team
        {"author": "bob", "seal": "0" * 64},
        {"author": "bob", "seal": "\u00e9" * 64},
        {"author": "bob", "seal": None},
        {"author": 1, "seal": his["seal"]},
        {"author": "\ud800", "seal": his["seal"]},
    )
    for number, told in enumerate(forged):
        text = EXPORT if number == 1 else f"{EXPORT} {number}"
        cat.batch({"op": "put", "key": f"hers{number}.md", "ifMatch": None, "content": text, **told})
    assert whose(team) == {"his.md": "bob"} | {f"hers{number}.md": "cat" for number in range(len(forged))}


def test_a_sentence_that_somebody_took_over_is_found_by_the_purge(hub: HubServer, team: Client, join: Join) -> None:
    bob, cat = join("bob"), join("cat")
    bob.put("x.conflict-1.md", f"---\nconflict-with: x.md\n---\n\n{EXPORT}\n")
    cat.put("x.md", f"---\nname: x\n---\n\n{EXPORT}\n")
    cat.put("y.md", f"- Cat's own words stand here.\n- {EXPORT.rstrip('.')}\n")
    cat.put("z.md", "Cat's alone, every word of it.")
    assert purge(team, cat)["removed"] == ["y.md", "z.md"], "in x.md there is not a word of hers"
    assert team.get("x.md").status == 200
    told = purge(team, bob)
    assert (told["removed"], told["derived"]) == (["x.conflict-1.md"], ["x.md"])
    assert purge(team, bob, derived=True)["removed"] == ["x.md"], "also once his own texts are erased"
    assert EXPORT[:-1] not in texts(hub, team)


def test_what_a_dream_made_of_two_members_texts_is_named_for_both(hub: HubServer, team: Client, join: Join) -> None:
    bob, cat = join("bob"), join("cat")
    kept, gone = (one.put(f"{name}.md", text).body["etag"] for one, name, text in ((cat, "c", EXPORT), (bob, "b", VPN)))
    merged = "In other words than either of the two had chosen."
    changes = [
        ProposedChange("put", "c.md", kept, merged, "c.md takes in b.md", "c.md"),
        ProposedChange("delete", "b.md", gone, None, "c.md takes in b.md", "c.md"),
    ]

    async def dreamt(database: HubDatabase) -> bool:
        await ask_for(database, team.team, "dream", 1)
        job = await take(database, now())
        return job is not None and await finish(database, job, changes, now())

    assert hub.do(dreamt)
    (proposal,) = cat.ask("GET", "proposals").body["proposals"]
    assert cat.ask("POST", f"proposals/{proposal['id']}", {"decision": "accept"}).status == 200
    assert purge(team, bob)["derived"] == ["c.md"]
    assert purge(team, bob, derived=True)["removed"] == ["c.md"]
    assert merged not in texts(hub, team)


def test_what_goes_is_told_as_going_only_and_with_whose_words(hub: HubServer, team: Client, join: Join) -> None:
    bob = join("bob")
    first = bob.put("x.md", EXPORT).body["etag"]
    second = team.put("x.md", f"{EXPORT}\n{VPN}", first).body["etag"]
    bob.put("x.md", f"{EXPORT}\n{VPN}\nAnd bob's last word on it.", second)
    told = purge(team, bob)
    assert (told["removed"], told["derived"], told["mixed"]) == (["x.md"], [], ["x.md"])


def test_what_a_purge_removed_is_listed(memdir_command: str, tmp_path: Path) -> None:
    server = start_hub(str(tmp_path / "hub.sqlite3"), tmp_path / "log")
    try:
        team = server.team("acme")
        bob = server.member(team, "bob")
        etag = team.put("x.md", VPN).body["etag"]
        bob.put("x.md", f"{VPN}\n{EXPORT}", etag)
        bob.put("his.md", "what bob said")
    finally:
        server.stop()
    words = [memdir_command, "hub", "admin", "purge", "acme", "bob", "--database", str(tmp_path / "hub.sqlite3")]
    for more in (["--dry-run"], []):
        shown = subprocess.run([*words, *more], capture_output=True, text=True, check=True, input="").stdout
        assert "2 entries" in shown and "\n  his.md\n" in shown, shown
        assert "\n  x.md, with what others wrote in it\n" in shown and "they stay" not in shown


def test_a_text_and_the_versions_of_an_entry_are_found_by_an_index_however_long_the_log_is(tmp_path: Path) -> None:
    async def make() -> None:
        database = SqliteDatabase(str(tmp_path / "hub.sqlite3"))
        await database.connect()
        await database.close()

    asyncio.run(make())
    asked = {
        "sqlite_text_known": (("t", "e"), ("texts_latest USING PRIMARY KEY (digest=?)", "texts_settled USING PRIMARY")),
        "sqlite_texts_sent": (("{}",), ("SEARCH text USING PRIMARY KEY (digest=?)", "(team=? AND rev=?)")),
        "versions_of_entry": (("t", 9, "a.md", 2), ("COVERING INDEX versions_of_entry (team=? AND rev<?)",)),
    }
    with closing(sqlite3.connect(tmp_path / "hub.sqlite3")) as opened:
        for name, (given, expected) in asked.items():
            plan = str(opened.execute(f"explain query plan {SQL[name]}", given).fetchall())
            assert all(one in plan for one in expected) and "SCAN versions" not in plan, plan


def test_what_went_among_the_rest_is_found_again(tmp_path: Path) -> None:
    """The latest texts are kept by themselves for a moment. Who sent one first, and what was purged, stays known."""
    bob, cat = Author("t_1", "m_bob"), Author("t_1", "m_cat")

    def put(key: str, text: str) -> Change:
        return Change("put", key, None, digest_of(text.encode()), text, len(text), 1)

    async def told() -> tuple[list[str], list[str]]:
        database = SqliteDatabase(str(tmp_path / "hub.sqlite3"))
        await database.connect()
        await database.run(SQL["team_made"], "t_1", "acme", 10_000, 100, 10**6, 1, "")
        await database.apply(bob, [put(f"n{number}.md", f"text {number}") for number in range(1, 2 + MOST_LATEST)], 1)
        await database.run(SQL["version_purged"], 1, "t_1", 2)
        await database.news()
        left = await database.run("select count(*) from texts_latest")
        _, done = await database.apply(cat, [put("a.md", "text 1"), put("b.md", "text 2"), put("c.md", "text c")], 1)
        rows = await database.run("select member from entries where rev > ? order by rev", 1 + MOST_LATEST)
        assert left == [(0,)] and await database.run(database.text_known, "t_1", digest_of(b"text 1"))
        await database.close()
        return [one.outcome for one in done], [member for (member,) in rows]

    assert asyncio.run(told()) == (["created", "purged", "created"], ["m_bob", "m_cat"])


def test_a_hub_from_before_finds_out_whose_its_texts_are(tmp_path: Path) -> None:
    place = tmp_path / "hub.sqlite3"
    with closing(sqlite3.connect(place)) as opened:
        opened.executescript("create table hub_migrations (number integer primary key, name text not null);")
        for number, name in enumerate(("0001_hub", "0002_restored_purged_together", "0003_tokens_used"), 1):
            opened.executescript(shipped_text(f"hub/migrations/sqlite/{name}.sql"))
            opened.execute("insert into hub_migrations values (?, ?)", (number, name))
        for rev, (op, member) in enumerate((("put", "m_bob"), ("delete", "m_cat"), ("put", "m_cat")), 1):
            etag = "e" if op == "put" else None
            row = ("t", rev, "x.md", op, etag, 1, etag, member, rev, rev, "")
            columns = "team, rev, key, op, etag, size, content, member, saved, changed, reason"
            opened.execute(f"insert into versions ({columns}) values ({', '.join('?' * len(row))})", row)
        opened.execute("insert into entries values ('t', 'x.md', 'x.md', 3, 'e', 1, 0, '', 'm_cat', 3, 3)")
        opened.commit()
    server = start_hub(str(place), tmp_path / "log")
    try:
        assert server.rows("select member from entries") == [("m_bob",)]
        assert server.rows("select digest, rev from texts") == [("e", 1), ("e", 3)]
    finally:
        server.stop()
