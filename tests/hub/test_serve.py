"""`memdir hub serve`: starting, ending, TLS, a database that goes away and comes back, backup and restore."""

from __future__ import annotations

import asyncio
import json
import os
import resource
import shutil
import signal
import sqlite3
import ssl
import subprocess
import sys
import threading
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest

from memdir.hub.hub_database import Together
from tests.conftest import Ran
from tests.hub.servers import CUT_OFF, Answer, Beside, Client, Postgres, postgres_programs, start_hub, waiting_clients

HUB = [sys.executable, "-m", "memdir.cli.entry", "hub"]


@pytest.fixture
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """An empty database of the kind that the test asks for."""
    if request.param == "sqlite":
        yield str(tmp_path / "new" / "hub.sqlite3")
        return
    server: Postgres = request.getfixturevalue("postgres")
    name = f"new_{os.getpid()}_{time.monotonic_ns()}"
    run_sql(server, f"create database {name}")
    yield server.url_of(name)


def run_sql(server: Postgres, statement: str) -> None:
    psql = shutil.which("psql") or str(postgres_programs() or "") + "/psql"
    subprocess.run([psql, "-q", server.url, "-c", statement], check=True, capture_output=True)


on_both = pytest.mark.parametrize("place", ["sqlite", "postgres"], indirect=True)


def test_it_starts_at_once_on_a_file_in_memdirs_home(memdir: Callable[..., Ran], tmp_path: Path) -> None:
    made = json.loads(memdir("hub", "admin", "add-team", "acme", "--admin", "ana", "--json").out)
    file = tmp_path / "home" / "hub" / "hub.sqlite3"
    assert file.stat().st_mode & 0o777 == 0o600
    server = start_hub(str(file), tmp_path / "log")
    try:
        assert Client(server.port, made["token"]).ask("GET", "/v1/me").body["team"]["name"] == "acme"
    finally:
        server.stop()


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("--host", "0.0.0.0"), "without TLS the hub is served on this machine only"),
        (("--host", "::"), "without TLS the hub is served on this machine only"),
        (("--host", "hub.example.org"), "without TLS the hub is served on this machine only"),
        (("--tls-cert", "x.crt"), "TLS takes both"),
        (("--tls-cert", "x.crt", "--tls-key", "x.key"), "there is no file x.crt"),
        (("--database", "postgresql://nobody@127.0.0.1:1/none"), "cannot be used"),
    ],
)
def test_what_would_be_unsafe_or_cannot_work_is_refused(
    memdir: Callable[..., Ran], words: tuple[str, ...], told: str
) -> None:
    ran = memdir("hub", "serve", "--check", *words)
    assert ran.code != 0 and told in ran.err


def test_a_database_in_which_nothing_may_be_made_or_written_is_told(
    memdir: Callable[..., Ran], postgres: Postgres
) -> None:
    for name in ("hub_guest", "hub_read"):
        run_sql(postgres, f"create database {name}")
    run_sql(postgres, "create user hub_guest")
    run_sql(postgres, "alter database hub_read set default_transaction_read_only = on")
    guest, only_read = postgres.url_of("hub_guest").replace("postgres@", "hub_guest@"), postgres.url_of("hub_read")
    for place, why in ((guest, "permission denied"), (only_read, "read-only transaction")):
        for words in (("serve", "--check"), ("admin", "add-team", "acme")):
            ran = memdir("hub", *words, "--database", place)
            assert ran.code == 1 and "the hub's database cannot be used" in ran.err and why in ran.err


@pytest.mark.parametrize("is_postgres", [False, True])
def test_a_database_without_a_hub_is_told_and_stays_as_it_is(
    memdir: Callable[..., Ran], postgres: Postgres, tmp_path: Path, is_postgres: bool
) -> None:
    """A backup that went into another one, say: `restored` would find no team in it, and nothing to repeat."""
    place = postgres.url_of("hub_empty") if is_postgres else str(tmp_path / "empty.sqlite3")
    if is_postgres:
        run_sql(postgres, "create database hub_empty")
    else:
        Path(place).touch()
    for words in (("admin", "teams"), ("admin", "restored"), ("work", "--nightly")):
        ran = memdir("hub", *words, "--database", place)
        assert ran.code == 2 and "there is no hub in that database" in ran.err and "--database right?" in ran.err
    made = memdir("hub", "admin", "add-team", "acme", "--database", place)
    assert made.code == 0 and "acme" in memdir("hub", "--database", place).out


def test_a_proxy_may_stand_in_front(memdir: Callable[..., Ran]) -> None:
    assert memdir("hub", "serve", "--check", "--host", "0.0.0.0", "--behind-proxy").code == 0


