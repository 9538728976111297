"""Dream over prepared memory directories and leave the outcome for the scorer.

    python -m evals.dream --data GROUP --out DIR [--model NAME]

GROUP holds cases (`<case>/project/`, `mtimes.json`); each is copied to `DIR/<case>/` with its file times, and the dream
runs there with the case's own clock. `score_dream.py all` reads the result from a folder named like the group.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import shutil
import sys
import tempfile
from datetime import datetime
from pathlib import Path

from evals.models import HELP, named_model
from memdir.agent.tools.tool import memory_tools
from memdir.dream.dream import Dreamer, DreamPlan, DreamReport, DreamTask, NotDreamt
from memdir.dream.gates import LOCK_NAME, sessions_since
from memdir.events import NullSink
from memdir.layout import Place
from memdir.model.model import Model, Request
from memdir.store.store import MemoryStore


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m evals.dream", description=(__doc__ or "").split("\n\n", 1)[0])
    parser.add_argument("--data", required=True, type=Path, help="a group of cases")
    parser.add_argument("--out", required=True, type=Path, help="where the dreamt cases go")
    parser.add_argument("--model", default="builtin", help=HELP)
    parser.add_argument("--show", action="store_true", help="print reasons and doubts")
    options = parser.parse_args()
    cases = sorted(path for path in options.data.iterdir() if (path / "mtimes.json").is_file())
    for case in cases:
        project = options.out.resolve() / case.name
        now = prepare(case, project)
        outcome = dream(project, now, *named_model(options.model))
        print(f"{case.name}: {_summary(outcome)}")
        if options.show and isinstance(outcome, DreamReport):
            print(outcome.words)
    return 0 if cases else 1


def prepare(case: Path, project: Path) -> datetime:
    """A fresh copy of the case with its file times; returns the case's now."""
    if project.exists():
        shutil.rmtree(project)
    shutil.copytree(case / "project", project)
    times = json.loads((case / "mtimes.json").read_text(encoding="utf-8"))
    for name, stamp in times["mtimes"].items():
        seconds = _time(stamp).timestamp()
        os.utime(project / name, (seconds, seconds))
    return _time(times["now"])


def dream(project: Path, now: datetime, model: Model, name: str) -> DreamReport | NotDreamt:
    """Dream over a project folder in place, through the real fork, gate, checks and transaction."""
    with tempfile.TemporaryDirectory() as state:
        place = Place(str(project / "memory"), state=state)
        stores = [MemoryStore(place, clock=now.timestamp)]
        if os.path.isdir(place.team().root):
            stores.append(MemoryStore(place.team(), scope="team", clock=now.timestamp))
        sessions = sessions_since(str(project), 0.0)
        plan = DreamPlan(stores, str(project), str(project), sessions, zone=now.tzinfo, has_log=True)
        tools = tuple(tool.spec for tool in memory_tools())
        dreamer = Dreamer(plan, model, NullSink(), now.timestamp)
        outcome = asyncio.run(dreamer.dream(Request(name, tools=tools), DreamTask(len(plan.sessions))))
    (project / "memory" / LOCK_NAME).unlink(missing_ok=True)
    return outcome


def _summary(outcome: DreamReport | NotDreamt) -> str:
    if isinstance(outcome, NotDreamt):
        return f"no dream: {outcome.reason}"
    return f"{len(outcome.written)} files changed"


def _time(stamp: str) -> datetime:
    return datetime.fromisoformat(stamp)


if __name__ == "__main__":
    sys.exit(main())
