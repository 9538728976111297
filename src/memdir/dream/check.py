"""What a consolidation may not do, whoever planned it (D7): checked on its drafts before anything is written."""

from __future__ import annotations

from dataclasses import dataclass

from memdir.agent.workspace import Draft, Workspace
from memdir.disk.safe_path import INDEX_NAME
from memdir.dream.facts import all_facts, missing_from
from memdir.store.secrets.refuse import harmless_name, secrets_in
from memdir.store.store import MemoryStore
from memdir.store.topic import Topic

MAX_LOST_SHARE = 0.25  # of all facts; more than that is not tidying up


@dataclass(frozen=True)
class Refused:
    """The whole change set is refused, and why."""

    reasons: tuple[str, ...]


def fault_of_dream(workspace: Workspace, *, max_lost_share: float) -> Refused | None:
    """Why a dream's drafts may not be written; None when they may."""
    reasons = [reason for draft in workspace.changed() for reason in _faults_of_draft(draft)]
    for store in workspace.stores:
        lost = lost_share(store, workspace, enough=max_lost_share)
        if lost > max_lost_share:
            reasons.append(
                f"it would lose {lost:.0%} of the facts in {store.root} (at most {max_lost_share:.0%} are allowed)"
            )
    return Refused(tuple(reasons)) if reasons else None


def lost_share(store: MemoryStore, workspace: Workspace, *, enough: float) -> float:
    """The share of a store's facts that stand nowhere after the dream; what moved to another of its stores is not lost.

    Only what the dream touches can be lost. Where that is at most `enough` of the touched files' own facts, it is no
    more of all: the rest of a large store is read only in doubt.
    """
    touched = [draft for draft in workspace.changed() if draft.store is store and draft.key != INDEX_NAME]
    known = all_facts(draft.before for draft in touched if draft.before)
    lost = missing_from(known, (draft.after for draft in workspace.changed() if draft.after))
    if len(lost) <= enough * len(known):
        return len(lost) / max(1, len(known))
    everything = all_facts(_texts(store))
    elsewhere = [data for other in workspace.stores for data in _untouched(other, workspace)]
    return len(missing_from(lost, elsewhere)) / max(1, len(everything))


def _texts(store: MemoryStore) -> list[bytes]:
    return [memory.topic.data for memory in store.readable(store.scan(limit=None).headers)]


def _untouched(store: MemoryStore, workspace: Workspace) -> list[bytes]:
    touched = {draft.key for draft in workspace.changed() if draft.store is store}
    others = (header for header in store.scan(limit=None).headers if header.key not in touched)
    return [memory.topic.data for memory in store.readable(others)]


def _faults_of_draft(draft: Draft) -> list[str]:
    found = []
    if draft.after is not None and any(secrets_in(draft.key, draft.after, draft.before)):
        found.append(f"{harmless_name(draft.key, draft.after)} would hold a secret")
    if draft.key == INDEX_NAME:
        return found
    if draft.before is not None and Topic(draft.before).is_pinned:
        found.append(f"{draft.key} is pinned and may not be touched")
    if draft.after is None and not draft.reason:
        found.append(f"{draft.key} would be deleted without a reason")
    return found
