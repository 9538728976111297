"""Whose words a draft is made of, claim by claim, and what may become of it (X12, L1, ADR 0044).

Asked at the write by every job that writes memories: one planted sentence among honest ones is still a planted one.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from statistics import fmean

from memdir.agent.evidence import (
    CLEARLY,
    ECHOED,
    FACTUAL,
    HINT,
    LEAD,
    OWN_LEAD,
    SAID,
    TELLING_TERMS,
    Evidence,
    Said,
    Support,
)
from memdir.agent.forgotten import values_in
from memdir.agent.workspace import Draft, Workspace
from memdir.store.kept import REASON_BEFORE
from memdir.store.log_lines import recent_lines
from memdir.store.store import MemoryStore
from memdir.store.topic import IN_OWN_WORDS, MemoryType, Topic
from memdir.store.trust import Trust, marked_trust, trust_in, with_trust
from memdir.text.body_text import sentences
from memdir.text.dates import may_hold_date
from memdir.text.language import UNKNOWN, cues, fold, language, tokens, tongue_of
from memdir.text.naming import title
from memdir.text.nearness import TELLING_PART, Sentence, is_turned, parts_of
from memdir.text.sentences import sentences_of
from memdir.text.speakers import Speaker

MAX_TOLD = 3  # claims that a refusal names
LOST = (
    "is not deleted: what it says stands in no other memory, and the user has not said that it holds no longer. "
    "Write it where it belongs first, then delete this one; a memory whose day is over stays, and you may ask about it"
)
UNLIKE = 0.3  # nearer to the user than that it may be his in other words
CARRIED = 0.22  # nearness to the user that what a memory is about has on the average
PERSONAL = (MemoryType.USER, MemoryType.FEEDBACK)
# What stands in bold before a part of a memory and claims nothing: one word, or what is known to be a label.
_LABEL = re.compile(
    r"\*\*(?:[^\W\d_]{1,20}|how to apply|how it applies|when to apply|update (?:of )?\(?\d{4}-\d\d-\d\d\)?|wie anwenden"
    r"|so anwenden|comment l'appliquer|comment appliquer|cómo aplicarlo|cómo aplicar|como aplicar|come applicarlo"
    r"|come applicare|por qué|por quê|hoe toe te passen|적용 방법)\s*(?:[:：]\s*\*\*|\*\*\s*[:：])",
    re.IGNORECASE,
)
_DAY = re.compile(r"\d{4}-\d\d-\d\d")
_ASIDE = re.compile(r"\s*(?:\*\*[^*]+\*\*|[(（\[][^()（）\[\]]+[)）\]])")  # in bold or in brackets
_WHY = re.compile(r"\*\*Why:?\*\*:?(.*?)(?=\n\s*\*\*|\Z)", re.DOTALL | re.IGNORECASE)
_COMMANDS = frozenset({"durable", "want", "remember"})
_COMMANDS_AT_START = {"always": 3, "forbid": 3, "request": 1}  # within so many words from the beginning
_OF_THE_USER = re.compile(
    r"\buser (?:wants|prefers|likes|hates|requires|expects|needs|asks|asked|demands|insists|agreed|approves|allows)\b"
    r"|\brules?\b\s*:|\b(?:must|shall|should)\b",
    re.IGNORECASE,
)


class Verdict(StrEnum):
    """What becomes of a draft."""

    KEPT = "kept"  # the user's, or a fact with the trust of its source
    QUOTED = "quoted"  # perhaps the user's: kept, but as somebody's words
    REFUSED = "refused"  # somebody else's


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
    known: frozenset[str]  # what stood there before
    is_new: bool
    is_forgotten: bool = False  # whether what it is about was forgotten, or replaced by something said later
    turned: tuple[str, ...] = ()  # what it says against the memory that it changes, though nobody said so
    tongue: str = UNKNOWN  # of the draft

    @property
    def is_translated(self) -> bool:
        return self.tongue != self.evidence.tongue

    @property
    def _both(self) -> list[tuple[str, Support]]:
        return list(zip(self.claims, self.supports, strict=True))

    @cached_property
    def _headline(self) -> list[str]:
        return _headline(self.topic)

    @property
    def _main(self) -> list[Support]:
        """Who carries what the memory is about: its name, and what stands under a label, only go with it."""
        return [support for claim, support in self._both if claim in self._headline] or list(self.supports)

    @property
    def verdict(self) -> Verdict:
        """Words of a tool, a page, a paste, a recalled memory or the assistant cannot become a memory about the user or
        a rule, under whatever type, unless the user says so. Where nobody can tell, it is kept as a quotation."""
        if self.denied:
            return Verdict.REFUSED
        if self.is_users or not self._is_rule:
            return Verdict.KEPT
        return Verdict.REFUSED if self._is_elsewhere else Verdict.QUOTED

    @property
    def is_users(self) -> bool:
        """Whether the user carries it: something of it is his, and nothing of it somebody else's."""
        if not self.claims:
            return True  # it only leaves something out
        if self.planted or self.borrowed or (self.is_new and self.supports[0].is_echo):
            return False
        must_ask = self.topic.kind not in FACTUAL and (self.is_new or self.evidence.has_foreign)
        if must_ask and not self.evidence.is_lasting:
            return any(support.is_plain for support in self._main)
        return (any(support.is_users for support in self._main) and self._leans_to_user) or self._is_free_rendering()

    @property
    def is_users_alone(self) -> bool:
        """Whether nothing of it is nearer to somebody else, only agreed to or unsure: every project may believe it."""
        if self.verdict is not Verdict.KEPT or not self.is_users or trace(self).trust is not Trust.USER:
            return False
        headed = [both for both in self._both if both[0] in self._headline] or self._both
        main = [(claim, support) for claim, support in headed if claim != IN_OWN_WORDS]
        news = [claim for claim, _ in main if not self._is_repeated(claim)]
        plain = [self.evidence.is_plainly_said(claim, is_translated=self.is_translated) for claim in news]
        if False in plain or (news and True not in plain):
            return False
        # What a model adds of its own is its own only where nobody else said anything that it could be from.
        is_alone = not self.evidence.has_foreign
        is_main_theirs = None not in plain and all(one.user >= max(SAID, one.foreign) for _, one in main)
        return (is_alone or is_main_theirs) and not self.strange_remarks

    @property
    def strange_remarks(self) -> list[str]:
        """What a name, a file's name or a line under a label says and the user does not."""
        remarks = [(claim, support) for claim, support in self._both if claim not in self._headline]
        return [claim for claim, support in remarks if self._is_strange(claim, support)]

    def _is_strange(self, claim: str, support: Support) -> bool:
        if support.is_denied:
            return True
        if not self.evidence.has_foreign:
            return support.user < HINT and is_commanding(claim)
        if support.user >= max(SAID, support.foreign):
            return False
        return support.foreign >= SAID or self.evidence.lends_words(claim, self.headline)

    def _is_repeated(self, claim: str) -> bool:
        """Whether the memory said so before, in other words."""
        asked = Sentence(claim)
        return any(asked.nearness(Sentence(text), is_translated=False) >= CLEARLY for text in self.known)

    @property
    def headline(self) -> str:
        """What the memory is about, in its own words."""
        return "\n".join(self._headline)

    @property
    def said(self) -> list[str]:
        """The user's own sentences that it was made from."""
        return self.evidence.said_of(self._headline, is_translated=self.is_translated)

    @property
    def _leans_to_user(self) -> bool:
        """Whether what the memory is about, taken together, is as near to the user as to anybody else."""
        if self.topic.kind in FACTUAL or not self.evidence.has_foreign or any(one.is_agreed for one in self._main):
            return True
        user = fmean(one.user for one in self._main)
        foreign, assistant = (fmean(one.foreign for one in self._main), fmean(one.assistant for one in self._main))
        return user >= max(CARRIED, min(foreign - LEAD, CLEARLY), assistant - OWN_LEAD)

    @property
    def _is_rule(self) -> bool:
        """Whether it speaks of the user or tells somebody what to do; and an idea of the assistant's is no fact."""
        if self.topic.kind in PERSONAL:
            return True
        if self.borrowed or any(is_commanding(claim) for claim, support in self._both if not support.is_users):
            return True
        return not self.evidence.has_foreign and any(support.assistant >= ECHOED for support in self.supports)

    @property
    def _is_elsewhere(self) -> bool:
        """Whether its words stand in somebody else's text and nothing like them in the user's."""
        is_unmeasured = self.is_translated and self.evidence.is_lasting  # he asked for something, in other words
        if is_unmeasured or max(support.user for support in self._main) >= UNLIKE:
            return False
        if not self.evidence.has_foreign:
            return not self.evidence.has_agreement and any(one.assistant >= ECHOED for one in self._main)
        return any(one.is_from_elsewhere for one in self._main)

    @property
    def is_vouched(self) -> bool:
        """Whether most of it is nearer to the user than to anybody else."""
        vouched = [one for one in self.supports if one.is_users and (one.is_agreed or one.user >= one.foreign)]
        return self.topic.kind not in FACTUAL or 2 * len(vouched) >= len(self.supports)

    @property
    def planted(self) -> list[str]:
        """The claims that are somebody else's. A reason may tell what others say; it may not command."""
        foreign = [part for claim, support in self._both for part in self._theirs(claim, support)]
        reasons = [claim for why in _WHY.findall(self.topic.body) for claim in sentences_of(why)]  # T6
        return [claim for claim in foreign if claim not in reasons or is_commanding(claim)]

    def _theirs(self, claim: str, support: Support) -> list[str]:
        """What of a claim is somebody else's: all of it, or of a rule what was joined to words of the user's."""
        if support.is_foreign:
            return [claim]
        parts = parts_of(claim) if self.topic.kind not in FACTUAL or is_commanding(claim) else []
        parts = [*parts[len(parts) == 1 :], *(_ASIDE.findall(claim) if parts else ())]
        asked = [(part, self.evidence.support(part, self.topic.kind, self.tongue)) for part in parts]
        telling = [(part, one) for part, one in asked if len(Sentence(part).terms) >= TELLING_TERMS]
        return [part for part, one in telling if one.is_foreign and one.user < HINT]

    @cached_property
    def borrowed(self) -> list[str]:
        """The claims of a rule that are the user's but for an address or a figure, which a tool or a page told."""
        told = [(claim, one) for claim, one in self._both if self.topic.kind not in FACTUAL or is_commanding(claim)]
        return [claim for claim, one in told if not one.is_agreed and self.evidence.borrows(claim, self.known)]

    @property
    def unsaid(self) -> list[str]:
        """What the user did not say, to be told."""
        strange = [claim for claim, one in self._both if not one.is_users]
        return list(self.turned) or self.planted or self.denied or self.borrowed or strange or list(self.claims)

    @property
    def denied(self) -> list[str]:
        """The claims of which the user said the opposite; what only names a thing denies nothing."""
        named = sentences_of(f"{_named(self.topic.name)}\n{self.topic.description}")
        denied = (claim for claim, one in self._both if one.is_denied and len(Sentence(claim).terms) >= TELLING_TERMS)
        return [claim for claim in denied if claim not in named or claim in self.topic.body or is_commanding(claim)]

    def _is_free_rendering(self) -> bool:
        """What nobody else said is the user's in other words, or in another language, when he asked for something."""
        if any(support.foreign >= SAID or support.assistant >= ECHOED for support in self.supports):
            return False
        nearest = max((support.user for support in self.supports), default=0.0)
        is_free = self.is_translated and self.evidence.is_lasting
        return nearest >= HINT and (is_free or not self.evidence.has_foreign)


