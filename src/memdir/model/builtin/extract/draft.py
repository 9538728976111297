"""The brain's front door: a conversation in, drafts of memories out. Pure, offline, deterministic."""

from __future__ import annotations

from collections.abc import Sequence

from memdir.model.builtin.extract.candidates import MemoryCandidate, Scored, find_candidates
from memdir.model.builtin.extract.drafting import compose
from memdir.model.builtin.extract.features import UserTurn, observe
from memdir.model.builtin.extract.judge import CLASSES, SentenceJudge, shipped
from memdir.model.builtin.extract.same_memory import Shelf, best_match, shelve
from memdir.model.builtin.extract.silence import worth_keeping
from memdir.model.builtin.extract.talk import MemoryDraft, Talk
from memdir.text.phrases import anywhere


def draft_memories(conversation: Talk) -> tuple[MemoryDraft, ...]:
    """What this conversation gives to remember: usually nothing or one thing."""
    return draft_with(conversation, shipped())


def draft_with(conversation: Talk, judge: SentenceJudge) -> tuple[MemoryDraft, ...]:
    """The same with a judge of the caller's choice (training and evaluation)."""
    shelf = shelve(conversation.existing, conversation.instructions, judge.familiar)
    turns = observe(conversation, shelf)
    candidates = find_candidates(conversation, turns, judge)
    taken = {one.file for one in conversation.existing}
    drafts = revocations(conversation, turns, shelf, judge)
    for kept in worth_keeping(conversation, turns, candidates, shelf, judge):
        draft = compose(conversation, kept.candidate, kept.updates, taken)
        if draft and not any(draft.file == other.file for other in drafts):
            drafts.append(draft)
            taken.add(draft.file)
    return tuple(drafts)


def revocations(conversation: Talk, turns: Sequence[UserTurn], shelf: Shelf, judge: SentenceJudge) -> list[MemoryDraft]:
    """Deletions, one for each memory that is clearly meant."""
    drafts: dict[str, MemoryDraft] = {}
    for turn in turns:
        for seen in turn.seen:
            if "question" in seen.features or not anywhere("forget-rule", turn.language).search(seen.sentence.text):
                continue
            judged = Scored(seen, dict.fromkeys(CLASSES, 0.0))
            for kind in dict.fromkeys(memory.type or "" for memory in shelf.memories):
                candidate = MemoryCandidate(kind, turn, (judged,), (), (), 1.0, alone=False)
                memory, odds = best_match(conversation, candidate, shelf, judge)
                if memory and odds >= judge.settings["revoke"]:
                    old = (memory.file, memory.name, memory.description, memory.type or "", memory.body)
                    drafts.setdefault(memory.file, MemoryDraft("delete", *old, (turn.line.id,)))
    return list(drafts.values())
