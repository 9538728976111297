"""Learn the decision's weights from the labelled worlds, each judged by vectors from a table that never saw it.

    python -m evals.train_recall.calibrate --worlds DIR --vectors oof.npz --out calibration.json

Two logistic models: how likely a message needs no memory at all, and how likely a candidate is clearly useful. Prints
the held-out figures over a grid of bars; the chosen bar and the weights are copied to `memdir/recall/calibration.py`.
"""

from __future__ import annotations

import argparse
import json
import sys
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import StandardScaler

from evals.train_recall.worlds import World, folds_of, read_worlds
from memdir.recall.card import day_of, make_card
from memdir.recall.document import Document
from memdir.recall.embedding import DIMENSIONS, Table, open_table
from memdir.recall.planes import asked as asked_direction
from memdir.recall.planes import held
from memdir.recall.question import Question
from memdir.recall.rank import rank
from memdir.recall.segment import Segment, pack
from memdir.recall.signals import NAMES, Asked, message_signals, names_tool, signals, tool_terms

USEFUL_STRENGTH = 0.01  # inverse regularisation; stronger and weaker gave no more on the held-out worlds
EMPTY_STRENGTH = 0.02
MAX_EMPTINESS = 5.0
BARS = [-2.4, -2.2, -2.0, -1.8, -1.6, -1.4]
GATE, GATE_SLOPE, NEXT_MARGIN = -0.5, 1.0, 0.6


@dataclass
class Message:
    """One labelled message with the numbers of its candidates."""

    relevant: frozenset[str]
    neutral: frozenset[str]
    direction: list[float]
    keys: list[str]
    numbers: list[list[float]]
    is_usage: list[bool]
    emptiness: float = field(default=0.0)


def read_messages(world: World, vectors: dict[str, np.ndarray], table: Table) -> list[Message]:
    """Rank every message of a world with held-out vectors and note the signals."""
    heads, wholes, asked = (vectors[f"{world['world']}|{name}"].astype(np.float64) for name in ("d", "f", "q"))
    cards = []
    for at, memory in enumerate(world["memories"]):
        mtime_ns = int(datetime.fromisoformat(memory["mtime"].replace("Z", "+00:00")).timestamp()) * 10**9
        fields = {"title": memory["name"], "description": memory["description"], "body": memory["body"]}
        card = make_card(Document(memory["file"], kind=memory["type"], mtime_ns=mtime_ns, **fields), table)
        card.vectors = [one for row in (heads[at], wholes[at]) if (one := held(row.tolist())) is not None]
        cards.append(card)
    segment = Segment(pack(cards, table.identity, DIMENSIONS))
    today = day_of(datetime.fromisoformat(world["now"].replace("Z", "+00:00")).timestamp())
    return [_message(query, asked[at], segment, table, today) for at, query in enumerate(world["queries"])]


def _message(query: World, direction: np.ndarray, segment: Segment, table: Table, today: int) -> Message:
    question = Question(query["query"], table)
    question.vector = asked_direction(direction.tolist())
    ranking = rank(question, [segment], table)
    asked, tools = Asked(question, ranking, 0.0), tool_terms(query["recent_tools"])
    sims = [*sorted((one.similarity for one in ranking.candidates), reverse=True), 0.0, 0.0]
    numbers = [
        signals(asked, ranking, at, today=today, tools=tools, second=sims[1] if one.similarity == sims[0] else sims[0])
        for at, one in enumerate(ranking.candidates)
    ]
    return Message(
        relevant=frozenset(query["relevant"]),
        neutral=frozenset(query["acceptable"]),
        direction=[*direction.tolist(), *message_signals(question), asked.unknown, asked.best_coverage],
        keys=[one.key for one in ranking.candidates],
        numbers=numbers,
        is_usage=[one.facts.usage > 0 and names_tool(one, tools) for one in ranking.candidates],
    )


class Model:
    """A logistic model over scaled inputs, given back as weights for raw inputs."""

    def __init__(self, inputs: list[list[float]], wanted: list[bool], weights: list[float], strength: float) -> None:
        scaler = StandardScaler().fit(np.array(inputs))
        fitted = LogisticRegression(C=strength, max_iter=500).fit(
            scaler.transform(inputs), wanted, sample_weight=weights
        )
        self.weights = fitted.coef_[0] / scaler.scale_
        self.bias = float(fitted.intercept_[0] - (self.weights * scaler.mean_).sum())

    def __call__(self, inputs: list[list[float]]) -> list[float]:
        scores: list[float] = (np.array(inputs) @ self.weights + self.bias).tolist() if inputs else []
        return scores


