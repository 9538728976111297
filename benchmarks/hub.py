"""`make bench-hub`: CPU time of the hub's web process for a request, beside a bare ASGI answer on the same server.

Without the secret scan, which is a row of its own. Each kind of server is a process; a load of kept connections is put
on one after the other, in turns, and the best round counts.
"""

from __future__ import annotations

import argparse
import asyncio
import base64
import hashlib
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from benchmarks.measure import Row, clean_environment, report, save

ROUNDS = 4
REQUESTS = 1_600  # of one round
BATCHES = 8  # of a hundred entries
CONNECTIONS = (8, 64)
TEAMS = 64  # one for each of the many connections, as a hub lives: no two of them share a team's lock
LIMITS = {
    "sqlite": {"get": 3, "put": 5, "put of a team": 5, "batch": 1},
    "postgres": {"get": 5, "put": 8, "put of a team": 8, "batch": 2},
}
TOLD = {
    "get": "GET",
    "put": "conditional PUT",
    "put of a team": "conditional PUT, a team each",
    "batch": "entry of a batch",
}
MAX_SCAN_MICROSECONDS = 100  # a kilobyte
MAX_DENSE_SCAN_MICROSECONDS = 1_500  # a kilobyte
ENTRIES = 64
WORDS = (  # noqa: SIM905 - as one reads them
    "we keep twenty connections open in the pool because the old cluster closes idle ones after a minute and nobody"
    " wants to wait for new ones when a report is due on monday or the load comes back after lunch with all services"
).split()
HEAD = "---\nname: Pooling\ndescription: how we pool\ntype: project\n---\n\n"
LINK = (
    "See [the runbook](https://wiki.example.com/ops/pooling) and set `pool.max_size = 20` in `config/database.yml`.\n"
)
_SERVICES = (
    "Billing",
    "Search",
    "Orders",
    "Reports",
    "Mail",
    "Import",
    "Archive",
    "Queue",
    "Storage",
    "Alerts",
    "Docs",
)
_ITEM = "- [{0}](https://wiki.example.com/{1}/start): run `make {1}`, look at `src/{1}/main.py`; ask {2} for the rest\n"
_GERMAN = (
    "Die Warteschlange läuft über Redis, weil der alte Broker bei großen Nachrichten hängt. Jürgen prüft am Montag,"
    " ob die Größe stimmt; für Rückfragen genügt eine kurze Notiz. Das Zertifikat wird jährlich erneuert …\n"
)
_RUSSIAN = (
    "Мы держим двадцать соединений в пуле, потому что старый кластер закрывает простаивающие через минуту. Юля смотрит"
    " это по понедельникам; отчёт готовится к обеду, и никто не хочет ждать новых соединений.\n"
)
_CODE = (
    "def load(path: str) -> Settings:\n    with open(path, encoding='utf-8') as handle:\n"
    "        values = json.load(handle)\n    return Settings(**{name: values.get(name) for name in NAMES})\n\n"
)
_RULE = "Keep `{0}` open.\n\n**Why:** the cluster closes idle ones.\n\n**How to apply:** set the pool to {0}.\n"
PAGES = {  # memories as people write them, of about two kilobytes; the slowest to scan counts
    "English": HEAD + " ".join(random.Random(7).choices(WORDS, k=340)) + ".\n",
    "a link and code": HEAD + LINK + " ".join(random.Random(8).choices(WORDS, k=320)) + ".\n",
    "German": HEAD + _GERMAN * 9,
    "a list of links": HEAD
    + "".join(_ITEM.format(name, name.lower(), "Ann" * (len(name) % 2)) for name in _SERVICES * 2),
    "Russian": HEAD + _RUSSIAN * 5,
    "Chinese": HEAD + "我们在连接池里保留二十个连接，因为旧集群会在一分钟后关闭空闲连接。星期一没有人愿意等。\n" * 13,
    "a rule with its reason": HEAD + "".join(map(_RULE.format, range(18))),
    "code": HEAD + f"```python\n{_CODE * 10}```\n",
}
_DENSE = random.Random(9)
DENSE_PAGES = {  # nothing but what has to be looked at piece by piece: a bound, as 64 KiB is the most that comes
    "an image as text": HEAD + "data:image/png;base64," + base64.b64encode(_DENSE.randbytes(1_500)).decode(),
    "hashes alone": HEAD + "".join(f"- {_DENSE.randbytes(20).hex()} ran\n" for _ in range(42)),
    "long numbers alone": HEAD + " ".join(str(_DENSE.randrange(10**15, 10**16)) for _ in range(115)),
}
BODY = (HEAD + " ".join(random.Random(7).choices(WORDS, k=420)))[:1_990] + ".\n"


