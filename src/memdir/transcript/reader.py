"""Reads transcripts, from any byte on, and loses nothing but the records that are damaged (J3)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from memdir.transcript.record import Record, parse_record

CHUNK_BYTES = 1 << 20
MAX_RESTARTS = 64  # places in one line where a record may begin again after half of another


@dataclass
class Reading:
    """How far a reader came, and how many records were damaged on the way."""

    offset: int = 0
    damaged: int = 0


def read_records(path: str, reading: Reading | None = None) -> Iterator[Record]:
    """Every record that can be read, in the order of the file, from `reading.offset` on, which moves along.

    A last line without its newline is read when it is whole and left for the next time when it is not.
    """
    state = reading if reading is not None else Reading()
    try:
        file = open(path, "rb")  # noqa: SIM115 - closed below; a generator holds it across yields
    except FileNotFoundError:
        return
    with file:
        file.seek(state.offset)
        for raw in file:
            line = raw.strip(b"\0 \t\r\n")
            if not line:
                state.offset += len(raw)
                continue
            record = parse_record(line)
            if record is None and not raw.endswith(b"\n"):
                return  # perhaps still being written
            state.offset += len(raw)
            if record is None:
                state.damaged += 1
                record = _second_half(line)
            if record is not None:
                yield record


def _second_half(line: bytes) -> Record | None:
    """The record at the end of a line whose beginning is half of another: a write that was cut and then repeated."""
    at = line.find(b'{"', 1)
    for _ in range(MAX_RESTARTS):
        if at < 0:
            return None
        record = parse_record(line[at:])
        if record is not None:
            return record
        at = line.find(b'{"', at + 1)
    return None
