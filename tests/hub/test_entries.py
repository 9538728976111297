"""Entries over HTTP, the same on SQLite and PostgreSQL (E4, E6, E7)."""

from __future__ import annotations

import asyncio
import hashlib
import json
import threading
import time
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from starlette.requests import Request

from memdir.hub.entry_routes import EntryRoutes
from memdir.hub.hub_database import Author, Change, HubDatabase, Row
from memdir.hub.hub_state import Hub, Waiting
from memdir.hub.people import add_team, purge
from memdir.hub.sqlite_database import SqliteDatabase
from memdir.share.remote import TeamCaps, digest_of
from tests.hub.servers import Client, HubServer, now, start_hub, waiting_clients

Join = Callable[..., Client]
NOTE = "---\nname: Pooling\ndescription: how we pool\ntype: project\n---\n\nPool size is 20.\n"


def etag_of(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def test_what_one_member_writes_another_reads_with_its_author_and_time(team: Client, join: Join) -> None:
    bob = join("bob")
    made = bob.ask("PUT", "entries/db/pool.md", NOTE.encode(), If_None_Match="*", Memdir_Saved="2026-09-01T10:00:00Z")
    assert (made.status, made.body) == (201, {"key": "db/pool.md", "etag": etag_of(NOTE), "revision": 1})
    got = team.get("db/pool.md")
    assert (got.status, got.data.decode(), got.headers["etag"]) == (200, NOTE, f'"{etag_of(NOTE)}"')
    assert got.headers["memdir-by"] == bob.member
    (one,) = team.manifest()["entries"]
    assert (one["by"], one["saved"]) == ({"id": bob.member, "name": "bob"}, "2026-09-01T10:00:00Z")
    assert team.get("db/pool.md", If_None_Match=f'"{etag_of(NOTE)}"').status == 304


def test_a_text_stays_as_it_is_to_the_byte(team: Client) -> None:
    texts = ("", "a\r\nb\rc\n\n", "ünï — 日本語 \U0001f9e0", "word and " * 7_281, "\u2028'\"\\%s $1 ?;--")
    for number, text in enumerate(texts):
        assert team.put(f"n{number}.md", text).status == 201
        assert team.get(f"n{number}.md").data == text.encode()


def test_a_write_takes_the_version_it_was_made_from(team: Client, join: Join) -> None:
    bob = join("bob")
    first = team.put("a.md", "one").body["etag"]
    assert team.ask("PUT", "entries/a.md", b"two").status == 428
    assert team.put("a.md", "two").status == 412
    assert bob.put("a.md", "two", first).body["revision"] == 2
    late = team.put("a.md", "three", first)
    assert (late.status, late.kind) == (412, "conflict")
    assert late.body["current"] == {"etag": etag_of("two"), "revision": 2, "deleted": False}
    assert team.get("a.md").data == b"two"


def test_a_repeated_write_is_no_second_one(team: Client) -> None:
    """The answer was lost, the client sends it again."""
    first = team.put("a.md", "one").body
    assert team.put("a.md", "one").body == first
    second = team.put("a.md", "two", first["etag"]).body
    assert team.put("a.md", "two", first["etag"]).body == second
    gone = team.delete("a.md", second["etag"])
    assert team.delete("a.md", second["etag"]).body == gone.body
    assert team.manifest(0)["revision"] == 3


def test_a_deletion_is_told_and_the_name_is_free_again(team: Client) -> None:
    etag = team.put("a.md", "one").body["etag"]
    team.put("b.md", "two")
    assert team.delete("a.md", etag_of("other")).status == 412
    assert team.delete("a.md", etag).status == 200
    assert team.get("a.md").status == 410
    assert team.delete("nothing.md", etag).status == 404
    assert [(one["key"], one["deleted"]) for one in team.manifest(2)["entries"]] == [("a.md", True)]
    assert team.keys() == ["b.md"], "who begins is not told of what is gone"
    assert team.put("a.md", "one again", etag).body["current"] == {"etag": None, "revision": 3, "deleted": True}
    assert team.put("a.md", "one again").status == 201
    assert team.keys() == ["a.md", "b.md"]


def test_a_batch_judges_each_change_by_itself(team: Client) -> None:
    team.put("old.md", "old")
    stale = {"op": "put", "key": "old.md", "content": "new", "ifMatch": etag_of("other")}
    answer = team.batch(
        {"op": "put", "key": "a.md", "content": "one", "ifMatch": None},
        stale,
        {"op": "put", "key": "../up.md", "content": "x", "ifMatch": None},
        {"op": "put", "key": "CLAUDE.md", "content": "x", "ifMatch": None},
        {"op": "delete", "key": "none.md", "ifMatch": etag_of("x")},
        {"op": "put", "key": "big.md", "content": "x" * 65_537, "ifMatch": None},
        {"op": "put", "key": "b.md", "content": "two", "ifMatch": None},
    )
    assert [one["status"] for one in answer["results"]] == [201, 412, 422, 422, 404, 413, 201]
    assert answer["results"][1]["current"]["etag"] == etag_of("old")
    assert answer["revision"] == 3
    assert team.keys() == ["a.md", "b.md", "old.md"]


def test_a_rename_in_case_only_passes_in_one_batch_and_two_such_names_never_live_together(team: Client) -> None:
    etag = team.put("Notes.md", "one").body["etag"]
    team.put("todo.md", "one")
    for name in ("notes.md", "NOTES.md", "Todo.md"):
        clash = team.put(name, "one")
        assert (clash.status, clash.kind) == (409, "same-name")
    answer = team.batch(
        {"op": "put", "key": "notes.md", "content": "one", "ifMatch": None},
        {"op": "delete", "key": "Notes.md", "ifMatch": etag},
    )
    assert [one["status"] for one in answer["results"]] == [201, 200]
    assert team.keys() == ["notes.md", "todo.md"]


def test_pages_of_a_manifest_miss_nothing(team: Client) -> None:
    changes = [{"op": "put", "key": f"n{n:03}.md", "content": f"text {n}", "ifMatch": None} for n in range(100)]
    team.batch(*changes)
    found: dict[str, str] = {}
    since, more = 0, True
    while more:
        page = team.manifest(since, "&limit=7&content=1")
        found |= {one["key"]: one["content"] for one in page["entries"]}
        since, more = page["revision"], page["more"]
    assert found == {change["key"]: change["content"] for change in changes}
    assert team.manifest(since) == {"revision": 100, "restored": 0, "more": False, "entries": [], "purged": []}
    again = team.ask("GET", f"entries?since={since}", If_None_Match=f'"r{since}"')
    assert again.status == 304


def test_a_purge_in_the_middle_of_an_answer_is_not_passed_over(hub: HubServer, team: Client, join: Join) -> None:
    """The answer is made of several looks at the database: what is committed between them comes with the next one."""
    bob = join("bob")
    bob.put("his.md", "bob's own words")
    since = team.manifest()["revision"]
    team.put("hers.md", "ana's")

    async def answered(database: HubDatabase) -> dict[str, Any]:
        held = PurgesBetween(database, lambda: purge_now(database, team, bob))
        asked = Request({"type": "http", "method": "GET", "path": "/", "query_string": f"since={since}".encode()})
        asked.scope |= {"headers": [(b"authorization", f"Bearer {team.token}".encode())]}
        asked.scope |= {"path_params": {"team": team.team}}
        return dict(json.loads((await EntryRoutes(Hub(held)).manifest(asked)).body))

    page = hub.do(answered)
    later = team.manifest(page["revision"])
    assert [one["key"] for one in (*page["entries"], *later["entries"])] == ["hers.md", "his.md"]
    assert [one["member"]["name"] for one in (*page["purged"], *later["purged"])] == ["bob"]


class PurgesBetween:
    """A database on which somebody is purged right before it is asked who was."""

    def __init__(self, database: HubDatabase, purges: Callable[[], Awaitable[object]]) -> None:
        self._database, self._purges = database, purges

    def __getattr__(self, name: str) -> Any:
        return getattr(self._database, name)

    async def run(self, statement: str, *values: object) -> list[Row]:
        if "purged > ?" in statement:
            await self._purges()
        return await self._database.run(statement, *values)


async def purge_now(database: HubDatabase, team: Client, member: Client) -> None:
    async with database.transaction() as held:
        await purge(held, Author(team.team, team.member), member.member, now(), derived=False)


def test_a_purged_text_is_not_written_again_and_its_name_is_free(hub: HubServer, team: Client, join: Join) -> None:
    """A machine that lost its note would send it."""
    bob = join("bob")
    etag = bob.put("his.md", "bob's own words").body["etag"]
    bob.put("his.md", "bob's own words, longer", etag)
    hub.admin("purge", team.team, "bob")
    for text in ("bob's own words", "bob's own words, longer"):
        refused = team.put("his.md", text)
        assert (refused.status, refused.kind) == (409, "purged")
        (one,) = team.batch({"op": "put", "key": "his.md", "content": text, "ifMatch": None})["results"]
        assert (one["status"], one["error"]["kind"]) == (409, "purged")
    new = team.put("his.md", "ana's words").body["etag"]
    assert team.put("his.md", "bob's own words", new).kind == "purged", "nor over something else"
    assert team.get("his.md").data == b"ana's words"


def test_what_is_erased_stands_in_no_file_of_the_embedded_database(hub: HubServer, team: Client, join: Join) -> None:
    if hub.database.startswith("postgresql"):
        return  # its vacuum overwrites
    bob, words = join("bob"), "a word that nobody keeps " * 400
    bob.put("his.md", words)
    old = team.put("hers.md", f"{words} of ana's").body["etag"]
    team.put("hers.md", "fine", old)
    files = [Path(hub.database + end) for end in ("", "-wal")]
    assert any(b"a word that nobody keeps" in file.read_bytes() for file in files)
    (version,) = [one["revision"] for one in team.ask("GET", "versions?key=hers.md").body["versions"][1:]]
    assert team.ask("POST", f"versions/{version}/redact").status == 200
    assert team.ask("POST", f"members/{bob.member}/purge", {}).status == 200
    assert not any(b"a word that nobody keeps" in file.read_bytes() for file in files)


def test_the_log_of_versions_is_bounded_and_loses_its_oldest_texts(hub: HubServer) -> None:
    team, etag = hub.team(f"writes much {time.time()}", team_bytes=70_000), None
    for number in range(36):
        etag = team.put("a.md", f"number {number} " + "of many words " * 4_000, etag).body["etag"]
    ((held,),) = hub.rows("select sum(size) from versions where team = ? and content is not null", team.team)
    assert held < 8 * 70_000 + 70_000 + 60_000, "eight times what it may have, and what it wrote since somebody looked"
    assert team.get("a.md").status == team.ask("GET", "versions/35").status == 200
    assert team.ask("GET", "versions/1").status == 410
    assert len(team.ask("GET", "versions").body["versions"]) == 36, "who wrote when is known for all"


def test_a_page_with_texts_is_bounded_in_bytes(team: Client) -> None:
    texts = [
        {"op": "put", "key": f"n{n}.md", "content": "some words of a page " * 2_900, "ifMatch": None} for n in range(90)
    ]
    team.batch(*texts)
    page = team.ask("GET", "entries?since=0&content=1")
    assert page.body["more"] and len(page.data) < 4_400_000


def test_who_asks_since_a_revision_misses_no_change_beside_many_writers(team: Client, join: Join) -> None:
    """A counter row of the team, not a sequence: what commits late has no lower number."""
    writers, each = 4, 40
    clients = [join(f"writer {number}") for number in range(writers)]

    def write(who: int) -> None:
        for number in range(each):
            assert clients[who].put(f"w{who}n{number}.md", f"{who} {number}").status == 201

    threads = [threading.Thread(target=write, args=(who,)) for who in range(writers)]
    for thread in threads:
        thread.start()
    seen: list[str] = []
    since = 0
    while since < writers * each:
        page = team.manifest(since)
        seen += [one["key"] for one in page["entries"]]
        since = page["revision"]
        if since < writers * each:
            team.ask("GET", f"changes?since={since}&wait=5")
    for thread in threads:
        thread.join()
    assert len(seen) == len(set(seen)) == writers * each


def test_of_many_who_change_one_entry_none_loses_a_change(team: Client, join: Join) -> None:
    team.put("count.md", "0")
    clients = [join(name) for name in ("bob", "cleo", "dan")]

    def count(client: Client) -> None:
        done = 0
        while done < 10:
            now = client.get("count.md")
            text = f"{int(now.data.split()[0]) + 1} by {client.member}"
            done += client.put("count.md", text, now.headers["etag"].strip('"')).status == 200

    threads = [threading.Thread(target=count, args=(client,)) for client in clients]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert team.get("count.md").data.startswith(b"30 ")


def test_a_waiting_client_hears_of_a_change_within_a_second(hub: HubServer, team: Client, join: Join) -> None:
    bob = join("bob")
    heard: list[float] = []

    def wait() -> None:
        assert bob.ask("GET", "changes?since=0&wait=20").body == {"revision": 1}
        heard.append(time.monotonic())

    thread = threading.Thread(target=wait)
    thread.start()
    waiting_clients(hub, 1)
    written = time.monotonic()
    team.put("a.md", "one")
    thread.join()
    assert heard[0] - written < 1.0
    assert team.ask("GET", "changes?since=0&wait=20").body == {"revision": 1}
    assert team.ask("GET", "changes?since=1&wait=0").body == {"revision": 1}


def test_a_change_is_news_without_anybody_looking(hub: HubServer, team: Client, join: Join, tmp_path: Path) -> None:
    """This worker would look for itself after a minute only. On PostgreSQL the change is another worker's."""
    is_shared = hub.database.startswith("postgresql")
    never = "import memdir.hub.{}_database as d; d.LOOK_SECONDS = 60".format("postgres" if is_shared else "sqlite")
    worker = start_hub(hub.database, tmp_path / "log", before=never)
    heard: list[float] = []

    def wait() -> None:
        assert Client(worker.port, team.token, team.team).ask("GET", "changes?since=0&wait=20").body == {"revision": 1}
        heard.append(time.monotonic())

    try:
        thread = threading.Thread(target=wait)
        thread.start()
        waiting_clients(worker, 1)
        written = time.monotonic()
        (team if is_shared else Client(worker.port, team.token, team.team)).put("a.md", "one")
        thread.join()
    finally:
        worker.stop()
    assert heard[0] - written < 1.0


async def test_who_waits_longer_hears_of_what_another_saw_first(tmp_path: Path) -> None:
    """Written by another process, and nobody has told this one yet."""
    one, other = SqliteDatabase(str(tmp_path / "hub.sqlite3")), SqliteDatabase(str(tmp_path / "hub.sqlite3"))
    await one.connect(), await other.connect()
    team = await add_team(one, "acme", TeamCaps(), 1)
    waiting = Waiting(one)  # which nobody lets look for itself
    first = asyncio.create_task(waiting.beyond(team, 0, seconds=60, token="k_1"))
    while not waiting.count:
        await asyncio.sleep(0)
    await asyncio.sleep(0)
    change = Change("put", "a.md", None, digest_of(b"one"), "one", 3, 1)
    await other.apply(Author(team, "m_1"), [change], 1)
    second = asyncio.create_task(waiting.beyond(team, 1, seconds=60, token="k_2"))
    assert await asyncio.wait_for(first, 20) == 1
    second.cancel()
    await asyncio.wait((second,))
    await one.close(), await other.close()


def test_caps_of_a_team_are_kept(hub: HubServer) -> None:
    team = hub.team("small", entries=2, entry_bytes=10, team_bytes=15)
    assert team.put("a.md", "x" * 11).status == 413
    etag = team.put("a.md", "x" * 10).body["etag"]
    full = team.put("b.md", "x" * 6)
    assert (full.status, full.kind) == (409, "cap")
    team.put("b.md", "x" * 5)
    assert team.put("c.md", "").kind == "cap"
    assert team.put("a.md", "y" * 10, etag).status == 200, "what takes no more room passes"
    assert team.ask("GET", "/v1/me").body["used"] == {"entries": 2, "bytes": 15}
    assert hub.admin("limits", "small") == {"entries": 2, "entryBytes": 10, "teamBytes": 15}
    assert hub.admin("limits", "small", entries=3) == {"entries": 3, "entryBytes": 10, "teamBytes": 15}
    assert team.put("c.md", "").status == 201, "an admin gave more room"
    assert [one["what"] for one in team.ask("GET", "audit").body["actions"] if one["action"] == "limits"] == [
        "3 entries, 10 bytes each, 15 in all",
        "2 entries, 10 bytes each, 15 in all",
    ]
    assert hub.admin("limits", hub.team("usual").team) == {
        "entries": 2_000,
        "entryBytes": 65_536,
        "teamBytes": 16_777_216,
    }


def test_versions_tell_who_wrote_what_and_can_be_erased(team: Client, join: Join) -> None:
    bob = join("bob")
    first = bob.put("a.md", "a word that should not be kept").body["etag"]
    team.put("a.md", "fine", first)
    shown = team.ask("GET", "versions?key=a.md").body["versions"]
    assert [(one["revision"], one["by"]["name"], one["redacted"]) for one in shown] == [
        (2, "ana", False),
        (1, "bob", False),
    ]
    assert bob.ask("GET", "versions/1").data == b"a word that should not be kept"
    assert bob.ask("POST", "versions/1/redact").status == 403
    assert team.ask("POST", "versions/2/redact").kind == "current"
    assert team.ask("POST", "versions/1/redact").status == 200
    assert bob.ask("GET", "versions/1").status == 410
    assert team.ask("GET", "versions?before=2").body["versions"][0]["redacted"]
    assert team.get("a.md").data == b"fine"
    assert team.ask("GET", "audit").body["actions"][0]["action"] == "redact"


def test_writers_of_many_teams_at_once_each_change_their_own(hub: HubServer) -> None:
    """They may share a transaction: what one is refused is nobody else's, and nobody sees another's."""
    teams = [hub.team(f"crowd {number} {time.time()}") for number in range(12)]

    def write(number: int) -> list[int]:
        team = teams[number]
        statuses = [team.put(f"n{turn}.md", f"{number} {turn}").status for turn in range(8)]
        return [*statuses, team.put("n0.md", "again").status]

    with ThreadPoolExecutor(len(teams)) as together:
        assert list(together.map(write, range(len(teams)))) == [[201] * 8 + [412]] * len(teams)
    for number, team in enumerate(teams):
        told = team.manifest()
        assert told["revision"] == 8 and team.keys() == [f"n{turn}.md" for turn in range(8)]
        assert team.get("n7.md").data == f"{number} 7".encode()


def test_a_new_entry_takes_no_longer_in_a_large_team(tmp_path: Path) -> None:
    """By the steps of SQLite, which no load on the machine changes: it looks through no team for a name."""

    async def steps() -> tuple[int, int]:
        database = SqliteDatabase(str(tmp_path / "hub.sqlite3"))
        await database.connect()
        author = Author(await add_team(database, "large", TeamCaps(), 1), "")
        counted = 0

        def count() -> int:
            nonlocal counted
            counted += 1
            return 0

        async def put(first: int, last: int) -> int:
            before = counted
            names = [f"n{number}.md" for number in range(first, last)]
            changes = [Change("put", name, None, etag_of(name), name, len(name), 1) for name in names]
            _, done = await database.apply(author, changes, 1)
            assert {one.outcome for one in done} == {"created"}
            return counted - before

        database._connection.set_progress_handler(count, 1)
        small, _, large = await put(0, 1), await put(1, 1_000), await put(1_000, 1_001)
        await database.close()
        return small, large

    small, large = asyncio.run(steps())
    assert 0 < large < 2 * small


def test_a_team_in_which_somebody_deletes_without_end_can_be_listed(hub: HubServer, team: Client) -> None:
    """The newest fifty thousand deletions are told, and each that a purge made."""
    many = (
        "with recursive n(i) as (select 1 union all select i + 1 from n where i < 60000)"
        " insert into entries (team, key, folded, rev, etag, size, deleted, reason, member, saved, changed)"
        " select cast(? as text), 'k' || i || '.md', 'k' || i || '.md', i, null, 0, 1,"
        " case when i = 7 then 'purged' else '' end, cast(? as text), 1, 1 from n"
    )
    team.put("mine.md", "x")
    hub.rows(f"{many} returning rev", team.team, team.member)
    hub.rows("update teams set revision = 60001 where id = ? returning id", team.team)
    for number in range(11):
        changes = [{"op": "put", "key": f"n{number}-{n}.md", "ifMatch": None, "content": "x"} for n in range(100)]
        assert all(one["status"] == 201 for one in team.batch(*changes)["results"])
    ((count, oldest),) = hub.rows("select count(*), min(rev) from entries where team = ? and deleted = 1", team.team)
    assert (count, oldest) == (50_001, 7)
    assert team.get("mine.md").status == 200 and team.get("k60000.md").status == 410
