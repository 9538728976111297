"""Train the judge of the built-in model's extraction from evals/data/extract and write its file, `make train`.

    python -m evals.train_extract [--out FILE] [--without NAME ...]

A multinomial logistic model with a ridge over the features of every clause and its vector, fitted by L-BFGS: numpy
alone, the same bytes every time on one machine.
"""

from __future__ import annotations

import argparse
import math
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from evals.extract_data import TRAINED, Case, read, talk_of
from memdir.disk.shipped import TABLE_END, shipped_path
from memdir.model.builtin.extract.features import Seen, UserTurn, observe
from memdir.model.builtin.extract.judge import CLASSES, FILE, TYPES, SentenceJudge, meaning_of
from memdir.model.builtin.extract.talk import Talk
from memdir.text.embedding import DIMENSIONS
from memdir.text.language import stems
from memdir.text.speakers import Speaker, pieces_of
from memdir.transcript.message import Text
from memdir.transcript.record import blocks_from

STRENGTH = 0.1  # inverse of the ridge for clauses: many rare words, little data
REQUEST = 0.25  # how much a plain request counts: they are very many
CORPUS = 2.0  # how much a clause of the long, carefully labelled conversations counts
MIN_COUNT = 3  # a feature seen less often is chance
STEP = 0.002  # of a weight in the file
STEPS, MEMORY = 200, 10  # of the optimiser
STEEP = 1e-5  # mean slope at which a fit is good enough
COVERED = 0.5  # of a clause or of a mark that the other must cover
COMMON = 4  # conversations that a stem must stand in to be known as common
HEADING = (
    "# Weights of nothing, feedback, project, user, reference, reason, by what stands in a clause, and of anything due,"
    " by what stands in a message (make train)"
)

Numbers = Any  # an array of numpy
Row = Mapping[str, float]


@dataclass(frozen=True)
class Example:
    """A case with its turns, and the class of every clause by turn and number."""

    case: Case
    talk: Talk
    turns: tuple[UserTurn, ...]
    letters: Mapping[tuple[int, int], str]

    def clauses(self) -> Iterator[tuple[Seen, str]]:
        for turn in self.turns:
            yield from ((seen, self.letters[turn.index, seen.clause.number]) for seen in turn.seen)


def example_of(case: Case) -> Example:
    """A case observed, its marks laid over its clauses."""
    talk = talk_of(case)
    turns = observe(talk)
    letters = {}
    for turn in turns:
        marks = [mark for mark in case["spans"] if mark["message"] == turn.line.message]
        places = list(_places(turn.line.text, [seen.clause.text for seen in turn.seen]))
        spans = [(*next(_places(turn.line.text, [mark["text"]])), mark["letter"]) for mark in marks]
        for seen, place in zip(turn.seen, places, strict=True):
            letters[turn.index, seen.clause.number] = _letter(place, spans)
    return Example(case, talk, turns, letters)


def _places(text: str, parts: Sequence[str]) -> Iterator[tuple[int, int]]:
    """Where each part stands in the text, one after the other; nowhere is the place (0, 0)."""
    at = 0
    for part in parts:
        found = text.find(part, at)
        yield (found, found + len(part)) if found >= 0 else (0, 0)
        at = max(at, found + len(part))


def _letter(place: tuple[int, int], spans: Sequence[tuple[int, int, str]]) -> str:
    """The class of the mark that covers most of a clause; what is to be kept goes before its reason."""
    best, letter = 0.0, "N"
    for start, end, mark in spans:
        shared = min(end, place[1]) - max(start, place[0])
        length = max(1, min(end - start, place[1] - place[0]))
        rank = shared / length + (mark != "W")
        if shared >= COVERED * length and rank > best:
            best, letter = rank, mark
    return letter


def familiarity(examples: Sequence[Example]) -> dict[str, float]:
    """How common each stem is in talk, 0 to 1; a common one says little about a topic."""
    counts = Counter(
        stem for one in examples for stem in {stem for line in one.talk.lines for stem in stems(line.text)}
    )
    scale = math.log(1 + len(examples) / 8)
    return {
        stem: round(min(1.0, math.log(1 + count) / scale), 2)
        for stem, count in sorted(counts.items())
        if count >= COMMON
    }


