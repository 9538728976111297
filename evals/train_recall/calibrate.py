"""Learn the decision's numbers from the labelled worlds, each judged by directions from a model that never saw it.

    python -m evals.train_recall.calibrate --lessons DIR ... --vectors oof.npz --kind words|pair [--out FILE]

Two logistic models: how likely a message needs no memory at all, and how likely a candidate is clearly useful. Prints
the held-out figures over a grid of bars and writes the module that ships.
"""

from __future__ import annotations

import argparse
import sys
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import StandardScaler

from evals.train_recall.lessons import Source, folds_of, read_lessons
from memdir.disk.shipped import TABLE_END, shipped_lines
from memdir.recall.decide import LEARNED_PATH, NAMES, Asked, names_tool, signals, tool_terms
from memdir.search.document import Document, Question, day_of, index_documents
from memdir.search.minilm import MEANING_WEIGHT, WORD_SHARE
from memdir.search.ranking import rank
from memdir.search.segment import Segment
from memdir.search.segment_writer import pack
from memdir.search.vectors import WordEncoder, doc_vector, query_vector
from memdir.text.embedding import DIMENSIONS, open_table

MAX_EMPTINESS = 5.0
BARS = [-1.8, -1.6, -1.4, -1.2, -1.0, -0.8]


@dataclass(frozen=True)
class Recipe:
    """How an encoder's decision is fitted and where its bars stand, chosen on the held-out worlds."""

    useful_strength: float  # inverse regularisation: the worlds are few
    empty_strength: float
    threshold: float
    next_margin: float
    gate: float
    gate_slope: float


RECIPES = {
    "words": Recipe(0.03, 0.05, threshold=-1.6, next_margin=0.1, gate=-1.0, gate_slope=2.5),
    "pair": Recipe(0.03, 0.005, threshold=-1.3, next_margin=0.6, gate=-0.5, gate_slope=1.0),
}


@dataclass
class Message:
    """One labelled message with the numbers of its candidates."""

    relevant: frozenset[str]
    neutral: frozenset[str]
    suppressed: frozenset[str]
    direction: list[float]
    keys: list[str]
    numbers: list[list[float]]
    is_usage: list[bool]
    emptiness: float = field(default=0.0)


def directions(vectors: dict[str, np.ndarray], kind: str, world: str, part: str) -> np.ndarray:
    """The rows of a world's texts as the encoder of that kind gives them."""
    words = _unit(vectors[f"static|{world}|{part}"])
    if kind == "words":
        return words
    sentences = _unit(vectors[f"mini|{world}|{part}"])
    return np.concatenate([words * WORD_SHARE**0.5, sentences * (1 - WORD_SHARE) ** 0.5], axis=1)


def _unit(rows: np.ndarray) -> np.ndarray:
    rows = rows.astype(np.float64)
    return rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-9)


def read_messages(world: Source, vectors: dict[str, np.ndarray], kind: str, encoder: WordEncoder) -> list[Message]:
    """Rank every message of a world with held-out directions and note the signals."""
    heads, wholes, asked = (directions(vectors, kind, world["world"], part) for part in ("d", "f", "q"))
    documents = []
    for at, memory in enumerate(world["memories"]):
        mtime_ns = int(datetime.fromisoformat(memory["mtime"].replace("Z", "+00:00")).timestamp()) * 10**9
        fields = {"title": memory["name"], "description": memory["description"], "body": memory["body"]}
        document = Document(memory["file"], kind=memory["type"], mtime_ns=mtime_ns, **fields)
        [indexed] = index_documents([document], encoder)
        indexed.vectors = [one for row in (heads[at], wholes[at]) if (one := doc_vector(row.tolist())) is not None]
        documents.append(indexed)
    segment = Segment(pack(documents, encoder.identity, heads.shape[1]))
    today = day_of(datetime.fromisoformat(world["now"].replace("Z", "+00:00")).timestamp())
    return [_message(query, asked[at], segment, encoder, today) for at, query in enumerate(world["queries"])]


