"""Memories that the user calls off in so many words: "forget the rule about branch names"."""

from __future__ import annotations

from collections.abc import Sequence

from memdir.model.builtin.extract.candidates import MemoryCandidate, Scored
from memdir.model.builtin.extract.features import UserTurn
from memdir.model.builtin.extract.judge import CLASSES, SentenceJudge
from memdir.model.builtin.extract.same_memory import Shelf, best_match
from memdir.model.builtin.extract.talk import MemoryDraft, Talk
from memdir.text.phrases import anywhere


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
