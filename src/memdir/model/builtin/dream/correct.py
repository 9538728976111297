"""Whether a clause of a page is contradicted by evidence, and how it then reads (D3).

An old value gives way to a new one only when nothing else in the clause depends on it; otherwise the clause is taken
out, and the evidence stands in its place. What it was is kept under `**Before …:**`. Nothing is ever deleted.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date

from memdir.model.builtin.dream.dream_words import Weights
from memdir.model.builtin.dream.later_statement import LaterStatement, Part
from memdir.model.builtin.dream.memory_page import Page
from memdir.model.builtin.dream.subject import Claim, Subjects
from memdir.model.builtin.dream.values import Value, is_same, loose_rivals_of, rivals_of, unit_of
from memdir.text.body_text import segment, without

TELLING = 2.0  # a word below this weight names no subject

_CAPITAL = re.compile(r"(?<=[\w,] )[A-ZÀ-ÖØ-Þ][\w'’-]+")
_DATE_KINDS = ("date", "month", "quarter")


@dataclass(frozen=True)
class Fix:
    """How a clause reads from now on; `is_out` where it was taken out, as a whole or in part."""

    text: str
    is_out: bool
    swap: tuple[str, str] | None = None  # the old value and the new one


@dataclass(frozen=True)
class CorrectionJudge:
    """Judges clauses of one page against one piece of evidence."""

    page: Page
    evidence: LaterStatement
    subjects: Subjects
    weights: Weights
    today: date

    def fix(self, clause: str) -> Fix | None:
        """The clause as it should read, or None when the evidence does not touch it."""
        values = self.evidence.reader.values.find(clause)
        named = self._named_values(clause, values)
        if named:
            return self._fixed_values(clause, named) if self._is_meant(clause, named) else None
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

    def _named_values(self, clause: str, values: list[Value]) -> list[Value]:
        """The values of the clause that the evidence names as old."""
        return [
            value
            for value in values
            if any(is_same(value, old) for old in self.evidence.change.old) and not self._is_past(clause, value.start)
        ]

    def _named_word(self, clause: str) -> Value | None:
        """A thing in the clause (a tool, a place, a method) that the evidence names as gone."""
        for phrase in self.evidence.change.old_words:
            is_telling = any(self.weights[stem] >= TELLING for stem in self.evidence.reader.lexicon.stems(phrase))
            match = re.search(rf"(?<!\w){re.escape(phrase)}(?!\w)", clause, re.IGNORECASE) if is_telling else None
            if match and not self._is_past(clause, match.start()) and not self._has("bygone", clause):
                return Value("word", match[0], *match.span(), match[0])
        return None

    def _fixed_values(self, clause: str, named: list[Value]) -> Fix:
        if len(named) == 1:
            new = self._successor(named[0])
            if new and self._stands_alone(clause, named):
                return self._swapped(clause, named[0], new)
        return self._taken_out(clause, named[0].start)

    def _fixed_word(self, clause: str, word: Value) -> Fix:
        pairs = {old.casefold(): new for old, new in self.evidence.change.word_pairs}
        new = pairs.get(word.text.casefold(), "")
        if new and self._stands_alone(clause, [word]):
            return self._swapped(clause, word, new)
        return self._taken_out(clause, word.start)

    def _fixed_unnamed(self, clause: str, values: list[Value]) -> Fix | None:
        """A clause about the same thing with another value of the same kind, where the evidence tells of a change."""
        if not self.evidence.change.is_change or not values:
            return None
        for part in self.evidence.parts:
            at_odds = [(value, self._at_odds(clause, value, part)) for value in values]
            at_odds = [(value, others) for value, others in at_odds if others]
            if at_odds and self._is_meant(clause, [value for value, _ in at_odds], is_named=False):
                value, others = at_odds[0]
                if len(at_odds) == len(others) == 1 and self._stands_alone(clause, [value]):
                    return self._swapped(clause, value, others[0].text)
                return self._taken_out(clause, value.start)
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
        if not self._is_meant(clause, []):
            return None
        return self._taken_out(clause, limit.start() if limit else 0)

    def _at_odds(self, clause: str, value: Value, part: Part) -> list[Value]:
        """The values of the evidence that cannot be true beside `value`."""
        if value.kind in _DATE_KINDS:
            return self._other_dates(clause, value, part)
        if any(old.kind == value.kind for old in self.evidence.change.old):
            return []  # it names another value as the old one: it speaks of something else
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
            return Fix(text, is_out=False)
        return Fix(f"{before}{new}{after}", is_out=False, swap=(old.text, new))

    def _taken_out(self, clause: str, at: int) -> Fix:
        starts = self.evidence.comes
        if starts and starts > self.today:
            text = f"{clause.rstrip('.')} (→ {starts.isoformat()}){'.' if clause.endswith('.') else ''}"
            return Fix(text, is_out=False)
        start, end = segment(clause, at, least=3)
        return Fix(without(clause, start, end), is_out=True)
