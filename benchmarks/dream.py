"""`make bench-dream`: the built-in dream beside a scan of the same files, and how it grows with the store.

    python -m benchmarks.dream [--sizes 200 2000 20000]

An ordinary night finds a store that was in order the night before and a few new memories: one in five hundred has a
twin, a relative date or a rival. The first night over a neglected store, one in a hundred of each, is shown beside it.
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
from memdir.events import NullSink
from memdir.layout import Place
from memdir.model.builtin.builtin_model import BuiltinModel
from memdir.model.model import Request
from memdir.store.scan import scan
from memdir.store.store import MemoryStore

SIZES = (200, 2_000, 20_000)
ORDINARY, NEGLECTED = 500, 100  # one memory in so many has a twin, as many a relative date, as many a rival
MAX_EXPONENT = 1.2
MAX_RATIO = 25.0
RATIO_AT = 2_000  # memories at which the ratio counts; a small store pays for its words, a large one for its disk
NOW = datetime(2026, 6, 15, 6, 0, tzinfo=UTC)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.dream", description=(__doc__ or "").split("\n\n", 1)[0])
    parser.add_argument("--sizes", nargs="+", type=int, default=list(SIZES))
    sizes = parser.parse_args().sizes
    rows = [measure(size, ORDINARY) for size in sizes]
    messy = [measure(size, NEGLECTED) for size in sizes if size <= RATIO_AT]
    failed = report("bench-dream: CPU time, best round", [*rows, *messy])
    fitted = exponent(sizes, [row.seconds for row in rows])
    print(f"  fitted exponent over {', '.join(f'{size:,}' for size in sizes)}: {fitted:.2f}   limit {MAX_EXPONENT}")
    Path("results/bench-dream-exponent.json").write_text(
        json.dumps({"sizes": sizes, "exponent": round(fitted, 3), "limit": MAX_EXPONENT}) + "\n", encoding="utf-8"
    )
    return 1 if failed or fitted > MAX_EXPONENT else 0


def measure(size: int, every: int) -> Row:
    """One size: a scan of the store and a dream over the same files, taking turns."""
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place, "memory")
        plant(folder, size, every)
        dream(folder)  # the first night of a process also reads the language tables
        functions = (lambda: scan(str(folder)), lambda: dream(folder))
        scanned, dreamt = best_cpu_seconds(functions, rounds=max(3, min(10, 20_000 // size)))
    limit = MAX_RATIO if size == RATIO_AT and every == ORDINARY else math.inf
    kind = "an ordinary" if every == ORDINARY else "a first"
    return Row(f"{kind} night over {size:,} memories", dreamt, "scan", scanned, limit)


def dream(folder: Path) -> DreamReport:
    """A night that changes nothing on disk."""
    store = MemoryStore(Place(str(folder)), clock=NOW.timestamp)
    plan = DreamPlan((store,), str(folder.parent), str(folder.parent), (), zone=UTC)
    dreamer = Dreamer(plan, BuiltinModel(), NullSink(), NOW.timestamp)
    report = asyncio.run(dreamer.dream(Request("builtin"), DreamTask(0), is_dry=True))
    if isinstance(report, NotDreamt):
        raise SystemExit(f"no dream over {folder}: {report.reason}")
    return report


def plant(folder: Path, size: int, every: int) -> None:
    """A store with an index and things to mend; the same size gives the same store."""
    build_store(folder, size)
    names = sorted(path.name for path in folder.iterdir())
    index = []
    for number, name in enumerate(names):
        path = folder / name
        text = path.read_text(encoding="utf-8")
        twin = (folder / names[number - 4]).read_text(encoding="utf-8")
        if number % every == 4:
            text = text.replace(_description(text), _description(twin))
        elif number % every == 10:
            text = text.rstrip() + " The review is next Thursday.\n"
        elif number % every == 16:
            text = text.replace(_description(text), f"Since 2026-05-02 {_description(twin)}")
        path.write_text(text, encoding="utf-8")
        index.append(f"- [{name[:-3]}]({name}) — {_description(text)}\n")
        stamp = (NOW - timedelta(days=400, minutes=-number)).timestamp()
        os.utime(path, (stamp, stamp))
    (folder / "MEMORY.md").write_text("".join(index), encoding="utf-8")


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
