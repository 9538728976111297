"""The budget of background work: hard caps a day, waiting at the cap instead of failing (B1, B2).

Money is estimated by list prices: our dated table, and the user's own file before it. The ledger holds every call, one
JSON object a line, appended in one write.
"""

from __future__ import annotations

import asyncio
import json
import os
import time
from collections.abc import Awaitable, Callable, Iterable
from contextlib import suppress
from dataclasses import asdict, dataclass, field, fields, replace
from datetime import UTC, datetime, timedelta
from functools import reduce
from typing import TYPE_CHECKING, Literal

from memdir.disk.append import append_bytes
from memdir.disk.atomic import disk_errors
from memdir.disk.plain_file import open_plain, read_plain
from memdir.disk.shipped import shipped_text
from memdir.errors import BudgetReached, DiskError, ModelError, SettingsError
from memdir.events import Event, NullSink
from memdir.model.failures import RetryingModel, ask_in_time
from memdir.model.model import Model, Reply, Request, Usage
from memdir.transcript.reader import lines_backwards
from memdir.transcript.tokens import estimate_text

if TYPE_CHECKING:
    from memdir.events import Sink
    from memdir.settings import Settings

# Read back until so many lines in a row are older: processes append in the order they finish, and clocks may be wrong.
_OLDER_LINES = 1000

TOKENS_PER_PRICE = 1_000_000
MAX_PRICES_BYTES = 1 << 20  # a table written by hand


@dataclass(frozen=True)
class Spent:
    """One line of the ledger: what one model call used. `failure` says why it got no reply."""

    time: float
    job: str
    project: str
    model: str
    usage: Usage
    money: float | None
    failure: str = ""


class Ledger:
    """A file of lines. Whoever may write to it has a line whole or not at all."""

    def __init__(self, path: str) -> None:
        self._path = path

    def add(self, spent: Spent) -> None:
        """Append a call. A line that a crash tore is closed first, so that it spoils only itself."""
        gap = b"" if self._ends_whole() else b"\n"
        append_bytes(self._path, gap + json.dumps(_plain(spent)).encode("utf-8") + b"\n")

    def since(self, moment: float) -> list[Spent]:
        """What was spent since then, in the order written; lines that cannot be read are skipped."""
        found: list[Spent] = []
        older = 0
        with disk_errors("read", self._path), suppress(FileNotFoundError):
            for spent in filter(None, map(_parse, lines_backwards(self._path))):
                if spent.time >= moment:
                    found.append(spent)
                    older = 0
                elif (older := older + 1) > _OLDER_LINES:
                    break
        return found[::-1]

    def _ends_whole(self) -> bool:
        try:
            with open_plain(self._path) as file:
                file.seek(-1, os.SEEK_END)
                return file.read(1) == b"\n"
        except OSError:  # there is none yet, or it is empty
            return True


def _plain(spent: Spent) -> dict[str, object]:
    line: dict[str, object] = {
        "time": datetime.fromtimestamp(spent.time, UTC).isoformat(timespec="milliseconds"),
        "job": spent.job,
        "project": spent.project,
        "model": spent.model,
        **asdict(spent.usage),
        "money": spent.money,
    }
    return {**line, "failure": spent.failure} if spent.failure else line


def _parse(line: bytes) -> Spent | None:
    try:
        found = json.loads(line)
        usage = Usage(*(int(found[kind.name]) for kind in fields(Usage)))
        money = None if found["money"] is None else float(found["money"])
        moment = datetime.fromisoformat(found["time"]).timestamp()
        job, project, model = (str(found[name]) for name in ("job", "project", "model"))
        return Spent(moment, job, project, model, usage, money, str(found.get("failure", "")))
    except (ValueError, KeyError, TypeError, AttributeError, OverflowError, RecursionError):
        return None


