"""Which existing memory a text is about, and whether the instruction file already says it.

Overlap of topic stems, weighted by how much a stem says: rare in general, and rare among the memories.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from memdir.model.builtin.extract.talk import Existing
from memdir.model.builtin.extract.wording import rule_and_reason, tidy
from memdir.text.language import alternatives, anywhere, at_end, cues, fold, language, meanings_in, stems, tokens
from memdir.text.nearness import are_of_two
from memdir.text.sentences import sentences_of

if TYPE_CHECKING:
    from memdir.model.builtin.extract.candidates import MemoryCandidate

LEAST_SHARED = 0.8  # weight of what two share that may be one
LEAST_COVERED = 0.5  # of the memory's name and description, where little is shared
TELLING = 0.25  # weight of what a text shares with a memory that it speaks of: "ask" and "use" have less
RULE_STEMS = frozenset(stems("always never now here repo immer toujours siempre sempre altijd"))
RULE_STEMS |= frozenset(stems("project projekt projet proyecto progetto codebase repository"))  # where a rule holds
_NUMBERED = re.compile(r"(?P<thing>[^\W\d_]{2,})(?P<joint> ?#| |-)(?P<number>\d+|[A-HJ-Z])(?!\w|[.,:/-]\d|['’])")
_OPENING = re.compile(r"(?:the )?([^\W\d_]{2,}) #?(\d+)(?= [^\W\d_])([^.!?]*)")  # "gate 3 closes at 18"
_NEXT = re.compile(r"\s+([^\W\d_]+)")
_WE = re.compile(r"(?:(?:no|nein|non|não|nee|nej)\b\W*)?(?:we|wir|nous|on|nosotros|noi|wij|vi)\b")
MAX_OVERLAP = 6.0  # more shared words than that say nothing more
MAX_COMPARED = 24  # memories looked at closely; the one that is meant shares more words than most

_Things = dict[str, set[str]]  # kinds of things that go by a number, each with its numbers


@dataclass(frozen=True)
class Shelf:
    """The memories that exist and the instruction file, ready to be compared with."""

    memories: tuple[Existing, ...]
    topics: tuple[frozenset[str], ...]
    headlines: tuple[frozenset[str], ...]
    weights: Mapping[str, float]
    instructions: tuple[str, ...]  # sentence by sentence

    def shared(self, topic: frozenset[str], number: int) -> float:
        """How much of a memory's topic a text shares, telling stems counting more."""
        return min(MAX_OVERLAP, sum(self.weights[stem] for stem in topic & self.topics[number]))

    def covered(self, topic: frozenset[str], number: int) -> float:
        """The share of a memory's headline that a text mentions."""
        headline = self.headlines[number]
        whole = sum(self.weights[stem] for stem in headline)
        return sum(self.weights[stem] for stem in topic & headline) / whole if whole else 0.0

    def near(self, topic: frozenset[str]) -> list[int]:
        """The memories that share most with a text."""
        shared = {number: sorted(topic & theirs) for number, theirs in enumerate(self.topics)}
        sums = {number: sum(self.weights[stem] for stem in both) for number, both in shared.items() if both}
        return sorted(sums, key=lambda number: -sums[number])[:MAX_COMPARED]


def shelve(existing: Sequence[Existing], instructions: str, familiar: Mapping[str, float]) -> Shelf:
    """Prepare the memories for comparison."""
    headlines = tuple(frozenset(stems(f"{one.name} {one.description}")) for one in existing)
    topics = tuple(headline | frozenset(stems(one.body)) for one, headline in zip(existing, headlines, strict=True))
    holders = Counter(stem for topic in topics for stem in topic)
    total = math.log(1 + max(1, len(topics)))
    weights = {
        stem: (1.0 - familiar.get(stem, 0.0)) * (1.0 - 0.7 * math.log(count) / total) for stem, count in holders.items()
    }
    return Shelf(tuple(existing), topics, headlines, weights, tuple(sentences_of(instructions)))


