"""`make bench-cli`: what a cold process costs beside an empty one."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from benchmarks.measure import Row, best_process_seconds, clean_environment, report
from benchmarks.stores import build_store
from memdir import open_memory
from memdir.layout import Layout

MEMORIES = 2_000
ROUNDS = 25
INITIALIZE = '{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25"}}'
FLOOR = "python -I -c pass"


def main() -> int:
    with tempfile.TemporaryDirectory() as place:
        home, project = Path(place) / "home", Path(place) / "project"
        project.mkdir()
        build_store(Path(Layout(str(home), str(project)).default_memory), MEMORIES)
        open_memory(project, home=home).start()  # as every session leaves it: it knows whose it is
        memdir = str(Path(sys.executable).with_name("memdir"))
        commands = (
            [sys.executable, "-I", "-c", "pass"],
            [memdir, "--version"],
            [memdir, "search", "kalomi", "stotra", "--project", str(project)],
            [memdir, "recall", "how do kalomi and stotra belong together?", "--project", str(project)],
            ["sh", "-c", f"echo '{INITIALIZE}' | exec '{memdir}' mcp"],
        )
        environment = clean_environment(MEMDIR_HOME=str(home))
        floor, version, search, recall, mcp = best_process_seconds(commands, rounds=ROUNDS, environment=environment)
    rows = [
        Row("memdir --version", version, FLOOR, floor, 2.5),
        Row(f"memdir search, {MEMORIES:,} memories", search, FLOOR, floor, 5.0),
        Row(f"memdir recall, {MEMORIES:,} memories", recall, FLOOR, floor, 6.0),
        Row("memdir mcp, to its first answer and the end", mcp, FLOOR, floor, 4.0),
    ]
    return report("bench-cli: CPU time of a cold process, best of rounds", rows)


if __name__ == "__main__":
    sys.exit(main())
