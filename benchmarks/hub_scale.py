"""`make hub-scale`: what a number of teams would need, computed from what `make bench-hub` measured on this machine.

The habits of a team are assumptions, named here and in docs/scaling.md; the costs are measured ones.
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
GETS = 30
PUTS = 5
WAITING = 0.5  # of the members have a client that waits for news, and asks again every half minute
DAY_SECONDS = 8 * 3600
PEAK = 3  # the busiest minutes beside the mean
USED = 0.6  # of a core, so that nobody waits for long
WAITING_OF_WORKER = 2_000
PUTS_WITH_NOTIFY = 5_000  # a second at which NOTIFY's lock at every commit would be felt


# What is measured for each: writers are of many teams.
MEASURED = {"poll": "poll", "look": "look", "get": "get", "put": "put of a team"}


def requirements(figures: dict[str, float], teams: int) -> dict[str, float]:
    """Rates at the peak, and what they take."""
    members = teams * MEMBERS
    habits = {"poll": SYNCS, "look": SYNCS, "get": GETS, "put": PUTS}
    rates = {name: members * count / DAY_SECONDS * PEAK for name, count in habits.items()}
    rates["poll"] += members * WAITING / 30
    web = sum(rate * figures[f"postgres {MEASURED[name]} 64"] for name, rate in rates.items()) / 1e6
    web += rates["put"] * 2 * figures["scan"] / 1e6
    database = sum(rate * figures[f"postgres database {MEASURED[name]} 64"] for name, rate in rates.items()) / 1e6
    waiting = members * WAITING
    return {
        "requests a second": sum(rates.values()),
        "writes a second": rates["put"],
        "clients that wait": waiting,
        "cores of workers": web / USED,
        "workers (processes)": max(2.0, web / USED, waiting / WAITING_OF_WORKER),
        "cores of PostgreSQL": database / USED,
        "GB in PostgreSQL": teams * ENTRIES * VERSIONS * figures["bytes"] / 1e9,
    }


def main() -> int:
    path = Path("results/hub-figures.json")
    if not path.exists():
        print("There are no figures yet: `make bench-hub` measures them")
        return 1
    figures = json.loads(path.read_text(encoding="utf-8"))
    found = {teams: requirements(figures, teams) for teams in TEAMS}
    print(f"{'':24}" + "".join(f"{f'{teams:,} teams':>18}" for teams in TEAMS))
    for name in found[TEAMS[0]]:
        print(f"{name:24}" + "".join(f"{found[teams][name]:>18,.1f}" for teams in TEAMS))
    most = found[TEAMS[-1]]["writes a second"]
    told = "below" if most < PUTS_WITH_NOTIFY else "above"
    print(
        f"{most:,.0f} writes a second are {told} the {PUTS_WITH_NOTIFY:,} at which NOTIFY would be felt on one server"
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
