"""The derived index on disk: a packed segment, and a journal of small ones with what changed since.

Files are the truth and the folder may vanish: every refresh compares mtime and size, a changed
file is indexed again, a missing or damaged index is rebuilt, and where nothing can be written ranking works from
memory. Every byte is checked on opening, and a file that was changed under a process that holds it is opened again:
damage costs time and never an answer. Writers take the folder's lock; readers need none: files are replaced by rename,
and else the journal only grows. A segment that is applied twice or lost in a race does no harm: the next refresh sees
the stamp and reads the file again.
"""

from __future__ import annotations

import os
from itertools import islice

from memdir.disk.plain_file import open_descriptor, read_plain, read_with_status
from memdir.errors import DiskError, LockBusy
from memdir.search.document import Document, Question, Terms, index_documents
from memdir.search.ranking import KEPT, rank
from memdir.search.segment import Segment, kept_stamp, packed_size
from memdir.search.vectors import WordEncoder
from memdir.store.scan import MAX_MEMORY_BYTES, MAX_RETURNED, walk
from memdir.text.embedding import open_table

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from typing import TypeAlias

    from memdir.search.document import IndexedDocument
    from memdir.search.ranking import Ranking
    from memdir.search.vectors import Encoder
    from memdir.store.scan import Header
    from memdir.store.store import MemoryStore

    Stamp = tuple[int, int]  # of a document: its mtime in ns, size

OnProgress: TypeAlias = "Callable[[int, int], None]"  # how many documents of how many are done
BASE_NAME = "recall.base"
JOURNAL_NAME = "recall.journal"
LOCK_NAME = "recall.lock"
MAX_JOURNAL_SEGMENTS = 12  # each is one more to search
MAX_JOURNAL_DOCUMENTS = 512  # packing more than this again takes longer than a new file may wait
MAX_JOURNAL_BYTES = 256 << 20  # far more than so many documents take; a larger one is made again
MAX_GONE_SHARE = 0.1  # of the documents that count: more of them make words look common that are not
TOLD_FROM_BYTES = 250_000  # of text; fewer are indexed in about half a second: nobody needs to be told
TOLD_EVERY = 50  # documents
MAX_UNPACKED_TERMS = 60_000  # of all documents that are not packed yet: about 10 MB
LOCK_WAIT_SECONDS = 0.2  # a busy index is not worth waiting for: this process answers from memory


