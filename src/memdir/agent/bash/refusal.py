"""How a layer of the judge says no; `judge` turns it into a Deny, so it never leaves this package."""

from __future__ import annotations


class Refused(Exception):
    """The command is not provably read-only. `reason` is a sentence for a model."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


def shown(text: str, *, max_chars: int = 60) -> str:
    """A word as a reason quotes it: printable, short, in backquotes."""
    printable = "".join(char if char.isprintable() else "?" for char in text[:max_chars])
    return f"`{printable}{'…' if len(text) > max_chars else ''}`"
