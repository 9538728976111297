"""Serve memory to any MCP client: over standard input and output, where the client starts `memdir mcp` itself, or with
--http on this machine alone, with a token.

Tools: search, recall, remember, update, forget, list, why. `memdir undo` takes back what they wrote.
"""

from __future__ import annotations

import argparse
import os
import secrets
import sys
from importlib import import_module
from typing import Any

from memdir.cli.context import Context
from memdir.disk.atomic import make_folder, write_bytes_atomic
from memdir.disk.plain_file import read_if_plain
from memdir.errors import DiskError, UsageError
from memdir.memdir import MODEL_CALLS

EXAMPLES = (
    "memdir mcp                      # what a client's settings name as the command",
    "memdir mcp --http --port 7437   # for clients that take a URL",
)
PORT = 7437


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--http", action="store_true", help="serve on http://127.0.0.1, with a token")
    parser.add_argument("--port", type=int, default=PORT, metavar="N", help=f"with --http (default {PORT}; 0: any)")


def run(options: argparse.Namespace, context: Context) -> int:
    if not options.http:
        stdio: Any = import_module("memdir.mcp_server.stdio")  # surfaces do not import each other
        return int(stdio.serve(lambda: context.opened(MODEL_CALLS)))
    if not 0 <= options.port <= 65535:
        raise UsageError(f"there is no port {options.port}", remedy="Choose one from 1024 to 65535")
    token = _token(context.memory.layout.mcp_token)
    http: Any = import_module("memdir.mcp_server.streamable_http")
    try:
        server = http.HttpServer(options.port, token, lambda: context.opened(MODEL_CALLS))
    except OSError as error:
        told = f"port {options.port} cannot be opened: {error.strerror}"
        raise DiskError(told, remedy="Choose another --port") from None
    if options.json:
        context.print_json({"url": server.url, "token": token})
    else:
        context.terminal.line(f"{server.url}\nAuthorization: Bearer {token}")
        context.note("Ctrl-C ends it")
    sys.stdout.flush()
    try:
        server.serve_forever()
    finally:
        server.server_close()
    return 0


def _token(path: str) -> str:
    """The token of this machine, made once and readable by its owner alone."""
    known = (read_if_plain(path, 1_000) or b"").decode("ascii", "replace").strip()
    if len(known) >= 32:
        return known
    make_folder(os.path.dirname(path))
    made = secrets.token_urlsafe(32)
    write_bytes_atomic(path, made.encode() + b"\n")
    return made
