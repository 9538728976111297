"""A team on a hub, by its contract (docs/reference/hub.md): conditional writes, only what changed since (E4, E7)."""

from __future__ import annotations

import errno
import http.client
import json
import socket
import ssl
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import groupby
from typing import Literal, get_args
from urllib.parse import quote, urlsplit

from memdir.disk.safe_path import is_key
from memdir.errors import RemoteError, RemoteFailure
from memdir.events import tell
from memdir.prompts.door import quoted_line
from memdir.share.judge import GivenJson
from memdir.share.remote import GONE, Delta, Manifest, PushResult, Reason, Remote, Room, Version, digest_of, is_digest
from memdir.store.shared import told_member
from memdir.version import __version__

BATCH = 100  # changes in one request, as the contract has it
BATCH_BYTES = 1 << 20  # of texts in one: the contract allows 8 MiB, and JSON may make six bytes of one
PAGE = 100  # entries in one answer that holds their texts
MAX_PAGES = 2_000  # an answer that never ends is no answer
MAX_ANSWER_BYTES = 32 << 20
TIMEOUT_SECONDS = 30.0  # of one read
EXCHANGE_SECONDS = 300.0  # of all that one pull or one push asks: as long others wait
MAX_TOLD = 10  # memories of which is asked who purged them
MAX_SAID = 200  # characters of a hub's own words, which are nobody's here
WAIT_SECONDS = 25  # of a request that waits for news
_BETWEEN = (401, 403, 408, 429, 502, 503, 504)  # what a proxy says that stands in between
_LOOPBACK = ("127.0.0.1", "::1", "localhost")
_REASONS: dict[str, Reason] = {one.replace("_", "-"): one for one in get_args(Reason)} | {"same-name": "path"}


@dataclass
class _Listing:
    """What a hub says of its entries after a revision: versions and their own revisions by key, texts, and the rest."""

    room: Room
    versions: dict[str, Version] = field(default_factory=dict)
    revisions: dict[str, int] = field(default_factory=dict)
    texts: dict[str, bytes] = field(default_factory=dict)
    refused: dict[str, Reason] = field(default_factory=dict)
    purged: dict[str, int] = field(default_factory=dict)  # members, and the revisions of their purges
    revision: int = 0
    restored: int = 0  # the revision from which it went on when it was brought back; 0 where it never was

    def take(self, told: GivenJson) -> None:
        key, content, seal = told.get("key"), told.get("content"), told.text("seal")
        if not isinstance(key, str) or not is_key(key):
            self.refused[str(key)] = "path"
            return
        author, saved = _name(told, "by"), seconds_of(told.get("saved"))
        if told.get("deleted") is True:
            self.versions[key] = Version(GONE, author, saved, is_purged=told.get("reason") == "purged")
        elif isinstance(content, str) and (etag := told.text("etag")):
            if not is_digest(etag):  # it is of no text, and no deletion either
                etag = digest_of(etag.encode("utf-8", "replace"))
            self.versions[key] = Version(etag, author, saved, seal=seal if is_digest(seal) else "")
            self.texts[key] = content.encode("utf-8", "replace")
            if why := self.room.fault_of(key, len(self.texts[key])):
                self.refused[key] = why
                del self.texts[key]
        self.revisions[key] = told.number("revision")