def new_pair(folder: Path, name: str) -> tuple[Path, Path]:
    """A key and a certificate that was made for it."""
    key, cert = folder / f"{name}.key", folder / f"{name}.crt"
    new = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=localhost"]
    names = ["-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1", "-keyout", str(key), "-out", str(cert)]
    subprocess.run([*new, *names], check=True, capture_output=True)
    return key, cert


def test_a_certificate_and_another_s_key_are_told_before_it_starts(memdir: Callable[..., Ran], tmp_path: Path) -> None:
    if shutil.which("openssl") is None:
        pytest.skip("there is no openssl here to make a certificate with")
    (key, cert), (other, _) = new_pair(tmp_path, "hub"), new_pair(tmp_path, "other")
    for one, two in ((cert, other), (key, cert)):
        ran = memdir("hub", "serve", "--check", "--tls-cert", str(one), "--tls-key", str(two))
        assert (ran.code, ran.out) == (2, "") and "are no certificate and its key" in ran.err
    assert memdir("hub", "serve", "--check", "--tls-cert", str(cert), "--tls-key", str(key)).code == 0


def test_whoever_waits_is_let_go_when_it_ends(tmp_path: Path) -> None:
    server = start_hub(str(tmp_path / "hub.sqlite3"), tmp_path / "log")
    team, answers = server.team("acme"), list[Answer]()
    waiting = threading.Thread(target=lambda: answers.append(team.ask("GET", "changes?since=0&wait=30")))
    waiting.start()
    waiting_clients(server, 1)
    begun = time.monotonic()
    server.stop()
    waiting.join()
    assert time.monotonic() - begun < 4, "five seconds are for answers that are on their way"
    assert [(one.status, one.body) for one in answers] == [(200, {"revision": 0})]
    assert "error" not in server.log.read_text(encoding="utf-8")


def test_tls_by_the_server_itself(tmp_path: Path) -> None:
    if shutil.which("openssl") is None:
        pytest.skip("there is no openssl here to make a certificate with")
    key, cert = new_pair(tmp_path, "hub")
    words = ["serve", "--json", "--port", "0", "--database", str(tmp_path / "hub.sqlite3")]
    process = subprocess.Popen(
        [*HUB, *words, "--tls-cert", str(cert), "--tls-key", str(key)],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )
    assert process.stdout
    try:
        told = b"".join(iter(process.stdout.readline, b"}\n")) + b"}"
        url = json.loads(told)["url"]
        assert url.startswith("https://")
        trusted = ssl.create_default_context(cafile=str(cert))
        until = time.monotonic() + 20
        while True:
            try:
                with urllib.request.urlopen(f"{url}/health", context=trusted, timeout=5) as got:
                    assert json.load(got) == {"ok": True}
                break
            except OSError:
                assert time.monotonic() < until
                time.sleep(0.05)
    finally:
        process.terminate()
        process.wait(20)
        process.stdout.close()


@on_both
def test_of_several_that_start_at_once_one_makes_the_tables(place: str) -> None:
    check = [*HUB, "serve", "--check", "--database", place]
    running = [subprocess.Popen(check, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL) for _ in range(3)]
    assert [(one.communicate()[1].decode(), one.returncode) for one in running] == [("", 0)] * 3


@on_both
def test_a_database_of_a_newer_version_is_left_alone(place: str, memdir: Callable[..., Ran]) -> None:
    assert memdir("hub", "serve", "--check", "--database", place).code == 0
    if place.startswith("postgresql"):
        subprocess.run(["psql", "-q", place, "-c", "insert into hub_migrations values (9999, 'x')"], check=True)
    else:
        with sqlite3.connect(place) as opened:
            opened.execute("insert into hub_migrations values (9999, 'x')")
        opened.close()
    ran = memdir("hub", "serve", "--check", "--database", place)
    assert ran.code == 1 and "made by a newer memdir" in ran.err


@on_both
def test_what_was_acknowledged_is_there_after_a_kill(place: str, tmp_path: Path) -> None:
    server = start_hub(place, tmp_path / "log")
    team = server.team("acme")
    acknowledged: list[str] = []

    def write() -> None:
        number = 0
        while True:
            try:
                if team.put(f"n{number}.md", f"text {number}").status != 201:
                    return
            except CUT_OFF:
                return
            acknowledged.append(f"n{number}.md")
            number += 1

    writing = threading.Thread(target=write)
    writing.start()
    while len(acknowledged) < 20:
        time.sleep(0.01)
    os.kill(server.process.pid, signal.SIGKILL)
    writing.join()
    server.stop()
    again = start_hub(place, tmp_path / "log")
    try:
        after = Client(again.port, team.token, team.team)
        assert set(acknowledged) <= set(after.keys())
        used = after.ask("GET", "/v1/me").body["used"]
        assert used["entries"] == len(after.keys()) and after.manifest()["revision"] == used["entries"]
    finally:
        again.stop()


