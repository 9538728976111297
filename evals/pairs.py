"""Pairs of memories in one store: what a night makes of them, on pairs that were read and on pairs that were not.

    python -m evals.pairs [--data FOLDER] [--model NAME] [--show]

Each pair lies alone in a memory directory, and the real dream runs over it: lock, fork, gate, checks, transaction.
Pairs about two different things must come out byte for byte as they went in; the command fails when one does not.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, time, timedelta
from pathlib import Path
from typing import Any, Literal

from evals.dream import dream
from evals.models import HELP, named_model
from memdir.disk.safe_path import INDEX_NAME
from memdir.model.model import Model
from memdir.store.topic import Topic

FOLDER = Path(__file__).parent / "data" / "pairs"
GROUPS = ("dev", "dev2", "unread")  # of dev2 only statistics were looked at while the veto was written
MORNING = timedelta(days=3)  # after the newer of the two was saved

Outcome = Literal["touched", "merged", "corrected", "untouched"]
ROWS: dict[str, tuple[str, tuple[Outcome, ...]]] = {
    "different": ("different touched", ("touched", "merged", "corrected")),
    "same": ("same merged", ("merged",)),
    "replaces": ("replaced corrected", ("corrected",)),
}


@dataclass(frozen=True)
class Note:
    """One memory of a pair."""

    file: str
    type: str
    name: str
    description: str
    body: str
    saved: datetime

    @property
    def data(self) -> bytes:
        name, description = (json.dumps(text, ensure_ascii=False) for text in (self.name, self.description))
        return f"---\nname: {name}\ndescription: {description}\ntype: {self.type}\n---\n\n{self.body}\n".encode()


@dataclass(frozen=True)
class Pair:
    """Two memories and how they stand to each other."""

    id: str
    relation: str
    notes: tuple[Note, Note]

    @property
    def night(self) -> datetime:
        return max(note.saved for note in self.notes) + MORNING


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m evals.pairs", description=(__doc__ or "").split("\n\n", 1)[0])
    parser.add_argument("--data", type=Path, default=FOLDER, help="where the .jsonl files are")
    parser.add_argument("--model", default="builtin", help=HELP)
    parser.add_argument("--show", action="store_true", help="name the pairs that were read and came out wrong")
    options = parser.parse_args()
    columns: dict[str, Counter[tuple[str, bool]]] = {}
    for group in (group for group in GROUPS if (options.data / f"{group}.jsonl").is_file()):
        columns[group] = Counter()
        for pair in read_pairs(options.data / f"{group}.jsonl"):
            outcome = outcome_of(pair, *named_model(options.model))
            is_counted = outcome in ROWS[pair.relation][1]
            columns[group][pair.relation, is_counted] += 1
            if options.show and group != "unread" and is_counted == (pair.relation == "different"):
                print(f"{pair.id} {pair.relation}: {outcome}")
    print("".ljust(20) + " | ".join(group.center(9) for group in columns))
    for relation, (title, _) in ROWS.items():
        cells = (
            f"{column[relation, True]} of {column[relation, True] + column[relation, False]}"
            for column in columns.values()
        )
        print(title.ljust(20) + " | ".join(cell.center(9) for cell in cells))
    return 1 if not columns or any(column["different", True] for column in columns.values()) else 0


def read_pairs(path: Path) -> Iterator[Pair]:
    """The pairs of one file, one a line."""
    for line in path.read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        yield Pair(row["id"], row["relation"], (_note(row["a"]), _note(row["b"])))


def lay_out(project: Path, notes: Iterable[Note]) -> None:
    """A project folder whose memory directory holds these notes, each as old as it says."""
    memory = project / "memory"
    memory.mkdir(parents=True)
    for note in notes:
        path = memory / note.file
        path.write_bytes(note.data)
        os.utime(path, (note.saved.timestamp(), note.saved.timestamp()))


def memories(project: Path) -> dict[str, bytes]:
    """What is there: every memory by its file name, the index left out."""
    return {path.name: path.read_bytes() for path in (project / "memory").glob("*.md") if path.name != INDEX_NAME}


def outcome_of(pair: Pair, model: Model, name: str) -> Outcome:
    """What a night does to two memories."""
    with tempfile.TemporaryDirectory() as place:
        project = Path(place, "project")
        lay_out(project, pair.notes)
        before = memories(project)
        dream(project, pair.night, model, name)
        after = memories(project)
    if after == before:
        return "untouched"
    if any("**Before " in Topic(data).body or "→" in Topic(data).body for data in after.values()):
        return "corrected"
    return "merged" if len(after) < len(before) else "touched"


def _note(row: dict[str, Any]) -> Note:
    saved = datetime.combine(datetime.fromisoformat(row["saved"]), time(12), UTC)
    return Note(row["file"], row["type"], row["name"], row["description"], row["body"], saved)


if __name__ == "__main__":
    sys.exit(main())
