"""Extraction's front door: a conversation in, drafts of memories out. Pure, offline, deterministic.

A draft has a body of rule, Why and How to apply, with names, absolute dates and no secrets (T2, T3).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import date

from memdir.model.builtin.extract.candidates import MemoryCandidate, find_candidates
from memdir.model.builtin.extract.features import UserTurn, observe
from memdir.model.builtin.extract.guards import is_known, is_revoked
from memdir.model.builtin.extract.judge import shipped
from memdir.model.builtin.extract.same_memory import Shelf, best_match, shelve
from memdir.model.builtin.extract.talk import Action, Existing, MemoryDraft, Talk
from memdir.model.builtin.extract.wishes import plainly
from memdir.model.builtin.extract.wording import holds_secret, rule_and_reason, tidy, with_dates
from memdir.store.kept import BEFORE
from memdir.store.kept import kept as kept_lines
from memdir.store.topic import IN_OWN_WORDS, Topic, parse_type
from memdir.text.dates import Clock, iso_dates, read_dates
from memdir.text.deadlines import past_end
from memdir.text.language import anywhere, stems
from memdir.text.naming import describe_rule, file_stem, free_key, title
from memdir.text.nearness import called_off, named_alone
from memdir.text.sentences import STOPS, facts_in, sentences_of
from memdir.text.standing import one_day_each
from memdir.text.words import cut_at_word, split_words

MAX_BODY = 1400  # a longer memory is a dump of the conversation
MAX_BEFORE = 120  # characters of what a memory said before
LIKELY_REASON = 0.2  # a neighbour less likely a reason than that is written as part of the statement
EXPLAINED = ("feedback", "project")  # the types whose body gives a reason apart (T2, T3)
LABELS = ("", "**Why:** ", "**How to apply:** ")  # of its paragraphs

_Parts = tuple[list[str], list[str], list[str]]


def draft_memories(conversation: Talk) -> tuple[MemoryDraft, ...]:
    """What this conversation gives to remember: usually nothing or one thing."""
    turns, judge = observe(conversation), shipped()
    shelf = shelve(conversation.existing, conversation.instructions, judge.familiar)
    drafts = {draft.file: draft for draft in _revocations(turns, shelf, is_log=conversation.is_log)}
    for candidate in find_candidates(turns, judge, conversation.existing):
        fresh = shelve([one for one in drafts.values() if one.action == "create"], "", judge.familiar)
        updates = best_match(candidate, fresh) or best_match(candidate, shelf)
        if is_revoked(candidate, turns) or is_known(candidate, shelf, is_update=bool(updates)):
            continue
        today, taken = conversation.now.date(), {*drafts, *(one.file for one in shelf.memories)}
        draft = compose(today, candidate, updates, taken)
        if draft and updates and _holds_beside(draft, candidate, updates, today):
            draft = compose(today, candidate, None, taken)
        if draft is None or (draft.file in drafts and drafts[draft.file].action != "create"):
            continue
        drafts[draft.file] = _updated(drafts[draft.file], draft) if draft.file in drafts else draft
    return tuple(drafts.values())


def _holds_beside(draft: MemoryDraft, candidate: MemoryCandidate, memory: Existing, today: date) -> bool:
    """Whether a memory of no day goes on holding beside what is so until a day: a freeze ends, and the rule is what it
    was. What says all that it says is the same with a day."""
    ends = past_end(draft.description, written=f"{today}", today=f"{date.max}")
    is_same = frozenset(stems(memory.description)) <= candidate.topic
    return bool(ends) and not is_same and not iso_dates(f"{memory.description}\n{memory.body}")


def _updated(before: MemoryDraft, after: MemoryDraft) -> MemoryDraft:
    """A draft of these turns changed by a later one, as it would be had it been written in between."""
    old, new = (
        Topic.compose(name=x.name, description=x.description, kind=parse_type(x.type), body=x.body)
        for x in (before, after)
    )
    return replace(after, action="create", body=kept_lines(old, new).topic.body.strip())


def _revocations(turns: Sequence[UserTurn], shelf: Shelf, *, is_log: bool) -> Iterator[MemoryDraft]:
    """Deletions, of each memory that is clearly meant; of a log the wish itself, for the dream."""
    said = (seen for turn in turns for seen in turn.seen)
    for text in (seen.clause.text.lstrip("¿ ") for seen in said if "has:path" not in seen.features):  # of a file's note
        is_asked = text.endswith(("?", "？")) and not anywhere("asks").match(text)
        named, wish = "" if is_asked else called_off(text), Existing(text, text, text, "project", text)
        meant = [shelf.memories[at] for at in named_alone(stems(named), shelf.headlines, shelf.topics)]
        for gone in [wish] if is_log and named else meant:
            yield MemoryDraft(**vars(gone), action="delete")


def compose(today: date, candidate: MemoryCandidate, updates: Existing | None, taken: set[str]) -> MemoryDraft | None:
    """The draft of a candidate, or None when nothing safe is left to say."""
    lead, parts = _parts(today, candidate, updates)
    if not lead:
        return None
    description = describe_rule(lead, [text for text in parts[0] if text != lead])
    # A name that says what the memory says, and not what it is about, would go on saying the old.
    is_named = updates and updates.name.rstrip(".") not in updates.description and not facts_in(updates.name)
    name = " ".join(updates.name.split()) if updates and is_named else title(lead)
    kind = (updates and updates.type) or candidate.type
    body = _body(parts, candidate, updates)
    if holds_secret(f"{name}\n{description}\n{body}"):
        return None
    file = updates.file if updates else free_key(file_stem(name, kind), taken.__contains__)
    action: Action = "update" if updates else "create"
    return MemoryDraft(file, name, description, kind, body, action)


def _parts(today: date, candidate: MemoryCandidate, updates: Existing | None) -> tuple[str, _Parts]:
    """The likeliest sentence of the rule, and each where it belongs: to the rule, its reason, or its use."""
    language = candidate.turn.language
    anchors = iso_dates(f"{updates.description}\n{updates.body}") if updates else ()
    dates = read_dates([one.clause.text for one in candidate.turn.seen], Clock(today, language, anchors))
    rule, why, use, leads = [], [], [], []  # type: tuple[list[str], list[str], list[str], list[tuple[float, str]]]
    for one in sorted((*candidate.core, *candidate.support), key=lambda one: one.seen.clause.number):
        text, place, wish = one.seen.clause.text, rule, one.seen.wish
        text = with_dates(text, one_day_each(text, dates[one.seen.clause.number], is_rule=candidate.type == "feedback"))
        text = plainly(text, wish) if wish else text  # without what makes it polite
        if one in candidate.core:
            text, reason = rule_and_reason(text, language) if candidate.type in EXPLAINED else (text, "")
            why.extend([tidy(reason, language)] if reason else [])
            leads.extend([(one.score, tidy(text, language))] if text else [])
        elif anywhere("applies", language).match(text):
            place = use
        elif candidate.type in EXPLAINED and (one.odds["W"] >= LIKELY_REASON or "because" in one.seen.meanings):
            place = why
        place.extend([tidy(text, language)] if text else [])
    return max(leads, key=lambda lead: lead[0], default=(0.0, ""))[1], (rule, why, use)


def _body(parts: _Parts, candidate: MemoryCandidate, updates: Existing | None) -> str:
    paragraphs = [f"{label}{' '.join(some)}" for label, some in zip(LABELS, parts, strict=True) if some]
    if candidate.type != "feedback" and anywhere("first-person", candidate.turn.language).search(paragraphs[0]):
        paragraphs.append(IN_OWN_WORDS)
    told = sentences_of(updates.description or updates.body, STOPS) if updates else []
    if len(told) == 1 and split_words(told[0]) not in map(split_words, sentences_of(paragraphs[0])):
        paragraphs.append(f"{BEFORE} {cut_at_word(told[0], MAX_BEFORE)}")  # of several, the store sees which is past
    return cut_at_word("\n\n".join(paragraphs), MAX_BODY)
