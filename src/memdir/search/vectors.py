"""Texts as directions: what turns them into numbers, and those numbers as bit planes.

Plain Python multiplies 256 pairs of numbers in ten microseconds and counts the common bits of two planes in a tenth of
one. A number of `bits` bits is in two's complement: its first plane holds the signs and serves as the quick look too.
An encoder is the table of words alone, or the table beside a sentence model; an index made by one is never read by the
other, because its identity differs.
"""

from __future__ import annotations

from math import dist, sqrt
from operator import mul

from memdir.text.embedding import DIMENSIONS, WordSum

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Protocol

    from memdir.text.embedding import Table

    DocVector = tuple[tuple[int, ...], float]  # the planes of a document's part, the sign plane first, and their norm
    Part = tuple[str, list[str]]  # a text and its words

    class Reader(Protocol):
        """Says how surely texts are needed for a message, as log odds."""

        def relevance(self, message: str, texts: Sequence[str]) -> list[float]: ...

    class Encoder(Protocol):
        """Directions for questions and for the parts of documents."""

        table: Table
        name: str  # of what was learned with its directions
        meaning_weight: float  # of the scaled similarity, beside 1 for the scaled word score
        identity: int
        dimensions: int

        @property
        def reader(self) -> Reader | None: ...

        def query_vector(self, part: Part) -> QueryVector | None: ...

        def doc_vectors(self, parts: Sequence[Part]) -> list[DocVector | None]: ...


DOC_BITS = 4  # of a document's numbers: their error is far below the differences that count
QUERY_BITS = 6  # of a question's: there is only one of it
_STEP = {4: 0.3352, 6: 0.1041}  # of the root mean square: loses least of numbers spread like a bell

_MIDDLE = 128  # numbers are bytes on their way: this one stands for nothing
_ONE = 1 << 48  # in a lane of 64 bits: the number itself is the last byte but one


def _clipped(bits: int) -> bytes:
    """A translation that keeps a number's byte within a width."""
    low, high = _MIDDLE - (1 << bits - 1), _MIDDLE + (1 << bits - 1) - 1
    return bytes([low]) * low + bytes(range(low, high)) + bytes([high]) * (256 - high)


def _digits(bits: int) -> tuple[bytes, ...]:
    """One translation a plane: a number's byte becomes its digit in that plane."""
    numbers = _clipped(bits)
    return tuple([bytes([b"01"[number - _MIDDLE >> at & 1] for number in numbers]) for at in range(bits - 1, -1, -1)])


_DIGITS = {bits: _digits(bits) for bits in _STEP}
_WEIGHTS = (-32, 16, 8, 4, 2, 1)  # of the planes of QUERY_BITS
_CLIPPED = _clipped(QUERY_BITS)
_SQUARES = bytes([(number - _MIDDLE) ** 2 for number in _clipped(DOC_BITS)])


def quantised(values: Sequence[float], bits: int) -> bytes:
    """The values in steps of their own size, `_MIDDLE` added; empty when they are all nothing."""
    size = sqrt(sum(map(mul, values, values)) / len(values))
    if size <= 0:
        return b""
    rate, shift = 1 / (_STEP[bits] * size), _MIDDLE + 0.5  # truncation rounds once everything is positive
    try:
        return bytes([int(value * rate + shift) for value in values])
    except ValueError:  # one value far larger than all others together
        return bytes([max(0, min(255, int(value * rate + shift))) for value in values])


def quantised_sum(total: WordSum, bits: int) -> bytes:
    """The same of a sum of words, all numbers at once: one product of large integers with a 64-bit lane each."""
    lanes = memoryview(total.lanes).cast("I").tolist()
    count = len(lanes)
    size = dist(lanes, [total.shift] * count) / sqrt(count)
    if size <= 0:
        return b""
    factor = round(_ONE / (_STEP[bits] * size))
    wide = bytearray(8 * count)
    for at in range(4):
        wide[at::8] = total.lanes[at::4]
    shift = _MIDDLE * _ONE + _ONE // 2 - total.shift * factor
    product = int.from_bytes(wide, "little") * factor + int.from_bytes(bytes((1, *bytes(7))) * count, "little") * shift
    raw = product.to_bytes(8 * count + 8, "little", signed=True)
    if raw[7::8].strip(b"\0"):  # a number that does not fit into its byte has run over into the next
        return quantised(total.values(), bits)
    return raw[6 : 8 * count : 8]


def _planes(numbers: bytes, bits: int) -> tuple[int, ...]:
    """One large integer a bit, the signs first; the first number is the highest digit."""
    return tuple([int(numbers.translate(digits), 2) for digits in _DIGITS[bits]])


def doc_vector(values: Sequence[float] | WordSum) -> DocVector | None:
    """A document's part as it is kept; None when it has no direction."""
    numbers = _quantised(values, DOC_BITS)
    return (_planes(numbers, DOC_BITS), sqrt(sum(numbers.translate(_SQUARES)))) if numbers else None


def _quantised(values: Sequence[float] | WordSum, bits: int) -> bytes:
    return quantised_sum(values, bits) if isinstance(values, WordSum) else quantised(values, bits)


class QueryVector:
    """A question's direction, ready to be compared with many held ones."""

    __slots__ = ("_weighed", "code", "dimensions", "norm")

    def __init__(self, numbers: bytes) -> None:
        numbers = numbers.translate(_CLIPPED)
        self.dimensions = len(numbers)
        self.norm = sqrt(sum(map(mul, numbers, numbers)) - 2 * _MIDDLE * sum(numbers) + _MIDDLE**2 * len(numbers))
        planes = _planes(numbers, QUERY_BITS)
        self.code = planes[0]
        self._weighed = tuple(zip(_WEIGHTS, planes, strict=True))

    def similarity(self, other: DocVector) -> float:
        """Cosine with a held direction."""
        (eights, fours, twos, ones), norm = other
        total = 0
        for weight, plane in self._weighed:
            total += weight * (
                (plane & ones).bit_count()
                + 2 * (plane & twos).bit_count()
                + 4 * (plane & fours).bit_count()
                - 8 * (plane & eights).bit_count()
            )
        return total / (self.norm * norm)


def query_vector(values: Sequence[float] | WordSum) -> QueryVector | None:
    """A question's direction; None when it has none."""
    numbers = _quantised(values, QUERY_BITS)
    return QueryVector(numbers) if numbers else None


class WordEncoder:
    """The table alone: microseconds a text, in any process."""

    name = "words"
    dimensions = DIMENSIONS
    meaning_weight = 0.5  # a sum of words is a rough idea of what is meant
    reader = None  # it knows texts one by one

    def __init__(self, table: Table) -> None:
        self.table = table
        self.identity = table.identity

    def query_vector(self, part: Part) -> QueryVector | None:
        total = self.table.question_sum(part[1])
        return None if total is None else query_vector(total)

    def doc_vectors(self, parts: Sequence[Part]) -> list[DocVector | None]:
        totals = [self.table.document_sum(words) for _, words in parts]
        return [None if total is None else doc_vector(total) for total in totals]
