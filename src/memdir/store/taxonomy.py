"""The four kinds of memory, a closed set (S6, T1–T4)."""

from __future__ import annotations

from enum import StrEnum

IN_OWN_WORDS = "(In the user's own words.)"  # what the built-in model adds below a memory in the first person


class MemoryType(StrEnum):
    """What a memory is about: "user", "feedback", "project" or "reference"."""

    USER = "user"
    FEEDBACK = "feedback"
    PROJECT = "project"
    REFERENCE = "reference"


_TYPES = {str(kind): kind for kind in MemoryType}


def parse_type(text: str | None) -> MemoryType | None:
    """The type that `text` names, or None: an unknown type counts as none (S6)."""
    return _TYPES.get(text) or _TYPES.get(text.strip().lower()) if text else None


def guess_type(text: str) -> MemoryType:
    """A first guess for a person who typed a memory without saying its kind; the command line shows it."""
    words = f" {text.casefold()} "
    if any(cue in words for cue in ("http://", "https://", " dashboard", " channel", " tracker", " wiki", " runbook")):
        return MemoryType.REFERENCE
    if words.startswith((" i am ", " i'm ", " my ", " i work ", " i have ", " i know ")):
        return MemoryType.USER
    if words.startswith((" use ", " keep ", " write ", " run ", " answer ", " ask ", " stop ", " no ")) or any(
        cue in words
        for cue in (" always ", " never ", " don't ", " do not ", " prefer", " please ", " avoid ", " i like ")
    ):
        return MemoryType.FEEDBACK
    return MemoryType.PROJECT
