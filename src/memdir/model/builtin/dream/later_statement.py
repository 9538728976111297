"""Evidence: something said or written later than a page, read for what it says has changed."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date
from functools import cached_property

from memdir.model.builtin.dream.cues import Cues, SentenceKinds, ToldChange
from memdir.model.builtin.dream.dream_words import DreamWords
from memdir.model.builtin.dream.values import Value, Values
from memdir.text.body_text import clauses, split
from memdir.text.date_words import month_of


@dataclass(frozen=True)
class Reader:
    """Everything that is needed to read a sentence."""

    lexicon: DreamWords
    values: Values
    cues: Cues
    phrases: SentenceKinds


@dataclass(frozen=True)
class Part:
    """A clause of the evidence, with its stems and values."""

    text: str
    stems: frozenset[str]
    values: tuple[Value, ...]


@dataclass(frozen=True)
class LaterStatement:
    """A statement with its day, and where it comes from."""

    text: str
    title: str
    time: float
    day: date
    sources: tuple[str, ...]
    reader: Reader

    @cached_property
    def change(self) -> ToldChange:
        return self.reader.cues.read(self.text)

    @cached_property
    def stems(self) -> frozenset[str]:
        return frozenset(self.reader.lexicon.stems(f"{self.title}\n{self.text}"))

    @cached_property
    def parts(self) -> list[Part]:
        found = []
        for start, end in split(self.text):
            sentence = self.text[start:end]
            for first, last in clauses(sentence):
                text = sentence[first:last]
                found.append(Part(text, frozenset(self.reader.lexicon.stems(text)), tuple(self.values_of(text))))
        return found

    @cached_property
    def values(self) -> list[Value]:
        return self.values_of(self.text)

    @cached_property
    def starts(self) -> date | None:
        """The day from which it holds, where it names one."""
        match = self.reader.phrases.pattern("starts").search(self.text)
        if match:
            return _day(match[match.lastgroup or 0])
        for month in self.reader.phrases.pattern("starts-month").finditer(self.text):
            number = month_of(month["month"])
            if number:
                return date(self.day.year + (number < self.day.month), number, 1)
        return None

    @cached_property
    def comes(self) -> date | None:
        """The day from which it holds; failing that the day to come on which something moves: "moves on 2026-12-15"."""
        if self.starts or self.change.is_outcome:
            return self.starts
        days = [_day(match["date"]) for match in self.reader.phrases.pattern("moves-on").finditer(self.text)]
        ahead = [day for day in days if day and day > self.day]
        return ahead[0] if len(ahead) == 1 else None

    def values_of(self, text: str) -> list[Value]:
        """The values in a text, without the day from which it holds: that one contradicts nothing."""
        found = self.reader.values.find(text)
        matches = self.reader.phrases.pattern("starts").finditer(text)
        starts = {match.start(match.lastgroup or 0) for match in matches}
        return [value for value in found if value.start not in starts]


def _day(text: str) -> date | None:
    try:
        return date.fromisoformat(text)
    except ValueError:
        return None
