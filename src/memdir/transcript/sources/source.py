"""The contract of a transcript source, checked in tests/contracts for every one there is; the sessions of memdir and of
Claude Code, whose records have the same form (J1)."""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from glob import escape, glob
from itertools import islice
from typing import Any, ClassVar, Protocol

from memdir.disk.git_root import canonical_root, linked_worktrees, work_tree_root
from memdir.disk.plain_file import names_in, open_descriptor, open_plain, read_if_plain
from memdir.disk.plain_json import decode
from memdir.disk.safe_path import is_inside
from memdir.errors import DiskError
from memdir.layout import Layout, is_session_id, nfc, slug_of
from memdir.text.speakers import is_host, without_host
from memdir.transcript.message import Message, Text
from memdir.transcript.reader import Reading, read_records, records_naming
from memdir.transcript.record import Record, is_typed

_COMMANDS = ("command", "commands", "skill", "skills")  # folders of texts that are called by a name
_PUT_IN = re.compile(
    r"\$ARGUMENTS|\$\d+|\{\{args\}\}|[!@]\{[^{}]*\}|!`[^`]*`"
)  # where something else comes in such a text
_HEAD = re.compile(r"\A---\n.*?^---$", re.DOTALL | re.MULTILINE)
FIRST_RECORDS = 20  # of a session, one of which says where it was started
MAX_COMMANDS, MAX_COMMAND_BYTES = 1000, 64 << 10
TELLING = 15  # characters of such a text by which it is known, whatever comes in


@dataclass(frozen=True)
class SessionRef:
    """One session of an agent: where its transcript lies, when it was last written, how large it is."""

    id: str  # of the session
    path: str  # of its transcript
    agent: str  # whose it is
    modified: float  # when it was last written, in seconds
    size: int  # in bytes


class TranscriptSource(Protocol):
    """Reads an agent's sessions. Never writes, never raises on damage, skips what it does not know.

    Only `session` and `placed`, for whoever has to know that nothing was missed, raise DiskError where there is a file
    and it cannot be read now.
    """

    def sessions(self, project: str) -> Iterator[SessionRef]:
        """The sessions of a project, newest first."""
        ...

    def session(self, session_id: str, path: str) -> SessionRef | None:
        """The session that an agent says it writes to this file; None when there is none."""
        ...

    def placed(self, ref: SessionRef, start: int = 0, end: int | None = None) -> Iterator[tuple[int, Message]]:
        """What was said, called and answered, in order; nothing that the host put in, nothing of sub-agents.

        Each message with its place, a number that only grows along a transcript and stays the same: the byte it begins
        at, where it has bytes. From the place `start` on, and only what begins before `end`.
        """
        ...

    def messages(self, ref: SessionRef, *, since: str | None = None, end: int | None = None) -> Iterator[Message]:
        """The same without places. Every message has an id of its own, the same at every reading. With `since`, what
        came after that message; everything, when there is no such message (X4)."""
        ...


@dataclass(frozen=True)
class FileSource:
    """What sources share that keep each session in a file of its own, one record a line.

    Where records have no id that can be relied on, a message is known by the byte at which its line begins.
    """

    home: str
    agent: ClassVar[str]

    def paths(self, project: str) -> Iterable[str]:
        """The transcripts of a project, in no order."""
        raise NotImplementedError

    def said(self, record: Record, place: int) -> Message | None:
        """The message of a record, if somebody said it."""
        raise NotImplementedError

    def sessions(self, project: str) -> Iterator[SessionRef]:
        yield from newest_first(session_ref(path, self.agent) for path in self.paths(project))

    def session(self, session_id: str, path: str) -> SessionRef | None:  # noqa: ARG002 - a file holds one session
        return session_ref(path, self.agent) if require_readable(path) else None

    def placed(self, ref: SessionRef, start: int = 0, end: int | None = None) -> Iterator[tuple[int, Message]]:
        reading = Reading(start)
        for record in read_records(ref.path, reading, end=end):
            message = self.said(record, reading.place)
            if message is not None:
                yield reading.place, message

    def messages(self, ref: SessionRef, *, since: str | None = None, end: int | None = None) -> Iterator[Message]:
        known = _place_of(ref, since) if since else -1
        yield from (message for place, message in self.placed(ref, max(known, 0), end) if place > known)


