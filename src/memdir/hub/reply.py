"""How the hub answers: JSON, and one shape for everything that is refused (docs/reference/hub.md)."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import UTC, datetime

from starlette.responses import Response

NO_STORE = {"cache-control": "no-store", "x-content-type-options": "nosniff"}


class HubRefusal(Exception):
    """A request that is not granted: its status, its kind for programs, words for people."""

    def __init__(self, status: int, kind: str, message: str, *, remedy: str | None = None) -> None:
        super().__init__(message)
        self.status = status
        self.kind = kind
        self.message = message
        self.remedy = remedy
        self.kinds: tuple[str, ...] = ()  # of secrets
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

    def response(self) -> Response:
        body: dict[str, object] = {"error": self.error}
        if self.current is not None:
            body["current"] = self.current
        if self.status in (408, 413):
            self.headers["connection"] = "close"  # what is still on its way is not read
        if self.status == 401:
            self.headers["www-authenticate"] = "Bearer"
        return answer(body, self.status, self.headers)


def answer(body: Mapping[str, object], status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    data = json.dumps(body, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "backslashreplace")
    return Response(data, status, {**NO_STORE, **(headers or {})}, "application/json")


def not_found(what: str = "there is nothing of that name here") -> HubRefusal:
    return HubRefusal(404, "not-found", what)


def bad_request(message: str) -> HubRefusal:
    return HubRefusal(400, "bad-request", message)


def told_time(milliseconds: int | None) -> str | None:
    """As JSON has it: ISO 8601 in UTC."""
    if milliseconds is None:
        return None
    return datetime.fromtimestamp(milliseconds // 1000, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


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
