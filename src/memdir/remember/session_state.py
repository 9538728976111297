"""How far background work has come in one session: the little about a conversation that outlives a crash."""

from __future__ import annotations

import hashlib
import json
import os
import time
import uuid
import weakref
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from typing import Any

from memdir.disk.append import append_bytes
from memdir.disk.atomic import delete_file, keep_bytes
from memdir.disk.lock import locked
from memdir.disk.open_writers import mark_writing
from memdir.disk.plain_file import names_in, open_descriptor, read_plain, read_with_status
from memdir.errors import DiskError
from memdir.layout import Layout, is_session_id
from memdir.model.model import Request
from memdir.remember.turn import FinishedTurn, known_as, messages_after
from memdir.transcript.conversation import Branch
from memdir.transcript.message import Block, Message, Text, said_at
from memdir.transcript.reader import read_line
from memdir.transcript.record import encode, message_fields, record_from
from memdir.transcript.transcript import Transcript

MAX_STATE_BYTES = 1 << 20  # of the notes that are kept beside a transcript
MAX_UNLEARNED_BYTES = 64 << 20  # of what grows with a conversation: more than anybody says
MAX_UNHEARD = 16_000  # lines said while memory was off, the last ones: half of what the state may take
_LEFT_OUT = ("unheard", "purged", "lifted")
_DIGITS = 32  # enough that no two lines are ever taken for each other


