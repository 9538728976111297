"""Make the reader: the sentence model tuned to read a message and a memory together and to say whether it is needed.

    python -m evals.train_recall.reader --lessons DIR ... --out DIR

Learns from the worlds and pools of the lessons and from the read stores (`evals/data`). Begins with the layers that
ship (`minilm.onnx`) and keeps their word pieces, so that only its own layers are new. Three readers are taught by the
labels; the last begins where their mean stands and learns what they say of all else, too: of messages with memories of
other stores, and of how conversations begin and what was kept of them. About twenty minutes on a GPU. Writes
`minilm.reader.onnx` and `relevance.npz`: what readers that never saw an author say of that author's stores.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import torch
from onnx import numpy_helper
from torch import nn
from torch.nn import functional

from evals.extract_data import TRAINED, read
from evals.stores import FOLDER, authors, read_stores
from evals.train_recall.export import OPERATORS
from evals.train_recall.teacher import DEVICE
from memdir.disk.shipped import shipped_text
from memdir.recall.decide import FEW_LINES, own_words
from memdir.search import MODEL_PATH
from memdir.search.minilm import MEMORY_TOKENS, MESSAGE_TOKENS, VOCABULARY, WORDS_PATH, WordPiece

LAYERS, HEADS, SIZE, INNER = 6, 12, 384, 1536
NEW_RATE = 5.0  # of what no layer begins with, beside the rest
MESSAGES = 48  # in a step
MOST_SHOWN, NEAREST = 13, 8  # memories that a message does not need, and how many of them are the nearest
STRANGERS = (1, 3)  # memories of other stores beside them; more where the store has few of its own
FEW = 8
PART = 256  # texts at a time, of about one length
STRANGER_WEIGHT, NEEDED_WEIGHT, CHOICE_WEIGHT = 0.5, 2.0, 0.7
AVERAGED = 0.998  # of the mean of the weights is kept in a step, once a third of the steps is done
PAIRED = (14, 10)  # memories for a message that nobody labelled with them: out of the nearest, and any
HEARD_MESSAGES, HEARD_PAIRS, HEARD_WEIGHT, HEARD_NUMBERS = 24, 14, 0.5, 0.02  # of those, in a step of the last reader
LEAST_WORDS = 5  # of what people said, to be taken for a memory
PARTS = {
    "q": "attention.self.query",
    "k": "attention.self.key",
    "v": "attention.self.value",
    "o": "attention.output.dense",
    "first": "attention.output.LayerNorm",
    "up": "intermediate.dense",
    "down": "output.dense",
    "last": "output.LayerNorm",
}

State = dict[str, torch.Tensor]
Tokens = np.ndarray
TOKENS = WordPiece(shipped_text(VOCABULARY).split("\n"))
BEGIN, END = (np.array([one], np.int32) for one in TOKENS.ids("", 2))
FIRST_WORD = 104  # what comes before it in the vocabulary are marks; the last of them hides a word piece
KINDS = {"F": "feedback", "P": "project", "U": "user", "R": "reference"}  # of what people said, by its letter


@dataclass(frozen=True)
class Course:
    """How a reader is taught."""

    epochs: int
    rate: float
    hidden: float = 0.0  # share of the word pieces that it does not see
    has_pools: bool = False


TEACHERS = (Course(4, 1e-4), Course(5, 1e-4, 0.08, has_pools=True), Course(5, 1.5e-4, 0.08, has_pools=True))
LAST = Course(4, 8e-5, 0.08, has_pools=True)


@dataclass(frozen=True, eq=False)
class Lesson:
    """Messages and memories of a store, a world or a pool as tokens, with what each message needs and may have."""

    author: str
    name: str
    asked: list[Tokens]
    held: list[Tokens]
    needed: list[list[int]]
    allowed: list[list[int]]
    is_pool: bool


@dataclass(frozen=True, eq=False)
class Heard:
    """What the first readers say of the lessons, and of messages with memories that nobody labelled."""

    labelled: dict[int, np.ndarray]  # by the lesson's identity
    others: list[tuple[Tokens, list[Tokens], np.ndarray]]


def lesson_of(source: dict[str, Any], author: str) -> Lesson:
    is_pool = "documents" in source
    held = source["documents" if is_pool else "memories"]
    place = {one["id" if is_pool else "file"]: at for at, one in enumerate(held)}
    return Lesson(
        author,
        source["pool" if is_pool else "world"],
        [message_of(query["query"]) for query in source["queries"]],
        [memory_of(one["text"] if is_pool else _whole(one)) for one in held],
        [[place[name] for name in query["relevant"]] for query in source["queries"]],
        [[place[name] for name in query.get("acceptable", []) if name in place] for query in source["queries"]],
        is_pool,
    )


def _whole(memory: dict[str, str]) -> str:
    return f"{memory['type']}: {memory['name']}. {memory['description']}. {memory['body']}"


def message_of(text: str) -> Tokens:
    own = text if text.count("\n") < FEW_LINES else f"{own_words(text)} ... {text}"
    return np.array(TOKENS.ids(own, MESSAGE_TOKENS), np.int32)


def memory_of(text: str) -> Tokens:
    return np.array(TOKENS.ids(text, MEMORY_TOKENS)[1:], np.int32)


def talk() -> tuple[list[Tokens], list[Tokens]]:
    """How conversations of others begin, and what was worth keeping in them: nobody labelled what belongs together."""
    messages, claims = dict[str, None](), dict[str, None]()
    for case in (case for name in TRAINED for case in read(name)):
        said = [block for one in case["messages"] if one["role"] == "user" for block in one["content"]]
        messages.update(dict.fromkeys([block["text"] for block in said if block["type"] == "text"][:1]))
        spans = [one for one in case.get("spans", []) if one["letter"] in KINDS]
        kept = [f"{KINDS[one['letter']]}: {one['text']}" for one in spans if len(one["text"].split()) >= LEAST_WORDS]
        claims.update(dict.fromkeys(kept))
    return [message_of(text) for text in messages], [memory_of(text) for text in claims]


class Layer(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.q, self.k, self.v, self.o = (nn.Linear(SIZE, SIZE) for _ in range(4))
        self.up, self.down = nn.Linear(SIZE, INNER), nn.Linear(INNER, SIZE)
        self.first, self.last = nn.LayerNorm(SIZE, 1e-12), nn.LayerNorm(SIZE, 1e-12)
        self.drop = nn.Dropout(0.1)

    def forward(self, rows: torch.Tensor, hidden: torch.Tensor) -> torch.Tensor:
        texts, tokens = rows.shape[0], rows.shape[1]
        q, k, v = (part(rows).view(texts, tokens, HEADS, -1).transpose(1, 2) for part in (self.q, self.k, self.v))
        looked = (q @ k.transpose(2, 3) * (SIZE / HEADS) ** -0.5 + hidden).softmax(-1) @ v
        rows = self.first(rows + self.drop(self.o(looked.transpose(1, 2).reshape(texts, tokens, SIZE))))
        read: torch.Tensor = self.last(rows + self.drop(self.down(functional.gelu(self.up(rows)))))
        return read


class Reader(nn.Module):
    """Word pieces of message and memory in, log odds out."""

    def __init__(self, state: State) -> None:
        super().__init__()
        self.places, self.sides = nn.Embedding(512, SIZE), nn.Embedding(2, SIZE)
        self.begin, self.drop = nn.LayerNorm(SIZE, 1e-12), nn.Dropout(0.1)
        self.layers = nn.ModuleList(Layer() for _ in range(LAYERS))
        self.head, self.score = nn.Linear(SIZE, SIZE), nn.Linear(SIZE, 1)
        self.load_state_dict(state, strict=False)
        nn.init.constant_(self.score.bias, -2.0)

    def forward(self, words: torch.Tensor, ids: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        told: torch.Tensor = self.score(functional.gelu(self.head(self.mean(words, ids, mask)))).squeeze(1)
        return told

    def mean(self, words: torch.Tensor, ids: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        """Of one text alone, before anything was learned, it points where the sentence model does."""
        ends = (ids == TOKENS.ids("", 2)[-1]).long()
        later = ((ends.cumsum(1) - ends) > 0).float()[..., None]  # behind the message's end: the memory
        sides = self.sides.weight[0] + later * (self.sides.weight[1] - self.sides.weight[0])
        rows = self.drop(self.begin(words + self.places.weight[: ids.shape[1]] + sides))
        seen = mask.float()
        for layer in self.layers:
            rows = layer(rows, (1 - seen)[:, None, None, :] * -1e4)
        mean: torch.Tensor = (rows * seen[..., None]).sum(1) / seen.sum(1, keepdim=True)
        return mean


def shipped_layers() -> tuple[torch.Tensor, State]:
    """The word pieces and the layers of the sentence model that ships, as plain numbers."""
    pieces, state = _numbers(WORDS_PATH), State()
    known = _numbers(MODEL_PATH)
    for name, part in PARTS.items():
        for at in range(LAYERS):
            for kind in ("weight", "bias"):
                state[f"layers.{at}.{name}.{kind}"] = known[f"encoder.layer.{at}.{part}.{kind}"]
    for name, part in {"places": "position_embeddings", "sides": "token_type_embeddings"}.items():
        state[f"{name}.weight"] = known[f"embeddings.{part}.weight"]
    for kind in ("weight", "bias"):
        state[f"begin.{kind}"] = known[f"embeddings.LayerNorm.{kind}"]
    return pieces["embeddings.word_embeddings.weight"].to(DEVICE), state


def _numbers(path: str) -> State:
    graph = onnx.load(path).graph
    raw = {one.name: numpy_helper.to_array(one).astype(np.float32) for one in graph.initializer}
    out = {name.removeprefix("model."): torch.tensor(value) for name, value in raw.items() if name.startswith("model.")}

    def plain(name: str) -> np.ndarray:
        return (raw[f"{name}_quantized"] - raw[f"{name}_zero_point"]) * raw[f"{name}_scale"]

    for name in [name.removesuffix("_quantized") for name in raw if name.endswith("weight_quantized")]:
        out[name.removeprefix("model.")] = torch.tensor(plain(name))
    for node in graph.node:
        if node.op_type == "MatMulInteger" and node.input[1].endswith("_quantized"):
            part = node.name.strip("/").replace("/", ".").removeprefix("model.").split(".MatMul")[0]
            out[f"{part}.weight"] = torch.tensor(plain(node.input[1].removesuffix("_quantized")).T)
    return out


class Readers:
    """Trains readers and asks them."""

    def __init__(self, lessons: list[Lesson]) -> None:
        self._pieces, self._state = shipped_layers()
        self._first = Reader(self._state).to(DEVICE).eval()
        self._talk = talk()
        self._near = {id(one): self._directions(one.asked) @ self._directions(one.held).T for one in lessons}

    def taught(self, lessons: list[Lesson]) -> Reader:
        """By the labels and by what readers that were taught by the labels say of all else."""
        readers = [self.train(lessons, course, seed) for seed, course in enumerate(TEACHERS)]
        states = [one.state_dict() for one in readers]
        middle = {name: torch.stack([state[name] for state in states]).mean(0) for name in states[0]}
        return self.train(lessons, LAST, len(TEACHERS), middle, self._heard(readers, lessons))

    def scores(self, reader: Reader, pairs: list[tuple[Tokens, Tokens]], hidden: float = 0.0) -> torch.Tensor:
        """In order; those of about one length are read together."""
        order = sorted(range(len(pairs)), key=lambda at: len(pairs[at][0]) + len(pairs[at][1]))
        told = []
        for start in range(0, len(order), PART):
            words, ids = self._given([np.concatenate(pairs[at]) for at in order[start : start + PART]], hidden)
            with torch.autocast(DEVICE, torch.bfloat16, enabled=DEVICE == "cuda"):
                told.append(reader(words, ids, (ids != 0).long()).float())
        return torch.cat(told)[torch.tensor(np.argsort(order), device=DEVICE)]

    def train(
        self, lessons: list[Lesson], course: Course, seed: int, begin: State | None = None, heard: Heard | None = None
    ) -> Reader:
        """The mean of the later steps: it is better than the last of them on what nobody showed it."""
        random.seed(seed)
        torch.manual_seed(1)  # all begin alike, or their mean would be none of them
        reader = Reader(self._state).to(DEVICE).train()
        reader.load_state_dict(begin or reader.state_dict())
        torch.manual_seed(seed)
        new = [*reader.head.parameters(), *reader.score.parameters()]
        old = [one for name, one in reader.named_parameters() if not name.startswith(("head", "score"))]
        new_rate = course.rate * (1 if begin else NEW_RATE)
        groups = [{"params": old, "lr": course.rate}, {"params": new, "lr": new_rate}]
        optimiser = torch.optim.AdamW(groups, weight_decay=0.01)
        shown = [lesson for lesson in lessons if course.has_pools or not lesson.is_pool]
        messages = [(lesson, at) for lesson in shown for at in range(len(lesson.asked))]
        steps = course.epochs * (len(messages) // MESSAGES + 1)
        schedule = torch.optim.lr_scheduler.LambdaLR(
            optimiser, lambda step: min(1.0, (step + 1) / (0.08 * steps)) * max(0.02, 1 - step / steps)
        )
        strangers = [held for lesson in shown if not lesson.is_pool for held in lesson.held]
        mean = torch.optim.swa_utils.AveragedModel(reader, multi_avg_fn=_mixed)
        for step in range(steps):
            start = step * MESSAGES % len(messages)
            if start < MESSAGES:
                random.shuffle(messages)
            loss = self._loss(reader, messages[start : start + MESSAGES], strangers, course, heard)
            optimiser.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(reader.parameters(), 1.0)
            optimiser.step()
            schedule.step()
            if step > steps / 3:
                mean.update_parameters(reader)
        reader.load_state_dict(mean.module.state_dict())
        return reader.eval()

    @torch.no_grad()
    def read(self, reader: Reader, lesson: Lesson) -> np.ndarray:
        """Each message of a lesson with each memory."""
        told = self.scores(reader, [(asked, held) for asked in lesson.asked for held in lesson.held])
        return told.view(len(lesson.asked), -1).cpu().numpy().astype(np.float16)

    def _loss(
        self,
        reader: Reader,
        messages: list[tuple[Lesson, int]],
        strangers: list[Tokens],
        course: Course,
        heard: Heard | None,
    ) -> torch.Tensor:
        """Each pair on its own, and each message's choice among its memories and nothing at all."""
        pairs, places, wanted, meant, weights = [], [], [], [], []
        for row, (lesson, at) in enumerate(messages):
            shown = self._shown(lesson, at)
            more = random.choices(strangers, k=STRANGERS[len(lesson.held) <= FEW])
            held = [*[lesson.held[one] for one in shown], *more]
            right = [float(one in lesson.needed[at]) for one in shown]
            pairs += [(lesson.asked[at], one) for one in held]
            places += [(row, column + 1) for column in range(len(held))]
            wanted += [*right, *[0.0] * len(more)]
            meant += [
                *(right if heard is None else _halved(right, heard.labelled[id(lesson)][at][shown])),
                *[0.0] * len(more),
            ]
            weights += [*[1.0] * len(shown), *[STRANGER_WEIGHT] * len(more)]
        others = random.sample(heard.others, HEARD_MESSAGES) if heard is not None else []
        said: list[float] = []
        labelled = len(pairs)
        for asked, some, numbers in others:
            chosen = random.sample(range(len(some)), HEARD_PAIRS)
            pairs += [(asked, some[at]) for at in chosen]
            said += [float(numbers[at]) for at in chosen]
        every = self.scores(reader, pairs, course.hidden)
        told, right_ones = every[:labelled], torch.tensor(wanted, device=DEVICE)
        alone = _apart(told, torch.tensor(meant, device=DEVICE))
        rows, columns = torch.tensor(places, device=DEVICE).T
        table = torch.full((len(messages), int(columns.max()) + 1), -1e4, device=DEVICE)
        goal = torch.zeros_like(table)
        table[:, 0] = 0.0
        table[rows, columns], goal[rows, columns] = told, right_ones
        goal[:, 0] = (goal.sum(1) == 0).float()
        choice = -(goal / goal.sum(1, keepdim=True) * table.log_softmax(1)).sum(1).mean()
        loss = (alone * torch.tensor(weights, device=DEVICE)).sum() / len(messages) + CHOICE_WEIGHT * choice
        if said:
            numbers = torch.tensor(said, device=DEVICE)
            near = functional.smooth_l1_loss(every[labelled:], numbers, reduction="sum")
            apart = _apart(every[labelled:], numbers.sigmoid()).sum()
            loss = loss + (HEARD_WEIGHT * apart + HEARD_NUMBERS * near) / len(others)
        return loss

    def _shown(self, lesson: Lesson, at: int) -> list[int]:
        needed = lesson.needed[at]
        rest = [one for one in range(len(lesson.held)) if one not in needed and one not in lesson.allowed[at]]
        if len(rest) > MOST_SHOWN:
            rest.sort(key=lambda one: -float(self._near[id(lesson)][at, one]))
            rest = rest[:NEAREST] + random.sample(rest[NEAREST:], MOST_SHOWN - NEAREST)
        return [*needed, *rest]

    @torch.no_grad()
    def _heard(self, readers: list[Reader], lessons: list[Lesson]) -> Heard:
        """The mean of what they say of the lessons, and of every message with memories of all stores and worlds."""

        def said(pairs: list[tuple[Tokens, Tokens]]) -> np.ndarray:
            return torch.stack([self.scores(one, pairs) for one in readers]).mean(0).cpu().numpy()

        messages, claims = self._talk
        messages = [*[one for lesson in lessons for one in lesson.asked], *messages]
        memories = [*[one for lesson in lessons if not lesson.is_pool for one in lesson.held], *claims]
        directions, others = self._directions(memories), []
        for start in range(0, len(messages), PART):
            some = messages[start : start + PART]
            near = np.argsort(-(self._directions(some) @ directions.T), axis=1)[:, : 3 * PAIRED[0]].tolist()
            rows = [
                [*random.sample(row, PAIRED[0]), *random.choices(range(len(memories)), k=PAIRED[1])] for row in near
            ]
            held = [[memories[at] for at in row] for row in rows]
            numbers = said([(asked, one) for asked, row in zip(some, held, strict=True) for one in row])
            others += list(zip(some, held, numbers.reshape(len(some), -1), strict=True))
        labelled = {
            id(one): said([(asked, held) for asked in one.asked for held in one.held]).reshape(len(one.asked), -1)
            for one in lessons
        }
        return Heard(labelled, others)

    @torch.no_grad()
    def _directions(self, texts: list[Tokens]) -> np.ndarray:
        """Where the sentence model says that texts point: it tells which memories are hard to tell apart."""
        rows = []
        for start in range(0, len(texts), PART):
            some = [one if one[0] == BEGIN[0] else np.concatenate([BEGIN, one]) for one in texts[start : start + PART]]
            words, ids = self._given(some, 0.0)
            rows.append(functional.normalize(self._first.mean(words, ids, (ids != 0).long()), dim=1).cpu().numpy())
        return np.concatenate(rows)

    def _given(self, rows: list[Tokens], hidden: float) -> tuple[torch.Tensor, torch.Tensor]:
        """What the word pieces of some texts are, and which; some of them hidden."""
        ids = np.zeros((len(rows), max(map(len, rows))), np.int64)
        for at, row in enumerate(rows):
            ids[at, : len(row)] = row
        given = torch.from_numpy(ids).to(DEVICE)
        if hidden:
            lost = (given >= FIRST_WORD) & (torch.rand(given.shape, device=DEVICE) < hidden)
            given = given.masked_fill(lost, FIRST_WORD - 1)
        return self._pieces[given], given


