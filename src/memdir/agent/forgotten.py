"""What a fork may not bring back: what a person forgot, took back or struck out, what was replaced by something said
later, and what was said while memory was off (ADR 0054).

Old conversations still say it, and a fork that reads them would write it down once more. Whoever says it again, later
than it was forgotten, has said something new. A claim is known again by its words and by what they mean, and by the
line of the conversation that it and the forgotten sentence both came from.
"""

from __future__ import annotations

import math
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cache, cached_property, lru_cache
from itertools import chain

from memdir.disk.safe_path import INDEX_NAME
from memdir.errors import MemdirError
from memdir.store.line_origins import Gone, sentences_in
from memdir.store.log_lines import SAID_ON, recent_lines
from memdir.store.store import MemoryStore
from memdir.store.topic import Topic
from memdir.store.trust import marked_trust
from memdir.text.date_words import words_by_meaning
from memdir.text.dates import may_hold_date
from memdir.text.language import UNKNOWN, alternatives, anywhere, cues, fold, stems, tokens, tongue_of
from memdir.text.nearness import (
    Sentence,
    calls_off,
    content_term,
    is_opposite,
    is_turned,
    kept_in_mind,
    parts_of,
    taken_back,
    takes_back,
)
from memdir.text.sentences import facts_in, sentences_of
from memdir.text.speakers import own_words
from memdir.text.stems import stem
from memdir.text.words import plain_words
from memdir.transcript.message import Message, said_at

SAME = 0.55  # nearness at which two sentences say the same in other words
SAID = 0.33  # nearness from which the user said what is claimed; as loosely as he is believed elsewhere
STANDS = 0.45  # nearness from which a memory that somebody vouched for says already what is claimed
DOUBT = SAME - STANDS  # more is asked of a memory that nobody vouched for
HALF = 0.25  # that each part of a claim must have to something that stands here
OVERHEARD = 0.45  # nearness to what was said while memory was off
HINT = 0.3  # that two renderings of one line have at least
TELLING = 2  # topic words without which only the very words tell that a sentence is the same
SHORTEST_DAY = 3  # letters of a day's or a month's name that may be another word: "may", "sat"
CALLED = 4  # a title or a label has fewer topic words
NAMED = 2 / 3  # of a claim's topic words that a sentence must hold to speak of it
MAX_SHARING = 1000  # sentences with a word in common that are counted, the last: a dream's time must not grow with
MAX_ALIKE = 60  # the square of what was said; and of these those that are compared closely
MAX_GONE = 5000  # sentences that are compared, those that left last
_SAID_ON = re.compile(SAID_ON.format(r"\d{4}-\d{2}-\d{2}"))


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


