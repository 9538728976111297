"""The sessions of a project as a person sees them: listed, found by what they are called, deleted (J4).

A list reads only the beginning and the end of each file. Nothing is deleted without a plan that was shown before.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice

from memdir.disk.atomic import delete_file, delete_tree
from memdir.disk.open_writers import left_alone
from memdir.disk.plain_file import open_descriptor, read_beginning
from memdir.errors import DiskError, MemoryNotFound
from memdir.layout import Layout, is_session_id
from memdir.settings import Environment
from memdir.store.secrets import beginning
from memdir.transcript.attended import Attended, attended_times
from memdir.transcript.message import Message
from memdir.transcript.reader import read_records, records_naming
from memdir.transcript.record import TITLE, parse_record
from memdir.transcript.sources.codex import CodexSessions
from memdir.transcript.sources.gemini import GeminiSessions, QwenSessions
from memdir.transcript.sources.opencode import OpencodeSessions
from memdir.transcript.sources.source import ClaudeCodeSessions, OwnSessions, SessionRef, TranscriptSource

END_BYTES = 16 << 10  # of each end: the first question, and the last few records
LONG_END_BYTES = 1 << 20  # of the end, when the last record alone is longer than that, or messages are counted
TITLE_CHARACTERS = 80  # fits a line beside age and size
LOOKED_AT = 500  # characters of a text from which those are taken
LOOKED_THROUGH = 8 << 20  # bytes from the beginning, for the first words: behind all that a host says first
FIRST_MESSAGES = 20  # among which somebody will have said something
NOTES_TITLE = b"# Session Title\n"
WHOLE_RECORDS = ("memdir", "claude-code")  # agents whose records form a tree
LATEST = "latest"  # instead of an id


def all_sources(environment: Environment) -> dict[str, TranscriptSource]:
    """Every source of transcripts that there is, by the name of its agent."""
    return {
        "memdir": OwnSessions(environment.home),
        "claude-code": ClaudeCodeSessions(environment.claude_home),
        "codex": CodexSessions(environment.codex_home),
        "gemini": GeminiSessions(environment.gemini_home),
        "qwen": QwenSessions(environment.qwen_runtime, environment.qwen_home),
        "opencode": OpencodeSessions(environment.opencode_database, environment.opencode_home),
    }


@dataclass(frozen=True)
class AttendedSession:
    """A session of another agent, as far as memdir attended to it."""

    ref: SessionRef
    source: TranscriptSource
    attended: Attended
    layout: Layout

    @staticmethod
    def of(name: str, layout: Layout, sources: Mapping[str, TranscriptSource]) -> AttendedSession | None:
        attended = Attended.at(layout.attended(name)) if is_session_id(name) else None  # a file may bear any name
        source = sources.get(attended.agent) if attended is not None else None
        ref = None
        with suppress(DiskError):  # it cannot be read now
            ref = source.session(name, attended.transcript) if source and attended else None
        return AttendedSession(ref, source, attended, layout) if source and ref and attended else None

    def messages(self) -> list[Message]:
        """What was said in it; what is none of memdir's business bears the mark that nobody heard it."""
        return self.attended.heard(self.layout, self.source.messages(self.ref))


def said_in_sessions(
    folder: str, sessions: Iterable[str], others: Iterable[AttendedSession]
) -> Iterator[tuple[str, Message]]:
    """What was said in these sessions, memdir's own and other agents'."""
    attended = {other.attended.session: other for other in others}
    for session, other in attended.items():
        yield from ((session, message) for message in other.messages())
    for session in (one for one in sessions if one not in attended):
        with suppress(OSError):
            records = (one for one in read_records(os.path.join(folder, f"{session}.jsonl")) if not one.is_sidechain)
            yield from ((session, record.message) for record in records if record.message is not None)


