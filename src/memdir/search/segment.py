"""Indexed documents as one block of bytes that can be searched where it lies, mapped from a file or held in memory.

Sections: keys, facts (fixed size a document), vector rows with their sign codes, postings. Everything is found by
offset, nothing is parsed on opening. Damage shows as a wrong length or checksum and is the caller's reason to build it
again; the checksum is over every byte, since ranking with damaged ones may be wrong without an error.
"""

from __future__ import annotations

from bisect import bisect_left
from struct import Struct
from zlib import crc32

from memdir.search.document import HAS_HEAD
from memdir.search.vectors import DOC_BITS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from memdir.search.segment_writer import SegmentWriter
    from memdir.search.vectors import DocVector

    Postings = tuple[memoryview, memoryview]  # documents, and for each two counts: in its title part, in its body

MAGIC = b"MDSEGM03"
HEADER = Struct("<8s9I")  # magic, identity of the encoder, dimensions, five counts, checksum, size
NUMBERS_BYTES = HEADER.size - 8  # of the header, before the checksum
FACTS = Struct("<qqIIHbB4i")  # mtime, size, first row, length, row count, usage, kind, dates
MAX_MTIME_NS = 2**63 - 1  # in 2262; a file may well claim to be of later
_ALIGN = 8
_KEPT_TERMS = 64  # a question looks each of its terms up several times


class Facts:
    """The fixed-size part of a document."""

    def __init__(self, fields: tuple[int, ...]) -> None:
        self.mtime_ns, self.size, self.first_row, self.length, self.rows, self.usage, self.kind = fields[:7]
        self.has_head = bool(self.kind & HAS_HEAD)
        self.kind &= ~HAS_HEAD
        self.dates = [day for day in fields[7:] if day]


