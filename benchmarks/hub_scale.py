"""`make hub-scale`: what a worker does and what a number of teams would need, computed from what `make bench-hub`
measured on this machine, as the tables of docs/scaling.md.

The habits of a team are assumptions, named here and there; the costs are measured ones, of many connections.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

TEAMS = (100, 10_000, 1_000_000)
# A team of today, on a working day of eight hours.
MEMBERS = 5
ENTRIES = 200  # of 2,000 bytes
VERSIONS = 5  # of each
SYNCS = 20  # that find nothing, of a member: each asks for changes, and whether a dream's proposals wait
HABITS = (SYNCS, SYNCS, 30, 5)  # and texts that are read and written
WAITING = 0.5  # of the members have a client that waits for news, and asks again every half minute
DAY_SECONDS = 8 * 3600
PEAK = 3  # the busiest minutes beside the mean
USED = 0.6  # of a core, so that nobody waits for long
WAITING_OF_WORKER = 2_000
PUTS_WITH_NOTIFY = 5_000  # a second at which NOTIFY's lock at every commit would be felt

# As the table calls it: as it is measured. Writers are of many teams.
COSTS = {
    "a sync that finds nothing": "poll 64",
    "a look for proposals": "look 64",
    "a text read": "get 64",
    "a text written": "put of a team 64",
    "a text of a batch": "batch 64",
}
SCAN, SIZE = "the secret scan, a KB", "bytes of a version on disk"
KB_OF_TEXT = 2


def costs(figures: dict[str, float]) -> dict[str, tuple[int, int]]:
    """Whole microseconds of CPU time of the worker, without the scan, and of PostgreSQL; the scan's; the bytes."""
    found = {
        told: (round(figures[f"postgres {name}"]), round(figures[f"postgres database {name}"]))
        for told, name in COSTS.items()
    }
    return {**found, SCAN: (round(figures["scan"]), 0), SIZE: (0, round(figures["bytes"]))}


def by_one_worker(spent: dict[str, tuple[int, int]]) -> dict[str, float]:
    """How many a second, with the scan of what is written."""
    written = dict.fromkeys(("a text written", "a text of a batch"), KB_OF_TEXT * spent[SCAN][0])
    return {told: USED * 1e6 / (spent[told][0] + written.get(told, 0)) for told in COSTS}


def requirements(spent: dict[str, tuple[int, int]], teams: int) -> dict[str, float]:
    """Rates at the peak, and what they take."""
    members = teams * MEMBERS
    rates = {told: members * count / DAY_SECONDS * PEAK for told, count in zip(COSTS, HABITS, strict=False)}
    rates["a sync that finds nothing"] += members * WAITING / 30
    web = sum(rate / by_one_worker(spent)[told] for told, rate in rates.items())
    database = sum(rate * spent[told][1] for told, rate in rates.items()) / 1e6 / USED
    waiting = members * WAITING
    return {
        "requests a second": sum(rates.values()),
        "writes a second": rates["a text written"],
        "clients that wait": waiting,
        "cores of workers": web,
        "workers, by 2,000 waiting clients each": max(2.0, web, waiting / WAITING_OF_WORKER),
        "cores of PostgreSQL": database,
        "GB in PostgreSQL": teams * ENTRIES * VERSIONS * spent[SIZE][1] / 1e9,
    }


def tables(spent: dict[str, tuple[int, int]]) -> tuple[str, str]:
    """What a worker does, and what teams need."""
    many = {told: f"{count:,.0f}" for told, count in by_one_worker(spent).items()}
    does = [(told, *(f"{one:,}" if one else "" for one in two), many.get(told, "")) for told, two in spent.items()]
    found = [requirements(spent, teams) for teams in TEAMS]
    need = [(name, *(_told(one[name]) for one in found)) for name in found[0]]
    head = ("µs of CPU time", "of a worker", "of PostgreSQL", "a second by one worker")
    return _table(head, does), _table(("", *(f"{teams:,} teams" for teams in TEAMS)), need)


def _table(head: tuple[str, ...], rows: list[tuple[str, ...]]) -> str:
    return "\n".join(f"| {' | '.join(row)} |" for row in (head, ("---",) * len(head), *rows))


def _told(number: float) -> str:
    return f"{number:,.1f}" if number < 10 else f"{number:,.0f}"


def main() -> int:
    path = Path("results/hub-figures.json")
    if not path.exists():
        print("There are no figures yet: `make bench-hub` measures them")
        return 1
    figures = json.loads(path.read_text(encoding="utf-8"))
    spent = costs(figures)
    print(*tables(spent), sep="\n\n")
    most = requirements(spent, TEAMS[-1])["writes a second"]
    told = "below" if most < PUTS_WITH_NOTIFY else "above"
    print(
        f"\n{most:,.0f} writes a second are {told} the {PUTS_WITH_NOTIFY:,} at which NOTIFY would be felt on one server"
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
