"""Reads transcripts, forwards from any byte or backwards from the end, and loses nothing but what is damaged (J3, S15).

They are read in blocks: what nobody needs is never read, and no file, however large, is held in memory. Long runs of
zeros are told by one, and holes are passed over. Of a line that is longer than any record only the beginning is told.
"""

from __future__ import annotations

import json
import os
import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from memdir.disk.plain_file import open_descriptor, open_plain
from memdir.transcript.record import (
    ATTRIBUTION,
    FILE_HISTORY,
    MESSAGE_TYPES,
    REPLACEMENT,
    Record,
    parse_record,
    record_from,
)

FIRST_WORDS = 8 << 10  # what a list reads of the beginning
FIRST_BLOCK = 64 << 10  # a few turns, from the end
LARGEST_BLOCK = 4 << 20  # bounds what is read ahead of the need
MAX_LINE_BYTES = 64 << 20  # a record with several pictures has some MB
TOLD_BYTES = 4096  # of a longer line: the ids of the record that it was
MAX_EXTENTS = 10_000  # parts between holes; a file with more is read through
_ZERO = b"\0"
MAX_RESTARTS = 1000  # places in one line where a record may begin again after half of another
_LINK_BYTES = 2048  # from the beginning of a line; further in, an id may belong to something else
_PADDING = b"\0 \t\r\n"
_START = re.compile(r'\{"(?:parentUuid|type|uuid|sessionId)"')
_LINK = re.compile(rb'"(parentUuid|uuid)": ?(?:null|"([^"\\]{1,80})")')
_LOOSE = frozenset((FILE_HISTORY, ATTRIBUTION, REPLACEMENT))  # records that have no place in the tree


class RawLine(NamedTuple):
    """A line with its newline, and the bytes of the file that it stands in."""

    data: bytes
    start: int
    end: int


def lines_forwards(path: str, start: int = 0, end: int | None = None) -> Iterator[RawLine]:
    """The lines from the byte `start` on, those that begin before `end` and end soon; none where there is no plain file
    that can be read."""
    try:
        descriptor, _ = open_descriptor(path)
    except OSError:
        return
    try:
        yield from _forwards(descriptor, start, end)
    except OSError:
        return
    finally:
        os.close(descriptor)


def lines_backwards(path: str) -> Iterator[bytes]:
    """The lines of a file as it was when it was opened, last one first. FileNotFoundError when there is none."""
    with open_plain(path, follow=False) as file:
        yield from _backwards(file.fileno(), os.fstat(file.fileno()).st_size)


class _Pieces:
    """A line of which not all was read yet; once it is too long, no more of it is held."""

    __slots__ = ("_held", "is_too_long", "parts")

    def __init__(self) -> None:
        self.parts: list[bytes] = []
        self._held = 0
        self.is_too_long = False

    def add(self, piece: bytes) -> None:
        self._held += len(piece)
        if self._held > MAX_LINE_BYTES:
            self.is_too_long = True
            self.parts = self.parts[:1]  # the beginning, for who reads forwards
        else:
            self.parts.append(piece)


def _forwards(descriptor: int, start: int, end: int | None) -> Iterator[RawLine]:
    at = line = start
    pieces, block = _Pieces(), FIRST_WORDS
    while (end is None or (line < end and at < end + MAX_LINE_BYTES)) and (data := os.pread(descriptor, block, at)):
        block = min(block * 2, LARGEST_BLOCK)
        if _is_zeros(data):
            pieces.add(_ZERO)
            at = _next_data(descriptor, at + len(data))
            continue
        first, *rest = data.split(b"\n")
        pieces.add(first)
        if rest:
            stop = at + len(first) + 1
            yield RawLine(_forward_line(pieces) + b"\n", line, stop)
            for part in rest[:-1]:
                line, stop = stop, stop + len(part) + 1
                yield RawLine(part + b"\n", line, stop)
            line, pieces = stop, _Pieces()
            pieces.add(rest[-1])
        at += len(data)
    if line < at and (end is None or line < end):
        yield RawLine(_forward_line(pieces), line, at)


def _forward_line(pieces: _Pieces) -> bytes:
    whole = b"".join(pieces.parts)
    return whole[:TOLD_BYTES] if pieces.is_too_long else whole


def _backwards(descriptor: int, start: int) -> Iterator[bytes]:
    block = FIRST_BLOCK
    extents: list[tuple[int, int]] | None = None
    pieces = _Pieces()
    while start > 0:
        length = min(block, start)
        block = min(block * 2, LARGEST_BLOCK)
        start -= length
        # A file that is cut while it is read looks like one that was damaged there.
        data = os.pread(descriptor, length, start).ljust(length, _ZERO)
        if _is_zeros(data):
            pieces.add(_ZERO)
            extents = _extents(descriptor) if extents is None else extents
            start = _last_data(extents, start)
            continue
        first, newline, rest = data.partition(b"\n")
        if not newline:
            pieces.add(data)
            continue
        lines = rest.split(b"\n")
        lines[-1] = _backward_line(lines[-1], pieces)
        pieces = _Pieces()
        pieces.add(first)
        yield from reversed(lines)
    if pieces.parts:
        yield _backward_line(b"", pieces)