def test_health_asks_no_database_and_the_hub_goes_on_when_it_is_back(postgres: Postgres, tmp_path: Path) -> None:
    server = start_hub(postgres.url, tmp_path / "log")
    try:
        team = server.team("patient")
        team.put("a.md", "one")
        postgres.stop("immediate")
        try:
            assert team.ask("GET", "/health").status == 200
            gone = team.put("b.md", "two")
            assert (gone.status, gone.kind) == (503, "busy")
            assert int(gone.headers["retry-after"]) > 0
        finally:
            postgres.start()
        until = time.monotonic() + 20
        while (now := team.put("b.md", "two")).status == 503 and time.monotonic() < until:
            time.sleep(0.1)
        assert now.status == 201
        assert team.get("a.md").data == b"one"
    finally:
        server.stop()


def test_health_answers_while_another_process_writes(tmp_path: Path) -> None:
    server = start_hub(str(tmp_path / "hub.sqlite3"), tmp_path / "log")
    written: list[int] = []
    try:
        team, asking = server.team("patient"), Client(server.port)
        writing = threading.Thread(target=lambda: written.append(team.put("a.md", "one").status))
        with closing(sqlite3.connect(server.database, isolation_level=None)) as other:
            other.execute("begin immediate")
            writing.start()
            begun = time.monotonic()
            for _ in range(100):
                assert asking.ask("GET", "/health").status == 200
            assert time.monotonic() - begun < 2 and not written
            other.execute("commit")
        writing.join()
        assert written == [201], "who had to wait is served then"
    finally:
        server.stop()


def test_a_full_disk_is_told_as_one_that_may_pass(tmp_path: Path) -> None:
    """Which tokens and members find out only when their transaction ends."""
    server = start_hub(str(tmp_path / "hub.sqlite3"), tmp_path / "log")
    try:
        team = server.team("full")
        assert team.put("a.md", "one").status == 201
        _, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
        room = os.path.getsize(f"{server.database}-wal")
        resource.prlimit(server.process.pid, resource.RLIMIT_FSIZE, (room, hard))
        refused = [team.ask("POST", "tokens", {"label": "more"}), team.put("b.md", "two")]
        assert [(one.status, one.kind) for one in refused] == [(503, "busy")] * 2
        assert int(refused[0].headers["retry-after"]) > 0
        resource.prlimit(server.process.pid, resource.RLIMIT_FSIZE, (hard, hard))
        assert team.ask("POST", "tokens", {"label": "more"}).status == 201
        assert team.put("b.md", "two").status == 201
    finally:
        server.stop()


def test_what_breaks_for_one_keeps_nobody_waiting_who_asked_meanwhile() -> None:
    async def ask() -> list[str | BaseException]:
        asked, goes_on = asyncio.Event(), asyncio.Event()

        async def answers(_: str, questions: list[str]) -> list[str]:
            asked.set()
            await goes_on.wait()
            return [{"good": "answer"}[question] for question in questions]

        together = Together(answers)
        first = asyncio.create_task(together.ask("", "bad"))
        await asked.wait()
        others = [asyncio.create_task(together.ask("", "good")) for _ in range(2)]
        asyncio.get_running_loop().call_soon(goes_on.set)
        async with asyncio.timeout(5):
            return await asyncio.gather(first, *others, return_exceptions=True)

    broken, *good = asyncio.run(ask())
    assert isinstance(broken, BaseException) and good == ["answer", "answer"]


def test_who_only_reads_never_waits_for_a_writer(tmp_path: Path) -> None:
    """That a token was used is written down with its first request; what another process holds up is left out."""
    server = start_hub(str(tmp_path / "hub.sqlite3"), tmp_path / "log")
    try:
        team = server.team("patient")
        with closing(sqlite3.connect(server.database, isolation_level=None)) as other:
            other.execute("begin immediate")
            begun = time.monotonic()
            assert team.ask("GET", "/v1/me").status == 200
            assert time.monotonic() - begun < 2
            other.execute("commit")
        assert server.rows("select used from tokens") == [(None,)]
    finally:
        server.stop()


def test_what_is_acknowledged_is_on_the_disk(postgres: Postgres, tmp_path: Path) -> None:
    """A killed process shows nothing of it: only the settings that decide it can be asked."""
    file, server = (Beside(place) for place in (str(tmp_path / "hub.sqlite3"), postgres.url))
    try:
        assert file.run(lambda database: database.run("pragma synchronous")) == [(2,)], "full"
        assert file.run(lambda database: database.run("pragma journal_mode")) == [("wal",)]
        assert server.run(lambda database: database.run("show synchronous_commit")) == [("on",)]
    finally:
        file.end()
        server.end()


