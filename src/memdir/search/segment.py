"""Cards as one block of bytes that can be searched where it lies, mapped from a file or held in memory.

Sections: keys, facts (fixed size a card), vector rows with their sign codes, postings. Everything is found by offset,
nothing is parsed on opening. Damage shows as a wrong length or checksum and is the caller's reason to build it anew;
the checksum is over every byte, since ranking with damaged ones may be wrong without an error.
"""

from __future__ import annotations

from bisect import bisect_left
from struct import Struct
from zlib import crc32

from memdir.search.document import HAS_HEAD
from memdir.search.vectors import DOC_BITS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from memdir.search.segment_writer import SegmentWriter
    from memdir.search.vectors import DocVector

MAGIC = b"MDSEGM03"
HEADER = Struct("<8s9I")  # magic, identity of the encoder, dimensions, five counts, checksum, size
NUMBERS_BYTES = HEADER.size - 8  # of the header, before the checksum
FACTS = Struct("<qqIIHbB4i")  # mtime, size, first row, length, row count, usage, kind, dates
MAX_MTIME_NS = 2**63 - 1  # in 2262; a file may well claim to be of later
_ALIGN = 8
_KEPT_TERMS = 64  # a question looks each of its terms up several times


class Facts:
    """The fixed-size part of a card."""

    __slots__ = ("dates", "first_row", "has_head", "kind", "length", "mtime_ns", "rows", "size", "usage")

    def __init__(self, fields: tuple[int, ...]) -> None:
        self.mtime_ns, self.size, self.first_row, self.length, self.rows, self.usage, self.kind = fields[:7]
        self.has_head = bool(self.kind & HAS_HEAD)
        self.kind &= ~HAS_HEAD
        self.dates = [day for day in fields[7:] if day]


