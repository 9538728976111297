"""Memory directories of any size for benchmarks, the same for the same number."""

from __future__ import annotations

import random
from pathlib import Path

_TYPES = ("user", "feedback", "project", "reference")
_SYLLABLES = (
    "ka",
    "lo",
    "mi",
    "ner",
    "pul",
    "sto",
    "tra",
    "ven",
    "zi",
    "dor",
    "fen",
    "gul",
    "har",
    "jin",
    "bex",
    "qua",
)


def build_store(folder: Path, count: int) -> None:
    """`count` memories of a few hundred bytes, like those people and models write."""
    chance = random.Random(count)
    words = ["".join(chance.choices(_SYLLABLES, k=chance.randint(1, 4))) for _ in range(4000)]
    folder.mkdir(parents=True, exist_ok=True)
    for number in range(count):
        description = " ".join(chance.choices(words, k=12))
        body = " ".join(chance.choices(words, k=45))
        text = f"---\nname: memory {number}\ndescription: {description}\ntype: {_TYPES[number % 4]}\n---\n\n{body}\n"
        (folder / f"memory_{number:06d}.md").write_text(text, encoding="utf-8")
