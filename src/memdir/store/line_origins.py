"""Where each sentence of a memory directory comes from, followed through the histories change by change (S14, L1); and
what once stood there and stands there no more.

A change tells who made it and from what; here that is told of every sentence: it keeps its causes when it is moved,
merged or brought back, and one that was put in other words has those of both. What is gone is read from the history and
kept nowhere else: what a person forgot leaves no second copy, and what is brought back is no longer gone.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import NamedTuple

from memdir.disk.git import object_id
from memdir.disk.safe_path import TEAM_PREFIX, is_index
from memdir.errors import HistoryError
from memdir.store.history import BY, OF, PULLED, Commit, FileChange, History
from memdir.store.log_lines import log_day
from memdir.store.move import moves_of
from memdir.store.shared import author_of
from memdir.store.store import MemoryStore
from memdir.store.topic import Topic
from memdir.text.nearness import sentence_of
from memdir.text.sentences import sentences_of

LEARNING = ("extract", "dream")  # sources of changes that forks make
GOING_BACK = ("undo", "restore")  # and of those that take one back
PURGED = "Purged"  # the trailer of a change that removed what came from a source: "session ID"

AGAIN = 0.55  # nearness at which one sentence says another again, as where a dream's sources are found
MAX_COMPARED = 200  # sentences of one change that a new one is compared with

OnProgress = Callable[[int, int], None]


class Left(NamedTuple):
    """When a sentence left, and whether a fork took it away: a person's hand means more."""

    moment: float
    is_learned: bool


class Gone:
    """The sentences that left a directory, and those that came, by the moment of the last time."""

    def __init__(self, history: History) -> None:
        self.left: dict[str, Left] = {}
        self.came: dict[str, float] = {}
        self._purges: dict[str, tuple[str, float]] = {}  # sessions that were purged when, by the change that did it
        self._taken_back: set[tuple[str, str, str]] = set()  # a path, its content, and what a change had made of it
        self._history = history
        self._head = ""

    def refresh(self) -> None:
        """Take in what the history has gained since the last time."""
        if not self._history.is_readable:
            return
        with suppress(HistoryError):  # what is damaged is told by those who must read it
            head = self._history.head()
            if head == self._head:
                return
            if self._head and not self._history.is_behind(self._head, head):  # it was begun again
                self.left, self.came, self._purges, self._taken_back, self._head = {}, {}, {}, set(), ""
            # What a history found when it began took nothing away, and nobody knows how old it was.
            changes = [one for one in self._history.log(since=self._head)[::-1] if not one.is_beginning]
            for commit, files in self._history.with_texts(changes, is_memory_path):
                self._take(commit, files)
            self._head = head

    @property
    def purged(self) -> dict[str, float]:
        """The sessions from which a person lets nothing be kept that was said before a moment (L2)."""
        return dict(sorted(self._purges.values(), key=lambda one: one[1]))

    def was_taken_back(self, path: str, before: bytes | None, after: bytes | None) -> bool:
        """Whether a person has taken back this very change of a file."""
        names = ("" if data is None else object_id("blob", data) for data in (before, after))
        return (path, *names) in self._taken_back

    def _take(self, commit: Commit, files: Sequence[tuple[FileChange, bytes, bytes]]) -> None:
        self._note_purge(commit)
        lines = [(_lines(before), _lines(after)) for _, before, after in files]
        left = _sentences(line for before, after in lines for line in before if line not in after)
        came = _sentences(line for before, after in lines for line in after if line not in before)
        gone = Left(commit.moment, commit.source in LEARNING)
        self.left.update(dict.fromkeys((text for text in left if text not in came), gone))
        for file, _, _ in files if commit.source in GOING_BACK else ():
            self._taken_back.discard((file.path, file.before, file.after))
            self._taken_back.add((file.path, file.after, file.before))
        for text in (text for text in came if text not in left):
            self.came[text] = commit.moment
            self.left.pop(text, None)

    def _note_purge(self, commit: Commit) -> None:
        kind, _, name = commit.trailers.get(PURGED, "").partition(" ")
        if kind == "session":
            self._purges[commit.id] = name, commit.moment
        self._purges.pop(commit.trailers.get("Undoes", ""), None)


def sentences_in(data: bytes) -> dict[str, None]:
    """What a memory says, sentence by sentence, in its order."""
    return _sentences(_lines(data))


def is_memory_path(path: str) -> bool:
    return path.endswith(".md") and not is_index(path)


def _lines(data: bytes) -> dict[str, None]:
    topic = Topic(data)
    return dict.fromkeys((topic.description, *topic.body.splitlines()))


def _sentences(lines: Iterable[str]) -> dict[str, None]:
    return dict.fromkeys(text for line in lines for text in sentences_of(line))


class Cause(NamedTuple):
    """Who or what brought a sentence there."""

    kind: str  # "session", "person" of the team, or "other": a hand, a program, nobody knows
    name: str  # its id, their name, or what the history calls the writer
    message: str = ""  # of a session, or the remote of a person's team, where the history tells


Causes = frozenset[Cause]
Told = dict[str, Causes]


