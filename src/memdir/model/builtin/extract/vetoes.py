"""Firm reasons why a sentence or a whole candidate may not become a memory, whatever the judge thinks.

Questions, what-ifs, this task only, dictation for others, irony, what can be looked up, what the instruction file or
a memory already says, what was taken back, and reactions to planted text (T5, X12).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from memdir.model.builtin.extract.candidates import MemoryCandidate, Scored, is_errand, is_plain_rule
from memdir.model.builtin.extract.features import UserTurn
from memdir.model.builtin.extract.same_memory import RULE_STEMS, Shelf, restated
from memdir.model.builtin.extract.talk import Talk
from memdir.model.builtin.extract.wording import without_secrets
from memdir.text.language import stems
from memdir.text.pastes import is_reported
from memdir.text.phrases import anywhere

_PLACE_IN_CODE = r"[\w.-]+/[\w./-]+|\w+\.(?:py|tsx?|jsx?|go|c|h|cpp|java|rs|md|json|ya?ml|toml|sql|tf|sh|rb|kt)\b|\d+"
WHERE_IN_CODE = re.compile(
    rf"\b(?:is|are|lives?|sits?|under|in|at|line|liegen?|est|está|están|fica)\s+(?:the\s+)?[`'\"]?(?:{_PLACE_IN_CODE})",
    re.IGNORECASE,
)
_LASTING = frozenset({"durable", "forbid", "want"})
DUPLICATE_SHARE = 0.75  # of a candidate's topic that one memory already has
INSTRUCTED_SHARE = 0.5  # of a candidate's topic that the instruction file already has
UNSURE = 0.5  # above it a request beside a statement is only a request
RECENT_LINES = 8  # of tools and the assistant: what was read out just now
LOOKED_UP_SHARE = 0.6  # of a candidate's topic that a tool or the assistant had just read out


def usable(candidate: MemoryCandidate, planted: frozenset[str]) -> MemoryCandidate | None:
    """The candidate without the sentences that may not be kept; None when nothing of its core is left."""
    core = tuple(one for one in candidate.core if candidate.granted or _core_stands(candidate, one, planted))
    support = tuple(
        one
        for one in candidate.support
        if _sentence_stands(candidate.turn, one, planted) and not _touches(one, planted, least=1)
    )
    statements = tuple(one for one in core if one.odds["N"] < UNSURE or not is_errand(one)) or core
    return replace(candidate, core=statements, support=support) if core else None


def _core_stands(candidate: MemoryCandidate, one: Scored, planted: frozenset[str]) -> bool:
    """What somebody else wants is no wish of the user's; that they want it may still be a fact."""
    if candidate.type in ("user", "feedback") and is_reported(one.seen.sentence.text):
        return False
    return _sentence_stands(candidate.turn, one, planted)


def _sentence_stands(turn: UserTurn, one: Scored, planted: frozenset[str]) -> bool:
    meanings, features = one.seen.meanings, one.seen.features
    if "question" in features and "durable" not in meanings:
        return False
    if "undecided" in meanings or ("onlynow" in meanings and "durable" not in meanings):
        return False
    if ("irony" in meanings and ("remember" in meanings or not meanings & _LASTING)) or _is_dictated(turn, one):
        return False
    if "c:ownplan@start" in features and not meanings & {"durable", "always"}:
        return False
    if "remember" in meanings and WHERE_IN_CODE.search(one.seen.sentence.text):
        return False
    return bool(without_secrets(one.seen.sentence.text)) and not _touches(one, planted, least=3)


def _is_dictated(turn: UserTurn, one: Scored) -> bool:
    """Words that the user wants put down for other people."""
    number = one.seen.sentence.number
    if (
        "c:compose@start" in one.seen.features
        and "has:colon" in one.seen.features
        and "durable" not in one.seen.meanings
    ):
        return True
    before = turn.seen[number - 1] if number else None
    return (
        before is not None
        and "compose" in before.meanings
        and bool(anywhere("dictates", turn.language).match(one.seen.sentence.text))
    )