def best_match(candidate: MemoryCandidate, shelf: Shelf, matching: Mapping[str, float]) -> Existing | None:
    """The memory that a candidate changes; None when it is new."""
    rows = match_features(candidate, shelf)
    odds = {number: sum(matching.get(name, 0.0) * value for name, value in row.items()) for number, row in rows.items()}
    best = max(odds, key=lambda number: (odds[number], -number), default=None)
    return shelf.memories[best] if best is not None and odds[best] > 0 else None


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


def is_apart(candidate: MemoryCandidate, memory: Existing, shelf: Shelf) -> bool:
    """Whether it is about something else: they share hardly more than "we decided to use", and of a fact no word of a
    change is said."""
    turn, is_rule = candidate.turn, candidate.type == memory.type == "feedback"
    if not is_rule and any("change" in seen.meanings for seen in turn.seen):
        return False
    said = f"{turn.before * turn.is_answered}\n{turn.line.text}"
    rule = " ".join(one.seen.clause.text for one in candidate.core)
    topic = frozenset(stems(rule)) - RULE_STEMS if is_rule else frozenset(stems(said)) - _deciding(said)
    number = shelf.memories.index(memory)
    is_named = shelf.shared(topic, number) >= LEAST_SHARED or shelf.covered(topic, number) >= LEAST_COVERED
    return not is_named and not topic <= shelf.topics[number]


def is_unsaid(candidate: MemoryCandidate, memory: Existing, shelf: Shelf) -> bool:
    """Whether only the assistant or earlier turns spoke of a memory: the person's words tell nothing of it and lean on
    nothing that was said. "Always answer in one line" says nothing of the database that the answer before was about."""
    turn, meanings = candidate.turn, frozenset().union(*(seen.meanings for seen in candidate.turn.seen))
    own = frozenset(stems(turn.line.text)) - _deciding(turn.line.text)
    if shelf.shared(own, shelf.memories.index(memory)) >= TELLING:
        return False
    leans, said = anywhere("leans", turn.language), fold(turn.line.text)
    is_changed = turn.is_answered and bool(meanings & {"change", "halt"})
    return not (is_changed and (leans.search(said) or _WE.match(said)))


def _deciding(text: str) -> frozenset[str]:
    """The stems of what says that something was decided or changed, which is no part of what it is about."""
    said = fold(text)
    words = tokens(said)
    found = (cue for cue in cues(said, words, language(said)) if cue.meaning in ("decide", "change"))
    return frozenset(stem for cue in found for stem in stems(" ".join(words[cue.at :][: len(cue.phrase.split())])))


def of_one_thing(candidate: MemoryCandidate, shelf: Shelf, topic: frozenset[str]) -> list[int]:
    """The memories near a topic without those of other things by number; what changes may be the number itself."""
    near, said = shelf.near(topic), " ".join(one.seen.clause.text for one in candidate.core)
    told = {number: shelf.memories[number].description for number in near}
    meanings = frozenset[str]().union(*(one.seen.meanings for one in candidate.core))
    rules = [rule_and_reason(one.seen.clause.text, candidate.turn.language)[0] for one in candidate.core]
    for number in near[:]:
        is_said = "change" in meanings - meanings_in(told[number])  # what changed is of the same thing
        if not is_said and any(are_of_two(rule, told[number]) for rule in rules):
            near.remove(number)
    if not _NUMBERED.search(said):
        return near
    return [number for number in near if not are_other_things(said, told[number])]


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


def match_features(candidate: MemoryCandidate, shelf: Shelf) -> dict[int, dict[str, float]]:
    """What speaks for each memory (by number) being the one that is meant; only memories with a shared word."""
    turn = candidate.turn
    whole = frozenset(stems(turn.line.text) if candidate.alone else candidate.topic)
    before = frozenset(stems(turn.before))
    changes = any("change" in one.seen.meanings for one in candidate.core)
    rows: dict[int, dict[str, float]] = {}
    for number in of_one_thing(candidate, shelf, whole | before):
        turned, said = shelf.shared(whole, number), shelf.shared(before, number)
        rows[number] = {
            "bias": 1.0,
            "crowd": math.log(1 + len(shelf.memories)),
            "turn": turned,
            "before": said,
            "covered": shelf.covered(whole | before, number),
            "type": float(shelf.memories[number].type == candidate.type),
            "change and topic": float(changes) * min(turned + said, 2.0),
        }
    return rows
