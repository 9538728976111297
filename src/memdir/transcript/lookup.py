"""Finds sessions by what a person calls them, and messages by the ids that the history recorded (J4, L2)."""

from __future__ import annotations

import os
from collections.abc import Collection, Sequence

from memdir.errors import MemoryNotFound
from memdir.transcript.message import Message
from memdir.transcript.raw_lines import lines_forwards, lines_if_any
from memdir.transcript.reader import read_line
from memdir.transcript.sources.source import SessionRef

LATEST = "latest"


def find_session(sessions: Sequence[SessionRef], wanted: str = LATEST) -> SessionRef:
    """The session of an id or of the beginning of one; the newest for `latest`. `sessions` come newest first."""
    if not sessions:
        raise MemoryNotFound("there is no session of this project", remedy="`memdir sessions --agent all` looks wider")
    if wanted == LATEST:
        return sessions[0]
    exact = [ref for ref in sessions if ref.id == wanted]
    fitting = exact or [ref for ref in sessions if ref.id.startswith(wanted)]
    if len(fitting) == 1:
        return fitting[0]
    if not fitting:
        raise MemoryNotFound(f"there is no session {wanted}", remedy="`memdir sessions` lists them")
    listed = ", ".join(ref.id for ref in fitting[:5])
    raise MemoryNotFound(f"{wanted} fits {len(fitting)} sessions: {listed}", remedy="Write more of the id")


def find_messages(path: str, ids: Collection[str]) -> dict[str, Message]:
    """The messages of these ids, as far as the transcript still has them. Only lines that name one are decoded."""
    needles = {wanted.encode("utf-8", "replace"): wanted for wanted in ids if wanted}
    found: dict[str, Message] = {}
    for raw in lines_if_any(path):
        if len(found) == len(needles):
            break
        if any(needle in raw.data for needle in needles):
            found.update(_messages(raw.data, ids))
    return found


def full_id(path: str, beginning: str) -> str:
    """The id of the one message that begins like this; the words themselves when no message or several do."""
    if not beginning or not os.path.exists(path):
        return beginning
    needle = b'"uuid":"' + beginning.encode("utf-8", "replace")
    fitting = {
        record.uuid
        for raw in lines_forwards(path)
        if needle in raw.data
        for record in read_line(raw.data).records
        if record.uuid.startswith(beginning)
    }
    return fitting.pop() if len(fitting) == 1 else beginning


def _messages(raw: bytes, ids: Collection[str]) -> dict[str, Message]:
    messages = (record.message for record in read_line(raw).records if record.uuid in ids)
    return {message.id: message for message in messages if message is not None}