@dataclass
class SessionState:
    """What background work keeps about one session."""

    id: str
    layout: Layout
    memory_is_on: bool = True
    extract_cursor: str = ""
    kept_cursor: str = ""  # where it stood on disk when we last looked: what is there now, another program moved
    went_back_from: str | None = None  # where the cursor stood, while what was said earlier is learned from
    turns_since_extraction: int = 0
    summarized_up_to: str = ""
    tokens_at_summary: int = 0
    failures: int = 0  # in a row, to extract what comes after the cursor
    failed_up_to: str = ""  # the last message of the range that failed first
    docs: Mapping[str, str] = field(default_factory=dict)  # magic docs, and the last message each has seen
    docs_seen: str = ""  # the last message that was looked at for docs
    unheard: frozenset[str] = frozenset()  # messages that were said while memory was off, or purged
    purged: frozenset[str] = frozenset()  # those of them that a purge left out,
    lifted: frozenset[str] = frozenset()  # and those that came back with it
    unheard_words: tuple[str, ...] = ()  # the same by their lines: a host may send them again under other ids
    lost_until: float = 0.0  # of a damaged one: what was said by then may be learned already, off or purged
    damage: str = ""  # what such a one says, set aside
    times: dict[str, float] = field(default_factory=dict)  # of messages that bear none
    is_lost: bool = False  # what is kept of it cannot be read now: nothing is learned from it, nor written over that
    user: str | None = None  # whose conversation it is, as the host names people; nobody noted it yet

    @staticmethod
    def load(session_id: str, layout: Layout, *, memory_is_on: bool = True) -> SessionState:
        """A session as a crash left it, or a new one where nothing is kept of it."""
        session = SessionState(session_id, layout, memory_is_on)
        try:
            return replace(session, **session._kept())
        except OSError:
            return replace(session, is_lost=os.path.lexists(session._path))

    def _kept(self) -> dict[str, Any]:
        """What is kept of it. Of what is damaged a copy is set aside, and what was said until it was last written
        counts as unheard: what was purged of that, nobody knows (L2)."""
        data, status = read_with_status(self._path, max_bytes=MAX_UNLEARNED_BYTES)
        try:
            return _fields_of(json.loads(data))
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
            return {"lost_until": min(status.st_mtime, time.time()), "damage": _set_aside(self._path, data)}

    @property
    def is_ours(self) -> bool:
        """Whether it is one of the person for whom memory is open: what others say of themselves is theirs."""
        return self.user in (None, self.layout.user)

    def begin(self) -> None:
        """Leave a mark that memdir attends to this session: what it says is caught up on after a crash (X10)."""
        if not SessionState.was_begun(self.id, self.layout):
            self.user = self.layout.user
            self._save()

    @staticmethod
    def was_begun(session_id: str, layout: Layout) -> bool:
        """Whether memdir attended to a session."""
        return os.path.exists(layout.session_state(session_id))

    def move_cursor(self, message_id: str) -> None:
        """Messages up to this one are done. Written after the memories are: a crash repeats, it never loses."""
        self.extract_cursor = message_id
        self.failures, self.failed_up_to = 0, ""
        self._save()

    def go_back(self) -> None:
        """What was said before all that was learned from is next, or what a crash left of it."""
        if self.went_back_from is None:
            self.went_back_from = self.extract_cursor
            self.move_cursor("")

    def go_on(self) -> None:
        """That is done: next is what it went back from."""
        if (cursor := self.went_back_from) is not None:
            self.went_back_from = None
            self.move_cursor(cursor or self.extract_cursor)

    def pass_over(self, said: Sequence[Message], heard: Collection[str], *, is_saved: bool) -> None:
        """This was said while memory was off, but for what was heard before: nothing is learned from it, now or later.
        What was heard, and not learned from yet, is left for when it is on again."""
        after = messages_after(said, self.extract_cursor)
        new = [one for one in self.heard(after) if not one.is_off and known_as(one) not in heard]
        self.unheard |= {one.id for one in new if one.id}
        self.unheard_words = (*self.unheard_words, *(words for one in new for words in _lines(one)))[-MAX_UNHEARD:]
        if said and self.unheard.issuperset(one.id for one in after if one.id):
            self.extract_cursor = said[-1].id
            self.failures, self.failed_up_to = 0, ""
        if is_saved:
            with self.locked():
                self._hear_of_others()
                self._write(self._path)

    def leave_out(self, messages: Iterable[Message]) -> None:
        """Nothing is learned from these, now or later: a person wants nothing kept of them (L2)."""
        with self.locked():
            now = SessionState.load(self.id, self.layout)  # whoever talks there has gone on since
            ids = {message.id for message in messages if message.id}
            now.purged, now.lifted = now.purged | (ids - now.unheard), now.lifted - ids
            now.unheard |= ids
            now._write(now._path)
        self._hear_of_others()

    def take_in(self) -> None:
        """What a purge left out is learned from after all: it was taken back."""
        with self.locked():
            now = SessionState.load(self.id, self.layout)
            now.unheard, now.lifted, now.purged = now.unheard - now.purged, now.lifted | now.purged, frozenset()
            now._write(now._path)
        self._hear_of_others()

    def heard(self, messages: Sequence[Message]) -> tuple[Message, ...]:
        """Messages, with the mark of those that were said while memory was off. What bears no id of theirs is known by
        its lines, as often as they were said then: a host sends them again under other ids, with a reminder before
        them, or joined to what was said later."""
        self._hear_of_others()
        messages = [one if self.is_known(one) else replace(one, is_off=True) for one in messages]
        left = Counter(self.unheard_words)
        for one in messages if left else ():
            left.subtract(_lines(one) if one.id in self.unheard else ())
        return tuple(replace(one, is_off=True) if one.id in self.unheard else _without(one, left) for one in messages)

    def is_known(self, message: Message) -> bool:
        """Whether it is known what became of it: of what was said before a damage it is not."""
        if not self.lost_until:
            return not self.is_lost
        return (said_at(message) or self.times.get(known_as(message), 0.0)) > self.lost_until

    def is_purged(self, heard: Iterable[Message]) -> bool:
        """Whether a person had some of what was heard left out since: what was made of it is not kept (L2)."""
        self._hear_of_others()
        return any(one.id in self.unheard and not one.is_off for one in heard)

    def count_failure(self, last: str) -> int:
        """The messages from the cursor to this one failed once more. Returns how often that makes in a row."""
        self.failures += 1
        self.failed_up_to = self.failed_up_to or last
        self._save()
        return self.failures

    def mark_summarized(self, message_id: str, tokens: int) -> None:
        """The session memory covers the messages up to this one, written when the context had so many tokens."""
        self.summarized_up_to = message_id
        self.tokens_at_summary = tokens
        self._save()

    def note_docs(self, docs: Mapping[str, str], *, seen: str = "") -> None:
        """These magic docs are registered, each up to date with a message (M1)."""
        self.docs_seen, has_changed = seen or self.docs_seen, dict(self.docs) != dict(docs)
        self.docs = docs
        if has_changed:
            self._save()

    def _save(self) -> None:
        with self.locked():
            self._hear_of_others()
            self._write(self.layout.session_state(self.id))

    @property
    def _path(self) -> str:
        """Beside the transcript, where nothing else is kept of the session yet; what is there then takes it over."""
        is_begun = SessionState.was_begun(self.id, self.layout)
        return self.layout.session_state(self.id) if is_begun else self.layout.unheard(self.id)

    @contextmanager
    def locked(self) -> Iterator[None]:
        """One writer at a time: what a person purges of a session that goes on comes from another process."""
        path = f"{self.layout.session_state(self.id)}.lock"
        with locked(path):
            try:
                yield
            finally:
                with suppress(OSError):
                    os.unlink(path)  # whoever waits for it finds it gone and takes the next: nothing is left behind

    def _hear_of_others(self) -> None:
        """Take in what others have learned, and noted that nothing is learned from: that grows, but for purges that
        were undone."""
        with suppress(OSError):
            found = self._kept()
            self.lost_until = max(self.lost_until, found["lost_until"])
            if "purged" in found:
                if found["kept_cursor"] != self.kept_cursor:
                    self.extract_cursor = self.kept_cursor = found["kept_cursor"]
                self.purged, self.lifted = found["purged"], found["lifted"]
                self.unheard = (self.unheard | found["unheard"]) - self.lifted

    def _write(self, path: str) -> None:
        if self.is_lost:
            return
        state = {
            "extractCursor": self.extract_cursor,
            "summarizedUpTo": self.summarized_up_to,
            "tokensAtSummary": self.tokens_at_summary,
            "wentBackFrom": self.went_back_from,
            "failures": self.failures,
            "failedUpTo": self.failed_up_to,
            "docs": dict(self.docs),
            "docsSeen": self.docs_seen,
            **{name: sorted(getattr(self, name)) for name in _LEFT_OUT},
            "unheardWords": list(self.unheard_words),
            "lostUntil": self.lost_until,
            "user": self.user,
        }
        keep_bytes(path, json.dumps(state).encode("utf-8") + b"\n")
        self.kept_cursor = self.extract_cursor


