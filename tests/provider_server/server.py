"""The server itself: real HTTP on 127.0.0.1, threads, requests kept byte for byte."""

from __future__ import annotations

import json
import socket
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any

from tests.provider_server.anthropic_api import AnthropicApi
from tests.provider_server.dialect import BadRequest, Dialect, Issued
from tests.provider_server.gemini_api import GeminiApi, named_in_path
from tests.provider_server.openai_api import ChatApi, ResponsesApi
from tests.provider_server.prompt_cache import AnthropicCache, CacheUse, OpenAICache
from tests.provider_server.script import (
    Answer,
    Body,
    Drop,
    EndEarly,
    ErrorEvent,
    Fault,
    HalfJson,
    Hang,
    KeepAlive,
    Outcome,
    Refusal,
    Step,
    says,
)

KEY = "test-key"
CONTEXT_TOKENS = 2_000_000
UNKNOWN_MODEL = "no-such-model"
PATIENCE_SECONDS = 20.0  # how long a test may wait for the server; far above what it ever takes
_KEEP_ALIVE_SECONDS = 0.01


@dataclass(frozen=True)
class Recorded:
    """One request as it came."""

    path: str
    headers: dict[str, str]
    raw: bytes

    @property
    def body(self) -> Body:
        found: Body = json.loads(self.raw)
        return {**found, **named_in_path(self.path)}


@dataclass
class ProviderServer:
    """Answers with the steps of its script, then with plain words. Start and stop it with `with`."""

    script: Iterable[Step] = ()
    clock: Callable[[], float] = time.monotonic
    context_tokens: int = CONTEXT_TOKENS
    requests: list[Recorded] = field(default_factory=list)
    uses: list[CacheUse] = field(default_factory=list)
    on_hang: Callable[[], None] = lambda: None

    def __post_init__(self) -> None:
        self._steps = deque(self.script)
        self._lock = threading.Condition()
        self._connections: set[socket.socket] = set()
        self._stopping = threading.Event()
        self._released = threading.Event()
        issued, cache = Issued(), OpenAICache(self.clock)
        self._gemini = GeminiApi(cache)
        self._dialects: dict[str, Dialect] = {
            "/v1/messages": AnthropicApi(AnthropicCache(self.clock), issued),
            "/v1/chat/completions": ChatApi(cache),
            "/v1/responses": ResponsesApi(cache, issued),
        }

    def __enter__(self) -> ProviderServer:
        handler = type("Handler", (_Handler,), {"provider": self})
        self._http = _Http(("127.0.0.1", 0), handler)
        self._thread = threading.Thread(target=self._http.serve_forever, kwargs={"poll_interval": 0.02})
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stopping.set()
        self._released.set()
        self._http.shutdown()
        self._thread.join()
        with self._lock:
            for connection in self._connections:
                with suppress(OSError):  # the client has gone already
                    connection.shutdown(socket.SHUT_RDWR)
        self._http.server_close()  # waits for the threads of all connections

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._http.server_address[1]}"

    def add(self, *steps: Step) -> None:
        """Make the script longer."""
        self._steps.extend(steps)

    def script_again(self, steps: Iterable[Step]) -> None:
        """Put another script in the place of what is left of this one, and let go of whoever hangs."""
        self._released.set()
        self._released = threading.Event()
        self._steps = deque(steps)

    @property
    def open_connections(self) -> int:
        return len(self._connections)

    def wait_for_connections(self, count: int) -> None:
        """Until so many connections are open: what a test means by "the socket was closed"."""
        with self._lock:
            seen = self._lock.wait_for(lambda: len(self._connections) == count, PATIENCE_SECONDS)
        assert seen, f"{len(self._connections)} connections are open, not {count}"

    # Called by the handlers -------------------------------------------------------------------------------------------

    def opened(self, connection: socket.socket) -> None:
        with self._lock:
            self._connections.add(connection)
            self._lock.notify_all()

    def closed(self, connection: socket.socket) -> None:
        with self._lock:
            self._connections.discard(connection)
            self._lock.notify_all()

    def dialect(self, path: str) -> Dialect | None:
        return self._gemini if named_in_path(path) else self._dialects.get(path.partition("?")[0])

    def judge(self, recorded: Recorded, dialect: Dialect) -> tuple[Outcome, CacheUse | None]:
        """What to answer. A refused request takes no step of the script and leaves nothing in the cache."""
        headers = recorded.headers
        named = headers.get("x-api-key") or headers.get("x-goog-api-key")
        key = named or headers.get("authorization", "").removeprefix("Bearer ")
        body = recorded.body
        with self._lock:
            self.requests.append(recorded)
            if key != KEY:
                return Refusal("wrong_key"), None
            if body.get("model") == UNKNOWN_MODEL:
                return Refusal("unknown_model"), None
            try:
                dialect.check(body)
            except BadRequest as error:
                return Refusal("bad_request", str(error)), None
            if len(recorded.raw) // 4 > self.context_tokens:
                return Refusal("context_too_long"), None
            step = self._steps.popleft() if self._steps else says("ok")
            outcome = step(body) if callable(step) else step
            if isinstance(outcome, Refusal):
                return outcome, None
            use = dialect.use_cache(body)
            self.uses.append(use)
            return outcome, use

    def hang(self) -> None:
        """Stand still until the server is stopped or `release` is called."""
        self.on_hang()
        self._released.wait()

    def release(self) -> None:
        """Let go of whoever hangs."""
        self._released.set()

    @property
    def is_stopping(self) -> bool:
        return self._stopping.is_set()


