"""Learn what a message asks for from labelled messages: `recall/data/needs.txt`.

    python -m evals.train_recall.needs [--write]

Reads the worlds among the lessons and the read stores (`evals/data`); prints how well each author's messages are told
apart by what was learned without them. The same data gives the same bytes on one machine. Needs numpy.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from evals.stores import FOLDER, authors, read_stores
from memdir.disk.shipped import TABLE_END, shipped_path
from memdir.recall.decide import JUDGED, NEEDS_PATH, PER_UNIT, marks_of

WORLDS = Path(__file__).parents[1] / "data" / "lessons" / "worlds"
STORE_WEIGHT = 2.0  # of a message of a store: people write to theirs as they do, the worlds are tidy; more cost worlds
LEAST_SEEN = 4  # messages that a word is in, or nothing is learned of it
SHRINK = 3.0  # towards no say at all
ROUNDS, RATE = 150, 0.5
LEAST_SAID = 10  # hundredths: a word that says less is left out
HEAD = f"# How much a word, or two side by side, speaks for a message that needs {', '.join(JUDGED)}; in hundredths"


@dataclass(frozen=True)
class Told:
    """One labelled message: what is seen of it, and which of JUDGED it needs."""

    marks: dict[str, float]
    needs: tuple[bool, ...]
    is_store: bool


def told_in(source: dict[str, Any], *, is_store: bool) -> list[Told]:
    kinds = {memory["file"]: memory["type"] for memory in source["memories"]}
    out = []
    for query in source["queries"]:
        needed = {kinds[name] for name in query["relevant"]}
        needs = (not needed, *(kind in needed for kind in JUDGED[1:]))
        out.append(Told(marks_of(query["query"]), needs, is_store))
    return out


def of_worlds() -> list[Told]:
    return [
        one
        for path in sorted(WORLDS.glob("*.json"))
        for one in told_in(json.loads(path.read_text("utf-8")), is_store=False)
    ]


def of_author(author: str) -> list[Told]:
    return [one for store in read_stores(FOLDER, author) for one in told_in(store, is_store=True)]


class Learned:
    """Weights of all marks, one row a mark in the order of `names`."""

    def __init__(self, messages: list[Told]) -> None:
        seen = Counter(name for one in messages for name in one.marks)
        self.names = sorted(name for name, count in seen.items() if count >= LEAST_SEEN)
        place = {name: at for at, name in enumerate(self.names)}
        held = [
            (row, place[name], value)
            for row, one in enumerate(messages)
            for name, value in one.marks.items()
            if name in place
        ]
        rows, columns = np.array([one[0] for one in held]), np.array([one[1] for one in held])
        values = np.array([one[2] for one in held])
        is_store = np.array([one.is_store for one in messages])
        self.weights = np.zeros((len(self.names), len(JUDGED)))
        for at in range(len(JUDGED)):
            wanted = np.array([one.needs[at] for one in messages], float)
            self.weights[:, at] = self._fit(rows, columns, values, wanted, _balanced(wanted, is_store))

    def _fit(
        self, rows: np.ndarray, columns: np.ndarray, values: np.ndarray, wanted: np.ndarray, counts: np.ndarray
    ) -> np.ndarray:
        """A logistic model by plain descent, each weight with steps of its own."""
        weights, walked = np.zeros(len(self.names)), np.full(len(self.names), 1e-6)
        shrink = np.array([0.0 if name == "=always" else SHRINK for name in self.names])
        for _ in range(ROUNDS):
            scores = np.bincount(rows, values * weights[columns], len(wanted))
            error = counts * (1 / (1 + np.exp(-scores)) - wanted)
            slope = np.bincount(columns, values * error[rows], len(weights)) + shrink * weights
            walked += slope * slope
            weights = weights - RATE * slope / np.sqrt(walked)
        return weights

    def file(self) -> bytes:
        """As it ships: what says too little is left out."""
        lines = []
        for name, row in zip(self.names, np.rint(self.weights * PER_UNIT).astype(int), strict=True):
            if name[0] == "=" or abs(row).max() >= LEAST_SAID:
                lines.append(f"{name} {' '.join(map(str, row))}\n")
        return f"{HEAD}\n{''.join(lines)}{TABLE_END}\n".encode()


def _balanced(wanted: np.ndarray, is_store: np.ndarray) -> np.ndarray:
    """Those that need it and those that do not count the same, in worlds and in stores."""
    counts = np.where(is_store, STORE_WEIGHT, 1.0)
    for part in (is_store, ~is_store):
        share = wanted[part].mean() if part.any() else 0.0
        counts[part] *= 2 * np.where(wanted[part] > 0, 1 - share, share)
    return counts


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="python -m evals.train_recall.needs", description=(__doc__ or "").split("\n\n", 1)[0]
    )
    parser.add_argument("--write", action="store_true", help="the file that ships")
    options = parser.parse_args()
    data = Learned([*of_worlds(), *[one for author in authors() for one in of_author(author)]]).file()
    print(f"{len(data.splitlines()) - 2:,} words, {len(data):,} bytes")
    if options.write:
        Path(shipped_path(NEEDS_PATH)).write_bytes(data)
    return 0


if __name__ == "__main__":
    sys.exit(main())
