"""A team on a hub, by its contract (docs/reference/hub.md): conditional writes, only what changed since (E4, E7)."""

from __future__ import annotations

import http.client
import json
import ssl
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Literal
from urllib.parse import quote, urlsplit

from memdir.disk.safe_path import is_key
from memdir.errors import RemoteError, RemoteFailure
from memdir.share.remote import GONE, Delta, Manifest, PushResult, Reason, Version
from memdir.version import __version__

BATCH = 100  # changes in one request, as the contract has it
BATCH_BYTES = 6 << 20  # of texts in one: the contract allows 8 MiB, and JSON adds to it
PAGE = 100  # entries in one answer that holds their texts
MAX_PAGES = 2_000  # an answer that never ends is no answer
MAX_ANSWER_BYTES = 32 << 20
TIMEOUT_SECONDS = 30.0
WAIT_SECONDS = 25  # of a request that waits for news
_LOOPBACK = ("127.0.0.1", "::1", "localhost")
_REASONS: dict[str, Reason] = {one.replace("_", "-"): one for one in get_args(Reason)} | {"same-name": "path"}


@dataclass(frozen=True)
class TeamProposal:
    """What the team's nightly dream would change in one go, until a member says yes or no."""

    id: int
    reason: str
    created: float
    changes: Mapping[str, str | None]  # a file's new text; None: it goes


