"""Firm reasons why a candidate may not become a memory, whatever the judge thinks.

What others want, secrets, what the instruction file, the code or a memory says already, what the user took back (T5).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from memdir.model.builtin.extract.candidates import MemoryCandidate, Scored
from memdir.model.builtin.extract.features import Seen, UserTurn
from memdir.model.builtin.extract.same_memory import RULE_STEMS, Shelf, of_one_thing
from memdir.model.builtin.extract.wishes import announces, unopened
from memdir.model.builtin.extract.wording import holds_secret
from memdir.text.body_text import sentences
from memdir.text.language import anywhere, fold, stems
from memdir.text.nearness import called_off, is_opposite, kept_in_mind, only_reminds, says_all, takes_back
from memdir.text.pastes import is_reported_from

_PLACE_IN_CODE = (
    r"(?![\w-]+(?:\.[\w-]+)*\.[a-z]{2,}/)[\w.-]+/[\w./-]+"  # "grafana.example/d/x" is a host
    r"|\w+\.(?:py|tsx?|jsx?|go|c|h|cpp|java|rs|md|json|ya?ml|toml|sql|tf|sh|rb|kt)\b"
)
WHERE_IN_CODE = re.compile(
    r"\b(?:(?:is|are|est)\s+(?!\w+/\w+(?![\w/-]|\.\w))"  # "the ratio is 3/4", "my pronouns are they/them"
    r"|(?:lives?|sits?|under|in|at|liegen?|está|están|fica)\s+(?!\d+/\d+(?![\w/])))"
    rf"(?:the\s+)?[`'\"]?(?:{_PLACE_IN_CODE})|\bline\s+\d",
    re.IGNORECASE,
)
LOG_LINE = re.compile(
    r"\b\d\d:\d\d:\d\d\b|\w\.\w{1,5}:\d+\b|\b(?:WARN|WARNING|ERROR|INFO|DEBUG|FATAL|TRACE)\b|\w@\d+\.\d"
    r"|\w: (?:true|false|null)\b"  # of a settings file: "restart: always, never_retry: true"
)
MIN_TOPICS = 2  # behind "never mind", that make it of something else
INSTRUCTED_SHARE = 0.6  # of a candidate's topic that the instruction file already has


def usable(candidate: MemoryCandidate) -> MemoryCandidate | None:
    """The candidate without the clauses that may not be kept; None when nothing of its core is left."""
    core = tuple(one for one in candidate.core if candidate.adopted or _stands(candidate, one))
    support = tuple(one for one in candidate.support if _stands(candidate, one))
    return replace(candidate, core=core, support=support) if core else None


def _stands(candidate: MemoryCandidate, one: Scored) -> bool:
    """What somebody else wants is no wish of the user's; that it is wanted may still be a fact, and is one where the
    user asks for it in so many words."""
    text, sentence, wish = one.seen.clause.text, one.seen.clause.sentence, one.seen.wish
    is_others = is_reported_from(sentence, sentence.rfind(text))
    is_wanted = anywhere("others-want").search(text) or (is_others and candidate.type in ("user", "feedback"))
    if is_wanted and not wish:
        return False
    is_how_it_is = anywhere("tells-only", candidate.turn.language).search(text)  # "the printer always jams"
    if not wish and (is_how_it_is or _is_played(candidate.turn)):
        return False
    is_of_code = anywhere("remember-this").search(sentence) and WHERE_IN_CODE.search(text)
    is_bare = wish and (announces(text, wish) or only_reminds(text[: wish.says], text[wish.says :]))
    said = sentence.removesuffix(text) if wish else sentence  # "remember that we log at WARN" is of no log
    return not is_of_code and not is_bare and not LOG_LINE.search(said) and not holds_secret(sentence)


def _is_played(turn: UserTurn) -> bool:
    """Whether the user gives the assistant a part in a play: "you are a strict teacher. Always …"."""
    return any(
        anywhere("plays").match(text) or (anywhere("you-are").match(text) and anywhere("role").search(text))
        for text in (one.clause.text for one in turn.seen)
    )


def is_known(candidate: MemoryCandidate, shelf: Shelf, *, is_update: bool = False) -> bool:
    """Whether the instruction file says it already, and no memory something else, or a memory says it."""
    said = kept_in_mind(" ".join(one.seen.clause.sentence for one in candidate.core))
    topic = frozenset(stems(said)) - RULE_STEMS
    share = max((_said_by(text, said, topic) for text in shelf.instructions if not is_update), default=0.0)
    if share >= INSTRUCTED_SHARE or (share and anywhere("instruction-file").search(candidate.turn.line.text)):
        return True
    if any("change" in one.seen.meanings for one in candidate.core):
        return False
    same = (shelf.memories[at] for at in of_one_thing(candidate, shelf, topic))
    told = (one for memory in same for one in sentences(f"{memory.description}\n\n{memory.body}"))
    return any(one.label != "before" and says_all(one.text, said) for one in told)


def _said_by(text: str, said: str, topic: frozenset[str]) -> float:
    """How much of a topic a sentence has that does not deny what was said."""
    shared = len(topic.intersection(stems(text))) / len(topic) if topic else 0.0
    return 0.0 if shared and is_opposite(text, said) else shared


def is_revoked(candidate: MemoryCandidate, turns: Sequence[UserTurn]) -> bool:
    """Whether the user took it back: behind it in the same breath, later, or by its subject."""
    last, topic = max(one.seen.clause.number for one in candidate.core), frozenset(candidate.topic)
    after = [seen for turn in turns if turn.index > candidate.turn.index for seen in turn.seen]
    is_against = any(takes_back(one.seen.clause.text) for one in candidate.core)
    dropped = (_dropped(seen, "forgets").union(stems(called_off(seen.clause.text))) for seen in after)
    if is_against or any(map(topic.intersection, dropped)):
        return True
    # "Never mind, I found the typo myself" is of something else; "don't forget it" takes nothing back.
    of_it = (seen for seen in after if len(_dropped(seen, "lets-drop")) < MIN_TOPICS)
    return any(_takes_all_back(seen) for seen in (*candidate.turn.seen[last + 1 :], *of_it))


def _takes_all_back(seen: Seen) -> bool:
    """Whether a clause takes back what was said before it, in whatever language: "scratch that", "doch nicht"."""
    return "retract" in seen.meanings or bool(anywhere("lets-drop").match(unopened(fold(seen.clause.text))))


def _dropped(seen: Seen, opening: str) -> frozenset[str]:
    """What a clause says that is to be forgotten: "forget the yaml thing"."""
    said = anywhere(opening).match(unopened(fold(seen.clause.text)))
    return frozenset(stems(said.string[said.end() :]) if said else ())
