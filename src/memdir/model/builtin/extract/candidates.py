"""From judged sentences to candidate memories: which belong together, of what type, and with what support.

Only the user's own sentences start a candidate. Words of the assistant come in when the user adopts them: by a yes to
"shall I always ...?" or by praise for how something was done (T2); text of tools never does (X12).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from memdir.model.builtin.extract.conversation import Conversation
from memdir.model.builtin.extract.features import Seen, Turn
from memdir.model.builtin.extract.judge import TYPES, Judge
from memdir.model.builtin.extract.lexicon import cues
from memdir.model.builtin.extract.prose import blank_quotes, own_blocks, sentences
from memdir.model.builtin.extract.words import fold, language, stems, tokens

AGENT_TALK = re.compile(r"\b(?:ai|a\.i\.|assistants?|agents?|language models?|llms?|bots?|memory|remember|standing order|system)\b", re.IGNORECASE)
_POINTS_BACK = re.compile(r"\b(?:that|this|those|these|it|your way|like that|so)\b", re.IGNORECASE)
_COUNTED = re.compile(
    r"(?:(?:front|point|thing|item|number)\s+)?(?:one|two|three|four|first(?:ly)?|second(?:ly)?|third(?:ly)?|erstens|zweitens|drittens|primero|segundo|tercero|primeiro|terceiro|"
    r"premièrement|deuxièmement|primo|secondo|ten eerste|ten tweede|po pierwsze|po drugie|во-первых|во-вторых|第一|第二|一[，、]|二[，、]|\d[.)])\s*[,.:，、：)-]",
    re.IGNORECASE,
)
SHORT_YES_WORDS = 8  # a longer answer says something of its own and is judged by itself
MAX_ADOPTED = 3  # sentences of the assistant that praise can refer to


@dataclass(frozen=True)
class Judged:
    """A sentence with what the judge thinks of it."""

    seen: Seen
    odds: dict[str, float]

    @property
    def score(self) -> float:
        """How likely the sentence is something to keep."""
        return sum(self.odds[letter] for letter in TYPES)


@dataclass(frozen=True)
class Candidate:
    """A memory in the making."""

    type: str
    turn: Turn
    core: tuple[Judged, ...]
    support: tuple[Judged, ...]
    adopted: tuple[str, ...]
    score: float
    granted: bool = False  # a plain yes to "shall I always ...?"

    @property
    def topic(self) -> list[str]:
        """Stems of what it is about."""
        return [stem for judged in (*self.core, *self.support) for stem in stems(judged.seen.sentence.text)]


def find_candidates(conversation: Conversation, turns: Sequence[Turn], judge: Judge) -> list[Candidate]:
    """Every candidate of the conversation, strongest reasons first to be weighed later."""
    found: list[Candidate] = []
    for turn in turns:
        judged = [Judged(seen, judge.probabilities(seen.features)) for seen in turn.seen]
        granted = _granted(turn, judged)
        if granted:
            found.append(granted)
            continue
        found.extend(_grouped(conversation, turn, judged, judge))
    return found


def _granted(turn: Turn, judged: list[Judged]) -> Candidate | None:
    """A bare yes to an explicit question about how to work from now on."""
    if not judged or not turn.before.rstrip().endswith(("?", "？")):
        return None
    first = judged[0]
    if "yes" not in first.seen.meanings or len(first.seen.words) > SHORT_YES_WORDS or "halt" in first.seen.meanings - {"yes"}:
        return None
    asked = [sentence.text for sentence in sentences(turn.before, 0)]
    question = fold(asked[-1]) if asked else ""
    meant = {cue.meaning for cue in cues(question, tokens(question), language(question))}
    if "offer" not in meant:
        return None
    support = tuple(one for one in judged[1:] if one.odds["N"] < one.odds["W"] + one.score)
    return Candidate("feedback", turn, (first,), support, tuple(asked[-2:]), 1.0, granted=True)


def _grouped(conversation: Conversation, turn: Turn, judged: list[Judged], judge: Judge) -> Iterator[Candidate]:
    threshold = judge.settings["core"]
    core = [at for at, one in enumerate(judged) if 1 - one.odds["N"] >= threshold and one.score >= threshold / 2]
    for group in _split(judged, core):
        members = tuple(judged[at] for at in group)
        kind = _type(members)
        support = tuple(judged[at] for at in _support(judged, group, core, judge.settings["support"]))
        adopted = _praised(conversation, turn, members) if kind == "feedback" else ()
        yield Candidate(kind, turn, members, support, adopted, max(one.score for one in members))


def _type(members: Sequence[Judged]) -> str:
    sums = {letter: sum(one.odds[letter] for one in members) for letter in TYPES}
    return TYPES[max(sums, key=lambda letter: sums[letter])]


def _split(judged: list[Judged], core: list[int]) -> list[list[int]]:
    """Sentences of one turn by memory: another one begins where the type clearly changes."""
    groups: list[list[int]] = []
    for at in core:
        if _COUNTED.match(judged[at].seen.sentence.text):
            groups.append([at])
            continue
        letter = max(TYPES, key=lambda name: judged[at].odds[name])
        home = next((group for group in groups if _fits(judged, group, at, letter)), None)
        if home is None:
            groups.append([at])
        else:
            home.append(at)
    return groups


def _fits(judged: list[Judged], group: list[int], at: int, letter: str) -> bool:
    theirs = TYPES[letter] == _type([judged[other] for other in group])
    sure = judged[at].odds[letter] >= 0.6 * judged[at].score and judged[at].score > 0.5
    return theirs or not sure


def _support(judged: list[Judged], group: list[int], core: list[int], least: float) -> Iterator[int]:
    """Neighbours that give the reason or the use: a chain beside the group that does not cross another one."""
    for step in (1, -1):
        at = (group[-1] if step > 0 else group[0]) + step
        while 0 <= at < len(judged) and at not in core and judged[at].odds["W"] + judged[at].score >= least:
            yield at
            at += step
    inner = range(group[0] + 1, group[-1])
    yield from (at for at in inner if at not in core and judged[at].odds["W"] + judged[at].score >= least)


def _praised(conversation: Conversation, turn: Turn, members: Sequence[Judged]) -> tuple[str, ...]:
    """What the assistant had done, in its words, when the user praises it without naming it."""
    meanings = frozenset().union(*(one.seen.meanings for one in members))
    text = " ".join(one.seen.sentence.plain for one in members)
    if "praise" not in meanings or not _POINTS_BACK.search(text) or not turn.before:
        return ()
    from_tools = {stem for line in conversation.lines if line.kind == "tool_result" for stem in stems(line.text)}
    own = [sentence.text for sentence in sentences(turn.before, 0) if not sentence.text.endswith("?")]
    safe = [text for text in own if _is_own_work(text, from_tools)]
    return tuple(safe[:MAX_ADOPTED])


def _is_own_work(text: str, from_tools: set[str]) -> bool:
    topic = set(stems(text))
    return not AGENT_TALK.search(text) and len(topic & from_tools) <= len(topic) // 2


def without_sentence(candidate: Candidate, unwanted: set[int]) -> Candidate | None:
    """The candidate without some of its sentences (by place in the turn), or None when no core is left."""
    core = tuple(one for one in candidate.core if one.seen.sentence.number not in unwanted)
    support = tuple(one for one in candidate.support if one.seen.sentence.number not in unwanted)
    return replace(candidate, core=core, support=support) if core else None


def said_before(conversation: Conversation, turn: Turn) -> str:
    """The user's last own words before a turn: what the talk was about."""
    for line in reversed(conversation.lines[: turn.index]):
        if line.role == "user" and line.kind == "said":
            own = " ".join(own_blocks(line.text))
            return blank_quotes(own)
    return ""