def _backward_line(beginning: bytes, pieces: _Pieces) -> bytes:
    """A line from its beginning and the pieces behind it, which were read last one first."""
    if pieces.is_too_long:
        return beginning[:TOLD_BYTES] + _ZERO
    return b"".join((beginning, *reversed(pieces.parts)))


def _is_zeros(data: bytes) -> bool:
    return not data[0] and data.count(0) == len(data) > 1


def _next_data(descriptor: int, at: int) -> int:
    """Where a file goes on behind a hole; the same place where there is none, or where the system cannot tell."""
    if not hasattr(os, "SEEK_DATA"):
        return at
    try:
        return os.lseek(descriptor, at, os.SEEK_DATA)
    except OSError:
        return max(at, os.fstat(descriptor).st_size)  # nothing but a hole up to the end


def _extents(descriptor: int) -> list[tuple[int, int]]:
    """The parts of a file that are no holes: one, from end to end, where the system cannot tell."""
    size = os.fstat(descriptor).st_size
    if not hasattr(os, "SEEK_DATA"):
        return [(0, size)]
    found: list[tuple[int, int]] = []
    at = 0
    try:
        while at < size and len(found) < MAX_EXTENTS:
            data = os.lseek(descriptor, at, os.SEEK_DATA)
            at = os.lseek(descriptor, data, os.SEEK_HOLE)
            found.append((data, at))
    except OSError:
        return found  # a hole up to the end
    return found if at >= size else [(0, size)]


def _last_data(extents: list[tuple[int, int]], before: int) -> int:
    """The end of the last part that begins before a place."""
    at = bisect_left(extents, (before, 0))
    return min(before, extents[at - 1][1]) if at else 0


@dataclass
class Reading:
    """How far a reader came, where the line of its last record begins, and how many were damaged on the way."""

    offset: int = 0
    damaged: int = 0
    place: int = field(default=0, compare=False)


class ReadLine(NamedTuple):
    """What one line holds: normally one record. `is_damaged` when something of it is lost or was repaired."""

    records: tuple[Record, ...] = ()
    is_damaged: bool = False


def read_records(path: str, reading: Reading | None = None, *, end: int | None = None) -> Iterator[Record]:
    """Every record that can be read, in the order of the file, from `reading.offset` on, which moves along; up to the
    byte `end` where one is given.

    A last line without its newline is read when it is whole and left for the next time when it is not.
    """
    state = reading if reading is not None else Reading()
    for raw in lines_forwards(path, state.offset, end):
        line = read_line(raw.data)
        if line.is_damaged and not line.records and not raw.data.endswith(b"\n"):
            return  # perhaps still being written
        state.place, state.offset = raw.start, raw.end
        state.damaged += line.is_damaged
        yield from line.records


def records_naming(path: str, ids: Iterable[str]) -> Iterator[tuple[Record, int]]:
    """The records of the lines that name one of these ids, and where each line begins. No other line is decoded."""
    needles = [wanted.encode("utf-8", "replace") for wanted in ids if wanted]
    for raw in lines_forwards(path):
        if any(needle in raw.data for needle in needles):
            yield from ((record, raw.start) for record in read_line(raw.data).records)


def read_line(raw: bytes) -> ReadLine:
    """What can be had of one line, whatever happened to it."""
    line = raw.strip(_PADDING)
    has_zeros = b"\0" in raw  # they may stand where records were
    if not line:
        return ReadLine(is_damaged=has_zeros)
    record = parse_record(line)
    return ReadLine((record,), has_zeros) if record is not None else ReadLine(tuple(_salvage(line)), is_damaged=True)


def links_of(raw: bytes) -> tuple[str, str] | None:
    """The id and the parent that a damaged line still shows. They are written first, so half a line has them."""
    found = dict.fromkeys(("uuid", "parentUuid"), b"")
    for name, value in _LINK.findall(raw[:_LINK_BYTES]):
        found[name.decode()] = found[name.decode()] or value
    if not found["uuid"]:
        return None
    return found["uuid"].decode("utf-8", "replace"), found["parentUuid"].decode("utf-8", "replace")


def _salvage(line: bytes) -> Iterator[Record]:
    """Whole records in a line that is no record: behind half of another one, run together, or with a broken letter."""
    text = line.decode("utf-8", "replace")
    decoder = json.JSONDecoder()
    at = 0
    for _ in range(MAX_RESTARTS):
        match = _START.search(text, at)
        if match is None:
            return
        try:
            found, at = decoder.raw_decode(text, match.start())
        except (ValueError, RecursionError):
            at = match.start() + 1
            continue
        record = record_from(found)
        # A message, or another one whose every letter is right.
        if record is not None and (
            record.type in MESSAGE_TYPES or ("\ufffd" not in text and (record.uuid or record.type in _LOOSE))
        ):
            yield record
