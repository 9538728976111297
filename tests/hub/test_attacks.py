"""Attacks on the hub, on both databases: none gets through, and after each the hub still serves its team (E3, E5)."""

from __future__ import annotations

import asyncio
import base64
import hashlib
import json
import os
import select
import socket
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import IO
from urllib.parse import quote

import pytest

from memdir.hub.bearer import Identities
from memdir.hub.hub_database import HubDatabase, Row, open_database
from memdir.hub.hub_state import Waiting
from memdir.hub.people import add_team
from memdir.hub.reply import HubRefusal
from memdir.share.remote import TeamCaps
from tests.hub.servers import Answer, Client, HubServer, start_hub
from tests.security.fakes import github_token

Join = Callable[..., Client]
TEXT = "the text of a team"
ETAG = hashlib.sha256(TEXT.encode()).hexdigest()


@pytest.fixture
def victim(hub: HubServer, team: Client) -> Iterator[Client]:
    """A team with one entry. Whatever happened: it is as it was, and the hub has not stumbled."""
    assert team.put("a.md", TEXT).status == 201
    yield team
    fresh = Client(hub.port, team.token, team.team)
    assert fresh.get("a.md").data == TEXT.encode()
    assert fresh.keys() == ["a.md"]
    for line in hub.log.read_text(encoding="utf-8").splitlines():
        assert '"error"' not in line, "something broke inside"


def raw(port: int, data: bytes, seconds: float = 5.0) -> bytes:
    """What comes back for these very bytes."""
    with socket.create_connection(("127.0.0.1", port), timeout=seconds) as wire:
        try:
            wire.sendall(data)
            got = b""
            while part := wire.recv(65_536):
                got += part
                if b"\r\n\r\n" in got and b"connection: close" not in data.lower():
                    break
        except (TimeoutError, ConnectionError):
            return got if "got" in locals() else b""
    return got


def head(client: Client, line: str, *headers: str, token: bool = True) -> bytes:
    lines = [line, "Host: hub", *headers, *([f"Authorization: Bearer {client.token}"] if token else [])]
    return "\r\n".join([*lines, "", ""]).encode("latin-1")


# Another team's ids.

PATHS = (
    *(("GET", "entries"), ("GET", "entries/a.md"), ("PUT", "entries/a.md"), ("DELETE", "entries/a.md")),
    *(("POST", "batch"), ("GET", "changes?wait=0"), ("GET", "versions"), ("GET", "versions/1")),
    *(("POST", "versions/1/redact"), ("GET", "members"), ("POST", "members"), ("PATCH", "members/{member}")),
    *(("DELETE", "members/{member}"), ("POST", "members/{member}/purge"), ("GET", "tokens"), ("POST", "tokens")),
    *(("DELETE", "tokens/{token}"), ("GET", "audit"), ("GET", "jobs"), ("POST", "jobs")),
    *(("GET", "proposals"), ("POST", "proposals/1")),
)
BODIES: dict[str, object] = {
    "batch": {"changes": [{"op": "delete", "key": "a.md", "ifMatch": ETAG}]},
    "members": {"name": "eve", "role": "admin"},
    "tokens": {},
    "jobs": {"kind": "dream"},
    "proposals/1": {"decision": "accept"},
    "members/{member}": {"role": "reader"},
}


@pytest.mark.parametrize(("method", "path"), PATHS)
def test_another_team_is_not_there(hub: HubServer, victim: Client, method: str, path: str) -> None:
    thief = hub.team(f"thieves {time.monotonic_ns()}")
    token = victim.ask("GET", "tokens").body["tokens"][0]["id"]
    where = path.format(member=victim.member, token=token)
    body = b"stolen" if method == "PUT" else BODIES.get(path)
    answers = []
    for team in (victim.team, "t_000000000000"):
        answers.append(thief.ask(method, f"/v1/teams/{team}/{where}", body, If_Match=f'"{ETAG}"'))
    assert {one.status for one in answers} == {404}
    assert answers[0].data == answers[1].data, "whether there is such a team cannot be told"


@pytest.mark.parametrize("path", ["members/{member}", "members/{member}/purge", "tokens/{token}"])
def test_ids_of_another_team_are_nobody_in_ones_own(hub: HubServer, victim: Client, path: str) -> None:
    thief = hub.team(f"thieves {time.monotonic_ns()}")
    token = victim.ask("GET", "tokens").body["tokens"][0]["id"]
    where = path.format(member=victim.member, token=token)
    method = "POST" if path.endswith("purge") else "DELETE"
    assert thief.ask(method, where, {}).status == 404
    assert thief.ask("POST", "tokens", {"member": victim.member}).status == 404
    assert victim.ask("GET", "/v1/me").status == 200


# Tokens.


def unsigned(**fields: str) -> str:
    return base64.urlsafe_b64encode(json.dumps(fields).encode()).decode().rstrip("=")


FORGED: dict[str, Callable[[Client, str], str]] = {
    "none": lambda client, digest: "",
    "no scheme": lambda client, digest: client.token,
    "no token": lambda client, digest: "Bearer ",
    "another scheme": lambda client, digest: f"Token {client.token}",
    "basic": lambda client, digest: "Basic " + base64.b64encode(f"ana:{client.token}".encode()).decode(),
    "its hash": lambda client, digest: f"Bearer {digest}",
    "a prefix": lambda client, digest: f"Bearer {client.token[:-1]}",
    "longer": lambda client, digest: f"Bearer {client.token}A",
    "two words": lambda client, digest: f"Bearer {client.token} x",
    "another case": lambda client, digest: f"Bearer {client.token.swapcase()}",
    "very long": lambda client, digest: f"Bearer {'m' * 5_000}",
    "sql": lambda client, digest: "Bearer ' or 1=1 --",
    "latin": lambda client, digest: "Bearer mdh_\xe4\xf6\xfc",
    "the team": lambda client, digest: f"Bearer {client.team}",
    "the member": lambda client, digest: f"Bearer {client.member}",
    "json web token": lambda client, digest: f"Bearer {unsigned(alg='none')}.{unsigned(sub='ana')}.",
}


