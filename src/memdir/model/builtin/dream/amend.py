"""A page brought up to date: contradicted clauses corrected where they stand, the evidence in front of them."""

from __future__ import annotations

from dataclasses import dataclass

from memdir.model.builtin.dream.correct import TELLING, CorrectionJudge, Fix
from memdir.model.builtin.dream.dream_words import flat
from memdir.model.builtin.dream.fuse import with_lead
from memdir.model.builtin.dream.later_statement import LaterStatement
from memdir.model.builtin.dream.memory_page import Page
from memdir.store.topic import Topic
from memdir.text.body_text import clauses
from memdir.text.naming import MAX_DESCRIPTION
from memdir.text.words import cut_at_word


@dataclass(frozen=True)
class Amended:
    """The page's new topic before the evidence is written into it, and what was corrected."""

    topic: Topic
    corrected: tuple[str, ...]
    leftover: str  # a corrected clause of the description that stands nowhere else, struck out


def amended(page: Page, judge: CorrectionJudge, summary: str) -> Amended | None:
    """The page with every contradicted clause corrected; None when there is none."""
    told: list[str] = []
    body = _amended_body(page, judge, told)
    description, leftover, is_overturned = _amended_description(page, judge, summary, told)
    if not told:
        return None
    body = _marked(Page(page.key, page.topic.with_body(body).data, page.mtime), judge, everywhere=is_overturned)
    topic = page.topic.with_body(body).with_field("description", description)
    struck = "" if flat(leftover) in flat(topic.body) else leftover
    return Amended(topic, tuple(dict.fromkeys(told)), struck)


def with_update(amendment: Amended, evidence: LaterStatement, said: str) -> bytes:
    """The file with the evidence as its first paragraph."""
    lead = f"{update_label(evidence)} {said}"
    if amendment.leftover:
        lead += amendment.topic.line_ending() + amendment.leftover
    return with_lead(amendment.topic, lead)


def update_label(evidence: LaterStatement) -> str:
    """What stands before evidence in a page."""
    return f"**Update {evidence.day.isoformat()}:**"


def shortened(text: str, room: int = MAX_DESCRIPTION) -> str:
    """One line, cut at a word."""
    return cut_at_word(" ".join(text.split()).rstrip("."), room)


def _amended_body(page: Page, judge: CorrectionJudge, told: list[str]) -> str:
    body = page.body
    for sentence in reversed(page.sentences):
        if sentence.label in ("why", "update"):
            continue  # a reason was a reason when it was given
        text, fixes = _fixed(sentence.text, judge)
        if fixes:
            told += [clause for clause, _ in fixes]
            body = body[: sentence.start] + text + body[sentence.end :]
    return body


def _fixed(text: str, judge: CorrectionJudge) -> tuple[str, list[tuple[str, Fix]]]:
    fixes: list[tuple[str, Fix]] = []
    for start, end in reversed(clauses(text)):
        fix = judge.fix(text[start:end])
        if fix:
            fixes.append((text[start:end], fix))
            text = text[:start] + fix.body + text[end:]
    return text, fixes


def _amended_description(page: Page, judge: CorrectionJudge, summary: str, told: list[str]) -> tuple[str, str, bool]:
    """The new description, the old clauses struck out for the body, and whether the first claim fell."""
    kept: list[str] = []
    struck: list[str] = []
    removed = overturned = False
    for number, (start, end) in enumerate(clauses(page.description)):
        clause = page.description[start:end]
        fix = judge.fix(clause)
        if fix is None:
            kept.append(clause)
            continue
        told.append(clause)
        struck += [fix.body] if fix.body != fix.description else []
        removed = removed or fix.struck
        overturned = overturned or (fix.struck and number == 0)
        kept += [fix.description] if fix.description else []
    said = [shortened(summary)] if removed else []
    parts = [*said, *kept] if overturned or not kept else [*kept, *said]
    return ("; ".join(parts) if told else page.description), " ".join(struck), overturned


def _marked(page: Page, judge: CorrectionJudge, *, everywhere: bool) -> str:
    """The body with advice that rests on a corrected claim, or that the evidence speaks about, marked as older."""
    body = page.body
    evidence = judge.evidence
    note = f" (→ Update {evidence.day.isoformat()})"
    for sentence in reversed(page.sentences):
        if sentence.label != "how" or "~~" in sentence.text or note in sentence.text:
            continue
        text = sentence.text
        shared = evidence.stems & frozenset(evidence.reader.lexicon.stems(text))
        if everywhere or sum(1 for stem in shared if judge.weights[stem] >= TELLING) > 1:
            cut = len(text) - 1 if text[-1] in ".!?…" else len(text)
            body = body[: sentence.start] + text[:cut] + note + text[cut:] + body[sentence.end :]
    return body
