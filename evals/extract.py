"""Run extraction over a corpus of conversations and write what it would save, for a scorer to judge.

    python -m evals.extract                                                          dev beside unread, one table
    python -m evals.extract --data corpus.jsonl --predictions out.jsonl [--model NAME]

A line of the corpus is `{id, now, instructions, existing, messages, ...}`; a line of the predictions is
`{id, written: [{file, name, description, type, body, action}]}`. The summary needs no scorer: how much was written,
of which type, and in how many conversations nothing was.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from evals.extract_data import DEV, UNREAD, read
from evals.extract_run import run_case
from evals.models import HELP, named_model
from evals.score_extract import score
from memdir.errors import MemdirError
from memdir.model.model import Model

Written = dict[str, str]
Rows = dict[str, dict[str, float | None]]


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m evals.extract", description=(__doc__ or "").split("\n\n", 1)[0])
    parser.add_argument("--data", type=Path)
    parser.add_argument("--predictions", type=Path)
    parser.add_argument("--model", default="builtin", help=HELP)
    options = parser.parse_args()
    if options.data is None or options.predictions is None:
        print_table(rows(options.model))
        return 0
    cases = [json.loads(line) for line in options.data.read_text(encoding="utf-8").splitlines() if line.strip()]
    model, name = named_model(options.model)
    began = time.process_time()
    results = [(case, run(case, model, name)) for case in cases]
    spent = time.process_time() - began
    with options.predictions.open("w", encoding="utf-8") as out:
        for case, written in results:
            out.write(json.dumps({"id": case["id"], "written": written}, ensure_ascii=False) + "\n")
    report(results, spent)
    return 0


def rows(name: str = "builtin") -> Rows:
    """The figures over our own corpora: what was looked at beside what nobody read."""
    model, called = named_model(name)
    folds = {"dev": DEV, "unread": UNREAD}
    return {
        fold: score((case, run(case, model, called)) for author in authors for case in read(author)).rows()
        for fold, authors in folds.items()
    }


def print_table(columns: Rows) -> None:
    """Figures by fold, one a line."""
    print(f"{'extraction':32}" + "".join(f"{fold:>10}" for fold in columns))
    for figure in columns["dev"]:
        cells = (column[figure] for column in columns.values())
        print(f"{figure:32}" + "".join(f"{'-' if cell is None else f'{cell:.3f}':>10}" for cell in cells))


def run(case: Mapping[str, Any], model: Model, name: str) -> list[Written]:
    """What one conversation leaves behind, through the real fork, gate and store; a failing model leaves nothing."""
    try:
        return run_case(case, model, name)
    except MemdirError as error:
        print(f"{case['id']}: {error.message}", file=sys.stderr)
        return []


def report(results: list[tuple[Mapping[str, Any], list[Written]]], spent: float) -> None:
    """Print how much was written and how often nothing was, split by what the corpus expects when it says so."""
    everything = [one for _, written in results for one in written]
    types = Counter(one["type"] for one in everything)
    actions = Counter(one["action"].split(":")[0] for one in everything)
    silent = sum(not written for _, written in results)
    each = 1000 * spent / max(1, len(results))
    print(f"conversations {len(results)}   written {len(everything)}   silent {silent}   {each:.1f} ms each")
    print("types " + ", ".join(f"{name} {count}" for name, count in types.most_common()))
    print("actions " + ", ".join(f"{name} {count}" for name, count in actions.most_common()))
    labelled = [(case, written) for case, written in results if "expect" in case]
    expecting = [one for one in labelled if one[0]["expect"]]
    empty = [one for one in labelled if not one[0]["expect"]]
    for title, group in (("something expected", expecting), ("nothing expected", empty)):
        if group:
            quiet = sum(not written for _, written in group)
            print(f"{title}: {len(group)} conversations, silent on {quiet} ({quiet / len(group):.1%})")


if __name__ == "__main__":
    sys.exit(main())
