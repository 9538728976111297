"""Train the judge of the built-in model's extraction and write its file; pure Python, the same bytes every time.

    python -m evals.train_extract --conversations DIR --memories DIR --out judge.bin [--predictions OUT.jsonl]

DIR of conversations: `*.jsonl` in the form of the extraction corpus with `spans`. DIR of memories: worlds with
`memories`, which stand by when learning which memory a sentence changes, and `queries`, plain requests that give
nothing to remember. Our own written examples come from evals/data/extract. `--predictions` writes what each
conversation gets from a judge that never saw it (five folds).
"""

from __future__ import annotations

import argparse
import json
import math
import random
import re
import sys
import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from operator import mul
from pathlib import Path
from typing import Any

from memdir.model.builtin.extract.candidates import MemoryCandidate, Scored, find_candidates
from memdir.model.builtin.extract.draft import draft_with
from memdir.model.builtin.extract.features import UserTurn, observe
from memdir.model.builtin.extract.judge import CLASSES, TYPES, SentenceJudge, pack
from memdir.model.builtin.extract.messages import lines_from_messages
from memdir.model.builtin.extract.same_memory import Shelf, best_match, match_features, shelve
from memdir.model.builtin.extract.silence import keep_features
from memdir.model.builtin.extract.talk import Existing, Talk
from memdir.model.builtin.extract.vetoes import planted_words, usable
from memdir.text.language import stems

WRITTEN = Path(__file__).parent / "data" / "extract"
FOLDS = 5  # each conversation is judged once by a model that was fitted without it
STRENGTH = 0.12  # inverse of the ridge for sentences: many rare words, little data
STRENGTH_MATCHING = 1.0  # a dozen features and thousands of pairs need little holding back
STRENGTH_KEEPING = 0.3  # some sixty features and about a thousand candidates
# How much an example counts for sentences and for keeping: ours are shorter than real talk, requests are very many.
WEIGHTS = {"corpus": (1.0, 1.0), "written": (1.0, 0.5), "request": (0.25, 0.1)}
MIN_COUNT = 2  # a feature seen once is chance
STEPS = 100  # of the optimiser at most
STEEP = 1e-3  # mean slope at which a fit is good enough: going on only learns the examples by heart
BYSTANDERS = (2, 8, 40)  # other people's memories put beside each conversation's own
# Bars on the log-odds, chosen on the folds for precision before recall; dated facts pass a little more easily.
SETTINGS = {
    "core": 0.3,
    "support": 0.3,
    "keep": 1.4,
    "keep dated": 0.6,
    "second": 1.9,
    "elsewhere": 4.0,
    "revoke": 0.5,
}
_MARK = re.compile(r"\[([FPURW]) ([^\]]*)\]")
_LETTERS = {name: letter for letter, name in TYPES.items()}

Row = Mapping[str, float]


@dataclass(frozen=True)
class Span:
    """A stretch of a user message with its letter: a type, or W for a reason or use."""

    message: int
    text: str
    letter: str


@dataclass(frozen=True)
class Example:
    """A conversation with the answers that training needs."""

    id: str
    conversation: Talk
    spans: tuple[Span, ...]
    updates: frozenset[str]
    source: str  # corpus, written or request


@dataclass(frozen=True)
class Observed:
    """An example with its turns and the letter of every sentence."""

    example: Example
    shelf: Shelf
    turns: tuple[UserTurn, ...]
    letters: Mapping[tuple[int, int], str]


# ---- reading -------------------------------------------------------------------------------------------------


def read_corpus(folder: Path) -> list[Example]:
    """Labelled conversations of a folder, by file name and line."""
    files = sorted(path for path in folder.glob("*.jsonl") if "gold" not in path.name)
    return [
        _from_case(json.loads(line))
        for path in files
        for line in path.read_text(encoding="utf-8").splitlines()
        if line.strip()
    ]


def _from_case(case: dict[str, Any]) -> Example:
    spans = tuple(
        Span(
            span["message"],
            span["text"],
            _LETTERS[span["type"]] if span["role"] in ("rule", "fact", "pointer") else "W",
        )
        for span in case["spans"]
    )
    updates = frozenset(
        one["action"].removeprefix("update:") for one in case["expect"] if one["action"].startswith("update:")
    )
    return Example(case["id"], conversation_of(case), spans, updates, "corpus")