def fit_empty(messages: list[Message]) -> Model:
    wanted = [not message.relevant for message in messages]
    return Model(
        [one.direction for one in messages], wanted, [1.7 if empty else 0.65 for empty in wanted], EMPTY_STRENGTH
    )


def fit_useful(messages: list[Message]) -> Model:
    inputs, wanted, weights = [], [], []
    for message in messages:
        for key, numbers in zip(message.keys, with_emptiness(message), strict=True):
            if key in message.relevant or key not in message.neutral:
                inputs.append(numbers)
                wanted.append(key in message.relevant)
                weights.append(1.0 if message.relevant else 1.3)
    return Model(inputs, wanted, weights, USEFUL_STRENGTH)


def with_emptiness(message: Message) -> list[list[float]]:
    """The numbers with what is known of the message filled in."""
    at = NAMES.index("emptiness")
    cover = NAMES.index("coverage")
    out = []
    for numbers in message.numbers:
        filled = list(numbers)
        filled[at] = message.emptiness
        filled[at + 1] = message.emptiness * (numbers[0] + numbers[1]) / 2
        filled[at + 2] = message.emptiness * numbers[cover]
        out.append(filled)
    return out


def choose(message: Message, scores: list[float], bar: float) -> list[str]:
    bar += GATE_SLOPE * max(0.0, message.emptiness - GATE)
    chosen: list[str] = []
    for score, key, is_usage in sorted(zip(scores, message.keys, message.is_usage, strict=True), reverse=True):
        if not is_usage and score > bar + (NEXT_MARGIN if chosen else 0.0) and len(chosen) < 5:
            chosen.append(key)
    return chosen


def report(judged: list[tuple[Message, list[float]]]) -> None:
    for bar in BARS:
        right = wrong = answered = 0
        recalls: list[float] = []
        for message, scores in judged:
            chosen = choose(message, scores, bar)
            hits = len(message.relevant.intersection(chosen))
            misses = len([key for key in chosen if key not in message.relevant | message.neutral])
            right, wrong = right + hits, wrong + misses
            if message.relevant:
                recalls.append(hits / len(message.relevant))
            else:
                answered += misses > 0
        recall, precision = sum(recalls) / len(recalls), right / max(1, right + wrong)
        share = answered / max(1, len(judged) - len(recalls))
        f1 = 2 * recall * precision / (recall + precision or 1.0)
        print(
            f"bar {bar:+.1f}: F1 {f1:.3f}  recall@5 {recall:.3f}  precision {precision:.3f}  empty answered {share:.3f}"
        )


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="python -m evals.train_recall.calibrate", description=(__doc__ or "").split("\n\n", 1)[0]
    )
    for name in ("--worlds", "--vectors", "--out"):
        parser.add_argument(name, required=True, type=Path)
    options = parser.parse_args()
    table, vectors = open_table(), dict(np.load(options.vectors))
    folds = [
        [message for world in fold for message in read_messages(world, vectors, table)]
        for fold in folds_of(read_worlds(options.worlds))
    ]
    for at, fold in enumerate(folds):
        empty = fit_empty([message for other in folds[:at] + folds[at + 1 :] for message in other])
        for message, score in zip(fold, empty([message.direction for message in fold]), strict=True):
            message.emptiness = max(-MAX_EMPTINESS, min(MAX_EMPTINESS, score))
    judged = []
    for at, fold in enumerate(folds):
        useful = fit_useful([message for other in folds[:at] + folds[at + 1 :] for message in other])
        judged += [(message, useful(with_emptiness(message))) for message in fold]
    report(judged)
    every = [message for fold in folds for message in fold]
    empty, useful = fit_empty(every), fit_useful(every)
    learned = {"useful": [*useful.weights, useful.bias], "empty": [*empty.weights, empty.bias]}
    options.out.write_text(
        json.dumps({name: list(map(float, row)) for name, row in learned.items()}) + "\n", encoding="utf-8"
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
