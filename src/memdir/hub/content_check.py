"""What may stand in a team's memory: a key that is safe on every disk, and text without secrets or private things.

Every machine has checked that before it sent something; the hub believes none of them (E3, E5).
"""

from __future__ import annotations

from contextlib import suppress

from memdir.disk.safe_path import check_key
from memdir.errors import PathEscape
from memdir.hub.reply import HubRefusal
from memdir.store.secrets import redact
from memdir.store.secrets.refuse import harmless_name, secrets_in
from memdir.store.shared import is_private


def require_key(key: object) -> str:
    """The key, if it may name an entry."""
    try:
        found = check_key(key)
    except PathEscape as error:
        raise HubRefusal(422, "path", redact(error.message), remedy=error.remedy) from None
    if any(part.lower().endswith(".md") for part in found.split("/")[:-1]):
        raise HubRefusal(422, "path", "a folder of the key is named like a memory", remedy="Rename the folder")
    return found


def require_text(data: bytes) -> str:
    """The text, if it is one that every database keeps as it is."""
    text = "\0"
    with suppress(UnicodeDecodeError):
        text = data.decode("utf-8")
    if "\0" in text:
        remedy = "Convert it first, for example with iconv"
        raise HubRefusal(422, "not-text", "the entry is not UTF-8 text", remedy=remedy)
    return text


def require_shareable(key: str, data: bytes) -> None:
    """Nothing private, and no secret in text, fields or name; told by kind and line, never by value."""
    kinds, told = secrets_in(key, data)
    if kinds:
        message = f"{harmless_name(key, data)} would hold a secret: {told}"
        refused = HubRefusal(422, "secret", message, remedy="Take it out and say where it is kept instead")
        refused.kinds = kinds
        raise refused
    if b"user" in data.lower() and is_private(data):
        raise HubRefusal(422, "private", "a memory of type user is never shared", remedy="Keep it in the scope user")