def placed_id(place: int) -> str:
    """The id of a message that is known by its place."""
    return f"@{place}"


def _place_of(ref: SessionRef, message_id: str) -> int:
    """Where a message begins; -1 when there is no such message."""
    if message_id[:1] == "@" and message_id[1:].isdecimal():
        place = int(message_id[1:])
        return place if place < ref.size else -1
    named = records_naming(ref.path, (message_id,))
    return next((place for record, place in named if record.uuid == message_id), -1)


def require_readable(path: str) -> bool:
    """Whether there is a file; DiskError where it cannot be read: that is not the same as one that says nothing."""
    try:
        os.close(open_descriptor(path)[0])  # a pipe or a device would be waited for
    except (FileNotFoundError, NotADirectoryError, ValueError):
        return False
    except OSError as error:
        raise unreadable(path, error.strerror or str(error)) from error
    return True


def unreadable(path: str, why: str) -> DiskError:
    return DiskError(f"{path} cannot be read now: {why}")


def session_ref(path: str, agent: str) -> SessionRef | None:
    """The session of a transcript; None when it cannot be looked at."""
    try:
        status = os.stat(path)
    except (OSError, ValueError):
        return None
    name = os.path.splitext(os.path.basename(path))[0]
    return SessionRef(name, path, agent, status.st_mtime, status.st_size)


def newest_first(refs: Iterable[SessionRef | None]) -> list[SessionRef]:
    return sorted(filter(None, refs), key=lambda ref: (-ref.modified, ref.id))


def transcripts_in(folder: str) -> list[str]:
    """The transcripts that lie in a folder, in no order."""
    with suppress(OSError, ValueError), os.scandir(folder) as entries:
        return [entry.path for entry in entries if entry.name.endswith(".jsonl") and entry.is_file()]
    return []


def decoded(data: object) -> dict[str, Any]:
    """The object that a text stands for; an empty one for anything else."""
    raw = data.encode("utf-8", "replace") if isinstance(data, str) else data
    found = decode(raw) if isinstance(raw, bytes) else None
    return found if isinstance(found, dict) else {}


def head_of(path: str, max_bytes: int) -> dict[str, Any]:
    """What the first line of a transcript says; nothing when it cannot be read."""
    with suppress(OSError), open_plain(path) as file:
        return decoded(file.readline(max_bytes))
    return {}


def said_by_hand(
    placed: Iterable[tuple[int, Message]], agent: str, started: str, home: str
) -> Iterator[tuple[int, Message]]:
    """Without what a client wrote down as the user's where they typed a name alone: the text of a command or skill of
    the folder that the session was started in, or above it in the repository, or of those for all projects, which the
    agent keeps in its `home`, its extensions among them."""
    texts: list[list[str]] | None = None
    for place, message in placed:
        if message.role == "user" and not message.tool_results:
            texts = _command_texts(agent, started, home) if texts is None else texts
            words = " ".join(message.text.split())
            if any(_is_made_of(words, parts) for parts in texts):
                continue
        yield place, message


def _command_texts(agent: str, started: str, home: str) -> list[list[str]]:
    """The texts of commands, each in the parts between what comes in."""
    current = os.path.realpath(started if os.path.isabs(started) else os.sep)  # where nobody knows where
    root, folders = work_tree_root(current) or current, [os.path.expanduser("~")]
    while (current == root or is_inside(current, root)) and current != os.path.dirname(current):
        folders.append(current)
        current = os.path.dirname(current)
    homes = [os.path.join(one, at) for one in folders for at in (f".{agent}", ".claude", ".agents")]
    homes += [home, *glob(os.path.join(escape(home), "extensions", "*"))]
    found = [os.path.join(one, name) for one in homes for name in _COMMANDS]
    files = (os.path.join(at, name) for folder in found for at, _, names in os.walk(folder) for name in names)
    texts = []
    for path in islice((path for path in files if path.endswith((".md", ".toml"))), MAX_COMMANDS):
        text = (read_if_plain(path, MAX_COMMAND_BYTES) or b"").decode("utf-8", "replace").replace("\r\n", "\n")
        if path.endswith(".toml"):
            with suppress(ValueError):
                text = str(tomllib.loads(text).get("prompt", ""))
        parts = [" ".join(part.split()) for part in _PUT_IN.split(without_host(_HEAD.sub("", text, count=1)))]
        texts.append([part for part in parts if part])
    return texts


