"""Reads transcripts, from any byte on, and loses nothing but the records that are damaged (J3)."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass

from memdir.transcript.raw_lines import lines_if_any
from memdir.transcript.record import (
    ATTRIBUTION,
    FILE_HISTORY,
    MESSAGE_TYPES,
    REPLACEMENT,
    Record,
    parse_record,
    record_from,
)

MAX_RESTARTS = 1000  # places in one line where a record may begin again after half of another
_LINK_BYTES = 2048  # from the beginning of a line; further in, an id may belong to something else
_PADDING = b"\0 \t\r\n"
_START = re.compile(r'\{"(?:parentUuid|type|uuid|sessionId)"')
_LINK = re.compile(rb'"(parentUuid|uuid)": ?(?:null|"([^"\\]{1,80})")')
_LOOSE = frozenset((FILE_HISTORY, ATTRIBUTION, REPLACEMENT))  # records that have no place in the tree


@dataclass
class Reading:
    """How far a reader came, and how many records were damaged on the way."""

    offset: int = 0
    damaged: int = 0


@dataclass(frozen=True)
class Line:
    """What one line holds: normally one record. `is_damaged` when something of it is lost or was mended."""

    records: tuple[Record, ...] = ()
    is_damaged: bool = False


def read_records(path: str, reading: Reading | None = None, *, end: int | None = None) -> Iterator[Record]:
    """Every record that can be read, in the order of the file, from `reading.offset` on, which moves along; up to the
    byte `end` where one is given.

    A last line without its newline is read when it is whole and left for the next time when it is not.
    """
    state = reading if reading is not None else Reading()
    for raw in lines_if_any(path, state.offset, end):
        line = read_line(raw.data)
        if line.is_damaged and not line.records and not raw.data.endswith(b"\n"):
            return  # perhaps still being written
        state.offset = raw.end
        state.damaged += line.is_damaged
        yield from line.records


def read_line(raw: bytes) -> Line:
    """What can be had of one line, whatever happened to it."""
    line = raw.strip(_PADDING)
    has_zeros = b"\0" in raw  # they may stand where records were
    if not line:
        return Line(is_damaged=has_zeros)
    record = parse_record(line)
    return Line((record,), has_zeros) if record is not None else Line(tuple(_salvage(line)), is_damaged=True)


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
        if record is not None and _is_sound(record, is_mended="\ufffd" in text):
            yield record


def _is_sound(record: Record, *, is_mended: bool) -> bool:
    """Whether an object found in a broken line is a record: a message, or another one whose every letter is right."""
    return record.type in MESSAGE_TYPES or (not is_mended and (bool(record.uuid) or record.type in _LOOSE))
