"""What each session has been shown, of whatever scope: never twice, and never more than fits (R1, R7)."""

from __future__ import annotations

MAX_SESSIONS = 1_000  # a host that serves more starts the oldest anew


class Shown:
    """What one session has been shown."""

    __slots__ = ("_shown", "characters")

    def __init__(self) -> None:
        self._shown: set[tuple[str, str]] = set()
        self.characters = 0

    def keys(self, scope: str) -> frozenset[str]:
        """The memories of a scope that were shown."""
        return frozenset([key for of, key in self._shown if of == scope])

    def add(self, scope: str, key: str, characters: int) -> None:
        self._shown.add((scope, key))
        self.characters += characters


class ShownBySession:
    """The sessions of one host; all its recalls share it, so that a session has one limit."""

    def __init__(self) -> None:
        self._sessions: dict[str, Shown] = {}

    def of(self, session: str) -> Shown:
        found = self._sessions[session] = self._sessions.pop(session, Shown())
        if len(self._sessions) > MAX_SESSIONS:
            del self._sessions[next(iter(self._sessions))]
        return found

    def forget(self, session: str | None = None) -> None:
        """A session's context was emptied, or that of all: what it had been shown may come again."""
        if session is None:
            self._sessions.clear()
        else:
            self._sessions.pop(session, None)
