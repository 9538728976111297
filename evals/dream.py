"""Dream over prepared memory directories and leave the outcome for the scorer.

    python -m evals.dream --data GROUP --out DIR [--model builtin]

GROUP holds cases (`<case>/project/`, `mtimes.json`); each is copied to `DIR/<case>/` with its file times, and the dream
runs there with the case's own clock. `score_dream.py all` reads the result from a folder named like the group.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import sys
from datetime import datetime
from pathlib import Path
from typing import Any

from memdir.model.builtin.dream import Line, Night, NightFile, Plan, SessionText, plan_night

MODELS = ("builtin",)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m evals.dream", description=(__doc__ or "").split("\n\n", 1)[0])
    parser.add_argument("--data", required=True, type=Path, help="a group of cases")
    parser.add_argument("--out", required=True, type=Path, help="where the dreamt cases go")
    parser.add_argument("--model", default="builtin", choices=MODELS)
    parser.add_argument("--show", action="store_true", help="print reasons and doubts")
    options = parser.parse_args()
    cases = sorted(path for path in options.data.iterdir() if (path / "mtimes.json").is_file())
    for case in cases:
        project = options.out / case.name
        now = prepare(case, project)
        plan = dream(project, now)
        print(f"{case.name}: {len(plan.edits)} edits, {len(plan.left_alone)} left alone")
        if options.show:
            _show(plan)
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


def dream(project: Path, now: datetime) -> Plan:
    """Dream over a project folder in place: the plan applied file by file."""
    memory = project / "memory"
    plan = plan_night(read_night(project, now))
    for edit in plan.edits:
        path = memory / edit.key
        if edit.data is None:
            path.unlink()
            continue
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(edit.data)
        if edit.mtime is not None:
            os.utime(path, (edit.mtime, edit.mtime))
    return plan


def read_night(project: Path, now: datetime) -> Night:
    """Everything below the memory directory, and every transcript beside it."""
    memory = project / "memory"
    files = tuple(
        NightFile(path.relative_to(memory).as_posix(), path.read_bytes(), path.stat().st_mtime)
        for path in sorted(memory.rglob("*.md"))
        if path.is_file()
    )
    sessions = tuple(read_session(path) for path in sorted(project.glob("*.jsonl")))
    return Night(files, sessions, now)


def read_session(path: Path) -> SessionText:
    """One transcript: who said what when, tool results told apart from speech."""
    lines: list[Line] = []
    for raw in path.read_text(encoding="utf-8", errors="replace").splitlines():
        try:
            record = json.loads(raw)
        except ValueError:
            continue
        if isinstance(record, dict) and record.get("type") in ("user", "assistant"):
            lines += _lines(record)
    return SessionText(path.stem, path.stat().st_mtime, tuple(lines))


def _lines(record: dict[str, Any]) -> list[Line]:
    content = (record.get("message") or {}).get("content")
    blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content or []
    hidden = any(record.get(flag) for flag in ("isMeta", "isSidechain", "isCompactSummary"))
    time = _time(record["timestamp"]).timestamp() if record.get("timestamp") else 0.0
    found = []
    for block in blocks:
        spoken = block.get("type") == "text"
        kind = "meta" if hidden else "said" if spoken else "tool_result"
        text = block.get("text") if spoken else json.dumps(block.get("content") or "", ensure_ascii=False)
        found.append(Line(record["type"], kind, str(text or ""), record.get("uuid", ""), time))  # type: ignore[arg-type]
    return found


def _time(stamp: str) -> datetime:
    return datetime.fromisoformat(stamp)


def _show(plan: Plan) -> None:
    for edit in plan.edits:
        print(f"  {'-' if edit.data is None else '*'} {edit.key}: {edit.reason} [{', '.join(edit.sources)}]")
    for doubt in plan.left_alone:
        print(f"  ? {', '.join(doubt.keys)}: {doubt.what}")


if __name__ == "__main__":
    sys.exit(main())
