"""What a consolidation may not do, whoever planned it, checked on its drafts before anything is written (D7, L1).

It may lose hardly a fact: what cannot be put in other words, such as numbers, dates, names, links and code. And no
memory gains trust on the way: which ones a result was made from is found by their words.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial

from memdir.agent.evidence import Evidence, take_apart
from memdir.agent.forgotten import Forgotten, Heard, heard_in
from memdir.agent.judged import (
    LOST,
    Judged,
    Verdict,
    claims_of,
    doubtful,
    falsified,
    is_commanding,
    judge,
    lost_with,
    marked,
    quoted,
    trace,
    turned,
)
from memdir.agent.workspace import Draft, Ruling, Workspace
from memdir.disk.safe_path import INDEX_NAME, TEAM_PREFIX, is_index
from memdir.store.form import HOW_TO_DELETE
from memdir.store.index import parse_entry
from memdir.store.kept import REPLACED
from memdir.store.line_origins import sentences_in
from memdir.store.log_lines import LogLine, recent_lines
from memdir.store.store import MemoryStore
from memdir.store.topic import Topic
from memdir.store.trust import Trust, is_of_team, marked_trust, trust_in
from memdir.text.language import tongue_of
from memdir.text.nearness import Sentence
from memdir.text.sentences import facts_in, sentences_of, without_known
from memdir.text.words import runs_of
from memdir.transcript.message import Message
from memdir.transcript.session_list import AttendedSession, said_in_sessions
from memdir.transcript.sources.source import transcripts_in

FORGOTTEN = (
    "it is not written: the user forgot what it says, or told something else later, or said it while memory was off, "
    "and has not said it since. Leave that out, in whatever words"
)
_UNSAID = (
    "is not written: neither a memory nor the user's own words say: {}. What a page, a tool, a file or the assistant "
    "said is no memory about the user and no rule. Leave that out"
)
_UNSAID_IN_ALL = "holds in all projects, and no memory there says: {}. Leave that out"
TITLE_TERMS = 3  # topic words from which a heading says something
TAKEN_BACK = "it is not written: the user took back this very change before. Leave the file as it is"
OF_TEAM = "is the team's, and stays as it is: everybody has it, and nobody here asked for this. Leave it alone"
MAX_LOST_SHARE = 0.25  # of all facts; more than that is not tidying up
# A text without the dream's own marks, which are nobody's statement; of its labels the day alone goes.
_unmarked = partial(re.compile(rf"{REPLACED.pattern}|(?<=Before|Update) \d{{4}}-\d\d-\d\d(?=:\*\*)").sub, "")
SAME = 0.55  # nearness at which a sentence of a low-trust memory is told again in other words
TOLD = 0.45  # nearness from which a memory said already what a draft says
ABROAD = 0.1  # more is asked where only the meaning can tell

Runs = frozenset[tuple[str, ...]]


@dataclass
class DreamRules:
    """What a dream may not do to a file, told when it tries. It puts in order what memories say; what they do not say
    must be the user's own words, as where a turn is learned from (ADR 0044)."""

    forgotten: Forgotten
    stores: Sequence[MemoryStore] = ()
    messages: Callable[[], Iterable[Message]] = tuple
    changes_team: bool = True
    _known: dict[tuple[str, bytes | None, bytes | None], Judged] = field(default_factory=dict)

    def rule(self, workspace: Workspace, draft: Draft) -> Ruling:
        if not self.changes_team and is_of_team(draft.store.scope, draft.key) and not is_index(draft.key):
            return Ruling(f"{draft.key} {OF_TEAM}", is_quiet=True)
        if draft.key != INDEX_NAME and draft.before is not None and Topic(draft.before).is_pinned:
            return Ruling(f"{draft.key} is pinned by a person and may not be touched")
        if self.forgotten.was_taken_back(draft.path, draft.before, draft.after):
            return Ruling(TAKEN_BACK, is_quiet=True)
        if draft.after is None:
            if not draft.reason:
                return Ruling(f"{draft.key} would be deleted without a reason. {HOW_TO_DELETE}")
            lost = self.lost_with(workspace, draft)
            return Ruling(f"{draft.key} {LOST}: {quoted(lost)}" if lost else "")
        before, after = _claims(draft.key, draft.before or b""), _claims(draft.key, draft.after)
        back = self.forgotten.among(
            (text for text in after if text not in before), instead_of=(text for text in before if text not in after)
        )
        if back:
            return Ruling(f"{FORGOTTEN}: {quoted(back)}", is_quiet=True)
        strange = self._strange(workspace, draft, [claim for claim in after if claim not in before])
        told = _UNSAID_IN_ALL if draft.store.scope == "user" else _UNSAID
        return Ruling(f"{draft.key} {told.format(quoted(strange))}" if strange else "")

    def judged(self, draft: Draft) -> Judged:
        """What a draft says and no memory said, and whose it is; asked for once."""
        asked = (draft.path, draft.before, draft.after)
        if asked not in self._known:
            topic, stood = Topic(draft.after or b""), Topic(draft.before) if draft.before else None
            self._known[asked] = judge(topic, stood, self._evidence, file_name=draft.key, stands=self._stands)
        return self._known[asked]

    def _stands(self, claim: str) -> bool:
        return self.forgotten.stands(_unmarked(claim))

    def _strange(self, workspace: Workspace, draft: Draft, added: Sequence[str]) -> list[str]:
        """What may not be written: in all projects and in the team whatever is new, in a memory that somebody vouched
        for what nobody said. A file of its own can be a quotation."""
        new = [claim for claim in added if not self._stands(claim)]
        if is_index(draft.key):
            new = _unsaid_in_index(new, (Topic(one.after) for one in workspace.changed() if one.after))
            is_own = draft.store.scope == "user"
            return [one for one in new if is_own or not self._evidence.support(one, None, tongue_of(one)).is_users]
        both = map(Topic, (draft.before or b"", draft.after or b""))
        stood, topic = (one.with_body(_unmarked(one.body)) for one in both)
        if false := falsified(stood, topic, lambda: self._evidence, self.forgotten.holds):
            return false
        if false := turned(stood, topic, lambda: self._evidence, self.forgotten.says, self.forgotten.was_ended):
            return false
        if draft.store.scope == "user" or not new:
            return new
        judged = self.judged(draft)
        if not judged.claims or (judged.is_users and not judged.denied):
            return []
        is_apart = draft.before is None and 2 * len(judged.claims) >= len(claims_of(judged.topic, draft.key))
        is_doubted = draft.before is not None and marked_trust(Topic(draft.before)).is_low
        can_be_quoted = not is_of_team(draft.store.scope, draft.key) and (is_apart or is_doubted) and not judged.planted
        return [] if can_be_quoted and judged.verdict is not Verdict.REFUSED else judged.unsaid

    @cached_property
    def _evidence(self) -> Evidence:
        return Evidence([*doubtful(self.stores), *take_apart(list(self.messages()))], reads_more=True)

    def lost_with(self, workspace: Workspace, draft: Draft) -> list[str]:
        return lost_with(workspace, draft, self.forgotten.was_ended)


