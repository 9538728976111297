"""Secrets known by their place: where a protocol, a program or a file puts a password or a key."""

from __future__ import annotations

import binascii

from memdir.store.secrets.match import RANK_PLACE
from memdir.store.secrets.places import PLACES
from memdir.store.secrets.value import ASSIGNED, NEAR, STATED, is_value
from memdir.store.secrets.view import compiled, readable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from memdir.store.secrets.match import Finding

_LEVELS = {"near": NEAR, "assigned": ASSIGNED, "stated": STATED}


def by_place(text: str, lower: str) -> Iterator[Finding]:
    for kind, literals, pattern, certainty in PLACES:
        if not holds_any(lower, literals):
            continue
        for match in compiled(pattern).finditer(text):
            begin, finish = match.span(match.lastindex or 0)
            value = text[begin:finish]
            if certainty == "pair":
                accepted = _is_pair(value)
            elif kind == "url-password" and match.group().partition("://")[2].partition(":")[0] == value:
                accepted = False  # postgres:postgres, guest:guest: what a database starts with, no secret
            else:
                accepted = is_value(value, _LEVELS[certainty], human=certainty == "stated")
            if accepted:
                yield RANK_PLACE, kind, begin, finish


def _is_pair(encoded: str) -> bool:
    """Whether this is base64 of "user:password"."""
    digits = encoded.rstrip("=").replace("-", "+").replace("_", "/")
    if len(digits) % 4 == 1:
        return False
    user, colon, word = readable(binascii.a2b_base64(digits + "=" * (-len(digits) % 4))).partition(":")
    return bool(colon) and word != user and is_value(word, STATED, human=True)


def holds_any(text: str, literals: tuple[str, ...]) -> bool:
    for literal in literals:  # noqa: SIM110 — twice as fast as any()
        if literal in text:
            return True
    return False
