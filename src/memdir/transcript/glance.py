"""A session at a glance: its title and how many messages it has, from the beginning and the end of its file (J4)."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice

from memdir.disk.plain_file import open_descriptor, read_beginning
from memdir.store.secrets import beginning
from memdir.transcript.record import MESSAGE_TYPES, TITLE, parse_record
from memdir.transcript.sources.source import SessionRef, TranscriptSource

END_BYTES = 16 << 10  # of each end: the first question, and the last few records
LONG_END_BYTES = 1 << 20  # of the end, when the last record alone is longer than that
TITLE_CHARACTERS = 80  # fits a line beside age and size
LOOKED_AT = 500  # characters of a text from which those are taken
LOOKED_THROUGH = 8 << 20  # bytes from the beginning, for the first words: behind all that a host says first
FIRST_MESSAGES = 20  # among which somebody will have said something
ITEM = "response_item"  # what Codex calls a message, a call or a result
NOTES_TITLE = b"# Session Title\n"


@dataclass(frozen=True)
class Glance:
    """What a list shows of a session. `is_guessed`: the number of messages is guessed from the size of the file."""

    ref: SessionRef
    title: str
    messages: int
    is_guessed: bool = False


def glance(ref: SessionRef, source: TranscriptSource, *, notes: str = "") -> Glance:
    """Look at a session without reading it. `notes` is the path of its session memory, which knows a title (N2)."""
    head, tail = _ends(ref)
    messages, is_guessed = _count(ref, head, tail)
    title = _given_title((*head, *tail)) or _noted_title(notes) or _first_words(ref, source)
    return Glance(ref, _shortened(title), messages, is_guessed)


def _ends(ref: SessionRef) -> tuple[list[bytes], list[bytes]]:
    """The whole lines at both ends of a transcript; a short one is all tail."""
    try:
        descriptor, _ = open_descriptor(ref.path, follow=False)
    except OSError:
        return [], []
    try:
        if ref.size <= 2 * END_BYTES:
            return [], os.pread(descriptor, ref.size, 0).split(b"\n")
        head = os.pread(descriptor, END_BYTES, 0).split(b"\n")[:-1]
        tail: list[bytes] = []
        for length in (END_BYTES, LONG_END_BYTES):
            tail = os.pread(descriptor, length, max(0, ref.size - length)).split(b"\n")[1:]
            if any(line.strip() for line in tail):
                break
        return head, tail
    except OSError:
        return [], []
    finally:
        os.close(descriptor)


def _count(ref: SessionRef, head: list[bytes], tail: list[bytes]) -> tuple[int, bool]:
    """How many messages there are: the last record of ours says so, other agents' are counted or guessed."""
    for line in reversed(tail):
        record = parse_record(line) if b'"depth":' in line else None
        depth = record.fields.get("depth") if record and not record.is_sidechain else None
        if isinstance(depth, int):
            return depth, False
    found = [record for record in map(parse_record, (*head, *tail)) if record is not None]
    seen = [record for record in found if record.type in (*MESSAGE_TYPES, ITEM) and not record.is_sidechain]
    if not head:
        return len(seen), any(record.type == ITEM for record in seen)
    read = sum(map(len, (*head, *tail))) or 1
    return max(len(seen), round(len(seen) * ref.size / read)), True


def _given_title(lines: Sequence[bytes]) -> str:
    records = (parse_record(line) for line in reversed(lines) if TITLE.encode() in line)
    titles = (record.fields.get("customTitle") for record in records if record is not None and record.type == TITLE)
    return next((title for title in titles if isinstance(title, str) and title.strip()), "")


def _noted_title(path: str) -> str:
    try:
        text = read_beginning(path, max_bytes=END_BYTES).partition(NOTES_TITLE)[2].partition(b"\n# ")[0]
    except OSError:
        return ""
    lines = (line.strip() for line in text.decode("utf-8", "replace").splitlines())
    return next((line for line in lines if line and not line.startswith("_")), "")


def _first_words(ref: SessionRef, source: TranscriptSource) -> str:
    said = (
        message.text
        for message in islice(source.messages(ref, end=LOOKED_THROUGH), FIRST_MESSAGES)
        if message.role == "user"
    )
    return next((text for text in said if text.strip()), "")


def _shortened(text: str) -> str:
    """A title without secrets, which are looked for before it is cut: also those that go on in the next line."""
    lines = (" ".join(line.split()) for line in beginning(text.lstrip(), LOOKED_AT).splitlines())
    line = next((line for line in lines if line), "")
    return line if len(line) <= TITLE_CHARACTERS else line[: TITLE_CHARACTERS - 1].rstrip() + "…"