class Segment:
    """Read access to packed cards. Holds views only: the bytes stay where they are."""

    __slots__ = (
        "_codes", "_facts", "_found", "_key_ends", "_keys", "_lengths", "_norms", "_owners", "_penalties",
        "_plane_bytes", "_planes", "_post_counts", "_post_docs", "_post_ends", "_prints", "cards", "code_cache",
        "dimensions", "identity", "rows", "total_length",
    )  # fmt: skip

    def __init__(self, data: bytes | memoryview) -> None:
        view = memoryview(data)
        if len(view) < HEADER.size:
            raise ValueError("the index is cut short")
        fields = HEADER.unpack_from(view)
        magic, self.identity, self.dimensions, cards, rows, terms, postings, key_bytes, checksum, size = fields
        if magic != MAGIC or len(view) != size or _checksum(view) != checksum:
            raise ValueError("the index is damaged or of another version")
        self.cards, self.rows = cards, rows
        self._plane_bytes = self.dimensions // 8
        take = _Taker(view)
        self._facts = take.next(FACTS.size * cards)
        self._lengths = take.next(4 * cards).cast("I")
        self._key_ends = take.next(4 * cards).cast("I")
        self._owners = take.next(4 * rows).cast("I")
        self._norms = take.next(4 * rows).cast("f")
        self._codes = take.next(self._plane_bytes * rows)
        self._prints = take.next(4 * terms).cast("I")
        self._post_ends = take.next(4 * terms).cast("I")
        self._post_docs = take.next(4 * postings).cast("I")
        self._post_counts = take.next(2 * postings)
        self._keys = take.next(key_bytes)
        self._planes = take.next((DOC_BITS - 1) * self._plane_bytes * rows)
        self.total_length = sum(self._lengths)
        self.code_cache: list[int] = []
        self._penalties: tuple[tuple[float, float, float], list[float]] = (0.0, 0.0, 0.0), []
        self._found: dict[str, tuple[memoryview, memoryview]] = {}

    def key(self, card: int) -> str:
        start = self._key_ends[card - 1] if card else 0
        return str(self._keys[start : self._key_ends[card]], "utf-8", "surrogateescape")

    def facts(self, card: int) -> Facts:
        return Facts(FACTS.unpack_from(self._facts, card * FACTS.size))

    def rows_of(self, card: int) -> range:
        """The vector rows of a card."""
        fields = FACTS.unpack_from(self._facts, card * FACTS.size)
        return range(fields[2], fields[2] + fields[4])

    def penalties(self, average: float, base: float, rate: float) -> list[float]:
        """What each card's length takes from its word scores; made once for an average length, then kept."""
        if self._penalties[0] != (average, base, rate):
            rate_here = rate / average
            self._penalties = (average, base, rate), [base + rate_here * length for length in self._lengths]
        return self._penalties[1]

    def owner(self, row: int) -> int:
        return self._owners[row]

    def row(self, row: int) -> DocVector:
        """One direction: its planes and its norm."""
        size, make = self._plane_bytes, int.from_bytes
        at = (DOC_BITS - 1) * size * row
        raw = bytes(self._planes[at : at + 3 * size])
        planes = (
            self.codes()[row],
            make(raw[:size], "big"),
            make(raw[size : 2 * size], "big"),
            make(raw[2 * size :], "big"),
        )
        return planes, self._norms[row]

    def codes(self) -> list[int]:
        """The sign codes of all rows; made once, then kept."""
        if not self.code_cache and self.rows:
            raw, size, make = bytes(self._codes), self._plane_bytes, int.from_bytes
            self.code_cache = [make(raw[at : at + size], "big") for at in range(0, len(raw), size)]
        return self.code_cache

    def postings(self, term: str) -> tuple[memoryview, memoryview]:
        """The cards that hold a term, and for each its count in the title part and in the body, interleaved."""
        found = self._found.get(term)
        if found is None:
            found = self._found[term] = self._look_up(crc32(term.encode()))
            if len(self._found) > _KEPT_TERMS:
                self._found.clear()
        return found

    def _look_up(self, fingerprint: int) -> tuple[memoryview, memoryview]:
        at = bisect_left(self._prints, fingerprint)
        if at == len(self._prints) or self._prints[at] != fingerprint:
            return self._post_docs[:0], self._post_counts[:0]
        return self.postings_at(at)

    def postings_at(self, at: int) -> tuple[memoryview, memoryview]:
        """The cards and counts of the term that comes in this place."""
        start, end = (self._post_ends[at - 1] if at else 0), self._post_ends[at]
        return self._post_docs[start:end], self._post_counts[2 * start : 2 * end]

    def prints_between(self, low: int, high: int) -> list[int]:
        """The fingerprints from `low` up to `high`, in order."""
        prints = self._prints
        return prints[bisect_left(prints, low) : bisect_left(prints, high)].tolist()

    def copy_to(self, out: SegmentWriter, card: int) -> None:
        """Write one card, all but its postings, into another segment."""
        facts = FACTS.unpack_from(self._facts, card * FACTS.size)
        first, last, size = facts[2], facts[2] + facts[4], self._plane_bytes
        codes, planes = self._codes, self._planes
        out.add(
            self._keys[self._key_ends[card - 1] if card else 0 : self._key_ends[card]],
            facts,
            self._norms[first:last],
            [codes[first * size : last * size]],
            [planes[(DOC_BITS - 1) * first * size : (DOC_BITS - 1) * last * size]],
        )

    def stamps(self) -> list[tuple[int, int]]:
        """The (mtime in ns, size) of every card."""
        return [fields[:2] for fields in FACTS.iter_unpack(self._facts)]

    def keys(self) -> list[str]:
        return [self.key(card) for card in range(self.cards)]

    def holds(self, term: str) -> bool:
        """Whether any card holds a term; for guesses, which are not worth keeping."""
        return bool(self._look_up(crc32(term.encode()))[0])

    def count(self, term: str) -> int:
        """How many cards hold a term."""
        return len(self.postings(term)[0])

    def counts(self, term: str, card: int) -> tuple[int, int] | None:
        """How often the title part and the body of one card hold a term; None when neither does."""
        docs, counts = self.postings(term)
        at = bisect_left(docs, card)
        return (counts[2 * at], counts[2 * at + 1]) if at < len(docs) and docs[at] == card else None


class _Taker:
    """Cuts one aligned section after the other."""

    __slots__ = ("_at", "_view")

    def __init__(self, view: memoryview) -> None:
        self._view = view
        self._at = padded(HEADER.size)

    def next(self, size: int) -> memoryview:
        start = self._at
        self._at += padded(size)
        if start + size > len(self._view):
            raise ValueError("the index is cut short")
        return self._view[start : start + size]


def kept_stamp(stamp: tuple[int, int]) -> tuple[int, int]:
    """An (mtime in ns, size) as a segment can keep it: times too far off become the farthest there are."""
    return max(-MAX_MTIME_NS, min(MAX_MTIME_NS, stamp[0])), stamp[1]


def _checksum(view: memoryview) -> int:
    """Of everything but itself and the size, which the length of the file must equal."""
    return crc32(view[HEADER.size :], crc32(view[:NUMBERS_BYTES]))


def padded(size: int) -> int:
    return (size + _ALIGN - 1) // _ALIGN * _ALIGN