# ---- fitting -------------------------------------------------------------------------------------------------


def fit(names: Sequence[str], rows: Sequence[Row], dense: Numbers, answers: Numbers, weights: Numbers, strength: float):  # type: ignore[no-untyped-def]
    """Multinomial logistic regression with a ridge: weights by class for each name, then for each dense column."""
    index = {name: at for at, name in enumerate(names)}
    known = [(at, index[name], value) for at, row in enumerate(rows) for name, value in row.items() if name in index]
    owners, columns = (np.array([one[part] for one in known]) for part in (0, 1))
    values = np.array([value for _, _, value in known])
    classes = int(answers.max()) + 1
    wanted = np.eye(classes)[answers]

    def loss(point: Numbers) -> tuple[float, Numbers]:
        table = point.reshape(-1, classes)
        named = [np.bincount(owners, values * table[columns, k], len(rows)) for k in range(classes)]
        scores = np.stack(named, 1) + dense @ table[len(names) :]
        scores -= scores.max(1, keepdims=True)
        powers = np.exp(scores)
        shares = powers / powers.sum(1, keepdims=True)
        cost = -(weights * np.log((shares * wanted).sum(1))).sum() + (point @ point) / 2 / strength
        errors = (shares - wanted) * weights[:, None]
        slopes = [np.bincount(columns, values * errors[owners, k], len(names)) for k in range(classes)]
        return float(cost), np.vstack([np.stack(slopes, 1), dense.T @ errors]).ravel() + point / strength

    size = (len(names) + dense.shape[1]) * classes
    return descend(loss, size, STEEP * float(weights.sum())).reshape(-1, classes)


def descend(loss: Callable[[Numbers], tuple[float, Numbers]], size: int, steep: float) -> Numbers:
    """L-BFGS with a halving line search, down to a slope: small, deterministic, enough for a convex loss."""
    point = np.zeros(size)
    value, slope = loss(point)
    history: list[tuple[Numbers, Numbers, float]] = []
    for _ in range(STEPS):
        direction = _direction(slope, history)
        reach = 1.0 if history else 1.0 / max(1.0, float(np.abs(slope).max()))
        slant = float(direction @ slope)
        while True:
            there = point + reach * direction
            new, turned = loss(there)
            if new <= value + 1e-4 * reach * slant or reach < 1e-10:
                break
            reach /= 2
        change, turn = there - point, turned - slope
        if float(change @ turn) > 1e-12:
            history = [*history[-MEMORY + 1 :], (change, turn, 1 / float(change @ turn))]
        point, value, slope = there, new, turned
        if float(np.abs(slope).max()) < steep:
            break
    return point


def _direction(slope: Numbers, history: Sequence[tuple[Numbers, Numbers, float]]) -> Numbers:
    way, shares = -slope, []
    for change, turn, inverse in reversed(history):
        shares.append(inverse * float(change @ way))
        way = way - shares[-1] * turn
    if history:
        _, turn, inverse = history[-1]
        way = way / (inverse * float(turn @ turn))
    for (change, turn, inverse), share in zip(history, reversed(shares), strict=True):
        way = way + (share - inverse * float(turn @ way)) * change
    return way


def fit_two(
    rows: Sequence[Row], answers: Sequence[bool], strength: float, weights: Sequence[float] = ()
) -> dict[str, float]:
    """Logistic regression for yes and no: the log-odds that each feature adds."""
    names = sorted({name for row in rows for name in row})
    nothing, counts = np.zeros((len(rows), 0)), np.array(weights or [1.0] * len(rows))
    points = fit(names, rows, nothing, np.array(answers, int), counts, 2 * strength)
    return {name: round(float(yes - no), 4) for name, (no, yes) in zip(names, points, strict=True)}