@dataclass(eq=False)
class _Told:
    """A sentence with its moment, ready to be compared."""

    text: str
    time: float = 0.0
    heard: Heard | None = None
    is_learned: bool = False  # a fork took it away, and no person
    doubt: float = 0.0

    def __post_init__(self) -> None:
        self.sentence = Sentence(self.text)

    @cached_property
    def tongue(self) -> str:
        return tongue_of(self.text)

    @cached_property
    def words(self) -> frozenset[str]:
        """Its terms that are no figure, weekday or month."""
        return frozenset(term for term in self.sentence.terms - _calendar() if not any(map(str.isdigit, term)))

    @property
    def is_off(self) -> bool:
        return self.heard is not None and self.heard.is_off

    @property
    def is_statement(self) -> bool:
        """Whether it says something, and not that something is to be forgotten; a question asks."""
        return not self.is_off and not self.text.rstrip().endswith(("?", "？")) and not takes_back(self.text)

    @property
    def takes_back(self) -> bool:
        return takes_back(self.text) or "retract" in self._meant

    @property
    def tells_change(self) -> bool:
        return "change" in self._meant

    @cached_property
    def _meant(self) -> dict[str, str]:
        """What its turns of phrase mean, each with the last of them."""
        folded = fold(kept_in_mind(self.text))
        return {cue.meaning: cue.phrase for cue in cues(folded, tokens(folded), self.tongue)}

    @property
    def named(self) -> frozenset[str]:
        """What it speaks of, without the words that take it back."""
        return Sentence(taken_back(self.text)).terms - Sentence(self._meant.get("retract", "")).terms

    def ends(self, claim: _Told) -> bool:
        """Whether it names nearly all of a claim, as something that changed or is to be forgotten."""
        return self.names(claim) and (self.tells_change or takes_back(self.text))

    def names(self, claim: _Told) -> bool:
        terms = claim.sentence.terms
        return len(terms & self.sentence.terms) >= NAMED * len(terms)

    def takes_back_opposite(self, claim: str) -> bool:
        """Whether it takes back the opposite of a claim: "forget that we …"; "the rule about …" says neither."""
        said = taken_back(self.text).strip()
        is_said = anywhere("forget-that").search(self.text) or anywhere("wish-that").search(said)
        is_subject = calls_off(self.text) and not is_said
        return self.takes_back and not is_subject and is_opposite(said, claim)

    def is_rather_of(self, some: Iterable[_Told], others: Iterable[_Told]) -> bool:
        """Whether one of these has as many of its words as any of the others."""
        near, beside = ([len(self.sentence.terms & one.sentence.terms) for one in said] for said in (some, others))
        return max(near, default=0) >= max(beside, default=0)

    @cached_property
    def outright(self) -> _Told:
        """The same without what is only asked or supposed: "is it true that …?", "if she ever no longer …"."""
        is_asked = self.text.rstrip().endswith(("?", "？")) and not anywhere("asks").search(self.text)
        said = "" if is_asked else _supposed(self.tongue).sub(" ", anywhere("polite").sub(" ", self.text))
        return self if said == self.text else replace(self, text=said)

    def tells_otherwise(self, claim: _Told) -> bool:
        """Whether it speaks of the same, as something that changed, or denies it, or has another value for it."""
        terms = self.sentence.terms
        is_near = max(self.nearness(claim), claim.nearness(self)) >= SAID or (terms and terms <= claim.sentence.terms)
        if not self.is_statement or not is_near:
            return False
        values, known = values_in(self.text), values_in(claim.text)
        is_other = bool(values - known) and bool(known - values)
        return is_other or self.tells_change or is_opposite(self.text, claim.text, self.tongue)

    def nearness(self, other: _Told) -> float:
        terms, others = self.sentence.terms, other.sentence.terms
        if min(len(terms), len(others)) < TELLING:
            return float(plain_words(self.text) == plain_words(other.text))
        is_translated = UNKNOWN not in (self.tongue, other.tongue) and self.tongue != other.tongue
        return self.sentence.nearness(other.sentence, is_translated=is_translated)


class _ByWord:
    """Sentences by their words: in one language those that share none are never near enough to matter."""

    def __init__(self, told: Iterable[_Told]) -> None:
        self.all = list(told)
        self._by_word = defaultdict[str, list[int]](list)  # as they are spelled: what each stands for is asked once
        for at, one in enumerate(self.all):
            for word in set(one.sentence.words):
                self._by_word[word].append(at)
        self._spelled: dict[str, list[str]] = {}
        for word in self._by_word:
            self._spelled.setdefault(content_term(word), []).append(word)

    def _holders(self, term: str) -> list[_Told]:
        places = {at for word in self._spelled.get(term, ()) for at in self._by_word[word]}
        return [self.all[at] for at in sorted(places)[-MAX_SHARING:]]

    @cached_property
    def _by_tongue(self) -> dict[str, list[_Told]]:
        found: dict[str, list[_Told]] = {}
        for one in self.all:
            found.setdefault(one.tongue, []).append(one)
        return found

    def like(self, told: _Told) -> Iterator[_Told]:
        """Those that share most words with it, of as many the last, then those in other languages."""
        shared = Counter(chain.from_iterable(map(self._holders, told.sentence.terms)))
        yield from sorted(shared, key=shared.__getitem__)[: -MAX_ALIKE - 1 : -1]
        for tongue, some in self._by_tongue.items() if told.tongue != UNKNOWN else ():
            if tongue not in (told.tongue, UNKNOWN):
                yield from some[-MAX_SHARING:]

    def nearest(self, told: _Told, *, enough: float = math.inf) -> float:
        best = 0.0
        for one in self.like(told):
            if (best := max(best, told.nearness(one))) >= enough:
                break
        return best