def conversation_of(case: Mapping[str, Any]) -> Talk:
    """The conversation of one line of a corpus."""
    existing = tuple(
        Existing(one["file"], one["name"], one["description"], one["type"], one["body"]) for one in case["existing"]
    )
    return Talk(
        lines_from_messages(case["messages"]), datetime.fromisoformat(case["now"]), case["instructions"], existing
    )


def read_written(folder: Path) -> list[Example]:
    """Our own examples: blocks of `u:`, `a:`, `t:` lines with marked stretches (see the files)."""
    examples = []
    for path in sorted(folder.glob("*.txt")):
        blocks = re.split(r"\n\n+(?=(?:u|a|t|has|now|rules)[: ])", path.read_text(encoding="utf-8"))
        found = [
            example for number, block in enumerate(blocks) if (example := _from_block(f"{path.stem}:{number}", block))
        ]
        examples.extend(found)
    return examples


def _from_block(name: str, block: str) -> Example | None:
    heads: dict[str, list[str]] = {"has": [], "now": ["2026-05-06T10:00:00+02:00"], "rules": [""], "> update": []}
    said: list[tuple[str, str]] = []
    for line in block.split("\n"):
        head = next(
            (key for key in heads if line.startswith(key) and line[len(key) : len(key) + 1] in (" ", ":")), None
        )
        if line.startswith("#"):
            continue
        if re.match(r"[uat]: ", line):
            said.append((line[0], line[3:]))
        elif head:
            heads[head].append(line[len(head) :].lstrip(" :"))
        elif said:
            said[-1] = (said[-1][0], f"{said[-1][1]}\n{line}")
    if not said:
        return None
    spans = tuple(
        Span(at, text, letter)
        for at, (who, raw) in enumerate(said)
        if who == "u"
        for letter, text in _MARK.findall(raw)
    )
    existing = tuple(_existing(line) for line in heads["has"])
    conversation = Talk(
        lines_from_messages([_message(*one) for one in said]),
        datetime.fromisoformat(heads["now"][-1]),
        heads["rules"][-1],
        existing,
    )
    return Example(name, conversation, spans, frozenset(heads["> update"]), "written")


def _existing(line: str) -> Existing:
    file, name, description, body = (part.strip() for part in line.split("|"))
    return Existing(file, name, description, file.split("_")[0], body)


def _message(who: str, raw: str) -> dict[str, Any]:
    text = _MARK.sub(r"\2", raw).strip("\n")
    block = {"type": "tool_result", "content": text} if who == "t" else {"type": "text", "text": text}
    return {"role": "assistant" if who == "a" else "user", "content": [block]}


def read_memories(folder: Path | None) -> list[Existing]:
    """Memories of other people, to stand by."""
    worlds = [json.loads(path.read_text(encoding="utf-8")) for path in sorted(folder.glob("*.json"))] if folder else []
    return [
        Existing(one["file"], one["name"], one["description"], one["type"], one["body"])
        for world in worlds
        for one in world["memories"]
    ]


def read_requests(folder: Path | None) -> list[Example]:
    """What people ask for in the course of work; none of it is to be remembered."""
    worlds = [json.loads(path.read_text(encoding="utf-8")) for path in sorted(folder.glob("*.json"))] if folder else []
    examples = []
    for world in worlds:
        now = datetime.fromisoformat(world["now"].replace("Z", "+00:00"))
        for number, query in enumerate(world.get("queries", [])):
            lines = lines_from_messages([{"role": "user", "content": query["query"]}])
            examples.append(Example(f"{world['world']}:{number}", Talk(lines, now, "", ()), (), frozenset(), "request"))
    return examples


# ---- observing -----------------------------------------------------------------------------------------------


def familiarity(examples: Sequence[Example]) -> dict[str, float]:
    """How common each stem is in talk, 0 to 1; a common one says little about a topic."""
    counts = Counter(
        stem
        for one in examples
        for stem in {stem for line in one.conversation.lines if line.kind == "said" for stem in stems(line.text)}
    )
    scale = math.log(1 + len(examples) / 8)
    return {
        stem: round(min(1.0, math.log(1 + count) / scale), 2) for stem, count in sorted(counts.items()) if count >= 4
    }