def planted_words(conversation: Talk) -> frozenset[str]:
    """Topic words of text that talks to agents: in tool results, and where the assistant reports and refuses it."""
    parts: list[str] = []
    for line in conversation.lines:
        if line.kind in ("tool_result", "paste") or line.role == "assistant":
            mark = anywhere("refusal" if line.role == "assistant" else "agent-talk")
            parts.extend(part for part in re.split(r"\n|(?<=[.;>])\s", line.text) if mark.search(part))
    return frozenset(stem for part in parts for stem in stems(part))


def _touches(one: Scored, planted: frozenset[str], *, least: int) -> bool:
    topic = set(stems(one.seen.sentence.text))
    shared = len(topic & planted)
    return shared >= least and shared >= len(topic) * (0.2 if least == 1 else 0.5)


def refused(
    conversation: Talk, turns: Sequence[UserTurn], candidate: MemoryCandidate, shelf: Shelf, spoken: set[int]
) -> bool:
    """Whether a candidate falls for a reason that the whole conversation gives."""
    if candidate.granted:
        return _taken_back(turns, candidate, spoken)
    return (
        _taken_back(turns, candidate, spoken)
        or _left_open(candidate)
        or _instructed(candidate, shelf)
        or _known_already(candidate, shelf)
        or _looked_up(conversation, candidate)
    )


def _taken_back(turns: Sequence[UserTurn], candidate: MemoryCandidate, spoken: set[int]) -> bool:
    """The user revoked it in a later turn that brings no rule of its own, or says nothing but that."""
    says = [one.seen.meanings for one in candidate.core]
    is_back = any("retract" in one for one in says) and not candidate.turn.first
    if is_back and all("retract" in one or not one & (_LASTING | {"always", "change"}) for one in says):
        return True
    later = [turn for turn in turns if turn.index > candidate.turn.index and turn.index not in spoken]
    return any("retract" in seen.meanings for turn in later for seen in turn.seen)


def _left_open(candidate: MemoryCandidate) -> bool:
    """The same breath says that it is a thought, a rumour or not decided."""
    near = {one.seen.sentence.number + step for one in candidate.core for step in (-1, 1)}
    return any("undecided" in seen.meanings and seen.sentence.number in near for seen in candidate.turn.seen)


def _core_topic(candidate: MemoryCandidate) -> set[str]:
    return {stem for one in candidate.core for stem in stems(one.seen.sentence.text)}


def _instructed(candidate: MemoryCandidate, shelf: Shelf) -> bool:
    text = " ".join(one.sentence.text for one in candidate.turn.seen)
    topic = _core_topic(candidate)
    share = len(topic & shelf.instructions) / len(topic) if topic else 0.0
    return share >= INSTRUCTED_SHARE or (share > 0 and bool(anywhere("instruction-file").search(text)))


def _known_already(candidate: MemoryCandidate, shelf: Shelf) -> bool:
    if any("change" in one.seen.meanings or one.seen.dates for one in candidate.core):
        return False
    if restated(candidate, shelf):
        return False
    topic, share = _core_topic(candidate) - RULE_STEMS, DUPLICATE_SHARE
    if any(is_plain_rule(one.seen, candidate.turn.language) for one in candidate.core):
        share = 1.0  # "prefix commits with feat" is not known from "prefix branches with feat"
    return any(topic and len(topic & known) >= share * len(topic) for known in shelf.topics)


def _looked_up(conversation: Talk, candidate: MemoryCandidate) -> bool:
    """The user repeats what a tool or the assistant has just read out of the project."""
    if any(one.seen.meanings & _LASTING for one in candidate.core):
        return False
    told = [
        line
        for line in conversation.lines[: candidate.turn.index]
        if line.kind == "tool_result" or line.role == "assistant"
    ]
    known = {stem for line in told[-RECENT_LINES:] for stem in stems(line.text)}
    topic = _core_topic(candidate)
    return bool(topic) and len(topic & known) >= LOOKED_UP_SHARE * len(topic)
