"""Searches what was said in sessions and written in daily logs, with the ranking that recall uses (R8).

One document a turn, which is named after its place, so that the index itself says how far each transcript was read; a
transcript only grows, and only what is new in it is read again.
"""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import islice

from memdir.disk.plain_file import open_plain
from memdir.errors import DiskError
from memdir.search.document import Document, day_of
from memdir.search.index_store import IndexStore
from memdir.search.memory_search import MIN_SIMILARITY, count_words, snippet, words_of
from memdir.search.ranking import Candidate
from memdir.search.segment import kept_stamp
from memdir.store.scan import walk
from memdir.transcript.message import Message, said_at
from memdir.transcript.sources.source import OwnSessions, SessionRef, TranscriptSource

TYPE_CHECKING = False
if TYPE_CHECKING:
    from memdir.search.index_store import OnProgress

MAX_TURN_CHARACTERS = 8_000  # of one turn that are searched: the rest is pasted, or a very long answer
LOG = "log:"  # before the key of a daily log; no id of a session holds a colon
MAX_LOG_BYTES = 8 << 20  # a day's log is some pages: of what is larger the beginning is searched
SPREAD = 5  # candidates for each place in the answer, since some are left out
_TIME = re.compile(r"- \d\d:\d\d\b")  # at the beginning of a line
HITS_A_SESSION = 3  # one long session about a subject must not hide the others


@dataclass(frozen=True)
class Hit:
    """One place that fits: a message of a session, or a line of a daily log."""

    session: str  # its id, empty for a daily log
    path: str  # the file
    message: str  # id of the message
    role: str  # who spoke
    moment: str  # when, in ISO format
    snippet: str  # the words that show why
    score: float  # how well it fits; higher is better
    agent: str = OwnSessions.agent  # whose session


class SessionSearch(IndexStore):
    """The searchable sessions and daily logs of a project; `place` is the folder of the derived index."""

    def __init__(self, sources: Mapping[str, TranscriptSource], refs: list[SessionRef], logs: str, place: str) -> None:
        super().__init__(place, None)
        self._sources = sources
        self._sessions = {ref.id: ref for ref in refs}
        self._logs = logs

    def refresh(self, *, on_progress: OnProgress | None = None) -> int:
        """Read what is new in transcripts and logs. Returns how many turns and logs were read."""
        known = self.stamps()
        last: dict[str, tuple[int, int]] = {}  # of each session: where its last turn begins and ends
        for key, (_, end) in known.items():
            session, start = _turn_of(key)
            if session:
                last[session] = max(last.get(session, (-1, 0)), (start, end))
        logs = {LOG + key for key, entry in walk(self._logs) if entry.is_file(follow_symlinks=False)}
        self.forget([key for key in known if key not in logs and self._is_stale(key, last)])
        documents = [*self._new_turns(last), *self._new_logs(sorted(logs), known)]
        self.add(documents, on_progress=on_progress)
        return len(documents)

    def search(self, text: str, *, limit: int, now: float) -> list[Hit]:
        """The places that fit best, best first; a past day in the text is counted from `now`."""
        _, ranking = self.ranked(text, keep=SPREAD * limit, today=day_of(now))
        fitting = [one for one in ranking.candidates if one.matched or one.similarity >= MIN_SIMILARITY]
        words = words_of(text)
        return list(islice(_spread(hit for one in fitting for hit in self._hits(one, words)), limit))

    def _is_stale(self, key: str, last: dict[str, tuple[int, int]]) -> bool:
        """Whether the file of what is no log any more is gone, or shorter than what was read of it: it was replaced."""
        session, _ = _turn_of(key)
        return session not in self._sessions or self._sessions[session].size < last[session][1]

    def _new_turns(self, last: dict[str, tuple[int, int]]) -> Iterator[Document]:
        for ref in self._sessions.values():
            start, end = last.get(ref.id, (0, -1))
            if ref.size != end:
                yield from _turns_of(ref, self._sources[ref.agent], start if ref.size > end else 0)

    def _new_logs(self, logs: Iterable[str], known: dict[str, tuple[int, int]]) -> Iterator[Document]:
        for key in logs:
            path = self._log_path(key)
            text, stamp = _read(path)
            if stamp is not None and known.get(key) != kept_stamp(stamp):
                lines = [line.strip() for line in text.splitlines() if line.strip()]
                dated = f"{_day_of(path)}\n{text}"  # of the day in its name, whenever it was copied
                yield Document(key, passages=lines, body=dated, mtime_ns=stamp[0], size=stamp[1])

    def _log_path(self, key: str) -> str:
        return os.path.join(self._logs, *key.removeprefix(LOG).split("/"))

    def _hits(self, candidate: Candidate, words: tuple[str, ...]) -> Iterator[Hit]:
        """The message of a turn that fits best; of a daily log every line that fits as well as the best."""
        session, start = _turn_of(candidate.key)
        score = round(candidate.score, 4)
        if not session:
            path = self._log_path(candidate.key)
            lines = [line for line in _read(path)[0].splitlines() if line.strip()]
            most = max((count_words(line, words) for line in lines), default=0)
            for line in [line for line in lines if count_words(line, words) == most][: HITS_A_SESSION if most else 1]:
                yield Hit("", path, "", "", _day_of(path), _with_time(line, snippet(line, words)), score)
            return
        ref = self._sessions[session]
        said = next((turn for _, turn in _parted(ref, self._sources[ref.agent], start)), [])
        if said:
            best = max(said, key=lambda message: count_words(message.text, words))
            text = snippet(best.text, words)
            yield Hit(session, ref.path, best.id, best.role, best.timestamp, text, score, ref.agent)