class HubRemote(Remote):
    """One team of a hub. The token tells who we are, and goes into no URL and no message."""

    def __init__(self, url: str, *, team: str = "", token: str) -> None:
        host = b""
        with suppress(ValueError):  # a port, a name or brackets that cannot be
            self._parts = urlsplit(url)
            _, host = self._parts.port, (self._parts.hostname or "").encode("idna")
        if not host or self._parts.scheme not in ("https", "http") or self._parts.username:
            raise RemoteError(f"{url!r} is no address of a hub", kind="broken", remedy="Use https://host")
        if self._parts.scheme == "http" and self._parts.hostname not in _LOOPBACK:
            raise RemoteError("a hub is talked to by https only", kind="broken", remedy="Use https://host")
        self._team = team
        self._token = token
        self._until = 0.0  # when what goes on has to have ended; 0: one question alone
        self._connection: http.client.HTTPConnection | None = None
        self.requests = 0  # that were made

    def me(self) -> GivenJson:
        """Whose token this is, and of which team."""
        return self._json("GET", "/v1/me")

    def require_writer(self) -> None:
        """RemoteError for a token that may only read."""
        if "write" not in (self.me().get("scopes") or ()):
            told = f"{self._parts.netloc}: this token may not write"
            raise RemoteError(told, kind="not_allowed", remedy="Ask an admin of the team")

    def team_name(self) -> str:
        return told_member(_name(self.me(), "team"))

    def pull(self, known: Manifest) -> Delta:
        since, restored = _numbers(known.revision)
        self._until = time.monotonic() + EXCHANGE_SECONDS
        listed = self._listed(since)
        if since and listed.revision == since:
            return Delta(revision=known.revision)
        is_back = since > 0 and (listed.revision < since or listed.restored != restored)
        listed = self._listed(0) if is_back else listed
        stray = {key: one for key, one in listed.versions.items() if known.strays.get(key, one.digest) != one.digest}
        replaced = {key: one for key, one in stray.items() if self._had(key, known.strays[key])}
        differ = {key: one for key, one in listed.versions.items() if one.digest != known.digest(key)} | replaced
        older, missing = dict[str, Version](), set[str]()
        if is_back:  # what is older there than here is given again; where nobody can tell, both texts are kept
            last = min(since, listed.restored)
            known_there = differ.keys() & known.versions.keys()  # what was never heard of here was not deleted here
            older = {key: differ.pop(key) for key in known_there if listed.revisions[key] <= last}
            missing = {key for key in differ if known.digest(key) and not self._had(key, known.digest(key))}
        if is_back or not since:
            told = listed.versions.keys() | listed.refused.keys()
            missing |= {key for key, one in known.versions.items() if not one.is_gone and key not in told}
        own = _name(self.me(), "member") if listed.purged else ""  # not by the name that this machine goes by
        purged = {name: at for name, at in listed.purged.items() if name not in ("", own)}
        revision = f"{listed.revision}/{listed.restored}"
        return Delta(differ, listed.texts, revision, frozenset(missing), older, replaced, listed.refused, purged)

    def _had(self, key: str, digest: str) -> bool:
        """Whether a memory once had this very text there, as the log tells."""
        return any(one.get("etag") == digest for one in self._versions(key))

    def _versions(self, key: str) -> list[GivenJson]:
        return self._json("GET", f"{self._path}/versions?key={quote(key, safe='')}").parts("versions")

    def _listed(self, since: int) -> _Listing:
        """What changed after a revision; after none, all that is there, and what was deleted."""
        found, unless = _Listing(Room(self.caps, times=2), revision=since), f'"r{since}"' if since else ""
        for _ in range(MAX_PAGES):
            path = f"{self._path}/entries?since={found.revision}&limit={PAGE}&content=1&deleted=1"
            answer = self._json("GET", path, unless=unless)
            if not answer:
                return found
            entries, before, unless = answer.get("entries"), found.revision, ""
            if not isinstance(entries, list) or len(entries) > PAGE or not isinstance(answer.get("revision"), int):
                break
            for one in answer.parts("entries"):
                found.take(one)
            tell(self.on_progress, len(found.versions), 0)
            found.purged |= {_name(one, "member"): one.number("revision") for one in answer.parts("purged")}
            found.revision, found.restored = answer.number("revision"), answer.number("restored")
            if answer.get("more") is not True:
                return found
            if found.revision <= before:
                break
        raise self._no_hub()

    def push(self, delta: Delta, *, expected: Manifest) -> PushResult:
        accepted: dict[str, Version] = {}
        refused: dict[str, Reason] = {}
        since, restored = _numbers(expected.revision)
        self._until = time.monotonic() + EXCHANGE_SECONDS
        for keys in _batches(delta, expected):
            tell(self.on_progress, len(accepted) + len(refused), len(delta.versions))
            changes = [_change(key, delta, expected) for key in keys]
            answer = self._json("POST", f"{self._path}/batch", {"changes": changes})
            for one in answer.parts("results"):
                key, status = str(one.get("key")), one.get("status")
                if key in delta.versions and status in (200, 201):
                    accepted[key] = delta.versions[key]
                elif key in delta.versions:
                    refused[key] = _REASONS.get(str(one.part("error").get("kind")), "not_allowed")
            if not accepted.keys() | refused.keys() >= set(keys):
                raise self._no_hub()
            # Where others wrote in between, their changes are still to come: the old revision is the one to ask with.
            since += len(keys) if expected.revision and answer.number("revision") == since + len(keys) else 0
        is_whole = expected.revision and len(accepted) == len(delta.versions)
        told: dict[str, str] = {}
        with suppress(RemoteError):  # what was taken is taken
            if {"cap", "too_large"} & {*refused.values()}:
                told = self._limits(refused)
            for key in [key for key, reason in refused.items() if reason == "purged"][:MAX_TOLD]:
                told[key] = self._purged(key, delta.versions[key].digest)
        return PushResult(accepted, refused, f"{since}/{restored}" if is_whole else expected.revision, told)

    def _limits(self, refused: Mapping[str, Reason]) -> dict[str, str]:
        """The team's limits on the hub, for what is beyond them."""
        limits = self.me().part("limits")
        most, one, all_bytes = (limits.number(name) for name in ("entries", "entryBytes", "teamBytes"))
        words: dict[Reason, str] = {"cap": f"the team may have {most:,} memories and {all_bytes:,} bytes on the hub"}
        words["too_large"] = f"a memory may have {one:,} bytes on the hub"
        return {key: words[reason] for key, reason in refused.items() if reason in words}

    def _purged(self, key: str, digest: str) -> str:
        """By whom and when a text was purged for the team, and whose it was, as far as the log tells."""
        log = [one for one in self._versions(key) if one.get("reason") == "purged"]
        deleted = next((one for one in log if one.get("op") == "delete"), GivenJson())
        written = next((one for one in log[::-1] if one.get("etag") == digest), GivenJson())
        by, whose = (told_member(_name(one, "by")) for one in (deleted, written))
        when, told = seconds_of(deleted.get("changed")), "it was purged for the team"
        told += f" by {by}" if by else ""
        told += f" on {datetime.fromtimestamp(when, UTC).date()}" if when else ""
        return told + (f", with what {whose} wrote" if whose else "")

    def wait(self, revision: str) -> bool:
        """Wait until somebody wrote, no longer than one request may take; whether somebody did."""
        since = _numbers(revision)[0]
        told = self._json("GET", f"{self._path}/changes?since={since}&wait={WAIT_SECONDS}")
        return told.number("revision") > since

    def proposals(self, *, with_texts: bool = True) -> list[GivenJson]:
        """What the team's nightly dream would change, as it waits for a member's yes or no."""
        return self._json("GET", f"{self._path}/proposals{'' if with_texts else '?content=0'}").parts("proposals")

    def decide(self, proposal: int, decision: Literal["accept", "reject"]) -> None:
        self._json("POST", f"{self._path}/proposals/{proposal}", {"decision": decision})

    def close(self) -> None:
        self._until = 0.0
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    # The wire

    @property
    def _path(self) -> str:
        return f"/v1/teams/{quote(self._team, safe='')}"

    def _json(self, method: str, path: str, body: object = None, *, unless: str = "") -> GivenJson:
        """What a hub answers; nothing where all is as it was at the state `unless`."""
        data = json.dumps(body, ensure_ascii=False).encode() if body is not None else None
        fields = {"Authorization": f"Bearer {self._token}", "User-Agent": f"memdir/{__version__}"}
        fields |= {"If-None-Match": unless} if unless else {}
        fields |= {"Content-Type": "application/json"} if data is not None else {}
        status, content = self._send(method, self._parts.path.rstrip("/") + path, data, fields)
        if status == 304 and unless:
            return GivenJson()
        try:
            answer = GivenJson.of(json.loads(content))
        except (ValueError, RecursionError):
            answer = GivenJson()
        if status >= 300:
            raise self._failure(status, answer)
        if not answer:
            raise self._no_hub()
        return answer

    def _send(self, method: str, path: str, data: bytes | None, fields: Mapping[str, str]) -> tuple[int, bytes]:
        until = self._until or time.monotonic() + 2 * TIMEOUT_SECONDS
        kept, self._connection = self._connection, None
        connection = kept or self._connect()
        self.requests += 1
        try:
            with _ended_by(connection, until):
                connection.request(method, path, body=data, headers=dict(fields))
                response = connection.getresponse()
                content = response.read(MAX_ANSWER_BYTES + 1)
        except (OSError, http.client.HTTPException) as error:
            connection.close()
            if kept and time.monotonic() < until:  # it may have been closed meanwhile
                return self._send(method, path, data, fields)
            why = getattr(error, "strerror", "") or type(error).__name__
            remedy = "What you changed waits here until it can"
            raise RemoteError(f"{self._parts.netloc} cannot be reached: {why}", remedy=remedy) from error
        self._connection = None if response.will_close else connection
        if (wait := _asked_to_wait(response)) and time.monotonic() + wait < self._until:
            time.sleep(wait)  # in a long exchange: who begins again would never come to its end
            return self._send(method, path, data, fields)
        if len(content) > MAX_ANSWER_BYTES:
            raise RemoteError(f"{self._parts.netloc} answers more than a hub would", kind="broken")
        return response.status, content

    def _connect(self) -> http.client.HTTPConnection:
        host, port = self._parts.hostname or "", self._parts.port
        if self._parts.scheme == "http":
            return http.client.HTTPConnection(host, port, timeout=TIMEOUT_SECONDS)
        return http.client.HTTPSConnection(host, port, timeout=TIMEOUT_SECONDS, context=ssl.create_default_context())

    def _no_hub(self) -> RemoteError:
        remedy = "Check the address, and what stands between: a proxy, a login page"
        return RemoteError(f"{self._parts.netloc} answers what no hub answers", kind="broken", remedy=remedy)

    def _failure(self, status: int, answer: GivenJson) -> RemoteError:
        told = answer.part("error")
        if not told and status not in _BETWEEN:
            return self._no_hub()
        message, theirs, remedy = str(told.get("message") or f"status {status}"), told.text("remedy"), ""
        if status == 401 or (status == 404 and not theirs):  # the hub tells it to programs
            theirs, where = "", f"{self._parts.scheme}://{self._parts.netloc}"
            remedy = f"`memdir join {where}` with a new token of its admin's"
        kinds: dict[int, RemoteFailure] = {401: "not_allowed", 403: "not_allowed", 404: "not_allowed", 429: "rate"}
        kind = kinds.get(status, "offline" if status in (408, 502, 503, 504) else "broken")
        kind = "broken" if told.get("kind") == "full" else kind
        said = quoted_line(". ".join(filter(None, (message, theirs))), room=MAX_SAID)
        return RemoteError(f"{self._parts.netloc} says {said}", kind=kind, remedy=remedy)


