"""The table: a vector for each word, learned so that a text's sum points where the sentence model points."""

from __future__ import annotations

import random
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from zlib import crc32

import numpy as np
import torch
from torch import nn
from torch.nn import functional

from evals.train_recall.lessons import Lesson
from evals.train_recall.teacher import DEVICE, TaskLoss, Teacher, partly
from memdir.text.embedding import DIMENSIONS, GRAM_SIZES
from memdir.text.words import is_unspaced, split_words

WORDS, BUCKETS, ENGLISH_WORDS, FREQUENT_WORDS = 44_000, 16_000, 30_000, 24_000
FIRST_EPOCHS, FIRST_RATE = 20, 3e-3  # of distilling the sentence model as it comes,
NEXT_EPOCHS, NEXT_RATE = 6, 2e-3  # and from there on the tuned one
DISTIL_BATCH = 4096
TUNE_EPOCHS, TUNE_RATE = 6, 3e-3
VARIANTS = 4  # of each text in distilling: in each, other words are read by their letters
DROPPED = 0.1  # of the words
POOL_WEIGHT = 1.0  # how firmly tuning holds on to the view of unlabelled text
POOL_BATCH = 2048
KEPT_CHANGE = 0.5  # of what tuning on the labels changed
TEMPERATURE = 0.05


class Words:
    """The vocabulary and the rows of any text."""

    def __init__(self, english: list[str], parallel: list[list[str]], pieces: list[str]) -> None:
        self.counts = Counter(word for line in english for word in split_words(line))
        frequent = self.counts.most_common(FREQUENT_WORDS)
        known = [word for word, _ in frequent if not (word.isdigit() and len(word) > 4)]
        chosen = dict.fromkeys([*known, *[piece for piece in pieces if piece not in known]][:ENGLISH_WORDS])
        others: Counter[str] = Counter()
        for language in sorted({row[1] for row in parallel}):
            found = Counter(word for row in parallel if row[1] == language for word in split_words(row[2]))
            total = sum(found.values())
            for word, count in found.items():
                if count >= 3 and word not in chosen:
                    others[word] += count / total  # type: ignore[assignment]
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
            ids += found
            weights += [1 / max(1, len(found))] * len(found)
        return ids, weights


