"""Learn the decision's numbers from the read stores, beginning with what the worlds of the lessons said.

    python -m evals.train_recall.calibrate --encoder words|pair [--write]

A logistic model of how likely a candidate is clearly useful. Few stores must not unlearn what many worlds told, so its
weights are held near `evals/data/lessons/prior.txt`. Prints what it gives on each author's stores when it was learned
from the others', and writes what was learned from all. Needs numpy, and for `pair` the extra `minilm`.
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
from memdir.recall.decide import LEARNED_PATH, NAMES, Asked, Calibration, Needs, signals, tool_terms
from memdir.search.document import Question, day_of
from memdir.search.ranking import rank

if TYPE_CHECKING:
    from memdir.search.vectors import Encoder

PRIOR = Path(__file__).parents[1] / "data" / "lessons" / "prior.txt"
STRENGTH = 8000.0  # of the prior, beside a signal's own scale; less gave stores .01 more and worlds .03 less
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
    for author, needs in judged.items():
        fields = fields_of([pair for other in pairs if other != author for pair in pairs[other]], name)
        learned = Calibration({field: [float(n) for n in row.split()] for field, row in fields.items()}, needs)
        rows = [
            count_answer(query, files)
            for store in read_stores(FOLDER, author)
            for _, query, files in answers_in(store, encoder, learned)
        ]
        figures = [f"{figure} {value:.3f}" for figure, value in figures_of(rows).items()]
        print(f"{author} by the others: " + "  ".join(figures), flush=True)
    if options.write:
        write_fields(name, fields_of([pair for some in pairs.values() for pair in some], name))
    return 0


def write_fields(encoder: str, fields: dict[str, str], *, path: Path = Path(LEARNED_PATH)) -> None:
    """Put the learned numbers of one encoder into the file that ships; those of the other stay."""
    kept = [line for line in shipped_lines(str(path)) if line.split()[0] != encoder]
    lines = sorted([*kept, *[f"{encoder} {field} {numbers}" for field, numbers in fields.items()]])
    path.write_text("".join(f"{line}\n" for line in [*lines, TABLE_END]), encoding="ascii")


if __name__ == "__main__":
    sys.exit(main())
