"""What may travel, on the way out and on the way in alike: name, size, text, what it tells (E2, E3, E5, E6).

A remote is not believed: whatever it sends is judged here as if nobody had judged it before.
"""

from __future__ import annotations

from dataclasses import dataclass

from memdir.disk.safe_path import is_index, is_key
from memdir.share.remote import Reason, TeamCaps
from memdir.store.secrets.refuse import harmless_name, secrets_in
from memdir.store.shared import is_private


@dataclass(frozen=True)
class NotShared:
    """A file that does not travel, and why, in words that name no value."""

    file: str  # as it may be told
    reason: Reason | str
    told: str
    remedy: str = ""


def judge(key: str, data: bytes, caps: TeamCaps) -> NotShared | None:
    """Why a memory may neither be given to the team nor taken from it; None where it may."""
    if not is_key(key) or is_index(key):
        return NotShared(harmless_name(key, data), "path", "its name may not name a memory", "Give it another name")
    if len(data) > caps.entry_bytes:
        told = f"it has {len(data):,} bytes, and a shared memory has at most {caps.entry_bytes:,}"
        return NotShared(harmless_name(key, data), "too_large", told, "Split it, or cut it")
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError:
        text = "\0"
    if "\0" in text:
        return NotShared(harmless_name(key, data), "not_text", "it is no UTF-8 text", "Convert it")
    kinds, told = secrets_in(key, data)
    if kinds:
        remedy = "Take it out and say where it is kept instead; what was shown to others must be revoked"
        return NotShared(harmless_name(key, data), "secret", f"it holds a secret: {told}", remedy)
    if is_private(data):
        told = "it is about a person, and those are always private"
        remedy = "Move it out of team/; what the whole team should know has another type"
        return NotShared(harmless_name(key, data), "private", told, remedy)
    return None
