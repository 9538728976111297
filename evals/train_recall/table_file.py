"""The table as the file that ships: four bits a number, the scale that loses least, words by their fingerprints."""

from __future__ import annotations

import math
import struct
from pathlib import Path
from zlib import crc32

import numpy as np

from memdir.text.embedding import DIMENSIONS, MAGIC


def write_table(path: Path, words: list[str], rows: np.ndarray, asked: np.ndarray, commonness: dict[str, int]) -> None:
    """`rows` are those of the words, then those of the letter groups; `asked` is each one's weight in a question."""
    scales, numbers = _quantised(rows)
    prints = np.array([crc32(word.encode()) for word in words], np.uint32)
    order = np.argsort(prints, kind="stable")
    common = np.array([_log_count(commonness.get(word, 0)) for word in words], np.uint8)[order]
    whole = np.concatenate([order, np.arange(len(words), len(rows))])
    numbers = numbers[whole] + 8
    half = DIMENSIONS // 2
    packed = (numbers[:, :half].astype(np.uint8) << 4) | numbers[:, half:].astype(np.uint8)
    body = b"".join(
        [
            prints[order].tobytes(),
            scales[whole].astype("<f4").tobytes(),
            asked[whole].astype("<f4").tobytes(),
            common.tobytes(),
            packed.tobytes(),
        ]
    )
    head = struct.pack("<4I", len(words), len(rows) - len(words), DIMENSIONS, crc32(body) & 0x7FFFFFFF)
    path.write_bytes(MAGIC + head + bytes(8) + body)


def _quantised(rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
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
