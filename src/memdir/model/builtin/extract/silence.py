"""Keeps quiet unless sure: after the firm vetoes, a small trained model weighs the whole candidate."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from memdir.model.builtin.extract.candidates import MemoryCandidate, is_plain_rule
from memdir.model.builtin.extract.features import UserTurn
from memdir.model.builtin.extract.judge import TYPES, SentenceJudge
from memdir.model.builtin.extract.same_memory import Shelf, best_match, restated, subject_and_values
from memdir.model.builtin.extract.talk import Existing, Talk
from memdir.model.builtin.extract.vetoes import planted_words, refused, usable

MANY_WORDS = 12  # a statement is no better for being longer than that
MAX_ODDS = 4.0  # log-odds beyond that are as sure as it gets
WEIGHED_IN_CORE = (
    "always",
    "durable",
    "want",
    "forbid",
    "remember",
    "because",
    "change",
    "praise",
    "halt",
    "moment",
    "suppose",
    "irony",
    "others",
    "compose",
    "derive",
    "self",
    "place",
    "event",
    "owner",
    "decide",
)
WEIGHED_IN_TURN = (
    "suppose",
    "irony",
    "others",
    "compose",
    "rumour",
    "moment",
    "indifferent",
    "retract",
    "incident",
    "because",
    "change",
    "durable",
)


@dataclass(frozen=True)
class Kept:
    """A candidate that is worth a memory, with the existing one it changes."""

    candidate: MemoryCandidate
    updates: Existing | None
    odds: float


def worth_keeping(
    conversation: Talk,
    turns: Sequence[UserTurn],
    candidates: Sequence[MemoryCandidate],
    shelf: Shelf,
    judge: SentenceJudge,
) -> list[Kept]:
    """The candidates that pass every reason to keep quiet, at most a few."""
    planted = planted_words(conversation)
    stand = [one for one in (usable(candidate, planted) for candidate in candidates) if one]
    weighed = [weigh(conversation, turns, one, shelf, judge) for one in stand]
    sure = [one for one in weighed if one.odds >= judge.settings["keep dated" if _is_dated(one.candidate) else "keep"]]
    spoken = {one.candidate.turn.index for one in sure}
    return _few([one for one in sure if not refused(conversation, turns, one.candidate, shelf, spoken)], judge)


def _is_dated(candidate: MemoryCandidate) -> bool:
    """A fact of the project with a day ahead: losing one costs most, and it is the hardest to make up."""
    return candidate.type == "project" and any("date:ahead:exact" in one.seen.features for one in candidate.core)


def weigh(
    conversation: Talk, turns: Sequence[UserTurn], candidate: MemoryCandidate, shelf: Shelf, judge: SentenceJudge
) -> Kept:
    """A candidate with the log-odds that it should be kept."""
    updates, match = best_match(conversation, candidate, shelf, judge)
    updates = restated(candidate, shelf) or (None if updates and _is_beside(candidate, updates) else updates)
    if candidate.granted:
        return Kept(candidate, updates, MAX_ODDS)
    features = keep_features(turns, candidate, match)
    return Kept(candidate, updates, sum(judge.keeping.get(name, 0.0) * value for name, value in features.items()))


def _is_beside(candidate: MemoryCandidate, memory: Existing) -> bool:
    """Whether it is another rule than the memory's: each has a subject of its own, and no word of a change is said."""
    meanings = frozenset().union(*(one.seen.meanings for one in candidate.core))
    if candidate.type != "feedback" or memory.type != "feedback" or meanings & {"change", "durable"}:
        return False
    if not all(is_plain_rule(one.seen, candidate.turn.language) for one in candidate.core):
        return False
    text = " ".join(one.seen.sentence.text for one in candidate.core)
    mine, theirs = subject_and_values(text)[0], subject_and_values(f"{memory.description} {memory.body}")[0]
    return bool(mine - theirs) and bool(subject_and_values(memory.description or memory.name)[0] - mine)


def _logit(share: float) -> float:
    share = min(0.9999, max(0.0001, share))
    return max(-MAX_ODDS, min(MAX_ODDS, math.log(share / (1 - share))))


def keep_features(turns: Sequence[UserTurn], candidate: MemoryCandidate, match: float) -> dict[str, float]:
    """What speaks for and against keeping a candidate."""
    row = dict.fromkeys(_marks(turns, candidate), 1.0)
    best = max(candidate.core, key=lambda one: 1 - one.odds["N"])
    others = sorted(
        (1 - one.odds["N"] for one in (*candidate.core, *candidate.support) if one is not best), reverse=True
    )
    masses = sorted((sum(one.odds[letter] for one in candidate.core) for letter in TYPES), reverse=True)
    row |= {
        "bias": 1.0,
        "something": _logit(1 - best.odds["N"]),
        "kept kind": _logit(candidate.score),
        "more": _logit(others[0]) if others else -MAX_ODDS,
        "clear type": masses[0] / sum(masses) if sum(masses) else 0.0,
        "match": max(-MAX_ODDS, min(MAX_ODDS, match)),
        "sentences": math.log(1 + len(candidate.turn.seen)),
        "words": math.log(1 + min(MANY_WORDS, sum(len(one.seen.words) for one in candidate.core))),
    }
    return row


def _marks(turns: Sequence[UserTurn], candidate: MemoryCandidate) -> Iterator[str]:
    turn = candidate.turn
    core = frozenset().union(*(one.seen.meanings for one in candidate.core))
    around = frozenset().union(*(seen.meanings for seen in turn.seen))
    yield from (f"core:{meaning}" for meaning in WEIGHED_IN_CORE if meaning in core)
    yield from (f"turn:{meaning}" for meaning in WEIGHED_IN_TURN if meaning in around)
    yield f"type:{candidate.type}"
    yield "first turn" if turn.first else "last turn" if turn.last else "middle turn"
    features = {name for one in candidate.core for name in one.seen.features}
    yield from (
        name
        for name in (
            "question",
            "has:path",
            "has:symbol",
            "has:quotation",
            "date:ahead:exact",
            "date:ahead:vague",
            "date:today",
            "date:past",
        )
        if name in features
    )
    yield from (
        name
        for name in (
            "asst:asks",
            "asst:noted",
            "asst:offer",
            "after:action",
            "after:interrupt",
            "reply:ack",
            "reply:refuse",
            "reply:durable",
        )
        if name in features
    )
    if any("retract" in seen.meanings for later in turns if later.index > turn.index for seen in later.seen):
        yield "retracted later"


def _few(kept: list[Kept], judge: SentenceJudge) -> list[Kept]:
    """The best one, and others only when they are sure as well and do not change the same memory."""
    best = max(kept, key=lambda one: one.odds, default=None)
    chosen = [one for one in kept if best is not None and (one is best or one.odds >= _least(one, best, judge))]
    claimed: set[str] = set()
    settled: list[Kept] = []
    for one in chosen:
        again = one.updates is not None and one.updates.file in claimed
        if again and one.candidate.alone:
            continue
        # The other part of the turn changes that memory; this part is new.
        final = Kept(one.candidate, None, one.odds) if again else one
        claimed |= {final.updates.file} if final.updates else set()
        settled.append(final)
    return settled


def _least(one: Kept, best: Kept, judge: SentenceJudge) -> float:
    """How sure a second memory must be: more so from another turn, where it is mostly an earlier version."""
    same_turn = one.candidate.turn.index == best.candidate.turn.index
    return judge.settings["second" if same_turn else "elsewhere"]
