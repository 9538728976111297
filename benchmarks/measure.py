"""How we measure: things that are compared take turns in one run, CPU time, and the ratio of the best rounds counts.

Machines are noisy and differ; a ratio to a floor that was measured a moment before means something elsewhere too.
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Row:
    """One comparison: what was measured, beside which floor, and the ratio that must not be exceeded."""

    name: str
    seconds: float
    floor_name: str
    floor_seconds: float
    limit: float

    @property
    def ratio(self) -> float:
        return self.seconds / self.floor_seconds

    @property
    def is_within(self) -> bool:
        return self.ratio <= self.limit


def best_cpu_seconds(functions: Sequence[Callable[[], object]], *, rounds: int) -> list[float]:
    """The least CPU time each function took, the functions taking turns."""
    best = [float("inf")] * len(functions)
    for _ in range(rounds):
        for at, function in enumerate(functions):
            start = time.process_time()
            function()
            best[at] = min(best[at], time.process_time() - start)
    return best


def best_process_seconds(
    commands: Sequence[Sequence[str]],
    *,
    rounds: int,
    environment: dict[str, str],
    stdin: Callable[[int, int], bytes] = lambda *_: b"",
) -> list[float]:
    """The least CPU time each command's process took, the commands taking turns. `stdin` is told the command's place
    and the round."""
    best = [float("inf")] * len(commands)
    for number in range(rounds):
        for at, command in enumerate(commands):
            given = stdin(at, number)
            before = resource.getrusage(resource.RUSAGE_CHILDREN)
            subprocess.run(command, env=environment, input=given, stdout=subprocess.DEVNULL, check=False)
            after = resource.getrusage(resource.RUSAGE_CHILDREN)
            spent = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
            best[at] = min(best[at], spent)
    return best


def clean_environment(**more: str) -> dict[str, str]:
    """The caller's environment without what would slow a start or move a home."""
    dropped = ("PYTHONDONTWRITEBYTECODE", "MEMDIR_HOME", "MEMDIR_DIRECTORY")
    return {key: value for key, value in os.environ.items() if key not in dropped} | more


def report(title: str, rows: Sequence[Row]) -> int:
    """Print a table, leave the same figures as JSON under results/, and return 0 when every limit holds."""
    width = max(len(row.name) for row in rows)
    print(title)
    for row in rows:
        verdict = "ok" if row.is_within else "OVER"
        print(
            f"  {row.name.ljust(width)}  {row.seconds * 1000:9.2f} ms  = {row.ratio:5.2f} x {row.floor_name}"
            f" ({row.floor_seconds * 1000:.2f} ms)   limit {row.limit:g}   {verdict}"
        )
    figures = [
        {
            "name": row.name,
            "seconds": row.seconds,
            "floor": row.floor_name,
            "floor_seconds": row.floor_seconds,
            "ratio": round(row.ratio, 3),
            "limit": row.limit,
            "ok": row.is_within,
        }
        for row in rows
    ]
    name = title.split(":", 1)[0].strip().replace(" ", "-")
    save(name, figures)
    print(f"  (python {sys.version.split()[0]}; the same as JSON in results/{name}.json)")
    return 0 if all(row.is_within for row in rows) else 1


def save(name: str, figures: object) -> None:
    """Leave figures as JSON under results/."""
    folder = Path("results")
    folder.mkdir(exist_ok=True)
    (folder / f"{name}.json").write_text(json.dumps(figures, indent=2) + "\n", encoding="utf-8")
