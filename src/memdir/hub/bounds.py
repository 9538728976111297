"""What the hub takes from anybody: at most so many bytes and requests; keys that are safe on every disk, and texts
without secrets or private things, which every machine has checked before it sent them and the hub believes of none (E3,
E5). Each bound has a reason beside it."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from itertools import islice
from typing import Any

from starlette.requests import Request

from memdir.disk.safe_path import check_key
from memdir.errors import PathEscape
from memdir.hub.reply import HubRefusal, bad_request, not_found
from memdir.share.judge import judge
from memdir.share.remote import TeamCaps
from memdir.store.secrets import redact

MAX_ENTRY_BYTES = 64 * 1024  # a memory is a page; the team's own limit may be lower
MAX_BATCH = 100  # what one transaction holds without making others wait
MAX_BATCH_BYTES = 8 * 1024 * 1024
MOST_IN_FLIGHT = 4 * MAX_BATCH_BYTES  # of one token: a machine sends one batch after the other
MAX_SMALL_BYTES = 16 * 1024  # members, tokens, decisions
MAX_WAIT_SECONDS = 30  # proxies cut idle connections after a minute
MOST_WAITING = 2_000  # of one worker
MOST_WAITING_OF_TEAM = 500  # however many tokens its admin makes, other teams can wait as well
MOST_WAITING_OF_TOKEN = 4
MOST_TOKENS = 40 * MAX_BATCH  # of JSON: a change has twenty. Whatever is more takes long to read and much memory
_TOKEN = re.compile(r'"(?:[^"\\]++|\\.)*+"?|[\[{,]', re.DOTALL)
MOST_BUCKETS = 20_000


@dataclass(frozen=True)
class Rates:
    """Requests a second, and how many at once before that counts."""

    of_token: float = 50.0
    burst_of_token: float = 200.0
    of_stranger: float = 1.0  # failed tokens from one address
    burst_of_stranger: float = 30.0


class Buckets:
    """Who asks too often has to wait; in this process only, as workers behind a proxy each have their share."""

    def __init__(self, rate: float, burst: float) -> None:
        self._rate = rate
        self._burst = burst
        self._left: dict[str, tuple[float, float]] = {}

    def take(self, who: str) -> None:
        """A refusal, where nothing is left."""
        now = time.monotonic()
        left, at = self._left.get(who, (self._burst, now))
        left = min(self._burst, left + (now - at) * self._rate)
        if left < 1:
            raise HubRefusal(429, "rate", "too many requests").after((1 - left) / self._rate)
        if len(self._left) >= MOST_BUCKETS and who not in self._left:
            self._left.clear()
        self._left[who] = (left - 1, now)


class InFlight:
    """Bytes of bodies that are on their way or not answered yet, by token: who begins many and ends none fills no
    memory."""

    def __init__(self) -> None:
        self._held: dict[str, int] = {}

    def hold(self, token: str, size: int) -> Callable[[], None]:
        """Gives what lets go of them again."""
        if (held := self._held.get(token, 0) + size) > MOST_IN_FLIGHT:
            raise HubRefusal(429, "rate", "too much at once is on its way with this token").after(1)
        self._held[token] = held
        return partial(self._let_go, token, size)

    def _let_go(self, token: str, size: int) -> None:
        self._held[token] -= size
        if not self._held[token]:
            del self._held[token]


async def read_body(request: Request, max_bytes: int) -> bytes:
    """The body, if it is within its bounds; those of time are kept by the connection."""
    told = dict(request.scope["headers"]).get(b"content-length")
    size = max_bytes if told is None else int(told) if told.isdigit() and len(told) <= 12 else max_bytes + 1
    parts, left, is_more = list[bytes](), max_bytes, size <= max_bytes
    request.scope["until_answered"] = request.scope["in_flight"](size if is_more else 0)
    while is_more:
        message = await request.receive()
        if message["type"] == "http.disconnect":
            raise bad_request("the client went away")
        parts.append(message.get("body", b""))
        left -= len(parts[-1])
        if left < 0:
            break
        if not message.get("more_body"):
            await request.scope["still"]()
            return b"".join(parts)
    raise HubRefusal(413, "too-large", f"the body is larger than {max_bytes} bytes")


async def read_json(request: Request, max_bytes: int = MAX_SMALL_BYTES, *, empty: bytes = b"") -> dict[str, Any]:
    """The body as an object of JSON; `empty` stands for one that says nothing."""
    try:
        body = await read_body(request, max_bytes) or empty
        text = body.decode("utf-8", "surrogatepass")
        # First, as to read it holds everybody up; most have few. Each sign is counted no further than it matters.
        signs = sum(len(body) - len(body.replace(sign, b"", MOST_TOKENS + 1)) for sign in (b"[", b"{", b",", b'"'))
        if signs > MOST_TOKENS and next(islice(_TOKEN.finditer(text), MOST_TOKENS, None), None):
            raise bad_request("the body holds more than any request says")
        found = json.loads(text)
    except (ValueError, RecursionError):
        raise bad_request("the body is not JSON") from None
    if not isinstance(found, dict):
        raise bad_request("the body is not an object")
    return found


def whole_number(request: Request, name: str, otherwise: int) -> int:
    """A number of the query."""
    text = request.query_params.get(name)
    if text is None:
        return otherwise
    if not text.isascii() or not text.isdigit() or len(text) > 18:
        raise bad_request("a number in the query is not a whole one")
    return int(text)


def limit_of(request: Request, most: int) -> int:
    """How many somebody wants to be told at once."""
    return min(most, max(1, whole_number(request, "limit", most)))


def path_number(request: Request, name: str) -> int:
    """A number of the path, if a database can hold it."""
    text: str = request.path_params[name]
    if not text.isascii() or not text.isdigit() or len(text) > 18:
        raise not_found()
    return int(text)


def require_key(key: object) -> str:
    """The key, if it may name an entry."""
    try:
        found = check_key(key)
    except PathEscape as error:
        raise HubRefusal(422, "path", redact(error.message), remedy=error.remedy) from None
    if ".md/" in found.lower():
        raise HubRefusal(422, "path", "a folder of the key is named like a memory", remedy="Rename the folder")
    return found


def require_text(data: bytes) -> str:
    """The text, if it is one that every database keeps as it is."""
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError:
        text = "\0"
    if "\0" in text:
        remedy = "Convert it first, for example with iconv"
        raise HubRefusal(422, "not-text", "the entry is not UTF-8 text", remedy=remedy)
    return text


def require_shareable(key: str, data: bytes) -> None:
    """Nothing private, and no secret in text, fields or name: as a machine judges it. Told by kind, never by value."""
    if fault := judge(key, data, TeamCaps()):
        told, kind = f"{fault.file}: {fault.told}", fault.reason.replace("_", "-")
        raise HubRefusal(422, kind, told, remedy=fault.remedy, kinds=fault.kinds)
