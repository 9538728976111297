"""Searches what was said in sessions and written in daily logs, with the ranking that recall uses (R8).

One card a turn. A card remembers the bytes it was made from, so that the index itself says how far each transcript was
read; a transcript only grows, and only what is new in it is read again.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from itertools import islice

from memdir.disk.plain_file import open_plain
from memdir.search.document import Document, day_of
from memdir.search.index_store import IndexStore
from memdir.search.question import Question
from memdir.search.ranking import KEPT, Candidate, rank
from memdir.search.segment import kept_stamp
from memdir.search.vectors import WordEncoder
from memdir.store.scan import walk
from memdir.text.embedding import open_table
from memdir.transcript.message import Message
from memdir.transcript.reader import Reading, read_records
from memdir.transcript.sources.source import SessionRef

TYPE_CHECKING = False
if TYPE_CHECKING:
    from memdir.search.index_store import OnProgress

MAX_TURN_CHARACTERS = 8_000  # of one turn that are searched: the rest is pasted, or a very long answer
MIN_SIMILARITY = 0.5  # of a turn that shares no word with the query
SNIPPET_CHARACTERS = 160
LOG = "log:"  # before the key of a daily log; no id of a session holds a colon
MAX_LOG_BYTES = 8 << 20  # a day's log is some pages: of what is larger the beginning is searched
SPREAD = 5  # candidates for each place in the answer, since some are left out
HITS_A_SESSION = 3  # one long session about a subject must not hide the others


@dataclass
class _Turn:
    """A question and what was said until the next one, and the bytes it stands in."""

    start: int
    end: int
    moment: str
    texts: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Hit:
    """One place that fits: a message of a session, or a line of a daily log."""

    session: str
    path: str
    message: str
    role: str
    moment: str
    snippet: str
    score: float


class SessionSearch:
    """The searchable sessions and daily logs of a project; `place` is the folder of the derived index."""

    def __init__(
        self, sessions: Sequence[SessionRef], logs: str, place: str, *, encoder: WordEncoder | None = None
    ) -> None:
        self._paths = {ref.id: ref for ref in sessions}
        self._logs = logs
        self._encoder = encoder or WordEncoder(open_table())
        self._index = IndexStore(place, self._encoder)

    def refresh(self, *, on_progress: OnProgress | None = None) -> int:
        """Read what is new in transcripts and logs. Returns how many turns and logs were read."""
        known = self._index.stamps()
        last: dict[str, tuple[int, int]] = {}
        for key, (_, end) in known.items():
            session, start = _turn_of(key)
            if session:
                last[session] = max(last.get(session, (-1, 0)), (start, end))
        logs = sorted(LOG + key for key, entry in walk(self._logs) if entry.is_file(follow_symlinks=False))
        self._index.forget([key for key in known if self._is_stale(key, last, frozenset(logs))])
        documents = [*self._new_turns(last), *self._new_logs(logs, known)]
        self._index.add(documents, on_progress=on_progress)
        return len(documents)

    def search(self, text: str, *, limit: int, now: float) -> list[Hit]:
        """The places that fit best, best first; a past day in the text is counted from `now`."""
        question = Question(text, self._encoder, today=day_of(now))
        keep = max(KEPT, SPREAD * limit)
        ranking = rank(question, self._index.segments, gone=self._index.gone, keep=keep)
        fitting = [one for one in ranking.candidates if one.matched or one.similarity >= MIN_SIMILARITY]
        words = tuple(dict.fromkeys(text.casefold().split()))
        hits = (self._hit(candidate, words) for candidate in fitting)
        return list(islice(_spread(hit for hit in hits if hit is not None), limit))

    def _is_stale(self, key: str, last: dict[str, tuple[int, int]], logs: frozenset[str]) -> bool:
        """Whether a card's file is gone, or shorter than what was read of it: it was replaced."""
        session, _ = _turn_of(key)
        if not session:
            return key not in logs
        return session not in self._paths or self._paths[session].size < last[session][1]

    def _new_turns(self, last: dict[str, tuple[int, int]]) -> Iterator[Document]:
        for ref in self._paths.values():
            start, end = last.get(ref.id, (0, -1))
            if ref.size == end:
                continue
            for turn in turns_of(ref.path, start if ref.size > end else 0):
                yield Document(
                    f"{ref.id}#{turn.start}",
                    passages=turn.texts,
                    body="\n".join(turn.texts),
                    mtime_ns=_nanoseconds(turn.moment, ref.modified),
                    size=turn.end,
                )

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

    def _hit(self, candidate: Candidate, words: tuple[str, ...]) -> Hit | None:
        session, start = _turn_of(candidate.key)
        if not session:
            path = self._log_path(candidate.key)
            text, stamp = _read(path)
            return Hit("", path, "", "", _day_of(path), snippet(text, words), candidate.score) if stamp else None
        path = self._paths[session].path
        said = _messages_between(path, start, candidate.facts.size)
        if not said:
            return None
        best = max(said, key=lambda message: _count(message.text, words))
        return Hit(
            session, path, best.id, best.role, best.timestamp, snippet(best.text, words), round(candidate.score, 4)
        )


