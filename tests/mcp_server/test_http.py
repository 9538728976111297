"""`memdir mcp --http`: the official client with the token, and strangers without."""

from __future__ import annotations

import base64
import contextlib
import http.client
import json
import os
import socket
import stat
import struct
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx2
import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

from memdir.mcp_server.protocol import ENVELOPE, HANDSHAKE
from memdir.mcp_server.streamable_http import MAX_CONNECTIONS, open_server
from memdir.memdir import open_memory

PING = b'{"jsonrpc":"2.0","id":1,"method":"ping"}'


@dataclass
class Served:
    url: str
    token: str
    home: Path

    @property
    def host(self) -> str:
        return urlsplit(self.url).netloc

    def send(self, method: str = "POST", body: bytes = PING, path: str = "/mcp", **headers: str) -> tuple[int, Any]:
        """A request as a stranger sends it; an empty header is left out."""
        told = {
            "Host": self.host,
            "Content-Type": "application/json",
            "Authorization": f"Bearer {self.token}",
            "Content-Length": str(len(body)),
            **{name.replace("_", "-"): value for name, value in headers.items()},
        }
        connection = http.client.HTTPConnection(self.host, timeout=30)
        try:
            connection.putrequest(method, path, skip_host=True, skip_accept_encoding=True)
            for name, value in told.items():
                if value:
                    connection.putheader(name, value)
            connection.endheaders(body)
            answer = connection.getresponse()
            data = answer.read()
            return answer.status, json.loads(data) if data else None
        finally:
            connection.close()


