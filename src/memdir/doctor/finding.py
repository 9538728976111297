"""One thing the doctor found."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Severity = Literal["error", "warning", "note"]
ORDER: tuple[Severity, ...] = ("error", "warning", "note")


@dataclass(frozen=True)
class Finding:
    """What is wrong, where, and what to do. `fixable` means that `--fix` mends it and `undo` takes that back."""

    check: str
    severity: Severity
    message: str
    file: str = ""
    remedy: str = ""
    fixable: bool = False