def _turn_of(key: str) -> tuple[str, int]:
    """The session of a card and the byte its turn begins at; no session for a daily log."""
    if key.startswith(LOG):
        return "", 0
    session, _, start = key.rpartition("#")
    return session, int(start)


def _day_of(path: str) -> str:
    """The day of a daily log, as its name says it."""
    return os.path.basename(path).removesuffix(".md")


def _spread(hits: Iterable[Hit]) -> Iterator[Hit]:
    """Not too many of one session, and a message that a fork has too only once."""
    counts: Counter[str] = Counter()
    seen: set[str] = set()
    for hit in hits:
        counts[hit.session or hit.path] += 1
        if counts[hit.session or hit.path] <= HITS_A_SESSION and (not hit.message or hit.message not in seen):
            seen.add(hit.message)
            yield hit


def turns_of(path: str, start: int = 0) -> Iterator[_Turn]:
    """The turns of a transcript from a byte on. The last one reaches to the end of what was read."""
    reading, at = Reading(start), start
    turn: _Turn | None = None
    for record in read_records(path, reading):
        begin, at = at, reading.offset
        message = record.message
        if message is None or record.is_sidechain or message.is_meta or not message.text.strip():
            continue
        if turn is None or message.role == "user":
            if turn is not None:
                turn.end = begin
                yield turn
            turn = _Turn(begin, at, message.timestamp)
        turn.texts.append(message.text[:MAX_TURN_CHARACTERS])
    if turn is not None:
        turn.end = reading.offset
        yield turn


def snippet(text: str, words: Sequence[str]) -> str:
    """The line that holds most of the words, cut around the first of them."""
    lines = [" ".join(line.split()) for line in text.splitlines() if line.strip()]
    best = max(lines, key=lambda line: _count(line, words), default="")
    folded = best.casefold()
    first = min((at for word in words if (at := folded.find(word)) >= 0), default=0)
    start = max(0, first - SNIPPET_CHARACTERS // 2)
    return ("…" if start else "") + best[start : start + SNIPPET_CHARACTERS]


def _count(text: str, words: Iterable[str]) -> int:
    folded = text.casefold()
    return sum(word in folded for word in words)


def _messages_between(path: str, start: int, end: int) -> list[Message]:
    messages = (record.message for record in read_records(path, Reading(start), end=end))
    return [message for message in messages if message is not None and not message.is_meta and message.text.strip()]


def _read(path: str) -> tuple[str, tuple[int, int] | None]:
    """A log's text and its stamp, from one open file; no stamp when it cannot be read or is no plain file (S9)."""
    try:
        with open_plain(path, follow=False) as file:
            status = os.fstat(file.fileno())
            data = file.read(MAX_LOG_BYTES)
    except OSError:
        return "", None
    return data.decode("utf-8", "replace"), (status.st_mtime_ns, status.st_size)


def _nanoseconds(moment: str, otherwise: float) -> int:
    try:
        return int(datetime.fromisoformat(moment).timestamp() * 1e9)
    except (ValueError, OverflowError):
        return int(otherwise * 1e9)
