"""Firm reasons why a candidate may not become a memory, whatever the judge thinks.

What others want, secrets, what the instruction file, the code or a memory says already, what the user took back (T5).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from memdir.model.builtin.extract.features import Seen, UserTurn
from memdir.model.builtin.extract.same_memory import RULE_STEMS, Shelf, of_one_thing
from memdir.model.builtin.extract.wishes import announces, is_bare, is_lead, unopened
from memdir.model.builtin.extract.wording import holds_secret
from memdir.text.body_text import sentences
from memdir.text.language import anywhere, fold, stems
from memdir.text.nearness import is_opposite, kept_in_mind, only_reminds, says_all, takes_back
from memdir.text.pastes import is_reported_from

if TYPE_CHECKING:
    from memdir.model.builtin.extract.candidates import MemoryCandidate

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
)
MIN_TOPICS = 2  # behind "never mind", that make it of something else
INSTRUCTED_SHARE = 0.6  # of a candidate's topic that the instruction file already has


def may_stand(seen: Seen, turn: UserTurn, kind: str) -> bool:
    """Whether a clause that seems to be of this type may stand in a memory. What somebody else wants is no wish of the
    user's; that it is wanted may still be a fact, and is one where the user asks for it in so many words."""
    text, sentence, wish = seen.clause.text, seen.clause.sentence, seen.wish
    if is_bare(text) or is_lead(text) or announces(text, wish, seen.meanings) or holds_secret(sentence):
        return False
    if wish:  # "remember that we log at WARN" is of no log
        is_of_log = LOG_LINE.search(sentence.removesuffix(text))
        is_other = only_reminds(text[: wish.says], text[wish.says :])
    else:
        is_of_log = LOG_LINE.search(sentence)
        is_others = kind in ("user", "feedback") and is_reported_from(sentence, sentence.rfind(text))
        is_report = anywhere("tells-only", turn.language).search(text)  # "the printer always jams"
        is_other = is_others or bool(is_report or anywhere("others-want").search(text)) or _is_played(turn)
    is_of_code = anywhere("remember-this").search(sentence) and WHERE_IN_CODE.search(text)
    return not is_of_log and not is_other and not is_of_code


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
    last, topic = max(one.seen.clause.number for one in candidate.core), candidate.topic
    after = [seen for turn in turns if turn.index > candidate.turn.index for seen in turn.seen]
    is_against = any(takes_back(one.seen.clause.text) for one in candidate.core)
    if is_against or any(topic.intersection(_dropped(seen, "forgets") or ()) for seen in after):
        return True
    # "Never mind, I found the typo myself" is of something else; "don't forget it" takes nothing back.
    of_it = (seen for seen in after if len(_dropped(seen, "lets-drop") or ()) < MIN_TOPICS)
    behind = (*candidate.turn.seen[last + 1 :], *of_it)  # "scratch that", "doch nicht"
    return any("retract" in seen.meanings or _dropped(seen, "lets-drop") is not None for seen in behind)


def _dropped(seen: Seen, opening: str) -> frozenset[str] | None:
    """What a clause that opens so says that is to be forgotten: "forget the yaml thing"."""
    said = anywhere(opening).match(unopened(fold(seen.clause.text)))
    return frozenset(stems(said.string[said.end() :])) if said else None
