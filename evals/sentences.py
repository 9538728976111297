"""Sentence vectors kept in a file between runs: a public set is embedded once, however often the ranking changes."""

from __future__ import annotations

import hashlib
import os
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from evals.rankings import Encoders
from memdir.search import MODEL_PATH, has_sentence_model
from memdir.search.minilm import PairEncoder, SentenceModel
from memdir.search.vectors import WordEncoder
from memdir.text.embedding import open_table

BLOCK = 512  # texts between two lines of progress
CACHE = Path("results")


class Sentences(SentenceModel):
    """The sentence model with a memory on disk, one file for these weights."""

    def __init__(self, folder: Path = CACHE) -> None:
        super().__init__(threads=2)
        folder.mkdir(exist_ok=True)
        weights = hashlib.sha256(Path(MODEL_PATH).read_bytes()).hexdigest()[:12]
        self._path = folder / f"sentences-{weights}.npz"
        self._rows: dict[bytes, Any] = {}
        self._load()

    def embed(self, texts: Sequence[str]) -> list[list[float]]:
        """As the model gives it, but each text only once."""
        self._learn(list(dict.fromkeys(texts)))
        return [self._rows[_name(text)].tolist() for text in texts]

    def rows(self, texts: Sequence[str]) -> Any:
        """The vectors as one matrix."""
        import numpy as np

        self._learn(list(dict.fromkeys(texts)))
        return np.array([self._rows[_name(text)] for text in texts])

    def save(self) -> None:
        import numpy as np

        names = np.frombuffer(b"".join(self._rows), np.uint8).reshape(-1, 16)
        fresh = self._path.with_suffix(f".{os.getpid()}.npz")
        np.savez(fresh, names=names, rows=np.array(list(self._rows.values()), np.float16))
        fresh.replace(self._path)  # two evaluations at a time never read half a file

    def _learn(self, texts: list[str]) -> None:
        import numpy as np

        fresh = [text for text in texts if _name(text) not in self._rows]
        start = time.monotonic()
        for at in range(0, len(fresh), BLOCK):
            block = fresh[at : at + BLOCK]
            for text, row in zip(block, super().embed(block), strict=True):
                self._rows[_name(text)] = np.array(row, np.float16).astype(np.float32)  # as `save` keeps it
            if len(fresh) > BLOCK:
                done, spent = at + len(block), time.monotonic() - start
                print(f"  embedded {done:,} of {len(fresh):,} texts in {spent:.0f} s", file=sys.stderr, flush=True)

    def _load(self) -> None:
        import numpy as np

        if self._path.exists():
            kept = np.load(self._path)
            rows = (kept["names"], kept["rows"])
            self._rows = {bytes(name): row.astype(np.float32) for name, row in zip(*rows, strict=True)}


def encoders() -> Encoders:
    """The default install's encoder, and with the extra both of them."""
    table = open_table()
    if not has_sentence_model():
        return Encoders(WordEncoder(table))
    sentences = Sentences()
    return Encoders(WordEncoder(table), PairEncoder(table, sentences), sentences)


def _name(text: str) -> bytes:
    return hashlib.md5(text.encode(), usedforsecurity=False).digest()