def _halved(right: list[float], said: np.ndarray) -> list[float]:
    """Half of what the labels say, and half of what readers do."""
    return ((np.array(right) + 1 / (1 + np.exp(-said))) / 2).tolist()


def _apart(told: torch.Tensor, meant: torch.Tensor) -> torch.Tensor:
    weight = torch.tensor(NEEDED_WEIGHT, device=DEVICE)
    return functional.binary_cross_entropy_with_logits(told, meant, reduction="none", pos_weight=weight)


@torch.no_grad()
def _mixed(means: list[torch.Tensor], now: list[torch.Tensor], steps: torch.Tensor | int) -> None:
    """A running mean that forgets its first steps."""
    kept = min(AVERAGED, float(steps) / (float(steps) + 10))
    torch._foreach_mul_(means, kept)
    torch._foreach_add_(means, now, alpha=1 - kept)


def export(reader: Reader, path: Path) -> None:
    """As the int8 file that ships."""
    from onnxruntime.quantization import QuantType, quantize_dynamic

    ids = torch.ones(2, 7, dtype=torch.long)
    axes = {name: {0: "texts", 1: "tokens"} for name in ("words", "ids", "mask")}
    with tempfile.TemporaryDirectory() as place:
        whole = Path(place, "whole.onnx")
        torch.onnx.export(
            reader.cpu().eval(), (torch.randn(2, 7, SIZE), ids, ids), str(whole), input_names=["words", "ids", "mask"],
            output_names=["relevance"], dynamic_axes={**axes, "relevance": {0: "texts"}}, opset_version=OPERATORS,
            dynamo=False,
        )  # fmt: skip
        quantize_dynamic(whole, path, weight_type=QuantType.QInt8, per_channel=True, reduce_range=True)


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="python -m evals.train_recall.reader", description=(__doc__ or "").split("\n\n", 1)[0]
    )
    parser.add_argument("--lessons", required=True, type=Path, nargs="+")
    parser.add_argument("--out", required=True, type=Path)
    options = parser.parse_args()
    found = [
        json.loads(path.read_text("utf-8")) for folder in options.lessons for path in sorted(folder.glob("*.json"))
    ]
    lessons = [lesson_of(source, "") for source in found]
    lessons += [lesson_of(store, author) for author in authors() for store in read_stores(FOLDER, author)]
    readers, told = Readers(lessons), {}
    for turn in (0, 1):
        held_out = authors()[turn::2]
        reader = readers.taught([lesson for lesson in lessons if lesson.author not in held_out])
        for lesson in lessons:
            if lesson.author in held_out:
                told[f"{lesson.author}|{lesson.name}"] = readers.read(reader, lesson)
    np.savez_compressed(options.out / "relevance.npz", **told)  # type: ignore[arg-type]
    export(readers.taught(lessons), options.out / "minilm.reader.onnx")
    return 0


if __name__ == "__main__":
    sys.exit(main())
