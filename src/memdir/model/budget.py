"""The budget: every background call in a ledger, hard caps a day, waiting at the cap instead of failing (B1, B2)."""

from __future__ import annotations

import asyncio
import json
import os
import time
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from importlib import resources
from typing import TYPE_CHECKING

from memdir.disk.atomic import append_bytes, make_folder
from memdir.errors import BudgetReached, SettingsError
from memdir.events import Event, Nowhere
from memdir.model.model import Model, Reply, Request, Usage

if TYPE_CHECKING:
    from memdir.events import Sink

TOKENS_PER_PRICE = 1_000_000
_DAY = timedelta(days=1)


@dataclass(frozen=True)
class Spent:
    """One line of the ledger: what one model call used."""

    time: float
    job: str
    project: str
    model: str
    usage: Usage
    money: float | None


@dataclass(frozen=True)
class Caps:
    """What background work may use a day; 0 means no limit. Tokens count what was sent and received, cached or not."""

    tokens_per_day: int = 0
    tokens_per_project: int = 0
    money_per_day: float = 0.0


class Ledger:
    """Every background model call, one JSON object a line, private, appended in one write."""

    def __init__(self, path: str) -> None:
        self._path = path

    def add(self, spent: Spent) -> None:
        make_folder(os.path.dirname(self._path))
        usage = spent.usage
        line = {
            "time": datetime.fromtimestamp(spent.time, UTC).isoformat(timespec="milliseconds"),
            "job": spent.job,
            "project": spent.project,
            "model": spent.model,
            "input": usage.input,
            "output": usage.output,
            "cache_read": usage.cache_read,
            "cache_created": usage.cache_created,
            "money": spent.money,
        }
        append_bytes(self._path, json.dumps(line).encode("utf-8") + b"\n")

    def since(self, moment: float) -> Iterator[Spent]:
        """What was spent since then, oldest first; lines that cannot be read are skipped."""
        try:
            with open(self._path, "rb") as file:
                lines = file.readlines()
        except FileNotFoundError:
            return
        for line in lines:
            spent = _parse(line)
            if spent is not None and spent.time >= moment:
                yield spent


def _parse(line: bytes) -> Spent | None:
    try:
        found = json.loads(line)
        usage = Usage(*(int(found[name]) for name in ("input", "output", "cache_read", "cache_created")))
        money = None if found["money"] is None else float(found["money"])
        moment = datetime.fromisoformat(found["time"]).timestamp()
        return Spent(moment, str(found["job"]), str(found["project"]), str(found["model"]), usage, money)
    except (ValueError, KeyError, TypeError):
        return None


class Prices:
    """Money a million tokens, by the beginning of a model's name: our list, and the user's own file before it."""

    def __init__(self, own_path: str = "") -> None:
        text = resources.files("memdir.model").joinpath("prices.json").read_text(encoding="utf-8")
        self._models: dict[str, dict[str, float]] = {**json.loads(text)["models"], **_own_prices(own_path)}

    def of(self, model: str, usage: Usage) -> float | None:
        """The estimated money for a call; None for a model without a price."""
        name = model.rsplit("/", 1)[-1].lower()
        fitting = [known for known in self._models if name.startswith(known)]
        if not fitting:
            return None
        price = self._models[max(fitting, key=len)]
        used = {
            "input": usage.input,
            "output": usage.output,
            "cache_read": usage.cache_read,
            "cache_created": usage.cache_created,
        }
        return sum(tokens * price.get(kind, price["input"]) for kind, tokens in used.items()) / TOKENS_PER_PRICE


def _own_prices(path: str) -> dict[str, dict[str, float]]:
    if not path or not os.path.exists(path):
        return {}
    try:
        with open(path, encoding="utf-8") as file:
            found = json.load(file)
        return {
            str(name).lower(): {kind: float(value) for kind, value in price.items()} for name, price in found.items()
        }
    except (OSError, ValueError, AttributeError, TypeError) as error:
        raise SettingsError(
            f"the prices in {path} cannot be read: {error}", remedy="See docs/how-to/budget.md"
        ) from error


@dataclass
class Budget:
    """Decides whether background work may go on today."""

    ledger: Ledger
    caps: Caps
    prices: Prices = field(default_factory=Prices)
    clock: Callable[[], float] = time.time

    def check(self, project: str) -> None:
        """BudgetReached when a cap is reached; its `resumes_at` is the next midnight of local time."""
        now = self.clock()
        today = list(self.ledger.since(_midnight(now)))
        tokens = sum(spent.usage.prompt + spent.usage.output for spent in today)
        here = sum(spent.usage.prompt + spent.usage.output for spent in today if spent.project == project)
        money = sum(spent.money or 0.0 for spent in today)
        for used, cap, words in (
            (tokens, self.caps.tokens_per_day, "tokens a day"),
            (here, self.caps.tokens_per_project, "tokens a day for this project"),
            (money, self.caps.money_per_day, "dollars a day"),
        ):
            if cap and used >= cap:
                told = f"background work has used {used:,.10g} of {cap:,.10g} {words}"
                raise BudgetReached(told, resumes_at=_midnight(now, days=1))


def _midnight(moment: float, *, days: int = 0) -> float:
    local = datetime.fromtimestamp(moment).astimezone()
    start = local.replace(hour=0, minute=0, second=0, microsecond=0, tzinfo=None) + days * _DAY
    return start.astimezone().timestamp()


@dataclass
class BudgetedModel:
    """A model for background work: asks the budget before each call, writes each call down, waits at the cap.

    Waiting is what keeps a runaway job from becoming a storm: it stands still until the next day and then goes on.
    """

    model: Model
    budget: Budget
    job: str
    project: str
    sink: Sink = field(default_factory=Nowhere)
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep

    async def complete(self, request: Request, *, on_text: Callable[[str], None] | None = None) -> Reply:
        await self._wait_for_budget()
        reply = await self.model.complete(request, on_text=on_text)
        name = reply.model or request.model
        money = self.budget.prices.of(name, reply.usage)
        self.budget.ledger.add(Spent(self.budget.clock(), self.job, self.project, name, reply.usage, money))
        return reply

    async def close(self) -> None:
        await self.model.close()

    async def _wait_for_budget(self) -> None:
        while True:
            try:
                self.budget.check(self.project)
            except BudgetReached as reached:
                pause = max(1.0, reached.resumes_at - self.budget.clock())
                self.sink.emit(Event("budget.waiting", job=self.job, reason=reached.message, seconds=pause))
                await self.sleep(pause)
            else:
                return
