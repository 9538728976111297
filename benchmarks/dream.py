"""`make bench-dream`: the built-in dream beside a scan of the same files, and how it grows with the store.

    python -m benchmarks.dream [--sizes 200 2000 20000]

An ordinary night finds a store that a dream went through the night before and a few new memories: one in five hundred
has a twin, a relative date or a rival. The first night over a neglected store, one in a hundred of each, holds all that
share words against each other, which costs more than all else: it is shown beside it, for a small store.
The whole dream is measured as `memdir dream --dry-run` runs it: lock, job, fork, tools, plan and checks. What is left
is the writing, which grows with what changes and not with the store.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import math
import os
import sys
import tempfile
from datetime import UTC, datetime, timedelta
from pathlib import Path

from benchmarks.measure import Row, best_cpu_seconds, report
from benchmarks.stores import build_store
from memdir.dream.dream import Dreamer, DreamPlan, DreamReport, DreamTask, NotDreamt
from memdir.dream.gates import LOCK_NAME
from memdir.events import NullSink
from memdir.layout import Place
from memdir.model.builtin.builtin_model import BuiltinModel
from memdir.model.model import Request
from memdir.store.scan import scan
from memdir.store.store import MemoryStore

SIZES = (200, 2_000, 20_000)
ORDINARY, NEGLECTED = 500, 100  # one memory in so many has a twin, as many a relative date, as many a rival
NEGLECTED_SIZE = 200
MAX_EXPONENT = 1.2
MAX_RATIO = 25.0
RATIO_AT = 2_000  # memories at which the ratio counts; a small store pays for its words, a large one for its disk
NOW = datetime(2026, 6, 15, 6, 0, tzinfo=UTC)
DAY = 86_400.0
LAST_NIGHT = (NOW - timedelta(days=1)).timestamp()


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.dream", description=(__doc__ or "").split("\n\n", 1)[0])
    parser.add_argument("--sizes", nargs="+", type=int, default=list(SIZES))
    sizes = parser.parse_args().sizes
    rows = [measure(size, ORDINARY) for size in sizes]
    failed = report("bench-dream: CPU time, best round", [*rows, measure(NEGLECTED_SIZE, NEGLECTED)])
    fitted = exponent(sizes, [row.seconds for row in rows])
    print(f"  fitted exponent over {', '.join(f'{size:,}' for size in sizes)}: {fitted:.2f}   limit {MAX_EXPONENT}")
    Path("results/bench-dream-exponent.json").write_text(
        json.dumps({"sizes": sizes, "exponent": round(fitted, 3), "limit": MAX_EXPONENT}) + "\n", encoding="utf-8"
    )
    return 1 if failed or fitted > MAX_EXPONENT else 0


def measure(size: int, every: int) -> Row:
    """One size: a scan of the store and a dream over the same files, taking turns."""
    is_ordinary = every == ORDINARY
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place, "memory")
        build_store(folder, size)
        names = sorted(path.name for path in folder.iterdir())
        for number, name in enumerate(names):
            _set_time(folder / name, LAST_NIGHT - 400 * DAY + 60 * number)
        if is_ordinary:  # those were held against each other before; the night brings the index in step
            lock = folder / LOCK_NAME
            lock.write_text("{}\n", encoding="utf-8")
            _set_time(lock, LAST_NIGHT - DAY)
            dream(folder, LAST_NIGHT)  # the first night of a process also reads the language tables
        plant(folder, names, every)
        functions = (lambda: scan(str(folder)), lambda: dream(folder))
        scanned, dreamt = best_cpu_seconds(functions, rounds=max(1, min(5, 20_000 // size)) if is_ordinary else 1)
    limit = MAX_RATIO if size == RATIO_AT and is_ordinary else math.inf
    kind = "an ordinary" if is_ordinary else "a first"
    return Row(f"{kind} night over {size:,} memories", dreamt, "scan", scanned, limit)


def dream(folder: Path, night: float | None = None) -> DreamReport:
    """A night; without its time tonight, which changes nothing on disk."""
    now = night or NOW.timestamp()
    store = MemoryStore(Place(str(folder)), clock=lambda: now)
    plan = DreamPlan((store,), str(folder.parent), str(folder.parent), (), zone=UTC)
    dreamer = Dreamer(plan, BuiltinModel(), NullSink(), lambda: now)
    report = asyncio.run(dreamer.dream(Request("builtin"), DreamTask(0), is_dry=night is None))
    if isinstance(report, NotDreamt):
        raise SystemExit(f"no dream over {folder}: {report.reason}")
    return report


def plant(folder: Path, names: list[str], every: int) -> None:
    """Things to mend, written today; the same names give the same store."""
    for number, name in enumerate(names):
        path = folder / name
        text = path.read_text(encoding="utf-8")
        twin = _description((folder / names[number - 4]).read_text(encoding="utf-8"))
        if number % every == 4:
            text = text.replace(_description(text), twin)
        elif number % every == 10:
            text = text.rstrip() + " The review is next Thursday.\n"
        elif number % every == 16:
            text = text.replace(_description(text), f"Since 2026-05-02 {twin}")
        else:
            continue
        path.write_text(text, encoding="utf-8")
        _set_time(path, LAST_NIGHT + 3600)


def _set_time(path: Path, stamp: float) -> None:
    os.utime(path, (stamp, stamp))


def _description(text: str) -> str:
    return text.split("description: ", 1)[1].split("\n", 1)[0]


def exponent(sizes: list[int], seconds: list[float]) -> float:
    """The slope of log(time) over log(size), by least squares."""
    points = [(math.log(size), math.log(second)) for size, second in zip(sizes, seconds, strict=True)]
    if len(points) < 2:
        return 0.0
    mean_x = sum(x for x, _ in points) / len(points)
    mean_y = sum(y for _, y in points) / len(points)
    return sum((x - mean_x) * (y - mean_y) for x, y in points) / sum((x - mean_x) ** 2 for x, _ in points)


if __name__ == "__main__":
    sys.exit(main())
