"""A static embedding: a vector for each word, summed for a text. One memory-mapped file, no numpy, no model runtime.

Words are found by fingerprint; an unknown word is the mean of its letter groups, so a typo lands near its word. Rows
are four bits a number with one scale each. `evals/train_recall` makes the file; ADR 0020 says how and from what.
"""

from __future__ import annotations

import os
from array import array
from bisect import bisect_left
from math import sqrt
from operator import mul
from zlib import crc32

from memdir.recall.words import is_unspaced

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

MAGIC = b"MDVECT01"
DIMENSIONS = 256
ROW_BYTES = DIMENSIONS // 2
HEADER_BYTES = 32
TABLE_PATH = os.path.join(os.path.dirname(__file__), "data", "table.bin")
GRAM_SIZES = (3, 4, 5)
SHIFT = 128
FULL = 127  # a unit vector's numbers are scaled so that the largest fits a signed byte

_HIGH = bytes((byte >> 4) - 8 & 0xFF for byte in range(256))
_LOW = bytes((byte & 15) - 8 & 0xFF for byte in range(256))
_CACHED_ROWS = 4096  # 9 MB at most; the common words of a store


class Vector:
    """A text's direction: small whole numbers for the exact product, sign bits for the quick one."""

    __slots__ = ("_shift", "code", "norm", "values")

    def __init__(self, values: Sequence[int], norm: float, code: int) -> None:
        self.values = values
        self.norm = norm
        self.code = code
        self._shift = SHIFT * sum(values)

    def similarity(self, packed: bytes, norm: float) -> float:
        """Cosine with another vector's packed form."""
        product: int = sum(map(mul, self.values, packed)) - self._shift
        return product / (self.norm * norm)

    def packed(self) -> bytes:
        """The numbers shifted to unsigned bytes: walking `bytes` is twice as quick as any signed form."""
        return bytes([value + SHIFT for value in self.values])


class Table:
    """The mapped file. Opening reads 32 bytes; the rest comes in by pages as words are looked up."""

    __slots__ = ("_buckets", "_common", "_prints", "_query_weights", "_rows", "_scales", "_seen", "identity")

    def __init__(self, data: bytes | memoryview) -> None:
        view = memoryview(data)
        words, buckets, dimensions, self.identity = view[8:24].cast("I")
        if bytes(view[:8]) != MAGIC or dimensions != DIMENSIONS:
            raise ValueError("this is not an embedding table of this version")
        at, rows = HEADER_BYTES, words + buckets
        self._buckets = buckets
        self._prints, at = view[at : at + 4 * words].cast("I"), at + 4 * words
        self._scales, at = view[at : at + 4 * rows].cast("f"), at + 4 * rows
        self._query_weights, at = view[at : at + 4 * rows].cast("f"), at + 4 * rows
        self._common, at = view[at : at + words], at + words
        self._rows = view[at : at + ROW_BYTES * rows]
        self._seen: dict[str, tuple[array[float], array[float]] | None] = {}

    def commonness(self, word: str) -> int:
        """How common a word is in general text: 0 unknown, then about twice the binary logarithm of its count."""
        at = self._find(word)
        return self._common[at] if at >= 0 else 0

    def vector(self, words: list[str], *, is_query: bool = False) -> Vector | None:
        """The direction of a text given as words; None when it holds no word that means anything."""
        found = [one for word in words if (one := self._word(word)) is not None]
        if not found:
            return None
        total = list(map(sum, zip(*[one[is_query] for one in found], strict=True)))
        longest = max(*total, -min(total))
        if longest <= 0:
            return None
        scale = FULL / longest
        values = [round(value * scale) for value in total]
        code = int("".join(["1" if value > 0 else "0" for value in values]), 2)
        return Vector(values, sqrt(sum(map(mul, values, values))), code)

    def _word(self, word: str) -> tuple[array[float], array[float]] | None:
        if word in self._seen:
            return self._seen[word]
        if len(self._seen) >= _CACHED_ROWS:
            self._seen.clear()
        rows = self._rows_of(word)
        self._seen[word] = found = self._mean(rows) if rows else None
        return found

    def _rows_of(self, word: str) -> list[int]:
        """Its own row, or for an unknown word those of its characters or letter groups."""
        at = self._find(word)
        if at >= 0:
            return [at]
        if word.isdigit():
            return []
        if len(word) <= 2 and is_unspaced(word[0]):
            return [at for char in word if (at := self._find(char)) >= 0]
        first = len(self._prints)
        marked = f"<{word}>"
        grams = [marked[i : i + size].encode() for size in GRAM_SIZES for i in range(len(marked) - size + 1)]
        return [first + crc32(gram) % self._buckets for gram in grams]

    def _mean(self, rows: list[int]) -> tuple[array[float], array[float]]:
        """The mean of some rows as it counts in a document and as it counts in a query."""
        parts, factor = [], 0.0
        for at in rows:
            packed = bytes(self._rows[at * ROW_BYTES : (at + 1) * ROW_BYTES])
            numbers = memoryview(packed.translate(_HIGH) + packed.translate(_LOW)).cast("b")
            scale = self._scales[at] / len(rows)
            parts.append([scale * number for number in numbers])
            factor += self._query_weights[at] / len(rows)
        mean = array("f", parts[0] if len(parts) == 1 else map(sum, zip(*parts, strict=True)))
        return mean, array("f", [factor * value for value in mean])

    def _find(self, word: str) -> int:
        fingerprint = crc32(word.encode())
        at = bisect_left(self._prints, fingerprint)
        return at if at < len(self._prints) and self._prints[at] == fingerprint else -1


def open_table(path: str = TABLE_PATH) -> Table:
    """Map the shipped table."""
    import mmap

    descriptor = os.open(path, os.O_RDONLY)
    try:
        return Table(memoryview(mmap.mmap(descriptor, 0, access=mmap.ACCESS_READ)))
    finally:
        os.close(descriptor)