@dataclass(frozen=True)
class Sum:
    """What several calls used together. `unpriced` counts the calls of models that have no price."""

    calls: int = 0
    failed: int = 0
    usage: Usage = field(default_factory=Usage)
    money: float = 0.0
    unpriced: int = 0

    @property
    def tokens(self) -> int:
        """What counts against a cap."""
        return self.usage.total

    def with_call(self, spent: Spent) -> Sum:
        return Sum(
            self.calls + 1,
            self.failed + bool(spent.failure),
            self.usage + spent.usage,
            self.money + (spent.money or 0.0),
            self.unpriced + (spent.money is None),
        )


def total(spents: Iterable[Spent]) -> Sum:
    """The sum of all calls."""
    return reduce(Sum.with_call, spents, Sum())


def sums(spents: Iterable[Spent], key: Callable[[Spent], str]) -> dict[str, Sum]:
    """The sums of each group, the largest first."""
    found: dict[str, Sum] = {}
    for spent in spents:
        name = key(spent)
        found[name] = found.get(name, Sum()).with_call(spent)
    return dict(sorted(found.items(), key=lambda item: (-item[1].tokens, item[0])))


def day_of(moment: float) -> str:
    """The day of a moment in local time, as caps count it."""
    return datetime.fromtimestamp(moment).astimezone().date().isoformat()


class Prices:
    """Money a million tokens, by a part of a model's name; the longest part that fits counts."""

    def __init__(self, own_path: str = "") -> None:
        table = json.loads(shipped_text("model/prices.json"))
        self.date: str = table["date"]
        self._models: dict[str, dict[str, float]] = {
            _plain_name(name): price for name, price in {**table["models"], **_own_prices(own_path)}.items()
        }

    def of(self, model: str, usage: Usage) -> float | None:
        """The estimated money for a call; None for a model without a price."""
        name = _plain_name(model)
        fitting = [known for known in self._models if known in name]
        if not fitting:
            return None
        price = self._models[max(fitting, key=len)]
        money: float = sum(count * price.get(kind, price["input"]) for kind, count in asdict(usage).items())
        return money / TOKENS_PER_PRICE


def _plain_name(model: str) -> str:
    """`anthropic/claude-opus-4.5` and `us.anthropic.claude-opus-4-5-v1:0` name the same model."""
    return model.lower().replace(".", "-")


def _own_prices(path: str) -> dict[str, dict[str, float]]:
    if not path or not os.path.exists(path):
        return {}
    try:
        found = json.loads(read_plain(path, max_bytes=MAX_PRICES_BYTES))
        return {str(name): _own_price(price) for name, price in found.items()}
    except (OSError, ValueError, AttributeError, KeyError, TypeError, RecursionError) as error:
        told = f"the prices in {path} cannot be read: {error!r}"
        raise SettingsError(told, remedy="See docs/how-to/budget.md for their form") from error


def _own_price(price: dict[str, object]) -> dict[str, float]:
    known = {kind.name: float(str(price[kind.name])) for kind in fields(Usage) if kind.name in price}
    return {"input": known["input"], "output": known["output"], **known}


# One nap at the cap. A sleeping laptop's clock stands still, and a ledger may be deleted: look again now and then.
LONGEST_NAP_SECONDS = 900.0
# A call of these kinds reached the model and got no count back: the prompt was paid for, so it is estimated.
_PAID_FAILURES = frozenset(("timeout", "interrupted", "bad_reply"))

AtCap = Literal["wait", "raise", "go_on"]


@dataclass(frozen=True)
class Caps:
    """What background work may use a day; 0 means no limit. Tokens count what was sent and received, cached or not.

    A call is let go while less than the cap is used: a day ends at most one call of each process above it.
    """

    tokens_per_day: int = 0
    tokens_per_project: int = 0
    money_per_day: float = 0.0

    @staticmethod
    def of(settings: Settings) -> Caps:
        cents = settings.budget_cents_per_day
        return Caps(settings.budget_tokens_per_day, settings.budget_tokens_per_project, cents / 100)


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
        spents = self.ledger.since(midnight(now))
        today, here = total(spents), total(spent for spent in spents if spent.project == project)
        for used, cap, words in (
            (today.tokens, self.caps.tokens_per_day, "tokens a day"),
            (here.tokens, self.caps.tokens_per_project, "tokens a day for this project"),
            (today.money, self.caps.money_per_day, "dollars a day"),
        ):
            if cap and used >= cap:
                told = f"background work has used {used:,.10g} of {cap:,.10g} {words}"
                raise BudgetReached(told, resumes_at=midnight(now, days=1))

    def by_job(self, *, days: int) -> dict[str, tuple[int, int, float]]:
        """The calls, tokens and dollars of each job in so many days, today included."""
        found = sums(self.ledger.since(midnight(self.clock(), days=1 - days)), lambda spent: spent.job)
        return {job: (one.calls, one.tokens, one.money) for job, one in found.items()}


