"""Adds the token that the conformance tests cannot send, and changes nothing else: Host and Origin arrive as they were
sent, so that what the server says to them is the server's own word."""

from __future__ import annotations

import http.client
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from urllib.parse import urlsplit

SECONDS = 30.0


class TokenProxy(ThreadingHTTPServer):
    """Forwards to one server on this machine while it is open."""

    daemon_threads = True

    def __init__(self, url: str, token: str) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        parts = urlsplit(url)
        self.target, self.token = f"{parts.hostname}:{parts.port}", token
        self.url = f"http://localhost:{self.server_address[1]}{parts.path}"
        self._thread = threading.Thread(target=self.serve_forever, daemon=True)

    def __enter__(self) -> TokenProxy:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.shutdown()
        self._thread.join()
        self.server_close()


class _Handler(BaseHTTPRequestHandler):
    server: TokenProxy
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        upstream = http.client.HTTPConnection(self.server.target, timeout=SECONDS)
        upstream.putrequest(self.command, self.path, skip_host=True, skip_accept_encoding=True)
        for name, value in self.headers.items():
            if name.lower() not in ("authorization", "connection"):
                upstream.putheader(name, value)
        upstream.putheader("Authorization", f"Bearer {self.server.token}")
        upstream.endheaders(body)
        with upstream.getresponse() as answer:
            data = answer.read()
            self.send_response(answer.status)
            for name, value in answer.getheaders():
                if name.lower() not in ("server", "date", "connection", "transfer-encoding"):
                    self.send_header(name, value)
        upstream.close()
        self.end_headers()
        self.wfile.write(data)

    do_GET = do_DELETE = do_OPTIONS = do_POST  # noqa: N815 - the library's names

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the name is the library's
        pass
