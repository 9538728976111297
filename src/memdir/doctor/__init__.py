"""Judges any store (O1): what is wrong with it, how bad that is, what to do, and what can be repaired safely."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Severity = Literal["error", "warning", "note"]
ORDER: tuple[Severity, ...] = ("error", "warning", "note")


@dataclass(frozen=True)
class Finding:
    """What is wrong, where, and what to do. `fixable` means that `--fix` repairs it and `undo` takes that back."""

    check: str
    severity: Severity
    message: str
    file: str = ""
    remedy: str = ""
    fixable: bool = False
