"""Extraction scored on each dev author by a judge that was trained without him: what rules and bars are decided on.

    python -m evals.left_out [--judges FOLDER]

Judges that lie in the folder are taken as they are: a rule is tried without training six again. Those that are missing
are trained and put there.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any
from unittest.mock import patch

from evals.extract import print_table, run
from evals.extract_data import DEV, TRAINED, read
from evals.models import named_model
from evals.score_extract import score
from evals.train_extract import example_of, train, written
from memdir.model.builtin.extract import draft
from memdir.model.builtin.extract.judge import read as read_judge

Result = tuple[Mapping[str, Any], list[dict[str, str]]]


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m evals.left_out", description=(__doc__ or "").split("\n\n", 1)[0])
    parser.add_argument("--judges", type=Path, help="the folder of the judges, AUTHOR.txt each")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as nowhere:
        folder = options.judges or Path(nowhere)
        train_missing(folder)
        results = {author: list(judged(author, folder)) for author in DEV}
    columns = {author: score(some).rows() for author, some in results.items()}
    print_table({"dev": score(one for some in results.values() for one in some).rows(), **columns})
    return 0


def train_missing(folder: Path) -> None:
    """Train a judge without each author that has none yet; every conversation is observed once."""
    missing = [author for author in DEV if not _file(folder, author).exists()]
    if not missing:
        return
    folder.mkdir(parents=True, exist_ok=True)
    examples = [example_of({**case, "author": name}) for name in TRAINED for case in read(name)]
    for author in missing:
        judge = train([one for one in examples if one.case["author"] != author])
        _file(folder, author).write_text("\n".join(written(judge)), encoding="utf-8")
        print(f"trained without {author}", file=sys.stderr)


def _file(folder: Path, author: str) -> Path:
    return folder / f"{author}.txt"


def judged(author: str, folder: Path) -> Iterator[Result]:
    """What an author's conversations leave behind with the judge that has not read them."""
    model, name = named_model("builtin")
    judge = read_judge(_file(folder, author).read_text(encoding="utf-8").split("\n"))
    with patch.object(draft, "shipped", lambda: judge):
        yield from ((case, run(case, model, name)) for case in read(author))


if __name__ == "__main__":
    sys.exit(main())