@dataclass
class FileOrigins:
    """The sentences of one directory's files with their causes, as the changes so far have left them."""

    store: MemoryStore
    files: dict[str, Told] = field(default_factory=dict)  # by their path in the history
    left: Told = field(default_factory=dict)  # what stands there no more
    deleted: dict[str, Told] = field(default_factory=dict)  # what files said that are gone
    known: set[tuple[str, str]] = field(default_factory=set)  # every session and person that ever brought something

    def take(self, commit: Commit, told: Mapping[str, Collection[str]], moved: Mapping[str, Told]) -> None:
        """Go on by one change. `told` is what each of its files says afterwards, `moved` what those that came from
        another directory said there."""
        stood = {path: self.files.pop(path, {}) for path in told}
        gone = _all(Told((s, c) for s, c in some.items() if s not in told[path]) for path, some in stood.items())
        self.left |= gone
        for path, sentences in told.items():
            logs = [one for one in commit.lines_of(path) if log_day(one)]
            sources = [stood.get(one) or self.said_in(one) for one in (*commit.derived.get(path, ()), *logs)]
            whole = _all([*stood.values(), moved.get(path, {}), *sources])
            new = _Gained(commit, self._own(commit, path), whole, _all([gone, *sources]), self.left)
            found = {sentence: stood[path].get(sentence) or new.causes_of(sentence) for sentence in sentences}
            self.known |= {(one.kind, one.name) for causes in found.values() for one in causes}
            if found:
                self.files[path] = found
            else:
                self.deleted[path] = stood[path]

    def said_in(self, path: str) -> Told:
        """What a file says, or said when it went."""
        return self.files.get(path) or self.deleted.get(path, {})

    def _own(self, commit: Commit, path: str) -> Causes:
        """What the change itself says of a file."""
        sessions = {name: ids for name, ids in commit.lines_of(path).items() if not log_day(name)}
        lines = [Cause("session", session, one) for session, ids in sessions.items() for one in ids]
        if lines:
            return frozenset(lines)
        if session := commit.trailers.get("Session"):
            return frozenset([Cause("session", session)])
        person = commit.trailers.get(BY, "") if commit.source == PULLED else ""
        if commit.is_beginning and path.startswith(TEAM_PREFIX):
            person = author_of(self.store.place, path.removeprefix(TEAM_PREFIX))
        team = commit.trailers.get(OF, "")
        return frozenset([Cause("person", person, team) if person else Cause("other", commit.source)])


@dataclass(frozen=True)
class _Gained:
    """What a sentence that is new in a file may come from."""

    commit: Commit
    own: Causes
    whole: Told  # all that stood in the files of this change, and in those that it was made from
    gone: Told  # of these what left, or was made into something
    left: Told

    def causes_of(self, sentence: str) -> Causes:
        past = sentence.partition("Before:** ")[2]  # which comes from who said it, not from who changed it
        for said in (sentence, past, f"{past}."):
            if said in self.whole:
                return self.whole[said]
        is_unsigned = self.commit.source == PULLED and BY not in self.commit.trailers
        if (self.commit.source in GOING_BACK or is_unsigned) and sentence in self.left:
            return self.left[sentence]
        if self.commit.source == "purge":  # which says nothing of its own: it names a file after what stays there
            return self._again(sentence, self.whole) or self.own
        if self.commit.source != "dream":
            return self._again(sentence, self.gone) | self.own
        again = self._again(sentence, self.whole)
        if again or any(one.kind == "session" for one in self.own):
            return again or self.own
        return frozenset().union(*self.gone.values()) or self.own  # some of these, in words of its own

    @staticmethod
    def _again(sentence: str, told: Told) -> Causes:
        return frozenset().union(*(told[one] for one in _said_again(sentence, tuple(told))))


def _said_again(sentence: str, others: Sequence[str]) -> Iterator[str]:
    """Those of the others that a sentence says in other words, or that say it."""
    new = sentence_of(sentence)
    for other in others[-MAX_COMPARED:]:
        old = sentence_of(other)
        if max(new.nearness(old, is_translated=False), old.nearness(new, is_translated=False)) >= AGAIN:
            yield other


def _all(told: Iterable[Told]) -> Told:
    found: Told = {}
    for one in told:
        for sentence, causes in one.items():
            found[sentence] = found.get(sentence, frozenset()) | causes
    return found


def sentences_told(data: bytes, path: str) -> dict[str, None]:
    """All that a file says: its name, its description, its text; of a log not the day at its top."""
    told = dict.fromkeys((Topic(data).name, *sentences_in(data)))
    return {one: None for one in told if one and one != log_day(path)}


def trace_origins(
    sides: Mapping[str, FileOrigins],
    *,
    opener: Callable[[str], MemoryStore | None] = lambda _: None,
    on_progress: OnProgress | None = None,
) -> None:
    """Follow the histories of several directories, by the names that moves between them have for these, in the order
    of time. What was moved from a directory that is not among them is followed there, too."""
    logs = {name: side.store.history.log()[::-1] for name, side in sides.items()}
    known = dict(sides)
    moved_from = {name for log in logs.values() for commit in log for name, _ in moves_of(commit).values()}
    for name in moved_from - known.keys():
        store = opener(name)
        if store is not None and store.history.is_readable:
            known[name], logs[name] = FileOrigins(store), store.history.log()[::-1]
    total = sum(map(len, logs.values()))
    changes = (_changes(name, side, logs[name]) for name, side in known.items())
    for done, (_, name, commit, told) in enumerate(heapq.merge(*changes, key=lambda one: one[0])):
        if on_progress is not None:
            on_progress(done, total)
        moved = {path: known[side].said_in(key) for path, (side, key) in moves_of(commit).items() if side in known}
        known[name].take(commit, told, moved)


def _changes(
    name: str, side: FileOrigins, log: Sequence[Commit]
) -> Iterator[tuple[int, str, Commit, dict[str, dict[str, None]]]]:
    """The changes of one history, oldest first, with what each of their files says afterwards."""
    last = 0
    for commit, files in side.store.history.with_texts(log, is_memory_path):
        last = max(last, commit.time)  # a clock that went back
        yield last, name, commit, {file.path: sentences_told(after, file.path) for file, _, after in files}
