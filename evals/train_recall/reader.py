"""Make the reader: the sentence model tuned to read a message and a memory together and to say whether it is needed.

    python -m evals.train_recall.reader --lessons DIR ... --out DIR

Learns from the worlds of the lessons and from the read stores (`evals/data`). Begins with the layers that ship
(`minilm.onnx`) and keeps their word pieces, so that only its own layers are new. About six minutes on a GPU. Writes
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

from evals.stores import FOLDER, authors, read_stores
from evals.train_recall.export import OPERATORS
from evals.train_recall.teacher import DEVICE
from memdir.disk.shipped import shipped_text
from memdir.recall.decide import FEW_LINES, own_words
from memdir.search import MODEL_PATH
from memdir.search.minilm import MEMORY_TOKENS, MESSAGE_TOKENS, VOCABULARY, WORDS_PATH, WordPiece

LAYERS, HEADS, SIZE, INNER = 6, 12, 384, 1536
EPOCHS, RATE, HEAD_RATE = 4, 1e-4, 5e-4
MESSAGES = 48  # in a step
MOST_SHOWN, NEAREST = 13, 8  # memories that a message does not need, and how many of them are the nearest
STRANGERS = (1, 3)  # memories of other stores beside them; more where the store has few of its own
FEW = 8
STRANGER_WEIGHT, NEEDED_WEIGHT, CHOICE_WEIGHT = 0.5, 2.0, 0.7
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


@dataclass(frozen=True, eq=False)
class Lesson:
    """The messages and memories of a store or a world as tokens, with what each message needs and may have."""

    author: str
    name: str
    asked: list[Tokens]
    held: list[Tokens]
    needed: list[list[int]]
    allowed: list[list[int]]


def lesson_of(source: dict[str, Any], author: str) -> Lesson:
    place = {memory["file"]: at for at, memory in enumerate(source["memories"])}
    texts = [query["query"] for query in source["queries"]]
    asked = [text if text.count("\n") < FEW_LINES else f"{own_words(text)} ... {text}" for text in texts]
    memories = source["memories"]
    held = [f"{one['type']}: {one['name']}. {one['description']}. {one['body']}" for one in memories]
    return Lesson(
        author,
        source["world"],
        [np.array(TOKENS.ids(text, MESSAGE_TOKENS), np.int32) for text in asked],
        [np.array(TOKENS.ids(text, MEMORY_TOKENS)[1:], np.int32) for text in held],
        [[place[name] for name in query["relevant"]] for query in source["queries"]],
        [[place[name] for name in query.get("acceptable", []) if name in place] for query in source["queries"]],
    )


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
        ends = (ids == TOKENS.ids("", 2)[-1]).long()
        later = ((ends.cumsum(1) - ends) > 0).float()[..., None]  # behind the message's end: the memory
        sides = self.sides.weight[0] + later * (self.sides.weight[1] - self.sides.weight[0])
        rows = self.drop(self.begin(words + self.places.weight[: ids.shape[1]] + sides))
        seen = mask.float()
        for layer in self.layers:
            rows = layer(rows, (1 - seen)[:, None, None, :] * -1e4)
        mean = (rows * seen[..., None]).sum(1) / seen.sum(1, keepdim=True)
        told: torch.Tensor = self.score(functional.gelu(self.head(mean))).squeeze(1)
        return told


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
        self.near = {id(lesson): self._nearness(lesson) for lesson in lessons}

    def scores(self, reader: Reader, pairs: list[tuple[Tokens, Tokens]]) -> torch.Tensor:
        width = max(len(one) + len(other) for one, other in pairs)
        ids = np.zeros((len(pairs), width), np.int64)
        for row, (asked, held) in enumerate(pairs):
            ids[row, : len(asked)] = asked
            ids[row, len(asked) : len(asked) + len(held)] = held
        given = torch.from_numpy(ids).to(DEVICE)
        with torch.autocast(DEVICE, torch.bfloat16, enabled=DEVICE == "cuda"):
            told: torch.Tensor = reader(self._pieces[given], given, (given != 0).long())
        return told.float()

    def train(self, lessons: list[Lesson]) -> Reader:
        random.seed(1)
        torch.manual_seed(1)
        reader = Reader(self._state).to(DEVICE).train()
        new = [*reader.head.parameters(), *reader.score.parameters()]
        old = [one for name, one in reader.named_parameters() if not name.startswith(("head", "score"))]
        groups = [{"params": old, "lr": RATE}, {"params": new, "lr": HEAD_RATE}]
        optimiser = torch.optim.AdamW(groups, weight_decay=0.01)
        messages = [(lesson, at) for lesson in lessons for at in range(len(lesson.asked))]
        steps = EPOCHS * (len(messages) // MESSAGES + 2)
        schedule = torch.optim.lr_scheduler.LambdaLR(
            optimiser, lambda step: min(1.0, (step + 1) / (0.08 * steps)) * max(0.02, 1 - step / steps)
        )
        strangers = [held for lesson in lessons for held in lesson.held]
        for _ in range(EPOCHS):
            random.shuffle(messages)
            for start in range(0, len(messages), MESSAGES):
                loss = self._loss(reader, messages[start : start + MESSAGES], strangers)
                optimiser.zero_grad()
                loss.backward()
                nn.utils.clip_grad_norm_(reader.parameters(), 1.0)
                optimiser.step()
                schedule.step()
        return reader.eval()

    def _loss(self, reader: Reader, messages: list[tuple[Lesson, int]], strangers: list[Tokens]) -> torch.Tensor:
        """Each pair on its own, and each message's choice among its memories and nothing at all."""
        pairs, places, wanted, weights = [], [], [], []
        for row, (lesson, at) in enumerate(messages):
            shown = self._shown(lesson, at)
            more = random.choices(strangers, k=STRANGERS[len(lesson.held) <= FEW])
            held = [*[lesson.held[one] for one in shown], *more]
            pairs += [(lesson.asked[at], one) for one in held]
            places += [(row, column + 1) for column in range(len(held))]
            wanted += [*[float(one in lesson.needed[at]) for one in shown], *[0.0] * len(more)]
            weights += [*[1.0] * len(shown), *[STRANGER_WEIGHT] * len(more)]
        told, right = self.scores(reader, pairs), torch.tensor(wanted, device=DEVICE)
        alone = functional.binary_cross_entropy_with_logits(
            told, right, reduction="none", pos_weight=torch.tensor(NEEDED_WEIGHT, device=DEVICE)
        )
        rows, columns = torch.tensor(places, device=DEVICE).T
        table = torch.full((len(messages), int(columns.max()) + 1), -1e4, device=DEVICE)
        goal = torch.zeros_like(table)
        table[:, 0] = 0.0
        table[rows, columns], goal[rows, columns] = told, right
        goal[:, 0] = (goal.sum(1) == 0).float()
        choice = -(goal / goal.sum(1, keepdim=True) * table.log_softmax(1)).sum(1).mean()
        return (alone * torch.tensor(weights, device=DEVICE)).sum() / len(messages) + CHOICE_WEIGHT * choice

    def _shown(self, lesson: Lesson, at: int) -> list[int]:
        needed = lesson.needed[at]
        rest = [one for one in range(len(lesson.held)) if one not in needed and one not in lesson.allowed[at]]
        if len(rest) > MOST_SHOWN:
            rest.sort(key=lambda one: -float(self.near[id(lesson)][at, one]))
            rest = rest[:NEAREST] + random.sample(rest[NEAREST:], MOST_SHOWN - NEAREST)
        return [*needed, *rest]

    def _nearness(self, lesson: Lesson) -> torch.Tensor:
        """A rough one, by the means of the word pieces: it only tells which memories are hard to tell apart."""
        means = [
            functional.normalize(torch.stack([self._pieces[torch.tensor(row).long()].mean(0) for row in rows]), dim=1)
            for rows in (lesson.asked, lesson.held)
        ]
        return (means[0] @ means[1].T).cpu()

    @torch.no_grad()
    def read(self, reader: Reader, lesson: Lesson) -> np.ndarray:
        rows = [self.scores(reader, [(asked, held) for held in lesson.held]).cpu().numpy() for asked in lesson.asked]
        return np.array(rows, np.float16)


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
    lessons = [lesson_of(source, "") for source in found if "memories" in source]
    lessons += [lesson_of(store, author) for author in authors() for store in read_stores(FOLDER, author)]
    readers, told = Readers(lessons), {}
    for turn in (0, 1):
        held_out = authors()[turn::2]
        reader = readers.train([lesson for lesson in lessons if lesson.author not in held_out])
        for lesson in lessons:
            if lesson.author in held_out:
                told[f"{lesson.author}|{lesson.name}"] = readers.read(reader, lesson)
    np.savez_compressed(options.out / "relevance.npz", **told)  # type: ignore[arg-type]
    export(readers.train(lessons), options.out / "minilm.reader.onnx")
    return 0


if __name__ == "__main__":
    sys.exit(main())
