"""Which existing memory a text is about, and whether the instruction file already says it.

Overlap of topic stems, weighted by how much a stem says: what is common in talk says little.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from memdir.model.builtin.extract.talk import Existing
from memdir.model.builtin.extract.wording import rule_and_reason, tidy
from memdir.text.language import alternatives, anywhere, at_end, cues, fold, language, meanings_in, stems, tokens
from memdir.text.nearness import are_of_two, forbids_another
from memdir.text.sentences import sentences_of

if TYPE_CHECKING:
    from memdir.model.builtin.extract.candidates import MemoryCandidate

LEAST_SHARED, SHARED_BY_NEWS = 0.8, 0.4  # weight of what two share that may be one; the same where something changed
LEAST_COVERED = 0.5  # of the memory's name and description, where little is shared
RULE_STEMS = frozenset(stems("always never now here repo immer toujours siempre sempre altijd"))
RULE_STEMS |= frozenset(stems("project projekt projet proyecto progetto codebase repository"))  # where a rule holds
_NUMBERED = re.compile(r"(?P<thing>[^\W\d_]{2,})(?P<joint> ?#| |-)(?P<number>\d+|[A-HJ-Z])(?!\w|[.,:/-]\d|['’])")
_OPENING = re.compile(r"(?:the )?([^\W\d_]{2,}) #?(\d+)(?= [^\W\d_])([^.!?]*)")  # "gate 3 closes at 18"
_NEXT = re.compile(r"\s+([^\W\d_]+)")
_WE = re.compile(r"(?:(?:no|nein|non|não|nee|nej)\b\W*)?(?:we|wir|nous|on|nosotros|noi|wij|vi)\b")
MAX_COMPARED = 24  # memories looked at closely; the one that is meant shares more words than most

_Things = dict[str, set[str]]  # kinds of things that go by a number, each with its numbers


@dataclass(frozen=True)
class Shelf:
    """The memories that exist and the instruction file, ready to be compared with."""

    memories: tuple[Existing, ...]
    topics: tuple[frozenset[str], ...]
    headlines: tuple[frozenset[str], ...]
    familiar: Mapping[str, float]  # how little a common stem says, 0 to 1
    instructions: tuple[str, ...]  # sentence by sentence

    def shared(self, topic: frozenset[str], number: int) -> float:
        """How much of a memory's topic a text shares, telling stems counting more."""
        return self._weight(topic & self.topics[number])

    def covered(self, topic: frozenset[str], number: int) -> float:
        """The share of a memory's headline that a text mentions."""
        whole = self._weight(self.headlines[number])
        return self._weight(topic & self.headlines[number]) / whole if whole else 0.0

    def _weight(self, some: frozenset[str]) -> float:
        return math.fsum(1.0 - self.familiar.get(stem, 0.0) for stem in some)

    def near(self, topic: frozenset[str]) -> list[int]:
        """The memories that share most with a text."""
        shared = [self.shared(topic, number) for number in range(len(self.topics))]
        return sorted(filter(shared.__getitem__, range(len(shared))), key=lambda number: -shared[number])[:MAX_COMPARED]


def shelve(existing: Sequence[Existing], instructions: str, familiar: Mapping[str, float]) -> Shelf:
    """Prepare the memories for comparison."""
    headlines = tuple(frozenset(stems(f"{one.name} {one.description}")) for one in existing)
    topics = tuple(headline | frozenset(stems(one.body)) for one, headline in zip(existing, headlines, strict=True))
    return Shelf(tuple(existing), topics, headlines, familiar, tuple(sentences_of(instructions)))


def best_match(candidate: MemoryCandidate, shelf: Shelf) -> Existing | None:
    """The memory that a candidate changes, by taking its value back or as the one that shares most with it, if that is
    enough; None when it is new."""
    topic, said = _about(candidate), [one.seen.clause.text for one in candidate.core]
    is_news = any("change" in seen.meanings for seen in candidate.told)

    def is_meant(number: int) -> bool:
        memory = shelf.memories[number]
        is_named = shelf.shared(topic, number) >= (SHARED_BY_NEWS if is_news else LEAST_SHARED)
        is_named = is_named or shelf.covered(topic, number) >= LEAST_COVERED or topic <= shelf.topics[number]
        is_so = any(forbids_another(one, memory.description or memory.name) for one in said)
        return is_named and not is_so and (memory.type == "user") == (candidate.type == "user")

    named = (shelf.memories[at] for at in of_one_thing(candidate, shelf, topic) if is_meant(at))
    return corrected(said[-1], candidate.turn.language, shelf.memories) or next(named, None)


