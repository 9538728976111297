"""Extraction's front door: a conversation in, drafts of memories out. Pure, offline, deterministic."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from memdir.model.builtin.extract.candidates import MemoryCandidate, Scored, find_candidates
from memdir.model.builtin.extract.drafting import compose
from memdir.model.builtin.extract.features import UserTurn, observe
from memdir.model.builtin.extract.guards import is_known, is_revoked, planted_words, usable
from memdir.model.builtin.extract.judge import CLASSES, SentenceJudge, shipped
from memdir.model.builtin.extract.same_memory import Shelf, best_match, is_beside, restated, shelve
from memdir.model.builtin.extract.talk import Existing, MemoryDraft, Talk
from memdir.store.kept import kept as kept_lines
from memdir.store.topic import Topic
from memdir.text.phrases import anywhere

REVOKED = 0.5  # log-odds that a memory is the one to forget


def draft_memories(conversation: Talk) -> tuple[MemoryDraft, ...]:
    """What this conversation gives to remember: usually nothing or one thing."""
    return draft_with(conversation, shipped())


def draft_with(conversation: Talk, judge: SentenceJudge) -> tuple[MemoryDraft, ...]:
    """The same with a judge of the caller's choice (training and evaluation)."""
    turns = observe(conversation)
    planted = planted_words(conversation)
    candidates = [one for found in find_candidates(conversation, turns, judge) if (one := usable(found, planted))]
    shelf = shelve(conversation.existing, conversation.instructions, judge.familiar)
    drafts = {draft.file: draft for draft in _revocations(conversation, turns, shelf, judge)}
    for candidate in candidates:
        if is_revoked(candidate, turns, candidates) or is_known(candidate, shelf):
            continue
        fresh = shelve([_existing(one) for one in drafts.values() if one.action == "create"], "", judge.familiar)
        again = _changed(conversation, candidate, fresh, judge) if _is_change(candidate) else restated(candidate, fresh)
        updates = again or _changed(conversation, candidate, shelf, judge)
        draft = compose(conversation, candidate, updates, {one.file for one in (*shelf.memories, *fresh.memories)})
        if draft is None or (draft.file in drafts and drafts[draft.file].action != "create"):
            continue
        drafts[draft.file] = _updated(drafts[draft.file], draft) if draft.file in drafts else draft
    return tuple(drafts.values())


def _changed(conversation: Talk, candidate: MemoryCandidate, shelf: Shelf, judge: SentenceJudge) -> Existing | None:
    """The memory on disk that is on the same point."""
    memory = restated(candidate, shelf)
    if memory is None:
        memory, _ = best_match(conversation, candidate, shelf, judge)
    if memory is None or (memory.type == "user") != (candidate.type == "user"):
        return None
    return None if is_beside(candidate, memory, shelf) and not _is_change(candidate) else memory


def _is_change(candidate: MemoryCandidate) -> bool:
    return any("change" in one.seen.meanings for one in candidate.core)


def _updated(before: MemoryDraft, after: MemoryDraft) -> MemoryDraft:
    """A draft of these turns changed by a later one, as it would be had it been written in between."""
    old, new = (
        Topic.compose(name=one.name, description=one.description, kind=None, body=one.body) for one in (before, after)
    )
    return replace(after, action="create", body=kept_lines(old, new).topic.body.strip())


def _existing(draft: MemoryDraft) -> Existing:
    return Existing(draft.file, draft.name, draft.description, draft.type, draft.body)


def _revocations(
    conversation: Talk, turns: Sequence[UserTurn], shelf: Shelf, judge: SentenceJudge
) -> list[MemoryDraft]:
    """Deletions, one for each memory that is clearly meant."""
    drafts: dict[str, MemoryDraft] = {}
    for turn in turns:
        for seen in turn.seen:
            if "question" in seen.features or not anywhere("forget-rule", turn.language).search(seen.clause.text):
                continue
            judged = Scored(seen, dict.fromkeys(CLASSES, 0.0))
            for kind in dict.fromkeys(memory.type or "" for memory in shelf.memories):
                candidate = MemoryCandidate(kind, turn, (judged,), alone=False)
                memory, odds = best_match(conversation, candidate, shelf, judge)
                if memory and odds >= REVOKED:
                    old = (memory.file, memory.name, memory.description, memory.type or "", memory.body)
                    drafts.setdefault(memory.file, MemoryDraft("delete", *old, (turn.line.id,)))
    return list(drafts.values())
