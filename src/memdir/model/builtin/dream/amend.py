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
from memdir.model.builtin.dream.memory_page import Page, flat, tokens
from memdir.model.builtin.dream.pair_features import Note, small_words, stops
from memdir.model.builtin.dream.values import values_in
from memdir.store.kept import REPLACED_ON
from memdir.store.topic import Topic
from memdir.text.body_text import BodySentence, clauses, sentences, split
from memdir.text.naming import MAX_DESCRIPTION
from memdir.text.nearness import is_opposite
from memdir.text.stems import stem
from memdir.text.words import cut_at_word, split_words

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


def is_denied(page: Page, evidence: LaterStatement) -> bool:
    """Whether one says no to what the other says first: the judge does not see small words."""
    note = evidence.note
    firsts = [next((one.text for one in sentences(text)), "") for text in (page.body, note.body)]
    return is_opposite(page.description, note.description) or is_opposite(*firsts)


def restates(page: Page, evidence: LaterStatement) -> bool:
    """Whether the evidence names an old value of the page and otherwise says what the page says of it, and no more."""
    named = named_in(page, evidence)
    olds = [old for old, _ in named]
    claims = [claim for claim in (*_claims(page), page.description) if any(_stands(old, claim) for old in olds)]
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
    """The clauses of its body that claim something."""
    for one in page.claiming:
        for start, end in clauses(one.text):
            yield one.text[start:end]


def _words(text: str) -> Iterator[str]:
    """The words that may name something: a small word does only in capitals ("US", "gate A")."""
    for match in _WORD.finditer(text):
        word = match[0].casefold()
        if word not in stops() or (match[0].isupper() and match.start()):
            yield word


def updated(page: Page, evidence: LaterStatement, summary: str) -> Topic:
    """The page with the new value where the evidence speaks of the old one, other claims about its subject that name it
    marked, and what was rewritten kept below."""
    spoken = _SpokenOf(page, evidence)
    marked = REPLACED_ON.format(evidence.day.isoformat())
    body, past = page.body, list[str]()
    for one in reversed(page.claiming):
        text = spoken.corrected(one.text, marked)
        if text != one.text:
            past[:0] = [one.text] if _tells_more(one.text, text) else []
            body = body[: one.start] + text + body[one.end :]
    nearest = spoken.nearest() if body == page.body and marked not in body else None
    if nearest:
        body = body[: nearest.start] + _noted(nearest.text, marked) + body[nearest.end :]
    description = spoken.corrected(page.description, marked)
    if description == page.description or marked in description:
        description = shortened(summary) or page.description
    newer = evidence.note.name_text
    name = newer if is_opposite(page.name, newer) else spoken.corrected(page.name, "")
    heading = re.compile(rf"^(#+ +){re.escape(page.name)}(?=[ \t]*\r?$)", re.MULTILINE)
    body = heading.sub(lambda match: match[1] + name, body)
    topic = page.topic.with_body(body).with_field("description", description).with_field("name", name)
    known = f"{name}\n{description}\n{body} {past} {evidence.text}"
    past += [text for text in (page.name, page.description) if _tells_more(text, known)]
    return _with_past(topic, evidence.day, past)


def shortened(text: str, room: int = MAX_DESCRIPTION) -> str:
    """One line, cut at a word."""
    return cut_at_word(" ".join(text.split()).rstrip("."), room)


class _SpokenOf:
    """Which claims of a page the evidence speaks of."""

    def __init__(self, page: Page, evidence: LaterStatement) -> None:
        self._named = named_in(page, evidence)
        parts = [evidence.text[start:end] for start, end in split(evidence.text)]
        about = " ".join(part for part in parts if any(_stands(old, part) for old, _ in self._named)) or evidence.text
        values = {stem(word) for named in self._named for text in named for word in split_words(text)}
        subject = Note(evidence.note.name_text, "", about).telling
        self._subject = {word: weight for word, weight in subject.items() if word not in values}
        self._page, self._clauses = page, [*_claims(page)]
        self._is_told = any(map(self._shared, (*self._clauses, page.description)))

    def nearest(self) -> BodySentence | None:
        """The sentence that says most of what the evidence speaks about."""
        best = max(self._page.claiming, key=lambda one: self._shared(one.text), default=None)
        return best if best and self._shared(best.text) else None

    def corrected(self, text: str, marked: str) -> str:
        """A text with the new values in the place of the old ones that are meant; another clause about the subject, or
        one whose new value or its place is not known, is marked."""
        for start, end in reversed(clauses(text)):
            clause = said = text[start:end]
            is_open = False
            for old, new in self._named:
                places = len(re.findall(_literal(old), clause, re.IGNORECASE))
                is_meant = places and self._means(clause, old)
                if is_meant and new and places == 1:
                    said = re.sub(_literal(old), new.replace("\\", r"\\"), said, flags=re.IGNORECASE)
                elif places:
                    is_open |= bool(is_meant or self._shared(clause))
            text = text[:start] + (_noted(said, marked) if is_open else said) + text[end:]
        return text

    def _means(self, clause: str, old: str) -> bool:
        """Whether the evidence speaks of this clause: of those of the body that name the old value it is nearest, or
        tells the nearest one in the head of the page."""
        if self._is_told and not self._shared(clause):
            return False
        holders = [one for one in self._clauses if _stands(old, one)]
        best = max(holders, key=lambda one: (self._shared(one), -len(Note("", "", one).telling)), default=clause)
        words = Note("", "", clause).telling.keys()
        near = [len(words & Note("", "", one).telling.keys()) for one in (best, *holders)]
        return flat(clause) == flat(best) if clause in holders else near[0] == max(near)

    def _shared(self, text: str) -> float:
        return sum(self._subject.get(word, 0.0) for word in Note("", "", text).telling)


def _noted(text: str, marked: str) -> str:
    cut = len(text) - 1 if text[-1:] in tuple(".!?…;。！？") else len(text)
    return text[:cut] + marked + text[cut:]


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
