"""Writes a draft: file name, name, specific description, and a body of rule, Why and How to apply (T2, T3)."""

from __future__ import annotations

import re
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date

from memdir.model.builtin.extract.candidates import Candidate, Judged
from memdir.model.builtin.extract.conversation import Conversation, Draft, Existing
from memdir.model.builtin.extract.dates import Clock, DateSpan, iso_dates, read_dates
from memdir.model.builtin.extract.features import Seen
from memdir.model.builtin.extract.judge import TYPES
from memdir.model.builtin.extract.phrases import anywhere
from memdir.model.builtin.extract.secret import holds_secret
from memdir.model.builtin.extract.wording import rule_and_reason, shorten, tidy, with_dates, without_secrets
from memdir.model.builtin.extract.words import cjk_runs, fold, stop_words, strip_accents, tokens

MAX_DESCRIPTION = 150  # an index line stays under about that (S7)
MAX_NAME = 60  # fits a list beside a date
MAX_BODY = 1400  # a longer memory is a dump of the conversation
MAX_CONTEXT = 120  # enough of a request to say what the rule was about
MAX_SLUG_WORDS = 5
MAX_CONTEXT_WORDS = 30  # a longer request is a story of its own
_NO_CONTEXT = frozenset(
    {"remember", "undecided", "onlynow", "retract", "indifferent", "irony"}
)  # what was said there is not to be kept
FEW_STEMS = 7  # a statement with fewer topic words does not say on its own what it is about


@dataclass(frozen=True)
class _Parts:
    rule: list[str]
    why: list[str]
    apply: list[str]


def compose(
    conversation: Conversation, candidate: Candidate, updates: Existing | None, taken: set[str]
) -> Draft | None:
    """The draft of a candidate, or None when nothing safe is left to say."""
    parts = _parts(conversation, candidate, updates)
    if not parts.rule:
        return None
    description = shorten(_lead(parts.rule), MAX_DESCRIPTION)
    name = updates.name if updates else _name(parts.rule[0])
    kind = (updates and updates.type) or ""
    kind = kind if kind in TYPES.values() else candidate.type
    body = _body(parts, updates)
    file = updates.file if updates else _file(kind, name, description, taken)
    if holds_secret(f"{name}\n{description}\n{body}"):
        return None
    return Draft(
        "update" if updates else "create", file, name, description, kind, body, _sources(conversation, candidate)
    )


def _parts(conversation: Conversation, candidate: Candidate, updates: Existing | None) -> _Parts:
    anchors = iso_dates(f"{updates.description}\n{updates.body}") if updates else ()
    dates = _dates(conversation, candidate, anchors)
    language = candidate.turn.language
    chosen = sorted((*candidate.core, *candidate.support), key=lambda one: one.seen.sentence.number)
    parts = _Parts([], [], [])
    for one in chosen:
        text = _safe(one, dates, candidate.type)
        if not text:
            continue
        if one in candidate.core:
            rule, reason = rule_and_reason(text, language) if candidate.type in ("feedback", "project") else (text, "")
            parts.rule.append(tidy(rule, language))
            parts.why.extend([tidy(reason, language)] if reason else [])
        else:
            (parts.apply if anywhere("applies", language).match(text) else parts.why).append(tidy(text, language))
    adopted = [tidy(text, language) for text in candidate.adopted if not holds_secret(text)]
    context = _context(candidate)
    pointed = _pointed_dates(conversation, candidate)
    return _Parts([*adopted, *parts.rule], parts.why, [*parts.apply, *pointed, *context])


def _dates(
    conversation: Conversation, candidate: Candidate, anchors: tuple[date, ...]
) -> dict[int, tuple[DateSpan, ...]]:
    seen = candidate.turn.seen
    clock = Clock(conversation.now.date(), candidate.turn.language, anchors)
    spans = read_dates([one.sentence.text for one in seen], clock)
    return {one.sentence.number: found for one, found in zip(seen, spans, strict=True)}


