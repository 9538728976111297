"""The trained judge: from observed features to how likely a sentence is a rule, a fact, a pointer, a reason or nothing.

A multinomial logistic model over hashed feature names; the shipped file is made by evals/train_extract.py.
"""

from __future__ import annotations

import json
import math
import zlib
from array import array
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache

from memdir.disk.shipped import shipped_bytes

CLASSES = ("N", "F", "P", "U", "R", "W")  # nothing, feedback, project, user, reference, a reason or its use
TYPES = {"F": "feedback", "P": "project", "U": "user", "R": "reference"}
MAGIC = b"memdir-extract-1\n"
_KEY = "I"  # 32-bit hash of a feature's name
_CELL = "b"  # one weight, in steps of the model's scale


@dataclass(frozen=True)
class SentenceJudge:
    """Weights by feature hash, six a feature, and the small models for matching and for keeping quiet."""

    rows: Mapping[int, tuple[int, ...]]
    scale: float
    matching: Mapping[str, float]  # which memory is meant
    keeping: Mapping[str, float]  # whether a candidate is worth keeping
    settings: Mapping[str, float]
    familiar: Mapping[str, float]  # how little a common stem says about a topic, 0 to 1

    def probabilities(self, features: Iterable[str]) -> dict[str, float]:
        """How likely each class is."""
        sums = [0] * len(CLASSES)
        for feature in features:
            row = self.rows.get(zlib.crc32(feature.encode()))
            if row:
                for at, weight in enumerate(row):
                    sums[at] += weight
        top = max(sums)
        powers = [math.exp((value - top) * self.scale) for value in sums]
        total = sum(powers)
        return {name: power / total for name, power in zip(CLASSES, powers, strict=True)}


@cache
def shipped() -> SentenceJudge:
    """The judge that ships with the package, read once."""
    return unpack(shipped_bytes("model/builtin/extract/judge.bin"))


def unpack(data: bytes) -> SentenceJudge:
    """A judge from its file form."""
    if not data.startswith(MAGIC):
        raise ValueError("not a judge file of this version")
    head, _, packed = data[len(MAGIC) :].partition(b"\n")
    about = json.loads(head)
    raw = zlib.decompress(packed)
    split = about["rows"] * 4
    keys, cells = array(_KEY), array(_CELL)
    keys.frombytes(raw[:split])
    cells.frombytes(raw[split:])
    width = len(CLASSES)
    rows = {key: tuple(cells[at * width : (at + 1) * width]) for at, key in enumerate(keys)}
    return SentenceJudge(
        rows, about["scale"], about["matching"], about["keeping"], about["settings"], about["familiar"]
    )


def pack(judge: SentenceJudge) -> bytes:
    """The file form of a judge; equal judges give equal bytes."""
    keys = sorted(judge.rows)
    raw = array(_KEY, keys).tobytes() + array(_CELL, [cell for key in keys for cell in judge.rows[key]]).tobytes()
    about = {
        "rows": len(keys),
        "scale": judge.scale,
        "matching": dict(judge.matching),
        "keeping": dict(judge.keeping),
        "settings": dict(judge.settings),
        "familiar": dict(judge.familiar),
    }
    return MAGIC + json.dumps(about, sort_keys=True).encode() + b"\n" + zlib.compress(raw, 9)
