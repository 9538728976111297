"""A page brought up to date: contradicted clauses corrected where they stand, the evidence in front of them."""

from __future__ import annotations

import re
from dataclasses import dataclass

from memdir.model.builtin.dream.correct import TELLING, CorrectionJudge
from memdir.model.builtin.dream.dream_words import tokens
from memdir.model.builtin.dream.fuse import sentence, with_lead
from memdir.model.builtin.dream.later_statement import LaterStatement
from memdir.model.builtin.dream.memory_page import STRUCK, Page
from memdir.store.topic import Topic
from memdir.text.body_text import BodySentence, clauses
from memdir.text.naming import MAX_DESCRIPTION
from memdir.text.words import cut_at_word


@dataclass(frozen=True)
class Amended:
    """The page's new topic before the evidence is written into it, and what was corrected."""

    topic: Topic
    corrected: tuple[str, ...]


def amended(page: Page, judge: CorrectionJudge, summary: str) -> Amended | None:
    """The page with every contradicted clause corrected, and what it said kept below; None when there is none."""
    past: list[str] = []
    told: list[str] = []
    body = _amended_body(page, judge, told, past)
    description, is_overturned = _amended_description(page, judge, summary, told)
    if not told:
        return None
    body = _marked(Page(page.key, page.topic.with_body(body).data, page.mtime), judge, everywhere=is_overturned)
    topic = page.topic.with_body(body).with_field("description", description)
    topic = _retitled(page, judge, topic, told)
    past += [text for text in (page.name, page.description) if _tells_more(text, f"{topic.data.decode()} {past}")]
    return Amended(_with_past(topic, judge.evidence, past), tuple(dict.fromkeys(told)))


def _retitled(page: Page, judge: CorrectionJudge, topic: Topic, told: list[str]) -> Topic:
    """The name, and a heading that repeats it, with the new values."""
    name = page.name
    for old, new in {fix.swap for clause in told if (fix := judge.fix(clause)) and fix.swap}:
        name = re.sub(rf"(?<!\w){re.escape(old)}(?!\w)", new.replace("\\", r"\\"), name)
    if name == page.name:
        return topic
    heading = re.compile(rf"^(#+ +){re.escape(page.name)}(?=[ \t]*\r?$)", re.MULTILINE)
    return topic.with_body(heading.sub(lambda match: match[1] + name, topic.body)).with_field("name", name)


def _tells_more(text: str, known: str) -> bool:
    """Whether words of it stand nowhere else."""
    return bool(set(tokens(text)) - set(tokens(known)))


def _with_past(topic: Topic, evidence: LaterStatement, past: list[str]) -> Topic:
    """What held before, in a paragraph of its own at the end."""
    if not past:
        return topic
    ending = topic.line_ending()
    said = " ".join(sentence(" ".join(text.split())) for text in dict.fromkeys(past))
    return topic.with_body(
        f"{topic.body.rstrip()}{ending}{ending}**Before {evidence.day.isoformat()}:** {said}{ending}"
    )


def with_update(amendment: Amended, evidence: LaterStatement, said: str) -> bytes:
    """The file with the evidence as its first paragraph."""
    return with_lead(amendment.topic, f"{update_label(evidence)} {said}")


def update_label(evidence: LaterStatement) -> str:
    """What stands before evidence in a page."""
    return f"**Update {evidence.day.isoformat()}:**"


def shortened(text: str, room: int = MAX_DESCRIPTION) -> str:
    """One line, cut at a word."""
    return cut_at_word(" ".join(text.split()).rstrip("."), room)


def _amended_body(page: Page, judge: CorrectionJudge, told: list[str], past: list[str]) -> str:
    body = page.body
    for one in reversed(page.sentences):
        if one.label in ("why", "update", "before"):
            continue  # a reason was a reason when it was given
        text, fixes = _fixed(one.text, judge)
        if fixes:
            told += fixes
            past[:0] = [STRUCK.sub("", clause).strip() for clause in fixes if _tells_more(clause, text)]
            body = _without_line(body, one) if not text else body[: one.start] + text + body[one.end :]
    return body


def _without_line(body: str, sentence: BodySentence) -> str:
    """The body without a sentence, and without its line where nothing else stands in it but a list mark or a label."""
    start, end = body.rfind("\n", 0, sentence.start) + 1, body.find("\n", sentence.end)
    end = len(body) if end < 0 else end + 1
    head, rest = body[start : sentence.paragraph], body[sentence.paragraph : sentence.start] + body[sentence.end : end]
    if start <= sentence.paragraph and not rest.strip(" .\t\r\n"):
        return (body[:start] + body[end:]).replace("\n\n\n", "\n\n") if head.strip() or not rest.strip() else body
    return body[: sentence.start] + body[sentence.end :].lstrip(" ")


def _fixed(text: str, judge: CorrectionJudge) -> tuple[str, list[str]]:
    """A sentence with its clauses corrected, and those that were."""
    found = [(text[start:end], judge.fix(text[start:end])) for start, end in clauses(text)]
    if not any(fix for _, fix in found):
        return text, []
    kept = [fix.text.rstrip(".") if fix else clause for clause, fix in found]
    whole = "; ".join(clause.strip() for clause in kept if re.search(r"\w", clause))
    stop = text[-1] if whole and text[-1] in ".!?…。！？" and whole[-1] != text[-1] else ""
    return whole + stop, [clause for clause, fix in found if fix]


def _amended_description(page: Page, judge: CorrectionJudge, summary: str, told: list[str]) -> tuple[str, bool]:
    """The new description, and whether the first claim fell."""
    kept: list[str] = []
    removed = overturned = False
    for number, (start, end) in enumerate(clauses(page.description)):
        clause = page.description[start:end]
        fix = judge.fix(clause)
        if fix is None:
            kept.append(clause)
            continue
        told.append(clause)
        removed = removed or fix.is_out
        overturned = overturned or (fix.is_out and number == 0)
        kept += [fix.text] if fix.text else []
    said = [shortened(summary)] if removed else []
    parts = [*said, *kept] if overturned or not kept else [*kept, *said]
    return ("; ".join(parts) if told else page.description), overturned


def _marked(page: Page, judge: CorrectionJudge, *, everywhere: bool) -> str:
    """The body with advice that rests on a corrected claim, or that the evidence speaks about, marked as older."""
    body = page.body
    evidence = judge.evidence
    note = f" (→ Update {evidence.day.isoformat()})"
    for one in reversed(page.sentences):
        if one.label != "how" or note in one.text:
            continue
        text = one.text
        shared = evidence.stems & frozenset(evidence.reader.lexicon.stems(text))
        if everywhere or sum(1 for stem in shared if judge.weights[stem] >= TELLING) > 1:
            cut = len(text) - 1 if text[-1] in ".!?…" else len(text)
            body = body[: one.start] + text[:cut] + note + text[cut:] + body[one.end :]
    return body
