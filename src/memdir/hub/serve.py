"""Runs one worker: a socket, TLS or loopback, and a log that holds nothing of a request but its route. HTTP has bounds
that the server does not set by itself: how long a head and a body may take to arrive, how much may come that is no body
(heads, trailers, extensions), and how long somebody may take to read an answer."""

from __future__ import annotations

import asyncio
import gc
import ipaddress
import json
import logging
import os
import socket
import ssl
import sys
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from itertools import chain
from typing import Any

import uvicorn
from starlette.types import ASGIApp
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from memdir.errors import MemdirError, UsageError
from memdir.hub.app import HubApp, to_stderr
from memdir.hub.bounds import MOST_WAITING
from memdir.hub.hub_database import open_database
from memdir.hub.hub_state import Hub

HEAD_SECONDS = 10.0  # a client that needs longer to say what it wants holds a connection for nothing
BODY_SECONDS = 20.0
ANSWERED_SECONDS = 2.0  # for the rest of a body that nobody reads any more, so that the answer before it is read
MAX_HEAD_BYTES = 16 * 1024
MADE_FREE = 100  # connections that go at once where there is no room for another
READ_SECONDS = 75  # for an answer to be read, and between requests of one connection
END_SECONDS = 5  # for answers on their way when the hub is told to end


def _refusal(status: bytes, kind: bytes, message: bytes) -> bytes:
    body = b'{"error":{"kind":"%b","message":"%b","remedy":null}}' % (kind, message)
    head = b"HTTP/1.1 %b\r\ncontent-type: application/json\r\nconnection: close\r\ncontent-length: %d\r\n\r\n"
    return head % (status, len(body)) + body


TOO_LONG = _refusal(b"431 Request Header Fields Too Large", b"headers", b"the headers are too long")
TOO_SLOW = _refusal(b"408 Request Timeout", b"slow", b"the body took too long")


class GuardedHttp(HttpToolsProtocol):
    """One connection."""

    _head_bytes = 0  # since the last byte of a body: of a head, or of what comes between and after its chunks
    _in_head = True
    _late: asyncio.TimerHandle | None = None
    _idle_since: float | None = None  # it asks nothing, and waits for no answer

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        self._idle_since = self.loop.time()
        self._wait(HEAD_SECONDS)
        if len(self.connections) >= (self.limit_concurrency or len(self.connections) + 1):
            self._make_room()

    def _make_room(self) -> None:
        """Whoever asks nothing goes for somebody new, the longest idle first; it may come again."""
        idle = [(one._idle_since, id(one), one) for one in self.connections - {self} if isinstance(one, GuardedHttp)]
        for _, _, one in sorted(one for one in idle if one[0] is not None)[:MADE_FREE]:
            self.connections.discard(one)
            one.transport.close()

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_waiting()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        self._idle_since = None
        self._head_bytes += len(data)
        super().data_received(data)
        if self._late is None and (self._head_bytes or not self._in_head):  # there is more to come
            self._wait(HEAD_SECONDS if self._in_head else BODY_SECONDS)
        if self._head_bytes > MAX_HEAD_BYTES:
            self._refuse(TOO_LONG)

    def on_headers_complete(self) -> None:
        self._stop_waiting()
        if len(self.url) + sum(map(len, chain.from_iterable(self.headers))) > MAX_HEAD_BYTES:
            self._refuse(TOO_LONG)
            raise ValueError("the head is too long")  # the parser goes no further
        self._head_bytes, self._in_head = 0, False
        super().on_headers_complete()

    def on_body(self, body: bytes) -> None:
        self._head_bytes = 0
        super().on_body(body)

    def on_message_complete(self) -> None:
        super().on_message_complete()
        self._stop_waiting()
        self._head_bytes, self._in_head = 0, True

    def on_response_complete(self) -> None:
        super().on_response_complete()
        self._idle_since = None if self.pipeline else self.loop.time()
        if self.cycle.response_complete and not self._in_head:
            self._wait(ANSWERED_SECONDS)

    def timeout_keep_alive_handler(self) -> None:
        """Whoever has not read the answer by now will not: what is left of it is thrown away."""
        (self.transport.abort if self.transport.get_write_buffer_size() else self.transport.close)()

    def _wait(self, seconds: float) -> None:
        self._stop_waiting()
        self._late = self.loop.call_later(seconds, self._refuse, TOO_SLOW)

    def _stop_waiting(self) -> None:
        if self._late is not None:
            self._late.cancel()
            self._late = None

    def _refuse(self, answer: bytes) -> None:
        if answer is TOO_SLOW if self._in_head else self.cycle.response_started:
            self.timeout_keep_alive_handler()  # it asked nothing, or has its answer
        elif not self.transport.is_closing():
            self.transport.write(answer)
            self.transport.close()


