"""Keeps a team in step behind a conversation: when it begins, after changes, when it ends; never in a turn (E4).

All in threads that nobody waits for longer than a limit: a remote that hangs holds no conversation up. What a command
changed is sent by a process of its own, once for several commands.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable

from memdir.disk.atomic import make_folder, write_bytes_atomic
from memdir.disk.lock import locked
from memdir.errors import LockBusy
from memdir.layout import Place

DEBOUNCE_SECONDS = 5.0  # after the last of several changes
CLOSE_SECONDS = 10.0  # in all, for what is sent at the end; what does not get through waits in the directory


class TeamBehind:
    """The syncs of one conversation. `sync` is told whether it may only push; what it raises is its own to tell."""

    def __init__(
        self, sync: Callable[[bool], None], *, debounce: float = DEBOUNCE_SECONDS, limit: float = CLOSE_SECONDS
    ) -> None:
        self._sync = sync
        self._debounce_seconds = debounce
        self._close_seconds = limit
        self._timer: threading.Timer | None = None
        self._started: threading.Thread | None = None
        self.is_in_turn = False  # whether somebody waits for an answer
        self._is_due = False

    def start(self) -> None:
        """Take in what teammates changed; once."""
        if self._started is None:
            self._started = self._run(pushes_only=False)

    def changed(self) -> None:
        """Something was written: give it to the team when no more comes. Nothing is taken in, whatever waits there."""
        if self._timer is not None:
            self._timer.cancel()
        self._timer = threading.Timer(self._debounce_seconds, self._push)
        self._timer.daemon = True
        self._timer.start()

    def _push(self) -> None:
        if self.is_in_turn:
            self._is_due = True
        else:
            self._sync(True)

    def turn_began(self) -> None:
        """A question came: until it is answered nothing is touched."""
        self.is_in_turn = True

    def turn_ended(self) -> None:
        self.is_in_turn = False
        if self._is_due:
            self._is_due = False
            self.changed()

    def stop(self) -> None:
        """What waits to be sent waits for the next sync."""
        if self._timer is not None:
            self._timer.cancel()

    def close(self) -> None:
        """Pull and push once more, no longer than the limit."""
        self.stop()
        until = time.monotonic() + self._close_seconds
        for thread in (self._started, self._timer):
            if thread is not None:
                thread.join(max(0.0, until - time.monotonic()))
        self._run(pushes_only=False).join(max(0.0, until - time.monotonic()))

    def _run(self, *, pushes_only: bool) -> threading.Thread:
        thread = threading.Thread(target=self._sync, args=(pushes_only,), name="memdir sync", daemon=True)
        thread.start()
        return thread


def note_change(place: Place) -> bool:
    """Note that a command has written something; whether nobody is there yet who will send it."""
    make_folder(os.path.dirname(place.changed_for_team))
    write_bytes_atomic(place.changed_for_team, b"", durably=False)
    try:
        with locked(f"{place.changed_for_team}.lock", wait_seconds=0.0):
            return True
    except LockBusy:
        return False