class Lines:
    """Many texts as rows of the table, ready to be summed by the thousand."""

    def __init__(self, words: Words, lines: list[str], *, drop: float = 0.0, seed: int = 0) -> None:
        parts = [lines[at : at + 20_000] for at in range(0, len(lines), 20_000)]
        with ProcessPoolExecutor() as workers:
            found = list(workers.map(_rows, parts, [(words, drop, seed + at) for at in range(len(parts))]))
        lengths = np.concatenate([one[2] for one in found])
        self._ids = torch.tensor(np.concatenate([one[0] for one in found]), device=DEVICE)
        self._weights = torch.tensor(np.concatenate([one[1] for one in found]), device=DEVICE)
        self._lengths = torch.tensor(lengths, device=DEVICE)
        self._starts = self._lengths.cumsum(0) - self._lengths

    def of(self, places: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """Row numbers, their weights and where each text begins."""
        lengths = self._lengths[places]
        offsets = lengths.cumsum(0) - lengths
        at = torch.repeat_interleave(self._starts[places] - offsets, lengths)
        at = at + torch.arange(len(at), device=DEVICE)
        return self._ids[at], self._weights[at], offsets

    def all(self) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        return self._ids, self._weights, self._starts


def _rows(lines: list[str], how: tuple[Words, float, int]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    words, drop, seed = how
    random.seed(seed)
    found = [words.rows(line, drop) for line in lines]
    ids = np.array([one for row, _ in found for one in row], np.int64)
    weights = np.array([one for _, row in found for one in row], np.float32)
    return ids, weights, np.array([len(row) for row, _ in found], np.int64)


class Student(nn.Module):
    """A vector a row, and for each row how much more or less it counts in a question."""

    def __init__(self, rows: torch.Tensor) -> None:
        super().__init__()
        self.rows = nn.Parameter(rows.clone())
        self.asked = nn.Parameter(torch.zeros(len(rows), device=DEVICE))

    def forward(
        self, found: tuple[torch.Tensor, torch.Tensor, torch.Tensor], *, is_question: bool = False
    ) -> torch.Tensor:
        ids, weights, starts = found
        if is_question:
            weights = weights * self.asked[ids].exp()
        summed = functional.embedding_bag(ids, self.rows, starts, mode="sum", per_sample_weights=weights)
        return functional.normalize(summed, dim=1)


class Distillation:
    """Brings each text's sum near the teacher's direction, and its neighbours near the teacher's neighbours."""

    def __init__(self, words: Words, english: list[str], parallel: list[list[str]]) -> None:
        self._words = words
        self._unique = list(dict.fromkeys([*english, *[row[0] for row in parallel]]))
        place = {line: at for at, line in enumerate(self._unique)}
        places = [place[line] for line in english] + [place[row[0]] for row in parallel]
        self._places = torch.tensor(places, device=DEVICE)
        lines = english + [row[2] for row in parallel]
        self._variants = [Lines(words, lines, drop=DROPPED, seed=1000 * at) for at in range(VARIANTS)]
        self._axes = torch.empty(0)

    def begin(self, teacher: Teacher) -> Student:
        """A new table after the teacher as it stands; its main axes stay those of all tables made here."""
        views = teacher.embed(self._unique)
        self._axes = torch.linalg.svd(views.T @ views)[0][:, :DIMENSIONS]
        total, counts = sum(self._words.counts.values()), self._words.counts
        rarity = [1e-3 / (1e-3 + 8 * counts[word] / total) for word in self._words.place]
        start = functional.normalize(teacher.embed(list(self._words.place)) @ self._axes, dim=1)
        start = start * torch.tensor(rarity, device=DEVICE)[:, None]
        student = Student(torch.cat([start, torch.randn(BUCKETS, DIMENSIONS, device=DEVICE) * 0.02]))
        self._distil(student, views, FIRST_EPOCHS, FIRST_RATE)
        return student

    def follow(self, student: Student, teacher: Teacher) -> None:
        """Go on from a table to the teacher as it stands now."""
        self._distil(student, teacher.embed(self._unique), NEXT_EPOCHS, NEXT_RATE)

    def _distil(self, student: Student, views: torch.Tensor, epochs: int, rate: float) -> None:
        goals = functional.normalize(views @ self._axes, dim=1)
        steps = epochs * (len(self._places) // DISTIL_BATCH + 1)
        optimiser = torch.optim.Adam([student.rows], lr=rate)
        schedule = torch.optim.lr_scheduler.OneCycleLR(optimiser, rate, total_steps=steps + 1, pct_start=0.05)
        for epoch in range(epochs):
            for chosen in torch.randperm(len(self._places), device=DEVICE).split(DISTIL_BATCH):
                mine = student(self._variants[epoch % VARIANTS].of(chosen))
                goal = goals[self._places[chosen]]
                wanted = (goal @ goal.T / TEMPERATURE).softmax(1)
                apart = -(wanted * (mine @ goal.T / TEMPERATURE).log_softmax(1)).sum(1).mean()
                loss = 5 * (1 - (mine * goal).sum(1)).mean() + apart
                optimiser.zero_grad()
                loss.backward()
                optimiser.step()
                schedule.step()


class Read:
    """A lesson's texts as rows of the table."""

    def __init__(self, words: Words, lesson: Lesson) -> None:
        self.lesson = lesson
        self.lines = {name: _plain_lines(words, lines) for name, lines in lesson.texts.items()}


def _plain_lines(words: Words, lines: list[str]) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    ids, weights, lengths = _rows(lines, (words, 0.0, 0))
    starts = np.cumsum(lengths) - lengths
    return tuple(torch.tensor(one, device=DEVICE) for one in (ids, weights, starts))  # type: ignore[return-value]


def tune(
    student: Student,
    lessons: list[Read],
    teacher: Teacher,
    pool: tuple[Lines, torch.Tensor],
    *,
    kept: float = KEPT_CHANGE,
) -> None:
    """Learn the labels and the tuned teacher's similarities, holding on to its view of unlabelled text."""
    before = {name: value.clone() for name, value in student.state_dict().items()}
    loss_of = TaskLoss()
    seen = {read.lesson.name: teacher.embed_lesson(read.lesson) for read in lessons}
    lines, views = pool
    optimiser = torch.optim.Adam(
        [
            {"params": [student.rows], "lr": TUNE_RATE},
            {"params": [student.asked], "lr": 10 * TUNE_RATE},
            {"params": loss_of.parameters(), "lr": 1e-2},
        ]
    )
    steps = TUNE_EPOCHS * len(lessons)
    schedule = torch.optim.lr_scheduler.LambdaLR(optimiser, lambda step: max(0.02, 1 - step / steps))
    for _ in range(TUNE_EPOCHS):
        for read in random.sample(lessons, len(lessons)):
            other = random.choice([one for one in lessons if one is not read])
            loss = _lesson_loss(student, read, other, loss_of, seen)
            places = torch.randint(len(views), (POOL_BATCH,), device=DEVICE)
            mine, goal = student(lines.of(places)), views[places]
            wanted = (goal @ goal.T / TEMPERATURE).softmax(1)
            loss = loss - POOL_WEIGHT * 0.3 * (wanted * (mine @ mine.T / TEMPERATURE).log_softmax(1)).sum(1).mean()
            loss = loss + POOL_WEIGHT * 5 * ((mine @ mine.T - goal @ goal.T) ** 2).mean()
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()
            schedule.step()
    student.load_state_dict(partly(before, student.state_dict(), kept))


def _lesson_loss(
    student: Student, read: Read, other: Read, loss_of: TaskLoss, seen: dict[str, dict[str, torch.Tensor]]
) -> torch.Tensor:
    asked = student(read.lines["q"], is_question=True)
    goals = seen[read.lesson.name]
    scores = {name: asked @ student(lines).T for name, lines in read.lines.items() if name != "q"}
    loss: torch.Tensor = loss_of(sum(scores.values()) / len(scores), read.lesson)
    for name, mine in scores.items():
        loss = loss + 10 * ((mine - goals["q"] @ goals[name].T) ** 2).mean()
    far = asked @ student(other.lines["f"]).T
    return loss + 10 * ((far - goals["q"] @ seen[other.lesson.name]["f"].T) ** 2).mean()