def judge(
    topic: Topic,
    before: Topic | None,
    evidence: Evidence,
    *,
    file_name: str = "",
    stands: Callable[[str], bool] | None = None,
) -> Judged:
    """Ask the conversation about all that a draft adds, the name of a new file too, and that `stands` nowhere else."""
    known = frozenset(claims_of(before)) if before else frozenset()
    all_claims = claims_of(topic, "" if before else file_name)
    said_before = frozenset(map(_bare, known))  # also what is told of the past now, with other marks around it
    claims = tuple(one for one in all_claims if _bare(one) not in said_before and not (stands and stands(one)))
    tongue = tongue_of(" ".join(claims))
    supports = tuple(evidence.support(claim, topic.kind, tongue) for claim in claims)
    return Judged(topic, claims, supports, evidence, known, before is None, tongue=tongue)


def without_planted(judged: Judged) -> Topic:
    """A memory of the user's without what somebody else put into its body, and without the opposite of what the user
    said. Where nothing of it is his, there is nothing to save; where its headline is somebody else's, it
    is that memory and stays as it is."""
    is_his = judged.topic.kind not in FACTUAL and any(support.is_users for support in judged.supports)
    return without(judged.topic, [*(judged.planted if is_his else ()), *judged.denied])


def without(topic: Topic, claims: Sequence[str]) -> Topic:
    """A memory without these sentences in its body."""
    body = topic.body
    for claim in claims:
        body = body.replace(claim, "." if claim.endswith(".") and not claim[:1].isalnum() else "")
    lines = [line for line in body.split("\n") if not line.strip() or re.search(r"\w", _LABEL.sub("", line))]
    if body != topic.body and re.search(r"\w", "".join(lines)):
        topic = topic.with_body("\n".join(lines))
    return topic


