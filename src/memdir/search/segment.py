"""Cards as one block of bytes that can be searched where it lies, mapped from a file or held in memory.

Sections: keys, facts (fixed size a card), vector rows with their sign codes, postings. Everything is found by offset,
nothing is parsed on opening. Damage shows as a wrong length or checksum and is the caller's reason to build it anew;
the checksum is over every byte, since ranking with damaged ones may be wrong without an error.
"""

from __future__ import annotations

from bisect import bisect_left
from itertools import compress, groupby
from struct import Struct
from zlib import crc32

from memdir.search.bitvectors import DOC_BITS
from memdir.search.indexed_document import HAS_HEAD, MAX_DATES

TYPE_CHECKING = False
if TYPE_CHECKING:
    from array import array
    from collections.abc import Collection, Iterable, Iterator, Sequence

    from memdir.search.bitvectors import DocVector
    from memdir.search.indexed_document import IndexedDocument

    Bytes = bytes | memoryview

MAGIC = b"MDSEGM03"
_HEADER = Struct("<8s9I")  # magic, identity of the encoder, dimensions, five counts, checksum, size
_NUMBERS_BYTES = _HEADER.size - 8  # of the header, before the checksum
_FACTS = Struct("<qqIIHbB4i")  # mtime, size, first row, length, row count, usage, kind, dates
MAX_MTIME_NS = 2**63 - 1  # in 2262; a file may well claim to be of later
_ALIGN = 8
_MERGED_AT_ONCE = 1 << 28  # of the range of fingerprints
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
        if len(view) < _HEADER.size:
            raise ValueError("the index is cut short")
        fields = _HEADER.unpack_from(view)
        magic, self.identity, self.dimensions, cards, rows, terms, postings, key_bytes, checksum, size = fields
        if magic != MAGIC or len(view) != size or _checksum(view) != checksum:
            raise ValueError("the index is damaged or of another version")
        self.cards, self.rows = cards, rows
        self._plane_bytes = self.dimensions // 8
        take = _Taker(view)
        self._facts = take.next(_FACTS.size * cards)
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
        return Facts(_FACTS.unpack_from(self._facts, card * _FACTS.size))

    def rows_of(self, card: int) -> range:
        """The vector rows of a card."""
        fields = _FACTS.unpack_from(self._facts, card * _FACTS.size)
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

    def copy_to(self, out: _Sections, card: int) -> None:
        """Write one card, all but its postings, into another segment."""
        facts = _FACTS.unpack_from(self._facts, card * _FACTS.size)
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
        return [fields[:2] for fields in _FACTS.iter_unpack(self._facts)]

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
        self._at = _padded(_HEADER.size)

    def next(self, size: int) -> memoryview:
        start = self._at
        self._at += _padded(size)
        if start + size > len(self._view):
            raise ValueError("the index is cut short")
        return self._view[start : start + size]


def kept_stamp(stamp: tuple[int, int]) -> tuple[int, int]:
    """An (mtime in ns, size) as a segment can keep it: times too far off become the farthest there are."""
    return max(-MAX_MTIME_NS, min(MAX_MTIME_NS, stamp[0])), stamp[1]


def pack(cards: Iterable[IndexedDocument], identity: int, dimensions: int) -> bytes:
    """All cards as one block; `identity` names what made the directions they hold."""
    out, by_term = _Sections(identity, dimensions), dict[int, "array[int]"]()
    size = dimensions // 8
    for at, card in enumerate(cards):
        dates = (card.dates + [0] * MAX_DATES)[:MAX_DATES]
        usage = max(-100, min(100, card.usage))
        stamp = kept_stamp((card.mtime_ns, card.size))
        facts = (*stamp, 0, card.length, len(card.vectors), usage, card.kind, *dates)
        codes = [planes[0].to_bytes(size, "big") for planes, _ in card.vectors]
        rest = [plane.to_bytes(size, "big") for planes, _ in card.vectors for plane in planes[1:]]
        out.add(card.key.encode("utf-8", "surrogateescape"), facts, [norm for _, norm in card.vectors], codes, rest)
        for fingerprint, count in card.counts.items():
            by_term.setdefault(fingerprint, out.array("Q")).append(at << 16 | count)
    for fingerprint in sorted(by_term):
        entries = by_term[fingerprint]
        out.docs.extend([entry >> 16 for entry in entries])
        for entry in entries:
            out.counts += (entry & 0xFFFF).to_bytes(2, "big")
        out.end_term(fingerprint)
    return out.packed()