def observe_all(examples: Sequence[Example], familiar: Mapping[str, float]) -> list[Observed]:
    """Every example with its features and letters."""
    result = []
    for one in examples:
        shelf = shelve(one.conversation.existing, one.conversation.instructions, familiar)
        turns = observe(one.conversation, shelf)
        result.append(Observed(one, shelf, turns, _letters(one, turns)))
    return result


def _letters(example: Example, turns: Sequence[UserTurn]) -> dict[tuple[int, int], str]:
    letters = {}
    for turn in turns:
        spans = [span for span in example.spans if span.message == int(turn.line.id.split(".")[0])]
        for seen in turn.seen:
            best, letter = 0, "N"
            for span in spans:
                shared = _shared(span.text, seen.sentence.text)
                rank = shared + (1000 if shared and span.letter != "W" else 0)
                if rank > best:
                    best, letter = rank, span.letter
            letters[turn.index, seen.sentence.number] = letter
    return letters


def _shared(left: str, right: str) -> int:
    """Length of the longest common stretch, 0 when it is too short to mean anything."""
    best, row = 0, [0] * (len(right) + 1)
    for char in left:
        row = [0] + [row[at] + 1 if char == other else 0 for at, other in enumerate(right)]
        best = max(best, *row)
    return best if best > 12 or best >= 0.8 * min(len(left), len(right)) else 0


# ---- fitting -------------------------------------------------------------------------------------------------


def fit(
    rows: Sequence[Row], answers: Sequence[int], weights: Sequence[float], classes: int, strength: float
) -> tuple[list[str], list[list[float]]]:
    """Multinomial logistic regression with a ridge: feature names and their weights by class."""
    counts = Counter(name for row in rows for name in row)
    names = sorted(name for name, count in counts.items() if count >= MIN_COUNT)
    across, down = _tables(rows, {name: at for at, name in enumerate(names)})
    size = len(names)

    def loss(point: list[float]) -> tuple[float, list[float]]:
        sums = [
            [math.fsum(map(mul, map(part.__getitem__, columns), values)) for columns, values in across]
            for part in (point[k * size : (k + 1) * size] for k in range(classes))
        ]
        cost, errors = _errors(sums, answers, weights)
        slope: list[float] = []
        for k in range(classes):
            error = errors[k].__getitem__
            slope.extend(math.fsum(map(mul, map(error, numbers), values)) for numbers, values in down)
        ridge = 0.5 / strength * math.fsum(value * value for value in point)
        return cost + ridge, [one + value / strength for one, value in zip(slope, point, strict=True)]

    point = descend(loss, size * classes, STEEP * math.fsum(weights))
    return names, [[point[k * size + at] for k in range(classes)] for at in range(size)]


Table = list[tuple[list[int], list[float]]]


def _tables(rows: Sequence[Row], index: Mapping[str, int]) -> tuple[Table, Table]:
    """The rows as (columns, values), and the columns as (row numbers, values)."""
    across: Table = []
    down: Table = [([], []) for _ in index]
    for number, row in enumerate(rows):
        some = [(index[name], value) for name, value in sorted(row.items()) if name in index]
        across.append(([column for column, _ in some], [value for _, value in some]))
        for column, value in some:
            down[column][0].append(number)
            down[column][1].append(value)
    return across, down


def _errors(
    sums: list[list[float]], answers: Sequence[int], weights: Sequence[float]
) -> tuple[float, list[list[float]]]:
    """The cost of the scores (by class, then row), and by how much each is off."""
    errors: list[list[float]] = [[] for _ in sums]
    costs: list[float] = []
    for scores, answer, weight in zip(zip(*sums, strict=True), answers, weights, strict=True):
        top = max(scores)
        powers = [math.exp(score - top) for score in scores]
        whole = math.fsum(powers)
        costs.append(weight * (math.log(whole) + top - scores[answer]))
        for k, power in enumerate(powers):
            errors[k].append(weight * (power / whole - (k == answer)))
    return math.fsum(costs), errors


