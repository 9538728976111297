"""The derived index on disk: a packed segment, and a journal of small ones with what changed since.

Files are the truth (ARCHITECTURE rule 4) and the folder may vanish: every refresh compares mtime and size, a changed
file gets a new card, a missing or damaged index is built anew, and where nothing can be written ranking works from
memory. Every byte is checked on opening, and a file that was changed under a process that holds it is opened again:
damage costs time and never an answer. Writers take the folder's lock; readers need none: files are replaced by rename,
and else the journal only grows. A record that is applied twice or lost in a race does no harm: the next refresh sees
the stamp and reads the file again.
"""

from __future__ import annotations

import os
from itertools import islice
from zlib import crc32

from memdir.disk.plain_file import open_descriptor, open_plain
from memdir.errors import DiskError, LockBusy
from memdir.search.document import Terms, index_documents
from memdir.search.segment import Segment, kept_stamp

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Sequence

    from memdir.search.document import Document, IndexedDocument
    from memdir.search.vectors import Encoder

    Identity = tuple[int, int, int]  # of a file: its inode, mtime in ns, size
    OnProgress = Callable[[int, int], None]  # how many documents of how many are done

BASE_NAME = "recall.base"
JOURNAL_NAME = "recall.journal"
LOCK_NAME = "recall.lock"
MAX_JOURNAL_RECORDS = 12  # each is a segment of its own to search
MAX_JOURNAL_CARDS = 512  # packing more than this again takes longer than a new file may wait
MAX_GONE_SHARE = 0.1  # of the cards that count: more of them make words look common that are not
TOLD_FROM_BYTES = 250_000  # of text; fewer are indexed in about half a second: nobody needs to be told
TOLD_EVERY = 50  # documents
MAX_UNPACKED_TERMS = 60_000  # of all cards that are not packed yet: about 10 MB
LOCK_WAIT_SECONDS = 0.2  # a busy index is not worth waiting for: this process answers from memory
_MARK = b"MDJR"
_HEAD_BYTES = 12  # mark, length, checksum


