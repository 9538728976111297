"""Memories that the user calls off in so many words: "forget the rule about branch names"."""

from __future__ import annotations

from collections.abc import Sequence

from memdir.model.builtin.extract.candidates import Candidate, Judged
from memdir.model.builtin.extract.conversation import Conversation, Draft
from memdir.model.builtin.extract.features import Turn
from memdir.model.builtin.extract.judge import CLASSES, Judge
from memdir.model.builtin.extract.match import Shelf, best_match
from memdir.model.builtin.extract.phrases import anywhere


def revocations(conversation: Conversation, turns: Sequence[Turn], shelf: Shelf, judge: Judge) -> list[Draft]:
    """Deletions, one for each memory that is clearly meant."""
    drafts: dict[str, Draft] = {}
    for turn in turns:
        for seen in turn.seen:
            if "question" in seen.features or not anywhere("forget-rule", turn.language).search(seen.sentence.text):
                continue
            judged = Judged(seen, dict.fromkeys(CLASSES, 0.0))
            for kind in dict.fromkeys(memory.type or "" for memory in shelf.memories):
                candidate = Candidate(kind, turn, (judged,), (), (), 1.0, alone=False)
                memory, odds = best_match(conversation, candidate, shelf, judge)
                if memory and odds >= judge.settings["revoke"]:
                    old = (memory.file, memory.name, memory.description, memory.type or "", memory.body)
                    drafts.setdefault(memory.file, Draft("delete", *old, (turn.line.id,)))
    return list(drafts.values())
