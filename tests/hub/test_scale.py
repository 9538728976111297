"""`make test-hub-scale`: two workers, a pooler, a primary that is killed in mid-load, a replica that is promoted.

With a synchronous standby nothing that was acknowledged is lost, clients go on, and no team sees another's entries.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from tests.hub.servers import (
    CUT_OFF,
    Client,
    HubServer,
    Postgres,
    free_port,
    postgres_folder,
    postgres_programs,
    run_as_postgres,
    start_hub,
)

if not os.environ.get("HUB_SCALE"):
    pytest.skip("takes a minute: `make test-hub-scale`", allow_module_level=True)

TEAMS, MEMBERS = 3, 2
LOAD_SECONDS = 4.0  # before the primary is killed, and after clients go on


def run_sql(server: Postgres, statement: str) -> str:
    command = ["psql", "-qAt", server.url, "-c", statement]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


@contextmanager
def primary_and_replica() -> Iterator[tuple[Postgres, Postgres]]:
    """A primary that acknowledges only what its standby has on disk, too."""
    primary, replica = Postgres(postgres_folder(), free_port()), Postgres(postgres_folder(), free_port())
    try:
        words = ("-U", "postgres", "-A", "trust", "-E", "UTF8", "--locale=C.UTF-8")
        run_as_postgres("initdb", "-D", f"{primary.folder}/data", *words)
        primary.start("fsync=on", "wal_level=replica", "hot_standby=on")
        source = f"host=127.0.0.1 port={primary.port} user=postgres application_name=standby"
        run_as_postgres("pg_basebackup", "-D", f"{replica.folder}/data", "-R", "-X", "stream", "-d", source)
        replica.start("fsync=on", "hot_standby=on")
        run_sql(primary, "alter system set synchronous_standby_names = '*'")  # after the copy: the replica has none
        run_sql(primary, "select pg_reload_conf()")
        until = time.monotonic() + 20
        while run_sql(primary, "select coalesce(max(sync_state), '') from pg_stat_replication") != "sync":
            assert time.monotonic() < until, "the standby does not follow"
            time.sleep(0.1)
        yield primary, replica
    finally:
        replica.stop("immediate")
        for server in (primary, replica):
            shutil.rmtree(server.folder)


class Pooler:
    """pgbouncer in transaction mode, in front of the server that it is told."""

    def __init__(self, server: Postgres) -> None:
        self.port = free_port()
        self.file = Path(server.folder).with_name(f"memdir-pgbouncer-{self.port}.ini")
        self.point_to(server)
        program = shutil.which("pgbouncer", path=f"{os.environ['PATH']}:/usr/sbin") or "pgbouncer"
        user = ["runuser", "-u", "postgres", "--"] if os.geteuid() == 0 else []
        log = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        self.process = subprocess.Popen([*user, program, "-q", str(self.file)], **log)

    def point_to(self, server: Postgres) -> None:
        lines = ["[databases]", f"* = host=127.0.0.1 port={server.port} user=postgres", "[pgbouncer]"]
        lines += ["listen_addr = 127.0.0.1", f"listen_port = {self.port}", "auth_type = any", "pool_mode = transaction"]
        lines += ["unix_socket_dir =", "max_client_conn = 200", "default_pool_size = 20", "server_login_retry = 1"]
        lines += [
            "server_connect_timeout = 2",
            "query_wait_timeout = 5",
            "ignore_startup_parameters = extra_float_digits",
        ]
        self.file.write_text("\n".join([*lines, ""]), encoding="utf-8")
        self.file.chmod(0o644)

    def reload(self) -> None:
        """`runuser` passes the signal on to nobody: its child is told."""
        children = (
            Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children").read_text(encoding="utf-8").split()
        )
        os.kill(int(children[0]) if children else self.process.pid, signal.SIGHUP)

    def stop(self) -> None:
        self.process.terminate()
        self.process.wait(10)
        self.file.unlink()


class Member:
    """One who writes all the time, to one worker and then to the other, and sends again what was not acknowledged."""

    def __init__(self, ports: list[int], client: Client, name: str) -> None:
        self.clients = [Client(port, client.token, client.team) for port in ports]
        self.name = name
        self.acknowledged: dict[str, str] = {}
        self.last = 0.0
        self.stop = threading.Event()
        self.thread = threading.Thread(target=self.write)

    def write(self) -> None:
        number = 0
        while not self.stop.is_set():
            key, text = f"{self.name}-{number}.md", f"{self.name} wrote {number}"
            while not self.stop.is_set():
                client = self.clients[number % len(self.clients)]
                try:
                    if client.put(key, text).status in (200, 201):
                        self.acknowledged[key] = text
                        self.last = time.monotonic()
                        break
                except CUT_OFF:
                    client.connection.close()
                time.sleep(0.05)
            number += 1


@contextmanager
def hubs(tmp_path: Path, primary: Postgres, replica: Postgres) -> Iterator[tuple[list[HubServer], Pooler | None]]:
    """Two workers, behind a pooler where there is one; for news they know both servers and look for the one that may
    write."""
    hosts = f"127.0.0.1:{primary.port},127.0.0.1:{replica.port}"
    both = f"postgresql://postgres@{hosts}/postgres?target_session_attrs=read-write&connect_timeout=2"
    with ExitStack() as stack:
        pooler = None
        place, options = both, ()
        if shutil.which("pgbouncer", path=f"{os.environ['PATH']}:/usr/sbin"):
            pooler = Pooler(primary)
            stack.callback(pooler.stop)
            place = f"postgresql://postgres@127.0.0.1:{pooler.port}/postgres"
            options = ("--pooler", "--listen", both)
        else:
            print("pgbouncer is not installed here: workers reach PostgreSQL directly")
        workers = [start_hub(place, tmp_path / f"log{number}", *options) for number in range(2)]
        for worker in workers:
            stack.callback(worker.stop)
        yield workers, pooler


@contextmanager
def writing(members: list[Member]) -> Iterator[None]:
    for member in members:
        member.thread.start()
    try:
        yield
    finally:
        for member in members:
            member.stop.set()
        for member in members:
            member.thread.join()


def kill_and_promote(primary: Postgres, replica: Postgres, pooler: Pooler | None) -> float:
    primary.kill()
    killed = time.monotonic()
    run_as_postgres("pg_ctl", "-D", f"{replica.folder}/data", "-w", "promote")
    if pooler:
        pooler.point_to(replica)
        pooler.reload()
    return killed


@pytest.mark.timeout(300)
def test_a_killed_primary_costs_nothing_that_was_acknowledged(tmp_path: Path) -> None:
    if postgres_programs() is None:
        pytest.skip("PostgreSQL is not installed here (apt-get install postgresql)")
    with primary_and_replica() as (primary, replica), hubs(tmp_path, primary, replica) as (workers, pooler):
        ports = [worker.port for worker in workers]
        # more room than a quick machine fills in these seconds
        teams = [workers[0].team(f"team {number}", entries=1_000_000) for number in range(TEAMS)]
        joined = [(team, workers[0].member(team, f"member {n}"), n) for team in teams for n in range(MEMBERS)]
        members = [Member(ports, client, f"{team.team}-{number}") for team, client, number in joined]
        with writing(members):
            time.sleep(LOAD_SECONDS)
            before = sum(len(member.acknowledged) for member in members)
            assert before > 50, "there is a load"
            killed = kill_and_promote(primary, replica, pooler)
            until = time.monotonic() + 60
            while any(member.last < killed + 1 for member in members) and time.monotonic() < until:
                time.sleep(0.1)
            resumed = max(member.last for member in members) - killed
            time.sleep(LOAD_SECONDS)
        after = sum(len(member.acknowledged) for member in members)
        print(
            f"{before} writes acknowledged before the kill, {after} in all; every client went on after {resumed:.1f} s"
        )
        assert all(member.last > killed + 1 for member in members), "every client went on"
        assert_nothing_is_lost(ports, teams, members)
        assert_news_arrive(ports, teams[0])


def assert_nothing_is_lost(ports: list[int], teams: list[Client], members: list[Member]) -> None:
    for team in teams:
        client = Client(ports[1], team.token, team.team)
        found: dict[str, str] = {}
        since, more = 0, True
        while more:
            page = client.manifest(since, "&content=1")
            found |= {one["key"]: one["content"] for one in page["entries"]}
            since, more = page["revision"], page["more"]
        own = [member for member in members if member.name.startswith(team.team)]
        for member in own:
            lost = {key for key, text in member.acknowledged.items() if found.get(key) != text}
            assert lost == set(), "acknowledged, and not there"
        assert all(key.startswith(team.team) for key in found), "another team's entry"


def assert_news_arrive(ports: list[int], team: Client) -> None:
    """What one worker wrote is heard at the other, on the server that was promoted."""
    writer, waiter = (Client(port, team.token, team.team) for port in ports)
    since = writer.manifest(10**9)["revision"]
    heard: list[float] = []

    def wait() -> None:
        assert waiter.ask("GET", f"changes?since={since}&wait=20").body["revision"] > since
        heard.append(time.monotonic())

    thread = threading.Thread(target=wait)
    thread.start()
    time.sleep(0.3)
    begun = time.monotonic()
    assert writer.put("news.md", "new").status == 201
    thread.join()
    assert heard[0] - begun < 1.0
