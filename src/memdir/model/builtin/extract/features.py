"""What can be observed about each clause of the user, as named features for the trained judge.

Looks at words, cues, dates and the neighbours; decides nothing. What the assistant says, before or behind, is not
looked at, nor how many turns come together: what is kept does not hang on either, but for an offer that is accepted.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from functools import lru_cache
from itertools import pairwise

from memdir.model.builtin.extract.talk import Clause, Talk, TalkLine, clauses
from memdir.model.builtin.extract.wishes import Wish, pointed, unopened, untagged, wish_in
from memdir.text.dates import Clock, DateSpan, read_dates
from memdir.text.language import Cue, alternatives, anywhere, cjk_runs, clean, cues, fold, language, meanings_in, tokens
from memdir.text.nearness import Answer, accepted_offer
from memdir.text.speakers import own_words

_PATH = re.compile(
    r"`[^`]+`|(?<![\w.-])[.-]*\b[\w.-]+/[\w./-]+|\b\w+\.(?:py|ts|js|go|c|h|cpp|java|rs|md|json|ya?ml|toml|sql|css|html|txt|csv|tf|sh)\b"
)
SYMBOL = re.compile(r"\b\w+_\w+\b|\b[a-z]+[A-Z]\w*\b|\b[A-Z][a-z]+[A-Z]\w*\b|\b\w+\(\)")
_NAME = re.compile(r"(?<=[a-z,;:]\s)[A-Z][\w'-]+")
_URL = re.compile(r"https?://|\bwww\.")
_YEAR = re.compile(r"\b(?:19|20)\d\d\b")
_MARKS = {"path": _PATH, "symbol": SYMBOL, "name": _NAME, "url": _URL, "year": _YEAR, "colon": re.compile(":")}
OPENING_WORDS = 3  # cues this near the beginning carry the mood of the clause
SHORT_WORDS, LONG_WORDS = 4, 24
SHOUT_WORDS = 3  # are sooner a shout than a rule: "never say never"
MANY_CLAUSES = 4  # eight of them or more are a story


@dataclass(frozen=True)
class Seen:
    """A clause with everything observed about it."""

    clause: Clause
    words: tuple[str, ...]
    meanings: frozenset[str]
    dates: tuple[DateSpan, ...]
    features: tuple[str, ...]
    wish: Wish | None = None
    rule: str = ""  # how it says that something must always or never be so, or has moved


@dataclass(frozen=True)
class UserTurn:
    """One said line of the user with what the assistant had said last."""

    line: TalkLine
    index: int
    language: str
    before: str
    is_answered: bool  # the user had asked: what was answered may be corrected, "we switched to MySQL"
    seen: tuple[Seen, ...] = ()


def observe(conversation: Talk) -> tuple[UserTurn, ...]:
    """Every turn of the user, observed."""
    turns: list[UserTurn] = []
    before = ""
    for at, line in enumerate(conversation.lines):
        if line.role == "assistant":
            before = clean(line.text)
        else:
            is_answered = bool(turns) and turns[-1].line.text.rstrip().endswith(("?", "？"))
            granted = accepted_offer(before, line.text) or _granted(before, line.text)
            said = replace(line, text=granted or line.text)
            turn = UserTurn(said, at, language(fold(said.text)), before, is_answered)
            turns.append(_observed(turn, conversation.now))
    return tuple(turns)


def _granted(asked: str, reply: str) -> str:
    """What somebody offers always to do, "shall I always ...?", as the wish that a bare yes makes of it (T2)."""
    if not asked.rstrip().endswith(("?", "？")) or not Answer(reply).is_bare:
        return ""
    *before, offer = [clause.text.rstrip(".?？ ") for clause in clauses(own_words(asked))][-2:] or [""]
    return f"Remember: {offer}{''.join(f' ({one})' for one in before)}" if "offer" in meanings_in(offer) else ""


@lru_cache(maxsize=256)  # a job is answered in turns, and each looks at the same conversation
def _observed(turn: UserTurn, now: datetime) -> UserTurn:
    own = [replace(one, text=untagged(one.text)) for one in clauses(pointed(turn.line.text))]
    dates = read_dates([clause.text for clause in own], Clock(now.date(), turn.language))
    wishes = [wish_in(clause.text) for clause in own]
    begins = [(wish.says if wish.kind == "remember-this" else wish.start) if wish else 0 for wish in wishes]
    folded = [fold(clause.text[at:]) for clause, at in zip(own, begins, strict=True)]
    words = [tokens(text) for text in folded]
    found = [cues(text, some, turn.language) for text, some in zip(folded, words, strict=True)]
    context = f"clauses:{min(MANY_CLAUSES, len(own).bit_length())}"
    seen = []
    for at, clause in enumerate(own):
        meanings = frozenset(cue.meaning for cue in found[at])
        meanings -= {"onlynow"} if "durable" in meanings else set()
        rule = _rule(clause.text, words[at], turn.language)
        local = _local(clause, folded[at], words[at], found[at], wishes[at])
        features = tuple(dict.fromkeys((*local, *_when(dates[at], now), *_neighbours(found, at), context)))
        seen.append(Seen(clause, tuple(words[at]), meanings, dates[at], features, wishes[at], rule))
    return replace(turn, seen=tuple(seen))


def _rule(text: str, words: list[str], language: str) -> str:
    """How a clause says that something must always or never be so, or has moved; empty where its words do not."""
    is_of_himself = anywhere("first-person", language).match(text)  # "I never saw it"
    if is_of_himself or anywhere("no-rule", language).search(text):
        return ""
    if anywhere("rule-begins").match(unopened(text)):
        return "plain" if len(words) > SHOUT_WORDS else "short"
    if len(words) <= SHOUT_WORDS:
        return ""
    begins = rf"\W*(?:[^\W\d_]+\W+){{0,{OPENING_WORDS}}}?(?:{alternatives('rule-begins', language)})"
    if re.match(begins, text, re.IGNORECASE):
        return "later"  # "it never works" is none
    moved = anywhere("value-moved", language).search(text)
    return "moved" if moved and re.search(r"\d", text[moved.end() :]) else ""


def _local(clause: Clause, folded: str, words: list[str], found: list[Cue], wish: Wish | None) -> Iterator[str]:
    yield "bias"
    runs = cjk_runs(folded)
    grams = [run[at : at + 2] for run in runs for at in range(max(1, len(run) - 1))] if runs else words
    yield from (f"w:{word}" for word in grams)
    yield from (f"b:{left} {right}" for left, right in pairwise(["^", *grams]))
    meanings = sorted({cue.meaning for cue in found})
    yield from (f"c:{meaning}" for meaning in meanings)
    yield from (f"c:{meaning}@start" for meaning in sorted({cue.meaning for cue in found if cue.at < OPENING_WORDS}))
    yield from (f"cc:{left}+{right}" for at, left in enumerate(meanings) for right in meanings[at + 1 :])
    yield f"length:{0 if len(words) <= SHORT_WORDS else 1 if len(words) <= LONG_WORDS else 2}"
    yield f"place:{_place(clause)}"
    if not wish and clause.text.rstrip().endswith(("?", "？")):
        yield "question"
    yield from (f"has:{name}" for name, mark in _MARKS.items() if mark.search(clause.text))


def _place(clause: Clause) -> str:
    if clause.total == 1:
        return "only"
    return "first" if clause.number == 0 else "last" if clause.number == clause.total - 1 else "mid"


def _when(dates: tuple[DateSpan, ...], now: datetime) -> Iterator[str]:
    for span in dates:
        far = span.days[-1] - now.date()
        ahead = "tomorrow" if far == timedelta(1) else "ahead"
        side = "past" if far < timedelta(0) else "today" if far == timedelta(0) else ahead
        yield f"date:{side}"
        yield f"date:{side}:{'vague' if span.vague else 'exact'}"
    if not dates:
        yield "date:none"


def _neighbours(found: list[list[Cue]], at: int) -> Iterator[str]:
    for name, other in (("prev", at - 1), ("next", at + 1)):
        if 0 <= other < len(found):
            yield from sorted({f"{name}:{cue.meaning}" for cue in found[other]})
        else:
            yield f"{name}:none"
