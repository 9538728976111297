"""From judged sentences to candidate memories: which belong together, of what type, and with what support.

Only the user's own sentences start a candidate. Words of the assistant come in when the user adopts them: by a yes to
"shall I always ...?" or by praise for how something was done (T2); text of tools never does (X12).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from memdir.model.builtin.extract.features import Seen, UserTurn
from memdir.model.builtin.extract.judge import TYPES, SentenceJudge
from memdir.model.builtin.extract.same_memory import RULE_STEMS
from memdir.model.builtin.extract.talk import Talk, sentences
from memdir.text.language import fold, stems, tokens
from memdir.text.language import language as language_of
from memdir.text.phrases import alternatives, anywhere, cues
from memdir.text.speakers import own_words

SHORT_YES_WORDS = 8  # a longer answer says something of its own and is judged by itself; so does a longer role
TELLING_STEMS = 8  # praise with more topic words than that names itself what was good
SURE = 0.5  # a sentence more likely kept than not may stand on its own
MIN_LETTERS = 6  # shorter utterances are sounds: "ok.", "hm", "right."
DATED = 2.0  # how much a day ahead speaks for the project
PLAIN = 0.9  # how sure a plain rule is
RULE_WORDS = 4  # fewer are a shout
NOT_MEANT = frozenset({"suppose", "irony", "onlynow", "undecided", "rumour", "compose", "others", "story"})
_NUMBER = re.compile(r"\d")
MAX_ADOPTED = 3  # sentences of the assistant that praise can refer to


@dataclass(frozen=True)
class Scored:
    """A sentence with what the judge thinks of it."""

    seen: Seen
    odds: dict[str, float]

    @property
    def score(self) -> float:
        """How likely the sentence is something to keep."""
        return sum(self.odds[letter] for letter in TYPES)


@dataclass(frozen=True)
class MemoryCandidate:
    """A memory in the making."""

    type: str
    turn: UserTurn
    core: tuple[Scored, ...]
    support: tuple[Scored, ...]
    adopted: tuple[str, ...]
    score: float
    granted: bool = False  # a plain yes to "shall I always ...?"
    alone: bool = True  # the only candidate of its turn
    earlier: UserTurn | None = None  # the user's turn before

    @property
    def topic(self) -> list[str]:
        """Stems of what it is about."""
        return [stem for judged in (*self.core, *self.support) for stem in stems(judged.seen.sentence.text)]


def find_candidates(conversation: Talk, turns: Sequence[UserTurn], judge: SentenceJudge) -> list[MemoryCandidate]:
    """Every candidate of the conversation, strongest reasons first to be weighed later."""
    found: list[MemoryCandidate] = []
    for number, turn in enumerate(turns):
        earlier = turns[number - 1] if number else None
        judged = [_scored(seen, turn, judge) for seen in turn.seen]
        granted = _granted(turn, judged)
        some = [granted] if granted else _grouped(conversation, turn, judged, judge)
        found.extend(replace(one, earlier=earlier) for one in some)
    return found


def _scored(seen: Seen, turn: UserTurn, judge: SentenceJudge) -> Scored:
    """What the judge thinks, and more where the words leave no doubt: "always …", "the port moved to 5440"."""
    odds = judge.probabilities(seen.features)
    is_said = "question" not in seen.features and not seen.meanings & NOT_MEANT
    if is_said and is_plain_rule(seen, turn.language):
        return Scored(seen, _surely("F", odds))
    if is_said and {"c:self@start", "c:job"} <= set(seen.features) and len(seen.words) <= SHORT_YES_WORDS:
        return Scored(seen, _surely("U", odds))
    if is_said and _tells_value(seen, turn.language):
        return Scored(seen, _surely(max(TYPES, key=lambda letter: odds[letter]), odds))
    return Scored(seen, odds)


def is_plain_rule(seen: Seen, language: str) -> bool:
    """A sentence that begins as a rule begins, or says that something must always or never be so."""
    text = seen.sentence.text
    if len(seen.words) < RULE_WORDS or anywhere("no-rule", language).search(text):
        return False
    return bool(anywhere("rule-begins", language).match(text) or anywhere("rule-says", language).search(text))


def _tells_value(seen: Seen, language: str) -> bool:
    """Where something runs or has moved to, with the number; what the user himself moved is work."""
    text = seen.sentence.text
    told = anywhere("value-moved", language).search(text)
    is_own = anywhere("first-person", language).match(text)
    return bool(told and _NUMBER.search(text, told.end())) and not is_own and len(seen.words) >= RULE_WORDS


def _surely(letter: str, odds: dict[str, float]) -> dict[str, float]:
    return {name: PLAIN * (name == letter) + (1 - PLAIN) * share for name, share in odds.items()}


def _granted(turn: UserTurn, judged: list[Scored]) -> MemoryCandidate | None:
    """A bare yes to an explicit question about how to work from now on."""
    if not judged or not turn.before.rstrip().endswith(("?", "？")):
        return None
    first = judged[0]
    if (
        "yes" not in first.seen.meanings
        or len(first.seen.words) > SHORT_YES_WORDS
        or "halt" in first.seen.meanings - {"yes"}
    ):
        return None
    asked = [sentence.text for sentence in sentences(own_words(turn.before), 0)]
    question = fold(asked[-1]) if asked else ""
    meant = {cue.meaning for cue in cues(question, tokens(question), language_of(question))}
    if "offer" not in meant:
        return None
    support = tuple(one for one in judged[1:] if one.odds["N"] < one.odds["W"] + one.score)
    return MemoryCandidate("feedback", turn, (first,), support, tuple(asked[-2:]), 1.0, granted=True)


def _grouped(
    conversation: Talk, turn: UserTurn, judged: list[Scored], judge: SentenceJudge
) -> Iterator[MemoryCandidate]:
    threshold = judge.settings["core"]
    core = [at for at, one in enumerate(judged) if 1 - one.odds["N"] >= threshold and one.score >= threshold / 2]
    groups = _split(judged, core, turn.language)
    for group in groups:
        members = tuple(judged[at] for at in group)
        kind = _type(members)
        rivals = {at for other in groups if other is not group for at in other}
        support = tuple(judged[at] for at in _support(judged, group, rivals, judge.settings["support"]))
        adopted = _praised(conversation, turn, members) if kind == "feedback" else ()
        yield MemoryCandidate(
            kind, turn, members, support, adopted, max(one.score for one in members), alone=len(groups) == 1
        )


def _type(members: Sequence[Scored]) -> str:
    sums = {letter: sum(one.odds[letter] for one in members) for letter in TYPES}
    if any("date:ahead:exact" in one.seen.features for one in members):
        sums["P"] *= DATED  # rules have no day; what has one is mostly a fact of the project
    return TYPES[max(sums, key=lambda letter: sums[letter])]


def _split(judged: list[Scored], core: list[int], language: str) -> list[list[int]]:
    """Sentences of one turn by memory: another one begins where the user counts, or adds something of another kind."""
    groups: list[list[int]] = []
    for at in core:
        if groups and not _begins_another(judged, groups[-1], at, language):
            groups[-1].append(at)
        else:
            groups.append([at])
    return groups


def _begins_another(judged: list[Scored], group: list[int], at: int, language: str) -> bool:
    text = judged[at].seen.sentence.text
    if re.match(rf"(?:{alternatives('counted', language)})\s*[,.:，、：)-]|\d[.)]\s", text, re.IGNORECASE):
        return True
    theirs = [judged[other] for other in group]
    if _is_another_rule(theirs, judged[at], language):
        return True
    if not anywhere("adds", language).match(text) or judged[at].score < SURE:
        return False
    if _type(theirs) != _type([judged[at]]) and max(one.score for one in theirs) >= SURE:
        return True
    shared = set(stems(text)) & {stem for one in theirs for stem in stems(one.seen.sentence.text)}
    dated = any(one.seen.dates for one in theirs) and bool(judged[at].seen.dates)
    return dated and not shared and not anywhere("goes-on", language).search(text)


def _is_another_rule(theirs: Sequence[Scored], one: Scored, language: str) -> bool:
    """Two rules are two memories, and so are a rule and who the user is; a rule may be said again in other words."""
    if not any(is_plain_rule(other.seen, language) for other in theirs):
        return False
    shared = set(stems(one.seen.sentence.text)) & {stem for other in theirs for stem in stems(other.seen.sentence.text)}
    is_person = one.odds["U"] >= SURE and _type(theirs) != "user"
    return is_person or (is_plain_rule(one.seen, language) and not shared - RULE_STEMS)


def _support(judged: list[Scored], group: list[int], rivals: set[int], least: float) -> list[int]:
    """What stands with the group and is no errand: all between its sentences, and neighbours that explain it."""
    chosen = [at for at in range(group[0] + 1, group[-1]) if at not in group]
    explained = _type([judged[at] for at in group]) in ("feedback", "project")
    for step in (1, -1):
        at = (group[-1] if step > 0 else group[0]) + step
        reach = 1
        while (
            0 <= at < len(judged)
            and at not in rivals
            and _belongs(judged[at], reach, least if explained else 3 * least)
        ):
            chosen.append(at)
            at, reach = at + step, reach + 1
    return [at for at in sorted(chosen) if at not in rivals and not is_errand(judged[at])]


def _belongs(one: Scored, reach: int, least: float) -> bool:
    if is_errand(one):
        return False
    return 1 - one.odds["N"] >= (least if reach > 1 else least / 3)


def is_errand(one: Scored) -> bool:
    """A question, a request for work right now, a joke, or a mere sound."""
    features, meanings = one.seen.features, one.seen.meanings
    errand = "c:request@start" in features or {"c:moment@start", "c:polite"} <= set(features)
    asks = "question" in features or (errand and not meanings & {"durable", "always", "forbid"})
    return asks or "irony" in meanings or len(one.seen.sentence.text) < MIN_LETTERS


def _praised(conversation: Talk, turn: UserTurn, members: Sequence[Scored]) -> tuple[str, ...]:
    """What the assistant had done, in its words, when the user praises it without naming it."""
    meanings = frozenset().union(*(one.seen.meanings for one in members))
    text = " ".join(one.seen.sentence.text for one in members)
    if (
        "praise" not in meanings
        or not anywhere("points-back", turn.language).search(text)
        or len(set(stems(text))) > TELLING_STEMS
    ):
        return ()
    from_tools = {
        stem
        for line in conversation.lines
        if line.kind in ("tool_result", "paste", "reminder")
        for stem in stems(line.text)
    }
    own = [
        sentence.text
        for sentence in sentences(own_words(turn.before), 0)
        if not sentence.text.endswith(("?", ":")) and not sentence.text.startswith("#")
    ]
    safe = [text for text in own if _is_own_work(text, from_tools)]
    return tuple(safe[:MAX_ADOPTED])


def _is_own_work(text: str, from_tools: set[str]) -> bool:
    topic = set(stems(text))
    return not anywhere("agent-talk").search(text) and len(topic & from_tools) <= len(topic) // 2
