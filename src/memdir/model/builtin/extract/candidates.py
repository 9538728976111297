"""From judged clauses to candidate memories: which belong together, of what type, and with what support.

Only the user's own words start a candidate; text of tools never does (X12).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import takewhile

from memdir.model.builtin.extract.features import Seen, UserTurn
from memdir.model.builtin.extract.guards import may_stand
from memdir.model.builtin.extract.judge import TYPES, SentenceJudge
from memdir.model.builtin.extract.same_memory import RULE_STEMS, corrected
from memdir.model.builtin.extract.talk import Existing
from memdir.model.builtin.extract.wishes import announces, is_bare, is_said
from memdir.model.builtin.extract.wording import rule_and_reason
from memdir.text.language import alternatives, anywhere, meanings_in, stems
from memdir.text.nearness import are_of_two

KEEP = 0.77  # how likely a clause must be something to keep
KEEP_ALONE = 0.6  # the same where nothing else is said: nobody types a mere aside
SUPPORT = 0.3  # how likely its neighbour must be more than talk
SUPPORT_WITHIN = 0.1  # the same within one sentence
THINKABLE = {"plain": 0.1, "short": 0.3, "later": 0.2, "moved": 0.1}  # how likely a rule must be
ERRAND = frozenset({"request", "ack", "moment", "polite"})  # of what stands in one sentence with a wish, and is none
NOT_MEANT = frozenset({"onlynow", "rumour", "compose", "story"})
RULE_SHARE = 0.25  # of what speaks for a fact that must speak for a rule where something is forbidden


@dataclass(frozen=True)
class Scored:
    """A clause with what the judge thinks of it."""

    seen: Seen
    odds: dict[str, float]
    is_asked: bool = False  # in so many words

    @property
    def score(self) -> float:
        """How likely the clause is something to keep."""
        return 1.0 if self.is_asked else sum(self.odds[letter] for letter in TYPES)

    @property
    def is_explicit(self) -> bool:
        """Whether it is a wish in so many words, or says that something must always or never be so."""
        return bool(self.seen.wish or self.seen.rule)


@dataclass(frozen=True)
class MemoryCandidate:
    """A memory in the making."""

    type: str
    turn: UserTurn
    core: tuple[Scored, ...]
    support: tuple[Scored, ...] = ()
    alone: bool = True  # the only candidate of its turn

    @property
    def told(self) -> tuple[Seen, ...]:
        """The clauses that tell of it: all of its turn where nothing else of that is kept."""
        return self.turn.seen if self.alone else tuple(one.seen for one in (*self.core, *self.support))

    @property
    def topic(self) -> frozenset[str]:
        """Stems of what it is about."""
        return frozenset(stem for seen in self.told for stem in stems(seen.clause.text))


def find_candidates(
    turns: Sequence[UserTurn], judge: SentenceJudge, known: Sequence[Existing]
) -> list[MemoryCandidate]:
    """Every candidate of the conversation, in the order in which it was said."""
    found: list[MemoryCandidate] = []
    for turn in turns:
        some = list(_grouped(turn, list(_judged(turn, judge, known))))
        found.extend(replace(one, alone=len(some) == 1) for one in some)
    return found


def _judged(turn: UserTurn, judge: SentenceJudge, known: Sequence[Existing]) -> Iterator[Scored]:
    """What the judge thinks, and more where a wish is said in so many words, or something moved."""
    due = judge.due(feature for seen in turn.seen for feature in seen.features)
    thought = [judge.probabilities(seen.features, seen.words, due) for seen in turn.seen]
    is_jest = any("irony" in one.meanings for one in turn.seen)  # who jests says no rule
    told, around = _told(turn, thought) if not is_jest else set(), frozenset[str]()
    for at, (seen, odds) in enumerate(zip(turn.seen, thought, strict=True)):
        text = seen.clause.text
        rule, _ = rule_and_reason(text, turn.language)  # "otherwise the build fails" tells no story
        around |= seen.meanings if rule == text else meanings_in(rule)
        is_meant = not is_jest and "question" not in seen.features and not around & NOT_MEANT
        is_ruled = is_meant and (_is_rule(seen, judge) or corrected(text, turn.language, known) is not None)
        told |= {at + 1} if is_meant and announces(text, seen.wish, seen.meanings) else set()
        around = frozenset() if seen.clause.ends else around
        yield Scored(seen, odds, at in told or is_ruled)


def _is_rule(seen: Seen, judge: SentenceJudge) -> bool:
    """Whether its words make a rule of it and it is likely enough something to keep, whatever is said around it."""
    return bool(seen.rule) and 1 - judge.probabilities(seen.features, seen.words)["N"] >= THINKABLE[seen.rule]


def _told(turn: UserTurn, thought: Sequence[dict[str, float]]) -> set[int]:
    """The clauses that are to be remembered in so many words, be it a maybe: by a wish of their own, or by a bare
    "remember that": of its neighbours the likelier."""
    found = set()
    for at, seen in enumerate(turn.seen):
        text, wish = seen.clause.text, seen.wish
        if announces(text, wish, seen.meanings):
            continue
        if is_bare(text):
            near = [other for other in (at - 1, at + 1) if 0 <= other < len(thought)]
            found.update(sorted(near, key=lambda other: -sum(thought[other][letter] for letter in TYPES))[:1])
        elif wish and is_said(text[wish.says :]):
            found.add(at)
    return found


def _grouped(turn: UserTurn, judged: list[Scored]) -> Iterator[MemoryCandidate]:
    """The memories of one turn, each with what explains it."""
    groups: list[list[int]] = []
    for at, one in enumerate(judged):
        if one.score < (KEEP if len(judged) > 1 else KEEP_ALONE) or not may_stand(one.seen, turn, type_of((one,))):
            continue
        if groups and not _begins_another([judged[other] for other in groups[-1]], one, turn.language):
            groups[-1].append(at)
        else:
            groups.append([at])
    kept = {at for group in groups for at in group}
    for group in groups:
        core = tuple(judged[at] for at in group)
        support = tuple(judged[at] for at in _support(turn, judged, group, kept))
        yield MemoryCandidate(type_of(core), turn, core, support)


def type_of(members: Sequence[Scored]) -> str:
    """The type of a memory made of these clauses: what speaks most for; between a rule and a fact of the project,
    "never" says that it is a rule."""
    sums = {letter: sum(one.odds[letter] for one in members) for letter in TYPES}
    likely = max(sums, key=lambda letter: sums[letter])
    forbids = any(one.seen.meanings >= {"always", "forbid"} and not one.seen.dates for one in members)
    return TYPES["F" if forbids and likely == "P" and sums["F"] >= RULE_SHARE * sums["P"] else likely]


def _begins_another(theirs: Sequence[Scored], one: Scored, language: str) -> bool:
    """Another memory begins where the user counts, or adds something of another kind or on another subject."""
    text, kind, another = one.seen.clause.text, type_of(theirs), type_of((one,))
    is_asked_again = one.seen.wish and one.seen.wish.kind == "remember-this"
    if is_asked_again or re.match(rf"(?:{alternatives('counted', language)})\s*[,.:，、：)-]|\d[.)]\s", text, re.I):
        return True
    if (kind != another and "user" in (kind, another)) or any(are_of_two(x.seen.clause.text, text) for x in theirs):
        return True
    shared = set(stems(text)) & {stem for other in theirs for stem in stems(other.seen.clause.text)}
    if one.is_explicit and any(other.is_explicit for other in theirs):
        return not shared - RULE_STEMS  # a rule may be said again in other words
    return bool(anywhere("adds", language).match(text)) and (kind != another or (not shared and another != "user"))


def _support(turn: UserTurn, judged: list[Scored], group: list[int], kept: set[int]) -> Iterator[int]:
    """The neighbours that explain it, up to the next memory; what is of one sentence belongs together sooner."""
    beside = [(judged[at], judged[min(at + 1, len(judged) - 1)].seen.clause.text) for at in group]  # "…, remember that"
    is_wished = any(one.is_asked and (one.seen.wish or is_bare(text)) for one, text in beside)

    def explains(at: int) -> bool:
        is_within = not judged[at - (at > group[0])].seen.clause.ends
        is_more = 1 - judged[at].odds["N"] >= (SUPPORT_WITHIN if is_within else SUPPORT)
        is_more = is_more or (is_within and is_wished and not judged[at].seen.meanings & ERRAND)
        return at not in kept and is_more and may_stand(judged[at].seen, turn, type_of((judged[at],)))

    for some in (range(group[0] - 1, -1, -1), range(group[-1] + 1, len(judged))):
        yield from takewhile(explains, some)
