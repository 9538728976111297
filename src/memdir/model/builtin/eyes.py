"""What a person typed to be remembered, seen as extraction would see it: its kind, its dates, whether code tells it."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime

from memdir.disk.plain_file import read_if_plain
from memdir.disk.project_git import ProjectGit
from memdir.disk.repository import LeftOut
from memdir.model.builtin.extract.features import SYMBOL, UserTurn, observe
from memdir.model.builtin.extract.guards import WHERE_IN_CODE
from memdir.model.builtin.extract.judge import TYPES, shipped
from memdir.model.builtin.extract.talk import Talk, TalkLine
from memdir.model.builtin.extract.wording import with_dates
from memdir.store.topic import MemoryType, guess_type, parse_type
from memdir.text.language import anywhere
from memdir.text.standing import one_day_each
from memdir.text.stems import terms_in

MAX_CHARACTERS = 20_000  # of a text that are looked at; what is longer is a document
SURE = 0.6  # of what speaks for any type that speaks for one
LEAST = 0.35  # less than that speaks for no type at all
MAX_BYTES = 1 << 20  # of a file that is looked into
MAX_SECONDS = 2.0  # for git to find the lines that hold a name
_COMMAND = re.compile(r"\b(?:make|just|npm|pnpm|yarn|cargo)(?: run)? [\w:-]+")
_COMMAND_FILES = ("Makefile", "justfile", "package.json", "Cargo.toml")
_OF_CODE = terms_in(
    "call cargo class code command constant default define field file folder function just live make method module npm "
    "parameter path pnpm project repo repository return run script set sit start target variable yarn "
    "Datei Funktion Klasse steht liegt fichier fonction archivo función"
)
_HISTORY = re.compile(r"\bgit (?:log|blame|history) (?:has|knows|says|shows|tells)\b", re.IGNORECASE)
_OWN = frozenset(("always", "because", "change", "decide", "durable", "forbid", "want"))


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
    [turn] = observe(talk)
    kind = kind or _kind(text, turn)
    return Noticed(_dated(text, turn, kind), kind, is_derivable=_is_derivable(turn, kind, project))


def _kind(text: str, turn: UserTurn) -> MemoryType:
    odds = [shipped().probabilities(one.features, one.words) for one in turn.seen]
    votes = {name: sum(one[letter] for one in odds) for letter, name in TYPES.items()}
    best, total = max(votes, key=lambda name: votes[name]), sum(votes.values())
    is_sure = total > LEAST * len(odds) and votes[best] >= SURE * total
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


def _is_derivable(turn: UserTurn, kind: MemoryType, project: str) -> bool:
    """Whether the project's files say it, and all of it: what is judged, denied or wanted, or why, stands in none."""
    said = " ".join(one.clause.text for one in turn.seen)
    meanings = frozenset().union(*(one.meanings for one in turn.seen))
    is_wanted = kind is MemoryType.FEEDBACK or meanings & _OWN
    if not project or is_wanted or anywhere("negated").search(said):
        return False
    told, place = " ".join(_told_of(said, project)), WHERE_IN_CODE.search(said)
    more = terms_in(said[place.end() :] if place else said) - _OF_CODE
    return bool(_HISTORY.search(said)) or (bool(told) and more <= terms_in(told))


def _told_of(said: str, project: str) -> Iterator[str]:
    """What the files of the project say of the places, commands and names in a text."""
    words = (word.strip("./,:;!?()'\"`") for word in said.split())
    for path in filter(None, (*words, *(_COMMAND_FILES if _COMMAND.search(said) else ()))):
        if os.path.exists(where := os.path.join(project, path)):
            yield f"{path} {(read_if_plain(where, MAX_BYTES) or b'').decode('utf-8', 'replace')}"
    if names := [f"-e{name.rstrip('()')}" for name in SYMBOL.findall(said)]:
        with suppress(LeftOut), ProjectGit(project) as git:
            found = git.run("grep", "--untracked", "-I", "-w", "-F", *names, timeout_seconds=MAX_SECONDS)[1]
            yield found[:MAX_BYTES].decode("utf-8", "replace")
