"""Show where the tokens of background work went: what is left of today's caps, a chart of the last days, and sums by
day, job, project and model. Money is estimated by list price; your own prices go into prices.json in memdir's home."""

from __future__ import annotations

from dataclasses import dataclass

from memdir.errors import UsageError
from memdir.text.words import counted

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Mapping, Sequence

    from memdir.cli.context import Context
    from memdir.cli.terminal import Terminal
    from memdir.model.budget import Caps, Spent, Sum

EXAMPLES = ("memdir budget", "memdir budget --days 30", "memdir budget --json | jq .byJob")
CHART_COLUMNS = 40
MAX_DAYS = 366  # a chart of more lines shows nothing
_EIGHTHS = " ▏▎▍▌▋▊▉"
_HEADERS = ("calls", "in", "cached", "out", "money")


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--days", type=int, default=14, metavar="N", help="how many days, today included (default: 14)")


def run(options: argparse.Namespace, context: Context) -> int:
    from memdir.model.budget import Caps, Ledger, Prices, day_of, midnight, sums, total

    if not 1 <= options.days <= MAX_DAYS:
        raise UsageError(f"--days {options.days} makes no sense", remedy=f"Give 1 to {MAX_DAYS}")
    memory = context.at_hand()
    now = memory.clock()
    days = [day_of(midnight(now, days=-back)) for back in range(options.days - 1, -1, -1)]
    spents = Ledger(memory.layout.ledger).since(midnight(now, days=1 - options.days))
    keys: dict[str, Callable[[Spent], str]] = {
        "day": lambda spent: day_of(spent.time),
        "job": lambda spent: spent.job,
        "project": lambda spent: spent.project,
        "model": lambda spent: spent.model,
    }
    groups = {name: sums(spents, key) for name, key in keys.items()}
    today = [spent for spent in spents if day_of(spent.time) == days[-1]]
    here = total(spent for spent in today if spent.project == memory.layout.slug)
    page = _BudgetPage(days, groups, Caps.of(memory.settings), total(spents), total(today), here, Prices().date)
    if options.json:
        return context.print_json(page.plain())
    page.print(context.terminal)
    return 0


@dataclass(frozen=True)
class _BudgetPage:
    """Everything the command shows."""

    days: Sequence[str]
    groups: Mapping[str, Mapping[str, Sum]]
    caps: Caps
    total: Sum
    today: Sum
    here: Sum
    priced_at: str

    def print(self, terminal: Terminal) -> None:
        terminal.line(f"{terminal.bold('today')}  {self._told_today()}")
        terminal.line()
        if not self.total.calls:
            terminal.line(f"No background work in the last {counted(len(self.days), 'day')}.")
            return
        for name, groups in self.groups.items():
            rows = self._days_with_bars() if name == "day" else [[key, *_cells(sum_)] for key, sum_ in groups.items()]
            headers, *cells = _aligned([[name, *_HEADERS, *([""] if name == "day" else [])], *rows])
            terminal.table(cells, headers=headers)
            terminal.line()
        terminal.line(f"{terminal.bold('in all')}  {_told(self.total)}; list prices of {self.priced_at}")

    def _told_today(self) -> str:
        caps = self.caps
        tokens = f"{self.today.tokens:,}{_of(caps.tokens_per_day)} tokens"
        here = f"this project {self.here.tokens:,}{_of(caps.tokens_per_project)}"
        return f"{tokens} · {here} · ${self.today.money:.2f}" + (
            f" of ${caps.money_per_day:.2f}" if caps.money_per_day else ""
        )

    def _days_with_bars(self) -> list[list[str]]:
        by_day = self.groups["day"]
        most = max(found.tokens for found in by_day.values()) or 1
        nothing = [""] * (len(_HEADERS) + 1)
        return [
            [day, *([*_cells(by_day[day]), bar(by_day[day].tokens / most)] if day in by_day else nothing)]
            for day in self.days
        ]

    def plain(self) -> dict[str, object]:
        caps = self.caps
        groups = {**self.groups, "day": dict(sorted(self.groups["day"].items()))}
        return {
            "days": len(self.days),
            "since": self.days[0],
            "pricesOf": self.priced_at,
            "caps": {
                "tokensPerDay": caps.tokens_per_day,
                "tokensPerProject": caps.tokens_per_project,
                "moneyPerDay": caps.money_per_day,
            },
            "today": _plain(self.today),
            "todayThisProject": _plain(self.here),
            "total": _plain(self.total),
            **{
                f"by{name.capitalize()}": [{name: key, **_plain(found)} for key, found in some.items()]
                for name, some in groups.items()
            },
        }


def bar(share: float) -> str:
    """A bar for a share of the largest; whatever is more than nothing is seen."""
    eighths = max(1, round(share * CHART_COLUMNS * 8)) if share > 0 else 0
    return "█" * (eighths // 8) + _EIGHTHS[eighths % 8].strip()


def _of(cap: int) -> str:
    return f" of {cap:,}" if cap else ""


def _cells(found: Sum) -> list[str]:
    usage = found.usage
    fresh = usage.input + usage.cache_created
    return [str(found.calls), f"{fresh:,}", f"{usage.cache_read:,}", f"{usage.output:,}", _money(found)]


def _money(found: Sum) -> str:
    return "no price" if found.unpriced == found.calls else f"${found.money:.2f}" + ("+" if found.unpriced else "")


def _told(found: Sum) -> str:
    failed = f", {found.failed} of them failed" if found.failed else ""
    return f"{counted(found.calls, 'call')}{failed}, {found.tokens:,} tokens, {_money(found)}"


def _aligned(rows: Sequence[Sequence[str]]) -> list[list[str]]:
    """Numbers to the right, names and bars to the left."""
    widths = [max(len(row[at]) for row in rows) for at in range(len(rows[0]))]
    numbers = range(1, len(_HEADERS) + 1)
    return [[cell.rjust(widths[at]) if at in numbers else cell for at, cell in enumerate(row)] for row in rows]


def _plain(found: Sum) -> dict[str, object]:
    usage = found.usage
    return {
        "calls": found.calls,
        "failed": found.failed,
        "input": usage.input,
        "output": usage.output,
        "cacheRead": usage.cache_read,
        "cacheCreated": usage.cache_created,
        "tokens": found.tokens,
        "money": round(found.money, 6),
        "unpriced": found.unpriced,
    }
