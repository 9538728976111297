"""What a fork may not bring back: what a person forgot, took back or struck out, what was replaced by something said
later, and what was said while memory was off (ADR 0054).

Old conversations still say it, and a fork that reads them would write it down once more. Whoever says it again, later
than it was forgotten, has said something new. A claim is known again by its words and by what they mean, and by the
line of the conversation that it and the forgotten sentence both came from.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache, cached_property

from memdir.store.gone import Gone, sentences_in
from memdir.store.store import MemoryStore
from memdir.text.date_words import words_by_meaning
from memdir.text.language import UNKNOWN, tongue_of
from memdir.text.nearness import Sentence
from memdir.text.phrases import anywhere
from memdir.text.sentences import sentences_of
from memdir.text.speakers import own_words
from memdir.text.stems import stem
from memdir.transcript.message import Message, said_at

SAME = 0.55  # nearness at which two sentences say the same in other words
SAID = 0.33  # nearness from which the user said what is claimed; as loosely as he is believed elsewhere
OVERHEARD = 0.45  # nearness to what was said while memory was off
HINT = 0.3  # that two renderings of one line have at least
TELLING = 2  # topic words without which only the very words tell that a sentence is the same
SHORTEST_DAY = 3  # letters of a day's or a month's name that may be another word: "may", "sat"
MAX_GONE = 5000  # sentences that are compared, those that left last


@dataclass(frozen=True)
class Heard:
    """Something that the user said himself, when and where; while memory was off nobody heard it."""

    text: str
    time: float  # 0 where nobody knows: then it was long ago
    line: tuple[str, str] = ("", "")  # the session and the message
    is_off: bool = False


def heard_in(messages: Iterable[Message], session: str = "") -> Iterator[Heard]:
    """The user's own words in a conversation."""
    for message in messages:
        if message.role == "user" and not message.is_meta and (words := own_words(message.text)):
            yield Heard(words, said_at(message) or 0.0, (session, message.id), message.is_off)


class _Told:
    """A sentence with its moment, ready to be compared."""

    __slots__ = ("heard", "sentence", "time", "tongue")

    def __init__(self, text: str, time: float = 0.0, heard: Heard | None = None) -> None:
        self.sentence = Sentence(text)
        self.time = time
        self.heard = heard
        self.tongue = tongue_of(text)

    @property
    def is_off(self) -> bool:
        return self.heard is not None and self.heard.is_off

    @property
    def is_statement(self) -> bool:
        """Whether it says something, and not that something is to be forgotten; a question asks."""
        text = self.sentence.text
        return not self.is_off and not text.rstrip().endswith(("?", "？")) and not anywhere("forget-rule").search(text)

    def nearness(self, other: _Told) -> float:
        terms, others = self.sentence.terms, other.sentence.terms
        if min(len(terms), len(others)) < TELLING:
            return float(_plain(self.sentence.text) == _plain(other.sentence.text))
        is_translated = UNKNOWN not in (self.tongue, other.tongue) and self.tongue != other.tongue
        return self.sentence.nearness(other.sentence, is_translated=is_translated)