def descend(loss: Callable[[list[float]], tuple[float, list[float]]], size: int, steep: float) -> list[float]:
    """L-BFGS with a halving line search, down to a slope: small, deterministic, enough for a convex loss."""
    point = [0.0] * size
    value, slope = loss(point)
    history: list[tuple[list[float], list[float], float]] = []
    for _ in range(STEPS):
        direction = _direction(slope, history)
        fall = math.fsum(a * b for a, b in zip(direction, slope, strict=True))
        step = 1.0 if history else 1.0 / max(1.0, math.sqrt(math.fsum(one * one for one in slope)))
        while True:
            moved = [at + step * way for at, way in zip(point, direction, strict=True)]
            new_value, new_slope = loss(moved)
            if new_value <= value + 1e-4 * step * fall or step < 1e-8:
                break
            step /= 2
        change = [after - before for after, before in zip(moved, point, strict=True)]
        turn = [after - before for after, before in zip(new_slope, slope, strict=True)]
        curve = math.fsum(a * b for a, b in zip(change, turn, strict=True))
        if curve > 1e-12:
            history = [*history[-7:], (change, turn, 1.0 / curve)]
        stuck = new_value >= value
        point, value, slope = moved, new_value, new_slope
        if stuck or max(map(abs, slope)) <= steep:
            break
    return point


def _direction(slope: list[float], history: list[tuple[list[float], list[float], float]]) -> list[float]:
    way = [-one for one in slope]
    shares = []
    for change, turn, inverse in reversed(history):
        share = inverse * math.fsum(a * b for a, b in zip(change, way, strict=True))
        shares.append(share)
        way = [a - share * b for a, b in zip(way, turn, strict=True)]
    if history:
        change, turn, inverse = history[-1]
        scale = 1.0 / (inverse * math.fsum(one * one for one in turn))
        way = [one * scale for one in way]
    for (change, turn, inverse), share in zip(history, reversed(shares), strict=True):
        other = inverse * math.fsum(a * b for a, b in zip(turn, way, strict=True))
        way = [a + (share - other) * b for a, b in zip(way, change, strict=True)]
    return way


def fit_two(
    rows: Sequence[Row], answers: Sequence[bool], weights: Sequence[float], strength: float
) -> dict[str, float]:
    """Logistic regression for yes and no: the log-odds that each feature adds."""
    names, points = fit(rows, [int(answer) for answer in answers], weights, 2, 2 * strength)
    return {name: round(yes - no, 4) for name, (no, yes) in zip(names, points, strict=True)}


def fit_sentences(data: Sequence[Observed]) -> tuple[dict[int, tuple[int, ...]], float]:
    """The judge's table: small whole numbers by the hash of a feature's name."""
    rows, answers, weights = [], [], []
    for one in data:
        for turn in one.turns:
            for seen in turn.seen:
                rows.append(dict.fromkeys(seen.features, 1.0))
                answers.append(CLASSES.index(one.letters[turn.index, seen.sentence.number]))
                weights.append(WEIGHTS[one.example.source][0])
    names, points = fit(rows, answers, weights, len(CLASSES), STRENGTH)
    scale = max(abs(value) for point in points for value in point) / 127
    table = {
        zlib.crc32(name.encode()): tuple(round(value / scale) for value in point)
        for name, point in zip(names, points, strict=True)
    }
    return {key: row for key, row in table.items() if any(row)}, scale


def fit_matching(
    data: Sequence[Observed], bystanders: Sequence[Existing], familiar: Mapping[str, float]
) -> dict[str, float]:
    """Which memory is meant, learnt from the right ones beside bystanders."""
    rows: list[Row] = []
    answers: list[bool] = []
    for number, one in enumerate(data):
        some = random.Random(number).sample(bystanders, min(len(bystanders), BYSTANDERS[number % 3]))
        conversation = one.example.conversation
        shelf = shelve((*conversation.existing, *some), conversation.instructions, familiar)
        for candidate in _true_candidates(one):
            near = match_features(conversation, candidate, shelf)
            rows.extend(near.values())
            answers.extend(shelf.memories[at].file in one.example.updates for at in near)
    return fit_two(rows, answers, [1.0] * len(rows), STRENGTH_MATCHING)