class _Http(ThreadingHTTPServer):
    daemon_threads = False
    request_queue_size = 64

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that goes away is what many tests are about."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    provider: ProviderServer

    def setup(self) -> None:
        super().setup()
        self.provider.opened(self.connection)

    def finish(self) -> None:
        try:
            super().finish()
        finally:
            self.provider.closed(self.connection)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the name is http.server's
        """Tests print enough."""

    def do_POST(self) -> None:
        raw = self.rfile.read(int(self.headers.get("content-length") or 0))
        dialect = self.provider.dialect(self.path)
        if dialect is None:
            self._send(404, b'{"error": {"message": "no such path"}}', {})
            return
        recorded = Recorded(self.path, {name.lower(): value for name, value in self.headers.items()}, raw)
        outcome, use = self.provider.judge(recorded, dialect)
        if isinstance(outcome, Refusal) or use is None:
            assert isinstance(outcome, Refusal)
            self._send(*dialect.error(outcome), dict(outcome.headers))
        elif recorded.body.get("stream"):
            self._stream(outcome, recorded.body, use, dialect)
        else:
            self._whole(outcome, recorded.body, use, dialect)

    def do_GET(self) -> None:
        self.do_POST()

    def do_HEAD(self) -> None:
        self._send(200, b"", {})

    def _send(self, status: int, body: bytes, headers: dict[str, str]) -> None:
        self.send_response(status)
        for name, value in {"content-type": "application/json", "content-length": str(len(body)), **headers}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def _whole(self, outcome: Outcome, body: Body, use: CacheUse, dialect: Dialect) -> None:
        assert not isinstance(outcome, Refusal | ErrorEvent | KeepAlive | EndEarly)
        answer = outcome if isinstance(outcome, Answer) else outcome.answer
        data = dialect.whole(answer, body, use)
        match outcome:
            case Hang():
                self.provider.hang()
                if not self.provider.is_stopping:
                    self._send(200, data, {})
            case Drop():
                self.close_connection = True
            case HalfJson():
                self._send(200, data[: len(data) // 2], {})
            case _:
                self._send(200, data, {})

    def _stream(self, outcome: Outcome, body: Body, use: CacheUse, dialect: Dialect) -> None:
        assert not isinstance(outcome, Refusal)
        if isinstance(outcome, Answer):
            self._begin_stream()
            for data in dialect.events(outcome, body, use):
                self._chunk(data)
            self._chunk(b"")
            return
        events = dialect.events(outcome.answer, body, use)
        if outcome.after_events or not isinstance(outcome, Hang | Drop):
            self._begin_stream()
        for data in events[: outcome.after_events]:
            self._chunk(data)
        self._misbehave(outcome, events[outcome.after_events], dialect)

    def _misbehave(self, fault: Fault, next_event: bytes, dialect: Dialect) -> None:
        self.close_connection = True
        match fault:
            case Hang():
                self.provider.hang()
            case Drop():
                return
            case KeepAlive():
                while not self.provider.is_stopping:
                    self._chunk(dialect.keep_alive())
                    time.sleep(_KEEP_ALIVE_SECONDS)
            case EndEarly():
                self._chunk(b"")
            case HalfJson():
                self._chunk(next_event[: len(next_event) * 2 // 3] + b"\n\n")
                self._chunk(b"")
            case ErrorEvent():
                self._chunk(dialect.error_event(fault.refusal))
                self._chunk(b"")

    def _begin_stream(self) -> None:
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("transfer-encoding", "chunked")
        self.end_headers()

    def _chunk(self, data: bytes) -> None:
        self.wfile.write(f"{len(data):x}\r\n".encode() + data + b"\r\n")
        self.wfile.flush()