def _about(candidate: MemoryCandidate) -> frozenset[str]:
    """The stems of what a candidate is about; where the person corrects an answer and leans on it, "no, it's MySQL 8
    now", those of the answer too. "Always answer in one line" says nothing of the database that it was about."""
    turn, said = candidate.turn, fold(candidate.turn.line.text)
    topic = candidate.topic - RULE_STEMS - _deciding(said)
    is_change = any(seen.meanings & {"change", "halt"} for seen in turn.seen)
    leans = turn.is_answered and is_change and (anywhere("leans", turn.language).search(said) or _WE.match(said))
    return topic | frozenset(stems(turn.before)) if leans else topic


def corrected(text: str, tongue: str, memories: Sequence[Existing]) -> Existing | None:
    """The memory whose value a clause takes back by naming it: "the budget is 4,500, not 5,400"."""
    text = rule_and_reason(text, tongue)[0]  # "because legal did not renew it" corrects nothing
    found = re.search(rf"\s(?:{alternatives('negated', tongue)})\s+((?:\S+\s*){{1,4}})$", text, re.IGNORECASE)
    head = tidy(re.split(r"[,;:]\s+", text[: found.start()].rstrip(" ,"))[-1], tongue) if found else ""
    mine, said, gone = set(stems(head)), set(tokens(fold(head))), set(tokens(fold(found[1]))) if found else set()
    same = []
    for memory in memories if gone else ():
        words = set(tokens(fold(told := f"{memory.description} {memory.body}")))
        if gone <= words and said - words and 2 * len(mine.intersection(stems(told))) > len(mine):
            same.append(memory)
    return same[0] if len(same) == 1 else None


def _deciding(said: str) -> frozenset[str]:
    """The stems of what says that something was decided or changed, which is no part of what it is about."""
    words = tokens(said)
    found = (cue for cue in cues(said, words, language(said)) if cue.meaning in ("decide", "change"))
    return frozenset(stem for cue in found for stem in stems(" ".join(words[cue.at :][: len(cue.phrase.split())])))


def of_one_thing(candidate: MemoryCandidate, shelf: Shelf, topic: frozenset[str]) -> list[int]:
    """The memories near a topic without those of other things; what changes may be the number itself."""
    said = [one.seen.clause.text for one in candidate.core]
    is_news = any("change" in one.seen.meanings for one in candidate.core)

    def is_other(told: str) -> bool:
        is_same = is_news and "change" not in meanings_in(told)  # what changed is of the same thing
        return any(are_other_things(one, told) or (not is_same and are_of_two(one, told)) for one in said)

    return [number for number in shelf.near(topic) if not is_other(shelf.memories[number].description)]


def are_other_things(one: str, other: str) -> bool:
    """Whether two texts are about things of one kind with other numbers: gadgets 07 and 09, gates 2 and 3."""
    mine, theirs = _numbered(one), _numbered(other)
    opens, begins = (_OPENING.match(text.casefold()) for text in (one, other))
    is_other = any(mine[kind].isdisjoint(theirs[kind]) for kind in mine.keys() & theirs.keys())
    if is_other or not opens or not begins or opens[1] != begins[1] or opens[2] == begins[2]:
        return is_other
    return opens[3] != begins[3] and not any(anywhere(one).fullmatch(opens[1]) for one in ("takes-value", "value-name"))


def _numbered(text: str) -> _Things:
    """The things in a text that go by a number or letter. Behind a name ("PostgreSQL 17"), a port or a version, before
    what it counts ("keep 30 backups"), and where a thing is put ("in hall 3"), a number is a value."""
    tongue, found = language(fold(text)), _Things()
    for one in _NUMBERED.finditer(text):
        thing, before, rest = one["thing"], text[: one.start()], text[one.end() :]
        is_id, is_first = one["joint"] == "-" and thing.isupper(), not before.strip()
        is_common = thing.islower() or is_id or ((tongue == "de" or is_first) and thing[1:].islower())
        if not is_common or not stems(thing) or anywhere("value-name").fullmatch(thing):
            continue
        after = _NEXT.match(rest)
        counts_nothing = after is None or not stems(after[1]) or one["number"][0] not in "123456789" or is_id
        is_placed = at_end("takes-value", tongue).search(before)
        if at_end("clause-opens", tongue).search(before) or (counts_nothing and not is_placed):
            found.setdefault(thing.casefold(), set()).add(one["number"].lstrip("0"))
    return found