def sessions_of(layout: Layout, sources: Mapping[str, TranscriptSource]) -> list[SessionRef]:
    """The sessions of a project, newest first: those that these agents keep for its folder, and those that memdir
    attended to, also of a folder below it or of another worktree."""
    found = [ref for source in sources.values() for ref in source.sessions(layout.work_tree)]
    names = attended_times(layout.project_home).keys() - {ref.id for ref in found}
    attended = [AttendedSession.of(name, layout, sources) for name in names]
    return sorted([*found, *(one.ref for one in attended if one)], key=lambda ref: -ref.modified)


@dataclass(frozen=True)
class SessionSummary:
    """What a list shows of a session. `is_guessed`: the number of messages is guessed from the size of the file."""

    ref: SessionRef  # which one
    title: str  # what it is about
    messages: int  # how many it has
    is_guessed: bool = False  # whether that number is guessed from the size of the file


def summary_of(ref: SessionRef, source: TranscriptSource, *, notes: str = "") -> SessionSummary:
    """Look at a session without reading it. `notes` is the path of its session memory, which knows a title (N2)."""
    if not ref.path.endswith(".jsonl"):  # one file for all sessions
        messages = list(source.messages(ref))
        return SessionSummary(ref, _shortened(_first_words(messages)), len(messages))
    head, tail = _ends(ref)
    count, is_guessed = _count(ref, source, tail)
    title = _given_title((*head, *tail)) or (_noted_title(notes) if notes else "")
    title = title or _first_words(source.messages(ref, end=LOOKED_THROUGH))
    return SessionSummary(ref, _shortened(title), count, is_guessed)


def _ends(ref: SessionRef) -> tuple[list[bytes], list[bytes]]:
    """The whole lines at both ends of a transcript; a short one is all tail."""
    try:
        descriptor, _ = open_descriptor(ref.path, follow=False)
    except OSError:
        return [], []
    try:
        if ref.size <= 2 * END_BYTES:
            return [], os.pread(descriptor, ref.size, 0).split(b"\n")
        head, tail = os.pread(descriptor, END_BYTES, 0).split(b"\n")[:-1], []
        for length in (END_BYTES, LONG_END_BYTES):
            tail = os.pread(descriptor, length, max(0, ref.size - length)).split(b"\n")[1:]
            if any(line.strip() for line in tail):
                break
        return head, tail
    except OSError:
        return [], []
    finally:
        os.close(descriptor)


def _count(ref: SessionRef, source: TranscriptSource, tail: list[bytes]) -> tuple[int, bool]:
    """How many messages there are: the last record of ours says so. Other agents' are counted, of a long transcript in
    its last part, by which the rest is guessed: the first records of a host may be larger than all that was said."""
    for line in reversed(tail):
        record = parse_record(line) if b'"depth":' in line else None
        depth = record.fields.get("depth") if record and not record.is_sidechain else None
        if isinstance(depth, int):
            return depth, False
    start = max(0, ref.size - LONG_END_BYTES)
    found = sum(place > start for place, _ in source.placed(ref, start)) if start else 0
    if not found:
        return sum(1 for _ in source.messages(ref)), False
    return round(found * ref.size / LONG_END_BYTES), True


def _given_title(lines: Sequence[bytes]) -> str:
    named = lines if (mark := TITLE.encode()) in b"\n".join(lines) else ()  # one look at all: hardly a session has one
    records = (parse_record(line) for line in reversed(named) if mark in line)
    titles = (record.fields.get("customTitle") for record in records if record is not None and record.type == TITLE)
    return next((title for title in titles if isinstance(title, str) and title.strip()), "")


def _noted_title(path: str) -> str:
    try:
        text = read_beginning(path, max_bytes=END_BYTES).partition(NOTES_TITLE)[2].partition(b"\n# ")[0]
    except OSError:
        return ""
    lines = (line.strip() for line in text.decode("utf-8", "replace").splitlines())
    return next((line for line in lines if line and not line.startswith("_")), "")


def _first_words(messages: Iterable[Message]) -> str:
    said = (one.text for one in islice(messages, FIRST_MESSAGES) if one.role == "user" and not one.is_meta)
    return next((text for text in said if text.strip()), "")