def _unsaid_in_index(claims: Sequence[str], drafted: Iterable[Topic]) -> list[str]:
    """The new titles, hooks and headings of an index that say something which no draft says either."""
    told = [Sentence(text) for topic in (drafted if claims else ()) for text in (topic.name, *claims_of(topic))]
    asked = [one for one in map(Sentence, claims) if len(one.terms) >= TITLE_TERMS or is_commanding(one.text)]
    return [one.text for one in asked if max((one.nearness(o, is_translated=False) for o in told), default=0) < TOLD]


def heard_in_sessions(
    folder: str, others: Callable[[], Iterable[AttendedSession]], store: MemoryStore
) -> Iterator[Heard]:
    """What the user said in every session of a project, and by its logs, for not every host keeps a transcript."""
    yield from (Heard(one.text, one.moment(None) + 60) for one in recent_lines(store) if one.trust is Trust.USER)
    own = [os.path.basename(path).removesuffix(".jsonl") for path in transcripts_in(folder)]
    for session, message in said_in_sessions(folder, own, others()):
        yield from heard_in([message], session)


def _claims(key: str, data: bytes) -> dict[str, None]:
    """All that a file says; an index its titles and headings too."""
    if not is_index(key):
        return dict.fromkeys(map(_unmarked, (*sentences_in(data), *claims_of(Topic(data), key))))
    entries = [(parse_entry(line), line.decode("utf-8", "replace").strip("# \t\r\n")) for line in data.splitlines()]
    told = [text for entry, line in entries for text in ((entry.title, entry.hook) if entry else (line,))]
    return dict.fromkeys(filter(None, told))


