"""Jobs: done exactly once on both databases, visible when they are stuck, and never written unasked."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Awaitable, Callable

import pytest

from memdir.agent.workspace import Draft
from memdir.dream.dream import MAX_SECONDS
from memdir.hub.hub_database import DatabaseBusy, HubDatabase, Row
from memdir.hub.jobs import MAX_ATTEMPTS, LeasedJob, ProposedChange, ask_for, finish, take
from memdir.hub.team_dream import ask_for_all, proposals_of, work
from memdir.share.merge import beside
from tests.hub.servers import Client, HubServer, now

Join = Callable[..., Client]

WORKER = """
import asyncio, sys, time
from memdir.hub.hub_database import open_database
from memdir.hub.jobs import finish, take

async def main():
    database = open_database(sys.argv[1], pooler=True)
    await database.connect()
    done = []
    while job := await take(database, int(time.time() * 1000)):
        if await finish(database, job, [], int(time.time() * 1000)):
            done.append(job.id)
    await database.close()
    print(*done)

asyncio.run(main())
"""


def run(server: HubServer, do: Callable[[HubDatabase], Awaitable[None]]) -> None:
    server.do(do)


def test_four_workers_do_each_job_once(hub: HubServer) -> None:
    async def ask(database: HubDatabase) -> None:
        for _ in range(120):
            await database.run(
                "insert into jobs (team, kind, state, created) values (?, ?, 'waiting', 0)", team.team, f"job {_}"
            )

    team = hub.team("workers")
    run(hub, ask)
    workers = [
        subprocess.Popen([sys.executable, "-c", WORKER, hub.database], stdout=subprocess.PIPE, text=True)
        for _ in range(4)
    ]
    done = [int(word) for worker in workers for word in worker.communicate(timeout=60)[0].split()]
    assert len(done) == len(set(done)) == 120
    assert hub.rows("select count(*) from jobs where state <> 'done'") == [(0,)]


def test_a_worker_that_lost_its_lease_leaves_no_trace(hub: HubServer, team: Client) -> None:
    async def two_workers(database: HubDatabase) -> None:
        await ask_for(database, team.team, "dream", 1_000)
        first = await take(database, 2_000, lease_seconds=1)
        assert first and await take(database, 2_500) is None
        second = await take(database, 3_001, lease_seconds=1)
        assert second and second.id == first.id
        change = ProposedChange("put", "a.md", None, "text", "merged")
        assert not await finish(database, first, [change], 3_100)
        assert await finish(database, second, [change], 3_200)
        assert not await finish(database, second, [change], 3_300)

    run(hub, two_workers)
    assert len(team.ask("GET", "proposals").body["proposals"]) == 1


def test_the_longest_dream_is_nobody_elses_while_it_lasts(hub: HubServer, team: Client) -> None:
    async def two_workers(database: HubDatabase) -> None:
        await ask_for(database, team.team, "dream", 1_000)
        first = await take(database, 2_000)
        ended = 2_000 + int((MAX_SECONDS + 60) * 1000)  # with what is done before and after it
        assert first and await take(database, ended) is None
        assert await finish(database, first, [], ended)

    run(hub, two_workers)


def test_a_job_that_is_taken_while_it_is_asked_for_is_asked_for_anew(hub: HubServer, team: Client) -> None:
    class TakenBetween:
        """A worker takes what waits between two statements."""

        def __init__(self, database: HubDatabase) -> None:
            self._database, self._is_taken = database, False

        async def run(self, statement: str, *values: object) -> list[Row]:
            if statement.startswith("select") and not self._is_taken:
                self._is_taken = bool(await take(self._database, 2_000))
            return await self._database.run(statement, *values)

    async def ask(database: HubDatabase) -> None:
        row, is_new = await ask_for(database, team.team, "dream", 1_000)
        assert is_new
        again, is_new = await ask_for(TakenBetween(database), team.team, "dream", 2_000)  # type: ignore[arg-type]
        assert is_new and again[0] > row[0]

    run(hub, ask)
    hub.rows("delete from jobs where team = ? returning id", team.team)


def test_a_team_whose_dream_breaks_keeps_no_other_from_its_own(hub: HubServer) -> None:
    broken, other = hub.team("broken one"), hub.team("broken two")
    for team in (broken, other):
        team.put("a.md", TWICE)
    hub.rows("update versions set content = null where team = ? returning rev", broken.team)  # no dream expects that
    assert dream(hub, broken, other) == {"done": 1, "failed": 1}
    assert [one["state"] for one in other.ask("GET", "jobs").body["jobs"]] == ["done"]
    assert [one["state"] for one in broken.ask("GET", "jobs").body["jobs"]] == ["failed"]


@pytest.mark.parametrize("erased", ["purge", "redact"])
def test_a_dream_over_what_is_erased_proposes_nothing_of_it(
    hub: HubServer, team: Client, join: Join, erased: str
) -> None:
    bob, words = join("bob"), "what bob said and nobody keeps"
    etag = bob.put("his.md", words).body["etag"]
    change = ProposedChange("put", "merged.md", None, words, "merge")

    async def taken(database: HubDatabase) -> LeasedJob:
        await ask_for(database, team.team, "dream", 1)
        job = await take(database, now())
        assert job
        return job

    assert hub.do(lambda database: finish_all(database, taken, change))
    (old,) = team.ask("GET", "proposals").body["proposals"]
    assert team.ask("POST", f"proposals/{old['id']}", {"decision": "reject"}).status == 200
    assert hub.do(lambda database: finish_all(database, taken, change)), "one is open, one is decided"
    job = hub.do(taken)
    if erased == "purge":
        assert team.ask("POST", f"members/{bob.member}/purge", {}).status == 200
    else:
        team.put("his.md", "ana's", etag)
        assert team.ask("POST", "versions/1/redact").status == 200
    assert not hub.do(lambda database: finish(database, job, [change], now())), "it was stopped"
    assert team.ask("GET", "proposals").body["proposals"] == []
    for table in ("proposals", "versions"):
        assert words not in str(hub.rows(f"select * from {table} where team = ?", team.team))
    assert team.ask("GET", "jobs").body["jobs"][0]["state"] == "failed"


async def finish_all(
    database: HubDatabase, taken: Callable[[HubDatabase], Awaitable[LeasedJob]], change: ProposedChange
) -> bool:
    return await finish(database, await taken(database), [change], now())


def test_a_job_whose_workers_die_is_given_up_and_a_stuck_one_is_seen(hub: HubServer, team: Client) -> None:
    async def dying(database: HubDatabase) -> None:
        await ask_for(database, team.team, "dream", 0)
        for attempt in range(MAX_ATTEMPTS):
            assert await take(database, 10_000 * (attempt + 1), lease_seconds=1)
        assert await take(database, 10_000 * (MAX_ATTEMPTS + 1)) is None

    run(hub, dying)
    (job,) = team.ask("GET", "jobs").body["jobs"]
    assert (job["state"], job["error"]) == ("failed", "the worker went away each time")
    assert team.ask("POST", "jobs", {"kind": "dream"}).status == 201
    assert team.ask("POST", "jobs", {"kind": "dream"}).status == 200, "one waits already"
    long_ago = int(time.time() * 1000) - 10_000_000
    hub.rows("update jobs set created = ? where team = ? and state = 'waiting' returning id", long_ago, team.team)
    assert [one["stuck"] for one in team.ask("GET", "jobs").body["jobs"]] == [True, False]
    token = hub.admin("metrics")["token"]
    metrics = Client(hub.port, token).ask("GET", "/metrics").data.decode()
    (age,) = [line.split()[1] for line in metrics.splitlines() if line.startswith("memdir_hub_oldest_job_seconds")]
    assert float(age) >= 10_000
    hub.rows("delete from jobs where team = ? returning id", team.team)


TWICE = "---\nname: Staging port\ndescription: its port\ntype: project\n---\n\nThe staging database listens on 5433.\n"


def test_a_nightly_dream_proposes_and_writes_nothing_unasked(hub: HubServer, team: Client, memdir_command: str) -> None:
    team.put("staging_port.md", TWICE)
    team.put("staging_database.md", TWICE)
    hub.rows("update entries set changed = 0 where team <> ? returning key", team.team)  # of other tests
    before = team.manifest()
    command = [memdir_command, "hub", "work", "--nightly", "--json", "--database", hub.database]
    subprocess.run(command, check=True, capture_output=True)
    (job,) = team.ask("GET", "jobs").body["jobs"]
    assert job["state"] == "done"
    assert team.manifest() == before
    proposals = team.ask("GET", "proposals").body["proposals"]
    assert proposals, "two memories that say the same"
    for one in proposals:
        assert team.ask("POST", f"proposals/{one['id']}", {"decision": "accept"}).status == 200
        assert team.ask("POST", f"proposals/{one['id']}", {"decision": "accept"}).kind == "twice"
    assert len(team.keys()) == 1
    assert team.ask("GET", "versions").body["versions"][0]["by"]["name"] == "ana", "in whose name it is written"


def test_a_dream_leaves_two_texts_of_one_memory_to_a_member_who_settles_them(hub: HubServer, team: Client) -> None:
    second, data = beside("staging.md", f"{TWICE}\nAnd Ann knows more.\n".encode(), lambda _: None)
    team.put("staging.md", TWICE)
    team.put(second, data.decode())
    assert dream(hub, team) == {"done": 1, "failed": 0}
    assert team.ask("GET", "proposals").body["proposals"] == []
    team.put("port.md", TWICE)
    team.put("database.md", TWICE)
    dream(hub, team)
    told = str(team.ask("GET", "proposals").body["proposals"])
    assert "port.md" in told and "staging.md" not in told, "others are put in order"


def test_a_dream_that_failed_is_asked_for_again_in_the_next_night(hub: HubServer, team: Client) -> None:
    team.put("staging_port.md", TWICE)
    hub.rows("update entries set changed = 0 where team <> ? returning key", team.team)  # of other tests
    states = []
    for state in ("failed", "done", "done"):
        hub.do(lambda database: ask_for_all(database, now()))
        states.append([one["state"] for one in team.ask("GET", "jobs").body["jobs"]])
        hub.rows("update jobs set state = ? where team = ? and state = 'waiting' returning id", state, team.team)
    assert states == [["waiting"], ["waiting", "failed"], ["done", "failed"]]


HEAD = "---\nname: {}\ndescription: size of the connection pool\ntype: project\n---\n\n"
POOL = HEAD.format("Pool") + "The connection pool of the database has 20 connections.\n"
NEWER = HEAD.format("Pool size") + "The connection pool of the database has 30 connections now, not 20.\n"


def dream(hub: HubServer, *teams: Client) -> dict[str, int]:
    """As `memdir hub work`, for these teams alone."""

    async def work_for(database: HubDatabase) -> dict[str, int]:
        for team in teams:
            await ask_for(database, team.team, "dream", now())
        return await work(database, now)

    return dict(hub.do(work_for))


class BusyOnce:
    """A database whose connection is lost when what was dreamt is to be written."""

    def __init__(self, database: HubDatabase, after: int) -> None:
        self._database, self._left = database, after

    def __getattr__(self, name: str) -> object:
        return getattr(self._database, name)

    def transaction(self) -> object:
        self._left -= 1
        if self._left == 0:
            raise DatabaseBusy("gone for a moment")
        return self._database.transaction()


def test_a_database_that_is_gone_for_a_moment_costs_no_other_team_its_night(hub: HubServer, team: Client) -> None:
    other = hub.team("another that dreams")
    for one in (team, other):
        one.put("pool.md", POOL)

    async def night(database: HubDatabase) -> dict[str, int]:
        for one in (team, other):
            await ask_for(database, one.team, "dream", now())
        return await work(BusyOnce(database, 1), now)  # type: ignore[arg-type]

    assert hub.do(night) == {"done": 1, "failed": 1}
    states = [one.ask("GET", "jobs").body["jobs"][0]["state"] for one in (team, other)]
    assert sorted(states) == ["done", "running"], "its lease ends, and it is taken again"
    hub.rows("update jobs set state = 'done' where team in (?, ?) returning id", team.team, other.team)


@pytest.mark.parametrize("decision", ["accept", "reject"])
def test_both_halves_of_a_merge_are_one_proposal(hub: HubServer, team: Client, decision: str) -> None:
    """To delete the one page and not write the other would lose what it says."""
    for key, text, day in (("pool.md", POOL, "02"), ("pool_now.md", NEWER, "12"), ("port.md", TWICE, "01")):
        saved = {"Memdir_Saved": f"2026-01-{day}T10:00:00Z"}
        assert team.ask("PUT", f"entries/{key}", text.encode(), If_None_Match="*", **saved).status == 201
    assert dream(hub, team) == {"done": 1, "failed": 0}
    before = team.manifest(0, "&content=1")["entries"]
    (one,) = team.ask("GET", "proposals").body["proposals"]
    halves = {part["key"]: part["op"] for part in one["changes"]}
    assert sorted(halves.values()) == ["delete", "put"] and (one["op"], one["key"]) in {
        (v, k) for k, v in halves.items()
    }
    kept, gone = (next(key for key, op in halves.items() if op == wanted) for wanted in ("put", "delete"))
    assert one["reason"].startswith(f"{kept} takes in {gone}: ")
    short = team.ask("GET", "proposals?content=0").body["proposals"]
    assert [part["content"] for part in short[0]["changes"]] == [None, None]
    assert team.ask("POST", f"proposals/{one['id']}", {"decision": decision}).status == 200
    assert team.ask("POST", f"proposals/{one['id']}", {"decision": decision}).kind == "twice"
    assert team.ask("GET", "proposals").body["proposals"] == []
    if decision == "accept":
        assert team.keys() == [kept, "port.md"] and b"has 30 connections now" in team.get(kept).data
    else:
        assert team.manifest(0, "&content=1")["entries"] == before


def test_a_merge_of_which_one_half_cannot_be_done_is_not_done(hub: HubServer, team: Client) -> None:
    first, second = (team.put(key, f"text of {key}").body["etag"] for key in ("a.md", "b.md"))
    halves = [
        ProposedChange("delete", "b.md", second, None, "merged", "a.md"),
        ProposedChange("put", "a.md", first, "both texts", "merged", "a.md"),
    ]

    async def propose(database: HubDatabase) -> None:
        await ask_for(database, team.team, "dream", 0)
        job = await take(database, 1)
        assert job and await finish(database, job, halves, 2)

    run(hub, propose)
    team.put("a.md", "changed meanwhile", first)
    (one,) = team.ask("GET", "proposals").body["proposals"]
    assert team.ask("POST", f"proposals/{one['id']}", {"decision": "accept"}).status == 412
    assert (team.get("a.md").data, team.get("b.md").data) == (b"changed meanwhile", b"text of b.md")
    assert [len(one["changes"]) for one in team.ask("GET", "proposals").body["proposals"]] == [2], "and it stays open"


def test_a_deletion_that_does_not_say_where_its_text_is_goes_with_all_that_was_written() -> None:
    def draft(key: str, after: bytes | None, reason: str = "") -> Draft:
        return Draft(None, key, b"before", after, reason)  # type: ignore[arg-type]

    drafts = [
        draft("a.md", b"a"),
        draft("b.md", b"b"),
        draft("c.md", None, "told in a.md; source: a.md"),
        draft("d.md", None, "the same as x.md"),
    ]
    texts = {f"{name}.md": b"before" for name in ("a", "b", "c", "d", "e", "x", "data")}

    def groups(drafts: list[Draft]) -> list[list[str]]:
        found: dict[str, list[str]] = {}
        for one in proposals_of(drafts, texts):
            found.setdefault(one.together, []).append(one.key)
        return sorted(map(sorted, found.values()))

    assert groups(drafts) == [["a.md", "c.md"], ["b.md"], ["d.md", "x.md"]]
    (everything,) = groups([*drafts, draft("e.md", None, "no longer needed")])
    assert everything == ["a.md", "b.md", "c.md", "d.md", "e.md", "x.md"]


def test_a_page_that_says_the_same_goes_only_while_the_other_is_there(hub: HubServer, team: Client) -> None:
    etags = {key: team.put(key, TWICE).body["etag"] for key in ("staging_port.md", "staging_database.md")}
    assert dream(hub, team) == {"done": 1, "failed": 0}
    (one,) = team.ask("GET", "proposals").body["proposals"]
    (kept,) = [part["key"] for part in one["changes"] if part["op"] == "put"]
    assert {part["key"] for part in one["changes"]} == etags.keys()
    assert team.delete(kept, etags[kept]).status == 200, "a member thinks: the other says it"
    assert team.ask("POST", f"proposals/{one['id']}", {"decision": "accept"}).status == 412
    assert team.keys() == sorted(etags.keys() - {kept})


def test_a_proposal_made_from_an_old_text_is_not_written_over_a_newer_one(hub: HubServer, team: Client) -> None:
    etag = team.put("a.md", "one").body["etag"]

    async def propose(database: HubDatabase) -> None:
        await ask_for(database, team.team, "dream", 0)
        job = await take(database, 1)
        assert job and await finish(database, job, [ProposedChange("put", "a.md", etag, "dreamt", "shorter")], 2)

    run(hub, propose)
    team.put("a.md", "two", etag)
    (one,) = team.ask("GET", "proposals").body["proposals"]
    refused = team.ask("POST", f"proposals/{one['id']}", {"decision": "accept"})
    assert refused.status == 412 and "Reject it" in refused.body["error"]["remedy"]
    assert team.get("a.md").data == b"two"
    assert team.ask("POST", f"proposals/{one['id']}", {"decision": "reject"}).status == 200
    assert team.ask("GET", "proposals").body["proposals"] == []


@pytest.mark.parametrize("body", [{"kind": "rm"}, {}, {"kind": ["dream"]}])
def test_only_known_jobs_can_be_asked_for(team: Client, body: object) -> None:
    assert team.ask("POST", "jobs", body).status == 400
