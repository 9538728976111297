"""Learn the decision's numbers from the read stores, beginning with what the worlds of the lessons said.

    python -m evals.train_recall.calibrate --encoder words|pair [--write]

A logistic model of how likely a candidate is clearly useful. Few stores must not unlearn what many worlds told, so its
weights are held near `evals/data/lessons/prior.txt`. For `pair` a second one weighs what that says with what reading
message and memory together says (`evals/data/lessons/relevance.npz`: by a reader that never saw the author).

Prints what it gives on each author's stores when it was learned from the others', and writes what was learned from all.
Needs numpy, and for `pair` the extra `minilm`.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from evals.recall import count_answer, figures_of, seconds
from evals.sentences import encoders
from evals.stores import FOLDER, SCOPES, Store, answers_in, authors, read_stores, segment_of
from evals.train_recall.needs import Learned, of_author, of_worlds
from memdir.disk.shipped import TABLE_END, shipped_lines
from memdir.recall.decide import (
    LEARNED_PATH,
    MOST_READ,
    NAMES,
    Asked,
    Calibration,
    Needs,
    decide,
    signals,
    tool_terms,
)
from memdir.search.document import Question, day_of
from memdir.search.ranking import rank

if TYPE_CHECKING:
    from memdir.recall.decide import Read
    from memdir.search.vectors import Encoder

LESSONS = Path(__file__).parents[1] / "data" / "lessons"
PRIOR = LESSONS / "prior.txt"
RELEVANCE = LESSONS / "relevance.npz"  # evals/train_recall/reader.py makes it
STRENGTH = 12_000.0  # of the prior, beside a signal's own scale; less gave stores .01 more and worlds .03 less
FREE = 10.0  # the same for a signal that the prior says nothing of
EMPTY_WEIGHT = 1.3  # of a candidate for a message that needs nothing
STEPS = 40


# threshold, margin of every further one, gate, slope, rise in small stores, nearness among a handful (of a hundred
# unrelated memories few are as near): the best for stores, each author by what was learned from the others, and for
# worlds together, among those that answer at most 7 of 100 messages that need nothing.
BARS = {
    "words": (-1.2, 1.0, -0.5, 2.0, 0.4, 0.2),
    "pair": (-1.2, 1.0, -0.5, 2.0, 0.3, 0.25),
}


READ_BAR, READ_MARGIN = -0.9, 0.8  # the same once message and memory were read together: answers 8 of 100 needlessly


@dataclass(frozen=True)
class Pair:
    """One candidate for one message."""

    numbers: list[float]
    is_relevant: bool
    weight: float


def pairs_in(store: Store, encoder: Encoder, needs: Needs) -> Iterator[Pair]:
    """Every candidate of every message, scope by scope as in the program; what is merely acceptable says nothing."""
    today = day_of(seconds(store["now"]))
    segments = [segment for scope in SCOPES if (segment := segment_of(store, scope, encoder)) is not None]
    for query in store["queries"]:
        tools = tool_terms(query["recent_tools"])
        for segment in segments:
            question = Question(query["query"], encoder, today=today)
            ranking = rank(question, [segment])
            asked = Asked(question, ranking, needs)
            for place, candidate in enumerate(ranking.candidates):
                is_relevant = candidate.key in query["relevant"]
                if is_relevant or candidate.key not in query["acceptable"]:
                    numbers = signals(asked, ranking, place, today=today, tools=tools) + asked.shared
                    yield Pair(numbers, is_relevant, 1.0 if query["relevant"] else EMPTY_WEIGHT)


def prior_of(encoder: str) -> dict[str, float]:
    lines = [line.split(" ", 2) for line in PRIOR.read_text("utf-8").splitlines() if line[0] != "#"]
    return {name: float(weight) for whose, weight, name in lines if whose == encoder}


def fit(pairs: list[Pair], encoder: str) -> tuple[np.ndarray, float]:
    """Weights in the order of NAMES and the bias, by Newton's method with halved steps where a whole one is too far."""
    prior = prior_of(encoder)
    inputs = np.array([one.numbers for one in pairs])
    wanted, counts = np.array([float(one.is_relevant) for one in pairs]), np.array([one.weight for one in pairs])
    middle, scale = inputs.mean(0), inputs.std(0) + 1e-6
    known = np.array([prior.get(name, 0.0) for name in NAMES])
    start = np.append(known * scale, prior["bias"] + (known * middle).sum())
    hold = np.array([STRENGTH if name in prior else FREE for name in NAMES] + [1e-3])
    scaled = np.c_[(inputs - middle) / scale, np.ones(len(inputs))]

    def loss(weights: np.ndarray) -> float:
        scores = scaled @ weights
        return float(
            (counts * (np.logaddexp(0, scores) - wanted * scores)).sum() + (hold * (weights - start) ** 2).sum() / 2
        )

    weights = start
    for _ in range(STEPS):
        sure = 1 / (1 + np.exp(-np.clip(scaled @ weights, -30, 30)))
        slope = scaled.T @ (counts * (sure - wanted)) + hold * (weights - start)
        bend = (scaled * (counts * sure * (1 - sure))[:, None]).T @ scaled + np.diag(hold)
        step = np.linalg.solve(bend, slope)
        while loss(weights - step) > loss(weights) and abs(step).max() > 1e-9:
            step = step / 2
        weights = weights - step
    raw = weights[:-1] / scale
    return raw, float(weights[-1] - (raw * middle).sum())