@pytest.mark.parametrize("name", FORGED)
def test_nothing_but_the_token_itself_lets_anybody_in(victim: Client, name: str) -> None:
    digest = hashlib.sha256(victim.token.encode()).hexdigest()
    for method, path in (("GET", "/v1/me"), ("PUT", "entries/a.md")):
        refused = victim.ask(method, path, Authorization=FORGED[name](victim, digest))
        assert refused.status in (401, 429)
        assert victim.token.encode() not in refused.data


@pytest.mark.parametrize("where", ["?token={}", "?access_token={}", "?api_token={}&x=1", "?q={}"])
def test_a_token_in_a_url_is_refused_and_not_logged(hub: HubServer, victim: Client, where: str) -> None:
    for headers in ({}, {"Authorization": f"Bearer {victim.token}"}):
        refused = Client(hub.port).ask("GET", f"/v1/me{where.format(victim.token)}", None, **headers)
        assert refused.status == 400
    assert victim.token not in hub.log.read_text(encoding="utf-8")


@pytest.mark.parametrize("name", ["Cookie", "X-Api-Key", "X-Auth-Token", "Proxy-Authorization", "X-Forwarded-User"])
def test_a_token_is_looked_for_in_one_place_only(hub: HubServer, victim: Client, name: str) -> None:
    value = f"token={victim.token}" if name == "Cookie" else f"Bearer {victim.token}"
    assert Client(hub.port).ask("GET", "/v1/me", None, **{name: value}).status in (401, 429)


def test_two_authorization_headers_are_none(hub: HubServer, victim: Client) -> None:
    other = f"Authorization: Bearer {hub.team(f'others {time.monotonic_ns()}').token}"
    assert b" 400 " in raw(hub.port, head(victim, "GET /v1/me HTTP/1.1", other, "Connection: close")).split(b"\r\n")[0]


def test_a_token_for_metrics_reads_no_team_and_a_teams_token_no_metrics(hub: HubServer, victim: Client) -> None:
    watcher = Client(hub.port, hub.admin("metrics")["token"], victim.team)
    assert watcher.ask("GET", "/metrics").status == 200
    assert victim.ask("GET", "/metrics").status == 403
    for path in ("/v1/me", "entries", "entries/a.md", "members", "/v1/teams//entries"):
        assert watcher.ask("GET", path).status in (403, 404)
    shown = watcher.ask("GET", "/metrics").data.decode()
    assert victim.team not in shown and "a.md" not in shown


@pytest.mark.parametrize("name", ["X-Forwarded-For", "X-Real-Ip", "X-User", "X-Remote-User", "Memdir-By", "From"])
def test_who_somebody_is_comes_from_the_token_alone(victim: Client, join: Join, name: str) -> None:
    bob = join("bob")
    made = bob.ask("PUT", "entries/b.md", b"x", If_None_Match="*", **{name: victim.member})
    assert bob.get("b.md").headers["memdir-by"] == bob.member
    told = {"op": "put", "key": "c.md", "content": "x", "ifMatch": None, "by": victim.member, "team": "t_1", "rev": 9}
    bob.batch(told)
    assert {one["by"]["id"] for one in bob.manifest(1)["entries"]} == {bob.member}
    bob.delete("b.md", made.body["etag"])
    bob.delete("c.md", made.body["etag"])


ESCALATIONS: tuple[tuple[str, str, object], ...] = (
    ("PATCH", "members/{self}", {"role": "admin"}),
    ("POST", "members", {"name": "eve", "role": "admin"}),
    ("POST", "tokens", {"scopes": ["admin"]}),
    ("POST", "tokens", {"member": "{ana}", "scopes": ["admin"]}),
    ("DELETE", "members/{ana}", None),
    ("POST", "members/{ana}/purge", {"derived": True}),
    ("POST", "versions/1/redact", None),
    ("POST", "jobs", {"kind": "dream"}),
    ("GET", "audit", None),
    ("DELETE", "tokens/{token}", None),
)


@pytest.mark.parametrize(("method", "path", "body"), ESCALATIONS)
def test_a_writer_gets_no_further(victim: Client, join: Join, method: str, path: str, body: object) -> None:
    bob = join("bob")
    token = victim.ask("GET", "tokens").body["tokens"][0]["id"]
    where = path.format(self=bob.member, ana=victim.member, token=token)
    given = json.loads(json.dumps(body).replace("{ana}", victim.member))
    assert bob.ask(method, where, given).status in (403, 404)
    assert victim.ask("GET", "/v1/me").body["role"] == "admin"
    assert bob.ask("GET", "/v1/me").body["role"] == "writer"


# ETags.

OTHER = hashlib.sha256(b"other").hexdigest()
CONDITIONS: tuple[dict[str, str], ...] = (
    {},
    {"If_Match": "*"},
    {"If_Match": f'W/"{ETAG}"'},
    {"If_Match": f'"{OTHER}"'},
    {"If_Match": f'"{OTHER}", "{ETAG}"'},
    {"If_Match": ETAG},
    {"If_Match": f'"{ETAG.upper()}"'},
    {"If_Match": f'"{ETAG[:-1]}"'},
    {"If_Match": '""'},
    {"If_Match": "\"' or '1'='1\""},
    {"If_Match": f'"{ETAG}"', "If_None_Match": "*"},
    {"If_None_Match": f'"{OTHER}"'},
    {"If_None_Match": "*"},
    {"If_Unmodified_Since": "Mon, 16 Nov 2099 00:00:00 GMT"},
)


@pytest.mark.parametrize("headers", CONDITIONS, ids=str)
def test_no_forged_condition_overwrites_or_deletes(victim: Client, headers: dict[str, str]) -> None:
    for method in ("PUT", "DELETE"):
        assert victim.ask(method, "entries/a.md", b"forged", **headers).status in (400, 412, 428)