def fit_clauses(examples: Sequence[Example]) -> tuple[dict[str, tuple[int, ...]], tuple[tuple[int, ...], ...]]:
    """Weights of features, the last for the whole message, and of the vector's dimensions, in steps."""
    told = [(seen, letter, one.case) for one in examples for seen, letter in one.clauses()]
    counts = Counter(name for seen, _, _ in told for name in seen.features)
    names = sorted(name for name, count in counts.items() if count >= MIN_COUNT)
    rows = [dict.fromkeys(seen.features, 1.0) for seen, _, _ in told]
    dense = np.array([meaning_of(seen.words) or [0.0] * DIMENSIONS for seen, _, _ in told])
    answers = np.array([CLASSES.index(letter) for _, letter, _ in told])
    weights = np.array([_weight(case) for _, _, case in told])
    points = np.rint(fit(names, rows, dense, answers, weights, STRENGTH) / STEP).astype(int)
    whole = fit_messages(examples, set(names))
    table = {name: (*map(int, row), whole.get(name, 0)) for name, row in zip(names, points, strict=False)}
    meaning = tuple(tuple(map(int, row)) for row in points[len(names) :])
    return {name: row for name, row in table.items() if any(row)}, meaning


def fit_messages(examples: Sequence[Example], known: set[str]) -> dict[str, int]:
    """How much each feature says that anything is due in a message in which it stands somewhere, in steps."""
    told = [
        (turn.seen, any(one.letters[turn.index, seen.clause.number] in TYPES for seen in turn.seen), _weight(one.case))
        for one in examples
        for turn in one.turns
    ]
    rows = [dict.fromkeys((name for seen in some for name in seen.features if name in known), 1.0) for some, *_ in told]
    odds = fit_two(rows, [is_due for _, is_due, _ in told], STRENGTH, [weight for *_, weight in told])
    return {name: round(value / STEP) for name, value in odds.items()}


def _weight(case: Case) -> float:
    if case["author"] == "requests":
        return REQUEST
    return CORPUS if case["author"] in ("xa", "xb") else 1.0


def is_talk(one: Example) -> bool:
    """Whether more than one voice is in a case: an answer, or what somebody else wrote."""
    blocks = (block for message in one.case["messages"] for block in blocks_from(message["content"]))
    pieces = (piece.speaker for block in blocks if isinstance(block, Text) for piece in pieces_of(block.text))
    others = sum(speaker is Speaker.PASTE or speaker.is_host for speaker in pieces)
    return len(one.case["messages"]) > 1 or len(one.talk.lines) + others > 1


def train(examples: Sequence[Example]) -> SentenceJudge:
    """The judge fitted on everything that is given."""
    features, meaning = fit_clauses(examples)
    return SentenceJudge(features, meaning, STEP, familiarity([one for one in examples if is_talk(one)]))


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="python -m evals.train_extract", description=(__doc__ or "").split("\n\n", 1)[0]
    )
    parser.add_argument("--out", type=Path, default=Path(shipped_path(FILE)))
    parser.add_argument("--without", nargs="*", default=[], help="authors to leave out, to be judged on them")
    options = parser.parse_args()
    names = [name for name in TRAINED if name not in options.without]
    examples = [example_of({**case, "author": name}) for name in names for case in read(name)]
    judge = train(examples)
    options.out.write_text("\n".join([HEADING, *written(judge), TABLE_END, ""]), encoding="utf-8")
    print(f"{len(examples)} conversations, {len(judge.features)} features, {options.out.stat().st_size} bytes")
    return 0


def written(judge: SentenceJudge) -> Iterator[str]:
    """The lines of a judge's file; equal judges give equal lines."""
    yield f"scale\tscale\t{judge.scale!r}"
    yield from (f"familiar\t{stem}\t{judge.familiar[stem]!r}" for stem in sorted(judge.familiar))
    yield from (f"meaning\t{at}\t{' '.join(map(str, row))}" for at, row in enumerate(judge.meaning))
    yield from (f"feature\t{name}\t{' '.join(map(str, judge.features[name]))}" for name in sorted(judge.features))


if __name__ == "__main__":
    sys.exit(main())
