"""Jobs: done exactly once on both databases, visible when they are stuck, and never written unasked."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Awaitable, Callable

import pytest

from memdir.hub.hub_database import HubDatabase
from memdir.hub.jobs import MAX_ATTEMPTS, ProposedChange, ask_for, finish, take
from tests.hub.servers import Client, HubServer

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


def test_a_proposal_made_from_an_old_text_is_not_written_over_a_newer_one(hub: HubServer, team: Client) -> None:
    etag = team.put("a.md", "one").body["etag"]

    async def propose(database: HubDatabase) -> None:
        await ask_for(database, team.team, "dream", 0)
        job = await take(database, 1)
        assert job and await finish(database, job, [ProposedChange("put", "a.md", etag, "dreamt", "shorter")], 2)

    run(hub, propose)
    team.put("a.md", "two", etag)
    (one,) = team.ask("GET", "proposals").body["proposals"]
    assert team.ask("POST", f"proposals/{one['id']}", {"decision": "accept"}).status == 412
    assert team.get("a.md").data == b"two"
    assert team.ask("POST", f"proposals/{one['id']}", {"decision": "reject"}).status == 200
    assert team.ask("GET", "proposals").body["proposals"] == []


@pytest.mark.parametrize("body", [{"kind": "rm"}, {}, {"kind": ["dream"]}])
def test_only_known_jobs_can_be_asked_for(team: Client, body: object) -> None:
    assert team.ask("POST", "jobs", body).status == 400
