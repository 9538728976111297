"""Real servers for tests: PostgreSQL in a folder of its own, and hubs as processes, on this machine only."""

from __future__ import annotations

import argparse
import asyncio
import http.client
import itertools
import json
import os
import pwd
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from memdir.hub.admin import act
from memdir.hub.hub_commands import TAKES
from memdir.hub.hub_database import DatabaseBusy, HubDatabase, open_database

START_SECONDS = 30
_addresses = itertools.count()
DEFAULTS: dict[str, object] = {"entries": None, "entry_bytes": None, "team_bytes": None, "days": 365}
DEFAULTS |= {"role": "writer", "read_only": False, "purge": False, "derived": False, "admin": None}


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as bound:
        return int(bound.getsockname()[1])


def postgres_programs() -> Path | None:
    """The folder of initdb and pg_ctl, or None where PostgreSQL is not installed."""
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb")) or [Path(shutil.which("initdb") or "/none")]
    return found[-1].parent if found[-1].exists() else None


@dataclass
class Postgres:
    """One PostgreSQL server in a temporary folder. It refuses root, so it runs as `postgres` where we are root."""

    folder: str
    port: int

    @property
    def url(self) -> str:
        return self.url_of("postgres")

    def url_of(self, database: str) -> str:
        return f"postgresql://postgres@127.0.0.1:{self.port}/{database}"

    def start(self, *options: str) -> None:
        given = " ".join(f"-c {option}" for option in ("fsync=off", "max_connections=300", *options))
        where = f"-k {self.folder} -c listen_addresses=127.0.0.1 -p {self.port} {given}"
        run_as_postgres("pg_ctl", "-D", f"{self.folder}/data", "-w", "-o", where, "-l", f"{self.folder}/log", "start")

    def stop(self, mode: str = "fast") -> None:
        run_as_postgres("pg_ctl", "-D", f"{self.folder}/data", "-m", mode, "-w", "stop")

    def kill(self) -> None:
        """As when the machine's power goes: the postmaster and all of its processes at once."""
        leader = int(Path(f"{self.folder}/data/postmaster.pid").read_text(encoding="utf-8").split()[0])
        children = Path(f"/proc/{leader}/task/{leader}/children").read_text(encoding="utf-8").split()
        for process in (leader, *map(int, children)):
            os.kill(process, signal.SIGKILL)


def run_as_postgres(program: str, *words: str) -> None:
    programs = postgres_programs()
    assert programs
    user = ["runuser", "-u", "postgres", "--"] if os.geteuid() == 0 else []
    command = [*user, str(programs / program), *words]
    done = subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, cwd="/tmp", check=False)
    assert done.returncode == 0, done.stderr.decode()


def postgres_folder() -> str:
    """A folder that the server may use."""
    folder = tempfile.mkdtemp(prefix="memdir-pg-", dir="/tmp")
    if os.geteuid() == 0:
        owner = pwd.getpwnam("postgres")
        os.chown(folder, owner.pw_uid, owner.pw_gid)
    return folder


@contextmanager
def postgres_server() -> Iterator[Postgres]:
    server = Postgres(postgres_folder(), free_port())
    try:
        words = ("-U", "postgres", "-A", "trust", "--no-sync", "-E", "UTF8", "--locale=C.UTF-8")
        run_as_postgres("initdb", "-D", f"{server.folder}/data", *words)
        server.start()
        try:
            yield server
        finally:
            server.stop("immediate")
    finally:
        shutil.rmtree(server.folder)


# A server that is killed may be gone before its answer, in the middle of its head or of its body.
CUT_OFF = (OSError, http.client.HTTPException)


@dataclass(frozen=True)
class Answer:
    """What the hub said."""

    status: int
    headers: Mapping[str, str]
    data: bytes

    @property
    def body(self) -> Any:
        return json.loads(self.data)

    @property
    def kind(self) -> str:
        return str(self.body["error"]["kind"])


@dataclass
class Client:
    """One member's way to the hub: a kept connection and a token."""

    port: int
    token: str = ""
    team: str = ""
    member: str = ""
    source: str = "127.0.0.1"
    connection: http.client.HTTPConnection = field(init=False)

    def __post_init__(self) -> None:
        source = (self.source, 0)
        self.connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=40, source_address=source)

    def elsewhere(self) -> Client:
        """The same, from an address from which no wrong token came: nothing but the token decides about the answer."""
        number = next(_addresses)
        return replace(self, source=f"127.1.{number // 250}.{number % 250 + 1}")

    def __del__(self) -> None:
        self.connection.close()

    def ask(self, method: str, path: str, body: object = None, /, **headers: str) -> Answer:
        """Headers are written as names: `If_Match=…`. A path without a leading slash is the team's."""
        where = path if path.startswith("/") else f"/v1/teams/{self.team}/{path}"
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        if self.token and "Authorization" not in named:
            named["Authorization"] = f"Bearer {self.token}"
        data = body if isinstance(body, bytes) or body is None else json.dumps(body).encode()
        for attempt in (1, 2):
            try:
                self.connection.request(method, where, data, named)
                got = self.connection.getresponse()
                return Answer(got.status, {name.lower(): value for name, value in got.getheaders()}, got.read())
            except (http.client.RemoteDisconnected, BrokenPipeError, ConnectionResetError):
                self.connection.close()
                if attempt == 2:
                    raise
        raise AssertionError

    def put(self, key: str, text: str, etag: str | None = None) -> Answer:
        condition = {"If_Match": f'"{etag}"'} if etag else {"If_None_Match": "*"}
        return self.ask("PUT", f"entries/{key}", text.encode(), **condition)

    def get(self, key: str, **headers: str) -> Answer:
        return self.ask("GET", f"entries/{key}", **headers)

    def delete(self, key: str, etag: str) -> Answer:
        return self.ask("DELETE", f"entries/{key}", If_Match=f'"{etag}"')

    def manifest(self, since: int = 0, more: str = "") -> Any:
        return self.ask("GET", f"entries?since={since}{more}").body

    def batch(self, *changes: dict[str, object]) -> Any:
        return self.ask("POST", "batch", {"changes": list(changes)}).body

    def keys(self) -> list[str]:
        return sorted(one["key"] for one in self.manifest()["entries"])