@dataclass(frozen=True)
class Server:
    """One web process under measurement."""

    kind: str
    pid: int
    port: int
    team: str
    token: str
    teams: tuple[tuple[str, str], ...] = ()  # and their tokens
    postmaster: int = 0  # the first process of PostgreSQL

    def cpu_seconds(self) -> float:
        """What all threads of it have used, in steps of nanoseconds."""
        return _used(self.pid)

    def database_seconds(self) -> float:
        """What PostgreSQL's processes have used."""
        if not self.postmaster:
            return 0.0
        children = Path(f"/proc/{self.postmaster}/task/{self.postmaster}/children").read_text(encoding="ascii")
        return sum(map(_used, map(int, children.split())))


def _used(pid: int) -> float:
    threads = Path(f"/proc/{pid}/task").glob("*/schedstat")
    return sum(int(thread.read_text(encoding="ascii").split()[0]) for thread in threads) / 1e9


def serve(kind: str, database: str, port: int) -> None:
    """In a process of its own: the hub without scan and rates, or an application that only answers."""
    import socket

    from memdir.hub.app import HubApp
    from memdir.hub.bounds import Rates
    from memdir.hub.hub_database import open_database
    from memdir.hub.hub_state import Hub
    from memdir.hub.serve import Serving, server_of

    rates = Rates(1e9, 1e9, 1e9, 1e9)
    app: Any = bare_answer
    if kind != "bare":
        app = HubApp(Hub(open_database(database), check=lambda *_: None, rates=rates))
    serving = Serving(database, "127.0.0.1", port)
    server_of(app, serving, lambda: None).run(sockets=[socket.create_server(("127.0.0.1", port), backlog=512)])


async def bare_answer(scope: Any, receive: Any, send: Any) -> None:
    """What every ASGI application has to do at least: read the request, answer with as many bytes as the hub."""
    if scope["type"] == "lifespan":
        for state in ("startup", "shutdown"):
            await receive()
            await send({"type": f"lifespan.{state}.complete"})
        return
    while (await receive()).get("more_body"):
        pass
    data = BODY.encode() if scope["method"] == "GET" else b'{"key":"a.md","etag":"%b","revision":1}' % (b"0" * 64)
    headers = [(b"content-type", b"text/markdown"), (b"content-length", b"%d" % len(data))]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": data})


async def load(server: Server, connections: int, requests: Callable[[int], Iterator[bytes]]) -> int:
    """Send what each connection has to send, one after the other; how many were answered well."""

    async def one(number: int) -> int:
        reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
        done = 0
        for request in requests(number):
            writer.write(request)
            head = await reader.readuntil(b"\r\n\r\n")
            lower = head.lower()
            at = lower.find(b"content-length: ")
            length = int(lower[at + 16 : lower.index(b"\r\n", at)]) if at >= 0 else 0
            if length:
                await reader.readexactly(length)
            done += head[9:10] == b"2" or head[9:12] == b"304"
        writer.close()
        return done

    return sum(await asyncio.gather(*(one(number) for number in range(connections))))


def request(server: Server, method: str, path: str, body: bytes = b"", *headers: str) -> bytes:
    lines = [f"{method} /v1/teams/{server.team}/{path} HTTP/1.1", "Host: hub", f"Authorization: Bearer {server.token}"]
    return "\r\n".join([*lines, *headers, f"Content-Length: {len(body)}", "", ""]).encode() + body


def gets(server: Server, each: int) -> Callable[[int], Iterator[bytes]]:
    return lambda number: iter([request(server, "GET", f"entries/n{number % ENTRIES}.md")] * each)


