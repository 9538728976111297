"""`make bench-history`: one commit from a cold process, by the git command as we use it and by the libraries beside it.

dulwich and pygit2 are measured when they are installed (`pip install dulwich pygit2`); they are no dependency.
"""

from __future__ import annotations

import importlib.util
import sys
import tempfile
from pathlib import Path

from benchmarks.measure import Row, best_process_seconds, clean_environment, report
from benchmarks.stores import build_store
from memdir.layout import Place
from memdir.store.store import MemoryStore

MEMORIES = 2_000
ROUNDS = 8
LIMIT = 12.0  # a commit is off the path of anyone who waits; this keeps it from growing unseen

OURS = """
import sys
from memdir.layout import Place
from memdir.store.history import History, Origin
place = Place(sys.argv[1])
path = place.root + "/memory_000001.md"
open(path, "a").write("x\\n")
history = History(place)
history.record(Origin("bench").message("bench"), history.unrecorded(), when=0)
"""
DULWICH = "from dulwich.repo import Repo; import sys; Repo(sys.argv[1] + '.state/history.git').head()"
PYGIT2 = "import pygit2, sys; pygit2.Repository(sys.argv[1] + '.state/history.git').head"


def main() -> int:
    with tempfile.TemporaryDirectory() as place:
        root = Path(place) / "memory"
        build_store(root, MEMORIES)
        MemoryStore(Place(str(root))).record_outside_changes()
        snippets = {"the git command, a whole commit": OURS}
        if importlib.util.find_spec("dulwich"):
            snippets["dulwich, opening the repository only"] = DULWICH
        if importlib.util.find_spec("pygit2"):
            snippets["pygit2, opening the repository only"] = PYGIT2
        commands = [[sys.executable, "-I", "-c", code, str(root)] for code in ("pass", *snippets.values())]
        floor, *spent = best_process_seconds(commands, rounds=ROUNDS, environment=clean_environment())
    rows = [
        Row(name, seconds, "python -I -c pass", floor, LIMIT) for name, seconds in zip(snippets, spent, strict=True)
    ]
    return report("bench-history: CPU time of a cold process, children included", rows) if rows[0].is_within else 1


if __name__ == "__main__":
    sys.exit(main())