class HubRemote:
    """One team of a hub. The token tells who we are, and goes into no URL and no message."""

    def __init__(self, url: str, *, team: str = "", token: str) -> None:
        self._parts = urlsplit(url)
        if self._parts.scheme not in ("https", "http") or not self._parts.hostname or self._parts.username:
            raise RemoteError(f"{url!r} is no address of a hub", kind="broken", remedy="Use https://host")
        if self._parts.scheme == "http" and self._parts.hostname not in _LOOPBACK:
            raise RemoteError("a hub is talked to by https only", kind="broken", remedy="Use https://host")
        self._team = team
        self._token = token
        self._connection: http.client.HTTPConnection | None = None
        self.requests = 0  # that were made

    def me(self) -> dict[str, Any]:
        """Whose token this is, and of which team."""
        return self._json("GET", "/v1/me")

    def pull(self, known: Manifest) -> Delta:
        since = int(known.revision) if known.revision.isdecimal() else 0
        head = {"If-None-Match": f'"r{since}"'} if since else {}
        versions: dict[str, Version] = {}
        texts: dict[str, bytes] = {}
        refused: dict[str, Reason] = {}
        purged: dict[str, None] = {}
        at = since
        for _ in range(MAX_PAGES):
            status, answer = self._ask("GET", f"{self._path}/entries?since={at}&limit={PAGE}&content=1", headers=head)
            if status == 304:
                return Delta(revision=known.revision)
            for one in _list(answer, "entries"):
                self._take(one, known, versions, texts, refused)
            purged |= {_name(one.get("member")): None for one in _list(answer, "purged")}
            at, head = _number(answer, "revision"), {}
            if answer.get("more") is not True:
                break
        living = {key for key, version in known.versions.items() if not version.is_gone}
        absent = living - texts.keys() if not since else set()
        is_new = at < since or (not since and not texts)  # another hub, or one that was set back: nothing was deleted
        if not is_new:
            versions |= {key: Version(GONE) for key in absent if key not in versions and key not in refused}
        missing, left = frozenset(absent if is_new else ()), tuple(filter(None, purged))
        return Delta(versions, texts, str(at), missing=missing, refused=refused, purged=left)

    def _take(
        self,
        told: Mapping[str, Any],
        known: Manifest,
        versions: dict[str, Version],
        texts: dict[str, bytes],
        refused: dict[str, Reason],
    ) -> None:
        key, etag, content = told.get("key"), told.get("etag"), told.get("content")
        if not isinstance(key, str) or not is_key(key):
            refused[str(key)] = "path"
            return
        author, saved = _name(told.get("by")), _seconds(told.get("saved"))
        if told.get("deleted") is True:
            versions[key] = Version(GONE, author, saved, is_purged=told.get("reason") == "purged")
            texts.pop(key, None)
        elif isinstance(content, str) and isinstance(etag, str):
            texts[key] = content.encode("utf-8", "replace")
            versions[key] = Version(etag, author, saved)
        if key in versions and versions[key].digest == known.digest(key):
            versions.pop(key)  # a write of our own comes back

    def push(self, delta: Delta, *, expected: Manifest) -> PushResult:
        accepted: dict[str, Version] = {}
        refused: dict[str, Reason] = {}
        revision, written = expected.revision, 0
        for keys in _batches(delta):
            changes = [_change(key, delta, expected) for key in keys]
            answer = self._json("POST", f"{self._path}/batch", {"changes": changes})
            for one in _list(answer, "results"):
                key, status = str(one.get("key")), one.get("status")
                if key in delta.versions and status in (200, 201):
                    accepted[key] = delta.versions[key]
                    written += 1
                elif key in delta.versions:
                    refused[key] = _reason(one)
            last = _number(answer, "revision")
            # Where others wrote in between, their changes are still to come: the old revision is the one to ask with.
            revision = str(last) if revision.isdecimal() and last == int(revision) + len(keys) else revision
        return PushResult(accepted, refused, revision if written == len(delta.versions) else expected.revision)

    def wait(self, revision: str) -> bool:
        """Wait until somebody wrote, no longer than one request may take; whether somebody did."""
        since = int(revision) if revision.isdecimal() else 0
        told = self._json("GET", f"{self._path}/changes?since={since}&wait={WAIT_SECONDS}")
        return _number(told, "revision") > since

    def count_proposals(self) -> int:
        """How many wait for a member's yes or no."""
        return len(_list(self._json("GET", f"{self._path}/proposals?content=0"), "proposals"))

    def proposals(self) -> list[TeamProposal]:
        found = _list(self._json("GET", f"{self._path}/proposals"), "proposals")
        return [one for one in map(_proposal, found) if one.id and one.changes]

    def decide(self, proposal: int, decision: Literal["accept", "reject"]) -> None:
        self._json("POST", f"{self._path}/proposals/{proposal}", {"decision": decision})

    def close(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    # The wire

    @property
    def _path(self) -> str:
        return f"/v1/teams/{quote(self._team, safe='')}"

    def _json(self, method: str, path: str, body: Mapping[str, object] | None = None) -> dict[str, Any]:
        return self._ask(method, path, body)[1]

    def _ask(
        self,
        method: str,
        path: str,
        body: Mapping[str, object] | None = None,
        *,
        headers: Mapping[str, str] | None = None,
    ) -> tuple[int, dict[str, Any]]:
        data = json.dumps(body).encode() if body is not None else None
        fields = {"Authorization": f"Bearer {self._token}", "User-Agent": f"memdir/{__version__}", **(headers or {})}
        if data is not None:
            fields["Content-Type"] = "application/json"
        status, content = self._send(method, self._parts.path.rstrip("/") + path, data, fields)
        try:
            answer = json.loads(content) if content else {}
        except (ValueError, RecursionError):
            answer = {}
        if status >= 400 or (status >= 300 and status != 304):
            raise self._failure(status, answer if isinstance(answer, dict) else {})
        if not isinstance(answer, dict):
            raise RemoteError(f"{self._parts.netloc} answers no hub's answer", kind="broken")
        return status, answer

    def _send(self, method: str, path: str, data: bytes | None, fields: Mapping[str, str]) -> tuple[int, bytes]:
        for attempt in range(2):  # a kept connection may have been closed meanwhile
            is_kept = self._connection is not None
            connection = self._connection or self._connect()
            self.requests += 1
            try:
                connection.request(method, path, body=data, headers=dict(fields))
                response = connection.getresponse()
                content = response.read(MAX_ANSWER_BYTES + 1)
                self._connection = None if response.will_close else connection
            except (OSError, http.client.HTTPException) as error:
                connection.close()
                self._connection = None
                if is_kept and attempt == 0:
                    continue
                why = getattr(error, "strerror", "") or type(error).__name__
                raise RemoteError(
                    f"{self._parts.netloc} cannot be reached: {why}",
                    remedy="What you changed waits here until it can",
                ) from error
            if len(content) > MAX_ANSWER_BYTES:
                raise RemoteError(f"{self._parts.netloc} answers more than a hub would", kind="broken")
            return response.status, content
        raise AssertionError("the second attempt ends")

    def _connect(self) -> http.client.HTTPConnection:
        host, port = self._parts.hostname or "", self._parts.port
        if self._parts.scheme == "https":
            return http.client.HTTPSConnection(
                host, port, timeout=TIMEOUT_SECONDS, context=ssl.create_default_context()
            )
        return http.client.HTTPConnection(host, port, timeout=TIMEOUT_SECONDS)

    def _failure(self, status: int, answer: Mapping[str, Any]) -> RemoteError:
        error = answer.get("error")
        told = error if isinstance(error, dict) else {}
        message, remedy = str(told.get("message") or f"status {status}"), str(told.get("remedy") or "")
        kinds: dict[int, RemoteFailure] = {401: "not_allowed", 403: "not_allowed", 404: "not_allowed", 429: "rate"}
        kind = kinds.get(status, "offline" if status in (408, 502, 503, 504) else "broken")
        return RemoteError(f"{self._parts.netloc}: {message[:500]}", kind=kind, remedy=remedy[:500])


def _batches(delta: Delta) -> list[list[str]]:
    """Keys in requests of a size that a hub takes, deletions first, so that a rename in capitals only passes."""
    batches: list[list[str]] = [[]]
    size = 0
    for key in sorted(delta.versions, key=lambda one: (not delta.versions[one].is_gone, one)):
        more = len(delta.texts.get(key, b""))
        if batches[-1] and (len(batches[-1]) >= BATCH or size + more > BATCH_BYTES):
            batches.append([])
            size = 0
        batches[-1].append(key)
        size += more
    return [batch for batch in batches if batch]


def _change(key: str, delta: Delta, expected: Manifest) -> dict[str, object]:
    version = delta.versions[key]
    saved = datetime.fromtimestamp(max(version.saved, 0.0), UTC).isoformat()
    told: dict[str, object] = {"key": key, "ifMatch": expected.digest(key) or None, "saved": saved}
    if version.is_gone:
        return {**told, "op": "delete"}
    return {**told, "op": "put", "content": delta.texts[key].decode("utf-8")}


def _proposal(told: Mapping[str, Any]) -> TeamProposal:
    """One that changes several files lists them; one that changes a single file may be that change."""
    changes = {}
    for one in _list(told, "changes") or [dict(told)]:
        key, content = one.get("key"), one.get("content")
        is_text = isinstance(content, str)
        if not isinstance(key, str) or not is_key(key) or is_text != (one.get("op") == "put"):
            return TeamProposal(0, "", 0.0, {})  # what cannot be shown is not asked about
        changes[key] = content
    reason = told.get("reason")
    return TeamProposal(
        _number(told, "id"), reason if isinstance(reason, str) else "", _seconds(told.get("created")), changes
    )


def _reason(result: Mapping[str, Any]) -> Reason:
    error = result.get("error")
    kind = error.get("kind") if isinstance(error, dict) else None
    if isinstance(kind, str) and kind in _REASONS:
        return _REASONS[kind]
    by_status: dict[int, Reason] = {412: "conflict", 413: "too_large", 429: "rate"}
    return by_status.get(_number(result, "status"), "not_allowed")


def _name(who: object) -> str:
    name = who.get("name") if isinstance(who, dict) else None
    return name if isinstance(name, str) else ""


def _list(answer: Mapping[str, Any], name: str) -> list[dict[str, Any]]:
    found = answer.get(name)
    return [one for one in found if isinstance(one, dict)] if isinstance(found, list) else []


def _number(answer: Mapping[str, Any], name: str) -> int:
    found = answer.get(name)
    return found if isinstance(found, int) and not isinstance(found, bool) else 0


def _seconds(told: object) -> float:
    try:
        return datetime.fromisoformat(told).timestamp() if isinstance(told, str) else 0.0
    except (ValueError, OverflowError, OSError):
        return 0.0