def puts(server: Server, each: int, salt: str) -> Callable[[int], Iterator[bytes]]:
    """Each connection changes an entry of its own, always from the version it wrote last."""

    def of(number: int) -> Iterator[bytes]:
        condition = "If-None-Match: *"
        for turn in range(each):
            data = f"{BODY}{salt} {number} {turn}".encode()
            yield request(server, "PUT", f"entries/p{salt}-{number}.md", data, condition)
            condition = f'If-Match: "{hashlib.sha256(data).hexdigest()}"'

    return of


def puts_of_teams(server: Server, each: int, salt: str) -> Callable[[int], Iterator[bytes]]:
    """The same, each connection in a team of its own."""

    def of(number: int) -> Iterator[bytes]:
        team, token = server.teams[number]
        return puts(replace(server, team=team, token=token), each, f"t{salt}")(number)

    return of


def batches(server: Server, salt: str) -> Callable[[int], Iterator[bytes]]:
    def of(number: int) -> Iterator[bytes]:
        keys = (f"b{salt}-{number}-{entry}.md" for entry in range(100))
        changes = [{"op": "put", "key": key, "content": BODY + key, "ifMatch": None} for key in keys]
        yield request(server, "POST", "batch", json.dumps({"changes": changes}).encode())

    return of


def polls(server: Server, each: int) -> Callable[[int], Iterator[bytes]]:
    """A sync that finds nothing new: it asks with the revision that it knows."""
    from tests.hub.servers import Client

    revision = Client(server.port, server.token, server.team).manifest(2**40)["revision"]
    asked = request(server, "GET", f"entries?since={revision}", b"", f'If-None-Match: "r{revision}"')
    return lambda _: iter([asked] * each)


def looks(server: Server, each: int) -> Callable[[int], Iterator[bytes]]:
    """Whether a dream's proposals wait, which a sync asks as well."""
    return lambda _: iter([request(server, "GET", "proposals?content=0")] * each)


def spent(
    server: Server, connections: int, requests: Callable[[int], Iterator[bytes]], count: int
) -> tuple[float, float]:
    """CPU time of the web process, and of the database."""
    before, database = server.cpu_seconds(), server.database_seconds()
    done = asyncio.run(load(server, connections, requests))
    assert done == count, f"{server.kind}: {done} of {count} were answered well"
    return server.cpu_seconds() - before, server.database_seconds() - database


def measured(servers: list[Server], connections: int) -> dict[str, dict[str, float]]:
    """The least CPU time a request, by server and by kind of request; `database …` is PostgreSQL's part."""
    each = REQUESTS // connections
    best: dict[str, dict[str, float]] = {server.kind: {} for server in servers}
    for turn in range(ROUNDS):
        for server in servers:
            salt = f"{connections}x{turn}"
            runs = [
                ("get", connections, gets(server, each), REQUESTS, 1),
                ("put", connections, puts(server, each, salt), REQUESTS, 1),
            ]
            if server.teams and connections == TEAMS:
                runs.append(("put of a team", connections, puts_of_teams(server, each, salt), REQUESTS, 1))
            if server.kind != "bare":
                runs.append(("look", connections, looks(server, each), REQUESTS, 1))
                runs.insert(0, ("poll", connections, polls(server, each), REQUESTS, 1))  # before anything is written
                runs.append(("batch", BATCHES, batches(server, salt), BATCHES, 100))
            for name, wires, requests, count, entries in runs:
                web, database = spent(server, wires, requests, count)
                for told, seconds in ((name, web), (f"database {name}", database)):
                    one = seconds / count / entries
                    best[server.kind][told] = min(one, best[server.kind].get(told, 1e9))
    return best


