"""A static embedding: a vector for each word, summed for a text. One memory-mapped file, no numpy, no model runtime.

Words are found by fingerprint; an unknown word is the mean of its letter groups, so a typo lands near its word. Rows
are four bits a number with one scale each. `evals/train_recall` makes the file; ADR 0020 says how and from what.
"""

from __future__ import annotations

from bisect import bisect_left
from zlib import crc32

from memdir.disk.shipped import shipped_map, shipped_path
from memdir.text.words import MAX_WORD_CHARS, is_unspaced

TYPE_CHECKING = False
if TYPE_CHECKING:
    Row = tuple[int, int]  # a word's numbers as lanes of one large integer, and how often LANE_SHIFT is in each

MAGIC = b"MDVECT01"
DIMENSIONS = 256
ROW_BYTES = DIMENSIONS // 2
HEADER_BYTES = 32
TABLE_PATH = shipped_path("text/data/table.bin")
GRAM_SIZES = (3, 4, 5)
LANE_BYTES = 4  # words are added as large integers of 32-bit lanes: a hundred times quicker than number by number
LANE_UNIT = 1 << 16  # one, in a lane
LANE_SHIFT = 1 << 18  # more than the largest number of any row: lanes are never negative
MAX_ROWS = 8000  # added for one text; many more would overflow a lane, and say no more

_CACHED_ROWS = 8192  # 10 MB at most; the common words of a store
_FIRST_HALF, _SECOND_HALF = bytes([byte >> 4 for byte in range(256)]), bytes([byte & 15 for byte in range(256)])
_NO_LEVELS = bytes(240)  # a translation names all 256 bytes


class WordSum:
    """Words added up: 32-bit lanes, in each of which `shift` is too much."""

    __slots__ = ("lanes", "shift")

    def __init__(self, lanes: bytes, shift: int) -> None:
        self.lanes = lanes
        self.shift = shift

    def values(self) -> list[int]:
        """Number by number."""
        return [lane - self.shift for lane in memoryview(self.lanes).cast("I").tolist()]


class Table:
    """The mapped file. Opening reads 32 bytes; the rest comes in by pages as words are looked up."""

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
        self._of_documents: dict[str, Row | None] = {}
        self._of_questions: dict[str, Row | None] = {}

    def commonness(self, word: str) -> int:
        """How common a word is in general text: 0 unknown, then about twice the binary logarithm of its count."""
        at = self._find(word)
        return self._common[at] if at >= 0 else 0

    def document_sum(self, words: list[str]) -> WordSum | None:
        """The sum of a document's words; None when none of them means anything."""
        return self._sum(words, self._of_documents)

    def question_sum(self, words: list[str]) -> WordSum | None:
        """The same for a question's words."""
        return self._sum(words, self._of_questions)

    def _sum(self, words: list[str], known: dict[str, Row | None]) -> WordSum | None:
        lanes = shifts = 0
        for word in words:
            row = known[word] if word in known else self._word(word, known)
            if row is not None:
                lanes += row[0]
                shifts += row[1]
                if shifts > MAX_ROWS:
                    break
        return WordSum(lanes.to_bytes(LANE_BYTES * DIMENSIONS, "little"), shifts * LANE_SHIFT) if shifts else None

    def _word(self, word: str, known: dict[str, Row | None]) -> Row | None:
        if len(known) >= _CACHED_ROWS:
            known.clear()
        rows = self._rows_of(word)
        known[word] = found = self._mean(rows, is_asked=known is self._of_questions) if rows else None
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
        marked = f"<{word[:MAX_WORD_CHARS]}>"  # a blob is no word, and has more groups than a lane can add
        grams = [marked[i : i + size].encode() for size in GRAM_SIZES for i in range(len(marked) - size + 1)]
        return [first + crc32(gram) % self._buckets for gram in grams]

    def _mean(self, rows: list[int], *, is_asked: bool) -> Row:
        """The mean of some rows, as a word counts in a document or in a question."""
        factor = LANE_UNIT / len(rows)
        if is_asked:
            factor *= sum([self._query_weights[at] for at in rows]) / len(rows)
        lanes = 0
        for at in rows:
            scale = self._scales[at] * factor
            levels = [(round(scale * (level - 8)) + LANE_SHIFT).to_bytes(LANE_BYTES, "little") for level in range(16)]
            lanes += int.from_bytes(_spread(self._rows[at * ROW_BYTES : (at + 1) * ROW_BYTES], levels), "little")
        return lanes, len(rows)

    def _find(self, word: str) -> int:
        fingerprint = crc32(word.encode())
        at = bisect_left(self._prints, fingerprint)
        return at if at < len(self._prints) and self._prints[at] == fingerprint else -1


def _spread(packed: memoryview, levels: list[bytes]) -> bytearray:
    """The lanes of a row, whose bytes hold two levels each: one byte of all lanes at a time, not lane by lane."""
    raw, table, out = bytes(packed), b"".join(levels), bytearray(LANE_BYTES * DIMENSIONS)
    numbers = raw.translate(_FIRST_HALF) + raw.translate(_SECOND_HALF)
    for at in range(LANE_BYTES):
        out[at::LANE_BYTES] = numbers.translate(table[at::LANE_BYTES] + _NO_LEVELS)
    return out


def open_table() -> Table:
    """Map the shipped table."""
    return Table(shipped_map(TABLE_PATH))
