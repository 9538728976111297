"""MCP over HTTP, for clients that do not start programs: one path, POST with JSON, a token.

The address is this machine's only. Who does not send the token gets nothing; a web page that a browser was talked into
sending here fails at Host and Origin as well (DNS rebinding).
"""

from __future__ import annotations

import base64
import hmac
import json
import os
import re
import secrets
import socket
import stat
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any

from memdir.disk.atomic import make_folder, write_bytes_atomic
from memdir.disk.plain_file import read_if_plain
from memdir.errors import DiskError, UsageError
from memdir.mcp_server.offers import MemoryOffers
from memdir.mcp_server.protocol import (
    ENVELOPE,
    HANDSHAKE,
    HEADER_MISMATCH,
    INVALID_PARAMS,
    INVALID_REQUEST,
    NO_METHOD,
    VERSION_KEY,
    McpServer,
    RpcError,
    error_answer,
    parsed,
    rendered,
    unsupported,
)
from memdir.mcp_server.stdio import MAX_LINE, on_failure

if TYPE_CHECKING:
    from memdir.layout import Layout
    from memdir.memdir import MemDir

PATH = "/mcp"
SECONDS = 30.0  # that a client may take for sending one request
MAX_CONNECTIONS = 64  # at once: each has a thread, and a client needs a few
AWAY_SECONDS = 5.0  # within which a connection that was shut has left its place, on a busy machine too
_HOST = re.compile(
    r"(?:127\.0\.0\.1|localhost|\[::1\])(?::\d{1,5})?", re.IGNORECASE
)  # a reader of URLs is more lenient
_ONCE = ("Authorization", "Content-Length", "Content-Type", "Mcp-Method", "Mcp-Name", "Mcp-Protocol-Version")
_NAMED = {"tools/call": "name", "prompts/get": "name", "resources/read": "uri"}


def open_server(port: int, layout: Layout, open_memory: Callable[[], MemDir]) -> HttpServer:
    """A server on a port, with the token of this machine; the caller lets it serve."""
    if not 0 <= port <= 65535:
        raise UsageError(f"there is no port {port}", remedy="Choose one from 1024 to 65535")
    try:
        return HttpServer(port, _token(layout.mcp_token), open_memory)
    except OSError as error:
        raise DiskError(f"port {port} cannot be opened: {error.strerror}", remedy="Choose another --port") from None


def _token(path: str) -> str:
    """Made once, and readable by its owner alone: one that others could read, or put there, is made again."""
    known = (read_if_plain(path, 1_000) or b"").decode("ascii", "replace").strip()
    if len(known) >= 32 and _is_owners_alone(path):
        return known
    make_folder(os.path.dirname(path))
    made = secrets.token_urlsafe(32)
    write_bytes_atomic(path, made.encode() + b"\n")
    return made


def _is_owners_alone(path: str) -> bool:
    status = os.lstat(path)
    is_closed = status.st_uid == os.getuid() and not status.st_mode & 0o077 if os.name == "posix" else True
    return is_closed and stat.S_ISREG(status.st_mode)


class HttpServer(ThreadingHTTPServer):
    """Serves until `shutdown`. Requests come in threads of their own and are answered one after the other."""

    daemon_threads = True
    request_queue_size = MAX_CONNECTIONS  # of five, as the library has it, a sixth at once waits for seconds

    def __init__(self, port: int, token: str, open_memory: Callable[[], MemDir]) -> None:
        super().__init__(("127.0.0.1", port), _Handler)
        self.token = token
        self.mcp = McpServer(MemoryOffers(open_memory), on_failure)
        self.in_turn = threading.Lock()
        self.strangers: dict[Any, None] = {}  # connections that have shown no token yet, oldest first
        self._room = threading.BoundedSemaphore(MAX_CONNECTIONS)

    def process_request(self, request: Any, client_address: Any) -> None:
        """In a thread of its own, as long as there are not too many; for one more, the oldest that shows no token goes,
        so that nobody shuts its owner out by keeping still."""
        if self._room.acquire(blocking=False) or (self._send_away() and self._room.acquire(timeout=AWAY_SECONDS)):
            self.strangers[request] = None
            super().process_request(request, client_address)
            return
        with suppress(OSError):
            request.sendall(b"HTTP/1.1 503 Service Unavailable\r\nConnection: close\r\nContent-Length: 0\r\n\r\n")
        self.shutdown_request(request)

    def _send_away(self) -> bool:
        with suppress(StopIteration, OSError):
            oldest = next(iter(list(self.strangers)))
            self.strangers.pop(oldest, None)
            oldest.shutdown(socket.SHUT_RDWR)
            return True
        return False

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        try:
            super().process_request_thread(request, client_address)
        finally:
            self.strangers.pop(request, None)
            self._room.release()

    def handle_error(self, request: object, client_address: object) -> None:
        """A client that went away, or was too slow, is no failure; of any other its kind is told."""
        del request, client_address
        error = sys.exception()
        if isinstance(error, Exception) and not isinstance(error, OSError):
            on_failure(error)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}{PATH}"