class IndexStore:
    """Segments that together hold the newest card of every document, kept on disk between processes."""

    __slots__ = ("_encoder", "_is_torn", "_mapped", "_newest", "_place", "gone", "segments")

    def __init__(self, place: str, encoder: Encoder) -> None:
        self._place = place
        self._encoder = encoder
        self._open()

    def _open(self) -> None:
        self.segments: list[Segment] = []  # the large one, then one a journal record
        self.gone: set[tuple[int, int]] = set()  # (segment, card) pairs that were replaced or deleted
        self._newest: dict[str, tuple[int, int]] = {}
        self._mapped: dict[str, Identity] = {}  # files whose bytes the segments look at
        self._is_torn = False  # whether the journal ends in something that is no record
        self._load()

    def stamps(self) -> dict[str, tuple[int, int]]:
        """The (mtime in ns, size) of every document as it was indexed."""
        known = [segment.stamps() for segment in self.segments]
        return {key: known[at][card] for key, (at, card) in self._newest.items()}

    def refresh(
        self,
        current: dict[str, tuple[int, int]],
        read: Callable[[str], Document | None],
        *,
        on_progress: OnProgress | None = None,
    ) -> int:
        """Bring the index to `current`: key to (mtime in ns, size). Returns how many documents were read anew."""
        if self._was_written_over():
            self._open()
        known = self.stamps()
        if known == current:
            return 0
        self.forget([key for key in known if key not in current])
        changed = [
            key for key, stamp in current.items() if (held := known.get(key)) != stamp and held != kept_stamp(stamp)
        ]
        is_long = sum([current[key][1] for key in changed]) >= TOLD_FROM_BYTES
        found = (document for key in changed if (document := read(key)) is not None)
        return self._index(found, len(changed), on_progress if is_long else None)

    def add(self, documents: Sequence[Document], *, on_progress: OnProgress | None = None) -> None:
        """Make new or changed documents searchable now, and for later processes.

        Only long work tells its progress; when that breaks it off, what is done is kept.
        """
        is_long = sum([len(document.body) for document in documents]) >= TOLD_FROM_BYTES
        self._index(documents, len(documents), on_progress if is_long else None)

    def _index(self, documents: Iterable[Document], total: int, on_progress: OnProgress | None) -> int:
        """Packs what it has read ever and again: neither all texts nor all that is kept of them fit into memory."""
        coming, done, known = iter(documents), 0, Terms()
        cards: list[IndexedDocument] = []
        fresh: list[bytes] = []
        try:
            while batch := list(islice(coming, TOLD_EVERY)):
                if on_progress is not None:
                    on_progress(done, total)
                cards += index_documents(batch, self._encoder, known)
                done += len(batch)
                if sum([len(card.counts) for card in cards]) > MAX_UNPACKED_TERMS:
                    fresh.append(self._pack(cards))
                    cards = []
        finally:
            if cards:
                fresh.append(self._pack(cards))
            self._take_in(fresh)
        return done

    def _take_in(self, packed: list[bytes]) -> None:
        fresh = [Segment(data) for data in packed]
        count = sum([segment.cards for segment in fresh])
        if count > MAX_JOURNAL_CARDS or (fresh and not self.segments) or self._is_cluttered(fresh):
            self._rebuild(fresh)
        elif fresh:
            data = packed[0] if len(packed) == 1 else _merge(fresh)
            self._take(Segment(data))
            if len(self.segments) <= 1 + MAX_JOURNAL_RECORDS and not self._is_torn:  # nobody reads on behind a tear
                self._write(lambda: self._append(data))
            else:
                self._fold()

    def forget(self, keys: Iterable[str]) -> None:
        """Deleted documents stop counting at once; the next rebuild drops their cards."""
        for key in keys:
            place = self._newest.pop(key, None)
            if place is not None:
                self.gone.add(place)

    def _is_cluttered(self, fresh: list[Segment]) -> bool:
        """Whether too many cards would be those of older versions: their words still count as held by the store."""
        replaced = sum([len(self._newest.keys() & segment.keys()) for segment in fresh])
        return len(self.gone) + replaced > MAX_GONE_SHARE * len(self._newest)

    def _load(self) -> None:
        base = self._segment(BASE_NAME)
        if base is None:
            return
        self._take(base)
        records, self._is_torn = _records(self._path(JOURNAL_NAME))
        for data in records:
            segment = self._readable(data)
            if segment is not None:
                self._take(segment)

    def _segment(self, name: str) -> Segment | None:
        """A segment file made with this table; None when it is missing, damaged or of another time."""
        data, identity = _map(self._path(name))
        segment = self._readable(data)
        if segment is not None:
            self._mapped[name] = identity
        return segment

    def _readable(self, data: bytes | memoryview) -> Segment | None:
        try:
            segment = Segment(data)
        except (ValueError, IndexError, OverflowError):
            return None
        return segment if segment.identity == self._encoder.identity else None

    def _was_written_over(self) -> bool:
        """Whether a mapped file is no longer what was checked; memdir itself replaces files and changes none."""
        for name, (inode, *stamp) in self._mapped.items():
            try:
                status = os.stat(self._path(name))
            except OSError:
                continue  # deleted or replaced: the bytes that are mapped stay
            if status.st_ino == inode and [status.st_mtime_ns, status.st_size] != stamp:
                return True
        return False

    def _take(self, segment: Segment) -> None:
        at = len(self.segments)
        self.segments.append(segment)
        newest = self._newest
        for card, key in enumerate(segment.keys()):
            if key in newest:
                self.gone.add(newest[key])
            newest[key] = (at, card)

    def _fold(self) -> None:
        """Make one record of the journal; put it into the large segment when it has grown."""
        base, *records = self.segments
        data = _merge(records, {(at - 1, card) for at, card in self.gone})
        folded = Segment(data)
        if folded.cards > MAX_JOURNAL_CARDS:
            self._rebuild([])
            return
        self._newest = {key: place for key, place in self._newest.items() if place[0] == 0}
        self.segments, self.gone = [base], {place for place in self.gone if place[0] == 0}
        self._take(folded)
        self._write(lambda: self._replace(JOURNAL_NAME, _record(data)))

    def _rebuild(self, fresh: list[Segment]) -> None:
        for segment in fresh:
            self._take(segment)
        data = _merge(self.segments, self.gone)
        self.segments, self.gone, self._newest = [], set(), {}
        self._take(Segment(data))
        self._write(lambda: self._replace(BASE_NAME, data))

    def _pack(self, cards: list[IndexedDocument]) -> bytes:
        from memdir.search.segment_writer import pack  # a start that writes nothing does not load it

        return pack(cards, self._encoder.identity, self._encoder.dimensions)

    def _append(self, data: bytes) -> None:
        from memdir.disk.atomic import append_bytes

        append_bytes(self._path(JOURNAL_NAME), _record(data))

    def _replace(self, name: str, data: bytes) -> None:
        from memdir.disk.atomic import write_bytes_atomic

        write_bytes_atomic(self._path(name), data)
        if name == BASE_NAME:
            write_bytes_atomic(self._path(JOURNAL_NAME), b"")
        self._is_torn = False

    def _write(self, write: Callable[[], None]) -> None:
        from memdir.disk.atomic import make_folder  # a start that writes nothing loads none of this
        from memdir.disk.lock import locked

        try:
            make_folder(self._place)
            with locked(self._path(LOCK_NAME), wait_seconds=LOCK_WAIT_SECONDS):
                write()
        except (DiskError, LockBusy):
            return  # full, read-only or busy: the next process reads the files again

    def _path(self, name: str) -> str:
        return os.path.join(self._place, name)


def _merge(segments: Sequence[Segment], gone: Collection[tuple[int, int]] = ()) -> bytes:
    from memdir.search.segment_writer import merge

    return merge(segments, gone)


def _record(data: bytes) -> bytes:
    return _MARK + len(data).to_bytes(4, "little") + crc32(data).to_bytes(4, "little") + data


def _records(path: str) -> tuple[list[bytes], bool]:
    """Whole records of a journal, and whether something else follows: a torn tail ends the reading."""
    try:
        with open_plain(path) as source:
            data = source.read()
    except FileNotFoundError:
        return [], os.path.lexists(path)
    except OSError:
        return [], True
    found, at = [], 0
    while data[at : at + 4] == _MARK:
        size = int.from_bytes(data[at + 4 : at + 8], "little")
        body = data[at + _HEAD_BYTES : at + _HEAD_BYTES + size]
        if len(body) != size or crc32(body) != int.from_bytes(data[at + 8 : at + 12], "little"):
            break
        found.append(body)
        at += _HEAD_BYTES + size
    return found, at < len(data)


def _map(path: str) -> tuple[bytes | memoryview, Identity]:
    """A file's bytes where they lie, and which file that is; no bytes when it is missing, empty or no plain file."""
    import mmap

    try:
        descriptor, status = open_descriptor(path)
    except OSError:
        return b"", (0, 0, 0)
    try:
        data = memoryview(mmap.mmap(descriptor, 0, access=mmap.ACCESS_READ))
        return data, (status.st_ino, status.st_mtime_ns, status.st_size)
    except (OSError, ValueError):
        return b"", (0, 0, 0)
    finally:
        os.close(descriptor)
