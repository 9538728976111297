"""Trying again: only what the provider calls passing, with growing pauses, never a storm (B2)."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

from memdir.errors import ModelError
from memdir.model.model import Model, Reply, Request

_JITTER = 0.25  # so that many clients that failed together do not come back together


@dataclass(frozen=True)
class RetryPolicy:
    """How often and how long. A provider that asks for more patience than `longest_seconds` is not asked again."""

    attempts: int = 4
    first_seconds: float = 1.0
    longest_seconds: float = 60.0


@dataclass
class RetryingModel:
    """A model that tries again when its provider has a passing problem."""

    model: Model
    policy: RetryPolicy = field(default_factory=RetryPolicy)
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep
    chance: random.Random = field(default_factory=random.Random)

    async def complete(self, request: Request, *, on_text: Callable[[str], None] | None = None) -> Reply:
        told = False

        def tell(text: str) -> None:
            nonlocal told
            told = True
            if on_text:
                on_text(text)

        attempt = 1
        while True:
            try:
                return await self.model.complete(request, on_text=tell if on_text else None)
            except ModelError as error:
                pause = self._pause(error, attempt)
                # Words that somebody has already read cannot be taken back, so such a reply is not begun again.
                if pause is None or told:
                    raise
            await self.sleep(pause)
            attempt += 1

    async def close(self) -> None:
        await self.model.close()

    def _pause(self, error: ModelError, attempt: int) -> float | None:
        if not error.is_retryable or attempt >= self.policy.attempts:
            return None
        if error.retry_after is not None:
            return error.retry_after if error.retry_after <= self.policy.longest_seconds else None
        pause: float = min(self.policy.longest_seconds, self.policy.first_seconds * 2 ** (attempt - 1))
        return pause * (1 - _JITTER * self.chance.random())