def spare_facts(workspace: Workspace, *, max_lost_share: float) -> list[Draft]:
    """Give up the drafts by which facts would be lost, where those are too many of a store's: the others are written.
    Returns what was given up."""
    given_up = []
    for store in workspace.stores:
        while lost_share(store, workspace, enough=max_lost_share) > max_lost_share:
            losing = [
                path for path, draft in workspace.drafts.items() if draft.store is store and _loses(draft, workspace)
            ]
            for path in losing:
                given_up.append(workspace.drafts[path])
                workspace.give_up(path)
                workspace.refused[path] = f"{given_up[-1].key} would lose facts that stand nowhere else"
            if not losing:
                break
    return given_up


def _loses(draft: Draft, workspace: Workspace) -> bool:
    """Whether something that a file says stands in no draft."""
    if draft.key == INDEX_NAME or draft.before in (None, draft.after):
        return False
    written = (other.after for other in workspace.changed() if other.after and other.key != INDEX_NAME)
    return bool(missing_from(facts_of(draft.before or b""), written))


def lost_share(store: MemoryStore, workspace: Workspace, *, enough: float) -> float:
    """The share of a store's facts that stand nowhere after the dream; what moved to another of its stores is not lost.

    Only what the dream touches can be lost. Where that is at most `enough` of the touched files' own facts, it is no
    more of all: the rest of a large store is read only in doubt.
    """
    touched = [draft for draft in workspace.changed() if draft.store is store and draft.key != INDEX_NAME]
    known = all_facts(draft.before for draft in touched if draft.before)
    lost = missing_from(known, (draft.after for draft in workspace.changed() if draft.after))
    if len(lost) <= enough * len(known):
        return len(lost) / max(1, len(known))
    touched_keys = {(draft.store, draft.key) for draft in workspace.changed()}
    texts = {place: data or b"" for place, data in workspace.on_disk().items()}
    everything = all_facts(data for (other, _), data in texts.items() if other is store)
    elsewhere = (data for place, data in texts.items() if place not in touched_keys)
    return len(missing_from(lost, elsewhere)) / max(1, len(everything))


def facts_of(data: bytes) -> frozenset[str]:
    """The facts of one memory, folded so that spelling differences do not count."""
    return facts_in(_text(data))


def all_facts(texts: Iterable[bytes]) -> frozenset[str]:
    """The facts of several memories together."""
    return frozenset().union(*(facts_of(data) for data in texts))


def missing_from(facts: Iterable[str], texts: Iterable[bytes]) -> frozenset[str]:
    """Those facts that stand in none of the texts."""
    return without_known(frozenset(facts), "\n".join(data.decode("utf-8", "replace") for data in texts))


