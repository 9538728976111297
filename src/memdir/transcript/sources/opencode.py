"""Sessions of opencode: all in one SQLite file, `opencode.db`, with the tables `session`, `message` and `part`.

The file is opened read-only, and no question to it takes longer than a limit: it may be locked, damaged or hostile.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from memdir.errors import DiskError
from memdir.text.speakers import is_host
from memdir.text.words import unquoted
from memdir.transcript.message import Block, Message, Text, ToolResult, ToolUse
from memdir.transcript.sources.source import (
    SessionRef,
    decoded,
    is_of_project,
    newest_first,
    require_readable,
    roots_of,
    said_by_hand,
    unreadable,
)

if TYPE_CHECKING:
    import sqlite3

AGENT = "opencode"
MAX_PART_BYTES = 16 << 20  # of one part of a message; what is larger is left out
MAX_SECONDS = 5.0  # for one question: thousands of messages take milliseconds
BUSY_SECONDS = 1.0  # how long a lock of opencode's own is waited for; it reads beside a writer otherwise
_STEPS = 10_000  # of SQLite's machine between two looks at the clock
_LATEST_MS = 253_402_300_800_000  # the year 10000
_SESSIONS = "SELECT id, directory, time_updated FROM session WHERE parent_id IS NULL"
_ONE = "SELECT id, directory, time_updated FROM session WHERE parent_id IS NULL AND id = ?"
_FOLDER = "SELECT directory FROM session WHERE id = ?"
_SIZE = "SELECT coalesce(sum(length(data)), 0) FROM part WHERE session_id = ?"
_MESSAGES = (
    "SELECT id, time_created, data FROM message WHERE session_id = ? AND time_created >= ? ORDER BY time_created, id"
)
_PARTS = "SELECT data FROM part WHERE message_id = ? AND length(data) <= ? ORDER BY id"


@dataclass(frozen=True)
class OpencodeSessions:
    """The sessions in opencode's file, `~/.local/share/opencode/opencode.db`, and the folder of its settings."""

    path: str
    home: str = ""

    def sessions(self, project: str) -> Iterator[SessionRef]:
        """Those started in this project's folder, or below the root of its repository; none of sub-agents."""
        found: list[SessionRef] = []
        with suppress(DiskError):
            found += self._refs(_SESSIONS, (), roots_of(project))
        yield from newest_first(found)

    def session(self, session_id: str, path: str) -> SessionRef | None:  # noqa: ARG002 - all are in one file
        return next(iter(self._refs(_ONE, (session_id,))), None)

    def placed(self, ref: SessionRef, start: int = 0, end: int | None = None) -> Iterator[tuple[int, Message]]:
        """The place of a message is the millisecond in which it was begun. What a tool answered is part of the message
        that called it, and follows as one of its own."""
        with _opened(ref.path) as connection:
            if connection is None:
                return
            folder = str(*(connection.execute(_FOLDER, (ref.id,)).fetchone() or ()))
            yield from said_by_hand(_placed(connection, ref, start, end), AGENT, folder, self.home)

    def messages(self, ref: SessionRef, *, since: str | None = None, end: int | None = None) -> Iterator[Message]:
        found: list[Message] = []
        with suppress(DiskError):
            found.extend(message for _, message in self.placed(ref, end=end))
        known = [at for at, message in enumerate(found) if since and message.id == since]
        yield from found[known[0] + 1 :] if known else found

    def _refs(self, query: str, values: tuple[str, ...], roots: tuple[str, ...] | None = None) -> Iterator[SessionRef]:
        with _opened(self.path) as connection:
            if connection is None:
                return
            for session_id, folder, updated in connection.execute(query, values).fetchall():
                if roots is None or (isinstance(folder, str) and is_of_project(folder, roots)):
                    [size] = connection.execute(_SIZE, (session_id,)).fetchone()
                    moment = updated / 1000 if isinstance(updated, int) and 0 <= updated < _LATEST_MS else 0.0
                    yield SessionRef(str(session_id), self.path, AGENT, moment, int(size))


@contextmanager
def _opened(path: str) -> Iterator[sqlite3.Connection | None]:
    """The file, to be read only; None where there is none. DiskError where it is locked or does not answer in time;
    what is damaged says no more."""
    if not require_readable(path):
        yield None
        return
    import sqlite3
    from urllib.parse import quote

    until = time.monotonic() + MAX_SECONDS
    try:
        address = f"file:{quote(os.path.abspath(path))}?mode=ro"
        with closing(sqlite3.connect(address, uri=True, timeout=BUSY_SECONDS, isolation_level=None)) as found:
            found.text_factory = lambda data: data.decode("utf-8", "replace")
            found.set_progress_handler(lambda: time.monotonic() > until, _STEPS)
            found.execute("PRAGMA trusted_schema = OFF")
            yield found
    except sqlite3.OperationalError as error:
        raise unreadable(path, str(error)) from error
    except sqlite3.Error:
        return


def _placed(
    connection: sqlite3.Connection, ref: SessionRef, start: int, end: int | None
) -> Iterator[tuple[int, Message]]:
    for message_id, created, data in connection.execute(_MESSAGES, (ref.id, start)):
        place = created if isinstance(created, int) else 0
        if end is not None and place >= end:
            return
        parts = [decoded(part) for (part,) in connection.execute(_PARTS, (message_id, MAX_PART_BYTES))]
        yield from ((place, one) for one in _messages(str(message_id), place, decoded(data), parts))


def _messages(message_id: str, place: int, head: Mapping[str, Any], parts: list[dict[str, Any]]) -> Iterator[Message]:
    moment = datetime.fromtimestamp(place / 1000, UTC).isoformat() if 0 < place < _LATEST_MS else ""
    role = head.get("role")
    if role == "user":
        said = [Text(unquoted(text)) for text in _texts(parts) if not is_host(text)]
        if said:
            yield Message("user", tuple(said), message_id, timestamp=moment)
    elif role == "assistant" and head.get("summary") is not True:
        blocks: list[Block] = [Text(text) for text in _texts(parts)]
        calls = [part for part in parts if part.get("type") == "tool" and isinstance(part.get("state"), dict)]
        blocks += [_use(part) for part in calls]
        if blocks:
            yield Message("assistant", tuple(blocks), message_id, timestamp=moment)
        results = tuple(_result(part) for part in calls if part["state"].get("status") in ("completed", "error"))
        if results:
            yield Message("user", results, f"{message_id}#results", timestamp=moment)


def _texts(parts: list[dict[str, Any]]) -> list[str]:
    """What was said; a part that opencode made itself says that it is synthetic."""
    own = (part for part in parts if part.get("type") == "text" and not part.get("synthetic"))
    return [text for part in own if isinstance(text := part.get("text"), str) and text.strip()]


def _use(part: Mapping[str, Any]) -> ToolUse:
    given = part["state"].get("input")
    return ToolUse(str(part.get("callID")), str(part.get("tool")), given if isinstance(given, dict) else {})


def _result(part: Mapping[str, Any]) -> ToolResult:
    state = part["state"]
    is_error = state["status"] == "error"
    return ToolResult(str(part.get("callID")), str(state.get("error" if is_error else "output", "")), is_error)
