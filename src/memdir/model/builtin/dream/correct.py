"""Whether a clause of a page is contradicted by evidence, and how it then reads (D3).

An old value gives way to a new one only when nothing else in the clause depends on it; otherwise the clause is struck
out, and the evidence stands beside it. Nothing is ever deleted.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date

from memdir.model.builtin.dream.evidence import Evidence, Part
from memdir.model.builtin.dream.page import Page
from memdir.model.builtin.dream.prose import segment, without
from memdir.model.builtin.dream.rivals import base_kind, is_same, loose_rivals_of, rivals_of, unit_of
from memdir.model.builtin.dream.subject import Claim, Subjects
from memdir.model.builtin.dream.values import Value
from memdir.model.builtin.dream.words import Weights

MIN_SUBJECT = 2.0  # weight of the words a clause must share with evidence that names its old value
MIN_SUBJECT_UNNAMED = 4.0  # and when the evidence names none: two telling words
MIN_SUBJECT_OUTCOME = 6.0  # and when it only tells how something ended
CLEARLY_RELATED = 5.5  # weight shared with the page as a whole that makes one word of a clause enough
MIN_OVERLAP = 0.4  # the share of a clause's weight that evidence must repeat to be about the same thing
MIN_COVER = 0.6  # and to say the same of it but for the value
TELLING = 2.0  # a word below this weight names no subject

_CAPITAL = re.compile(r"(?<=[\w,] )[A-ZÀ-ÖØ-Þ][\w'’-]+")
_DATE_KINDS = ("date", "month", "quarter")
_VAGUE = ("num", "weekday", "often")  # values of these kinds differ between many true sentences


@dataclass(frozen=True)
class Fix:
    """How a clause reads from now on, in the body (old words struck out) and in the description (new words only)."""

    body: str
    description: str
    struck: bool


@dataclass(frozen=True)
class Judge:
    """Judges clauses of one page against one piece of evidence."""

    page: Page
    evidence: Evidence
    subjects: Subjects
    weights: Weights
    page_subject: float  # weight of the page's name that the evidence repeats
    named: bool  # the evidence repeats the whole of the page's name
    titled: bool  # or its title does
    related: float  # weight of all words that the page and the evidence share
    today: date
    values_only: bool = False  # nothing counts but a value that the evidence names as old, in a clause it repeats

    def fix(self, clause: str) -> Fix | None:
        """The clause as it should read, or None when the evidence does not touch it."""
        values = self.evidence.reader.values.find(clause)
        named = self._named_values(clause, values)
        if named:
            return self._fixed_values(clause, named) if self._is_meant(clause, named) else None
        if self.values_only:
            return None
        word = self._named_word(clause)
        if word:
            return self._fixed_word(clause, word) if self._is_meant(clause, [word]) else None
        return self._fixed_unnamed(clause, values) or self._fixed_outcome(clause, values)

    def _is_meant(self, clause: str, gone: Iterable[Value], *, is_named: bool = True) -> bool:
        """Whether the evidence speaks of this clause's own subject."""
        return self.subjects.may_correct(self.page, Claim(clause, tuple(gone), is_named), self.evidence)

    def _has(self, kind: str, clause: str) -> bool:
        return self.evidence.reader.phrases.has(kind, clause)

    def _is_past(self, clause: str, at: int) -> bool:
        """Whether what stands at this place is not claimed: denied, or told of the past."""
        return self._has("past", clause[:at])

    def _limits(self, text: str) -> frozenset[int]:
        """Where the dates stand that end something: until, by, due."""
        return frozenset(match.start("date") for match in self.evidence.reader.phrases.pattern("limit").finditer(text))

    def _subject(self, clause: str, besides: frozenset[str] = frozenset()) -> float:
        stems = frozenset(self.evidence.reader.lexicon.stems(clause))
        return self.weights.sum((stems & self.evidence.stems) - besides)

    def _named_values(self, clause: str, values: list[Value]) -> list[Value]:
        """The values of the clause that the evidence names as old."""
        found = [
            value
            for value in values
            if any(is_same(value, old) for old in self.evidence.change.old) and not self._is_past(clause, value.start)
        ]
        if any(value.kind == "host" for value in found):
            return found  # an address is its own subject
        besides = frozenset(stem for value in found for stem in self.evidence.reader.lexicon.stems(value.text))
        enough = self._subject(clause, besides) + self.page_subject >= MIN_SUBJECT or self.related >= CLEARLY_RELATED
        if found and self.values_only:
            cover = max(self._cover(clause, part) for part in self.evidence.parts)
            enough = enough and (cover >= MIN_COVER or self.titled)
        return found if enough else []

    def _named_word(self, clause: str) -> Value | None:
        """A thing in the clause (a tool, a place, a method) that the evidence names as gone."""
        for phrase in self.evidence.change.old_words:
            lexicon = self.evidence.reader.lexicon
            telling = [stem for stem in lexicon.stems(phrase) if self.weights[stem] >= TELLING]
            match = re.search(rf"(?<!\w){re.escape(phrase)}(?!\w)", clause, re.IGNORECASE)
            if not match or not telling or self._is_past(clause, match.start()) or self._has("bygone", clause):
                continue
            if self._subject(clause, frozenset(telling)) + self.page_subject >= MIN_SUBJECT:
                return Value("word", match[0], *match.span(), match[0])
        return None

    def _fixed_values(self, clause: str, named: list[Value]) -> Fix:
        if len(named) == 1:
            new = self._successor(named[0])
            if new and self._stands_alone(clause, named):
                return self._swapped(clause, named[0], new)
        return self._struck(clause, named[0].start)

    def _fixed_word(self, clause: str, word: Value) -> Fix:
        pairs = {old.casefold(): new for old, new in self.evidence.change.word_pairs}
        new = pairs.get(word.text.casefold(), "")
        if new and self._stands_alone(clause, [word]):
            return self._swapped(clause, word, new)
        return self._struck(clause, word.start)

    def _fixed_unnamed(self, clause: str, values: list[Value]) -> Fix | None:
        """A clause about the same thing with another value of the same kind, where the evidence tells of a change."""
        if not self.evidence.change.is_change or not values:
            return None
        for part in self._about(clause):
            at_odds = [(value, self._at_odds(clause, value, part)) for value in values]
            at_odds = [(value, others) for value, others in at_odds if others]
            if at_odds and self._is_meant(clause, [value for value, _ in at_odds], is_named=False):
                value, others = at_odds[0]
                alone = len(at_odds) == len(others) == 1 and self._cover(clause, part) >= MIN_COVER
                if alone and self._stands_alone(clause, [value]):
                    return self._swapped(clause, value, others[0].text)
                return self._struck(clause, value.start)
        return None

    def _fixed_outcome(self, clause: str, values: list[Value]) -> Fix | None:
        """A plan that ran until a day before the evidence, or a halt, and the evidence tells how it ended."""
        change = self.evidence.change
        limit = self.evidence.reader.phrases.pattern("limit").search(clause)
        over = (
            limit is not None
            and (change.is_outcome or change.is_moved)
            and limit["date"] <= self.evidence.day.isoformat()
        )
        halted = self._has("halted", clause)
        if not over and not (halted and change.is_back):
            return None
        if any(is_same(value, other) for value in values for other in self.evidence.values):
            return None
        if self._subject(clause) < MIN_SUBJECT_OUTCOME and not (self.named and self._subject(clause) >= MIN_SUBJECT):
            return None
        if not self._is_meant(clause, []):
            return None
        return self._struck(clause, limit.start() if limit else 0)

    def _about(self, clause: str) -> list[Part]:
        """The parts of the evidence that are about the same thing as the clause, the nearest first."""
        stems = frozenset(self.evidence.reader.lexicon.stems(clause))
        shared = {part.text: self.weights.sum(stems & part.stems) for part in self.evidence.parts}
        ranked = sorted(self.evidence.parts, key=lambda part: -shared[part.text])
        change = self.evidence.change
        if change.old or change.old_words:  # it names what is old: anything else is probably untouched
            return [part for part in ranked if self._cover(clause, part) >= MIN_COVER and len(stems & part.stems) > 1]
        if self.named:
            return ranked
        return [part for part in ranked if self._is_about(stems & part.stems, self._cover(clause, part))]

    def _is_about(self, shared: frozenset[str], cover: float) -> bool:
        if cover < MIN_OVERLAP:
            return False
        weight = self.weights.sum(shared)
        if len(shared) > 1 and weight >= MIN_SUBJECT_UNNAMED:
            return True
        # "moved the relaunch": one word is enough for a date, when the page has more in common with the evidence.
        return weight >= MIN_SUBJECT and self.related >= CLEARLY_RELATED and self.evidence.change.is_moved

    def _at_odds(self, clause: str, value: Value, part: Part) -> list[Value]:
        """The values of the evidence that cannot be true beside `value`."""
        if value.kind in _DATE_KINDS:
            return self._other_dates(clause, value, part)
        if any(old.kind == value.kind for old in self.evidence.change.old):
            return []  # it names another value as the old one: it speaks of something else
        start, end = segment(clause, value.start, least=2)
        if not self.named and base_kind(value.kind) in _VAGUE and self._cover(clause[start:end], part) < MIN_COVER:
            return []
        return rivals_of(value, part.values)

    def _other_dates(self, clause: str, value: Value, part: Part) -> list[Value]:
        """Another day for the same limit, or the only day for a thing that was moved."""
        change = self.evidence.change
        if not change.is_moved:
            return []
        mine, theirs = self._limits(clause), self._limits(part.text)
        if value.start in mine and theirs:
            return [other for other in part.values if other.start in theirs and other.value != value.value]
        dates = [other for other in part.values if other.kind == value.kind]
        if sum(other.kind == value.kind for other in self.evidence.reader.values.find(clause)) > 1:
            return []
        named = change.old or change.old_words
        return [] if named or len(dates) != 1 or dates[0].value == value.value else dates

    def _cover(self, clause: str, part: Part) -> float:
        """The share of what the clause says that the evidence repeats."""
        stems = frozenset(self.evidence.reader.lexicon.stems(clause))
        total = self.weights.sum(stems)
        return self.weights.sum(stems & part.stems) / total if total else 0.0

    def _successor(self, old: Value) -> str:
        """The one value that the evidence puts in the place of `old`."""
        for before, after in self.evidence.change.pairs:
            if is_same(before, old):
                return after.text
        near = [part for part in self.evidence.parts if any(is_same(value, old) for value in part.values)]
        for values in ([value for part in near for value in part.values], self.evidence.values):
            fresh = [value for value in values if not self._is_old(value) and value.value != old.value]
            found = {other.value: other for other in rivals_of(old, fresh) or loose_rivals_of(old, fresh)}
            if len(found) == 1:
                new = next(iter(found.values()))
                return new.text if new.kind != "num" or old.kind == "num" else f"{new.text}{unit_of(old)}"
        return ""

    def _is_old(self, value: Value) -> bool:
        return any(is_same(value, old) for old in self.evidence.change.old)

    def _stands_alone(self, clause: str, changed: list[Value]) -> bool:
        """Whether the words around the changed value hold no other value or name that the evidence does not repeat."""
        start, end = segment(clause, changed[0].start, least=2)
        around = clause[start:end]
        others = [
            value for value in self.evidence.reader.values.find(around) if start + value.start != changed[0].start
        ]
        if any(not any(is_same(value, known) for known in self.evidence.values) for value in others):
            return False
        said = f"{self.evidence.title} {self.evidence.text} {self.page.name}".casefold()
        return all(name.casefold() in said for name in _CAPITAL.findall(around) if name not in changed[0].text)

    def _swapped(self, clause: str, old: Value, new: str) -> Fix:
        before, after = clause[: old.start], clause[old.end :]
        starts = self.evidence.starts if old.kind in _DATE_KINDS else self.evidence.comes
        if starts and starts > self.today:
            text = f"{before}{old.text} (→ {new}, {starts.isoformat()}){after}"
            return Fix(text, text, struck=False)
        return Fix(f"{before}~~{old.text}~~ {new}{after}", f"{before}{new}{after}", struck=False)

    def _struck(self, clause: str, at: int) -> Fix:
        starts = self.evidence.comes
        if starts and starts > self.today:
            text = f"{clause.rstrip('.')} (→ {starts.isoformat()}){'.' if clause.endswith('.') else ''}"
            return Fix(text, text, struck=False)
        start, end = segment(clause, at, least=3)
        return Fix(f"{clause[:start]}~~{clause[start:end]}~~{clause[end:]}", without(clause, start, end), struck=True)