def fields_of(pairs: list[Pair], encoder: str) -> dict[str, str]:
    """What was learned, as it is written."""
    weights, bias = fit(pairs, encoder)
    numbers = {"bars": BARS[encoder], "bias": (bias,), "weights": weights}
    return {name: " ".join(f"{number:.4f}" for number in row) for name, row in numbers.items()}


def reads_of(author: str, store: Store) -> list[Read]:
    """What a reader that never saw the author says of each message with each memory."""
    rows = np.load(RELEVANCE)[f"{author}|{store['world']}"]
    place = {memory["file"]: at for at, memory in enumerate(store["memories"])}

    def read_of(row: np.ndarray) -> Read:
        return lambda keys: [float(row[place[key]]) for key in keys]

    return [read_of(row) for row in rows]


def readings_in(store: Store, author: str, encoder: Encoder, learned: Calibration) -> Iterator[Pair]:
    """The surest candidates of every message: how far above the bar, what reading says, and whether they are needed."""
    today = day_of(seconds(store["now"]))
    segments = [segment for scope in SCOPES if (segment := segment_of(store, scope, encoder)) is not None]
    for query, read in zip(store["queries"], reads_of(author, store), strict=True):
        for segment in segments:
            question = Question(query["query"], encoder, today=today)
            ranking = rank(question, [segment])
            decision = decide(question, ranking, learned, today=today, recent_tools=query["recent_tools"])
            bar = learned.bar(decision.emptiness, ranking.documents)
            for verdict in decision.verdicts[:MOST_READ]:
                key = verdict.candidate.key
                if key in query["relevant"] or key not in query["acceptable"]:
                    numbers = [verdict.certainty - bar, *read([key])]
                    yield Pair(numbers, key in query["relevant"], 1.0 if query["relevant"] else EMPTY_WEIGHT)


def fit_reading(pairs: list[Pair]) -> str:
    """The weights of both and the bias, as they are written; with the margin."""
    inputs = np.array([[*one.numbers, 1.0] for one in pairs])
    wanted, counts = np.array([float(one.is_relevant) for one in pairs]), np.array([one.weight for one in pairs])
    weights = np.zeros(3)
    for _ in range(STEPS):
        sure = 1 / (1 + np.exp(-inputs @ weights))
        slope = inputs.T @ (counts * (sure - wanted)) + weights
        bend = (inputs * (counts * sure * (1 - sure))[:, None]).T @ inputs + np.eye(3)
        weights = weights - np.linalg.solve(bend, slope)
    return f"{weights[0]:.4f} {weights[1]:.4f} {weights[2] - READ_BAR:.4f} {READ_MARGIN:.4f}"


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="python -m evals.train_recall.calibrate", description=(__doc__ or "").split("\n\n", 1)[0]
    )
    parser.add_argument("--encoder", choices=("words", "pair"), required=True)
    parser.add_argument("--write", action="store_true", help="into the file that ships")
    options = parser.parse_args()
    known = encoders()
    encoder = known.words if options.encoder == "words" else known.pair
    assert encoder is not None, "the extra minilm is not installed"
    worlds, name = of_worlds(), options.encoder
    told = {author: of_author(author) for author in authors()}
    judged = {  # each author's messages by what was learned of the others'
        author: Needs(Learned([*worlds, *[one for other in told if other != author for one in told[other]]]).file())
        for author in told
    }
    pairs = {
        author: [pair for store in read_stores(FOLDER, author) for pair in pairs_in(store, encoder, needs)]
        for author, needs in judged.items()
    }
    others = {
        author: fields_of([pair for other in pairs if other != author for pair in pairs[other]], name)
        for author in pairs
    }
    read: dict[str, list[Pair]] = {}
    if encoder.reader is not None:
        for author, fields in others.items():
            learned = calibration_of(fields, judged[author])
            stores = read_stores(FOLDER, author)
            read[author] = [pair for store in stores for pair in readings_in(store, author, encoder, learned)]
    for author, fields in others.items():
        if read:
            fields["reading"] = fit_reading([pair for other in read if other != author for pair in read[other]])
        learned = calibration_of(fields, judged[author])
        rows = [
            count_answer(query, files)
            for store in read_stores(FOLDER, author)
            for _, query, files in answers_in(store, encoder, learned, reads_of(author, store) if read else None)
        ]
        figures = [f"{figure} {value:.3f}" for figure, value in figures_of(rows).items()]
        print(f"{author} by the others: " + "  ".join(figures), flush=True)
    if options.write:
        fields = fields_of([pair for some in pairs.values() for pair in some], name)
        if read:
            fields["reading"] = fit_reading([pair for some in read.values() for pair in some])
        write_fields(name, fields)
    return 0


def calibration_of(fields: dict[str, str], needs: Needs) -> Calibration:
    return Calibration({field: [float(number) for number in row.split()] for field, row in fields.items()}, needs)


def write_fields(encoder: str, fields: dict[str, str], *, path: Path = Path(LEARNED_PATH)) -> None:
    """Put the learned numbers of one encoder into the file that ships; those of the other stay."""
    kept = [line for line in shipped_lines(str(path)) if line.split()[0] != encoder]
    lines = sorted([*kept, *[f"{encoder} {field} {numbers}" for field, numbers in fields.items()]])
    path.write_text("".join(f"{line}\n" for line in [*lines, TABLE_END]), encoding="ascii")


if __name__ == "__main__":
    sys.exit(main())
