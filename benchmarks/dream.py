"""`make bench-dream`: a night of the built-in dream beside a scan of the same files, and how it grows with the store.

    python -m benchmarks.dream [--sizes 200 2000 20000]

In the made-up stores one memory in a hundred has a twin, one in a hundred a relative date, one in a hundred a rival.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import sys
import tempfile
from datetime import UTC, datetime, timedelta
from pathlib import Path

from benchmarks.measure import Row, best_cpu_seconds, report
from benchmarks.stores import build_store
from memdir.model.builtin.dream import Line, Night, NightFile, SessionText, plan_night
from memdir.store.scan import scan

SIZES = (200, 2_000, 20_000)
MAX_EXPONENT = 1.2
MAX_RATIO = 25.0
RATIO_AT = 2_000  # memories at which the ratio counts; a small store pays for its words, a large one for its disk
NOW = datetime(2026, 6, 15, 6, 0, tzinfo=UTC)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.dream", description=(__doc__ or "").split("\n\n", 1)[0])
    parser.add_argument("--sizes", nargs="+", type=int, default=list(SIZES))
    sizes = parser.parse_args().sizes
    rows = [measure(size) for size in sizes]
    failed = report("bench-dream: CPU time, best round", rows)
    fitted = exponent(sizes, [row.seconds for row in rows])
    print(f"  fitted exponent over {', '.join(f'{size:,}' for size in sizes)}: {fitted:.2f}   limit {MAX_EXPONENT}")
    Path("results/bench-dream-exponent.json").write_text(
        json.dumps({"sizes": sizes, "exponent": round(fitted, 3), "limit": MAX_EXPONENT}) + "\n", encoding="utf-8"
    )
    return 1 if failed or fitted > MAX_EXPONENT else 0


def measure(size: int) -> Row:
    """One size: a scan of the store and a night over the same files, taking turns."""
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        plant(folder, size)
        night = read_night(folder)
        plan_night(night)  # the first night of a process also reads the language tables
        functions = (lambda: scan(place), lambda: plan_night(night))
        scanned, dreamt = best_cpu_seconds(functions, rounds=max(3, 20_000 // size))
    limit = MAX_RATIO if size == RATIO_AT else math.inf
    return Row(f"a night over {size:,} memories", dreamt, "scan", scanned, limit)


def plant(folder: Path, size: int) -> None:
    """A store with an index and things to mend; the same size gives the same store."""
    build_store(folder, size)
    names = sorted(path.name for path in folder.iterdir())
    index = []
    for number, name in enumerate(names):
        path = folder / name
        text = path.read_text(encoding="utf-8")
        twin = (folder / names[number - 4]).read_text(encoding="utf-8")
        if number % 100 == 4:
            text = text.replace(_description(text), _description(twin))
        elif number % 100 == 10:
            text = text.rstrip() + " The review is next Thursday.\n"
        elif number % 100 == 16:
            text = text.replace(_description(text), f"Since 2026-05-02 {_description(twin)}")
        path.write_text(text, encoding="utf-8")
        index.append(f"- [{name[:-3]}]({name}) — {_description(text)}\n")
        stamp = (NOW - timedelta(days=400, minutes=-number)).timestamp()
        os.utime(path, (stamp, stamp))
    (folder / "MEMORY.md").write_text("".join(index), encoding="utf-8")


def _description(text: str) -> str:
    return text.split("description: ", 1)[1].split("\n", 1)[0]


def read_night(folder: Path) -> Night:
    """All files below `folder`, and one thing somebody said."""
    files = tuple(
        NightFile(entry.name, Path(entry.path).read_bytes(), entry.stat().st_mtime)
        for entry in sorted(os.scandir(folder), key=lambda entry: entry.name)
    )
    text = "we decided that the harbour crane moves to pier 7 on 2026-07-01"
    said = (Line("user", "said", text, "m1", NOW.timestamp()),)
    return Night(files, (SessionText("s1", NOW.timestamp(), said),), NOW)


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
