"""From judged clauses to candidate memories: which belong together, of what type, and with what support.

Only the user's own words start a candidate. Words of the assistant come in by a yes to "shall I always ...?" (T2);
text of tools never does (X12).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from memdir.model.builtin.extract.features import OPENING_WORDS, Seen, UserTurn
from memdir.model.builtin.extract.judge import TYPES, SentenceJudge
from memdir.model.builtin.extract.same_memory import RULE_STEMS, corrected
from memdir.model.builtin.extract.talk import Existing, clauses
from memdir.model.builtin.extract.wishes import POINT, announces, is_bare, is_lead, is_said, unopened
from memdir.model.builtin.extract.wording import rule_and_reason
from memdir.text.language import alternatives, anywhere, meanings_in, stems
from memdir.text.speakers import own_words

KEEP = 0.77  # how likely a clause must be something to keep
KEEP_ALONE = 0.6  # the same where nothing else is said: nobody types a mere aside
SUPPORT = 0.3  # how likely its neighbour must be more than talk
SUPPORT_WITHIN = 0.1  # the same within one sentence
PLAIN = 0.9  # how sure an explicit wish is
THINKABLE = 0.12  # how likely a plain rule must be all the same: "never seen that before" is none
THINKABLE_LATER = 0.2  # the same where other words stand before "never": "it never works" is none
RULE_WORDS = 4  # fewer are a shout
NOT_MEANT = frozenset({"suppose", "irony", "onlynow", "undecided", "rumour", "compose", "others", "story"})
NOT_TOLD = NOT_MEANT - {"compose", "others", "story"}  # "from now on write …" is a wish all the same
RULE_SHARE = 0.25  # of what speaks for a fact that must speak for a rule where something is forbidden
SHORT_YES_WORDS = 8  # a longer answer says something of its own and is judged by itself
MIN_LETTERS = 6  # shorter utterances are sounds: "ok.", "hm", "right."
POINTS_BACK = 3  # clauses before "remember that." one of which it means


@dataclass(frozen=True)
class Scored:
    """A clause with what the judge thinks of it."""

    seen: Seen
    odds: dict[str, float]

    @property
    def score(self) -> float:
        """How likely the clause is something to keep."""
        return sum(self.odds[letter] for letter in TYPES)


@dataclass(frozen=True)
class MemoryCandidate:
    """A memory in the making."""

    type: str
    turn: UserTurn
    core: tuple[Scored, ...]
    support: tuple[Scored, ...] = ()
    adopted: tuple[str, ...] = ()  # "shall I always ...?", where the user answers with a plain yes
    alone: bool = True  # the only candidate of its turn
    earlier: UserTurn | None = None  # the user's turn before

    @property
    def topic(self) -> list[str]:
        """Stems of what it is about."""
        return [stem for judged in (*self.core, *self.support) for stem in stems(judged.seen.clause.text)]


def find_candidates(
    turns: Sequence[UserTurn], judge: SentenceJudge, known: Sequence[Existing]
) -> list[MemoryCandidate]:
    """Every candidate of the conversation, in the order in which it was said."""
    found: list[MemoryCandidate] = []
    for number, turn in enumerate(turns):
        judged = list(_judged(turn, judge, known))
        granted = _granted(turn, judged)
        some = [granted] if granted else list(_grouped(turn, judged))
        found.extend(replace(one, earlier=turns[number - 1] if number else None, alone=len(some) == 1) for one in some)
    return found


def _judged(turn: UserTurn, judge: SentenceJudge, known: Sequence[Existing]) -> Iterator[Scored]:
    """What the judge thinks, and more where a wish is said in so many words, or something moved."""
    is_announced, is_listed, around = False, False, frozenset[str]()
    jest = frozenset[str]().union(*(one.meanings for one in turn.seen)) & {"irony"}  # who jests says no rule
    due = judge.due(feature for seen in turn.seen for feature in seen.features)
    thought = [judge.probabilities(seen.features, seen.words, due) for seen in turn.seen]
    meant = _pointed_at(turn, thought)
    for at, (seen, odds) in enumerate(zip(turn.seen, thought, strict=True)):
        rule, _ = rule_and_reason(seen.clause.text, turn.language)  # "otherwise the build fails" tells no story
        around |= seen.meanings if rule == seen.clause.text else meanings_in(rule)
        is_meant = "question" not in seen.features and not (around | jest) & NOT_MEANT
        is_wish = is_meant and is_explicit(seen, turn.language)
        is_value = is_meant and _tells_value(seen, turn.language)
        least = THINKABLE if is_value or (is_wish and seen.wish) else _thinkable(seen, turn.language) if is_wish else 1
        text = seen.clause.text
        is_head = text.endswith((":", "："))
        is_asked_for = is_announced or at in meant or (is_listed and text.startswith(POINT))
        is_asked_for = is_asked_for and not is_errand(Scored(seen, odds)) and not around & NOT_TOLD
        is_told = is_asked_for or _is_told(seen, in_jest=bool(jest))
        is_told = is_told or (is_meant and corrected(text, turn.language, known) is not None)
        follows = turn.seen[at + 1].clause.text if at + 1 < len(turn.seen) else POINT
        is_list = is_head and follows.startswith(POINT)  # else what follows is the reason of it
        is_kept = is_told or (least < 1 and not is_list and _alone(seen, judge) >= least)
        is_announced = is_meant and (
            announces(text, seen.wish) if seen.wish else is_head and ("remember" in seen.meanings or is_lead(text))
        )
        is_listed = is_announced if is_head else is_listed
        around = frozenset() if seen.clause.ends else around
        yield _made_sure(Scored(seen, odds)) if is_kept else Scored(seen, odds)


def _alone(seen: Seen, judge: SentenceJudge) -> float:
    """How likely a clause is something to keep, whatever is said around it."""
    return 1 - judge.probabilities(seen.features, seen.words)["N"]


def _made_sure(one: Scored) -> Scored:
    likely = _letter_of((one,))
    return replace(one, odds={name: PLAIN * (name == likely) + (1 - PLAIN) * odds for name, odds in one.odds.items()})


def _pointed_at(turn: UserTurn, thought: Sequence[dict[str, float]]) -> set[int]:
    """The clauses that a bare "remember that." means: the likeliest of those just before it and the one behind."""
    found = set()
    for at, seen in enumerate(turn.seen):
        if is_bare(seen.clause.text) and not seen.clause.text.endswith((":", "：")):
            near = [other for other in range(max(0, at - POINTS_BACK), min(len(thought), at + 2)) if other != at]
            said = [other for other in near if len(turn.seen[other].clause.text) >= MIN_LETTERS]
            found.update(sorted(said, key=lambda other: -sum(thought[other][letter] for letter in TYPES))[:1])
    return found


def _is_told(seen: Seen, *, in_jest: bool) -> bool:
    """Whether a clause asks for it in so many words and means it; what follows "remember that" may be a maybe."""
    if not seen.wish:
        return False
    text, is_asked = seen.clause.text, seen.wish.kind == "remember-this"
    unmeant = NOT_TOLD - {"onlynow"} if "durable" in seen.meanings else NOT_TOLD
    unmeant = (
        unmeant - {"suppose"} if seen.wish.kind == "stop-doing" else unmeant
    )  # "stop telling me what you could do"
    jokes = bool(seen.meanings & ({"irony"} if is_asked else unmeant)) or (in_jest and not is_asked)
    return is_said(text[seen.wish.says :]) and not announces(text, seen.wish) and not jokes


def is_explicit(seen: Seen, language: str) -> bool:
    """A wish in so many words: it begins as one begins, or says that something must always or never be so."""
    return bool(seen.wish) or _thinkable(seen, language) < 1


def _thinkable(seen: Seen, language: str) -> float:
    """How likely a clause must be something to keep if its words are to make a rule of it; 1 where they do not."""
    text = seen.clause.text
    is_of_himself = anywhere("first-person", language).match(text) and "want" not in seen.meanings  # "I never saw it"
    if is_of_himself or len(seen.words) < RULE_WORDS or anywhere("no-rule", language).search(text):
        return 1
    tongue = None if language == "en" else language  # few words of any language are taken for English
    if anywhere("rule-begins", tongue).match(unopened(text)) or anywhere("rule-says", language).search(text):
        return THINKABLE
    begins = rf"\W*(?:[^\W\d_]+\W+){{0,{OPENING_WORDS}}}?(?:{alternatives('rule-begins', language)})"
    return THINKABLE_LATER if re.match(begins, text, re.IGNORECASE) else 1


def _tells_value(seen: Seen, language: str) -> bool:
    """Where something runs or has moved to, with the number; what the user himself moved is work."""
    text = seen.clause.text
    told = anywhere("value-moved", language).search(text)
    is_own = anywhere("first-person", language).match(text)
    return bool(told and re.search(r"\d", text[told.end() :])) and not is_own and len(seen.words) >= RULE_WORDS


def _granted(turn: UserTurn, judged: list[Scored]) -> MemoryCandidate | None:
    """A bare yes to an explicit question about how to work from now on."""
    if not judged or not turn.before.rstrip().endswith(("?", "？")):
        return None
    first = judged[0]
    if "yes" not in first.seen.meanings or "halt" in first.seen.meanings or len(first.seen.words) > SHORT_YES_WORDS:
        return None
    asked = [clause.text for clause in clauses(own_words(turn.before), 0)]
    if not asked or "offer" not in meanings_in(asked[-1]):
        return None
    support = tuple(one for one in judged[1:] if one.odds["N"] < one.odds["W"] + one.score)
    return MemoryCandidate("feedback", turn, (first,), support, tuple(asked[-2:]))


def _grouped(turn: UserTurn, judged: list[Scored]) -> Iterator[MemoryCandidate]:
    """The memories of one turn, each with what explains it."""
    groups: list[list[int]] = []
    least = KEEP if len(judged) > 1 else KEEP_ALONE
    for at, one in enumerate(judged):
        if one.score < least or is_errand(one):
            continue
        if groups and not _begins_another([judged[other] for other in groups[-1]], one, turn.language):
            groups[-1].append(at)
        else:
            groups.append([at])
    kept = {at for group in groups for at in group}
    for group in groups:
        core = tuple(judged[at] for at in group)
        support = tuple(judged[at] for at in _support(judged, group, kept))
        yield MemoryCandidate(type_of(core), turn, core, support)


def type_of(members: Sequence[Scored]) -> str:
    """The type of a memory made of these clauses."""
    return TYPES[_letter_of(members)]


def _letter_of(members: Sequence[Scored]) -> str:
    """What speaks most for; between a rule and a fact of the project, "never" says that it is a rule."""
    sums = {letter: sum(one.odds[letter] for one in members) for letter in TYPES}
    likely = max(sums, key=lambda letter: sums[letter])
    forbids = any(one.seen.meanings >= {"always", "forbid"} and not one.seen.dates for one in members)
    return "F" if forbids and likely == "P" and sums["F"] >= RULE_SHARE * sums["P"] else likely


def _begins_another(theirs: Sequence[Scored], one: Scored, language: str) -> bool:
    """Another memory begins where the user counts, or adds something of another kind or on another subject."""
    text = one.seen.clause.text
    if re.match(rf"(?:{alternatives('counted', language)})\s*[,.:，、：)-]|\d[.)]\s|{POINT}", text, re.IGNORECASE):
        return True
    kind, another = type_of(theirs), type_of((one,))
    if kind != another and "user" in (kind, another):
        return True
    shared = set(stems(text)) & {stem for other in theirs for stem in stems(other.seen.clause.text)}
    if any(is_explicit(other.seen, language) for other in theirs) and is_explicit(one.seen, language):
        return not shared - RULE_STEMS  # a rule may be said again in other words
    return bool(anywhere("adds", language).match(text)) and (kind != another or (not shared and another != "user"))


def _support(judged: list[Scored], group: list[int], kept: set[int]) -> Iterator[int]:
    """The neighbours that explain it, up to the next memory; what is of one sentence belongs together sooner."""
    for step, at in ((-1, group[0] - 1), (1, group[-1] + 1)):
        while 0 <= at < len(judged) and at not in kept and not is_errand(judged[at]):
            is_within = not judged[min(at, at - step)].seen.clause.ends
            if 1 - judged[at].odds["N"] < (SUPPORT_WITHIN if is_within else SUPPORT):
                break
            yield at
            at += step  # noqa: PLW2901 - walks on while it explains


def is_errand(one: Scored) -> bool:
    """A question, a mere sound, or a wish that says nothing itself."""
    text = one.seen.clause.text
    return "question" in one.seen.features or len(text) < MIN_LETTERS or is_bare(text) or is_lead(text)
