"""What once stood in a memory directory and stands there no more, with the moment it left; when the rest came.

It is read from the history and kept nowhere else: what a person forgot leaves no second copy, and what is brought back
(`undo`, `restore`) is no longer gone. Without a history that can be read nothing is known to be gone.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import suppress
from typing import NamedTuple

from memdir.disk.git import object_id
from memdir.disk.safe_path import is_index
from memdir.errors import HistoryError
from memdir.store.history import Commit, FileChange, History
from memdir.store.topic import Topic
from memdir.text.sentences import sentences_of

LEARNING = ("extract", "dream")  # sources of changes that forks make
GOING_BACK = ("undo", "restore")  # and of those that take one back
PURGED = "Purged"  # the trailer of a change that removed what came from a source: "session ID"


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
            for commit, files in self._history.with_texts(self._history.log(since=self._head)[::-1], is_memory_path):
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
            self.came[text] = 0.0 if commit.is_beginning else commit.moment  # nobody knows how old that was
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
