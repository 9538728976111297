"""The sentence model: all-MiniLM-L6-v2, tuned on lessons so that a question lies near what answers it."""

from __future__ import annotations

import math
import random
from pathlib import Path

import torch
from torch import nn
from torch.nn import functional

from evals.train_recall.lessons import Lesson

EPOCHS, RATE = 4, 1e-4
KEPT_CHANGE = 0.85  # of what tuning changed: a little back, the lessons keep their gain and other texts lose less
ASKED_TOKENS, HEAD_TOKENS, TEXT_TOKENS = 96, 64, 128  # a memory as recall reads it
SCALE = math.log(12.0)  # of similarities, to begin with
BIAS = -6.0
DEVICE = "cuda" if torch.cuda.is_available() else "cpu"

State = dict[str, torch.Tensor]


class TaskLoss(nn.Module):
    """Binary cross-entropy of every pair plus a softmax over the documents, with a learned scale and biases."""

    def __init__(self) -> None:
        super().__init__()
        self.scale = nn.Parameter(torch.tensor(SCALE, device=DEVICE))
        self.biases = nn.Parameter(torch.full((2,), BIAS, device=DEVICE))  # pools and worlds: how rare an answer is

    def forward(self, scores: torch.Tensor, lesson: Lesson) -> torch.Tensor:
        relevant, counts = (torch.tensor(matrix, device=DEVICE) for matrix in (lesson.relevant, lesson.counts))
        scaled = scores * self.scale.exp()
        wanted = relevant.sum(1)
        pairs = functional.binary_cross_entropy_with_logits(
            scaled + self.biases[int(lesson.is_world)], relevant, reduction="none"
        )
        share = (scaled.masked_fill(counts == 0, -1e4).log_softmax(1) * relevant).sum(1) / wanted.clamp(min=1)
        return (pairs * counts).sum() / relevant.sum() - share[wanted > 0].mean()


class Teacher:
    """The encoder, as it comes or tuned on some lessons."""

    def __init__(self, folder: Path) -> None:
        from transformers import AutoModel, AutoTokenizer

        self._tokenizer = AutoTokenizer.from_pretrained(folder)
        self.vocabulary: dict[str, int] = self._tokenizer.get_vocab()
        self.model = AutoModel.from_pretrained(folder).float().to(DEVICE)
        self._first: State = {name: value.clone() for name, value in self.model.state_dict().items()}
        self._tokens: dict[str, list[int]] = {}
        self._batches: dict[tuple[str, str], torch.Tensor] = {}

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        """Unit vectors, as the mean over the tokens."""
        mask = (ids != 0).long()
        hidden = self.model(input_ids=ids, attention_mask=mask).last_hidden_state.float()
        weights = mask[..., None].float()
        return functional.normalize((hidden * weights).sum(1) / weights.sum(1), dim=1)

    @torch.no_grad()
    def embed(self, lines: list[str], length: int = HEAD_TOKENS, size: int = 2048) -> torch.Tensor:
        self.model.eval()
        self._tokenise(lines)
        order = sorted(range(len(lines)), key=lambda at: len(self._tokens[lines[at]]))
        out = torch.zeros(len(lines), self.model.config.hidden_size, device=DEVICE)
        with torch.autocast(DEVICE, torch.bfloat16, enabled=len(lines) > size):
            for start in range(0, len(lines), size):
                places = order[start : start + size]
                batch = self._padded([lines[at] for at in places], length)
                out[torch.tensor(places, device=DEVICE)] = self.forward(batch)
        return out

    def embed_lesson(self, lesson: Lesson) -> dict[str, torch.Tensor]:
        return {name: self.embed(lines, TEXT_TOKENS) for name, lines in lesson.texts.items()}

    def tune(
        self, lessons: list[Lesson], *, kept: float = KEPT_CHANGE, epochs: int = EPOCHS, rate: float = RATE
    ) -> State:
        """From the beginning, one step a lesson over its whole matrix; gives back the weights where tuning ended."""
        self.model.load_state_dict(self._first)
        self.model.train()
        loss_of = TaskLoss()
        optimiser = torch.optim.AdamW(
            [{"params": self.model.parameters(), "lr": rate}, {"params": loss_of.parameters(), "lr": 1e-2}]
        )
        steps = epochs * len(lessons)
        schedule = torch.optim.lr_scheduler.LambdaLR(
            optimiser, lambda step: min(1.0, (step + 1) / (0.1 * steps)) * max(0.02, 1 - step / steps)
        )
        for _ in range(epochs):
            for lesson in random.sample(lessons, len(lessons)):
                optimiser.zero_grad()
                with torch.autocast(DEVICE, torch.bfloat16, enabled=DEVICE == "cuda"):
                    scores = self._scores(lesson)
                loss_of(scores.float(), lesson).backward()
                nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
                optimiser.step()
                schedule.step()
        last = {name: value.clone() for name, value in self.model.state_dict().items()}
        self.keep(last, kept)
        return last

    def keep(self, last: State, share: float) -> None:
        """Stand on the way from the first weights to the last ones."""
        self.model.load_state_dict(partly(self._first, last, share))
        self.model.eval()

    def _scores(self, lesson: Lesson) -> torch.Tensor:
        asked = self.forward(self._batch(lesson, "q", ASKED_TOKENS))
        wholes = self.forward(self._batch(lesson, "f", TEXT_TOKENS))
        if "d" in lesson.texts:
            wholes = (wholes + self.forward(self._batch(lesson, "d", HEAD_TOKENS))) / 2
        return asked @ wholes.T

    def _batch(self, lesson: Lesson, name: str, length: int) -> torch.Tensor:
        """A field's tokens, made once."""
        key = lesson.name, name
        if key not in self._batches:
            self._tokenise(lesson.texts[name])
            self._batches[key] = self._padded(lesson.texts[name], length)
        return self._batches[key]

    def _padded(self, lines: list[str], length: int) -> torch.Tensor:
        rows = [[*self._tokens[line][: length - 1], self.vocabulary["[SEP]"]] for line in lines]
        width = max(map(len, rows))
        return torch.tensor([row + [0] * (width - len(row)) for row in rows]).to(DEVICE)

    def _tokenise(self, lines: list[str]) -> None:
        fresh = list(dict.fromkeys(line for line in lines if line not in self._tokens))
        for start in range(0, len(fresh), 50_000):
            some = fresh[start : start + 50_000]
            found = self._tokenizer(some, truncation=True, max_length=TEXT_TOKENS)["input_ids"]
            self._tokens.update(zip(some, [row[:-1] for row in found], strict=True))


def partly(first: State, last: State, share: float) -> State:
    """The weights on the way from one state to another."""
    return {
        name: value + share * (last[name] - value) if value.is_floating_point() else value
        for name, value in first.items()
    }
