"""What a consolidation may not do, whoever planned it (D7): checked on its drafts before anything is written."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from memdir.agent.workspace import Draft, Workspace
from memdir.disk.safe_path import INDEX_NAME
from memdir.dream.facts import lost_share
from memdir.store.secrets import find_secrets
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
        lost = _lost_in(store, workspace)
        if lost > max_lost_share:
            reasons.append(
                f"it would lose {lost:.0%} of the facts in {store.root} (at most {max_lost_share:.0%} are allowed)"
            )
    return Refused(tuple(reasons)) if reasons else None


def _faults_of_draft(draft: Draft) -> list[str]:
    if draft.key == INDEX_NAME:
        return []
    found = []
    if draft.before is not None and Topic(draft.before).is_pinned:
        found.append(f"{draft.key} is pinned and may not be touched")
    if draft.after is None and not draft.reason:
        found.append(f"{draft.key} would be deleted without a reason")
    if draft.after is not None and _gains_secret(draft):
        found.append(f"{draft.key} would hold a secret")
    return found


def _gains_secret(draft: Draft) -> bool:
    before = len(find_secrets((draft.before or b"").decode("utf-8", "replace")))
    return len(find_secrets((draft.after or b"").decode("utf-8", "replace"))) > before


def _lost_in(store: MemoryStore, workspace: Workspace) -> float:
    """The share of facts lost in one store; what moved to another store of the same dream is not lost."""
    before = [data for key in _keys(store) if (data := store.read_bytes(key)) is not None]
    return lost_share(before, _after(workspace.stores, workspace))


def _after(stores: Sequence[MemoryStore], workspace: Workspace) -> list[bytes]:
    drafted = {path: draft.after for path, draft in workspace.drafts.items()}
    texts = [draft for draft in drafted.values() if draft is not None]
    for store in stores:
        for key in _keys(store):
            path = store.path_of(key)
            if path not in drafted and (data := store.read_bytes(key)) is not None:
                texts.append(data)
    return texts


def _keys(store: MemoryStore) -> list[str]:
    return [header.key for header in store.scan(limit=None).headers]