@dataclass
class Unlearned:
    """The turns of a session that nothing was learned from yet, on disk until something is: a host with its own SDK
    leaves no transcript that would have them after a crash. Whoever holds the lock beside them is at work on them."""

    session: SessionState
    _let_go: Callable[[], object] | None = None
    _is_closed_to_us: bool = False  # what is there cannot be read now, and is not written over

    @property
    def path(self) -> str:
        return self.session.layout.unlearned(self.session.id)

    @property
    def lock_path(self) -> str:
        return f"{self.path}.lock"

    def keep(self, turns: Sequence[FinishedTurn]) -> None:
        """These and no others are left to learn from; none where a transcript has them."""
        if self._is_closed_to_us:
            return
        if not turns or os.path.exists(self.session.layout.session(self.session.id)):
            if os.path.lexists(self.path):
                delete_file(self.path)
            return
        if self._let_go is None:
            append_bytes(self.lock_path, b"")
            with suppress(OSError):  # without it somebody may learn the same at the same time
                lock, _ = open_descriptor(self.lock_path, follow=False)
                self._let_go = weakref.finalize(self, os.close, lock)  # a session that nobody holds any more is over
                mark_writing(lock)
        # As durable as a transcript: the end of a turn waits for no disk.
        keep_bytes(self.path, b"".join([encode(self._fields(turn)) + b"\n" for turn in turns]), durably=False)

    def _fields(self, turn: FinishedTurn) -> dict[str, object]:
        new = messages_after(turn.messages, self.session.extract_cursor)
        messages = [{**message_fields(m), "uuid": m.id, "timestamp": m.timestamp} for m in new]
        return {"tries": turn.tries, "ended": turn.ended, "messages": messages}

    def turns(self, request: Request, *, is_over: bool = False) -> list[FinishedTurn]:
        """What a crash left, as turns of this request; where the session is over, without a call that nobody answers
        any more."""
        try:
            data, status = read_with_status(self.path, max_bytes=MAX_UNLEARNED_BYTES)
        except OSError:
            self._is_closed_to_us = os.path.lexists(self.path)
            return []
        turns, is_damaged = list[FinishedTurn](), not data.endswith(b"\n")
        for line in data.splitlines():
            try:
                fields = json.loads(line.decode("utf-8", "surrogatepass"))
                tries, ended = int(fields["tries"]), float(fields.get("ended", 0.0))
                said = list(map(record_from, fields["messages"]))
            except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
                tries, ended, said, is_damaged = 0, status.st_mtime, list(read_line(line).records), True
            *before, reply = [None, *(record.message for record in said if record and record.message)]
            if reply is not None:
                asked = replace(request, messages=tuple(filter(None, before)))
                turns.append(FinishedTurn(asked, reply, tries=tries, ended=ended))
        if is_damaged:
            _set_aside(self.path, data)
        return [_answered(turn) for turn in turns if turn.messages[1:]] if is_over else turns

    def close(self) -> None:
        if self._let_go is not None:
            self._let_go()
            self._let_go = None


