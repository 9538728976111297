"""Outcomes that background work shares."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Skipped:
    """Nothing was run, and why."""

    reason: str
