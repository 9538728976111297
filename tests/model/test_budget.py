"""Background work: every call written down, hard caps, standing still at the cap and going on the next day (B1, B2)."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import time
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path

import pytest

from memdir.agent.fork import ForkTools, Job, run_fork
from memdir.agent.gate import allow_all
from memdir.errors import BudgetReached, DiskError, ModelError, SettingsError
from memdir.model import budget as ledger_module
from memdir.model.budget import (
    LONGEST_NAP_SECONDS,
    Budget,
    BudgetedModel,
    Caps,
    Ledger,
    Prices,
    Spent,
    estimated_tokens,
    midnight,
)
from memdir.model.model import RawCall, Reply, Request, ScriptedModel, SystemBlock, Usage, calls, says
from memdir.transcript.message import user
from tests.agent.boxes import TestTool, box
from tests.conftest import Clock, Events

REQUEST = Request("claude-haiku-4-5", (SystemBlock("s" * 400),), messages=(user("x" * 4000),))
MONDAY_NOON = 1_789_992_000.0  # 2026-09-21 12:00 UTC
MIDNIGHT = 1_790_035_200.0  # the night after it


@pytest.fixture
def ledger(tmp_path: Path) -> Ledger:
    return Ledger(str(tmp_path / "logs" / "ledger.jsonl"))


@pytest.fixture
def clock() -> Clock:
    return Clock(MONDAY_NOON)


@dataclass
class Sleep:
    """Sleeping moves the clock, and lets a test look at what happens meanwhile."""

    clock: Clock
    naps: list[float] = field(default_factory=list)

    async def __call__(self, seconds: float) -> None:
        self.naps.append(seconds)
        self.clock.now += seconds
        await asyncio.sleep(0)


def budgeted(
    ledger: Ledger, clock: Clock, model: ScriptedModel, caps: Caps | None = None, *, project: str = "p", **more: object
) -> BudgetedModel:
    budget = Budget(ledger, caps or Caps(), clock=clock)
    return BudgetedModel(model, budget, "extract", project, sleep=more.pop("sleep", Sleep(clock)), **more)  # type: ignore[arg-type]


def spent(moment: float, tokens: int, *, project: str = "p", money: float | None = 0.1) -> Spent:
    return Spent(moment, "extract", project, "m", Usage(tokens), money)


# The ledger ----------------------------------------------------------------------------------------------------------


async def test_every_call_is_a_line(ledger: Ledger, clock: Clock, tmp_path: Path) -> None:
    """B1: job, model, tokens in, out and cached, estimated money."""
    reply = Reply(says("ok").message, "end_turn", Usage(1000, 200, 3000, 400), "claude-haiku-4-5-20251001")
    await budgeted(ledger, clock, ScriptedModel([reply])).complete(REQUEST)
    [line] = (tmp_path / "logs" / "ledger.jsonl").read_text(encoding="utf-8").splitlines()
    assert json.loads(line) == {
        "time": "2026-09-21T12:00:00.000+00:00",
        "job": "extract",
        "project": "p",
        "model": "claude-haiku-4-5-20251001",
        "input": 1000,
        "output": 200,
        "cache_read": 3000,
        "cache_created": 400,
        "money": pytest.approx(0.0028),
    }
    assert (tmp_path / "logs" / "ledger.jsonl").stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("usage", [Usage(-(10**12)), Usage(0, 10**15), Usage(True), Usage(0.5), None])  # type: ignore[arg-type]
async def test_what_is_no_count_is_estimated(ledger: Ledger, clock: Clock, usage: Usage) -> None:
    """Or one reply of a lying model would make room for a day of them, or end the day."""
    reply = Reply(says("ok").message, "end_turn", usage)
    with pytest.raises(ModelError, match="no count of tokens"):
        await budgeted(ledger, clock, ScriptedModel([reply])).complete(REQUEST)
    [line] = ledger.since(0)
    assert line.usage == Usage(estimated_tokens(REQUEST))


@pytest.mark.parametrize(
    ("kind", "tokens"), [("interrupted", 1012), ("timeout", 1012), ("rate_limit", 0), ("wrong_key", 0)]
)
async def test_a_failed_call_is_written_down_too(ledger: Ledger, clock: Clock, kind: str, tokens: int) -> None:
    """What reached the model was paid for, though nobody counted it."""
    model = ScriptedModel([ModelError("no", kind=kind)])  # type: ignore[arg-type]
    with pytest.raises(ModelError):
        await budgeted(ledger, clock, model).complete(REQUEST)
    [line] = ledger.since(0)
    assert line.failure == kind
    assert line.usage.input == pytest.approx(tokens, abs=20)


def test_the_estimate_knows_a_host_s_own_arguments() -> None:
    raw = RawCall("anthropic", {"messages": [{"role": "user", "content": "x" * 8000}]})
    assert estimated_tokens(Request("m", raw=raw)) == pytest.approx(1840, abs=30)


def test_lines_that_are_torn_or_nonsense_are_skipped_and_spoil_no_other(ledger: Ledger, tmp_path: Path) -> None:
    ledger.add(spent(1000, 1))
    path = tmp_path / "logs" / "ledger.jsonl"
    whole = path.read_bytes()
    odd = [b"\0\0\0", b"null", b"[]", b'{"time": 5}', b"\xff\xfe", b'{"time":"no","job":1}', b"", whole.strip()[:-20]]
    path.write_bytes(whole + b"\n".join(odd))
    ledger.add(spent(2000, 2))
    assert [line.usage.input for line in ledger.since(0)] == [1, 2], "the torn last line was closed first"


def test_several_processes_append_without_losing_a_line(ledger: Ledger, tmp_path: Path) -> None:
    code = (
        "import sys; from memdir.model.budget import Ledger, Spent; from memdir.model.model import Usage\n"
        "ledger = Ledger(sys.argv[1])\n"
        "for n in range(100): ledger.add(Spent(1000.0 + n, 'job' * 50, sys.argv[2], 'm', Usage(n), 0.1))\n"
    )
    path = str(tmp_path / "logs" / "ledger.jsonl")
    processes = [subprocess.Popen([sys.executable, "-c", code, path, str(number)]) for number in range(4)]
    assert [process.wait() for process in processes] == [0] * 4
    found = list(ledger.since(0))
    assert len(found) == 400
    for number in range(4):
        assert [line.usage.input for line in found if line.project == str(number)] == list(range(100))


def test_however_far_back_a_long_ledger_has_to_be_read_the_lines_are_the_same(
    ledger: Ledger, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Only its end is read, as far back as needed: a year of work must not slow down every call."""
    monkeypatch.setattr(ledger_module, "_OLDER_LINES", 10)
    day = 86400.0
    for number in range(200):
        ledger.add(spent(number * day, number))
    with (tmp_path / "logs" / "ledger.jsonl").open("ab") as file:
        file.write(b"torn")
    for since in (0.0, 50 * day, 195 * day, 199 * day, 500 * day):
        assert [line.usage.input for line in ledger.since(since)] == [n for n in range(200) if n * day >= since]