@dataclass(frozen=True)
class Serving:
    """How a worker is reached, and on what it stands."""

    database: str
    host: str
    port: int
    tls_cert: str = ""
    tls_key: str = ""
    behind_proxy: bool = False
    pooler: bool = False
    listen: str = ""
    access_log: bool = False


def require_private(serving: Serving) -> None:
    """Tokens and texts go over a wire encrypted, or over none at all."""
    if bool(serving.tls_cert) != bool(serving.tls_key):
        raise UsageError("TLS takes both --tls-cert and --tls-key")
    for path in (serving.tls_cert, serving.tls_key):
        if path and not os.path.isfile(path):
            raise UsageError(f"there is no file {path}")
    try:
        if serving.tls_cert:
            ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(serving.tls_cert, serving.tls_key)
    except OSError as error:
        told = f"{serving.tls_cert} and {serving.tls_key} are no certificate and its key: {error.strerror}"
        raise UsageError(told, remedy="--tls-cert is the certificate, --tls-key the key that it was made for") from None
    if not serving.tls_cert and not serving.behind_proxy and not _is_loopback(serving.host):
        remedy = "Give --tls-cert and --tls-key, or say --behind-proxy where a proxy in front of it speaks TLS"
        raise UsageError(f"without TLS the hub is served on this machine only, not on {serving.host}", remedy=remedy)


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def bound_socket(serving: Serving) -> socket.socket:
    try:
        family = socket.AF_INET6 if ":" in serving.host else socket.AF_INET
        return socket.create_server((serving.host, serving.port), family=family, backlog=2_048)
    except OSError as error:
        told = f"the hub cannot listen on {serving.host} port {serving.port}: {error.strerror}"
        raise MemdirError(told, remedy="Choose another with --port") from None


def run(serving: Serving, listening: socket.socket) -> None:
    """Serve until told to end."""
    hub = Hub(open_database(serving.database, pooler=serving.pooler, listen=serving.listen))
    server_of(HubApp(hub, access_log=serving.access_log), serving, hub.waiting.let_go).run(sockets=[listening])


class WorkerServer(uvicorn.Server):
    """Says that it ends before it waits for what is on its way."""

    def __init__(self, config: uvicorn.Config, on_end: Callable[[], None]) -> None:
        super().__init__(config)
        self._on_end = on_end

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        self._on_end()
        await super().shutdown(sockets)


def server_of(app: ASGIApp, serving: Serving, on_end: Callable[[], None]) -> WorkerServer:
    """The server for an application, with our bounds and our log."""
    gc.freeze()  # what was loaded stays: nobody goes through it again and again to see whether it is still needed
    config = uvicorn.Config(
        app,
        loop="uvloop" if sys.platform != "win32" else "asyncio",
        http=GuardedHttp,
        ws="none",
        lifespan="on",
        log_config=None,
        access_log=False,
        proxy_headers=False,
        server_header=False,
        timeout_keep_alive=READ_SECONDS,
        timeout_graceful_shutdown=END_SECONDS,
        limit_concurrency=MOST_WAITING + 1_000,
        ssl_certfile=serving.tls_cert or None,
        ssl_keyfile=serving.tls_key or None,
    )
    for name in ("uvicorn.error", "psycopg"):  # the pool tells by itself that the database is gone
        log = logging.getLogger(name)
        log.handlers, log.propagate = [_PlaceOnly()], False
        log.setLevel(logging.ERROR if name == "uvicorn.error" else logging.WARNING)
    return WorkerServer(config, on_end)


class _PlaceOnly(logging.Handler):
    """What broke and where. The message of an error may hold what a client sent, so it is not told."""

    def emit(self, record: logging.LogRecord) -> None:
        kind, at = f"{record.name}: {str(record.msg).splitlines()[0]}", ""
        if record.exc_info and record.exc_info[0]:
            kind, trace = record.exc_info[0].__name__, record.exc_info[2]
            for last in traceback.extract_tb(trace, limit=-1):
                at = f"{os.path.basename(last.filename)}:{last.lineno}"
        to_stderr(json.dumps({"error": kind, "where": at}))
