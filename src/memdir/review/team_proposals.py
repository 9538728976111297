"""What a team's nightly dream proposes, as a hub tells it: read with care, for it comes from elsewhere (E7)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from memdir.disk.safe_path import is_key
from memdir.share.remotes.hub import seconds_of


@dataclass(frozen=True)
class TeamProposal:
    """What the team's nightly dream would change in one go, until a member says yes or no."""

    id: int
    reason: str
    created: float
    changes: Mapping[str, str | None]  # a file's new text; None: it goes


def read_proposals(told: Sequence[Mapping[str, Any]]) -> list[TeamProposal]:
    return [one for one in map(_proposal, told) if one.id and one.changes]


def _proposal(told: Mapping[str, Any]) -> TeamProposal:
    """One that changes several files lists them; one that changes a single file may be that change."""
    listed, number, reason = told.get("changes"), told.get("id"), told.get("reason")
    changes: dict[str, str | None] = {}
    for one in listed if isinstance(listed, list) and listed else [told]:
        key, content = (one.get("key"), one.get("content")) if isinstance(one, Mapping) else (None, None)
        is_text = isinstance(content, str)
        if not isinstance(key, str) or not is_key(key) or is_text != (one.get("op") == "put"):
            return TeamProposal(0, "", 0.0, {})  # what cannot be shown is not asked about
        changes[key] = content
    id_ = number if isinstance(number, int) and not isinstance(number, bool) else 0
    return TeamProposal(id_, reason if isinstance(reason, str) else "", seconds_of(told.get("created")), changes)