class Forgotten:
    """Asks the history of some stores, and what the user said, about claims that are about to be written."""

    def __init__(
        self,
        stores: Sequence[MemoryStore],
        heard: Callable[[], Iterable[Heard]],
        *,
        is_live: bool = False,
        beside: Sequence[MemoryStore] = (),
    ) -> None:
        self._stores = stores
        self._beside = beside  # of which only the history is asked: what stands there does not stand here
        self._hear = heard
        self._is_live = is_live  # one conversation that goes on: "the old one was right" needs no name
        self._told = cache(lambda text: _Told(text, self._came(text)))  # what stands here, each sentence read once

    def among(self, claims: Iterable[str], *, instead_of: Iterable[str] = ()) -> list[str]:
        """Those of the claims that nobody may bring back. `instead_of` is what would have to give way to them."""
        asked = [one for one in dict.fromkeys(claims) if one not in self._living and not _SAID_ON.fullmatch(one)]
        given_up = [_Told(text, self._came(text)) for text in instead_of] if asked else []
        told = {claim: _Told(claim) for claim in asked}
        back = {claim: self._comes_back(one) for claim, one in told.items()}
        if False in back.values():  # said again: then what it is called has come back with it
            back |= {claim: None for claim, one in told.items() if len(one.sentence.terms) < CALLED}
        return [claim for claim, one in told.items() if back[claim] or self._is_older(one, given_up)]

    def stands(self, claim: str) -> bool:
        """Whether memories here say so, in whatever words, every part of it; plainly, where nobody vouched for it."""
        told = _Told(claim)
        if not told.sentence.terms or claim in self._living:
            return True
        near = self._said_here.like(told)
        if len(told.words) < TELLING:
            terms = told.sentence.terms
            return told.words != terms or any(terms <= one.sentence.terms for one in near)
        if not any(told.nearness(one) - one.doubt >= STANDS and not is_opposite(one.text, claim) for one in near):
            return False
        parts = [_Told(part) for part in parts_of(claim)]
        return len(parts) == 1 or all(self._said_here.nearest(part, enough=HALF) >= HALF for part in parts)

    def holds(self, values: frozenset[str]) -> bool:
        """Whether all of these stand here, wherever."""
        return values <= self._values_here

    def says(self, claim: str) -> bool:
        """Whether a sentence that somebody vouched for says all of this, and not the opposite of it."""
        told, values = _Told(claim), values_in(claim)
        near = (one for one in self._said_here.like(told) if told.sentence.terms <= one.sentence.terms)
        return any(not one.doubt and not is_turned(one.text, claim, values) for one in near)

    @cached_property
    def _values_here(self) -> frozenset[str]:
        return frozenset().union(*(values_in(one.text) for one in self._said_here.all))

    def is_later(self, sentences: Iterable[str]) -> bool:
        """Whether a memory was told later than anything that the user said here: then nothing here takes it back."""
        last = max((one.time for one in self._heard.all if not one.is_off), default=0.0)
        return bool(last) and min((self._came(text) for text in sentences), default=0.0) > last

    def was_ended(self, claim: str, memory: Topic | None = None) -> bool:
        """Whether the user has said, since this came to stand here, that it holds no longer, or is to be forgotten.
        With its `memory` it need not be named in full: what is heard is one conversation, which is about it or not."""
        if _SAID_ON.fullmatch(claim):
            return True
        told, since = _Told(claim), self._came(claim)
        heard = self._heard.all if memory else self._heard.like(told)
        later = (one.outright for one in heard if one.time > since and not one.is_off)
        ending = (one for one in later if not one.takes_back_opposite(claim))
        if memory is None:
            return any(one.ends(told) for one in ending)
        beside = [_Told(text) for text in sentences_of(memory.body) if text != claim]
        heads = [one for one in map(_Told, (memory.name, memory.description)) if not any(map(one.names, beside))]
        whole = _Told("\n".join((*(one.text for one in heads), claim)))
        return any(
            one.ends(told)
            or one.tells_otherwise(told)
            or (
                one.is_rather_of((told, *heads), beside)
                and (self._is_called_off(one, whole) or one.tells_otherwise(whole))
            )
            for one in ending
        )

    def _is_called_off(self, said: _Told, memory: _Told) -> bool:
        """Whether words that take something back mean this memory: what they name is in it, or it was just told."""
        if not said.takes_back:
            return False
        if said.named:
            spelled = set(stems(taken_back(said.text))).intersection(stems(memory.text))  # emoji, emojis
            return 2 * max(len(said.named & memory.sentence.terms), len(spelled)) >= len(said.named)
        return any(memory.nearness(one) >= SAID for one in self._heard.all if one.time < said.time)

    def was_taken_back(self, path: str, before: bytes | None, after: bytes | None) -> bool:
        """Whether a person has taken back this very change of a file."""
        return any(gone.was_taken_back(path, before, after) for gone in self._histories)

    def sources_of(self, claims: Iterable[str]) -> list[Heard]:
        """What the user said that these claims were taken from, rather than from something that stands here."""
        found: dict[Heard, None] = {}
        for claim in (_Told(text) for text in claims if text not in self._living):
            known = self._standing.nearest(claim)
            lines = [one for one in self._sources_of(claim) if claim.nearness(one) > known]
            found |= {one.heard: None for one in lines if one.heard and one.heard.line[0] and not one.is_off}
        return list(found)

    def _comes_back(self, claim: _Told) -> bool | None:
        """Whether it says again what is gone and does not stand here, and nobody has said so since; None: nor that."""
        hits = [(near, one) for one in self._gone.like(claim) if (near := claim.nearness(one)) >= SAME]
        hits += self._hits_by_line(claim)
        if not hits:
            return None
        known = self._standing.nearest(claim, enough=max(near for near, _ in hits))
        gone = [one for near, one in hits if near > known]
        if not gone or self._was_said(claim, max(-1.0 if one.is_off else one.time for one in gone)):
            return False if gone else None
        return not (self._is_live and all(one.is_learned and self._turned_back(one.time) for one in gone))

    def _turned_back(self, since: float) -> bool:
        """Whether the user has since spoken of a change, without a word of what it is to be."""
        return any(one.time > since and one.is_statement and one.tells_change for one in self._heard.all)

    def _hits_by_line(self, claim: _Told) -> Iterator[tuple[float, _Told]]:
        """What is gone and came from the line that this would be taken from; what was said while off is, anyway."""
        for line in self._sources_of(claim):
            near = claim.nearness(line)
            if line.is_off and near >= OVERHEARD:
                yield near, line
            for one in self._gone.like(line):
                if line.time <= one.time and one.nearness(line) >= SAME and claim.nearness(one) >= HINT:
                    yield near, one

    def _sources_of(self, claim: _Told) -> list[_Told]:
        near = [(claim.nearness(one), one) for one in self._heard.like(claim)]
        best = max((score for score, _ in near), default=0.0)
        return [one for score, one in reversed(near) if score == best >= SAID]

    def _is_older(self, claim: _Told, given_up: Sequence[_Told]) -> bool:
        """Whether an older word of the user's would replace a newer one, or stand beside it with another value."""
        older = [one for one in self._sources_of(claim) if not one.is_off]
        for rival in (*given_up, *self._rivals_of(claim)) if older else ():
            is_taken = any(one.time < rival.time and self._is_from(claim, one, rival) for one in older)
            is_meant = self._is_live and self._turned_back(rival.time)
            if is_taken and not is_meant and not self._was_said(claim, rival.time, or_then=True):
                return True
        return False

    def _is_from(self, claim: _Told, line: _Told, rival: _Told) -> bool:
        """Whether a claim has something from a line that its rival has not, and has lost something of its rival's."""
        terms, others = claim.sentence.terms, rival.sentence.terms
        if self._is_named_by(claim, rival):
            return True
        if claim.nearness(rival) < HINT or claim.nearness(line) <= claim.nearness(rival):
            return False
        return bool((terms - others) & line.sentence.terms) and bool(others - terms)

    def _rivals_of(self, claim: _Told) -> Iterator[_Told]:
        """What stands here and differs from it in nothing but figures and days, or tells of a change from it."""
        words = claim.words if claim.words != claim.sentence.terms else frozenset()
        for one in self._standing.like(claim):
            is_other_value = words and words <= one.sentence.terms and words == one.words
            if is_other_value or self._is_named_by(claim, one):
                yield one

    def _is_named_by(self, claim: _Told, rival: _Told) -> bool:
        """Whether a sentence tells of a change, and of nearly all that is claimed: "no longer on Fridays"."""
        terms, others = claim.sentence.terms, rival.sentence.terms
        is_named = len(terms) >= TELLING and len(terms & others) >= NAMED * len(terms) and bool(others - terms)
        return is_named and rival.tells_change

    def _was_said(self, claim: _Told, since: float, *, or_then: bool = False) -> bool:
        """Whether the user said it later than that: this, and not rather something that stands here."""
        later = (one for one in self._heard.like(claim) if one.time > since or (or_then and one.time == since))
        near = [one for one in later if claim.nearness(one) >= SAID]
        against = {one.heard for one in near if takes_back(one.text) or is_opposite(one.text, claim.text, one.tongue)}
        heard = ((one, one.nearness(claim)) for one in near if one.is_statement and one.heard not in against)
        return any(self._standing.nearest(one, enough=math.nextafter(score, 2)) <= score for one, score in heard)

    def _came(self, text: str) -> float:
        return max((gone.came.get(text, 0.0) for gone in self._histories), default=0.0)

    @cached_property
    def _histories(self) -> list[Gone]:
        by_base = {store.place.base: store for store in (*self._stores, *self._beside)}
        return [store.gone() for store in by_base.values()]

    @cached_property
    def _gone(self) -> _ByWord:
        left = sorted((when, text) for gone in self._histories for text, when in gone.left.items())
        found = ((text, when) for when, text in left[-MAX_GONE:] if text not in self._living)
        return _ByWord(_Told(text, when.moment, is_learned=when.is_learned) for text, when in found)

    @cached_property
    def _living(self) -> dict[str, None]:
        """Every sentence that stands in these stores."""
        return {text: None for _, some in self._topics for text in some}

    @cached_property
    def _topics(self) -> list[tuple[Topic, dict[str, None]]]:
        found = [store.readable(store.scan(limit=None).headers) for store in self._stores]
        return [(memory.topic, sentences_in(memory.topic.data)) for some in found for memory in some]

    @cached_property
    def _standing(self) -> _ByWord:
        return _ByWord(map(self._told, self._living))

    @cached_property
    def _said_here(self) -> _ByWord:
        """What stands here, names too, with a doubt where nobody vouched for it."""
        told: dict[str, bool] = {}
        for topic, some in self._topics:
            is_low = marked_trust(topic).is_low
            for text in filter(None, (topic.name, topic.body, *some)):
                told[text] = told.get(text, True) and is_low
        for store in self._stores:
            for words, is_low in _beside(store):
                told |= {text: is_low and told.get(text, True) for text in sentences_in(words)}
        for text, is_low in told.items():
            self._told(text).doubt = DOUBT if is_low else 0.0
        return _ByWord(map(self._told, told))

    @cached_property
    def _heard(self) -> _ByWord:
        gone, heard = self.purged.get, sorted(self._hear(), key=lambda one: one.time)
        known = (replace(one, is_off=one.is_off or one.time <= gone(one.line[0], -1.0)) for one in heard)
        last = {(text, one.is_off): one for one in known for text in sentences_of(one.text)}
        return _ByWord(_Told(text, one.time, one) for (text, _), one in last.items())

    @cached_property
    def purged(self) -> dict[str, float]:
        """The sessions from which nothing may be kept that was said before a moment (L2)."""
        return {name: when for gone in self._histories for name, when in gone.purged.items()}


