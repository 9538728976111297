"""A page brought up to date by something later: the old value gives way where it is named literally, what it was stays
below, and the evidence stands in front with its day (D3). Nothing is ever deleted."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date
from functools import cached_property

from memdir.model.builtin.dream.cues import ToldChange, change_in
from memdir.model.builtin.dream.fuse import sentence
from memdir.model.builtin.dream.memory_page import Page, tokens
from memdir.model.builtin.dream.pair_features import Note, small_words, stops, telling
from memdir.model.builtin.dream.values import values_in
from memdir.store.kept import REPLACED_ON
from memdir.store.topic import Topic
from memdir.text.body_text import BodySentence, clauses
from memdir.text.naming import MAX_DESCRIPTION
from memdir.text.words import cut_at_word

_WORD = re.compile(r"\w+")
_WHEN = frozenset(("date", "month"))


@dataclass(frozen=True)
class LaterStatement:
    """Something said or written later than a page: its words, when, and where it comes from."""

    text: str
    time: float
    day: date
    sources: tuple[str, ...]
    note: Note

    @cached_property
    def change(self) -> ToldChange:
        return change_in(self.text)

    @property
    def label(self) -> str:
        """What stands before it in a page."""
        return f"**Update {self.day.isoformat()}:**"


def named_in(page: Page, evidence: LaterStatement) -> list[tuple[str, str]]:
    """The old values and things that the evidence names and the page claims, each with what is now in its place, or
    nothing."""
    given_way = evidence.change.given_way
    found = {old: new for old, new in given_way.items() if len(old) > 1 and _stands(old, page.claims)}
    return [(old, new) for old, new in found.items() if not any(old != other and old in other for other in found)]


def restates(page: Page, evidence: LaterStatement) -> bool:
    """Whether the evidence names an old value of the page and otherwise says what the page says of it, and no more."""
    named = named_in(page, evidence)
    olds = [old for old, _ in named]
    claims = [claim for claim in _claims(page) if any(_stands(old, claim) for old in olds)]
    known = {*_words(" ".join((*claims, *(new for _, new in named))))}
    held = {value.value for value in values_in(page.says())}
    fresh = [value for value in values_in(evidence.text) if value.value not in held]
    changed = {value.value for value in fresh if value.kind not in _WHEN}
    if not claims or len(changed) > len(named):
        return False  # more values than one for each old one: "sensor 7 sends every 30 minutes, not 15"
    said = {*_words(evidence.text), *_words(" ".join(olds))}
    more = said - known - {*_words(" ".join(value.text for value in fresh))} - small_words("wording")
    return not more and all({*_words(claim)} <= said for claim in claims)


def _claims(page: Page) -> Iterator[str]:
    texts = [one.text for one in page.sentences if one.label not in ("why", "update", "before")]
    for text in (*texts, page.description):
        for start, end in clauses(text):
            yield text[start:end]


def _words(text: str) -> Iterator[str]:
    """The words that may name something: a small word does only in capitals ("US", "gate A")."""
    for match in _WORD.finditer(text):
        word = match[0].casefold()
        if word not in stops() or (match[0].isupper() and match.start()):
            yield word


def updated(page: Page, evidence: LaterStatement, summary: str) -> Topic:
    """The page with every clause that names an old value corrected or marked, and what it said kept below."""
    named = named_in(page, evidence)
    marked = REPLACED_ON.format(evidence.day.isoformat())
    body, past = page.body, list[str]()
    nearest = None if named else _nearest(page, evidence)
    for one in reversed(page.sentences):
        if one.label in ("why", "update", "before") or marked in one.text:
            continue
        text = _corrected(one.text, named, marked)
        if nearest is not None and one.start == nearest.start:
            text = _noted(one.text, marked)
        if text != one.text:
            past[:0] = [one.text] if _tells_more(one.text, text) else []
            body = body[: one.start] + text + body[one.end :]
    description = _corrected(page.description, named, marked)
    if description == page.description or marked in description:
        description = shortened(summary) or page.description
    name = _corrected(page.name, [(old, new) for old, new in named if new], "")
    heading = re.compile(rf"^(#+ +){re.escape(page.name)}(?=[ \t]*\r?$)", re.MULTILINE)
    body = heading.sub(lambda match: match[1] + name, body)
    topic = page.topic.with_body(body).with_field("description", description).with_field("name", name)
    known = f"{name}\n{description}\n{body} {past} {evidence.text}"
    past += [text for text in (page.name, page.description) if _tells_more(text, known)]
    return _with_past(topic, evidence.day, past)


def with_update(topic: Topic, evidence: LaterStatement) -> bytes:
    """The file with the evidence as its first paragraph; the rest of the body stays byte for byte."""
    ending, rest = topic.line_ending(), topic.body.lstrip("\r\n")
    lead = f"{ending}{evidence.label} {sentence(evidence.text)}{ending}"
    return topic.with_body(f"{lead}{ending}{rest}" if rest else lead).data


def shortened(text: str, room: int = MAX_DESCRIPTION) -> str:
    """One line, cut at a word."""
    return cut_at_word(" ".join(text.split()).rstrip("."), room)


def _corrected(text: str, named: list[tuple[str, str]], marked: str) -> str:
    """A text with new values in the place of old ones; a clause whose new value is not known is marked."""
    found = []
    for start, end in clauses(text):
        clause = text[start:end]
        held = [(old, new) for old, new in named if _stands(old, clause)]
        for old, new in held:
            clause = re.sub(_literal(old), (new or old).replace("\\", r"\\"), clause, flags=re.IGNORECASE)
        found.append((start, end, _noted(clause, marked) if any(not new for _, new in held) else clause))
    for start, end, clause in reversed(found):
        text = text[:start] + clause + text[end:]
    return text


def _noted(text: str, marked: str) -> str:
    cut = len(text) - 1 if text[-1:] in tuple(".!?…;。！？") else len(text)
    return text[:cut] + marked + text[cut:]


def _nearest(page: Page, evidence: LaterStatement) -> BodySentence | None:
    """The sentence that says most of what the evidence speaks about."""
    words = telling(evidence.note)
    open_ones = [one for one in page.sentences if one.label in ("main", "how")]
    shared = {one.start: sum(words.get(word, 0.0) for word in telling(Note("", "", one.text))) for one in open_ones}
    best = max(open_ones, key=lambda one: (shared[one.start], -one.start), default=None)
    return best if best and shared[best.start] else None


def _literal(old: str) -> str:
    return rf"(?<!\w){re.escape(old)}(?!\w)"


def _stands(old: str, text: str) -> bool:
    """Whether a text names an old value literally."""
    return re.search(_literal(old), text, re.IGNORECASE) is not None


def _tells_more(text: str, known: str) -> bool:
    """Whether words of it stand nowhere else."""
    return bool(set(tokens(text)) - set(tokens(known)))


def _with_past(topic: Topic, day: date, past: list[str]) -> Topic:
    """What held before, in a paragraph of its own at the end."""
    if not past:
        return topic
    ending = topic.line_ending()
    said = " ".join(sentence(" ".join(text.split())) for text in dict.fromkeys(past))
    return topic.with_body(f"{topic.body.rstrip()}{ending}{ending}**Before {day.isoformat()}:** {said}{ending}")