def trace(judged: Judged) -> Lineage:
    """A memory's sources among what was said, and the lowest trust of theirs."""
    evidence = judged.evidence
    spoken = evidence.messages_of(judged.claims, is_translated=judged.is_translated)
    if judged.is_users and (not evidence.has_foreign or judged.is_vouched):
        return Lineage(spoken, Trust.USER)
    is_quoted = judged.verdict is Verdict.QUOTED
    if not evidence.has_foreign and not is_quoted:
        return Lineage(spoken, Trust.ASSISTANT)
    # Nobody here vouched for it, and there was text of others to take it from, in whatever words.
    sources = [support.source for support in judged.supports if support.source and not support.is_users]
    trust = min((piece.trust for piece in sources), default=Trust.TOOL if is_quoted else evidence.lowest)
    return Lineage(tuple(dict.fromkeys((*spoken, *(piece.message_id for piece in sources)))), trust)


def is_commanding(claim: str) -> bool:
    """Whether a sentence tells somebody what to do, or what the user wants."""
    folded = fold(claim)
    found = cues(folded, tokens(folded), language(folded))
    is_command = any(cue.meaning in _COMMANDS or cue.at < _COMMANDS_AT_START.get(cue.meaning, 0) for cue in found)
    return is_command or _OF_THE_USER.search(claim) is not None


