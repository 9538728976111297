"""The trained judge: from observed features to how likely a clause is a rule, a fact, a pointer, a reason or nothing.

One linear model over named features and the vector of the clause's words, and one over those of the whole message that
says whether anything is due in it at all. The shipped file is text that a person can review, a feature a line with its
weight for each class and for the message; `make train` writes it.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from operator import mul

from memdir.disk.shipped import shipped_lines
from memdir.text.embedding import open_table

CLASSES = ("N", "F", "P", "U", "R", "W")  # nothing, feedback, project, user, reference, a reason or its use
TYPES = {"F": "feedback", "P": "project", "U": "user", "R": "reference"}
FILE = "model/builtin/extract/judge.txt"
MEANING = 4.0  # how much the vector counts beside one feature
WHOLE = 0.38  # how much the message counts beside the clause
MOST_DUE = 3.0  # log-odds: a message full of news makes no news of each of its clauses

Weights = tuple[int, ...]  # one a class, of a feature also one for the message, in steps of the judge's scale


@dataclass(frozen=True)
class SentenceJudge:
    """Weights by feature and by dimension of the meaning."""

    features: Mapping[str, Weights]
    meaning: tuple[Weights, ...]
    scale: float
    familiar: Mapping[str, float]  # how little a common stem says about a topic, 0 to 1

    @cached_property
    def _columns(self) -> tuple[Weights, ...]:
        return tuple(zip(*self.meaning, strict=True)) or ((),) * len(CLASSES)

    def due(self, features: Iterable[str]) -> float:
        """The log-odds that a message has anything to keep, by what stands in any of its clauses."""
        told = sum(self.features[name][-1] for name in set(features) if name in self.features)
        return min(MOST_DUE, self.scale * told)

    def probabilities(self, features: Iterable[str], words: Sequence[str], due: float = 0.0) -> dict[str, float]:
        """How likely each class is in a message in which something is `due`."""
        sums = [0.0] * len(CLASSES)
        for feature in features:
            for at, weight in enumerate(self.features.get(feature, ())[: len(CLASSES)]):
                sums[at] += weight
        sums[0] -= WHOLE * due / self.scale
        if values := meaning_of(words):
            sums = [sum(map(mul, values, column), start) for start, column in zip(sums, self._columns, strict=True)]
        top = max(sums)
        powers = [math.exp((value - top) * self.scale) for value in sums]
        total = sum(powers)
        return {name: power / total for name, power in zip(CLASSES, powers, strict=True)}


def meaning_of(words: Sequence[str]) -> list[float]:
    """The direction of some words, of length MEANING; empty when the table knows none of them."""
    summed = _table().question_sum(list(words))
    values = summed.values() if summed else []
    length = math.sqrt(sum(value * value for value in values))
    return [MEANING * value / length for value in values] if length else []


_table = cache(open_table)


@cache
def shipped() -> SentenceJudge:
    """The judge that ships with the package, read once."""
    return read(shipped_lines(FILE))


def read(lines: Iterable[str]) -> SentenceJudge:
    """A judge from the lines of its file."""
    parts: dict[str, dict[str, str]] = {}
    for line in lines:
        part, name, values = line.split("\t")
        parts.setdefault(part, {})[name] = values
    features = {name: _whole(values) for name, values in parts["feature"].items()}
    meaning = tuple(_whole(values) for values in parts.get("meaning", {}).values())
    familiar = {stem: float(one) for stem, one in parts.get("familiar", {}).items()}
    return SentenceJudge(features, meaning, float(parts["scale"]["scale"]), familiar)


def _whole(values: str) -> Weights:
    return tuple(map(int, values.split()))
