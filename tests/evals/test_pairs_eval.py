"""The table of pairs counts what a night did to two notes, and fails where it lost or touched what it must not."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

from evals.pairs import FOLDER, Outcome, Pair, counted, outcomes, read_pairs, rows

ROW = {
    "relation": "replaces",
    "language": "en",
    "a": {
        "type": "project",
        "name": "Gateway timeout",
        "description": "The gateway timeout is 30 s",
        "body": "The request timeout of the gateway is 30 s. Noor owns it.",
        "saved": "2026-03-01",
    },
    "b": {
        "type": "project",
        "name": "Gateway timeout",
        "description": "The gateway timeout is 45 s now",
        "body": "The request timeout of the gateway is 45 s now (was 30 s).",
        "saved": "2026-04-11",
    },
    "kept": ["45 s", "Noor", "a meaning that stands nowhere in these words"],
    "gone": ["30 s"],
}


def test_a_pair_is_read_with_the_words_that_can_be_looked_for(tmp_path: Path) -> None:
    path = tmp_path / "dev-x.jsonl.gz"
    path.write_bytes(gzip.compress(json.dumps(ROW).encode()))
    [pair] = read_pairs(path)
    assert (pair.kept, pair.gone) == (("45 s", "Noor"), ("30 s",))
    [(_, outcome)] = outcomes("dev", tmp_path)
    assert outcome.lost == ()


def test_the_table_counts_each_relation_by_what_may_and_may_not_happen() -> None:
    notes = next(read_pairs(FOLDER / "dev-d.jsonl.gz")).notes
    found = [
        (Pair("1", "same", notes), Outcome("merged")),
        (Pair("2", "replaces", notes), Outcome("untouched", asked=True)),
        (Pair("3", "replaces", notes, ("x",), ("y",)), Outcome("corrected", False, ("x",), ("y",))),
        (Pair("4", "different", notes), Outcome("touched")),
        (Pair("5", "different", notes), Outcome("untouched", asked=True)),
    ]
    count = counted(found)
    assert count["same merged"] == (1, 1)
    assert count["replaced corrected"] == (1, 2)
    assert count["… corrected or asked"] == (2, 2)
    assert count["… corrected, the old still claimed"] == (1, 1)
    assert count["different touched"] == (1, 2)
    assert count["something lost"] == (1, 1)
    assert rows({"dev": found, "unread": []})[1] == ["same merged", "1 of 1", "0 of 0"]