@contextmanager
def running(kind: str, database: str, postmaster: int = 0) -> Iterator[Server]:
    from tests.hub.servers import Client, HubServer, free_port

    port = free_port()
    command = [sys.executable, "-m", "benchmarks.hub", "--serve", kind, "--database", database, "--port", str(port)]
    process = subprocess.Popen(command, env=clean_environment())
    try:
        hub = HubServer(database, port, process, Path(os.devnull))
        until = time.monotonic() + 30
        while True:
            try:
                Client(port).ask("GET", "/health")
                break
            except OSError:
                assert time.monotonic() < until, "the server does not come up"
                time.sleep(0.05)
        team, token, teams = "t_1", "none", list[tuple[str, str]]()
        if kind != "bare":
            limits = {"admin": "ana", "entries": 1_000_000, "team_bytes": 10**12}
            made = [hub.admin("add-team", f"bench {number}", **limits) for number in range(1 + TEAMS)]
            (team, token), *teams = [(one["team"], one["token"]) for one in made]
            client = Client(port, token, team)
            for number in range(ENTRIES):
                assert client.put(f"n{number}.md", BODY).status == 201
            if hub._beside:
                hub._beside.end()
        yield Server(kind, process.pid, port, team, token, tuple(teams), postmaster)
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(20)


def scan_microseconds() -> dict[str, float]:
    """What looking for secrets takes a kilobyte, by the kind of memory."""
    from memdir.hub.bounds import require_shareable

    best = dict.fromkeys([*PAGES, *DENSE_PAGES], 1e9)
    for _ in range(50 * ROUNDS):  # short ones: the best of many is that of a calm machine
        for kind, text in (PAGES | DENSE_PAGES).items():
            pages = [f"{text}The team has met on day {day}.\n".encode() for day in range(10)]
            before = time.process_time()
            for page in pages:
                require_shareable("db/pooling.md", page)
            seconds = time.process_time() - before
            best[kind] = min(best[kind], seconds / sum(map(len, pages)) * 1_024 * 1e6)
    return best


def bytes_of_version(url: str) -> float:
    """What one version of a text of 2,000 bytes takes in PostgreSQL, with its entry and all indexes."""
    import psycopg

    sizes = "select sum(pg_total_relation_size(oid)) from pg_class where relname ~ '^(entries|versions)_[0-9]+$'"
    with psycopg.connect(url) as connection:
        ((total,),) = connection.execute(sizes).fetchall()
        ((count,),) = connection.execute("select count(*) from versions").fetchall()
    return float(total) / int(count)


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--serve", default="")
    parser.add_argument("--database", default="")
    parser.add_argument("--port", type=int, default=0)
    options = parser.parse_args()
    if options.serve:
        serve(options.serve, options.database, options.port)
        return 0
    from tests.hub.servers import postgres_programs, postgres_server

    rows: list[Row] = []
    figures: dict[str, float] = {}
    with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
        servers = [stack.enter_context(running("bare", ""))]
        servers.append(stack.enter_context(running("sqlite", f"{folder}/hub.sqlite3")))
        if postgres_programs():
            postgres = stack.enter_context(postgres_server())
            leader = int(Path(f"{postgres.folder}/data/postmaster.pid").read_text(encoding="ascii").split()[0])
            servers.append(stack.enter_context(running("postgres", postgres.url, leader)))
        else:
            print("PostgreSQL is not installed here: its rows are missing")
        for connections in CONNECTIONS:
            best = measured(servers, connections)
            found = {f"{kind} {name} {connections}": us * 1e6 for kind, by in best.items() for name, us in by.items()}
            figures |= found
            for kind, limits in LIMITS.items():
                for name, limit in limits.items() if kind in best else ():
                    if name not in best[kind]:
                        continue
                    bare = "put" if name.startswith("put") else "get"
                    label = f"{kind}, {connections} connections: {TOLD[name]}"
                    rows.append(Row(label, best[kind][name], f"bare {bare.upper()}", best["bare"][bare], limit))
        size = bytes_of_version(postgres.url) if len(servers) > 2 else 0.0
    scans = scan_microseconds()
    for kind, scan in scans.items():
        most = MAX_DENSE_SCAN_MICROSECONDS if kind in DENSE_PAGES else MAX_SCAN_MICROSECONDS
        rows.append(Row(f"secret scan, a KB of {kind}", scan / 1e6, f"{most:,} µs", most / 1e6, 1))
    save("hub-figures", {**figures, "scan": max(scans[kind] for kind in PAGES), "bytes": size})
    return report("hub: CPU time of the web process beside a bare ASGI answer", rows)


if __name__ == "__main__":
    sys.exit(main())