@pytest.mark.parametrize("condition", [OTHER, ETAG.upper(), "", "*", f'"{ETAG}"', 7, True, [ETAG], {"e": ETAG}])
def test_no_forged_condition_of_a_batch_does(victim: Client, condition: object) -> None:
    for op in ("put", "delete"):
        change = {"op": op, "key": "a.md", "content": "forged", "ifMatch": condition}
        answer = victim.ask("POST", "batch", {"changes": [change]})
        assert answer.status in (400, 428) or answer.body["results"][0]["status"] == 412


def test_an_old_request_that_is_sent_again_changes_nothing(victim: Client) -> None:
    new = victim.put("a.md", "newer", ETAG).body["etag"]
    for _ in range(3):
        assert victim.ask("PUT", "entries/a.md", b"replayed", If_Match=f'"{ETAG}"').status == 412
    assert victim.delete("a.md", ETAG).status == 412
    assert victim.put("a.md", TEXT, new).status == 200


# Keys.

KEYS = (
    *("../a.md", "..%2fa.md", "%2e%2e/a.md", "%252e%252e%252fa.md", "x/../a.md", "./a.md", "x/./y.md", "//a.md"),
    *("/etc/passwd.md", "a.md%00.md", "a%00.md", "a%5cb.md", "..%5ca.md", "C:a.md", "c%3a%5ca.md", "CON.md", "aux.md"),
    *("%ef%bc%8e%ef%bc%8e/a.md", "%ef%bc%8fa.md", "a%cc%b8.md", "e%cc%81.md", "%e2%80%aegpj.md", "a%e2%80%8bb.md"),
    *("MEMORY.md", "memory.md", "CLAUDE.md", "AGENTS.md", "x/GEMINI.md", ".git/config.md", ".hidden.md", "-rf.md"),
    *("a", "a.txt", ".md", "a.md/", "a.md/b.md", "a.md%20", "a.md.", "%20a.md", "a%0ab.md", "a%0d%0ab.md", "a%09.md"),
    *(
        f"{'x' * 300}.md",
        f"{'d/' * 17}a.md",
        f"{'d/' * 600}a.md",
        "d%d0%b5ploy.md",
        "__proto__.md",
        "%c0%ae%c0%ae/a.md",
    ),
    *("a%3cb%3e.md", "a|b.md", "a*.md", "a%3f.md", "~.md", "$HOME.md", "%ff%fe.md"),
)


@pytest.mark.parametrize("key", KEYS)
def test_no_key_leads_anywhere_else(victim: Client, key: str) -> None:
    for method in ("GET", "PUT", "DELETE"):
        refused = victim.ask(method, f"entries/{key}", b"x", If_Match=f'"{ETAG}"')
        assert refused.status in (400, 404, 422), refused.data


@pytest.mark.parametrize("key", ["../a.md", "a\0.md", "\ud800.md", "a\\b.md", "", " ", "／.md", 7, None, ["a.md"], {}])
def test_no_key_of_a_batch_does(victim: Client, key: object) -> None:
    answer = victim.ask("POST", "batch", {"changes": [{"op": "put", "key": key, "content": "x", "ifMatch": None}]})
    assert answer.status == 400 or answer.body["results"][0]["status"] == 422


# Bodies.

DEEP = b'{"changes":' + b"[" * 100_000 + b"]" * 100_000 + b"}"
BATCHES = {
    "empty": b"",
    "not json": b"{",
    "a list": b"[]",
    "a number": b"1" * 5_000,
    "deep": DEEP,
    "no changes": b"{}",
    "none": b'{"changes":[]}',
    "too many": json.dumps(
        {"changes": [{"op": "put", "key": f"{n}.md", "ifMatch": None} for n in range(101)]}
    ).encode(),
    "twice": json.dumps({"changes": [{"op": "put", "key": "b.md", "content": "", "ifMatch": None}] * 2}).encode(),
    "another op": b'{"changes":[{"op":"drop","key":"a.md","ifMatch":null}]}',
    "no condition": b'{"changes":[{"op":"delete","key":"a.md"}]}',
    "utf-16": json.dumps({"changes": [{"op": "delete", "key": "a.md", "ifMatch": OTHER}]}).encode("utf-16") + b"x",
    "not text": b'{"changes":[{"op":"put","key":"b.md","content":7,"ifMatch":null}]}',
    "bad time": b'{"changes":[{"op":"put","key":"b.md","content":"","ifMatch":null,"saved":"yesterday"}]}',
}


@pytest.mark.parametrize("name", BATCHES)
def test_a_batch_that_is_none_is_refused(victim: Client, name: str) -> None:
    assert victim.ask("POST", "batch", BATCHES[name]).status in (400, 428)


@pytest.mark.parametrize("data", [b"\xff\xfe", b"a\0b", b"\xc0\xaf", b"\xed\xa0\x80", "ü".encode("latin-1")])
def test_what_is_no_text_is_refused(victim: Client, data: bytes) -> None:
    assert victim.ask("PUT", "entries/b.md", data, If_None_Match="*").kind == "not-text"
    assert victim.ask("PUT", "entries/a.md", data, If_Match=f'"{ETAG}"').kind == "not-text"


def test_half_a_character_or_a_null_in_a_batch_is_refused(victim: Client) -> None:
    for text in ("\ud83d", "a\0b"):
        (result,) = victim.batch({"op": "put", "key": "b.md", "content": text, "ifMatch": None})["results"]
        assert result["error"]["kind"] == "not-text"


@pytest.mark.parametrize("path", ["entries/b.md", "batch", "members", "jobs"])
def test_a_hundred_megabytes_are_not_read(hub: HubServer, victim: Client, path: str) -> None:
    method = "PUT" if path.startswith("entries") else "POST"
    line = f"{method} /v1/teams/{victim.team}/{path} HTTP/1.1"
    declared = head(victim, line, "If-None-Match: *", "Content-Length: 104857600")
    assert b" 413 " in raw(hub.port, declared).split(b"\r\n")[0], "by what it declares, before a byte of it came"
    limit = 65_536 if method == "PUT" else 8 * 1024 * 1024
    endless = head(victim, line, "If-None-Match: *", "Transfer-Encoding: chunked")
    with socket.create_connection(("127.0.0.1", hub.port), timeout=20) as wire:
        wire.sendall(endless)
        sent = 0
        chunk = b"10000\r\n" + b"x" * 65_536 + b"\r\n"
        try:
            while sent < 100 * 1024 * 1024:
                wire.sendall(chunk)
                sent += 65_536
        except OSError:
            pass
    assert sent < limit + 8 * 1024 * 1024, "the connection is closed when it is too much"


