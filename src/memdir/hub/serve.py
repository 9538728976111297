"""Runs one worker: a socket, TLS or loopback, and a log that holds nothing of a request but its route."""

from __future__ import annotations

import ipaddress
import json
import logging
import os
import socket
import sys
import traceback
from dataclasses import dataclass

import uvicorn
from starlette.types import ASGIApp

from memdir.errors import MemdirError, UsageError
from memdir.hub.app import HubApp, to_stderr
from memdir.hub.bounds import MOST_WAITING
from memdir.hub.http_guard import GuardedHttp
from memdir.hub.hub_database import open_database
from memdir.hub.hub_state import Hub

READ_SECONDS = 75  # for an answer to be read, and between requests of one connection
END_SECONDS = 5  # for answers on their way when the hub is told to end


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
    server_of(HubApp(hub, access_log=serving.access_log), serving).run(sockets=[listening])


def server_of(app: ASGIApp, serving: Serving) -> uvicorn.Server:
    """The server for an application, with our bounds and our log."""
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
    return uvicorn.Server(config)


class _PlaceOnly(logging.Handler):
    """What broke and where. The message of an error may hold what a client sent, so it is not told."""

    def emit(self, record: logging.LogRecord) -> None:
        kind, at = f"{record.name}: {str(record.msg).splitlines()[0]}", ""
        if record.exc_info and record.exc_info[0]:
            kind, trace = record.exc_info[0].__name__, record.exc_info[2]
            for last in traceback.extract_tb(trace, limit=-1):
                at = f"{os.path.basename(last.filename)}:{last.lineno}"
        to_stderr(json.dumps({"error": kind, "where": at}))