def test_a_full_disk_is_told_as_one_and_in_the_log(tmp_path: Path) -> None:
    path = str(tmp_path / "hub.sqlite3")
    full = "import memdir.hub.sqlite_database as one, sqlite3; was = one.SqliteDatabase.connect\n"
    full += (
        "async def connect(self):\n    await was(self)\n    self._connection.execute('pragma max_page_count = 30')\n"
    )
    server = start_hub(path, tmp_path / "log", before=full + "one.SqliteDatabase.connect = connect")
    try:
        team = server.team("t")
        answers = [team.put(f"k{n}.md", f"{n} " * 8_000) for n in range(60)]
        refused = next(one for one in answers if one.status != 201)
        assert refused.status == 503 and refused.kind == "full" and "disk" in refused.body["error"]["message"]
        assert team.get("k0.md").status == 200
        assert '"kind": "full"' in server.log.read_text(encoding="utf-8")
    finally:
        server.stop()


def test_what_is_erased_beside_somebody_who_reads_is_told_and_gone_after_them(tmp_path: Path) -> None:
    server = start_hub(str(tmp_path / "hub.sqlite3"), tmp_path / "log")
    try:
        team, words = server.team("acme"), b"what shall be erased"
        old = team.put("a.md", words.decode()).body
        team.put("a.md", "harmless", old["etag"])

        def is_kept() -> bool:
            return any(words in path.read_bytes() for path in tmp_path.glob("hub.sqlite3*"))

        with closing(sqlite3.connect(server.database, isolation_level=None)) as reader:
            reader.execute("begin")
            reader.execute("select * from versions").fetchall()
            answer = team.ask("POST", f"versions/{old['revision']}/redact", {})
            assert answer.status == 200 and "another process reads" in answer.body["warning"] and is_kept()
        until = time.monotonic() + 10
        while is_kept():
            assert time.monotonic() < until
            time.sleep(0.05)
        later = team.put("b.md", "more").body
        team.delete("b.md", later["etag"])
        assert team.ask("POST", f"versions/{later['revision']}/redact", {}).body == {"ok": True}
    finally:
        server.stop()


def test_a_copy_of_sqlite_made_while_it_is_written_can_be_served(tmp_path: Path) -> None:
    server = start_hub(str(tmp_path / "hub.sqlite3"), tmp_path / "log")
    team = server.team("acme")
    for number in range(5):
        team.put(f"n{number}.md", "text")
    server.admin("backup", str(tmp_path / "copy.sqlite3"))
    assert (tmp_path / "copy.sqlite3").stat().st_mode & 0o777 == 0o600, "the texts of all teams"
    team.put("later.md", "text")
    server.stop()
    restored = start_hub(str(tmp_path / "copy.sqlite3"), tmp_path / "log")
    try:
        after = Client(restored.port, team.token, team.team)
        assert after.keys() == [f"n{number}.md" for number in range(5)]
        restored.admin("restored")
        later = after.put("n9.md", "text").body["revision"]
        page = after.manifest(6)
        assert [one["key"] for one in page["entries"]] == ["n9.md"], "texts of the backup are no news"
        assert page["restored"] == later - 1 > 1_000_005, "what a machine saw before that, the hub may have lost"
        restored.admin("restored")
        assert after.manifest(6)["restored"] > later, "each time again"
        assert after.get("n0.md").data == b"text"
    finally:
        restored.stop()


def test_a_dump_of_postgresql_can_be_restored_and_served(postgres: Postgres, tmp_path: Path) -> None:
    if shutil.which("pg_dump") is None:
        pytest.skip("there is no pg_dump here")
    run_sql(postgres, "create database source")
    run_sql(postgres, "create database target")
    server = start_hub(postgres.url_of("source"), tmp_path / "log")
    team = server.team("acme")
    team.put("a.md", "ünï\r\n")
    server.stop()
    dump = tmp_path / "hub.dump"
    subprocess.run(["pg_dump", "-Fc", "-f", str(dump), postgres.url_of("source")], check=True)
    subprocess.run(["pg_restore", "--exit-on-error", "-d", postgres.url_of("target"), str(dump)], check=True)
    restored = start_hub(postgres.url_of("target"), tmp_path / "log")
    try:
        after = Client(restored.port, team.token, team.team)
        restored.admin("restored")
        assert after.get("a.md").data == "ünï\r\n".encode()
        later = after.put("b.md", "two").body["revision"]
        assert after.manifest()["restored"] == later - 1 > 1_000_001
        restored.admin("restored")
        assert after.manifest()["restored"] > later, "each time again"
    finally:
        restored.stop()