def _turn_of(key: str) -> tuple[str, int]:
    """The session of a document and the byte its turn begins at; no session for a daily log."""
    if key.startswith(LOG):
        return "", 0
    session, _, start = key.rpartition("#")
    return session, int(start)


def _day_of(path: str) -> str:
    """The day of a daily log, as its name says it."""
    return os.path.basename(path).removesuffix(".md")


def _with_time(line: str, told: str) -> str:
    """A part of a line of a daily log, with the time that the line begins with."""
    time = _TIME.match(line)
    return f"{time[0]} {told}" if time and not told.startswith(time[0]) else told


def _spread(hits: Iterable[Hit]) -> Iterator[Hit]:
    """Not too many of one session, and a message that a fork has too only once."""
    counts: Counter[str] = Counter()
    seen: set[str] = set()
    for hit in hits:
        counts[hit.session or hit.path] += 1
        if counts[hit.session or hit.path] <= HITS_A_SESSION and (not hit.message or hit.message not in seen):
            seen.add(hit.message)
            yield hit


def _parted(ref: SessionRef, source: TranscriptSource, start: int) -> Iterator[tuple[int, list[Message]]]:
    """The turns from a place in a transcript on, each a question and what was said until the next one, with the place
    where it begins."""
    turn: list[Message] = []
    begin = start
    for place, message in source.placed(ref, start):
        if not message.text.strip():
            continue
        if turn and message.role == "user":
            yield begin, turn
            turn = []
        begin = begin if turn else place
        turn.append(message)
    if turn:
        yield begin, turn


def _turns_of(ref: SessionRef, source: TranscriptSource, start: int) -> Iterator[Document]:
    """The turns from a place on; the last one says how far the transcript was read."""
    before: Document | None = None
    try:
        for place, turn in _parted(ref, source, start):
            if before is not None:
                yield before
            texts = [message.text[:MAX_TURN_CHARACTERS] for message in turn]
            stamp = int((said_at(turn[0]) or ref.modified) * 1e9)
            body = "\n".join(texts)
            before = Document(f"{ref.id}#{place}", passages=texts, body=body, mtime_ns=stamp, size=place)
    except DiskError:  # the next search goes on from there
        return
    if before is not None:
        before.size = ref.size
        yield before


def _read(path: str) -> tuple[str, tuple[int, int] | None]:
    """A log's text and its stamp, from one open file; no stamp when it cannot be read or is no plain file (S9)."""
    try:
        with open_plain(path, follow=False) as file:
            status = os.fstat(file.fileno())
            data = file.read(MAX_LOG_BYTES)
    except OSError:
        return "", None
    return data.decode("utf-8", "replace"), (status.st_mtime_ns, status.st_size)