def test_no_ledger_is_an_empty_one(ledger: Ledger) -> None:
    assert list(ledger.since(0)) == []


# Prices --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("model", "money"),
    [
        ("claude-sonnet-5-5", 2 + 10 + 0.2 + 2.5),
        ("claude-opus-4-5-20251101", 5 + 25 + 0.5 + 6.25),
        ("claude-opus-4-1", 15 + 75 + 1.5 + 18.75),
        ("anthropic/claude-opus-4.5", 5 + 25 + 0.5 + 6.25),
        ("us.anthropic.claude-haiku-4-5-20251001-v1:0", 1 + 5 + 0.1 + 1.25),
        ("gpt-5.4-mini-2026-03-17", 0.75 + 4.5 + 0.075 + 0.75),
        ("gpt-5.6-luna", 1 + 6 + 0.1 + 1.25),
        ("GPT-5-MINI", 0.25 + 2 + 0.025 + 0.25),
        ("builtin", 0),
        ("llama4", None),
    ],
)
def test_the_longest_name_that_fits_has_the_price(model: str, money: float | None) -> None:
    million = 1_000_000
    assert Prices().of(model, Usage(million, million, million, million)) == (
        pytest.approx(money) if money is not None else None
    )


def test_the_price_list_has_a_date() -> None:
    assert datetime.fromisoformat(Prices().date)


def test_own_prices_go_before_ours(tmp_path: Path) -> None:
    path = tmp_path / "prices.json"
    own = {"llama4": {"input": 1, "output": 2}, "claude-sonnet-5": {"input": 0, "output": 0, "cache_read": 0}}
    path.write_text(json.dumps(own), encoding="utf-8")
    prices = Prices(str(path))
    assert prices.of("llama4", Usage(1_000_000, 1_000_000, 1_000_000, 0)) == pytest.approx(4), "cached as input"
    assert prices.of("claude-sonnet-5-5", Usage(1_000_000)) == 0


@pytest.mark.parametrize("text", ["{", "[]", '{"m": 5}', '{"m": {"input": 1}}', '{"m": {"input": "x", "output": 1}}'])
def test_own_prices_out_of_form_are_an_error_with_a_remedy(tmp_path: Path, text: str) -> None:
    path = tmp_path / "prices.json"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(SettingsError) as raised:
        Prices(str(path))
    assert str(path) in raised.value.message
    assert raised.value.remedy


