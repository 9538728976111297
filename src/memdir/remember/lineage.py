"""Where a written memory comes from, found by its own words, and whether it may be what it claims to be (X12, L1).

A model's prompt asks for honesty; this is what enforces it, at the moment of writing, whatever model wrote. What a
draft adds is judged claim by claim (ADR 0044): one planted sentence among honest ones is still a planted sentence.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from memdir.model.builtin.extract.lexicon import cues
from memdir.model.builtin.extract.words import fold, language, tokens
from memdir.remember.evidence import ECHOED, FACTUAL, SAID, Evidence, Support, tongue_of
from memdir.store.taxonomy import MemoryType
from memdir.store.topic import Topic
from memdir.store.trust import Trust
from memdir.text.nearness import Sentence, sentences_of

HINT = 0.2  # nearness that a translation should have at least to something that the user said
_PERSONAL = (MemoryType.USER, MemoryType.FEEDBACK)
_LABEL = re.compile(r"\*\*[^*\n]{1,40}:?\*\*:?")
_WHY = re.compile(r"\*\*Why:?\*\*:?(.*?)(?=\n\s*\*\*|\Z)", re.DOTALL | re.IGNORECASE)
_COMMANDS = frozenset({"durable", "want", "remember"})
_COMMANDS_AT_START = {"always": 3, "forbid": 3, "request": 1}  # within so many words from the beginning
_OF_THE_USER = re.compile(
    r"\buser (?:wants|prefers|likes|hates|requires|expects|needs|asks|asked|demands|insists|agreed|approves|allows)\b"
    r"|\brules?\b\s*:|\b(?:must|shall|should)\b",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class Lineage:
    """The messages a memory came from, and its trust: the lowest of theirs."""

    messages: tuple[str, ...]
    trust: Trust


@dataclass(frozen=True)
class Judged:
    """A draft's claims, and who carries each."""

    topic: Topic
    claims: tuple[str, ...]
    supports: tuple[Support, ...]
    evidence: Evidence
    is_translated: bool
    reasons: frozenset[str]
    is_new: bool

    @property
    def is_users(self) -> bool:
        """Whether the user carries it: something of it is his, and nothing of it somebody else's."""
        if not self.claims:
            return True  # it only leaves something out
        if self.planted or (self.is_new and self.supports[0].is_echo):
            return False
        must_ask = self.topic.kind not in FACTUAL and (self.is_new or self.evidence.has_foreign)
        if must_ask and not self.evidence.is_lasting:
            return any(support.is_plain for support in self.supports)
        return any(support.is_users for support in self.supports) or self._is_free_rendering()

    @property
    def is_vouched(self) -> bool:
        """Whether most of it is nearer to the user than to anybody else."""
        vouched = [one for one in self.supports if one.is_users and (one.is_agreed or one.user >= one.foreign)]
        return self.topic.kind not in FACTUAL or 2 * len(vouched) >= len(self.supports)

    @property
    def planted(self) -> list[str]:
        """The claims that are somebody else's. A reason may tell what others say; it may not command."""
        foreign = [claim for claim, support in zip(self.claims, self.supports, strict=True) if support.is_foreign]
        return [claim for claim in foreign if claim not in self.reasons or is_commanding(claim)]

    def _is_free_rendering(self) -> bool:
        """What nobody else said is the user's in other words, or in another language, when he asked for something."""
        if any(support.foreign >= SAID or support.assistant >= ECHOED for support in self.supports):
            return False
        nearest = max((support.user for support in self.supports), default=0.0)
        is_free = self.is_translated and self.evidence.is_lasting
        return nearest >= HINT and (is_free or not self.evidence.has_foreign)


def judge(topic: Topic, before: Topic | None, evidence: Evidence) -> Judged:
    """Ask the conversation about everything that a draft adds to what stood there."""
    claims = tuple(_added(topic, before))
    tongue = tongue_of(" ".join(claims))
    supports = [evidence.support(claim, topic.kind, tongue) for claim in claims]
    is_translated, reasons = tongue != evidence.tongue, frozenset(_reasons(topic))
    return Judged(topic, claims, tuple(supports), evidence, is_translated, reasons, before is None)


def without_planted(judged: Judged) -> Topic:
    """A memory of the user's without the sentences in its body that are somebody else's. Where nothing of it is his,
    there is nothing to save; where its headline is somebody else's, it is that memory and stays as it is."""
    topic = judged.topic
    if topic.kind in FACTUAL or not any(support.is_users for support in judged.supports):
        return topic
    body = topic.body
    for claim in judged.planted:
        body = body.replace(claim, "")
    if body == topic.body:
        return topic
    lines = [line for line in body.split("\n") if not line.strip() or re.search(r"\w", _LABEL.sub("", line))]
    return topic.with_body("\n".join(lines))


def fault_of_trust(judged: Judged) -> str:
    """Why a memory may not be written as it is; empty when it may. Words of a tool, a page, a paste, a recalled memory
    or the assistant cannot become a memory about the user or a rule, under whatever type, unless the user says so."""
    kind = judged.topic.kind
    if judged.is_users:
        return ""
    if kind in _PERSONAL:
        return f"a {kind} memory must come from the user, and this one does not"
    rules = [claim for claim, support in zip(judged.claims, judged.supports, strict=True) if not support.is_users]
    if any(is_commanding(claim) for claim in rules):
        return "a rule must come from the user, and this one does not"
    if not judged.evidence.has_foreign and any(support.assistant >= ECHOED for support in judged.supports):
        return "nobody but the assistant said so"
    return ""


def trace(judged: Judged) -> Lineage:
    """A memory's sources among what was said, and the lowest trust of theirs."""
    evidence = judged.evidence
    spoken = evidence.messages_of(judged.claims, is_translated=judged.is_translated)
    if judged.is_users and (not evidence.has_foreign or judged.is_vouched):
        return Lineage(spoken, Trust.USER)
    if not evidence.has_foreign:
        return Lineage(spoken, Trust.ASSISTANT)
    # Nobody here vouched for it, and there was text of others to take it from, in whatever words.
    sources = [support.source for support in judged.supports if support.source and not support.is_users]
    trust = min((piece.trust for piece in sources), default=evidence.lowest)
    return Lineage(tuple(dict.fromkeys((*spoken, *(piece.message_id for piece in sources)))), trust)


def is_commanding(claim: str) -> bool:
    """Whether a sentence tells somebody what to do, or what the user wants."""
    folded = fold(claim)
    found = cues(folded, tokens(folded), language(folded))
    if any(cue.meaning in _COMMANDS or cue.at < _COMMANDS_AT_START.get(cue.meaning, 0) for cue in found):
        return True
    return _OF_THE_USER.search(claim) is not None


def _added(topic: Topic, before: Topic | None) -> list[str]:
    """The claims of a memory that were not there before: its name, its description and each sentence of its body."""
    known = set(_claims(before)) if before else set()
    return [claim for claim in _claims(topic) if claim not in known]


def _reasons(topic: Topic) -> list[str]:
    """The sentences that a memory gives as its reason (T6)."""
    return [claim for why in _WHY.findall(topic.body) for claim in sentences_of(why)]


def _claims(topic: Topic) -> list[str]:
    """A name says the same as the rest in short; where it does not, it is a claim of its own."""
    named, rest = re.sub(r"[-_]+", " ", topic.name), f"{topic.description}\n{_LABEL.sub(chr(10), topic.body)}"
    words = Sentence(named).terms
    is_own = len(words & Sentence(rest).terms) * 2 < len(words)
    return list(dict.fromkeys(sentences_of(f"{named}\n{rest}" if is_own else rest)))