def _fields_of(found: Mapping[str, Any]) -> dict[str, Any]:
    """What a state that was written says; a KeyError, TypeError or the like where it is damaged."""
    return {
        "extract_cursor": str(found["extractCursor"]),
        "kept_cursor": str(found["extractCursor"]),
        "summarized_up_to": str(found["summarizedUpTo"]),
        "tokens_at_summary": int(found["tokensAtSummary"]),
        "went_back_from": found.get("wentBackFrom"),
        "failures": int(found.get("failures", 0)),
        "failed_up_to": str(found.get("failedUpTo", "")),
        "docs": {str(key): str(seen) for key, seen in dict(found.get("docs", {})).items()},
        "docs_seen": str(found.get("docsSeen", "")),
        **{name: frozenset(map(str, found.get(name, ()))) for name in _LEFT_OUT},
        "unheard_words": tuple(map(str, found.get("unheardWords", ()))),
        "lost_until": float(found.get("lostUntil", 0.0)),
        "user": found.get("user"),
    }


def _set_aside(path: str, data: bytes) -> str:
    """What cannot be read is not thrown away: a person may know what it was. Gives where it is kept."""
    aside = f"{path}.damaged-{hashlib.sha256(data).hexdigest()[:8]}"
    with suppress(DiskError):
        keep_bytes(aside, data)
    return aside


def _lines(message: Message) -> list[str]:
    return [_by_words(message, line) for line in message.text.split("\n") if line.strip()]


def _by_words(message: Message, line: str) -> str:
    """What knows a line again, and tells nobody what it said."""
    text = f"{message.role} {' '.join(line.split())}"
    return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()[:_DIGITS]


def _without(message: Message, left: Counter[str]) -> Message:
    """A message without the lines that are left to be known again; marked, where it has no others."""
    if not any(left[words] > 0 for words in (_lines(message) if left else ())):
        return message
    blocks = list[Block]()
    for block in message.content:
        if isinstance(block, Text):
            lines = list[str]()
            for line in block.text.split("\n"):
                words = _by_words(message, line)
                left[words] -= 1
                lines += [] if left[words] >= 0 else [line]
            block = Text("\n".join(lines))  # noqa: PLW2901 - the same block, shorter
        blocks.append(block)
    shorter = replace(message, content=tuple(blocks))
    return shorter if shorter.text.strip() else replace(message, is_off=True)


def unlearned_sessions(layout: Layout) -> list[str]:
    """The sessions of a project that have turns left to learn from."""
    return [name for name in sessions_in(layout) if os.path.exists(layout.unlearned(name))]


def sessions_in(layout: Layout) -> list[str]:
    """The sessions of a project that something is kept of besides a transcript."""
    return [name for name in names_in(layout.project_home) if is_session_id(name)]


def _answered(turn: FinishedTurn) -> FinishedTurn:
    if not turn.reply.tool_uses:
        return turn
    *before, last = turn.request.messages
    return replace(turn, request=replace(turn.request, messages=tuple(before)), reply=last)


def fork_session(
    open_transcript: Callable[[str], Transcript], origin: str, layout: Layout, *, at: str = "", fork_id: str = ""
) -> SessionState:
    """A new session that goes on where another one stands, or stood at a message, and knows what is done (J4).

    Its transcript is written last: a fork that is killed leaves no session.
    """
    fork = SessionState(fork_id or str(uuid.uuid4()), layout)
    branch = Branch.of(layout.session(origin), open_transcript(fork.id), at=at)
    before = SessionState.load(origin, layout)
    ids = [message.id for message in branch.left.messages]
    fork.extract_cursor = before.extract_cursor
    fork.unheard, fork.purged, fork.unheard_words = before.unheard, before.purged, before.unheard_words
    fork.unheard, fork.lost_until = fork.unheard | frozenset(ids if before.is_lost else ()), before.lost_until
    fork.docs, fork.docs_seen, fork.user = before.docs, before.docs_seen, before.user
    if before.extract_cursor not in ids and branch.is_behind(before.extract_cursor):
        fork.extract_cursor = ids[-1]  # all of it was extracted, and more that this one does not have
    if before.summarized_up_to in ids:
        fork.summarized_up_to, fork.tokens_at_summary = before.summarized_up_to, before.tokens_at_summary
        _copy(layout.session_memory(origin), layout.session_memory(fork.id))
    _copy(layout.shown(origin), layout.shown(fork.id))
    fork._save()
    branch.copy_files(layout.file_history(origin), layout.file_history(fork.id))
    branch.write()
    return fork


def _copy(before: str, after: str) -> None:
    try:
        data = read_plain(before, max_bytes=MAX_STATE_BYTES)
    except OSError:
        return
    keep_bytes(after, data)