def falsified(
    before: Topic, after: Topic, evidence: Callable[[], Evidence], stands: Callable[[frozenset[str]], bool]
) -> list[str]:
    """What a draft says with another value than its memory had, or with one more figure, that nobody told and that
    `stands` nowhere. A day that was told in words, "next Friday", may become a date."""
    old, new = (values_in(f"{one.description}\n{one.body}") for one in (before, after))
    said, claims = claims_of(before), claims_of(after)
    if not said or any(may_hold_date(text) for text in said if text not in claims):
        return []
    found = [(claim, values_in(claim) - old) for claim in claims if claim not in said]
    if old <= new:  # a name that is added may be one in another language, a date the day of the change
        counted = [(claim, values_in(_DAY.sub("", claim)) & some) for claim, some in found if not may_hold_date(claim)]
        found = [(claim, frozenset(filter(str.isdigit, some))) for claim, some in counted]
    unknown = [(claim, values) for claim, values in found if values and not stands(values)]
    return [claim for claim, values in unknown if not evidence().has_told(claim, values)]


def turned(
    before: Topic,
    after: Topic,
    evidence: Callable[[], Evidence],
    stands: Callable[[str], bool],
    ended: Callable[[str], bool],
) -> list[str]:
    """What a draft, its name too, says against its memory: the opposite, the same of another name, or of what holds
    still that it was once so; and a rule that is to be none. Nobody said so, and it `stands` nowhere."""
    said, claims = claims_of(before), claims_of(after)
    news = [claim for claim in claims if claim not in said]
    named = [after.name] if after.name != before.name else []
    against = [one for one in (*news, *named) if any(is_turned(text, one, values_in(one)) for text in said)]
    against = [one for one in against if not stands(one) and not evidence().has_turned(one, after.kind)]
    held = {_bare(one.text) for one in sentences(before.body) if one.label != "before"}
    past = [one.text for one in sentences(after.body) if one.label == "before" and _bare(one.text) in held]
    kept = [one for one in past if not any(Sentence(one).terms & Sentence(text).terms for text in news)]
    is_demoted = not news and before.kind in PERSONAL and after.kind in FACTUAL
    return [*against, *(one for one in kept if not ended(one)), *([f"type: {after.kind}"] if is_demoted else ())]