class Beside:
    """The hub's database, open in a thread of the test's."""

    def __init__(self, place: str) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()
        self._database = open_database(place, pooler=True)
        self.run(lambda database: database.connect())

    def run(self, ask: Callable[[HubDatabase], Awaitable[Any]]) -> Any:
        async def asked() -> Any:
            return await ask(self._database)

        return asyncio.run_coroutine_threadsafe(asked(), self._loop).result(30)

    def end(self) -> None:
        self.run(lambda database: database.close())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()


@dataclass
class HubServer:
    """A hub as a process of its own."""

    database: str
    port: int
    process: subprocess.Popen[bytes]
    log: Path
    _beside: Beside | None = None

    def admin(self, action: str, *names: str, **options: object) -> Any:
        """What `memdir hub admin` does, in this process."""
        given = {**DEFAULTS, "action": action, **dict(zip(TAKES[action], names, strict=True)), **options}
        told, _ = self.do(lambda database: act(database, argparse.Namespace(**given), now()))
        return told

    def rows(self, statement: str, *values: object) -> list[tuple[Any, ...]]:
        return list(self.do(lambda database: database.run(statement, *values)))

    def do(self, ask: Callable[[HubDatabase], Awaitable[Any]]) -> Any:
        """Something with the database, beside the hub. One that was stopped meanwhile is asked again."""
        if self._beside is None:
            self._beside = Beside(self.database)
        try:
            return self._beside.run(ask)
        except DatabaseBusy:
            return self._beside.run(ask)

    def team(self, name: str, **limits: object) -> Client:
        """A new team; the client of its first admin."""
        made = self.admin("add-team", name, admin="ana", **limits)
        return Client(self.port, made["token"], made["team"], made["member"])

    def member(self, admin: Client, name: str, role: str = "writer", **options: object) -> Client:
        made = self.admin("add-member", admin.team, name, role=role, **options)
        return Client(self.port, made["token"], admin.team, made["member"])

    def stop(self) -> None:
        if self.process.poll() is None:
            self.process.terminate()
        self.process.wait(20)
        if self.process.stdout:
            self.process.stdout.close()
        if self._beside is not None:
            self._beside.end()
            self._beside = None


def waiting_clients(hub: HubServer, count: int) -> None:
    """Return when so many clients wait for news of their teams."""
    metrics, until = Client(hub.port, hub.admin("metrics")["token"]), time.monotonic() + START_SECONDS
    while f"waiting_clients {count}\n" not in metrics.ask("GET", "/metrics").data.decode():
        assert time.monotonic() < until
        time.sleep(0.02)


def now() -> int:
    return int(time.time() * 1000)


def start_hub(database: str, log: Path, *options: str, port: int = 0, before: str = "") -> HubServer:
    """`memdir hub serve`, up and answering; `before` is Python that runs first in its process."""
    code = f"import sys; {before or 'pass'}; from memdir.cli.entry import main; sys.exit(main(sys.argv[1:]))"
    command = [sys.executable, "-c", code, "hub", "serve", "--json", "--port", str(port)]
    environment = {**os.environ, "MEMDIR_HOME": str(log.parent / "hub-home"), "PYTHONUNBUFFERED": "1"}
    environment["COLUMNS"] = "500"  # a line of the log is one line, however long the path of a test is
    with log.open("ab") as told:
        process = subprocess.Popen(
            [*command, "--database", database, *options], stdout=subprocess.PIPE, stderr=told, env=environment
        )
    assert process.stdout
    lines = b""
    while not lines.endswith(b"}\n") and (line := process.stdout.readline()):
        lines += line
    assert lines, f"the hub ended: {log.read_text(encoding='utf-8')}"
    server = HubServer(database, int(json.loads(lines)["url"].rpartition(":")[2]), process, log)
    until = time.monotonic() + START_SECONDS
    while time.monotonic() < until:
        try:
            asking = Client(server.port)
            ready = asking.ask("GET", "/ready").status == 200
            asking.connection.close()
            if ready:
                return server
        except CUT_OFF:
            time.sleep(0.05)
    raise AssertionError(log.read_text(encoding="utf-8"))
