"""Tokens, and who somebody is by one. A token is random, so its SHA-256 tells nothing; only that is kept (E7)."""

from __future__ import annotations

import hashlib
import re
import secrets
import time
from collections.abc import Callable
from dataclasses import dataclass

from memdir.hub.hub_database import SQL, Author, HubDatabase, Transaction
from memdir.hub.reply import HubRefusal, bad_request, not_found

PREFIX = "mdh_"  # by which scanners know one
MAX_TOKEN = 200
REMEMBERED_SECONDS = 1.0  # so long a worker goes by what it knows of a token; another worker may have revoked it
MOST_REMEMBERED = 10_000
USED_MILLISECONDS = 600_000  # so exactly is known when a token was last used
SCOPES = ("read", "write", "admin")
_ID = re.compile(r"[a-z]_[0-9a-f]{12}")
OF_ROLE = {"reader": SCOPES[:1], "writer": SCOPES[:2], "admin": SCOPES}


@dataclass(frozen=True, slots=True)
class Bearer:
    """Who asks, and what this token lets them do."""

    token: str
    team: str
    member: str
    name: str
    role: str
    scopes: frozenset[str]
    expires: int | None

    @property
    def author(self) -> Author:
        return Author(self.team, self.member, self.token)

    def require(self, scope: str) -> None:
        if scope not in self.scopes:
            told = f"this token may not do that: it takes {scope!r}"
            why = " for a new token: your role allows it" if scope in OF_ROLE.get(self.role, ()) else ""
            raise HubRefusal(403, "not-allowed", told, remedy=f"Ask an admin of the team{why}")

    def require_all(self) -> None:
        """For what members do to themselves: a token that was made for less does not speak for them."""
        for scope in OF_ROLE[self.role]:
            self.require(scope)


@dataclass(frozen=True, slots=True)
class NewToken:
    """A token to be made. No team: it reads the metrics of the hub."""

    team: str | None
    member: str | None
    label: str
    scopes: tuple[str, ...]
    expires: int | None


def random_name(prefix: str) -> str:
    return f"{prefix}_{secrets.token_hex(6)}"


def known_form(name: object) -> str:
    """An id as we make them; anything else is nobody's, and reaches no statement."""
    if not isinstance(name, str) or not _ID.fullmatch(name):
        raise not_found()
    return name


def hashed(token: str) -> str:
    return hashlib.sha256(token.encode("utf-8", "surrogatepass")).hexdigest()


async def make_token(database: Transaction, new: NewToken, now: int) -> tuple[str, str]:
    """Its id and the token itself, which is told this once."""
    value, token = PREFIX + secrets.token_urlsafe(32), random_name("k")
    given = (new.team, new.member, new.label, " ".join(new.scopes), now, new.expires)
    await database.run(SQL["token_made"], token, hashed(value), *given)
    return token, value


def token_of(headers: list[tuple[bytes, bytes]]) -> str:
    """The token that a request carries, in its one place."""
    found = [value for name, value in headers if name == b"authorization"]
    if not found:
        raise unknown_token()
    if len(found) > 1:
        raise bad_request("there are several Authorization headers")
    scheme, _, token = found[0].partition(b" ")
    if scheme.lower() != b"bearer" or not token or len(token) > MAX_TOKEN:
        raise unknown_token()
    return token.decode("latin-1")


def unknown_token() -> HubRefusal:
    told = "the token is missing, unknown, expired or revoked"
    return HubRefusal(401, "token", told, remedy="Send it as `Authorization: Bearer …`, or ask an admin for a new one")


class Identities:
    """Who is who, remembered for a moment."""

    def __init__(self, database: HubDatabase, clock: Callable[[], float]) -> None:
        self._database = database
        self._clock = clock
        self._known: dict[str, tuple[float, Bearer]] = {}

    def forget(self) -> None:
        """A token, a role or a member was changed."""
        self._known.clear()

    async def of(self, token: str) -> Bearer:
        now, passed = self._clock(), time.monotonic()  # a clock that is set back makes no token live longer
        until, identity = self._known.get(token, (0.0, None))
        if identity is None or until < passed:
            identity = await self._found(token, int(now * 1000))
            if len(self._known) >= MOST_REMEMBERED:
                self._known.clear()
            self._known[token] = (passed + REMEMBERED_SECONDS, identity)
        if identity.expires is not None and identity.expires <= now * 1000:
            raise unknown_token()
        return identity

    async def _found(self, token: str, now: int) -> Bearer:
        rows = await self._database.run(SQL["token_found"], hashed(token))
        if not rows:
            raise unknown_token()
        name, team, member, scopes, expires, used, role, called, active = rows[0]
        given = frozenset(scopes.split())
        if team is None:
            return Bearer(name, "", "", "", "", given, expires)
        if not active:
            raise unknown_token()
        if (used or 0) < now - USED_MILLISECONDS and (expires or now + 1) > now:
            await self._database.mark(SQL["token_used"], now, name)
        return Bearer(name, team, member, called, role, given & frozenset(OF_ROLE[role]), expires)