def midnight(moment: float, *, days: int = 0) -> float:
    """The beginning of a moment's day in local time, or of one so many days later; days may have 23 or 25 hours."""
    local = datetime.fromtimestamp(moment).astimezone()
    start = local.replace(hour=0, minute=0, second=0, microsecond=0, tzinfo=None) + timedelta(days=days)
    return start.astimezone().timestamp()


@dataclass
class BudgetedModel:
    """A model for background work: asks the budget before each call, writes each call down, waits at the cap.

    Waiting is what keeps a runaway job from becoming a storm: it stands still until the next day and then goes on.
    Work that somebody waits for, or that holds a lock, gets BudgetReached instead (`at_cap="raise"`); what a
    conversation cannot go on without is only counted (`"go_on"`).
    """

    model: Model
    budget: Budget
    job: str
    project: str
    sink: Sink = field(default_factory=NullSink)
    at_cap: AtCap = "wait"
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep
    is_on: Callable[[], bool] = lambda: True  # whether memory is, which the work is for

    async def complete(self, request: Request, *, on_text: Callable[[str], None] | None = None) -> Reply:
        await self._wait_for_budget()
        require_on(is_on=self.is_on())
        try:
            reply = await ask_in_time(self.model, request, on_text=on_text)
        except ModelError as error:
            lost = Usage(input=estimated_tokens(request)) if error.kind in _PAID_FAILURES else Usage()
            self._write_down(request.model, lost, failure=error.kind)
            raise
        except asyncio.CancelledError:
            with suppress(DiskError):  # whoever stops the work must not be kept from it
                self._write_down(request.model, Usage(input=estimated_tokens(request)), failure="cancelled")
            raise
        self._write_down(reply.model or request.model, reply.usage)
        require_on(is_on=self.is_on())
        return reply

    async def close(self) -> None:
        await self.model.close()

    def _write_down(self, model: str, usage: Usage, *, failure: str = "") -> None:
        budget = self.budget
        money = budget.prices.of(model, usage)
        budget.ledger.add(Spent(budget.clock(), self.job, self.project, model, usage, money, failure))

    async def _wait_for_budget(self) -> None:
        is_told = False
        while self.at_cap != "go_on":
            try:
                self.budget.check(self.project)
            except BudgetReached as reached:
                pause = max(1.0, reached.resumes_at - self.budget.clock())
                if not is_told:
                    seconds = pause if self.at_cap == "wait" else 0.0
                    self.sink.emit(Event("budget.waiting", job=self.job, reason=reached.message, seconds=seconds))
                is_told = True
                if self.at_cap == "raise":
                    raise
            else:
                return
            await self.sleep(min(pause, LONGEST_NAP_SECONDS))


def require_on(*, is_on: bool) -> None:
    """Work that was under way when a person switched memory off ends here: nothing comes of it (S5)."""
    if not is_on:
        raise ModelError("memory was switched off", kind="memory_off", remedy="It goes on when memory is on again")


def under_budget(model: Model, counted: Callable[[Model], BudgetedModel]) -> Model:
    """A model whose every call is counted: where it tries again by itself, each of its attempts is a call (B2)."""
    return replace(model, model=counted(model.model)) if isinstance(model, RetryingModel) else counted(model)


def estimated_tokens(request: Request) -> int:
    """About how large a prompt is, where nobody has counted it."""
    sent = repr(request.raw.arguments) if request.raw else ""
    parts = (sent, *(block.text for block in request.system), *(repr(message.content) for message in request.messages))
    return sum(map(estimate_text, parts))