def lost_with(workspace: Workspace, draft: Draft, was_ended: Callable[[str], bool]) -> list[str]:
    """What a memory says that is deleted, and that neither stands elsewhere nor was ended by the user. A reason
    goes with the rule that it was for."""
    topic = Topic(draft.before or b"")
    if not topic.has_text:
        return []
    lost = workspace.unsaid_elsewhere(draft)
    rules = [text for label, text in lost if label not in ("why", "how")]
    held = [text for text in rules if not was_ended(text)]
    return held if rules else [text for _, text in lost]


def spare_memories(workspace: Workspace, lost: Callable[[Workspace, Draft], list[str]]) -> list[Draft]:
    """Give up the deletions by which something would be lost after all. Returns what was given up."""
    given_up = []
    for path, draft in list(workspace.drafts.items()):
        if draft.after is None and draft.before and lost(workspace, draft):
            given_up.append(draft)
            workspace.give_up(path)
            workspace.refused[path] = f"{draft.key} {LOST}"
    return given_up


def quoted(claims: Sequence[str]) -> str:
    """The first of some claims, as a refusal names them."""
    return "; ".join(f"“{claim}”" for claim in claims[:MAX_TOLD])


def _headline(topic: Topic) -> list[str]:
    """The description, and the body up to its first label."""
    return sentences_of(f"{topic.description}\n{_LABEL.split(topic.body, maxsplit=1)[0]}")


def claims_of(topic: Topic, file_name: str = "") -> list[str]:
    """All that a memory says; what its name, or that of its file, says more than the rest is a claim of its own."""
    rest = f"{topic.description}\n{_LABEL.sub(chr(10), topic.body)}"
    words, stem = Sentence(rest).terms, file_name.rpartition("/")[2].removesuffix(".md").partition("_")
    called = [part.strip(" ,;:–—-") for part in parts_of(_named(topic.name)) if _says_more(part, words)]
    words |= Sentence(_named(topic.name)).terms
    called += [name for name in [_named(stem[2] or stem[0])] if len(Sentence(name).terms - words) >= TELLING_PART]
    return list(dict.fromkeys((*sentences_of(rest), *(part for part in called if re.search(r"\w", part)))))


def _says_more(name: str, words: frozenset[str]) -> bool:
    terms = Sentence(name).terms
    return len(terms & words) * 2 < len(terms) or len(terms - words) >= TELLING_PART


def renamed(topic: Topic, claims: Sequence[str]) -> Topic:
    """A memory without these claims, called after its description where its name says one of them."""
    is_named = any(claim in _named(topic.name) for claim in claims)
    return without(topic.with_field("name", title(topic.description)) if is_named else topic, claims)


def _bare(claim: str) -> str:
    return re.sub(r"\W+", " ", claim.removeprefix(REASON_BEFORE)).casefold().strip()


def _named(name: str) -> str:
    return re.sub(r"(?<=\w)[-_]+(?=\w)|_+", " ", name)


def doubtful(stores: Sequence[MemoryStore]) -> Iterator[Said]:
    """What memories and log lines of low trust say: written again, however a fork came to read it, it gains none."""
    for store in stores:
        headers = store.scan(limit=None).headers
        marked = (header for header in headers if trust_in(header, store.scope, header.key).is_low)
        for memory in store.readable(marked):
            topic = memory.topic
            text = f"{topic.name}\n{topic.description}\n{topic.body}"
            yield Said("", text, trust_in(topic, store.scope, memory.key), Speaker.REMINDER)
        low = (line for line in recent_lines(store) if line.trust.is_low)
        yield from (Said("", line.text, line.trust, Speaker.REMINDER) for line in low)


def marked(judged: Judged, before: bytes | None, trust: Trust) -> bytes:
    """What nobody here vouched for says so in its file, and goes on saying so when it is added to (L1, L3); a quotation
    tells nothing of the user and is no rule of his, whatever it called itself (S6)."""
    topic = judged.topic
    is_quotation = judged.verdict is Verdict.QUOTED or (trust.is_low and before is None)
    if is_quotation and topic.kind in PERSONAL:
        topic = topic.without_field("type")
    known = marked_trust(Topic(before)) if before else Trust.USER
    return with_trust(topic, min(trust, known)).data
