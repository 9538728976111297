"""Reads a transcript's lines, forwards from any byte or backwards from its end, in blocks: what nobody needs is never
read, and no file, however large, is held in memory (J3, S15).

Long runs of zeros are told by one, and holes are passed over without being read. Of a line that is longer than any
record only the beginning is told.
"""

from __future__ import annotations

import os
from bisect import bisect_left
from collections.abc import Iterator
from typing import NamedTuple

from memdir.disk.plain_file import open_descriptor

FIRST_WORDS = 8 << 10  # what a list reads of the beginning
FIRST_BLOCK = 64 << 10  # a few turns, from the end
LARGEST_BLOCK = 4 << 20  # bounds what is read ahead of the need
MAX_LINE_BYTES = 64 << 20  # a record with several pictures has some MB
TOLD_BYTES = 4096  # of a longer line: the ids of the record that it was
MAX_EXTENTS = 10_000  # parts between holes; a file with more is read through
_ZERO = b"\0"


class RawLine(NamedTuple):
    """A line with its newline, and the bytes of the file that it stands in."""

    data: bytes
    start: int
    end: int


def lines_forwards(path: str, start: int = 0, end: int | None = None) -> Iterator[RawLine]:
    """The lines from the byte `start` on, those that begin before `end` and end soon. OSError when it is no plain
    file."""
    descriptor, _ = open_descriptor(path)
    try:
        yield from _forwards(descriptor, start, end)
    finally:
        os.close(descriptor)


def lines_if_any(path: str, start: int = 0, end: int | None = None) -> Iterator[RawLine]:
    """The same; none where there is no file that can be read."""
    try:
        yield from lines_forwards(path, start, end)
    except OSError:
        return


def lines_backwards(path: str) -> Iterator[bytes]:
    """The lines of a file as it was when it was opened, last one first. FileNotFoundError when there is none."""
    descriptor, status = open_descriptor(path, follow=False)
    try:
        yield from _backwards(descriptor, status.st_size)
    finally:
        os.close(descriptor)


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
