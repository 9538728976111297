"""`make bench-scan`: a scan beside the bare reads it cannot do without, a rescan beside the bare look at the folder."""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path

from benchmarks.measure import Row, best_cpu_seconds, report
from benchmarks.stores import build_store
from memdir.store.scan import Scanner

SIZES = (200, 2_000, 20_000)
SCAN_LIMIT = 2.5
RESCAN_LIMIT = 1.5


def read_floor(folder: str) -> int:
    """The first 4 KiB of each file, split into lines."""
    lines = 0
    for entry in os.scandir(folder):
        descriptor = os.open(entry.path, os.O_RDONLY)
        lines += len(os.read(descriptor, 4096).split(b"\n"))
        os.close(descriptor)
    return lines


def look_floor(folder: str) -> int:
    """`scandir` and `stat`, nothing more."""
    return sum(entry.stat(follow_symlinks=False).st_size for entry in os.scandir(folder))


def use(scanner: Scanner) -> int:
    """A scan and a look at every field that it returned."""
    return sum(len(header.name) + len(header.description) + bool(header.type) for header in scanner.scan().headers)


def measure(count: int) -> list[Row]:
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place) / "memory"
        build_store(folder, count)
        root = str(folder)
        warm = Scanner(root)
        use(warm)
        rounds = max(5, 80_000 // count)  # seconds, not moments: a busy machine is quiet now and then
        functions = (lambda: read_floor(root), lambda: use(Scanner(root)), lambda: look_floor(root), warm.scan)
        read, scan, look, rescan = best_cpu_seconds(functions, rounds=rounds)
    return [
        Row(f"scan of {count:,} files", scan, "read + split", read, SCAN_LIMIT),
        Row(f"rescan of {count:,} files, nothing changed", rescan, "scandir + stat", look, RESCAN_LIMIT),
    ]


def main() -> int:
    return report("bench-scan: CPU time, best round", [row for count in SIZES for row in measure(count)])


if __name__ == "__main__":
    sys.exit(main())