class _Handler(BaseHTTPRequestHandler):
    server: HttpServer
    protocol_version = "HTTP/1.1"
    timeout = SECONDS
    server_version, sys_version = "memdir", ""

    def do_POST(self) -> None:
        refusal = self._refusal()
        if refusal:
            self._refuse(*refusal)
            return
        size = int(self.headers["Content-Length"])
        message: object = None
        try:
            message = parsed(self.rfile.read(size))
            self._check_headers(message)
        except RpcError as refused:
            known = message.get("id") if isinstance(message, dict) else None
            self._send(400, rendered(error_answer(refused, known if isinstance(known, (str, int)) else None)))
            return
        with self.server.in_turn:
            answer = self.server.mcp.answer(message)
        if answer is None:
            self._send(202, b"")
            return
        code = answer.get("error", {}).get("code")
        is_new = self.headers.get("Mcp-Protocol-Version", "").strip() in ENVELOPE
        status = (404 if code == NO_METHOD else 400) if code is not None and is_new else 200
        self._send(status, rendered(answer))

    def do_GET(self) -> None:
        """A stream of what the server has to say by itself: it has nothing."""
        self._refuse(*(self._stranger() or (405, "only POST is answered here")))

    do_DELETE = do_PUT = do_OPTIONS = do_GET  # noqa: N815 - the library's names; a browser's preflight fails too

    def _refusal(self) -> tuple[int, str] | None:
        stranger = self._stranger()
        if stranger:
            return stranger
        if self.path.partition("?")[0] != PATH:
            return 404, f"the path is {PATH}"
        twice = [name for name in _ONCE if len(self.headers.get_all(name) or ()) > 1]
        if twice:  # whoever stands between may have taken the other
            return 400, f"send {twice[0]} once"
        if self.headers.get_content_type() != "application/json":
            return 415, "send application/json"
        length = self.headers.get("Content-Length", "")
        if not (length.isascii() and length.isdigit()) or "Transfer-Encoding" in self.headers:
            return 411, "send a Content-Length"
        if len(length) > len(str(MAX_LINE)) or int(length) > MAX_LINE:
            return 413, f"a message may have {MAX_LINE:,} bytes"
        return None

    def _stranger(self) -> tuple[int, str] | None:
        """Who asks for another host, comes from another page, or has no token."""
        hosts = self.headers.get_all("Host") or [""]
        if len(hosts) != 1 or not _HOST.fullmatch(hosts[0]):
            return 403, "that is not this host"
        if not all(_is_ours(origin) for origin in self.headers.get_all("Origin") or ()):
            return 403, "pages from elsewhere are not answered"
        scheme, _, given = self.headers.get("Authorization", "").partition(" ")
        is_known = hmac.compare_digest(given.strip().encode("utf-8", "replace"), self.server.token.encode())
        if scheme.lower() != "bearer" or not is_known:
            return 401, "send the token that memdir printed"
        self.server.strangers.pop(self.connection, None)
        return None

    def _check_headers(self, message: object) -> None:
        """From 2026-07-28 on every request says its version, and what the body says stands in headers too: where they
        differ, or one is missing, somebody was fooled."""
        if not isinstance(message, dict):
            raise RpcError(INVALID_REQUEST, "a message is one JSON-RPC 2.0 object")
        params: Any = message.get("params")
        params = params if isinstance(params, dict) else {}
        meta = params.get("_meta")
        method = message.get("method")
        told = {"Mcp-Method": method, "Mcp-Name": params.get(_NAMED.get(str(method), ""))}
        if isinstance(meta, dict) and VERSION_KEY in meta:
            told["Mcp-Protocol-Version"] = meta[VERSION_KEY]
        version = self.headers.get("Mcp-Protocol-Version", "").strip()
        is_new = version in ENVELOPE and "id" in message
        for name, value in told.items():
            header = self.headers.get(name)
            is_same = header is not None and _said(header) == value
            if value is not None and not is_same and (header is not None or is_new):
                raise RpcError(HEADER_MISMATCH, f"the header {name} says something else than the message")
        if version and version not in (*HANDSHAKE, *ENVELOPE):
            raise unsupported(version)
        if is_new and "Mcp-Protocol-Version" not in told:
            raise RpcError(INVALID_PARAMS, f"a request names its version: _meta has no {VERSION_KEY}")

    def _refuse(self, status: int, why: str) -> None:
        self.close_connection = True  # what came behind the headers was not read
        self._send(status, json.dumps({"error": why}).encode())

    def _send(self, status: int, body: bytes) -> None:
        self.send_response(status)
        if body:
            self.send_header("Content-Type", "application/json")
        if status == 401:
            self.send_header("WWW-Authenticate", "Bearer")
        if status == 405:
            self.send_header("Allow", "POST")
        if self.close_connection:
            self.send_header("Connection", "close")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the name is the library's
        """Requests are not logged: they hold what people said."""


def _said(header: str) -> str:
    """What a header says; what no header can hold comes as `=?base64?…?=`."""
    said = header.strip()
    if not (said.startswith("=?base64?") and said.endswith("?=")):
        return said
    try:
        return base64.b64decode(said[len("=?base64?") : -len("?=")], validate=True).decode()
    except ValueError:
        return said


def _is_ours(origin: str) -> bool:
    scheme, _, host = origin.partition("://")
    return scheme in ("http", "https") and bool(_HOST.fullmatch(host))
