"""The built-in dream over growing stores, beside a scan of the same files in the same run.

    python -m benchmarks.dream [--sizes 200 2000 20000] [--json FILE]

Reports the CPU time of a night, its ratio to the scan, and the exponent fitted through all sizes. The stores are made
up: every note has words of its own, one in twenty has a twin or a relative date, one in a hundred a newer rival.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import random
import re
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from memdir.model.builtin.dream import Line, Night, NightFile, SessionText, plan_night
from memdir.store.scan import scan

SIZES = (200, 2_000, 20_000)
MAX_EXPONENT = 1.2
MAX_RATIO = 25  # times the scan, at RATIO_AT memories
RATIO_AT = 2_000
REPEATS = 5  # the best of so many runs: what else the machine does is not ours
NOW = datetime(2026, 6, 15, 6, 0, tzinfo=UTC)

_SYLLABLES = re.findall("..", "bakoritesomadufegrahoisjukelomonipraqunasturvinwezan")
_COMMON = re.findall(
    r"\w+", "the release needs a review before it goes out and the team checks every change with its owner"
)


@dataclass(frozen=True)
class Row:
    """One size: times in milliseconds, the ratio of dream to scan, and how much there was to mend."""

    memories: int
    scan_ms: float
    read_ms: float
    dream_ms: float
    ratio: float
    edits: int


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.dream", description=(__doc__ or "").split("\n\n", 1)[0])
    parser.add_argument("--sizes", nargs="+", type=int, default=list(SIZES))
    parser.add_argument("--json", type=Path, default=Path("results/dream.json"))
    options = parser.parse_args()
    rows = [measure(size) for size in options.sizes]
    fitted = exponent(rows)
    report = {"rows": [asdict(row) for row in rows], "exponent": fitted, "max_exponent": MAX_EXPONENT}
    options.json.parent.mkdir(parents=True, exist_ok=True)
    options.json.write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")
    return show(rows, fitted)


def measure(size: int) -> Row:
    """One size: the store written to disk, scanned, read and dreamt of."""
    with tempfile.TemporaryDirectory() as place:
        write_store(Path(place), size)
        night = read_night(Path(place))
        plan = plan_night(night)  # the first night of a process also reads the language tables
        repeats = REPEATS if size <= RATIO_AT else 1
        scanned = _best(lambda: scan(place), REPEATS)
        read = _best(lambda: read_night(Path(place)), repeats)
        dreamt = _best(lambda: plan_night(night), repeats)
    return Row(size, scanned * 1e3, read * 1e3, dreamt * 1e3, dreamt / scanned, len(plan.edits))


def write_store(root: Path, size: int) -> None:
    """A store of `size` notes with an index; the same size gives the same store."""
    rng = random.Random(size)
    index = []
    for number, (name, text) in enumerate(_notes(rng, size)):
        path = root / f"note_{number:05d}.md"
        path.write_text(text, encoding="utf-8")
        stamp = (NOW - timedelta(days=rng.randrange(1, 400))).timestamp()
        os.utime(path, (stamp, stamp))
        index.append(f"- [{name}]({path.name}) — {name}\n")
    (root / "MEMORY.md").write_text("".join(index), encoding="utf-8")


def _notes(rng: random.Random, size: int) -> list[tuple[str, str]]:
    words = ["".join(rng.choice(_SYLLABLES) for _ in range(4)) for _ in range(size * 2 + 50)]
    notes: list[tuple[str, str]] = []
    while len(notes) < size:
        own = rng.sample(words, 12)
        name = " ".join(own[:2]).capitalize()
        body = " ".join(rng.choice([*own, *_COMMON]) for _ in range(60))
        claim = f"{' '.join(own[:5])} takes {rng.randrange(5, 90)} minutes at {rng.randrange(0, 24):02d}:30"
        kind = rng.choice(["feedback", "project", "reference"])
        date = " Review is next Thursday." if rng.random() < 0.05 else ""
        notes.append((name, _note(name, claim, kind, f"{body}.{date}")))
        if rng.random() < 0.05:
            notes.append((name, _note(f"{name} again", claim, kind, f"{' '.join(own[3:9])}.")))
        elif rng.random() < 0.01:
            notes.append((name, _note(f"{name} new", f"Since 2026-05-02 {claim} now", kind, f"{own[7]} was slow.")))
    return notes[:size]


def _note(name: str, description: str, kind: str, body: str) -> str:
    return f"---\nname: {name}\ndescription: {description}\ntype: {kind}\n---\n\n{body}\n\n**Why:** it was agreed.\n"


def read_night(root: Path) -> Night:
    """All files below `root`, and one thing somebody said."""
    files = tuple(
        NightFile(entry.name, Path(entry.path).read_bytes(), entry.stat().st_mtime)
        for entry in sorted(os.scandir(root), key=lambda entry: entry.name)
    )
    text = "we decided that the harbour crane moves to pier 7 on 2026-07-01"
    said = (Line("user", "said", text, "m1", NOW.timestamp()),)
    return Night(files, (SessionText("s1", NOW.timestamp(), said),), NOW)


def exponent(rows: list[Row]) -> float:
    """The slope of log(time) over log(size), by least squares."""
    points = [(math.log(row.memories), math.log(row.dream_ms)) for row in rows]
    if len(points) < 2:
        return 0.0
    mean_x = sum(x for x, _ in points) / len(points)
    mean_y = sum(y for _, y in points) / len(points)
    return sum((x - mean_x) * (y - mean_y) for x, y in points) / sum((x - mean_x) ** 2 for x, _ in points)


def show(rows: list[Row], fitted: float) -> int:
    """The table; 0 when both limits hold."""
    print(f"{'memories':>9} {'scan ms':>9} {'read ms':>9} {'dream ms':>10} {'x scan':>7} {'edits':>6}")
    for row in rows:
        print(
            f"{row.memories:>9,} {row.scan_ms:>9.1f} {row.read_ms:>9.1f} {row.dream_ms:>10.1f}"
            f" {row.ratio:>7.1f} {row.edits:>6,}"
        )
    print(f"fitted exponent {fitted:.2f} (limit {MAX_EXPONENT}); limit at {RATIO_AT:,} memories: {MAX_RATIO} x scan")
    slow = [row for row in rows if row.memories == RATIO_AT and row.ratio > MAX_RATIO]
    return 1 if slow or fitted > MAX_EXPONENT else 0


def _best(action: Callable[[], object], repeats: int) -> float:
    """The least CPU time of several runs, in seconds."""
    times = []
    for _ in range(repeats):
        start = time.process_time()
        action()
        times.append(time.process_time() - start)
    return min(times)


if __name__ == "__main__":
    sys.exit(main())
