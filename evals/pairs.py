"""Pairs of memories in one store: what a night makes of them, on pairs that were read and on pairs that were not.

    python -m evals.pairs [--data FOLDER] [--model NAME] [--show]

Each pair lies alone in a memory directory, and the real dream runs over it: lock, fork, gate, checks, transaction.
Pairs about two different things must come out byte for byte as they went in, and nothing that must be kept may be
lost; the command fails when something was. Of the unread fold only its figures are ever printed.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import re
import sys
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from pathlib import Path
from typing import Any, Literal

from evals.dream import dream
from evals.models import HELP, named_model
from memdir.disk.safe_path import INDEX_NAME
from memdir.dream.dream import DreamReport, NotDreamt
from memdir.model.builtin.dream.date_repair import relative_dates
from memdir.model.model import Model
from memdir.store.topic import Topic
from memdir.text.naming import file_stem

FOLDER = Path(__file__).parent / "data" / "pairs"
FOLDS = ("dev", "unread")  # a file is of the fold its name begins with; one author wrote it
MORNING = timedelta(days=3)  # after the newer of the two was saved
MAX_DIFFERENT = 0.01  # of the pairs about different things that may be touched

Files = dict[str, bytes]
Action = Literal["touched", "merged", "corrected", "untouched"]
# What a page tells as past: what was before, the evidence itself, and what points to it.
_PAST = re.compile(r"^\*\*(?:Before|Update)\b.*$|~~[^~]*~~|[^.\n]*\(→ Update [^)]*\)", re.MULTILINE)


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
    kept: tuple[str, ...] = ()  # words of theirs that must still stand somewhere
    gone: tuple[str, ...] = ()  # words of the older one that no longer hold

    @property
    def night(self) -> datetime:
        return max(note.saved for note in self.notes) + MORNING


@dataclass(frozen=True)
class Outcome:
    """What a night did to two memories."""

    action: Action
    asked: bool = False  # whether a person is asked how they stand to each other
    lost: tuple[str, ...] = ()
    still_claimed: tuple[str, ...] = ()


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m evals.pairs", description=(__doc__ or "").split("\n\n", 1)[0])
    parser.add_argument("--data", type=Path, default=FOLDER, help="where the .jsonl.gz files are")
    parser.add_argument("--model", default="builtin", help=HELP)
    parser.add_argument("--show", action="store_true", help="name the pairs that were read and came out wrong")
    options = parser.parse_args()
    columns = {fold: outcomes(fold, options.data, options.model) for fold in FOLDS}
    if options.show:
        for pair, outcome in columns["dev"]:
            if not _is_well(pair, outcome):
                print(f"{pair.id} {pair.relation}: {outcome}")
    for title, *cells in rows(columns):
        print(title.ljust(36) + " | ".join(cell.center(11) for cell in cells))
    counts = {fold: counted(found) for fold, found in columns.items()}
    return 1 if not any(columns.values()) or any(map(_is_bad, counts.values())) else 0


def outcomes(fold: str, folder: Path = FOLDER, model: str = "builtin") -> list[tuple[Pair, Outcome]]:
    """What a night makes of each pair of a fold."""
    pairs = [pair for path in sorted(folder.glob(f"{fold}*.jsonl.gz")) for pair in read_pairs(path)]
    return [(pair, outcome_of(pair, *named_model(model))) for pair in pairs]


def rows(columns: dict[str, list[tuple[Pair, Outcome]]]) -> list[list[str]]:
    """The table: a title and one cell for each fold."""
    counts = [counted(found) for found in columns.values()]
    titles = list(dict.fromkeys(title for count in counts for title in count))
    cells = [[_cell(count.get(title, (0, 0))) for count in counts] for title in titles]
    return [["pairs of notes", *columns], *([title, *line] for title, line in zip(titles, cells, strict=True))]


def counted(found: list[tuple[Pair, Outcome]]) -> dict[str, tuple[int, int]]:
    """Each line of the table: how many, of how many."""
    count: Counter[str] = Counter()
    for pair, outcome in found:
        count[pair.relation] += 1
        count[f"{pair.relation} {outcome.action}"] += 1
        count[f"{pair.relation} asked"] += outcome.asked
        count[f"{pair.relation} only asked"] += outcome.asked and outcome.action == "untouched"
        count["with something to keep"] += bool(pair.kept)
        count["lost"] += bool(outcome.lost)
        count["still claimed"] += bool(outcome.still_claimed) and outcome.action == "corrected"
    # A newer note that takes the older one in tells its value first, whichever way the two became one.
    replaced = count["replaces corrected"]
    return {
        "same merged": (count["same merged"] + count["same corrected"], count["same"]),
        "… only asked": (count["same only asked"], count["same"]),
        "replaced corrected": (replaced, count["replaces"]),
        "… corrected or asked": (replaced + count["replaces only asked"], count["replaces"]),
        "… corrected, the old still claimed": (count["still claimed"], replaced),
        "… merged as if it were the same": (count["replaces merged"], count["replaces"]),
        "different touched": (_touched(count, "different"), count["different"]),
        "… asked about": (count["different asked"], count["different"]),
        "unrelated touched": (_touched(count, "unrelated"), count["unrelated"]),
        "… asked about ": (count["unrelated asked"], count["unrelated"]),
        "something lost": (count["lost"], count["with something to keep"]),
    }


def read_pairs(path: Path) -> Iterator[Pair]:
    """The pairs of one author, one a line."""
    author = path.name.partition(".")[0]
    for number, line in enumerate(gzip.decompress(path.read_bytes()).decode().splitlines()):
        row = json.loads(line)
        notes = _note(row["a"], f"a{number}"), _note(row["b"], f"b{number}")
        text = "\n".join(_said(note) for note in notes)
        # Others tell the meaning and not words, or a day that a night puts as a date.
        kept = tuple(words for words in row.get("kept", ()) if words in text and not _is_relative(words))
        gone = tuple(words for words in row.get("gone") or () if words in _said(notes[0]))
        yield Pair(row.get("id") or f"{author}-{number}", row["relation"], notes, kept, gone)


def lay_out(project: Path, notes: Iterable[Note]) -> None:
    """A project folder whose memory directory holds these notes, each as old as it says."""
    memory = project / "memory"
    memory.mkdir(parents=True)
    for note in notes:
        path = memory / note.file
        path.write_bytes(note.data)
        os.utime(path, (note.saved.timestamp(), note.saved.timestamp()))


def memories(project: Path) -> Files:
    """What is there: every memory by its file name, the index left out."""
    return {path.name: path.read_bytes() for path in (project / "memory").glob("*.md") if path.name != INDEX_NAME}


def outcome_of(pair: Pair, model: Model, name: str) -> Outcome:
    """What a night does to two memories."""
    before, after, report = _dreamt(pair, pair.notes, model, name)
    if after != before and len(after) == len(before):  # what is put right in a note for itself, a date, is no pairing
        alone = [_dreamt(pair, [note], model, name)[1] for note in pair.notes]
        before = after if after == alone[0] | alone[1] else before
    topics = [Topic(data) for data in after.values()]
    text = "\n".join(f"{topic.name}\n{topic.description}\n{topic.body}" for topic in topics)
    lost = tuple(words for words in pair.kept if _flat(words) not in _flat(text))
    claims = _flat(_PAST.sub(" ", text))
    still = tuple(words for words in pair.gone if re.search(rf"(?<!\w){re.escape(_flat(words))}(?!\w)", claims))
    return Outcome(_action(before, after), bool(getattr(report, "questions", ())), lost, still)


def _dreamt(pair: Pair, notes: Sequence[Note], model: Model, name: str) -> tuple[Files, Files, DreamReport | NotDreamt]:
    """The files before a night over these notes and after it, and what the dream reports."""
    with tempfile.TemporaryDirectory() as place:
        project = Path(place, "project")
        lay_out(project, notes)
        before = memories(project)
        report = dream(project, pair.night, model, name)
        return before, memories(project), report


def _action(before: Files, after: Files) -> Action:
    if after == before:
        return "untouched"
    bodies = [Topic(data).body for data in after.values()]
    if any(mark in body for body in bodies for mark in ("**Before ", "**Update ", "→")):
        return "corrected"
    return "merged" if len(after) < len(before) else "touched"


def _is_well(pair: Pair, outcome: Outcome) -> bool:
    wanted = {"same": "merged", "replaces": "corrected"}.get(pair.relation, "untouched")
    return outcome.action == wanted and not outcome.lost


def _is_bad(count: dict[str, tuple[int, int]]) -> bool:
    touched, total = count["different touched"]
    return touched > MAX_DIFFERENT * total or count["something lost"][0] > 0


def _touched(count: Counter[str], relation: str) -> int:
    return count[relation] - count[f"{relation} untouched"]


def _cell(of: tuple[int, int]) -> str:
    return f"{of[0]} of {of[1]}"


def _is_relative(words: str) -> bool:
    return any(relative_dates(words, date(2026, 3, 3)))


def _said(note: Note) -> str:
    return f"{note.name}\n{note.description}\n{note.body}"


def _flat(text: str) -> str:
    return " ".join(text.split()).casefold()


def _note(row: dict[str, Any], number: str) -> Note:
    saved = datetime.combine(datetime.fromisoformat(row["saved"]), time(12), UTC)
    file = row.get("file") or f"{file_stem(row['name'], row['type'])}_{number}.md"
    return Note(file, row["type"], row["name"], row["description"], row["body"], saved)


if __name__ == "__main__":
    sys.exit(main())