@contextmanager
def _ended_by(connection: http.client.HTTPConnection, until: float) -> Iterator[None]:
    """An exchange that ends then, whatever comes: each read has a time of its own, and there may be any number."""
    if connection.sock is None:
        connection.connect()
    late = threading.Timer(max(until - time.monotonic(), 0.0), _hang_up, [connection.sock])
    late.daemon = True
    late.start()
    try:
        yield
    finally:
        late.cancel()
    if time.monotonic() >= until:
        raise TimeoutError(errno.ETIMEDOUT, "it takes too long")


def _asked_to_wait(response: http.client.HTTPResponse) -> int:
    told = response.getheader("Retry-After", "") if response.status == 429 else ""
    return int(told) if told.isdecimal() and len(told) < 5 else 0


def _hang_up(wire: socket.socket) -> None:
    with suppress(OSError):
        wire.shutdown(socket.SHUT_RDWR)


def _batches(delta: Delta, expected: Manifest) -> list[list[str]]:
    """Keys in requests of a size that a hub takes. What was renamed goes with the same one: others may come no more."""
    batches, size = list[list[str]](), 0
    texts = {key: one.digest or expected.digest(key) for key, one in delta.versions.items()}
    for _, alike in groupby(sorted(texts, key=lambda one: (texts[one], one)), key=texts.__getitem__):
        keys = list(alike)
        step = min(BATCH, BATCH_BYTES // max(1, *(len(delta.texts.get(key, b"")) for key in keys))) or 1
        for some in (keys[at : at + step] for at in range(0, len(keys), step)):
            more = sum(len(delta.texts.get(key, b"")) for key in some)
            if not batches or len(batches[-1]) + len(some) > BATCH or size + more > BATCH_BYTES:
                batches.append([])
                size = 0
            batches[-1] += some
            size += more
    return batches


def _change(key: str, delta: Delta, expected: Manifest) -> dict[str, object]:
    version = delta.versions[key]
    saved = datetime.fromtimestamp(version.saved, UTC).isoformat()
    what = {"op": "delete"} if version.is_gone else {"op": "put", "content": delta.texts[key].decode("utf-8")}
    what |= {"author": version.author, "seal": version.seal} if version.seal else {}
    return {"key": key, "ifMatch": expected.digest(key) or None, "saved": saved, **what}


def _numbers(revision: str) -> tuple[int, int]:
    """The revision that a note knows of, and the one from which a hub that was brought back had gone on by then."""
    since, _, restored = revision.partition("/")
    return int(since) if since.isdecimal() else 0, int(restored) if restored.isdecimal() else 0


def _name(answer: GivenJson, who: str) -> str:
    return answer.part(who).text("name")


def seconds_of(told: object) -> float:
    try:
        return datetime.fromisoformat(told).timestamp() if isinstance(told, str) else 0.0
    except (ValueError, OverflowError, OSError):
        return 0.0