def _safe(one: Judged, dates: dict[int, tuple[DateSpan, ...]], kind: str) -> str:
    """The sentence as it may be written: dates absolute, secrets out."""
    found = dates[one.seen.sentence.number]
    if kind == "feedback":
        found = tuple(span for span in found if not (span.weekday and span.vague) and span.grain == "day")
    return without_secrets(with_dates(one.seen.sentence.text, found))


def _pointed_dates(conversation: Conversation, candidate: Candidate) -> list[str]:
    """A date that the user adopts from what the assistant had just said."""
    turn = candidate.turn
    if not any(anywhere("as-you-said", turn.language).search(one.seen.sentence.text) for one in candidate.core):
        return []
    clock = Clock(conversation.now.date(), turn.language)
    days = [day.isoformat() for span in read_dates([turn.before], clock)[0] if not span.vague for day in span.days]
    return [f"The date meant: {', '.join(days)}."] if days else []


def _context(candidate: Candidate) -> list[str]:
    """What the statement leans on: the sentence before it, or what the user had asked for in the turn before."""
    first = min(one.seen.sentence.number for one in (*candidate.core, *candidate.support))
    opening = candidate.turn.seen[first].sentence.text
    if first and anywhere("leans", candidate.turn.language).match(opening):
        return _quoted("Said about", [candidate.turn.seen[first - 1]])
    enough = FEW_STEMS if candidate.type != "feedback" or candidate.adopted else 4 * FEW_STEMS
    if candidate.earlier is None or len(set(candidate.topic)) >= enough:
        return []
    return _quoted("Said when the user had asked", candidate.earlier.seen)


def _quoted(title: str, seen: Sequence[Seen]) -> list[str]:
    text = " ".join(one.sentence.plain for one in seen)
    if (
        not text
        or any(one.meanings & _NO_CONTEXT for one in seen)
        or len(text.split()) > MAX_CONTEXT_WORDS
        or holds_secret(text)
    ):
        return []
    return [f"{title}: “{shorten(text, MAX_CONTEXT)}”"]


def _lead(rule: Sequence[str]) -> str:
    lead = rule[0]
    for more in rule[1:]:
        if len(lead) > MAX_DESCRIPTION // 3:
            break
        lead = f"{lead} {more}"
    return lead.rstrip(".")


def _name(rule: str) -> str:
    head = re.split(r"[.;:!?。；：！？]|,\s|，", rule)[0]
    head = head if len(head) >= 12 or cjk_runs(head) else rule
    return shorten(head.strip(), MAX_NAME).rstrip(".…")


def _body(parts: _Parts, updates: Existing | None) -> str:
    paragraphs = [" ".join(parts.rule)]
    if parts.why:
        paragraphs.append("**Why:** " + " ".join(parts.why))
    if parts.apply:
        paragraphs.append("**How to apply:** " + " ".join(parts.apply))
    if updates:
        paragraphs.append(f"Before this change: {shorten(updates.description or updates.body, MAX_CONTEXT)}")
    return shorten("\n\n".join(paragraphs), MAX_BODY)


def _file(kind: str, name: str, description: str, taken: set[str]) -> str:
    common = frozenset().union(*stop_words().values())
    words = [strip_accents(word) for word in tokens(fold(f"{name}")) if word not in common]
    plain = [re.sub(r"[^a-z0-9]", "", word) for word in words]
    slug = "_".join([word for word in plain if word][:MAX_SLUG_WORDS]) or f"note_{zlib.crc32(description.encode()):08x}"
    file, number = f"{kind}_{slug}.md", 2
    while file in taken:
        file, number = f"{kind}_{slug}_{number}.md", number + 1
    return file


def _sources(conversation: Conversation, candidate: Candidate) -> tuple[str, ...]:
    lines = [candidate.turn.line.id]
    if candidate.adopted:
        before = [
            line.id
            for line in conversation.lines[: candidate.turn.index]
            if line.role == "assistant" and line.kind == "said"
        ]
        lines = [*before[-1:], *lines]
    return tuple(lines)