def _is_made_of(words: str, parts: list[str]) -> bool:
    at = 0
    for part in parts:
        at = words.find(part, at) + len(part)
        if at < len(part):
            return False
    return bool(parts) and (words == parts[0] or sum(map(len, parts)) >= TELLING)


def roots_of(project: str) -> tuple[str, ...]:
    """The folders that are a project: its own, the root of its repository, and the other worktrees of that."""
    root = os.path.realpath(canonical_root(project))
    return tuple(dict.fromkeys((os.path.realpath(project), root, *linked_worktrees(root))))


def is_of_project(folder: str, roots: tuple[str, ...]) -> bool:
    """Whether a session that was started in a folder belongs to the project: not one in another repository below it."""
    is_below = os.path.realpath(folder) in roots or any(is_inside(folder, root) for root in roots)
    return is_below and work_tree_root(folder) in (None, *roots)


@dataclass(frozen=True)
class OwnSessions(FileSource):
    """The transcripts below memdir's home."""

    agent = "memdir"

    def paths(self, project: str) -> Iterable[str]:
        found = transcripts_in(Layout(self.home, project).project_home)
        return (path for path in found if is_session_id(os.path.basename(path).removesuffix(".jsonl")))

    def said(self, record: Record, place: int) -> Message | None:  # noqa: ARG002 - records have ids
        message = record.message
        return None if message is None or message.is_meta or record.is_sidechain else message


@dataclass(frozen=True)
class ClaudeCodeSessions(FileSource):
    """The transcripts below Claude Code's home, `~/.claude`: `projects/<slug>/<session>.jsonl`, one record a content
    block. Those started in a project's folder, or below the root of its repository."""

    agent = "claude-code"

    def paths(self, project: str) -> Iterable[str]:
        return slug_transcripts(self.home, project)

    def said(self, record: Record, place: int) -> Message | None:  # noqa: ARG002 - records have ids
        message = record.message
        if message is None or _is_host(record, message):
            return None
        told = record.fields.get("userFeedback") if record.fields.get("toolDenialKind") == "user-rejected" else None
        # A person's words, beside a result in which any tool could say that they are.
        return replace(message, content=(*message.content, Text(told))) if isinstance(told, str) else message


def slug_transcripts(home: str, project: str, folder: str = "") -> Iterator[str]:
    """A project's transcripts in a home that is laid out like Claude Code's. A folder there may be one below the
    project, or another project's: its sessions say where they were started."""
    places, roots = os.path.join(home, "projects"), roots_of(project)
    slugs = tuple(slug_of(nfc(root)) for root in roots)
    for name in names_in(places):
        for path in transcripts_in(os.path.join(places, name, folder)) if name.startswith(slugs) else ():
            if name in slugs or ((started := started_in(path)) and is_of_project(started, roots)):
                yield path


def started_in(path: str) -> str:
    """The folder that a session was started in, by its first records; "" where they do not say."""
    told = (record.fields.get("cwd") for record in islice(read_records(path), FIRST_RECORDS))
    return next((folder for folder in told if isinstance(folder, str)), "")


def _is_host(record: Record, message: Message) -> bool:
    """Whether nobody said this: the host put it in, a sub-agent said it, it reports an error of the API, or it was sent
    in by something else than a person, as the record says: another session, a channel, a plugin."""
    raw, origin = record.fields.get("message"), record.fields.get("origin")
    if message.is_meta or record.is_sidechain or (isinstance(raw, dict) and raw.get("model") == "<synthetic>"):
        return True
    if isinstance(origin, dict) and origin.get("kind") != "human":
        return True
    is_sent_in = record.fields.get("promptSource") == "system" or not is_typed(record.fields)
    return message.role == "user" and not message.tool_results and (is_sent_in or is_host(message.text))
