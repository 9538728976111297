"""What a person typed to be remembered, seen as extraction would see it: its kind, its dates, whether code tells it."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from datetime import datetime

from memdir.model.builtin.extract.features import UserTurn, observe
from memdir.model.builtin.extract.guards import WHERE_IN_CODE
from memdir.model.builtin.extract.judge import TYPES, shipped
from memdir.model.builtin.extract.talk import Talk, TalkLine
from memdir.model.builtin.extract.wording import with_dates
from memdir.store.topic import MemoryType, guess_type, parse_type
from memdir.text.standing import one_day_each

MAX_CHARACTERS = 20_000  # of a text that are looked at; what is longer is a document
SURE = 0.6  # of what speaks for any type that speaks for one
LEAST = 0.35  # less than that speaks for no type at all
_CODE = re.compile(r"`[^`]+`|\b\w+(?:\(\)|_\w+\b|\.[a-z]{1,4}\b)|\b[\w.-]+/[\w./-]+|\bgit (?:log|blame|history)\b")
_PART = re.compile(r"\b(?:function|class|method|module|variable|constant|parameter)\b", re.IGNORECASE)
_PATH = re.compile(r"(?<![\w.-])[\w.-]*[/.][\w./-]+")  # from where a run begins: a blob is gone through once
_OWN = frozenset(("always", "because", "change", "decide", "durable", "event", "forbid", "owner", "want"))


@dataclass(frozen=True)
class Noticed:
    """The text with its dates made absolute, its kind, and whether reading the code would tell the same."""

    text: str
    kind: MemoryType
    is_derivable: bool


def notice(text: str, now: datetime, *, kind: MemoryType | None = None, project: str = "") -> Noticed:
    """Look at a text that somebody wants kept, as a `kind` where they say one; `project` is the folder whose files it
    may name."""
    talk = Talk((TalkLine(0, "user", text[:MAX_CHARACTERS]),), now, "", ())
    turn = next(iter(observe(talk)), None)
    if turn is None or not turn.seen:
        return Noticed(text, kind or guess_type(text), is_derivable=False)
    kind = kind or _kind(text, turn)
    return Noticed(_dated(text, turn, kind), kind, is_derivable=_is_derivable(turn, project))


def _kind(text: str, turn: UserTurn) -> MemoryType:
    judge = shipped()
    odds = [judge.probabilities(one.features, one.words) for one in turn.seen]
    votes = {name: sum(one[letter] for one in odds) / len(odds) for letter, name in TYPES.items()}
    best, total = max(votes, key=lambda name: votes[name]), sum(votes.values())
    is_sure = total >= LEAST and votes[best] >= SURE * total
    return (parse_type(best) if is_sure else None) or guess_type(text)


def _dated(text: str, turn: UserTurn, kind: MemoryType) -> str:
    """The text with the dates that are one day written out."""
    at = 0
    for one in turn.seen:
        dates = one_day_each(one.clause.text, one.dates, is_rule=kind is MemoryType.FEEDBACK)
        found = text.find(one.clause.text, at)
        if found >= 0 and dates:
            dated = with_dates(one.clause.text, dates)
            text = text[:found] + dated + text[found + len(one.clause.text) :]
            at = found + len(dated)
    return text


def _is_derivable(turn: UserTurn, project: str) -> bool:
    """Whether it says where in the code something is, or what the code does, and nothing that the code does not."""
    said = " ".join(one.clause.text for one in turn.seen)
    meanings = frozenset().union(*(one.meanings for one in turn.seen))
    if meanings & _OWN or any(one.dates for one in turn.seen):
        return False
    if ("derive" in meanings or _PART.search(said)) and _CODE.search(said):
        return True
    named = (word.strip("./") for word in _PATH.findall(said))
    is_there = any(word and os.path.exists(os.path.join(project, word)) for word in named)
    return bool(project and is_there and WHERE_IN_CODE.search(said))
