"""Secrets that are none, put together when a test runs: no file of ours holds one."""

from __future__ import annotations

import random
import string

_LETTERS = string.ascii_letters + string.digits


def drawn(length: int, *, seed: int = 1) -> str:
    chance = random.Random(seed)
    return "".join(chance.choice(_LETTERS) for _ in range(length - 3)) + "aZ7"


def github_token(seed: int = 1) -> str:
    return "gh" + "p_" + drawn(36, seed=seed)


def password() -> str:
    return drawn(6) + "!" + drawn(6, seed=2)


def key_block() -> str:
    lines = "\n".join(drawn(64, seed=number) for number in range(8))
    head, tail = ("-----BEGIN RSA PRIV" + "ATE KEY-----", "-----END RSA PRIV" + "ATE KEY-----")
    return f"{head}\n{lines}\n{tail}"