def _message(query: Source, direction: np.ndarray, segment: Segment, encoder: WordEncoder, today: int) -> Message:
    question = Question(query["query"], encoder, today=today)
    question.vector = query_vector(direction.tolist())
    if len(direction) > DIMENSIONS:
        question.meaning_weight = MEANING_WEIGHT
    ranking = rank(question, [segment])
    asked, tools = Asked(question, ranking), tool_terms(query["recent_tools"])
    places = range(len(ranking.candidates))
    numbers = [signals(asked, ranking, at, today=today, tools=tools) + asked.shared for at in places]
    return Message(
        relevant=frozenset(query["relevant"]),
        neutral=frozenset(query["acceptable"]),
        suppressed=frozenset(query["suppressed"]),
        direction=[*direction.tolist(), *asked.fields, asked.unknown, asked.best_coverage],
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


def fit_empty(messages: list[Message], recipe: Recipe) -> Model:
    wanted = [not message.relevant for message in messages]
    weights = [1.7 if empty else 0.65 for empty in wanted]
    return Model([one.direction for one in messages], wanted, weights, recipe.empty_strength)


def fit_useful(messages: list[Message], recipe: Recipe) -> Model:
    inputs, wanted, weights = [], [], []
    for message in messages:
        for key, numbers in zip(message.keys, with_emptiness(message), strict=True):
            if key in message.relevant or key not in message.neutral:
                inputs.append(numbers)
                wanted.append(key in message.relevant)
                weights.append(1.0 if message.relevant else 1.3)
    return Model(inputs, wanted, weights, recipe.useful_strength)


def with_emptiness(message: Message) -> list[list[float]]:
    """The numbers with what is known of the message filled in."""
    alone, by_sim, by_cover = (NAMES.index(f"emptiness{rest}") for rest in ("", "*sim", "*cover"))
    cover = NAMES.index("coverage")
    out = []
    for numbers in message.numbers:
        filled = list(numbers)
        filled[alone] = message.emptiness
        filled[by_sim] = message.emptiness * (numbers[0] + numbers[1]) / 2
        filled[by_cover] = message.emptiness * numbers[cover]
        out.append(filled)
    return out


def choose(message: Message, scores: list[float], bar: float, recipe: Recipe) -> list[str]:
    bar += recipe.gate_slope * max(0.0, message.emptiness - recipe.gate)
    chosen: list[str] = []
    for score, key, is_usage in sorted(zip(scores, message.keys, message.is_usage, strict=True), reverse=True):
        if not is_usage and score > bar + (recipe.next_margin if chosen else 0.0) and len(chosen) < 5:
            chosen.append(key)
    return chosen


def figures(judged: list[tuple[Message, list[float]]], bar: float, recipe: Recipe) -> dict[str, float]:
    """What the set's own scorer would say of a bar."""
    recalls, answered, broken, right, wrong = [], [], [], 0, 0
    for message, scores in judged:
        chosen = choose(message, scores, bar, recipe)
        hits = len(message.relevant.intersection(chosen))
        misses = len([key for key in chosen if key not in message.relevant | message.neutral])
        right, wrong = right + hits, wrong + misses
        if message.relevant:
            recalls.append(hits / len(message.relevant))
        else:
            answered.append(misses > 0)
        if message.suppressed:
            broken.append(not message.suppressed.isdisjoint(chosen))
    recall, precision = _mean(recalls), right / max(1, right + wrong)
    f1 = 2 * recall * precision / (recall + precision or 1.0)
    return {"F1": f1, "recall@5": recall, "precision": precision, "empty": _mean(answered), "broken": _mean(broken)}


def _mean(values: list[float] | list[bool]) -> float:
    return sum(values) / max(1, len(values))


def judge(folds: list[list[Message]], recipe: Recipe) -> list[tuple[Message, list[float]]]:
    """Every message judged by models that were fitted without its fold."""
    for at, fold in enumerate(folds):
        empty = fit_empty([message for other in folds[:at] + folds[at + 1 :] for message in other], recipe)
        for message, score in zip(fold, empty([message.direction for message in fold]), strict=True):
            message.emptiness = max(-MAX_EMPTINESS, min(MAX_EMPTINESS, score))
    judged = []
    for at, fold in enumerate(folds):
        useful = fit_useful([message for other in folds[:at] + folds[at + 1 :] for message in other], recipe)
        judged += [(message, useful(with_emptiness(message))) for message in fold]
    return judged


def write_numbers(kind: str, useful: Model, empty: Model, *, path: Path = Path(LEARNED_PATH)) -> None:
    """Put the learned numbers of one encoder into the file that ships; those of the other stay."""
    recipe = RECIPES[kind]
    of_message = len(empty.weights) - 9  # the direction comes first, then seven signals, two shares
    fields = {
        "bars": f"{recipe.threshold} {recipe.next_margin} {recipe.gate} {recipe.gate_slope}",
        "bias": f"{useful.bias:.4f}",
        "weights": _row(useful.weights, 4),
        "empty_bias": f"{empty.bias:.4f}",
        "empty_message": _row(empty.weights[of_message:-2], 4),
        "empty_shares": _row(empty.weights[-2:], 4),
        "empty_direction": _row(empty.weights[:of_message], 3),
    }
    kept = [line for line in shipped_lines(str(path)) if line.split()[0] != kind]
    lines = [*kept, *[f"{kind} {field} {numbers}" for field, numbers in fields.items()], TABLE_END]
    path.write_text("".join(f"{line}\n" for line in lines), encoding="ascii")


def _row(numbers: np.ndarray, digits: int) -> str:
    return " ".join(f"{number:.{digits}f}" for number in numbers)


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="python -m evals.train_recall.calibrate", description=(__doc__ or "").split("\n\n", 1)[0]
    )
    parser.add_argument("--lessons", required=True, type=Path, nargs="+")
    parser.add_argument("--vectors", required=True, type=Path)
    parser.add_argument("--kind", choices=("words", "pair"), required=True)
    parser.add_argument("--write", action="store_true", help="into the file that ships")
    options = parser.parse_args()
    encoder, vectors = WordEncoder(open_table()), dict(np.load(options.vectors))
    folds = [
        [
            message
            for lesson in fold
            if lesson.is_world
            for message in read_messages(lesson.source, vectors, options.kind, encoder)
        ]
        for fold in folds_of(read_lessons(options.lessons))
    ]
    recipe = RECIPES[options.kind]
    judged = judge(folds, recipe)
    for bar in BARS:
        found = figures(judged, bar, recipe)
        print(f"bar {bar:+.1f}: " + "  ".join(f"{name} {value:.3f}" for name, value in found.items()))
    every = [message for fold in folds for message in fold]
    if options.write:
        write_numbers(options.kind, fit_useful(every, recipe), fit_empty(every, recipe))
    return 0


if __name__ == "__main__":
    sys.exit(main())