@pytest.mark.parametrize("one", [b"[],", b'"",', b"{},", b"1,"])
def test_a_batch_of_much_that_is_nothing_is_counted_before_it_is_read(victim: Client, one: bytes) -> None:
    """What is nothing on the wire is twenty times as much in memory, and read on the loop that answers everybody."""
    answer = victim.ask("POST", "batch", b'{"changes":[' + one * (7_000_000 // len(one)) + b"0]}")
    assert answer.status == 400 and "more than any request says" in answer.body["error"]["message"]


def test_a_text_that_never_ends_is_counted_as_one(victim: Client) -> None:
    begun = time.monotonic()
    assert victim.ask("POST", "batch", b'{"changes":["' + b'\\"' * 3_000_000).status == 400
    assert time.monotonic() - begun < 10, "each of its quotes could begin another"


def test_a_full_batch_of_texts_that_look_like_json_is_read(team: Client) -> None:
    changes = [
        {"op": "put", "key": f"j{n}.md", "content": '[{"a": "\\"", "b": [1, 2]},' * 500, "ifMatch": None, "saved": ""}
        for n in range(100)
    ]
    assert {one["status"] for one in team.batch(*changes)["results"]} == {201}


def test_a_compressed_bomb_stays_what_it_is(victim: Client) -> None:
    import gzip

    bomb = gzip.compress(b"x" * 10_000_000)
    assert victim.ask("PUT", "entries/b.md", bomb, If_None_Match="*", Content_Encoding="gzip").status in (413, 422)
    assert victim.ask("POST", "batch", bomb, Content_Encoding="gzip").status == 400


# HTTP itself.

GAMES: dict[str, Callable[[Client], bytes]] = {
    "length and chunks": lambda c: (
        head(c, f"PUT /v1/teams/{c.team}/entries/b.md HTTP/1.1", "Content-Length: 5", "Transfer-Encoding: chunked")
        + b"0\r\n\r\nGET /health HTTP/1.1\r\nHost: x\r\n\r\n"
    ),
    "two lengths": lambda c: head(c, "POST /health HTTP/1.1", "Content-Length: 5", "Content-Length: 6") + b"hello",
    "negative length": lambda c: head(c, "POST /health HTTP/1.1", "Content-Length: -5"),
    "huge length": lambda c: head(c, "POST /health HTTP/1.1", f"Content-Length: {'9' * 40}"),
    "odd chunks": lambda c: head(c, "POST /health HTTP/1.1", "Transfer-Encoding: chunked") + b"zz\r\n",
    "chunked twice": lambda c: head(c, "POST /health HTTP/1.1", "Transfer-Encoding: chunked, identity") + b"0\r\n\r\n",
    "header without name": lambda c: head(c, "GET /v1/me HTTP/1.1", ": x"),
    "header with a blank": lambda c: head(c, "GET /v1/me HTTP/1.1", "X Y: z"),
    "folded header": lambda c: head(c, "GET /v1/me HTTP/1.1", "X: a", " b"),
    "null in a header": lambda c: head(c, "GET /v1/me HTTP/1.1", "X: a\0b"),
    "long header": lambda c: head(c, "GET /v1/me HTTP/1.1", f"X: {'x' * 20_000}"),
    "many headers": lambda c: head(c, "GET /v1/me HTTP/1.1", *(f"X-{n}: {'y' * 20}" for n in range(1_000))),
    "long url": lambda c: head(c, f"GET /{'x' * 20_000} HTTP/1.1"),
    "endless head": lambda c: b"GET / HTTP/1.1\r\nX: " + b"x" * 300_000,
    "not http": lambda c: b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + b"\0" * 50,
    "http 0.9": lambda c: b"GET /v1/me\r\n\r\n",
    "http 9": lambda c: head(c, "GET /v1/me HTTP/9.9"),
    "null in the path": lambda c: head(c, "GET /v1/\0me HTTP/1.1"),
    "bytes in the path": lambda c: head(c, "GET /v1/\xff\xfe HTTP/1.1"),
    "no path": lambda c: head(c, "OPTIONS * HTTP/1.1"),
    "connect": lambda c: head(c, "CONNECT 127.0.0.1:22 HTTP/1.1"),
    "trace": lambda c: head(c, "TRACE /v1/me HTTP/1.1"),
    "method override": lambda c: head(
        c, f"POST /v1/teams/{c.team}/entries/a.md HTTP/1.1", "X-HTTP-Method-Override: DELETE", f'If-Match: "{ETAG}"'
    ),
    "another host": lambda c: head(c, "GET http://evil.example/v1/teams/t_1/entries HTTP/1.1"),
    "websocket": lambda c: head(
        c, "GET /v1/teams/x/changes HTTP/1.1", "Connection: Upgrade", "Upgrade: websocket", "Sec-WebSocket-Key: eA=="
    ),
    "two matches": lambda c: head(
        c, f"DELETE /v1/teams/{c.team}/entries/a.md HTTP/1.1", f'If-Match: "{OTHER}"', f'If-Match: "{ETAG}"'
    ),
}


@pytest.mark.parametrize("name", GAMES)
def test_no_game_with_http_is_won(hub: HubServer, victim: Client, name: str) -> None:
    got = raw(hub.port, GAMES[name](victim), seconds=3)
    statuses = [int(part[:3]) for part in (b"\r\n" + got).split(b"\r\nHTTP/1.1 ")[1:]]
    assert all(400 <= status < 500 for status in statuses), got[:200]
    assert len(statuses) <= 1, "a second request was smuggled in"
    assert TEXT.encode() not in got and victim.token.encode() not in got


def test_a_large_number_of_slow_clients_keeps_nobody_waiting(hub: HubServer, victim: Client) -> None:
    wires = [socket.create_connection(("127.0.0.1", hub.port)) for _ in range(200)]
    try:
        for number, wire in enumerate(wires):
            start = head(victim, f"PUT /v1/teams/{victim.team}/entries/s{number}.md HTTP/1.1", "Content-Length: 100")
            wire.sendall(start if number % 2 else start[:40])
        begun = time.monotonic()
        for _ in range(10):
            assert victim.get("a.md").status == 200
        assert time.monotonic() - begun < 3
    finally:
        for wire in wires:
            wire.close()


def test_who_loses_a_right_while_a_body_is_on_its_way_writes_nothing_with_it(victim: Client, join: Join) -> None:
    """The last byte is kept back until the token was revoked, the member removed, or their role changed."""
    bob, eve, kid, mal = (
        join(name, role) for name, role in (("Bob", "writer"), ("Eve", "writer"), ("Kid", "writer"), ("Mal", "admin"))
    )
    member = json.dumps({"name": "Mal2", "role": "admin"})
    token = json.dumps({"member": victim.member, "days": 3_650})
    asked = [(one, f"PUT /v1/teams/{one.team}/entries/{one.member}.md", "text") for one in (bob, eve, kid)]
    asked += [
        (mal, f"POST /v1/teams/{mal.team}/{what}", body) for what, body in (("members", member), ("tokens", token))
    ]
    with ExitStack() as open_wires:
        wires = []
        for client, line, body in asked:
            wires.append(open_wires.enter_context(socket.create_connection(("127.0.0.1", client.port), timeout=20)))
            given = ("If-None-Match: *", f"Content-Length: {len(body)}", "Expect: 100-continue")
            wires[-1].sendall(head(client, f"{line} HTTP/1.1", *given))
            assert wires[-1].recv(100).startswith(b"HTTP/1.1 100"), "it was let in and is asked for its body"
            wires[-1].sendall(body[:-1].encode())
        (token_of_bob,) = (one["id"] for one in victim.ask("GET", "tokens").body["tokens"] if one["label"] == "Bob")
        assert victim.ask("DELETE", f"tokens/{token_of_bob}").status == 200
        assert victim.ask("DELETE", f"members/{eve.member}").status == 200
        assert victim.ask("PATCH", f"members/{kid.member}", {"role": "reader"}).status == 200
        assert victim.ask("DELETE", f"members/{mal.member}").status == 200
        for wire, (_, _, body) in zip(wires, asked, strict=True):
            wire.sendall(body[-1:].encode())
        statuses = [int(wire.recv(65_536).split()[1]) for wire in wires]
    assert statuses == [401, 401, 403, 401, 401]
    assert "Mal2" not in [one["name"] for one in victim.ask("GET", "members").body["members"]]


@contextmanager
def looked_through_slowly(
    folder: Path, *keys: str, database: str = ""
) -> Iterator[tuple[HubServer, Callable[[str], IO[bytes]]]]:
    """A hub whose look at an entry lasts until the file that it waits for is closed; to open one waits for the look."""
    for key in keys:
        os.mkfifo(folder / key)
    slow = "from memdir.hub.hub_state import Hub; Hub.__init__.__kwdefaults__['check'] = lambda key, _: open("
    place = database or str(folder / "hub.sqlite3")
    server = start_hub(place, folder / "log", before=f"{slow}{str(folder)!r} + '/' + key).read()")
    try:
        yield server, lambda key: (folder / key).open("wb")
    finally:
        server.stop()


def test_who_loses_a_right_while_a_text_is_looked_through_writes_nothing_with_it(
    hub: HubServer, tmp_path: Path
) -> None:
    long = "long " * 1_000  # for a thread of its own
    slow = looked_through_slowly(tmp_path, "a.md", "b.md", database=hub.database)
    with slow as (server, look), ThreadPoolExecutor(2) as beside:
        team = server.team("left alone")
        bob, eve = server.member(team, "bob"), server.member(team, "eve")
        asked = beside.submit(bob.put, "a.md", long)
        change = {"op": "put", "key": "b.md", "ifMatch": None, "content": long}
        batch = beside.submit(eve.ask, "POST", "batch", {"changes": [change]})
        with look("a.md"), look("b.md"):
            for gone in (bob, eve):
                assert team.ask("DELETE", f"members/{gone.member}").status == 200
                assert team.ask("POST", f"members/{gone.member}/purge", {}).status == 200
        assert [asked.result().status, batch.result().status] == [401, 401]
        assert team.keys() == []


def test_bodies_that_wait_to_be_looked_through_fill_no_memory(tmp_path: Path) -> None:
    """Each has come whole, so that it is no longer on its way."""
    keys = [f"{number}.md" for number in range(4)]
    with looked_through_slowly(tmp_path, *keys) as (server, look), ThreadPoolExecutor(4) as beside:
        team = server.team("patient")
        bob = server.member(team, "bob")
        asked = []
        with ExitStack() as looks:
            for key in keys:
                change = {"op": "put", "key": key, "ifMatch": None, "content": "long " * 1_000}
                body = json.dumps({"changes": [change]}).encode().ljust(8 << 20)
                asked.append(beside.submit(replace(bob).ask, "POST", "batch", body))
                looks.enter_context(look(key))
            assert bob.ask("POST", "batch", {"changes": []}).status == 429
            assert team.ask("POST", "batch", {"changes": []}).status == 400, "and keep nobody else from it"
        assert [one.result().status for one in asked] == [200] * 4
        assert bob.ask("POST", "batch", {"changes": []}).status == 400, "what was answered holds nothing"


def test_a_client_that_is_slow_is_cut_off(tmp_path: Path) -> None:
    """With bounds of half a second instead of ten and twenty."""
    limits = "import memdir.hub.serve as guard; guard.HEAD_SECONDS = guard.BODY_SECONDS = 0.5"
    server = start_hub(str(tmp_path / "hub.sqlite3"), tmp_path / "log", before=limits)
    try:
        team = server.team("acme")
        whole = head(team, f"PUT /v1/teams/{team.team}/entries/a.md HTTP/1.1", "If-None-Match: *", "Content-Length: 9")
        for data, told in ((b"", b""), (whole[:30], b""), (whole + b"x", b" 408 ")):
            begun = time.monotonic()
            assert told in raw(server.port, data, seconds=20).split(b"\r\n")[0]
            assert time.monotonic() - begun < 5
        assert team.keys() == []
    finally:
        server.stop()


ENDLESS = {
    "a body": (b"", b"10000\r\n" + b"x" * 65_536 + b"\r\n"),
    "a body in drops": (b"", b"1\r\nx\r\n"),
    "an extension": (b"5;", b"x" * 65_536),
    "a trailer's value": (b"0\r\nX: ", b"x" * 65_536),
    "a trailer's name": (b"0\r\nX", b"x" * 65_536),
    "trailers": (b"0\r\n", b"X-Abc: defghij\r\n" * 4_096),
}


def test_idle_connections_make_room_for_new_ones_the_oldest_first(tmp_path: Path) -> None:
    """With room for forty connections instead of three thousand."""
    limits = "import memdir.hub.serve as serve, memdir.hub.serve as guard; serve.MOST_WAITING = 40 - 1_000;"
    server = start_hub(str(tmp_path / "hub.sqlite3"), tmp_path / "log", before=f"{limits} guard.MADE_FREE = 2")
    wires: list[socket.socket] = []

    def answered(wire: socket.socket) -> bytes:
        wire.sendall(b"GET /health HTTP/1.1\r\nHost: hub\r\n\r\n")
        got = b""
        while not got.endswith(b"}") and (more := wire.recv(4_096)):
            got += more
        return got.split(b"\r\n")[0]

    try:
        for number in range(60):
            wires.append(socket.create_connection(("127.0.0.1", server.port), timeout=5))
            assert b" 200 " in answered(wires[-1]), number
        assert wires[0].recv(10) == b"", "the oldest went"
        assert b" 200 " in answered(wires[-2]), "the newest stay"
    finally:
        for wire in wires:
            wire.close()
        server.stop()


def test_nobody_without_a_token_sends_on_and_on(tmp_path: Path) -> None:
    """With a third of a second for what follows an answer instead of two."""
    limits = "import memdir.hub.serve as guard; guard.ANSWERED_SECONDS = 0.3"
    server = start_hub(str(tmp_path / "hub.sqlite3"), tmp_path / "log", before=limits)
    try:
        for (start, more), path in product(ENDLESS.values(), ("/nothing", "/v1/teams/t_1/batch")):
            begun, sent = time.monotonic(), 0
            with socket.create_connection(("127.0.0.1", server.port), timeout=0.05) as wire, suppress(OSError):
                wire.sendall(
                    f"POST {path} HTTP/1.1\r\nHost: hub\r\nTransfer-Encoding: chunked\r\n\r\n".encode() + start
                )
                while time.monotonic() - begun < 5:
                    wire.sendall(more)
                    sent += len(more)
                    with suppress(TimeoutError):
                        if len(more) < 100 and not wire.recv(65_536):
                            break
            assert time.monotonic() - begun < 5, (start, more[:20], path)
            assert not start or sent < 8 << 20, "what is no body is short"
    finally:
        server.stop()


def test_what_follows_an_answer_in_time_leaves_the_connection_open(hub: HubServer, victim: Client) -> None:
    with socket.create_connection(("127.0.0.1", hub.port), timeout=5) as wire:
        wire.sendall(head(victim, "PUT /nothing HTTP/1.1", "Content-Length: 9", token=False))
        got = b""
        while not got.endswith(b"}}"):
            got += wire.recv(65_536)
        wire.sendall(b"the body." + head(victim, "GET /health HTTP/1.1", "Connection: close"))
        while part := wire.recv(65_536):
            got += part
    assert [part[:3] for part in got.split(b"HTTP/1.1 ")[1:]] == [b"404", b"200"]


# Statements and logs.

INJECTIONS = (
    "' or '1'='1",
    "1; drop table entries",
    "1) union select hash from tokens --",
    "%s",
    "?",
    "$1",
    "\\'",
    "0x10;",
)
QUERIES = (
    *("entries?since={}", "entries?limit={}", "versions?before={}", "versions?key={}", "changes?wait=0&since={}"),
    *("proposals?state={}", "audit?before={}", "versions/{}", "members/{}/purge", "tokens/{}", "entries/{}.md"),
)


@pytest.mark.parametrize("query", QUERIES)
def test_no_statement_is_changed_by_what_is_asked(hub: HubServer, victim: Client, query: str) -> None:
    digest = hashlib.sha256(victim.token.encode()).hexdigest()
    method = "POST" if query.endswith("purge") else "DELETE" if query.startswith("tokens") else "GET"
    for text in INJECTIONS:
        answer = victim.ask(method, query.format(quote(text, safe="")), If_Match=f'"{ETAG}"')
        assert answer.status in (400, 404, 422), (text, answer.data)
        assert digest not in answer.data.decode() and b"syntax" not in answer.data
    assert hub.rows("select count(*) from tokens")[0][0] > 0


@pytest.mark.parametrize("path", ["versions/{}", "versions/{}/redact", "proposals/{}"])
def test_no_number_of_a_path_is_too_long_to_be_refused(hub: HubServer, victim: Client, path: str) -> None:
    method, number = "GET" if path == "versions/{}" else "POST", "9" * 5_000
    for digits in (number, "9" * 19, "٣"):
        assert victim.ask(method, path.format(quote(digits)), {"decision": "accept"}).status == 404
    stranger = Client(hub.port, team=victim.team).elsewhere()
    assert stranger.ask(method, path.format(number)).status == 401


@pytest.mark.parametrize("field", ["name", "label", "member", "content", "reason", "role"])
def test_no_statement_is_changed_by_what_is_said(victim: Client, field: str) -> None:
    for text in INJECTIONS:
        if field in ("content", "reason"):
            put = {"op": "put", "key": "b.md", "content": text, "ifMatch": None, "reason": text}
            etag = victim.batch(put)["results"][0]["etag"]
            assert victim.get("b.md").data == text.encode()
            victim.batch({"op": "delete", "key": "b.md", "ifMatch": etag, "reason": text})
        elif field in ("name", "role"):
            assert victim.ask("POST", "members", {"name": "eve", "role": "reader", field: text}).status == 400
        else:
            assert victim.ask("POST", "tokens", {field: text}).status in (400, 404)


@pytest.mark.parametrize("text", ["%0a%7b%22status%22:200%7d", "%0d%0aSet-Cookie:x", "%1b[2J", "%00", "%e2%80%a8x"])
def test_no_line_of_the_log_is_forged(hub: HubServer, victim: Client, text: str) -> None:
    for path in (f"/v1/{text}", f"/v1/teams/{text}/entries", f"/v1/teams/{victim.team}/entries/{text}.md"):
        answer = victim.ask("GET", path)
        assert answer.status in (400, 404, 422) and "set-cookie" not in answer.headers
    victim.ask("GET", "/v1/me", Authorization="Bearer x", User_Agent="{}\\n{}", Referer="http://x/\\r\\n")
    for line in hub.log.read_text(encoding="utf-8").splitlines():
        if line.startswith("{"):
            told = json.loads(line)
            assert told.keys() <= {"at", "method", "route", "status", "ms", "kind"}
            assert told.get("kind", "x").replace("-", "").isalpha()  # a word of ours
            assert "\n" not in told["route"] and text not in line
        else:
            assert line.startswith("memdir: on ")


# Secrets.

DISGUISES: dict[str, Callable[[str], str]] = {
    "plain": lambda value: f"the token is {value}",
    "in a header": lambda value: f"---\nname: x\ndescription: {value}\ntype: project\n---\n\nText.\n",
    "base64": lambda value: base64.b64encode(f"token {value}".encode()).decode(),
    "percent": lambda value: "".join(f"%{ord(c):02x}" for c in value),
    "invisible signs": "\u200b".join,
    "markup": lambda value: value[:12] + "**" + value[12:24] + "**" + value[24:],
    "wide": lambda value: "".join(chr(ord(c) + 0xFEE0) for c in value),
    "lines": lambda value: f"first half: {value[:20]}\nsecond half: {value[20:]}\n",
}


@pytest.mark.parametrize("name", DISGUISES)
def test_no_secret_reaches_the_tables(hub: HubServer, victim: Client, name: str) -> None:
    value = github_token()
    text = DISGUISES[name](value)
    single = victim.put("b.md", text)
    batch = victim.batch({"op": "put", "key": "c.md", "content": text, "ifMatch": None})["results"][0]
    changed = victim.put("a.md", text, ETAG)
    for error in (single.body["error"], batch["error"], changed.body["error"]):
        assert error["kind"] == "secret" and error["kinds"] and "Take it out" in error["remedy"]
        assert value not in json.dumps(error)
    for table in ("versions", "actions", "entries", "members", "tokens", "proposals"):
        assert value not in str(hub.rows(f"select * from {table}"))
    assert value not in hub.log.read_text(encoding="utf-8")


def test_no_secret_gets_in_by_a_name_or_a_reason(hub: HubServer, victim: Client) -> None:
    value = github_token()
    assert victim.put(f"{value}.md", "x").status == 422
    assert victim.ask("POST", "members", {"name": value, "role": "reader"}).status == 400
    assert victim.ask("POST", "tokens", {"label": value}).status == 400
    made = victim.put("b.md", "x").body["etag"]
    victim.batch({"op": "delete", "key": "b.md", "ifMatch": made, "reason": f"held {value}"})
    for table in ("versions", "actions", "entries", "members", "tokens"):
        assert value not in str(hub.rows(f"select * from {table}"))


def test_nothing_private_is_shared(victim: Client) -> None:
    """However it is spelled: a machine takes none of these in, and the hub has the machine's eyes."""
    spelled = (
        "type: user",
        "type: User",
        "type:  user ",
        'type: "user"',
        "Type: user",
        "TYPE: USER",
        "type: user # me",
    )
    for line in spelled:
        refused = victim.put("b.md", f"---\nname: me\ndescription: x\n{line}\n---\n\nI am tired.\n")
        assert refused.status == 422, line
        assert refused.kind == "private"


# Enumeration, and too much of everything.


def test_whether_a_token_a_team_or_a_member_exists_cannot_be_told(hub: HubServer, victim: Client) -> None:
    ended = victim.ask("POST", "tokens", {}).body
    victim.ask("DELETE", f"tokens/{ended['id']}")
    stranger = Client(hub.port).elsewhere()
    answers: set[tuple[int, bytes]] = set()
    for token in ("mdh_" + "x" * 43, ended["token"], "x"):
        got: Answer = stranger.ask("GET", "/v1/me", Authorization=f"Bearer {token}")
        answers.add((got.status, got.data))
    assert len(answers) == 1 and {status for status, _ in answers} == {401}
    other = hub.team(f"beside {victim.team}")
    assert len({victim.ask("GET", f"/v1/teams/{team}/entries").data for team in (other.team, "t_000000000000")}) == 1
    members = (other.member, "m_000000000000")
    assert len({victim.ask("DELETE", f"members/{member}").data for member in members}) == 1


def test_every_wrong_token_makes_the_hub_do_the_same_work(hub: HubServer, victim: Client) -> None:
    """What takes no other way takes no other time: one look, for a hash."""
    ended = victim.ask("POST", "tokens", {}).body
    victim.ask("DELETE", f"tokens/{ended['id']}")
    near = victim.token[:-1] + ("a" if victim.token[-1] != "a" else "b")

    async def looks(database: HubDatabase) -> list[tuple[str, list[int]]]:
        found = []
        for token in (near, "mdh_" + "x" * 43, ended["token"], "x", victim.token[:10]):
            told = Told(database)
            with pytest.raises(HubRefusal, match="missing, unknown, expired or revoked"):
                await Identities(told, time.time).of(token)
            assert token not in told.asked[0][1]
            found.append((told.asked[0][0], [len(str(value)) for value in told.asked[0][1]]))
            assert len(told.asked) == 1
        return found

    first, *rest = hub.do(looks)
    assert rest == [first] * 4


class Told:
    """A database that remembers what it was asked."""

    def __init__(self, database: HubDatabase) -> None:
        self._database, self.apply = database, database.apply
        self.asked: list[tuple[str, tuple[object, ...]]] = []

    async def run(self, statement: str, *values: object) -> list[Row]:
        self.asked.append((statement, values))
        return await self._database.run(statement, *values)


def test_a_right_beginning_of_a_token_takes_no_longer_than_a_wrong_one(hub: HubServer, victim: Client) -> None:
    """Tokens are looked up by their hash, of which nothing can be learned letter by letter."""
    import statistics

    near, far = victim.token[:-1] + ("a" if victim.token[-1] != "a" else "b"), "mdh_" + "x" * 43
    spent: dict[str, list[float]] = {near: [], far: []}
    for number in range(60):
        if number % 12 == 0:
            client = Client(hub.port).elsewhere()
        for token in (near, far):
            begun = time.perf_counter()
            refused = client.ask("GET", "/v1/me", Authorization=f"Bearer {token}")
            spent[token].append(time.perf_counter() - begun)
            assert refused.status == 401
    usual = [statistics.quantiles(times)[0] for times in spent.values()]  # what the machine does besides is left out
    assert max(usual) < 2 * min(usual) + 0.002


def test_who_guesses_tokens_has_to_wait_and_nobody_else_has_to(hub: HubServer, victim: Client) -> None:
    guesser = Client(hub.port)
    statuses = [guesser.ask("GET", "/v1/me", Authorization=f"Bearer mdh_{n}").status for n in range(60)]
    assert 429 in statuses, "a guess a second comes back: on a slow machine the last one may be heard"
    assert victim.ask("GET", "/v1/me").status == 200, "though they come from one address"


def test_who_asks_too_often_has_to_wait(hub: HubServer, victim: Client, join: Join) -> None:
    bob = join("bob")
    late, until = threading.Event(), time.monotonic() + 60

    def ask(client: Client) -> Answer:
        """Until somebody has to wait: several at once ask too often, however busy the machine is."""
        while (answer := client.ask("GET", "/v1/me")).status == 200 and not late.is_set() and time.monotonic() < until:
            pass
        late.set()
        return answer

    with ThreadPoolExecutor(4) as pool:
        answers = list(pool.map(ask, [replace(bob) for _ in range(4)]))
    refused = [one for one in answers if one.status == 429]
    assert refused and int(refused[0].headers["retry-after"]) >= 1
    assert victim.ask("GET", "/v1/me").status == 200


def test_only_a_few_may_wait_with_one_token(hub: HubServer, victim: Client, join: Join) -> None:
    bob = join("bob")
    statuses: list[int] = []

    def wait() -> None:
        statuses.append(Client(hub.port, bob.token, bob.team).ask("GET", "changes?since=9&wait=2").status)

    threads = [threading.Thread(target=wait) for _ in range(10)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(statuses) == [200] * 4 + [429] * 6


def test_bodies_that_never_end_fill_no_memory(hub: HubServer, victim: Client, join: Join) -> None:
    """Four batches of one token may be on their way; whoever begins more is asked to wait, and nobody else is."""
    bob = join("bob")
    told = f"POST /v1/teams/{bob.team}/batch HTTP/1.1\r\nContent-Length: {8 << 20}"
    with ExitStack() as held:
        wires = [held.enter_context(socket.create_connection(("127.0.0.1", hub.port))) for _ in range(5)]
        for wire in wires:
            wire.sendall(head(bob, told) + b"{")
        answered, _, _ = select.select(wires, [], [], 10)
        assert [wire.recv(4_096)[:13] for wire in answered] == [b"HTTP/1.1 429 "]
        assert bob.ask("POST", "batch", {"changes": []}).status == 429
        assert victim.ask("POST", "batch", {"changes": []}).status == 400
    until = time.monotonic() + 10
    while (status := bob.ask("POST", "batch", {"changes": []}).status) == 429 and time.monotonic() < until:
        time.sleep(0.05)
    assert status == 400, "who hung up holds nothing"


def test_a_team_of_many_tokens_leaves_others_room_to_wait(tmp_path: Path) -> None:
    """Each token may wait four times, and an admin makes as many tokens as they like."""

    async def fill() -> None:
        database = open_database(str(tmp_path / "hub.sqlite3"))
        await database.connect()
        many, few = [await add_team(database, name, TeamCaps(), 0) for name in ("many", "few")]
        waiting = Waiting(database)
        held = [asyncio.ensure_future(waiting.beyond(many, 9, seconds=60, token=f"k{n // 4}")) for n in range(2_000)]
        await asyncio.sleep(0)
        assert await waiting.beyond(few, 9, seconds=0, token="other") == 0
        waiting.let_go()
        answers = await asyncio.gather(*held, return_exceptions=True)
        assert sum(answer == 0 for answer in answers) == 500, "the rest is told to come later"
        await database.close()

    asyncio.run(fill())


def test_who_hangs_up_waits_no_more(hub: HubServer, victim: Client, join: Join) -> None:
    bob = join("bob")
    for _ in range(12):
        with socket.create_connection(("127.0.0.1", hub.port)) as wire:
            wire.sendall(head(bob, f"GET /v1/teams/{bob.team}/changes?since=9&wait=30 HTTP/1.1"))
    until = time.monotonic() + 5
    while bob.ask("GET", "changes?since=9&wait=0").status == 429 and time.monotonic() < until:
        time.sleep(0.02)
    assert bob.ask("GET", "changes?since=9&wait=0").status == 200