class Forgotten:
    """Asks the history of some stores, and what the user said, about claims that are about to be written."""

    def __init__(self, stores: Sequence[MemoryStore], heard: Callable[[], Iterable[Heard]]) -> None:
        self._stores = stores
        self._hear = heard

    def among(self, claims: Iterable[str], *, instead_of: Iterable[str] = ()) -> list[str]:
        """Those of the claims that nobody may bring back. `instead_of` is what would have to give way to them."""
        asked = [claim for claim in dict.fromkeys(claims) if claim not in self._living]
        given_up = [_Told(text, self._came(text)) for text in instead_of] if asked else []
        return [claim for claim in asked if self._comes_back(_Told(claim)) or self._is_older(_Told(claim), given_up)]

    def is_later(self, sentences: Iterable[str]) -> bool:
        """Whether a memory was told later than anything that the user said here: then nothing here takes it back."""
        last = max((one.time for one in self._heard if not one.is_off), default=0.0)
        return bool(last) and min((self._came(text) for text in sentences), default=0.0) > last

    def sources_of(self, claims: Iterable[str]) -> list[Heard]:
        """What the user said that these claims were taken from, rather than from something that stands here."""
        found: dict[Heard, None] = {}
        for claim in (_Told(text) for text in claims if text not in self._living):
            known = max((claim.nearness(one) for one in self._standing), default=0.0)
            lines = [one for one in self._sources_of(claim) if claim.nearness(one) > known]
            found |= {one.heard: None for one in lines if one.heard is not None and not one.is_off}
        return list(found)

    def _comes_back(self, claim: _Told) -> bool:
        """Whether it says again what is gone, rather than something that stands here, and nobody has said so since."""
        hits = [(claim.nearness(one), one.time) for one in self._gone]
        hits = [(near, when) for near, when in hits if near >= SAME]
        hits += self._hits_by_line(claim)
        if not hits:
            return False
        near = max((claim.nearness(one) for one in self._standing), default=0.0)
        moments = [when for how_near, when in hits if how_near > near]
        return bool(moments) and not self._was_said(claim, max(moments))

    def _hits_by_line(self, claim: _Told) -> Iterator[tuple[float, float]]:
        """What is gone and came from the very line that this would be taken from; what was said while memory was off
        is gone from the beginning."""
        for line in self._sources_of(claim):
            near = claim.nearness(line)
            if line.is_off and near >= OVERHEARD:
                yield near, -1.0
            for one in self._gone:
                if line.time <= one.time and one.nearness(line) >= SAME and claim.nearness(one) >= HINT:
                    yield near, one.time

    def _sources_of(self, claim: _Told) -> list[_Told]:
        near = [(claim.nearness(one), one) for one in self._heard]
        best = max((score for score, _ in near), default=0.0)
        return [one for score, one in near if score == best >= SAID]

    def _is_older(self, claim: _Told, given_up: Sequence[_Told]) -> bool:
        """Whether an older word of the user's would take the place of a newer one, or stand beside it with another
        value."""
        rivals = [*given_up, *self._rivals_of(claim)]
        older = [one for one in self._sources_of(claim) if not one.is_off]
        for rival in rivals:
            taken = [one for one in older if one.time < rival.time and self._is_from(claim, one, rival)]
            if taken and not self._was_said(claim, rival.time, or_then=True):
                return True
        return False

    def _is_from(self, claim: _Told, line: _Told, rival: _Told) -> bool:
        """Whether a claim has something from a line that its rival has not, and has lost something of its rival's."""
        terms, others = claim.sentence.terms, rival.sentence.terms
        if claim.nearness(rival) < HINT or claim.nearness(line) <= claim.nearness(rival):
            return False
        return bool((terms - others) & line.sentence.terms) and bool(others - terms)

    def _rivals_of(self, claim: _Told) -> Iterator[_Told]:
        """What stands here and differs from it in nothing but figures and days."""
        words = _words(claim)
        return (one for one in self._standing if words and words != claim.sentence.terms and words == _words(one))

    def _was_said(self, claim: _Told, since: float, *, or_then: bool = False) -> bool:
        """Whether the user said it later than that: this, and not rather something that stands here."""
        later = (one for one in self._heard if one.time > since or (or_then and one.time == since))
        near = (one for one in later if one.is_statement and claim.nearness(one) >= SAID)
        return any(all(one.nearness(claim) >= one.nearness(other) for other in self._standing) for one in near)

    def _came(self, text: str) -> float:
        return max((gone.came.get(text, 0.0) for gone in self._histories), default=0.0)

    @cached_property
    def _histories(self) -> list[Gone]:
        by_base = {store.place.base: store for store in self._stores}
        return [store.gone() for store in by_base.values()]

    @cached_property
    def _gone(self) -> list[_Told]:
        left = [(when, text) for gone in self._histories for text, when in gone.left.items()]
        return [_Told(text, when) for when, text in sorted(left)[-MAX_GONE:] if text not in self._living]

    @cached_property
    def _living(self) -> dict[str, None]:
        """Every sentence that stands in these stores."""
        memories = (memory for store in self._stores for memory in store.readable(store.scan(limit=None).headers))
        return {text: None for memory in memories for text in sentences_in(memory.topic.data)}

    @cached_property
    def _standing(self) -> list[_Told]:
        return [_Told(text, self._came(text)) for text in self._living]

    @cached_property
    def _heard(self) -> list[_Told]:
        return [_Told(text, one.time, one) for one in self._hear() for text in sentences_of(one.text)]


def _plain(text: str) -> str:
    return " ".join("".join(char if char.isalnum() else " " for char in text.casefold()).split())


def _words(told: _Told) -> frozenset[str]:
    """The terms of a sentence that are no figure, weekday or month."""
    words = told.sentence.terms - _calendar()
    return frozenset(term for term in words if not any(char.isdigit() for char in term))


@cache
def _calendar() -> frozenset[str]:
    tables = [meanings.items() for meanings in words_by_meaning().values()]
    named = (words for table in tables for meaning, words in table if meaning.startswith(("W=", "M=")))
    return frozenset(stem(word.rstrip("*")) for words in named for word in words if len(word) > SHORTEST_DAY)
