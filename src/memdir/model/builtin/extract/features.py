"""What can be observed about each sentence of the user, as named features for the trained judge.

Looks at words, cues, dates, the neighbours, the assistant before and after, and what is already written down;
decides nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import pairwise

from memdir.model.builtin.extract.same_memory import Shelf
from memdir.model.builtin.extract.talk import SaidSentence, Talk, TalkLine, sentences
from memdir.text.dates import Clock, DateSpan, read_dates
from memdir.text.language import cjk_runs, clean, fold, language, stems, tokens
from memdir.text.phrases import Cue, cues

_PATH = re.compile(
    r"`[^`]+`|\b[\w.-]+/[\w./-]+|\b\w+\.(?:py|ts|js|go|c|h|cpp|java|rs|md|json|ya?ml|toml|sql|css|html|txt|csv|tf|sh)\b"
)
_SYMBOL = re.compile(r"\b\w+_\w+\b|\b[a-z]+[A-Z]\w*\b|\b[A-Z][a-z]+[A-Z]\w*\b|\w+\(\)")
_NAME = re.compile(r"(?<=[a-z,;:]\s)[A-Z][\w'-]+")
_URL = re.compile(r"https?://|\bwww\.")
_YEAR = re.compile(r"\b(?:19|20)\d\d\b")
OPENING_WORDS = 3  # cues this near the beginning carry the mood of the sentence
SHORT_WORDS, LONG_WORDS = 4, 24


@dataclass(frozen=True)
class Seen:
    """A sentence with everything observed about it."""

    sentence: SaidSentence
    words: tuple[str, ...]
    meanings: frozenset[str]
    dates: tuple[DateSpan, ...]
    features: tuple[str, ...]


@dataclass(frozen=True)
class UserTurn:
    """One said line of the user with its surroundings."""

    line: TalkLine
    index: int
    language: str
    seen: tuple[Seen, ...]
    before: str  # what the assistant said last
    after: str  # what it answered
    acted: bool  # it had used a tool just before
    interrupts: bool  # the words came together with a tool's result
    first: bool
    last: bool


def observe(conversation: Talk, shelf: Shelf) -> tuple[UserTurn, ...]:
    """Every turn of the user, observed."""
    said = [at for at, line in enumerate(conversation.lines) if line.role == "user" and line.kind == "said"]
    turns = []
    for number, at in enumerate(said):
        turn = _surroundings(conversation, at, first=number == 0, last=number == len(said) - 1)
        turns.append(_observed(turn, conversation.now, shelf))
    return tuple(turns)


def _surroundings(conversation: Talk, at: int, *, first: bool, last: bool) -> UserTurn:
    lines = conversation.lines
    line = lines[at]
    tongue = language(fold(line.text))
    before = next(
        (other.text for other in reversed(lines[:at]) if other.role == "assistant" and other.kind == "said"), ""
    )
    after = next((other.text for other in lines[at + 1 :] if other.role == "assistant" and other.kind == "said"), "")
    block = lines[max(0, at - 4) : at]
    acted = any(other.kind in ("tool_use", "tool_result") for other in block)
    interrupts = (
        at > 0 and lines[at - 1].kind == "tool_result" and lines[at - 1].id.split(".")[0] == line.id.split(".")[0]
    )
    return UserTurn(line, at, tongue, (), clean(before), clean(after), acted, interrupts, first, last)


def _observed(turn: UserTurn, now: datetime, shelf: Shelf) -> UserTurn:
    own = sentences(turn.line.text, turn.index)
    dates = read_dates([sentence.text for sentence in own], Clock(now.date(), turn.language))
    folded = [fold(sentence.text) for sentence in own]
    words = [tokens(text) for text in folded]
    found = [cues(text, some, turn.language) for text, some in zip(folded, words, strict=True)]
    context = tuple(_context(turn))
    seen = []
    for at, sentence in enumerate(own):
        near = _neighbours(found, at)
        local = _local(sentence, folded[at], words[at], found[at])
        when = _when(dates[at], now)
        known = _known(sentence, shelf)
        meanings = frozenset(cue.meaning for cue in found[at])
        features = tuple(dict.fromkeys((*local, *when, *near, *known, *context, *_crossed(meanings, context))))
        seen.append(Seen(sentence, tuple(words[at]), meanings, dates[at], features))
    return UserTurn(
        turn.line,
        turn.index,
        turn.language,
        tuple(seen),
        turn.before,
        turn.after,
        turn.acted,
        turn.interrupts,
        turn.first,
        turn.last,
    )


def _local(sentence: SaidSentence, folded: str, words: list[str], found: list[Cue]) -> Iterator[str]:
    yield "bias"
    grams = (
        words
        if not cjk_runs(folded)
        else [run[at : at + 2] for run in cjk_runs(folded) for at in range(max(1, len(run) - 1))]
    )
    yield from (f"w:{word}" for word in grams)
    yield from (f"b:{left} {right}" for left, right in pairwise(grams))
    yield f"b:^ {grams[0]}" if grams else "empty"
    meanings = sorted({cue.meaning for cue in found})
    yield from (f"c:{meaning}" for meaning in meanings)
    yield from (f"c:{meaning}@start" for meaning in sorted({cue.meaning for cue in found if cue.at < OPENING_WORDS}))
    yield from (f"cc:{left}+{right}" for at, left in enumerate(meanings) for right in meanings[at + 1 :])
    yield f"length:{0 if len(words) <= SHORT_WORDS else 1 if len(words) <= LONG_WORDS else 2}"
    yield f"place:{_place(sentence)}"
    if sentence.text.rstrip().endswith(("?", "？")):
        yield "question"
    marks = (("path", _PATH), ("symbol", _SYMBOL), ("name", _NAME), ("url", _URL), ("year", _YEAR))
    yield from (f"has:{name}" for name, mark in marks if mark.search(sentence.text))
    if "“…”" in sentence.text:
        yield "has:quotation"
    if ":" in sentence.text:
        yield "has:colon"


def _place(sentence: SaidSentence) -> str:
    if sentence.total == 1:
        return "only"
    return "first" if sentence.number == 0 else "last" if sentence.number == sentence.total - 1 else "mid"


def _when(dates: tuple[DateSpan, ...], now: datetime) -> Iterator[str]:
    today = now.date()
    for span in dates:
        far = span.days[-1] - today
        side = (
            "past"
            if far < timedelta(0)
            else "today"
            if far == timedelta(0)
            else "tomorrow"
            if far == timedelta(1)
            else "ahead"
        )
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
    yield from sorted({f"turn:{cue.meaning}" for other, some in enumerate(found) if other != at for cue in some})


def _known(sentence: SaidSentence, shelf: Shelf) -> Iterator[str]:
    topic = stems(sentence.text)
    yield f"rules:{shelf.instructed(topic)}"


def _context(turn: UserTurn) -> Iterator[str]:
    yield f"turn:{'first' if turn.first else 'last' if turn.last else 'mid'}"
    if turn.acted:
        yield "after:action"
    if turn.interrupts:
        yield "after:interrupt"
    tongue = language(fold(turn.before)) if turn.before else turn.language
    before, after = fold(turn.before), fold(turn.after)
    yield from sorted(
        {
            f"asst:{cue.meaning}"
            for cue in cues(before, tokens(before), tongue)
            if cue.meaning in ("noted", "offer", "place", "owner")
        }
    )
    if before.rstrip().endswith(("?", "？")):
        yield "asst:asks"
    yield from sorted(
        {
            f"reply:{cue.meaning}"
            for cue in cues(after, tokens(after), turn.language)
            if cue.meaning in ("ack", "refuse", "durable", "always", "noted")
        }
    )
    yield from (f"reply:^{word}" for word in tokens(after)[:2])


def _crossed(meanings: frozenset[str], context: tuple[str, ...]) -> Iterator[str]:
    notable = [
        name for name in context if name.startswith(("asst:", "after:", "reply:ack", "reply:refuse", "turn:first"))
    ]
    for meaning in sorted(
        meanings
        & {"always", "durable", "want", "forbid", "remember", "praise", "halt", "change", "yes", "place", "product"}
    ):
        yield from (f"x:{meaning}|{name}" for name in notable)