def _true_candidates(one: Observed) -> Iterable[MemoryCandidate]:
    for turn in one.turns:
        by_letter: dict[str, list[Scored]] = {}
        for seen in turn.seen:
            letter = one.letters[turn.index, seen.sentence.number]
            if letter in TYPES:
                by_letter.setdefault(letter, []).append(Scored(seen, {name: float(name == letter) for name in CLASSES}))
        yield from (
            MemoryCandidate(TYPES[letter], turn, tuple(core), (), (), 1.0) for letter, core in by_letter.items()
        )


def keep_rows(one: Observed, judge: SentenceJudge) -> Iterable[tuple[Row, bool]]:
    """What a judge makes of an example it has not seen, and whether each candidate was right."""
    conversation = one.example.conversation
    planted = planted_words(conversation)
    for found in find_candidates(conversation, one.turns, judge):
        candidate = usable(found, planted)
        if candidate is None or candidate.granted:
            continue
        _, match = best_match(conversation, candidate, one.shelf, judge)
        right = any(
            one.letters[candidate.turn.index, judged.seen.sentence.number] in TYPES for judged in candidate.core
        )
        yield keep_features(one.turns, candidate, match), right


# ---- putting it together -------------------------------------------------------------------------------------


def train(examples: Sequence[Example], bystanders: Sequence[Existing]) -> tuple[SentenceJudge, list[SentenceJudge]]:
    """The judge fitted on everything, and one for each fold fitted without it."""
    familiar = familiarity([one for one in examples if one.source != "request"])
    data = observe_all(examples, familiar)
    blind = [
        _judge([one for at, one in enumerate(data) if at % FOLDS != fold], bystanders, familiar)
        for fold in range(FOLDS)
    ]
    kept = [
        (at % FOLDS, row, right, WEIGHTS[one.example.source][1])
        for at, one in enumerate(data)
        for row, right in keep_rows(one, blind[at % FOLDS])
    ]
    folds = [_with_keeping(judge, [one for one in kept if one[0] != fold]) for fold, judge in enumerate(blind)]
    return _with_keeping(_judge(data, bystanders, familiar), kept), folds


def _judge(data: Sequence[Observed], bystanders: Sequence[Existing], familiar: Mapping[str, float]) -> SentenceJudge:
    rows, scale = fit_sentences(data)
    print(f"fitted {len(rows)} features on {len(data)} conversations", file=sys.stderr, flush=True)
    return SentenceJudge(rows, scale, fit_matching(data, bystanders, familiar), {}, SETTINGS, familiar)


def _with_keeping(judge: SentenceJudge, kept: Sequence[tuple[int, Row, bool, float]]) -> SentenceJudge:
    keeping = fit_two([one[1] for one in kept], [one[2] for one in kept], [one[3] for one in kept], STRENGTH_KEEPING)
    return SentenceJudge(judge.rows, judge.scale, judge.matching, keeping, judge.settings, judge.familiar)


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="python -m evals.train_extract", description=(__doc__ or "").split("\n\n", 1)[0]
    )
    parser.add_argument("--conversations", required=True, type=Path)
    parser.add_argument("--memories", type=Path)
    parser.add_argument("--out", required=True, type=Path)
    parser.add_argument("--predictions", type=Path, help="out-of-fold predictions over the given conversations")
    options = parser.parse_args()
    examples = [*read_corpus(options.conversations), *read_written(WRITTEN), *read_requests(options.memories)]
    judge, folds = train(examples, read_memories(options.memories))
    options.out.write_bytes(pack(judge))
    if options.predictions:
        with options.predictions.open("w", encoding="utf-8") as out:
            for at, one in enumerate(examples):
                if one.source == "corpus":
                    out.write(
                        json.dumps(
                            {"id": one.id, "written": predictions(one.conversation, folds[at % FOLDS])},
                            ensure_ascii=False,
                        )
                        + "\n"
                    )
    print(f"{len(examples)} conversations, {len(judge.rows)} features, {options.out.stat().st_size} bytes")
    return 0


def predictions(conversation: Talk, judge: SentenceJudge) -> list[dict[str, str]]:
    """The drafts of one conversation in the form that scorers read."""
    drafts = draft_with(conversation, judge)
    return [
        {
            "file": one.file,
            "name": one.name,
            "description": one.description,
            "type": one.type,
            "body": one.body,
            "action": one.action if one.action == "create" else f"{one.action}:{one.file}",
        }
        for one in drafts
    ]


if __name__ == "__main__":
    sys.exit(main())