class IndexStore:
    """Segments that together hold the newest version of every document, kept on disk between processes."""

    def __init__(self, place: str, encoder: Encoder | None = None) -> None:
        self._place = place  # a folder of its own; may be deleted any time
        self.encoder = encoder or WordEncoder(open_table())
        self._open()

    def _open(self) -> None:
        self.segments: list[Segment] = []  # the large one, then those of the journal
        self.gone: set[tuple[int, int]] = set()  # (segment, document) pairs that were replaced or deleted
        self._newest: dict[str, tuple[int, int]] = {}
        self._mapped: os.stat_result | None = None  # of the file whose bytes the large segment looks at
        self._is_torn = False  # whether the journal ends in something that is no segment
        data, status = _map(self._path(BASE_NAME))
        base = _segment(data)
        if base is None or base.identity != self.encoder.identity:
            return
        self._mapped = status
        self._take(base)
        journal, self._is_torn = _read(self._path(JOURNAL_NAME))
        seen: set[memoryview] = set()
        while journal and not self._is_torn:
            size = packed_size(journal)
            segment = _segment(journal[:size])
            if segment is None:  # torn: nobody reads on behind it
                self._is_torn = True
            elif segment.identity == self.encoder.identity and journal[:size] not in seen:
                self._take(segment)  # once: what stands there twice would count twice
                seen.add(journal[:size])
            journal = journal[size:]

    def stamps(self) -> dict[str, Stamp]:
        """The (mtime in ns, size) of every document as it was indexed."""
        known = [segment.stamps() for segment in self.segments]
        return {key: known[at][number] for key, (at, number) in self._newest.items()}

    def update(
        self, current: dict[str, Stamp], read: Callable[[str], Document | None], on_progress: OnProgress | None = None
    ) -> int:
        """Bring the index to `current`. Returns how many documents had to be read."""
        if self._was_written_over():
            self._open()
        known = self.stamps()
        if known == current:
            return 0
        self.forget([key for key in known if key not in current])
        changed = [
            key for key, stamp in current.items() if (held := known.get(key)) != stamp and held != kept_stamp(stamp)
        ]
        found = (document for key in changed if (document := read(key)) is not None)
        return self._index(found, len(changed), sum([current[key][1] for key in changed]), on_progress)

    def add(self, documents: list[Document], *, on_progress: OnProgress | None = None) -> None:
        """Make new or changed documents searchable now, and for later processes.

        Only long work tells its progress; when that breaks it off, what is done is kept.
        """
        size = sum([len(document.body) for document in documents])
        self._index(documents, len(documents), size, on_progress)

    def forget(self, keys: Iterable[str]) -> None:
        """Deleted documents stop counting at once; the next time all is packed they are dropped."""
        self.gone.update([self._newest.pop(key) for key in keys if key in self._newest])

    def ranked(self, text: str, *, keep: int = KEPT, today: int | None = None) -> tuple[Question, Ranking]:
        """At least `keep` candidates where there are so many, with what is known of the query."""
        question = Question(text, self.encoder, today=today)
        return question, rank(question, self.segments, gone=self.gone, keep=max(KEPT, keep))

    def _index(self, documents: Iterable[Document], total: int, size: int, on_progress: OnProgress | None) -> int:
        """Packs what it has read ever and again: neither all texts nor all that is kept of them fit into memory."""
        coming, done, known = iter(documents), 0, Terms()
        unpacked: list[IndexedDocument] = []
        packed: list[bytes] = []
        try:
            while batch := list(islice(coming, TOLD_EVERY)):
                if on_progress is not None and size >= TOLD_FROM_BYTES:
                    on_progress(done, total)
                unpacked += index_documents(batch, self.encoder, known)
                done += len(batch)
                if sum([len(document.counts) for document in unpacked]) > MAX_UNPACKED_TERMS:
                    packed.append(self._pack(unpacked))
                    unpacked = []
        finally:
            if unpacked:
                packed.append(self._pack(unpacked))
            if packed or self._is_cluttered():
                self._take_in(packed)
        return done

    def _pack(self, documents: list[IndexedDocument]) -> bytes:
        from memdir.search.segment_writer import pack  # a start that writes nothing does not load it

        return pack(documents, self.encoder.identity, self.encoder.dimensions)

    def _take_in(self, packed: list[bytes]) -> None:
        was_empty = not self.segments
        for data in packed:
            self._take(Segment(data))
        count = sum([segment.documents for segment in self.segments[len(self.segments) - len(packed) :]])
        if was_empty or count > MAX_JOURNAL_DOCUMENTS or self._is_cluttered():
            self._join(0)
        elif len(packed) == 1 and len(self.segments) <= 1 + MAX_JOURNAL_SEGMENTS and not self._is_torn:
            self._write(JOURNAL_NAME, packed[0], appends=True)
        else:
            self._join(1)

    def _is_cluttered(self) -> bool:
        """Whether too many are older versions: their words still count as held by the store."""
        return len(self.gone) > MAX_GONE_SHARE * len(self._newest)

    def _was_written_over(self) -> bool:
        """Whether the mapped file is no longer what was checked; memdir itself replaces files and changes none."""
        was = self._mapped
        try:
            now = os.stat(self._path(BASE_NAME))
        except OSError:
            return False  # deleted or replaced: the bytes that are mapped stay
        if was is None or now.st_ino != was.st_ino:
            return False
        return (now.st_mtime_ns, now.st_size) != (was.st_mtime_ns, was.st_size)

    def _take(self, segment: Segment) -> None:
        at = len(self.segments)
        self.segments.append(segment)
        newest = self._newest
        for number, key in enumerate(segment.keys()):
            if key in newest:
                self.gone.add(newest[key])
            newest[key] = (at, number)

    def _join(self, first: int) -> None:
        """Make one segment of those from `first` on, without what is gone: 0 for all, 1 for those of the journal."""
        from memdir.search.segment_writer import merge

        data = merge(self.segments[first:], {(at - first, number) for at, number in self.gone})
        joined = Segment(data)
        if first and joined.documents > MAX_JOURNAL_DOCUMENTS:
            self._join(0)
            return
        self.segments = self.segments[:first]
        self.gone = {place for place in self.gone if place[0] < first}
        self._newest = {key: place for key, place in self._newest.items() if place[0] < first}
        self._take(joined)
        self._write(JOURNAL_NAME if first else BASE_NAME, data)

    def _write(self, name: str, data: bytes, *, appends: bool = False) -> None:
        from memdir.disk.append import append_bytes
        from memdir.disk.atomic import make_folder, write_bytes_atomic  # only what writes loads it
        from memdir.disk.lock import locked

        try:
            make_folder(self._place)
            with locked(self._path(LOCK_NAME), wait_seconds=LOCK_WAIT_SECONDS):
                if appends:
                    append_bytes(self._path(name), data)
                    return
                write_bytes_atomic(self._path(name), data)
                if name == BASE_NAME:
                    write_bytes_atomic(self._path(JOURNAL_NAME), b"")
                self._is_torn = False
        except (DiskError, LockBusy):
            return  # full, read-only or busy: the next process reads the files again

    def _path(self, name: str) -> str:
        return os.path.join(self._place, name)


