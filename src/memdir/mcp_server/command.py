"""The command `memdir mcp` with options; without any, the entry of the command line goes straight to `stdio`."""

from __future__ import annotations

import argparse
import sys
from typing import Any

from memdir.errors import UsageError
from memdir.memdir import MODEL_CALLS

DEFAULT_PORT = 7437


class Mcp:
    """Serve memory to any MCP client: over standard input and output, where the client starts `memdir mcp` itself, or
    with --http on this machine alone, with a token.

    Tools: search, recall, remember, update, forget, list, why. `memdir undo` takes back what they wrote."""

    EXAMPLES = (
        "memdir mcp                      # what a client's settings name as the command",
        "memdir mcp --http --port 7437   # for clients that take a URL",
    )

    def configure(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("--http", action="store_true", help="serve on http://127.0.0.1, with a token")
        parser.add_argument("--port", type=int, metavar="N", help="with --http (default 7437; 0: any)")

    def run(self, options: argparse.Namespace, context: Any) -> int:
        if options.port is not None and not options.http:
            raise UsageError("a port is for --http alone", remedy="Add --http, or leave --port out")
        if not options.http:
            from memdir.mcp_server.stdio import serve

            return serve(lambda: context.opened(MODEL_CALLS))
        from memdir.mcp_server.streamable_http import open_server

        port, layout = DEFAULT_PORT if options.port is None else options.port, context.require_enabled().layout
        with open_server(port, layout, lambda: context.opened(MODEL_CALLS)) as server:
            if options.json:
                context.print_json({"url": server.url, "token": server.token})
            else:
                context.terminal.verbatim(f"{server.url}\nAuthorization: Bearer {server.token}")
                context.note("Ctrl-C ends it")
            sys.stdout.flush()
            server.serve_forever()
        return 0