class Segment:
    """Read access to packed documents, each known by its number. Holds views only: the bytes stay where they are."""

    def __init__(self, data: bytes | memoryview) -> None:
        view = memoryview(data)
        if len(view) < HEADER.size:
            raise ValueError("the index is cut short")
        fields = HEADER.unpack_from(view)
        magic, self.identity, self.dimensions, documents, rows, terms, postings, key_bytes, checksum, size = fields
        # The checksum is of everything but itself and the size, which the length of the file must equal.
        if magic != MAGIC or len(view) != size or crc32(view[HEADER.size :], crc32(view[:NUMBERS_BYTES])) != checksum:
            raise ValueError("the index is damaged or of another version")
        self.documents, self.rows = documents, rows
        self._plane_bytes = plane = self.dimensions // 8
        four = [4 * count for count in (documents, documents, rows, rows)]
        posting = (4 * terms, 4 * terms, 4 * postings, 2 * postings)
        sizes = (FACTS.size * documents, *four, plane * rows, *posting, key_bytes, (DOC_BITS - 1) * plane * rows)
        cut = _cut(view, sizes)
        self._facts = next(cut)
        self._lengths, self._key_ends, self._owners = (next(cut).cast("I") for _ in range(3))
        self._norms, self._codes = next(cut).cast("f"), next(cut)
        self._prints, self._post_ends, self._post_docs = (next(cut).cast("I") for _ in range(3))
        self._post_counts, self._keys, self._planes = cut
        self.total_length = sum(self._lengths)
        self._code_cache: list[int] = []
        self._penalties: tuple[tuple[float, float, float], list[float]] = (0.0, 0.0, 0.0), []
        self._found: dict[str, Postings] = {}

    def key(self, number: int) -> str:
        return str(self._key_bytes(number), "utf-8", "surrogateescape")

    def keys(self) -> list[str]:
        return [self.key(number) for number in range(self.documents)]

    def _key_bytes(self, number: int) -> memoryview:
        return self._keys[self._key_ends[number - 1] if number else 0 : self._key_ends[number]]

    def facts(self, number: int) -> Facts:
        return Facts(self._fields(number))

    def _fields(self, number: int) -> tuple[int, ...]:
        return FACTS.unpack_from(self._facts, number * FACTS.size)

    def stamps(self) -> list[tuple[int, int]]:
        """The (mtime in ns, size) of every document."""
        return [fields[:2] for fields in FACTS.iter_unpack(self._facts)]

    def rows_of(self, number: int) -> range:
        """The vector rows of a document."""
        fields = self._fields(number)
        return range(fields[2], fields[2] + fields[4])

    def owner(self, row: int) -> int:
        return self._owners[row]

    def penalties(self, average: float, base: float, rate: float) -> list[float]:
        """What each document's length takes from its word scores; made once for an average length, then kept."""
        if self._penalties[0] != (average, base, rate):
            rate_here = rate / average
            self._penalties = (average, base, rate), [base + rate_here * length for length in self._lengths]
        return self._penalties[1]

    def row(self, row: int) -> DocVector:
        """One direction: its planes and its norm."""
        size, make = self._plane_bytes, int.from_bytes
        at = (DOC_BITS - 1) * size * row
        raw = bytes(self._planes[at : at + 3 * size])
        others = make(raw[:size], "big"), make(raw[size : 2 * size], "big"), make(raw[2 * size :], "big")
        return (self.codes()[row], *others), self._norms[row]

    def codes(self) -> list[int]:
        """The sign codes of all rows; made once, then kept."""
        if not self._code_cache and self.rows:
            raw, size, make = bytes(self._codes), self._plane_bytes, int.from_bytes
            self._code_cache = [make(raw[at : at + size], "big") for at in range(0, len(raw), size)]
        return self._code_cache

    def postings(self, term: str) -> Postings:
        """The documents that hold a term, and for each its count in the title part and in the body, interleaved."""
        found = self._found.get(term)
        if found is None:
            fingerprint = crc32(term.encode())
            at = bisect_left(self._prints, fingerprint)
            is_held = at < len(self._prints) and self._prints[at] == fingerprint
            found = self.postings_at(at) if is_held else (self._post_docs[:0], self._post_counts[:0])
            if len(self._found) >= _KEPT_TERMS:
                self._found.clear()
            self._found[term] = found
        return found

    def postings_at(self, at: int) -> Postings:
        """The documents and counts of the term that comes in this place."""
        start, end = (self._post_ends[at - 1] if at else 0), self._post_ends[at]
        return self._post_docs[start:end], self._post_counts[2 * start : 2 * end]

    def prints_between(self, low: int, high: int) -> list[int]:
        """The fingerprints from `low` up to `high`, in order."""
        prints = self._prints
        return prints[bisect_left(prints, low) : bisect_left(prints, high)].tolist()

    def count(self, term: str) -> int:
        """How many documents hold a term."""
        return len(self.postings(term)[0])

    def counts(self, term: str, number: int) -> tuple[int, int] | None:
        """How often the title part and the body of one document hold a term; None when neither does."""
        docs, counts = self.postings(term)
        at = bisect_left(docs, number)
        return (counts[2 * at], counts[2 * at + 1]) if at < len(docs) and docs[at] == number else None

    def copy_to(self, out: SegmentWriter, number: int) -> None:
        """Write one document, all but its postings, into another segment."""
        fields, size = self._fields(number), self._plane_bytes
        first, last = fields[2], fields[2] + fields[4]
        codes = [self._codes[first * size : last * size]]
        planes = [self._planes[(DOC_BITS - 1) * first * size : (DOC_BITS - 1) * last * size]]
        out.add(self._key_bytes(number), fields, self._norms[first:last], codes, planes)


def _cut(view: memoryview, sizes: Sequence[int]) -> Iterator[memoryview]:
    """One aligned section after the other."""
    at = padded(HEADER.size)
    for size in sizes:
        if at + size > len(view):
            raise ValueError("the index is cut short")
        yield view[at : at + size]
        at += padded(size)


def packed_size(data: bytes | memoryview) -> int:
    """How long the segment is that begins here, as its header says; all that is left where there is no header."""
    return max(1, HEADER.unpack_from(data)[-1]) if len(data) >= HEADER.size else len(data)


def kept_stamp(stamp: tuple[int, int]) -> tuple[int, int]:
    """An (mtime in ns, size) as a segment can keep it: times too far off become the farthest there are."""
    return max(-MAX_MTIME_NS, min(MAX_MTIME_NS, stamp[0])), stamp[1]


def padded(size: int) -> int:
    return (size + _ALIGN - 1) // _ALIGN * _ALIGN
