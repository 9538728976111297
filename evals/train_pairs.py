"""Train the judge of pairs from `evals/data/pairs` and write its file; the same bytes every time on one machine.

    python -m evals.train_pairs [--out FILE] [--folds]

Beside the labelled pairs as they were written it learns from the same pairs told in other ways, the claim in the
description, and from made ones: two notes of one author that share words are unrelated. `--folds` prints what a judge
makes of the pairs of an author it never saw, at several bars.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from evals.pairs import FOLDER, read_pairs
from evals.pairs import Note as Written
from memdir.model.builtin.dream.pair_features import Note, compared
from memdir.model.builtin.dream.pair_judge import FILE, WIDEST
from memdir.text.body_text import split

RELATIONS = ("same", "replaces", "different", "unrelated")  # in the order of the judge's weights
OUT = Path(__file__).parent.parent / "src" / "memdir" / FILE
RIDGE = 1.0  # holds the weights back; chosen on the folds
MADE = 0.3  # how much a made pair counts
RETOLD = 0.3  # and a pair that is told in another way
STEPS = 60  # of Newton's method at most
EVERY = 7  # notes that a note is held against to find one that shares words with it: each seventh of its author's
BARS = (0.01, 0.02, 0.05, 0.1, 0.2)
Numbers = Any  # an array of numpy
Example = tuple[str, int, float, dict[str, float]]  # author, relation, what it counts, what is observed


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m evals.train_pairs", description=(__doc__ or "").split("\n\n")[0])
    parser.add_argument("--out", type=Path, default=OUT)
    parser.add_argument("--folds", action="store_true", help="print how it does on authors it never saw")
    options = parser.parse_args()
    examples = [one for path in sorted(FOLDER.glob("dev-*.jsonl.gz")) for one in _examples(path)]
    names = list(examples[0][3])
    table = np.array([[seen[name] for name in names] for *_, seen in examples])
    labels = np.array([label for _, label, _, _ in examples])
    counts = np.array([count for _, _, count, _ in examples])
    if options.folds:
        _print_folds(np.array([author for author, *_ in examples]), table, labels, counts)
    usual, weights = _fitted(table, labels, counts)
    lines = ["# What the judge of pairs observes | usual, spread | worth for same, replaces, different, unrelated"]
    rows = zip(["bias", *names], [(0.0, 1.0), *usual.T], weights, strict=True)
    lines += [f"{name} {' '.join(f'{number:.3f}' for number in (*mean, *worth))}" for name, mean, worth in rows]
    options.out.write_text("\n".join([*lines, "# end"]) + "\n", encoding="utf-8")
    print(f"{len(examples)} pairs, {len(names)} observations: {options.out}")
    return 0


def _examples(path: Path) -> Iterator[Example]:
    pairs = list(read_pairs(path))
    notes = [[_read(note) for note in sorted(pair.notes, key=lambda note: note.saved)] for pair in pairs]
    for at, (pair, (older, newer)) in enumerate(zip(pairs, notes, strict=True)):
        others = [two for number, (_, two) in enumerate(notes) if number != at and (number + at) % EVERY == 0]
        nearest = max(others, key=lambda other: len(older.stems & other.stems))
        for relation, count, other in ((pair.relation, 1.0, newer), ("unrelated", MADE, nearest)):
            label = RELATIONS.index(relation)
            yield path.name, label, count, compared(older, other)
            for first, second in zip(_retold(older), _retold(other), strict=True):
                yield path.name, label, count * RETOLD, compared(first, second)


def _read(note: Written) -> Note:
    return Note(note.name, note.description, note.body, note.type)


def _retold(note: Note) -> tuple[Note, Note]:
    """A note as others write it: its claim is the description, and the body only goes on, or says it again."""
    claim, *rest = [note.body[start:end] for start, end in split(note.body)]
    first, again = (Note(note.name_text, claim.rstrip("."), body, note.kind) for body in (" ".join(rest), note.body))
    return first, again


def _fitted(table: Numbers, labels: Numbers, counts: Numbers) -> tuple[Numbers, Numbers]:
    """Means and spreads, and the weights: a ridge regression on the log-odds, by Newton's method."""
    usual = np.round(np.array([table.mean(0), table.std(0) + 1e-3]), 3)
    seen = _standard(table, usual)
    wanted, classes = np.eye(len(RELATIONS))[labels], len(RELATIONS)
    width = seen.shape[1]
    ridge = np.full(width, 2 * RIDGE)
    ridge[0] = 1e-6
    weights = np.zeros((width, classes))
    for _ in range(STEPS):
        likely = _likely(seen, weights)
        slope = seen.T @ ((likely - wanted) * counts[:, None]) + ridge[:, None] * weights
        curve = np.zeros((width * classes, width * classes))
        for one in range(classes):
            for two in range(classes):
                bend = counts * likely[:, one] * ((one == two) - likely[:, two])
                curve[one * width : (one + 1) * width, two * width : (two + 1) * width] = seen.T @ (
                    seen * bend[:, None]
                )
        curve += np.diag(np.tile(ridge, classes)) + 1e-6 * np.eye(width * classes)
        step = np.linalg.solve(curve, slope.T.ravel()).reshape(classes, width).T
        weights -= step
        if np.abs(step).max() < 1e-7:
            break
    return usual, weights


def _standard(table: Numbers, usual: Numbers) -> Numbers:
    return np.hstack([np.ones((len(table), 1)), np.clip((table - usual[0]) / usual[1], -WIDEST, WIDEST)])


def _likely(seen: Numbers, weights: Numbers) -> Numbers:
    sums = seen @ weights
    powers = np.exp(sums - sums.max(1, keepdims=True))
    return powers / powers.sum(1, keepdims=True)


def _print_folds(authors: Numbers, table: Numbers, labels: Numbers, counts: Numbers) -> None:
    one_subject = np.zeros(len(labels))
    for author in sorted(set(authors)):
        others = authors != author
        usual, weights = _fitted(table[others], labels[others], counts[others])
        one_subject[~others] = _likely(_standard(table[~others], usual), weights)[:, :2].sum(1)
    written = counts == 1.0
    titles = ["pairs of notes", *sorted(set(authors[written]))]
    for title in titles:
        these = written & ((authors == title) | (title == titles[0]))
        likely, kind = one_subject[these], labels[these]
        apart = np.sort(likely[kind > 1])[::-1]
        for share in BARS:
            bar = apart[int(share * len(apart))]
            same, replaced = ((likely[kind == label] > bar).mean() for label in (0, 1))
            print(f"{title}: bar {bar:.2f}  others over it {share:.0%}  same {same:.0%}  replaced {replaced:.0%}")


if __name__ == "__main__":
    sys.exit(main())