def _beside(store: MemoryStore) -> Iterator[tuple[bytes, bool]]:
    """What was written beside the memories, the index and the newest logs (K1), and whether nobody vouched for it."""
    with suppress(MemdirError, OSError):
        yield store.read_bytes(INDEX_NAME) or b"", False
    yield from ((line.text.encode("utf-8", "replace"), line.trust.is_low) for line in recent_lines(store))


@cache
def _supposed(tongue: str) -> re.Pattern[str]:
    known = alternatives("condition", "en" if tongue == UNKNOWN else tongue)
    return re.compile(rf"(?:{known})[^,;:，；：]*", re.IGNORECASE)


@lru_cache(4096)
def values_in(text: str) -> frozenset[str]:
    """What of a text is no matter of wording: figures, days, names, words of code, as they are looked up."""
    terms = Sentence(text).terms
    figures = (term.lstrip("0") or "0" for term in terms if any(map(str.isdigit, term)))
    return frozenset(figures) | (terms & _calendar()) | Sentence(" ".join(facts_in(text))).terms


def counts(text: str) -> bool:
    """Whether a text may tell a value: as it is written, or a date or a number in words."""
    return bool(values_in(text) or may_hold_date(text) or not number_words().isdisjoint(Sentence(text).words))


@cache
def number_words(tongue: str = UNKNOWN) -> frozenset[str]:
    """The words for numbers of a language, or of all: in another one "on" is ten."""
    known = words_by_meaning()
    tables = [meanings.items() for meanings in ([known[tongue]] if tongue in known else known.values())]
    return frozenset(word for table in tables for meaning, some in table if meaning[:2] == "N=" for word in some)


@cache
def _calendar() -> frozenset[str]:
    tables = [meanings.items() for meanings in words_by_meaning().values()]
    named = (words for table in tables for meaning, words in table if meaning.startswith(("W=", "M=")))
    return frozenset(stem(word.rstrip("*")) for words in named for word in words if len(word) > SHORTEST_DAY)
