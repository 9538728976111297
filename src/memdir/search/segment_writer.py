"""Segments as they are written: documents packed into one, several merged into one without what is gone."""

from __future__ import annotations

from itertools import compress, groupby
from zlib import crc32

from memdir.search.document import MAX_DATES
from memdir.search.segment import FACTS, HEADER, MAGIC, NUMBERS_BYTES, kept_stamp, padded

TYPE_CHECKING = False
if TYPE_CHECKING:
    from array import array
    from collections.abc import Collection, Iterable, Iterator, Sequence

    from memdir.search.document import IndexedDocument
    from memdir.search.segment import Segment

    Bytes = bytes | memoryview

MERGED_AT_ONCE = 1 << 28  # of the range of fingerprints


def pack(documents: Iterable[IndexedDocument], identity: int, dimensions: int) -> bytes:
    """All documents as one block; `identity` names what made the directions they hold."""
    out, by_term = SegmentWriter(identity, dimensions), dict[int, "array[int]"]()
    size = dimensions // 8
    for at, document in enumerate(documents):
        dates = (document.dates + [0] * MAX_DATES)[:MAX_DATES]
        usage = max(-100, min(100, document.usage))
        stamp = kept_stamp((document.mtime_ns, document.size))
        facts = (*stamp, 0, document.length, len(document.vectors), usage, document.kind, *dates)
        codes = [planes[0].to_bytes(size, "big") for planes, _ in document.vectors]
        norms = [norm for _, norm in document.vectors]
        rest = [plane.to_bytes(size, "big") for planes, _ in document.vectors for plane in planes[1:]]
        out.add(document.key.encode("utf-8", "surrogateescape"), facts, norms, codes, rest)
        for fingerprint, count in document.counts.items():
            by_term.setdefault(fingerprint, out.array("Q")).append(at << 16 | count)
    for fingerprint in sorted(by_term):
        entries = by_term[fingerprint]
        out.docs.extend([entry >> 16 for entry in entries])
        for entry in entries:
            out.counts += (entry & 0xFFFF).to_bytes(2, "big")
        out.end_term(fingerprint)
    return out.packed()


def merge(segments: Sequence[Segment], gone: Collection[tuple[int, int]] = ()) -> bytes:
    """Segments of one encoder as one block, without the (segment, number) pairs that are gone."""
    out = SegmentWriter(segments[0].identity, segments[0].dimensions)
    places = []  # of each segment's documents in the new one, -1 for what is gone
    for at, segment in enumerate(segments):
        kept = [(at, number) not in gone for number in range(segment.documents)] if gone else [True] * segment.documents
        places.append([-1] * segment.documents)
        for number in compress(range(segment.documents), kept):
            places[at][number] = len(out.lengths)
            segment.copy_to(out, number)
    read = [0] * len(segments)  # terms of each segment that are done
    for fingerprint, holders in _terms_of(segments):
        for at in holders:
            segment, place = segments[at], places[at]
            docs, counts = segment.postings_at(read[at])
            read[at] += 1
            out.add_postings([place[number] for number in docs.tolist()], counts)
        out.end_term(fingerprint)
    return out.packed()


def _terms_of(segments: Sequence[Segment]) -> Iterator[tuple[int, list[int]]]:
    """Every fingerprint in order, with the segments that hold it; part by part, since all at once take much memory."""
    for low in range(0, 1 << 32, MERGED_AT_ONCE):
        found: list[int] = []
        for at, segment in enumerate(segments):
            found += [fingerprint << 16 | at for fingerprint in segment.prints_between(low, low + MERGED_AT_ONCE)]
        found.sort()
        for fingerprint, entries in groupby(found, key=lambda entry: entry >> 16):
            yield fingerprint, [entry & 0xFFFF for entry in entries]


class SegmentWriter:
    """A segment being written: one growing array a section, in the order in which `Segment` reads them."""

    def __init__(self, identity: int, dimensions: int) -> None:
        from array import array

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
        """One document; where its rows begin is seen here."""
        self.facts += FACTS.pack(*facts[:2], len(self.owners), *facts[3:])
        self.owners.extend([len(self.lengths)] * len(norms))
        self.lengths.append(facts[3])
        self.keys += key
        self.key_ends.append(len(self.keys))
        self.norms.extend(norms)
        self.codes += b"".join(codes)
        self.planes += b"".join(planes)

    def add_postings(self, docs: list[int], counts: memoryview) -> None:
        """Where one term stands, with two counts a document; numbers below 0 are gone."""
        if -1 not in docs:
            self.docs.extend(docs)
            self.counts += counts
            return
        for at, number in enumerate(docs):
            if number >= 0:
                self.docs.append(number)
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
            parts += [raw, bytes(padded(len(raw)) - len(raw))]
        numbers = (
            self._identity, self._dimensions, len(self.lengths), len(self.owners), len(self.prints), len(self.docs),
            len(self.keys),
        )  # fmt: skip
        checksum = crc32(HEADER.pack(MAGIC, *numbers, 0, 0)[:NUMBERS_BYTES])
        between = bytes(padded(HEADER.size) - HEADER.size)
        for part in (between, *parts):
            checksum = crc32(part, checksum)
        total = padded(HEADER.size) + sum([len(part) for part in parts])
        return b"".join([HEADER.pack(MAGIC, *numbers, checksum, total), between, *parts])
