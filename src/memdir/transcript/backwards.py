"""Reads a file's lines from its end, in blocks that grow: what lies before the part that is needed is never read."""

from __future__ import annotations

import os
from collections.abc import Iterator

from memdir.disk.plain_file import open_descriptor

FIRST_BLOCK = 64 << 10  # a few turns
LARGEST_BLOCK = 4 << 20  # bounds what is read ahead of the need


def lines_backwards(path: str) -> Iterator[bytes]:
    """The lines of a file as it was when it was opened, last one first. FileNotFoundError when there is none."""
    descriptor, status = open_descriptor(path, follow=False)
    try:
        yield from _lines(descriptor, status.st_size)
    finally:
        os.close(descriptor)


def _lines(descriptor: int, start: int) -> Iterator[bytes]:
    block = FIRST_BLOCK
    pieces: list[bytes] = []  # of a line whose beginning was not read yet, last piece first
    while start > 0:
        length = min(block, start)
        block = min(block * 2, LARGEST_BLOCK)
        start -= length
        # A file that is cut while it is read looks like one that was damaged there.
        data = os.pread(descriptor, length, start).ljust(length, b"\0")
        first, newline, rest = data.partition(b"\n")
        if not newline:
            pieces.append(data)
            continue
        lines = rest.split(b"\n")
        lines[-1] += b"".join(reversed(pieces))
        pieces = [first]
        yield from reversed(lines)
    if pieces:
        yield b"".join(reversed(pieces))
