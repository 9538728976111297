"""Extraction's front door: a conversation in, drafts of memories out. Pure, offline, deterministic.

A draft has a body of rule, Why and How to apply, with names, absolute dates and no secrets (T2, T3).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import date

from memdir.model.builtin.extract.candidates import MemoryCandidate, Scored, find_candidates
from memdir.model.builtin.extract.features import Seen, UserTurn, observe
from memdir.model.builtin.extract.guards import is_known, is_revoked, usable
from memdir.model.builtin.extract.judge import CLASSES, SentenceJudge, shipped
from memdir.model.builtin.extract.same_memory import (
    Shelf,
    best_match,
    corrected,
    is_beside,
    is_unnamed,
    restated,
    shelve,
    subject_and_values,
)
from memdir.model.builtin.extract.talk import Existing, MemoryDraft, Talk
from memdir.model.builtin.extract.wishes import plainly
from memdir.model.builtin.extract.wording import holds_secret, rule_and_reason, tidy, with_dates, without_secrets
from memdir.store.kept import BEFORE
from memdir.store.kept import kept as kept_lines
from memdir.store.topic import IN_OWN_WORDS, Topic
from memdir.text.dates import Clock, DateSpan, iso_dates, read_dates
from memdir.text.language import anywhere
from memdir.text.naming import describe_rule, file_stem, free_key, title
from memdir.text.sentences import STOPS, facts_in, sentences_of
from memdir.text.standing import one_day_each
from memdir.text.words import cut_at_word

REVOKED = 0.5  # log-odds that a memory is the one to forget
MAX_BODY = 1400  # a longer memory is a dump of the conversation
MAX_CONTEXT = 120  # enough of a request to say what the rule was about
MAX_CONTEXT_WORDS = 30  # a longer request is a story of its own
LIKELY_REASON = 0.2  # a neighbour less likely a reason than that is written as part of the statement
EXPLAINED = ("feedback", "project")  # the types whose body gives a reason apart (T2, T3)


def draft_memories(conversation: Talk) -> tuple[MemoryDraft, ...]:
    """What this conversation gives to remember: usually nothing or one thing."""
    turns, judge = observe(conversation), shipped()
    candidates = [one for found in find_candidates(turns, judge, conversation.existing) if (one := usable(found))]
    shelf = shelve(conversation.existing, conversation.instructions, judge.familiar)
    drafts = {draft.file: draft for draft in _revocations(conversation, turns, shelf, judge)}
    for candidate in candidates:
        if is_revoked(candidate, turns, candidates) or is_known(candidate, shelf):
            continue
        new = [one for one in drafts.values() if one.action == "create"]
        written = [Existing(one.file, one.name, one.description, one.type, one.body) for one in new]
        fresh = shelve(written, "", judge.familiar)
        again = _changed(conversation, candidate, fresh, judge) if _is_change(candidate) else restated(candidate, fresh)
        updates = again or _changed(conversation, candidate, shelf, judge)
        draft = compose(conversation, candidate, updates, {one.file for one in (*shelf.memories, *fresh.memories)})
        if draft is None or (draft.file in drafts and drafts[draft.file].action != "create"):
            continue
        drafts[draft.file] = _updated(drafts[draft.file], draft) if draft.file in drafts else draft
    return tuple(drafts.values())


def _changed(conversation: Talk, candidate: MemoryCandidate, shelf: Shelf, judge: SentenceJudge) -> Existing | None:
    """The memory on disk that is on the same point."""
    if meant := corrected(candidate.core[-1].seen.clause.text, candidate.turn.language, shelf.memories):
        return meant
    memory = restated(candidate, shelf)
    if memory is None:
        memory, _ = best_match(conversation, candidate, shelf, judge)
    if memory is None or (memory.type == "user") != (candidate.type == "user") or is_unnamed(candidate, memory, shelf):
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


@dataclass
class _Parts:
    rule: list[str] = field(default_factory=list)
    why: list[str] = field(default_factory=list)
    apply: list[str] = field(default_factory=list)
    lead: str = ""
    best: float = -1.0


def compose(
    conversation: Talk, candidate: MemoryCandidate, updates: Existing | None, taken: set[str]
) -> MemoryDraft | None:
    """The draft of a candidate, or None when nothing safe is left to say."""
    parts = _parts(conversation, candidate, updates)
    if not parts.rule:
        return None
    lead = parts.lead or parts.rule[0]
    description = describe_rule(lead, [text for text in parts.rule if text != lead])
    is_named = updates and not _is_claim(updates) and not subject_and_values(updates.name)[1]
    name = " ".join(updates.name.split()) if updates and is_named else title(lead)
    kind = (updates and updates.type) or candidate.type
    body = _body(parts, candidate, updates)
    file = updates.file if updates else free_key(file_stem(name, kind), taken.__contains__)
    if holds_secret(f"{name}\n{description}\n{body}"):
        return None
    sources = _sources(conversation, candidate)
    return MemoryDraft("update" if updates else "create", file, name, description, kind, body, sources)


def _is_claim(memory: Existing) -> bool:
    """Whether a name says what the memory says, and not what it is about: it would go on saying the old."""
    is_told = memory.name.rstrip(".") in [text.rstrip(".") for text in sentences_of(memory.description, STOPS)]
    return is_told or bool(facts_in(memory.name))


def _parts(conversation: Talk, candidate: MemoryCandidate, updates: Existing | None) -> _Parts:
    anchors = iso_dates(f"{updates.description}\n{updates.body}") if updates else ()
    dates = _dates(conversation, candidate, anchors)
    language = candidate.turn.language
    parts = _Parts([tidy(text, language) for text in candidate.adopted if not holds_secret(text)])
    parts.lead = parts.rule[0] if parts.rule else ""
    for one in sorted((*candidate.core, *candidate.support), key=lambda one: one.seen.clause.number):
        text = _safe(one, dates, candidate)
        if text:
            _place(parts, one, text, candidate)
    parts.apply.extend(_context(candidate))
    return parts


def _place(parts: _Parts, one: Scored, text: str, candidate: MemoryCandidate) -> None:
    """Put a sentence where it belongs: to the rule, its reason, or its use."""
    language = candidate.turn.language
    if one in candidate.core:
        rule, reason = rule_and_reason(text, language) if candidate.type in EXPLAINED else (text, "")
        parts.rule.append(tidy(rule, language))
        parts.why.extend([tidy(reason, language)] if reason else [])
        if one.score > parts.best and not candidate.adopted:
            parts.best, parts.lead = one.score, parts.rule[-1]
    elif anywhere("applies", language).match(text):
        parts.apply.append(tidy(text, language))
    elif candidate.type in EXPLAINED and (one.odds["W"] >= LIKELY_REASON or "because" in one.seen.meanings):
        parts.why.append(tidy(text, language))
    else:
        parts.rule.append(tidy(text, language))


def _dates(talk: Talk, candidate: MemoryCandidate, anchors: tuple[date, ...]) -> dict[int, tuple[DateSpan, ...]]:
    seen = candidate.turn.seen
    clock = Clock(talk.now.date(), candidate.turn.language, anchors)
    spans = read_dates([one.clause.text for one in seen], clock)
    return {one.clause.number: found for one, found in zip(seen, spans, strict=True)}


def _safe(one: Scored, dates: dict[int, tuple[DateSpan, ...]], candidate: MemoryCandidate) -> str:
    """The sentence as it may be written: dates absolute, secrets out."""
    text, found = one.seen.clause.text, dates[one.seen.clause.number]
    written = with_dates(text, one_day_each(text, found, is_rule=candidate.type == "feedback"))
    return without_secrets(plainly(written, one.seen.wish) if one.seen.wish else written)


def _context(candidate: MemoryCandidate) -> list[str]:
    """What the statement leans on: the sentence before it, or the request that named "that file" in the turn before."""
    spoken = sorted((one.seen.clause.number, one.seen.clause.text) for one in (*candidate.core, *candidate.support))
    (first, opening), language = spoken[0], candidate.turn.language
    leans = candidate.alone and candidate.type in EXPLAINED and anywhere("leans", language).match(opening)
    if first and leans:
        return _quoted([candidate.turn.seen[first - 1]])
    points = any(anywhere("points-at", language).search(text) for _, text in spoken)
    return _quoted(candidate.earlier.seen) if candidate.earlier and points else []


def _quoted(seen: Sequence[Seen]) -> list[str]:
    text = " ".join(one.clause.text for one in seen)
    is_fit = len(text.split()) <= MAX_CONTEXT_WORDS and not holds_secret(text)
    return [f"Said about: “{cut_at_word(text, MAX_CONTEXT)}”"] if is_fit else []


def _body(parts: _Parts, candidate: MemoryCandidate, updates: Existing | None) -> str:
    paragraphs = [" ".join(parts.rule)]
    if parts.why:
        paragraphs.append("**Why:** " + " ".join(parts.why))
    if parts.apply:
        paragraphs.append("**How to apply:** " + " ".join(parts.apply))
    if candidate.type != "feedback" and anywhere("first-person", candidate.turn.language).search(paragraphs[0]):
        paragraphs.append(IN_OWN_WORDS)
    told = sentences_of(updates.description or updates.body, STOPS) if updates else []
    if len(told) == 1:  # of several, the store sees which one holds no longer
        paragraphs.append(f"{BEFORE} {cut_at_word(told[0], MAX_CONTEXT)}")
    return cut_at_word("\n\n".join(paragraphs), MAX_BODY)


def _sources(conversation: Talk, candidate: MemoryCandidate) -> tuple[str, ...]:
    """The lines a draft came from: the user's own, and those he adopted or leaned on."""
    before = conversation.lines[: candidate.turn.index] if candidate.adopted else ()
    adopted = [line.id for line in before if line.role == "assistant" and line.kind == "said"][-1:]
    return tuple(dict.fromkeys((*adopted, candidate.turn.line.id)))
