"""The index over a memory directory: looks at every file, reads what changed, ranks. Asks no model (R3)."""

from __future__ import annotations

import os

from memdir.disk.plain_file import read_with_status
from memdir.search.document import Document, day_of
from memdir.search.index_store import IndexStore
from memdir.search.question import Question
from memdir.search.ranking import KEPT, rank
from memdir.search.vectors import WordEncoder
from memdir.store.scan import MAX_MEMORY_BYTES, walk
from memdir.text.embedding import open_table

TYPE_CHECKING = False
if TYPE_CHECKING:
    from memdir.search.index_store import OnProgress
    from memdir.search.ranking import Ranking
    from memdir.search.vectors import Encoder


class MemoryIndex:
    """The index over one memory directory; `place` is its folder and may be deleted any time."""

    __slots__ = ("_index", "_root", "encoder")

    def __init__(self, root: str, place: str, *, encoder: Encoder | None = None) -> None:
        self._root = root
        self.encoder = encoder or WordEncoder(open_table())
        self._index = IndexStore(place, self.encoder)

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
        return self._index.refresh(current, self._read, on_progress=on_progress)

    def update(self, key: str) -> None:
        """One file is known to have changed: no look at the others."""
        document = self._read(key)
        if document is None:
            self._index.forget([key])
        else:
            self._index.add([document])

    def search(self, text: str, *, limit: int) -> list[str]:
        """Keys in order of rank, without a decision (R8)."""
        return [candidate.key for candidate in self.ranked(text, keep=max(KEPT, limit))[1].candidates[:limit]]

    def rank(self, text: str, *, limit: int, now: float) -> tuple[Question, Ranking]:
        """At least `limit` candidates where there are so many, with what is known of the query."""
        return self.ranked(text, keep=max(KEPT, limit), today=day_of(now))

    def ranked(self, text: str, *, keep: int, today: int | None = None) -> tuple[Question, Ranking]:
        question = Question(text, self.encoder, today=today)
        return question, rank(question, self._index.segments, gone=self._index.gone, keep=keep)

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