def merge(segments: Sequence[Segment], gone: Collection[tuple[int, int]] = ()) -> bytes:
    """Segments of one encoder as one block, without the (segment, card) pairs that are gone."""
    out = _Sections(segments[0].identity, segments[0].dimensions)
    places = []  # of each segment's cards in the new one, -1 for what is gone
    for at, segment in enumerate(segments):
        kept = [(at, card) not in gone for card in range(segment.cards)] if gone else [True] * segment.cards
        places.append([-1] * segment.cards)
        for card in compress(range(segment.cards), kept):
            places[at][card] = len(out.lengths)
            segment.copy_to(out, card)
    read = [0] * len(segments)  # terms of each segment that are done
    for fingerprint, holders in _terms_of(segments):
        for at in holders:
            segment, place = segments[at], places[at]
            docs, counts = segment.postings_at(read[at])
            read[at] += 1
            out.add_postings([place[card] for card in docs.tolist()], counts)
        out.end_term(fingerprint)
    return out.packed()


def _terms_of(segments: Sequence[Segment]) -> Iterator[tuple[int, list[int]]]:
    """Every fingerprint in order, with the segments that hold it; part by part, since all at once take much memory."""
    for low in range(0, 1 << 32, _MERGED_AT_ONCE):
        found: list[int] = []
        for at, segment in enumerate(segments):
            found += [fingerprint << 16 | at for fingerprint in segment.prints_between(low, low + _MERGED_AT_ONCE)]
        found.sort()
        for fingerprint, entries in groupby(found, key=lambda entry: entry >> 16):
            yield fingerprint, [entry & 0xFFFF for entry in entries]


class _Sections:
    """A segment being written: one growing array a section, in the order in which `Segment` reads them."""

    __slots__ = (
        "_dimensions", "_identity", "array", "codes", "counts", "docs", "ends", "facts", "key_ends", "keys", "lengths",
        "norms", "owners", "planes", "prints",
    )  # fmt: skip

    def __init__(self, identity: int, dimensions: int) -> None:
        from array import array  # brings `collections` along, which a start that writes nothing does not need

        self.array = array
        self._identity, self._dimensions = identity, dimensions
        self.facts, self.codes, self.counts, self.keys, self.planes = (bytearray() for _ in range(5))
        self.lengths, self.key_ends, self.owners, self.prints, self.ends, self.docs = (array("I") for _ in range(6))
        self.norms = array("f")

    def add(
        self,
        key: Bytes,
        facts: tuple[int, ...],
        norms: Sequence[float],
        codes: Sequence[Bytes],
        planes: Sequence[Bytes],
    ) -> None:
        """One card; where its rows begin is seen here."""
        self.facts += _FACTS.pack(*facts[:2], len(self.owners), *facts[3:])
        self.owners.extend([len(self.lengths)] * len(norms))
        self.lengths.append(facts[3])
        self.keys += key
        self.key_ends.append(len(self.keys))
        self.norms.extend(norms)
        self.codes += b"".join(codes)
        self.planes += b"".join(planes)

    def add_postings(self, docs: list[int], counts: memoryview) -> None:
        """Where one term stands, with two counts a card; cards below 0 are gone."""
        if -1 not in docs:
            self.docs.extend(docs)
            self.counts += counts
            return
        for at, card in enumerate(docs):
            if card >= 0:
                self.docs.append(card)
                self.counts += counts[2 * at : 2 * at + 2]

    def end_term(self, fingerprint: int) -> None:
        """The postings since the last term are this one's; a term that nobody holds any more is none."""
        if len(self.docs) > (self.ends[-1] if self.ends else 0):
            self.prints.append(fingerprint)
            self.ends.append(len(self.docs))

    def packed(self) -> bytes:
        sections = (
            self.facts, self.lengths, self.key_ends, self.owners, self.norms, self.codes, self.prints, self.ends,
            self.docs, self.counts, self.keys, self.planes,
        )  # fmt: skip
        parts: list[bytes | memoryview] = []
        for section in sections:
            raw = memoryview(section).cast("B")
            parts += [raw, bytes(_padded(len(raw)) - len(raw))]
        numbers = (
            self._identity, self._dimensions, len(self.lengths), len(self.owners), len(self.prints), len(self.docs),
            len(self.keys),
        )  # fmt: skip
        checksum = crc32(_HEADER.pack(MAGIC, *numbers, 0, 0)[:_NUMBERS_BYTES])
        between = bytes(_padded(_HEADER.size) - _HEADER.size)
        for part in (between, *parts):
            checksum = crc32(part, checksum)
        total = _padded(_HEADER.size) + sum([len(part) for part in parts])
        return b"".join([_HEADER.pack(MAGIC, *numbers, checksum, total), between, *parts])


def _checksum(view: memoryview) -> int:
    """Of everything but itself and the size, which the length of the file must equal."""
    return crc32(view[_HEADER.size :], crc32(view[:_NUMBERS_BYTES]))


def _padded(size: int) -> int:
    return (size + _ALIGN - 1) // _ALIGN * _ALIGN
