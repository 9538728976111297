"""The learned judge of pairs: the same, newer replaces older, another subject, or unrelated (D3).

A linear model over the observations of `pair_features`; `evals/train_pairs.py` makes its file, one observation a line.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

from memdir.disk.shipped import shipped_lines
from memdir.model.builtin.dream.pair_features import Note, compared

WIDEST = 3.0  # an observation further from the usual than this says no more
FILE = "model/builtin/dream/pair_judge.txt"


@dataclass(frozen=True)
class Likelihood:
    """How likely each relation is."""

    same: float
    replaces: float

    @property
    def one_subject(self) -> float:
        """How likely both speak of one thing."""
        return self.same + self.replaces


@dataclass(frozen=True)
class PairJudge:
    """What is usual for each observation, and what it is worth for each relation."""

    usual: Mapping[str, tuple[float, float]]  # mean and spread
    weights: Mapping[str, tuple[float, ...]]
    bias: tuple[float, ...]

    def verdict(self, older: Note, newer: Note) -> Likelihood:
        """How two notes stand to each other; a claim that stands word by word in both leaves no doubt."""
        is_one = older.description == newer.description != "" and all(x.repeats(x.description) for x in (older, newer))
        if older.kind == newer.kind and (is_one or older.body.strip() == newer.body.strip() != ""):
            return Likelihood(1.0, 0.0)
        seen = compared(older, newer)
        sums = list(self.bias)
        for name, (mean, spread) in self.usual.items():
            value = max(-WIDEST, min(WIDEST, (seen[name] - mean) / spread))
            for at, weight in enumerate(self.weights[name]):
                sums[at] += weight * value
        top = max(sums)
        powers = [math.exp(value - top) for value in sums]
        return Likelihood(powers[0] / sum(powers), powers[1] / sum(powers))


@cache
def shipped_judge() -> PairJudge:
    """The judge that ships with the package, read once."""
    rows = [line.rsplit(maxsplit=6) for line in shipped_lines(FILE)]
    usual = {name: (float(mean), float(spread)) for name, mean, spread, *_ in rows if name != "bias"}
    weights = {name: tuple(map(float, worth)) for name, _, _, *worth in rows}
    return PairJudge(usual, weights, weights["bias"])
