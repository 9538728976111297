"""MCP over standard input and output: a message a line."""

from __future__ import annotations

import os
import sys

from memdir.mcp_server.offers import MemoryOffers
from memdir.mcp_server.protocol import INVALID_REQUEST, McpServer, RpcError, error_answer, parsed, rendered

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import BinaryIO

    from memdir.memdir import MemDir

MAX_LINE = 8_000_000  # bytes of a message; a longer one is answered and passed over


def serve(open_memory: Callable[[], MemDir] | None = None) -> int:
    """Answer until the client closes its end. Whatever else writes to standard output must not break a line of ours: it
    goes where errors go."""
    ours = os.dup(1)
    os.dup2(2, 1)
    server = McpServer(MemoryOffers(open_memory or _of_this_folder), on_failure)
    try:
        with os.fdopen(ours, "wb", buffering=0) as target:
            _serve(server, sys.stdin.buffer, target)
    except (BrokenPipeError, KeyboardInterrupt):
        return 0  # the client is gone, which is how this ends
    return 0


def _of_this_folder() -> MemDir:
    """Loaded when it is needed: a message that is none needs no memory."""
    from memdir.memdir import MODEL_CALLS, open_memory

    return open_memory(source=MODEL_CALLS)


def _serve(server: McpServer, source: BinaryIO, target: BinaryIO) -> None:
    while line := source.readline(MAX_LINE + 1):
        if len(line) > MAX_LINE and not line.endswith(b"\n"):
            while (rest := source.readline(MAX_LINE)) and not rest.endswith(b"\n"):
                pass
            answer = error_answer(RpcError(INVALID_REQUEST, f"a message may have {MAX_LINE:,} bytes"))
        elif not line.strip():
            continue
        else:
            try:
                found = server.answer(parsed(line))
            except RpcError as refused:
                found = error_answer(refused)
            if found is None:
                continue
            answer = found
        unsent = memoryview(rendered(answer))
        while unsent:
            unsent = unsent[target.write(unsent) :]


def on_failure(error: Exception) -> None:
    """What went wrong inside goes where the client keeps what a server says; never what a memory holds."""
    print(f"memdir: something went wrong inside memdir ({type(error).__name__})", file=sys.stderr)