class MemoryIndex(IndexStore):
    """The index over one memory directory: looks at every file, reads what changed; asks no model (R3)."""

    def __init__(self, root: str, place: str, *, encoder: Encoder | None = None) -> None:
        super().__init__(place, encoder)
        self._root = root

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
        return self.update(current, self._read, on_progress)

    def search(self, text: str, *, limit: int) -> list[str]:
        """Keys in order of rank, without a decision (R8)."""
        return [candidate.key for candidate in self.ranked(text, keep=limit)[1].candidates[:limit]]

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


def nearest_headers(
    store: MemoryStore, headers: Sequence[Header], texts: Iterable[str], *, limit: int = MAX_RETURNED
) -> tuple[list[Header], int]:
    """What a model is shown of a store, and how many more there are: all where they fit (S10), else those nearest to
    one of the texts and, as far as there is room, the newest; in the order in which they were given."""
    if len(headers) <= limit:
        return list(headers), 0
    asked, index = dict.fromkeys(texts), MemoryIndex(store.root, store.place.derived)
    if asked:
        index.refresh()
    found = [index.search(text, limit=limit) for text in asked]
    first = {key: at for keys in reversed(found) for at, key in enumerate(keys)}
    kept = {header.key for header in sorted(headers, key=lambda header: first.get(header.key, limit))[:limit]}
    return [header for header in headers if header.key in kept], len(headers) - limit


def _segment(data: bytes | memoryview) -> Segment | None:
    try:
        return Segment(data)
    except (ValueError, IndexError, OverflowError):
        return None


def _read(path: str) -> tuple[memoryview, bool]:
    """The journal's bytes, and whether something stands there that cannot be read, or is no journal for its size."""
    try:
        return memoryview(read_plain(path, max_bytes=MAX_JOURNAL_BYTES)), False
    except OSError:
        return memoryview(b""), os.path.lexists(path)


def _map(path: str) -> tuple[bytes | memoryview, os.stat_result | None]:
    """A file's bytes where they lie, and which file that is; no bytes when it is missing, empty or no plain file."""
    import mmap

    try:
        descriptor, status = open_descriptor(path)
    except OSError:
        return b"", None
    try:
        return memoryview(mmap.mmap(descriptor, 0, access=mmap.ACCESS_READ)), status
    except (OSError, ValueError):
        return b"", None
    finally:
        os.close(descriptor)
