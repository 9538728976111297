"""The brain's front door: a conversation in, drafts of memories out. Pure, offline, deterministic."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import pairwise

from memdir.model.builtin.extract.candidates import MemoryCandidate, Scored, find_candidates
from memdir.model.builtin.extract.drafting import compose
from memdir.model.builtin.extract.features import UserTurn, observe
from memdir.model.builtin.extract.judge import CLASSES, SentenceJudge, shipped
from memdir.model.builtin.extract.same_memory import Shelf, best_match, shelve
from memdir.model.builtin.extract.silence import worth_keeping
from memdir.model.builtin.extract.talk import Existing, MemoryDraft, Talk
from memdir.store.kept import kept as kept_lines
from memdir.store.topic import Topic
from memdir.text.language import fold, language, tokens
from memdir.text.phrases import anywhere, cues


def draft_memories(conversation: Talk) -> tuple[MemoryDraft, ...]:
    """What this conversation gives to remember: usually nothing or one thing."""
    judge = shipped()
    whole = draft_with(conversation, judge)
    return _turn_by_turn(conversation, list(_turns(conversation)), whole, judge)


def _turn_by_turn(
    conversation: Talk, turns: Sequence[Talk], whole: Sequence[MemoryDraft], judge: SentenceJudge
) -> tuple[MemoryDraft, ...]:
    """What is kept does not hang on how many turns came at once, nor on what the assistant answered: each is looked at
    by itself, too, with and without its answers, and its memory is there for the next to change. What was said together
    explains more, unless the turn before is a memory itself."""
    kept = {draft.file: draft for draft in whole if draft.action == "delete"}
    was_kept = False
    for number, turn in enumerate(turns):
        said = {line.id for line in turn.lines if line.role == "user"}
        together = [draft for draft in whole if draft.action != "delete" and draft.sources[-1] in said]
        known = (*conversation.existing, *(_existing(draft) for draft in kept.values() if draft.action == "create"))
        alone: tuple[MemoryDraft, ...] = ()
        if not any(_takes_back(other) for other in turns[max(1, number) :]):
            heard = replace(turn, existing=known)
            own = replace(heard, lines=tuple(line for line in turn.lines if line.role == "user"))
            alone = draft_with(heard, judge) or draft_with(own, judge)
        for draft in alone if alone and (was_kept or not together) else together:
            is_new = draft.file not in {one.file for one in conversation.existing}
            kept[draft.file] = _updated(kept[draft.file], draft) if is_new and draft.file in kept else draft
        was_kept = bool(alone)
    return tuple(kept.values())


def _updated(before: MemoryDraft, after: MemoryDraft) -> MemoryDraft:
    """A draft of these turns changed by a later one, as it would be had it been written in between."""
    old, new = (
        Topic.compose(name=one.name, description=one.description, kind=None, body=one.body) for one in (before, after)
    )
    return replace(after, action="create", body=kept_lines(old, new).topic.body.strip())


def _turns(conversation: Talk) -> Iterator[Talk]:
    """Each message of the user with what the assistant said before and after it, as if it had come alone."""
    lines = conversation.lines
    starts = [at for at, line in enumerate(lines) if line.role == "user" and line.kind == "said"]
    for start, end in pairwise([*starts, len(lines)]):
        first = start
        while first > 0 and lines[first - 1].role == "user" and lines[first - 1].kind != "said":
            first -= 1
        while first > 0 and lines[first - 1].role == "assistant":
            first -= 1
        yield replace(conversation, lines=lines[first:end])


def _takes_back(turn: Talk) -> bool:
    """Whether the user takes something back in a turn: what was said before it is judged as a whole then."""
    said = [line.text for line in turn.lines if line.role == "user" and line.kind == "said"][-1]
    return "retract" in {cue.meaning for cue in cues(fold(said), tokens(fold(said)), language(said))}


def _existing(draft: MemoryDraft) -> Existing:
    return Existing(draft.file, draft.name, draft.description, draft.type, draft.body)


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