def trace_sources(workspace: Workspace, rules: DreamRules, log: Sequence[LogLine] = ()) -> dict[str, tuple[str, ...]]:
    """Find for each written memory the others whose text it gained, and the lines of logs, and mark it with the lowest
    trust of theirs and its own. Returns the memories among the sources by the written memory's path."""
    low = {f"{line.key}:{line.id}": (line.text, runs_of(line.text), line.trust) for line in log if line.trust.is_low}
    told = _old_texts(workspace) | low
    derived = {}
    for real, draft in list(workspace.drafts.items()):
        if draft.after is None or draft.key == INDEX_NAME:
            continue
        before, after = _text(draft.before or b""), _text(draft.after)
        gained = runs_of(after) - runs_of(before)
        known = set(sentences_of(before))
        claims = [Sentence(text) for text in sentences_of(after) if text not in known]
        is_shared = is_of_team(draft.store.scope, draft.key)
        sources = tuple(
            source
            for source, (text, runs, _) in told.items()
            if source != draft.path and (gained & runs or _says_again(claims, text))
        )
        if made_from := tuple(source for source in sources if source not in low):
            derived[draft.path] = made_from
        judged = rules.judged(draft)
        # What stays among the team's is theirs by where it lies: the same bytes are read by all.
        trusts = [Trust.USER if is_shared and source.startswith(TEAM_PREFIX) else told[source][2] for source in sources]
        trust = min(trace(judged).trust, *trusts, Trust.USER)
        workspace.drafts[real] = replace(draft, after=marked(judged, draft.before, trust))
    return derived


def trace_lines(workspace: Workspace, forgotten: Forgotten) -> dict[str, list[Heard]]:
    """What the user said that each written memory took up, by its path (L1)."""
    found = {}
    for draft in workspace.changed():
        if draft.after is not None and draft.key != INDEX_NAME:
            before = sentences_in(draft.before or b"")
            found[draft.path] = forgotten.sources_of(text for text in sentences_in(draft.after) if text not in before)
    return found


def trace_log(workspace: Workspace, log: Sequence[LogLine]) -> dict[str, list[LogLine]]:
    """The lines of daily logs that each written memory took up, by its path: for each claim the nearest (K3)."""
    known = [(line, Sentence(line.text), runs_of(line.text)) for line in log]
    found = {}
    for draft in workspace.changed() if log else ():
        before = sentences_in(draft.before or b"")
        taken: dict[LogLine, None] = {}
        for text in sentences_in(draft.after or b"") if draft.key != INDEX_NAME else ():
            claim, runs = Sentence(text), runs_of(text)
            if text in before or sum(not term.isdigit() for term in claim.terms) < TITLE_TERMS - 1:
                continue
            near = [(max(_nearness(claim, told), float(bool(runs & theirs))), line) for line, told, theirs in known]
            best = max((score for score, _ in near), default=0.0)
            taken |= {line: None for score, line in near if score == best >= SAME}
        if taken:
            found[draft.path] = list(taken)
    return found


def times_of(workspace: Workspace, derived: dict[str, tuple[str, ...]]) -> dict[str, int]:
    """How old each written memory stays: as old as it was, or as the newest that it took in (S11)."""
    known = {
        store.place.prefix + header.key: header.mtime_ns
        for store in workspace.stores
        for header in store.scan(limit=None).headers
    }
    return {
        draft.path: max(known[path] for path in (draft.path, *derived.get(draft.path, ())) if path in known)
        for draft in workspace.changed()
        if draft.path in known
    }


def _old_texts(workspace: Workspace) -> dict[str, tuple[str, Runs, Trust]]:
    """What may have been a source, as it was before: the files that the dream touches, and all of low trust."""
    texts = {draft.path: draft.before for draft in workspace.changed() if draft.before and draft.key != INDEX_NAME}
    for store in workspace.stores:
        headers = store.scan(limit=None).headers
        doubted = (header for header in headers if trust_in(header, store.scope, header.key).is_low)
        for memory in store.readable(doubted):
            texts.setdefault(store.place.prefix + memory.key, memory.topic.data)
    return {path: (text := _text(data), runs_of(text), trust_in(Topic(data), "", path)) for path, data in texts.items()}


def _text(data: bytes) -> str:
    topic = Topic(data)
    return f"{topic.description}\n{topic.body}"


def _says_again(claims: list[Sentence], text: str) -> bool:
    """Whether some claim says in other words, or in another language, what a text says."""
    told = [Sentence(sentence) for sentence in sentences_of(text)]
    return any(_nearness(claim, other) >= SAME for claim in claims for other in told)


def _nearness(claim: Sentence, other: Sentence) -> float:
    return max(claim.nearness(other, is_translated=False), claim.nearness(other, is_translated=True) - ABROAD)