def _shortened(text: str) -> str:
    """A title without secrets, which are looked for before it is cut: also those that go on in the next line."""
    lines = (" ".join(line.split()) for line in beginning(text.lstrip(), LOOKED_AT).splitlines())
    line = next((line for line in lines if line), "")
    return line if len(line) <= TITLE_CHARACTERS else line[: TITLE_CHARACTERS - 1].rstrip() + "…"


def find_session(sessions: Sequence[SessionRef], wanted: str = LATEST) -> SessionRef:
    """The session of an id, or how one begins or ends; the newest for `latest`. `sessions` come newest first."""
    if not sessions:
        raise MemoryNotFound("there is no session of this project", remedy="`memdir sessions --agent all` looks wider")
    if wanted == LATEST:
        return sessions[0]
    exact = [ref for ref in sessions if ref.id == wanted]
    fitting = exact or [ref for ref in sessions if ref.id.startswith(wanted) or ref.id.endswith(wanted)]
    if len(fitting) == 1:
        return fitting[0]
    if not fitting:
        raise MemoryNotFound(f"there is no session {wanted}", remedy="`memdir sessions` lists them")
    listed = ", ".join(ref.id for ref in fitting[:5])
    raise MemoryNotFound(f"{wanted} fits {len(fitting)} sessions: {listed}", remedy="Write more of the id")


def find_messages(ref: SessionRef, source: TranscriptSource, ids: Collection[str]) -> dict[str, Message]:
    """The messages of these ids, as far as the transcript still has them."""
    wanted = {one for one in ids if one}
    if ref.agent not in WHOLE_RECORDS:
        return {message.id: message for message in source.messages(ref) if message.id in wanted}
    found: dict[str, Message] = {}
    for record, _ in records_naming(ref.path, wanted):
        message = record.message if record.uuid in wanted else None
        if message is not None:
            found[message.id] = message
        if len(found) == len(wanted):
            break
    return found


def full_id(path: str, beginning: str) -> str:
    """The id of the one message that begins like this; the words themselves when no message or several do."""
    fitting = {record.uuid for record, _ in records_naming(path, (beginning,)) if record.uuid.startswith(beginning)}
    return fitting.pop() if len(fitting) == 1 else beginning


@dataclass(frozen=True)
class PrunableSession:
    """A session that is old enough, what it takes on disk, and why it stays after all (empty: it goes)."""

    ref: SessionRef
    size: int
    stays_because: str = ""


def plan_pruning(
    layout: Layout, sessions: Sequence[SessionRef], sources: Collection[str], *, before: float, keep_newest: int
) -> list[PrunableSession]:
    """What pruning would do to the sessions last used before a moment, oldest first; `sessions` come newest first.

    `sources` are sessions that memories come from: `memdir why` shows their lines.
    """
    old = [ref for ref in sessions[keep_newest:] if ref.modified <= before]
    return [PrunableSession(ref, _size(layout, ref), _why_not(ref, sources)) for ref in reversed(old)]


def prune_sessions(layout: Layout, candidates: Sequence[PrunableSession]) -> list[PrunableSession]:
    """Delete what the plan lets go and nobody has resumed since. Returns what was deleted.

    The transcript goes last: a pruning that is killed leaves a session that is still listed, and is repeated.
    """
    gone = []
    for candidate in candidates:
        with left_alone(candidate.ref.path) as is_left:
            if candidate.stays_because or not is_left:
                continue
            delete_tree(layout.session_folder(candidate.ref.id))
            delete_file(candidate.ref.path)
            gone.append(candidate)
    return gone


def _why_not(ref: SessionRef, sources: Collection[str]) -> str:
    if ref.id in sources:
        return "memories come from it"
    with left_alone(ref.path) as is_left:
        return "" if is_left else "it is open"


def _size(layout: Layout, ref: SessionRef) -> int:
    size = ref.size
    for current, _, names in os.walk(layout.session_folder(ref.id)):
        for name in names:
            with suppress(OSError):
                size += os.lstat(os.path.join(current, name)).st_size
    return size
