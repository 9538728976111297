"""How the hub answers: JSON, and one shape for everything that is refused (docs/reference/hub.md)."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import UTC, datetime
from functools import lru_cache

from starlette.responses import Response

in_json = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), check_circular=False).encode
_ALWAYS = [(b"cache-control", b"no-store"), (b"x-content-type-options", b"nosniff")]


class HubRefusal(Exception):
    """A request that is not granted: its status, its kind for programs, words for people."""

    def __init__(
        self, status: int, kind: str, message: str, *, remedy: str | None = None, kinds: tuple[str, ...] = ()
    ) -> None:
        super().__init__(message)
        self.status = status
        self.kind = kind
        self.message = message
        self.remedy = remedy
        self.kinds = kinds  # of secrets
        self.current: Mapping[str, object] | None = None  # what stands there, at a conflict
        self.headers: dict[str, str] = {}

    def with_current(self, etag: str | None, revision: int, *, deleted: bool) -> HubRefusal:
        self.current = {"etag": etag, "revision": revision, "deleted": deleted}
        return self

    def after(self, seconds: float) -> HubRefusal:
        """Try again then."""
        self.headers["retry-after"] = str(max(1, round(seconds)))
        return self

    @property
    def error(self) -> dict[str, object]:
        told: dict[str, object] = {"kind": self.kind, "message": self.message, "remedy": self.remedy}
        return {**told, "kinds": list(self.kinds)} if self.kinds else told

    def response(self) -> HttpReply:
        body: dict[str, object] = {"error": self.error}
        if self.current is not None:
            body["current"] = self.current
        if self.status in (408, 413):
            self.headers["connection"] = "close"  # what is still on its way is not read
        if self.status == 401:
            self.headers["www-authenticate"] = "Bearer"
        return answer(body, self.status, self.headers)


class HttpReply(Response):
    """An answer whose headers are written as they are sent."""

    def __init__(self, status: int, body: bytes, kind: bytes, *headers: tuple[bytes, bytes]) -> None:
        self.background = None
        self.status_code = status
        self.body = body
        self.raw_headers = [*_ALWAYS, *headers]
        if status != 304:
            self.raw_headers += [(b"content-type", kind), (b"content-length", b"%d" % len(body))]


def answer(body: Mapping[str, object], status: int = 200, headers: Mapping[str, str] | None = None) -> HttpReply:
    more = [(name.encode(), value.encode()) for name, value in headers.items()] if headers else []
    return HttpReply(status, in_json(body).encode("utf-8", "backslashreplace"), b"application/json", *more)


def text_reply(content: str, etag: str, *more: tuple[bytes, bytes]) -> HttpReply:
    return HttpReply(200, content.encode(), b"text/markdown; charset=utf-8", (b"etag", b'"%b"' % etag.encode()), *more)


def unchanged(etag: str) -> HttpReply:
    return HttpReply(304, b"", b"", (b"etag", b'"%b"' % etag.encode()))


def not_found(what: str = "there is nothing of that name here") -> HubRefusal:
    return HubRefusal(404, "not-found", what)


def bad_request(message: str) -> HubRefusal:
    return HubRefusal(400, "bad-request", message)


def told_time(milliseconds: int | None) -> str | None:
    """As JSON has it: ISO 8601 in UTC."""
    return None if milliseconds is None else _told_second(milliseconds // 1000)


@lru_cache(4_096)
def _told_second(seconds: int) -> str:
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def read_time(text: object, *, now: int) -> int:
    """The time that a client tells; now, where it tells none, and where it tells one to come."""
    if text in (None, ""):
        return now
    if not isinstance(text, str) or len(text) > 40:
        raise bad_request("a time is ISO 8601 text")
    try:
        moment = datetime.fromisoformat(text)
        told = int((moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp() * 1000)
    except (ValueError, OverflowError):
        raise bad_request("a time is not ISO 8601") from None
    return min(max(told, 0), now)
