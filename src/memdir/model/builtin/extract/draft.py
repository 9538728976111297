"""The brain's front door: a conversation in, drafts of memories out. Pure, offline, deterministic."""

from __future__ import annotations

from memdir.model.builtin.extract.candidates import find_candidates
from memdir.model.builtin.extract.drafting import compose
from memdir.model.builtin.extract.features import observe
from memdir.model.builtin.extract.judge import SentenceJudge, shipped
from memdir.model.builtin.extract.revoke import revocations
from memdir.model.builtin.extract.same_memory import shelve
from memdir.model.builtin.extract.silence import worth_keeping
from memdir.model.builtin.extract.talk import MemoryDraft, Talk


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
