"""What the gate answers: allow, or deny with a reason a model can act on (G4)."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Allow:
    """The call may run."""


@dataclass(frozen=True, slots=True)
class Deny:
    """The call may not run; `reason` names the offending word and what to do instead."""

    reason: str