@pytest.fixture(scope="module")
def served(memdir_command: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """One server for all who ask: nobody leaves anything in it that another would notice."""
    program = [memdir_command, "mcp", "--http", "--port", "0", "--json"]
    project, home = (tmp_path_factory.mktemp(name) for name in ("project", "home"))
    known = {"PATH": os.environ["PATH"], "HOME": str(home), "MEMDIR_HOME": str(home), "MEMDIR_NO_DAEMON": "1"}
    with subprocess.Popen(program, cwd=project, env=known, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout
        lines = [process.stdout.readline() for _ in range(5)]
        found = json.loads("".join(lines))
        try:
            yield Served(found["url"], found["token"], home)
        finally:
            process.terminate()


@pytest.mark.parametrize("mode", ["legacy", "auto"])
async def test_the_official_client_with_the_token_has_every_tool(served: Served, mode: Any) -> None:
    async with httpx2.AsyncClient(headers={"Authorization": f"Bearer {served.token}"}) as http_client:
        transport = streamable_http_client(served.url, http_client=http_client)
        async with Client(transport, mode=mode, read_timeout_seconds=60) as memory:
            assert memory.protocol_version == (HANDSHAKE[-1] if mode == "legacy" else ENVELOPE[-1])
            kept = await memory.call_tool("remember", {"text": "Deploys happen on Tuesdays only."})
            found = await memory.call_tool("search", {"query": "deploys"})
            assert found.structured_content["memories"][0]["file"] == kept.structured_content["file"]


def test_who_has_no_token_gets_nothing(served: Served) -> None:
    assert served.send()[0] == 200
    for given in ("", "Bearer", "Bearer wrong", f"Basic {served.token}", f"Bearer {served.token}x", "Bearer \xff"):
        status, body = served.send(Authorization=given)
        assert status == 401 and served.token not in str(body)
    token = served.home / "mcp-token"
    assert stat.S_IMODE(token.stat().st_mode) == 0o600


def test_a_page_from_elsewhere_is_refused_even_with_the_token(served: Served) -> None:
    """DNS rebinding: a name of the attacker's that leads to this machine."""
    port = served.host.rpartition(":")[2]
    for host in ("evil.example", f"evil.example:{port}", "127.0.0.1.evil.example", "", "[::1].evil.example"):
        assert served.send(Host=host)[0] in (400, 403), host
    for origin in ("http://evil.example", "null", f"http://127.0.0.1.evil.example:{port}", "file://", "http://[x"):
        assert served.send(Origin=origin)[0] == 403, origin
    assert served.send(Origin=f"http://localhost:{port}")[0] == 200
    assert served.send("OPTIONS", b"", Origin="http://evil.example")[0] == 403


def test_what_is_no_message_is_answered_and_the_server_goes_on(served: Served) -> None:
    wrong: list[tuple[int, dict[str, Any]]] = [
        (405, {"method": "GET", "body": b""}),
        (405, {"method": "DELETE", "body": b""}),
        (404, {"path": "/"}),
        (415, {"Content_Type": "text/plain"}),
        (415, {"Content_Type": "application/x-www-form-urlencoded"}),
        (411, {"Content_Length": "-1"}),
        (411, {"Content_Length": ""}),
        (413, {"Content_Length": "99999999999"}),
        (413, {"Content_Length": "9" * 5000}),
        (404, {"path": "//[x"}),
        (400, {"body": b"not json"}),
        (400, {"body": b"[" + PING + b"]"}),
        (400, {"Mcp_Protocol_Version": "1999-01-01"}),
        (400, {"Mcp_Method": "tools/call"}),
    ]
    for status, request in wrong:
        assert served.send(**request)[0] == status, request
    assert served.send(body=b'{"jsonrpc":"2.0","method":"notifications/initialized"}') == (202, None)
    assert served.send()[0] == 200


@pytest.mark.parametrize("name", ["Content-Length", "Authorization", "Content-Type", "Mcp-Method", "Host"])
def test_a_header_that_stands_twice_is_refused(served: Served, name: str) -> None:
    """Whoever stands between the two may have taken the other one."""
    told = {"Host": served.host, "Content-Type": "application/json", "Authorization": f"Bearer {served.token}"}
    told |= {"Content-Length": str(len(PING)), "Mcp-Method": "ping"}
    lines = [f"{key}: {value}" for key, value in [*told.items(), (name, told[name])]]
    with socket.create_connection(("127.0.0.1", urlsplit(served.url).port or 0), timeout=30) as connection:
        connection.sendall("\r\n".join(["POST /mcp HTTP/1.1", *lines, "", ""]).encode() + PING)
        assert connection.recv(1 << 16).split(b" ")[1] in (b"400", b"403")


def test_clients_that_leave_early_leave_no_trace(memdir_command: str, project: Path) -> None:
    program = [memdir_command, "mcp", "--http", "--port", "0", "--json"]
    with subprocess.Popen(program, cwd=project, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout and process.stderr
        found = json.loads("".join(process.stdout.readline() for _ in range(5)))
        server = Served(found["url"], found["token"], Path(os.environ["MEMDIR_HOME"]))
        port = urlsplit(server.url).port or 0
        head = f"POST /mcp HTTP/1.1\r\nHost: {server.host}\r\nContent-Type: application/json\r\n"
        head += f"Authorization: Bearer {server.token}\r\nContent-Length: {len(PING)}\r\n\r\n"
        for sent in (
            b"",
            b"POST",
            head.encode() + PING,
            head.encode() + PING[:5],
            b"\x00\xff\r\n\r\n",
            head.encode() * 20,
        ):
            for _ in range(5):
                connection = socket.create_connection(("127.0.0.1", port), timeout=30)
                connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))  # gone at once
                connection.sendall(sent)
                connection.close()
        assert server.send()[0] == 200
        process.terminate()
        assert process.stderr.read() == ""


@pytest.mark.skipif(os.name != "posix", reason="modes are POSIX's")
@pytest.mark.parametrize("mode", [0o666, 0o640, 0o604])
def test_a_token_that_others_could_read_or_write_is_made_anew(project: Path, mode: int) -> None:
    memory = open_memory(project)
    path = Path(memory.layout.mcp_token)
    with open_server(0, memory.layout, lambda: memory) as server:
        first = server.token
    with open_server(0, memory.layout, lambda: memory) as server:
        assert server.token == first
    path.chmod(mode)
    with open_server(0, memory.layout, lambda: memory) as server:
        assert server.token != first and path.read_text().strip() == server.token
    assert path.stat().st_mode & 0o777 == 0o600


def test_a_port_that_is_taken_is_told(served: Served, memdir_command: str, project: Path) -> None:
    port = served.host.rpartition(":")[2]
    done = subprocess.run(
        [memdir_command, "mcp", "--http", "--port", port], cwd=project, capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 9 and port in done.stderr and "--port" in done.stderr


NEW = ENVELOPE[-1]
META = {
    "io.modelcontextprotocol/protocolVersion": NEW,
    "io.modelcontextprotocol/clientCapabilities": {},
}


def asked(method: str = "tools/list", meta: object = META, **params: object) -> bytes:
    told = {**params, **({"_meta": meta} if meta is not None else {})}
    return json.dumps({"jsonrpc": "2.0", "id": 301, "method": method, "params": told}).encode()


def coded(text: str) -> str:
    """A value as a header holds it that could not hold it otherwise."""
    return f"=?base64?{base64.b64encode(text.encode()).decode()}?="


@pytest.mark.parametrize(
    ("body", "headers", "status", "code"),
    [
        (asked(), {"Mcp_Method": "tools/list"}, 200, None),
        (asked(), {"Mcp_Method": "  tools/list "}, 200, None),
        (asked(), {"Mcp_Method": ""}, 400, -32020),
        (asked(), {"Mcp_Method": "TOOLS/LIST"}, 400, -32020),
        (asked("tools/call", name="list"), {"Mcp_Method": "tools/call"}, 400, -32020),
        (asked("tools/call", name="list"), {"Mcp_Method": "tools/call", "Mcp_Name": "list"}, 200, None),
        (asked("tools/call", name="list"), {"Mcp_Method": "tools/call", "Mcp_Name": coded("list")}, 200, None),
        (asked("tools/call", name="list"), {"Mcp_Method": "tools/call", "Mcp_Name": coded("forget")}, 400, -32020),
        (asked("tools/call", name="list"), {"Mcp_Method": "tools/call", "Mcp_Name": "=?base64?x"}, 400, -32020),
        (asked("tools/call", name="list"), {"Mcp_Method": "tools/call", "Mcp_Name": "=?base64?/w==?="}, 400, -32020),
        (asked("tools/call", name="list"), {"Mcp_Method": "tools/call", "Mcp_Name": "=?base64?="}, 400, -32020),
        (asked(meta=None), {"Mcp_Method": "tools/list"}, 400, -32602),
        (asked(meta={"io.modelcontextprotocol/clientCapabilities": {}}), {"Mcp_Method": "tools/list"}, 400, -32602),
        (asked(meta={"io.modelcontextprotocol/protocolVersion": NEW}), {"Mcp_Method": "tools/list"}, 400, -32602),
        (asked("server/discover", meta=None), {"Mcp_Method": "server/discover"}, 400, -32602),
        (asked("ping"), {"Mcp_Method": "ping"}, 404, -32601),
        (asked("initialize"), {"Mcp_Method": "initialize"}, 404, -32601),
        (asked(meta=None), {"Mcp_Method": "tools/list", "Mcp_Protocol_Version": "1999-01-01"}, 400, -32022),
    ],
)
def test_the_newest_revision_says_all_with_each_request_and_nothing_twice(
    served: Served, body: bytes, headers: dict[str, str], status: int, code: int | None
) -> None:
    """As the conformance tests for it ask (0.2.0-alpha): every refusal bears the id of its request."""
    found, answer = served.send(body=body, **{"Mcp_Protocol_Version": NEW, **headers})
    assert (found, answer.get("error", {}).get("code"), answer["id"]) == (status, code, 301)
    if code == -32022:
        assert answer["error"]["data"]["supported"] == [*HANDSHAKE, *ENVELOPE]


def status_of(connection: socket.socket) -> int:
    """Of one whole answer: head and body may come one after the other."""
    answer = http.client.HTTPResponse(connection)
    answer.begin()
    answer.read()
    return answer.status


def test_connections_have_a_limit_and_who_shows_no_token_makes_room(served: Served) -> None:
    """Whoever keeps still, or trickles, shuts nobody out; those with the token are never sent away."""
    port, ping = urlsplit(served.url).port, f"Host: {served.host}\r\nContent-Type: application/json\r\n"
    ping = f"POST /mcp HTTP/1.1\r\n{ping}Authorization: Bearer {served.token}\r\nContent-Length: {len(PING)}\r\n\r\n"
    with contextlib.ExitStack() as open_ones:

        def connect() -> socket.socket:
            return open_ones.enter_context(socket.create_connection(("127.0.0.1", port), timeout=30))

        still = [connect() for _ in range(MAX_CONNECTIONS)]
        still[1].sendall(b"POST /mcp HTTP/1.1\r\n")
        assert served.send()[0] == 200
        assert still[0].recv(100) == b""
        known = []
        for _ in range(MAX_CONNECTIONS):
            known.append(connect())
            known[-1].sendall(ping.encode() + PING)
            assert status_of(known[-1]) == 200
        assert status_of(connect()) == 503
        known[0].sendall(ping.encode() + PING)
        assert status_of(known[0]) == 200
    while (status := served.send()[0]) == 503:  # until the threads of those have ended
        pass
    assert status == 200


def test_a_port_without_http_is_a_mistake_that_is_told(memdir_command: str, project: Path) -> None:
    command = [memdir_command, "mcp", "--port", "5"]
    done = subprocess.run(command, cwd=project, capture_output=True, text=True, timeout=60)
    assert done.returncode == 2 and "--http" in done.stderr