# Caps ----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("caps", "reached"),
    [
        (Caps(), ""),
        (Caps(tokens_per_day=301), ""),
        (Caps(tokens_per_day=300), "300 of 300 tokens a day"),
        (Caps(tokens_per_project=201), ""),
        (Caps(tokens_per_project=200), "200 of 200 tokens a day for this project"),
        (Caps(money_per_day=0.31), ""),
        (Caps(money_per_day=0.2), "dollars a day"),
    ],
)
def test_each_cap_counts_what_it_says(ledger: Ledger, clock: Clock, caps: Caps, reached: str) -> None:
    ledger.add(spent(MONDAY_NOON - 86400, 10_000))  # yesterday
    for project, money in (("p", 0.1), ("p", 0.2), ("other", None)):
        ledger.add(spent(MONDAY_NOON, 100, project=project, money=money))
    budget = Budget(ledger, caps, clock=clock)
    if not reached:
        budget.check("p")
        return
    with pytest.raises(BudgetReached, match=reached) as raised:
        budget.check("p")
    assert raised.value.resumes_at == MIDNIGHT


def test_a_project_s_cap_is_its_own(ledger: Ledger, clock: Clock) -> None:
    ledger.add(spent(MONDAY_NOON, 100))
    Budget(ledger, Caps(tokens_per_project=50), clock=clock).check("another")


@pytest.mark.parametrize(
    ("zone", "day", "hours"),
    [("Europe/Berlin", "2026-03-29", 23), ("Europe/Berlin", "2026-10-25", 25), ("UTC", "2026-01-01", 24)],
)
def test_a_day_is_a_day_of_local_time(monkeypatch: pytest.MonkeyPatch, zone: str, day: str, hours: int) -> None:
    monkeypatch.setenv("TZ", zone)
    time.tzset()
    try:
        noon = datetime.fromisoformat(f"{day}T12:00:00").astimezone().timestamp()
        assert midnight(noon, days=1) - midnight(noon) == hours * 3600
    finally:
        monkeypatch.undo()
        time.tzset()


async def test_a_runaway_job_is_driven_into_the_cap_waits_and_goes_on_the_next_day(
    ledger: Ledger, clock: Clock, events: Events, tmp_path: Path
) -> None:
    """B2: a fork that never ends is stopped at the cap, asks nobody while it waits, and goes on after midnight."""
    asked_at: list[float] = []

    def step(request: Request) -> Reply:
        asked_at.append(clock.now)
        return calls(("Act", {"n": len(asked_at)}), usage=Usage(900, 100))

    sleep = Sleep(clock)
    model = budgeted(ledger, clock, ScriptedModel([step] * 25), Caps(tokens_per_day=10_000), sleep=sleep, sink=events)
    hands = ForkTools(model, box(tmp_path, [TestTool(lambda arguments: "more to do")]), allow_all)
    report = await run_fork(Request("scripted", messages=(user("Hi"),)), Job("Go on for ever.", 25), hands)
    assert report.run.turns == 25
    today = [moment for moment in asked_at if moment < MIDNIGHT]
    tomorrow = [moment for moment in asked_at if MIDNIGHT <= moment < MIDNIGHT + 86400]
    assert (len(today), len(tomorrow)) == (10, 10), "10,000 tokens a day, 1,000 a call, and not one call more"
    assert max(sleep.naps) <= LONGEST_NAP_SECONDS
    assert sum(sleep.naps) == MIDNIGHT - MONDAY_NOON + 86400, "until midnight, and a day later until the next"
    waits = [event for event in events.events if event.name == "budget.waiting"]
    assert len(waits) == 2, "told once a wait, not once a nap"
    assert waits[0].fields["job"] == "extract"
    assert "10,000 of 10,000 tokens a day" in str(waits[0].fields["reason"])


async def test_a_cap_that_is_raised_ends_the_waiting(ledger: Ledger, clock: Clock) -> None:
    ledger.add(spent(MONDAY_NOON, 100))
    model = budgeted(ledger, clock, ScriptedModel([says("ok")]), Caps(tokens_per_day=100))

    async def raise_cap(seconds: float) -> None:
        clock.now += seconds
        model.budget.caps = Caps(tokens_per_day=1000)

    model.sleep = raise_cap
    await model.complete(REQUEST)
    assert clock.now == MONDAY_NOON + LONGEST_NAP_SECONDS


async def test_waiting_can_be_cancelled(ledger: Ledger, clock: Clock) -> None:
    """A shutdown does not wait for midnight."""
    ledger.add(spent(MONDAY_NOON, 100))
    inner = ScriptedModel([])
    model = budgeted(ledger, clock, inner, Caps(tokens_per_day=1), sleep=asyncio.sleep)
    task = asyncio.create_task(model.complete(REQUEST))
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert inner.requests == []


async def test_a_full_disk_stops_background_work_rather_than_the_counting(
    ledger: Ledger, clock: Clock, tmp_path: Path
) -> None:
    """Without a ledger there is no cap: better no background work than one nobody counts."""
    (tmp_path / "logs").mkdir()
    os.symlink(tmp_path / "elsewhere", tmp_path / "logs" / "ledger.jsonl")
    with pytest.raises(DiskError):
        await budgeted(ledger, clock, ScriptedModel([says("ok")])).complete(REQUEST)
