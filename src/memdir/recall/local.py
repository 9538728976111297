"""The local selector over a memory directory: scan, index, rank, decide, on this machine and without a model (R1, R3).

Holds the derived index and the table between calls; a hook makes one, asks once and ends.
"""

from __future__ import annotations

import os

from memdir.disk.plain_file import read_with_status
from memdir.recall.card import day_of
from memdir.recall.derived import Derived
from memdir.recall.document import Document
from memdir.recall.encoder import WordEncoder
from memdir.recall.question import Question
from memdir.recall.rank import KEPT, Ranking, rank
from memdir.store.walk import MAX_MEMORY_BYTES, walk
from memdir.text.embedding import open_table

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from memdir.recall.decide import Decision
    from memdir.recall.derived import OnProgress
    from memdir.recall.encoder import Encoder


class Recalled:
    """What was chosen for a message, with everything that explains it (O2)."""

    __slots__ = ("decision", "question", "ranking")

    def __init__(self, question: Question, ranking: Ranking, decision: Decision) -> None:
        self.question = question
        self.ranking = ranking
        self.decision = decision

    @property
    def keys(self) -> list[str]:
        return self.decision.chosen


class LocalSelector:
    """Chooses memories of one directory; `place` is the folder of the derived index and may be deleted any time."""

    __slots__ = ("_derived", "_encoder", "_root")

    def __init__(self, root: str, place: str, *, encoder: Encoder | None = None) -> None:
        self._root = root
        self._encoder = encoder or WordEncoder(open_table())
        self._derived = Derived(place, self._encoder)

    def refresh(self, *, on_progress: OnProgress | None = None) -> int:
        """Look at every file's time and size and read what changed. Returns how many files were read."""
        current = {}
        for key, entry in walk(self._root):
            try:
                status = entry.stat(follow_symlinks=False)
            except OSError:
                continue  # deleted meanwhile
            if status.st_size <= MAX_MEMORY_BYTES:
                current[key] = (status.st_mtime_ns, status.st_size)
        return self._derived.refresh(current, self._read, on_progress=on_progress)

    def update(self, key: str) -> None:
        """One file is known to have changed: no look at the others."""
        document = self._read(key)
        if document is None:
            self._derived.forget([key])
        else:
            self._derived.add([document])

    def recall(
        self, text: str, *, now: float, recent_tools: Sequence[str] = (), surfaced: Collection[str] = ()
    ) -> Recalled:
        """The few memories that clearly help with a message, or none."""
        from memdir.recall.decide import decide  # a search ranks and decides nothing

        today = day_of(now)
        question, ranking = self._ranked(text, keep=KEPT + len(surfaced), today=today)
        decision = decide(question, ranking, today=today, recent_tools=recent_tools, surfaced=surfaced)
        return Recalled(question, ranking, decision)

    def search(self, text: str, *, limit: int) -> list[str]:
        """Keys in order of rank, without a decision (R8)."""
        return [candidate.key for candidate in self._ranked(text, keep=max(KEPT, limit))[1].candidates[:limit]]

    def rank(self, text: str, *, limit: int, now: float) -> tuple[Question, Ranking]:
        """At least `limit` candidates where there are so many, with what is known of the query."""
        return self._ranked(text, keep=max(KEPT, limit), today=day_of(now))

    def _ranked(self, text: str, *, keep: int, today: int | None = None) -> tuple[Question, Ranking]:
        question = Question(text, self._encoder, today=today)
        return question, rank(question, self._derived.segments, gone=self._derived.gone, keep=keep)

    def _read(self, key: str) -> Document | None:
        """A memory as a document; None when it cannot be read. Time, size and text come from one open file (S9)."""
        from memdir.store.topic import Topic  # a start that reads no file needs no parser

        try:
            path = os.path.join(self._root, key)
            data, status = read_with_status(path, max_bytes=MAX_MEMORY_BYTES, follow=False)
        except OSError:
            return None
        topic = Topic(data)
        return Document(
            key,
            title=topic.name,
            description=topic.description,
            body=topic.body,
            kind=str(topic.kind or ""),
            mtime_ns=status.st_mtime_ns,
            size=status.st_size,
        )
