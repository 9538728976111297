"""Opens what a team needs, the remote that the settings name (E7), and keeps it in step behind a conversation: when
that begins, after changes, when it ends; never in a turn (E4).

All in threads that nobody waits for longer than a limit: a remote that hangs holds no conversation up. What a command
changed is sent by a process of its own, once for several commands.
"""

from __future__ import annotations

import hashlib
import os
import socket
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field

from memdir.disk.atomic import keep_bytes
from memdir.disk.plain_file import read_if_plain
from memdir.errors import LockBusy, RemoteError, UsageError
from memdir.layout import Layout, Place
from memdir.share.remote import Remote

KINDS = ("folder", "git", "hub")
TOKEN = "mdh_"  # noqa: S105 - how a hub's tokens begin
JOIN = "`memdir join` a folder, a git repository or a hub"
_MAX_TOKEN_BYTES = 4096
MACHINE_ID = "/etc/machine-id"  # where there is none, the name of the machine has to do
DEBOUNCE_SECONDS = 5.0  # after the last of several changes
CLOSE_SECONDS = 10.0  # in all, for what is sent at the end; what does not get through waits in the directory


@dataclass(frozen=True)
class Address:
    """Where a team is kept, as the setting `team.remote` says it: `git:https://host/team.git`, `hub:https://host#team`."""

    kind: str
    where: str
    team: str = ""  # of a hub

    @staticmethod
    def parse(text: str) -> Address:
        kind, colon, where = text.partition(":")
        if not colon or kind not in KINDS or not where:
            raise UsageError(f"{text!r} names no remote of a team", remedy=JOIN)
        where, _, team = where.partition("#") if kind == "hub" else (where, "", "")
        return Address(kind, where.rstrip("/") if kind == "hub" else where, team)

    def __str__(self) -> str:
        return f"{self.kind}:{self.where}{'#' + self.team if self.team else ''}"


def open_remote(address: Address, place: Place, layout: Layout, *, name: str, clock: Callable[[], float]) -> Remote:
    """The remote at an address; nobody is asked yet. What it needs is loaded when it is one of its kind."""
    if address.kind == "folder":
        from memdir.share.remotes.folder import FolderRemote

        return FolderRemote(address.where, member=member_id(place), name=name, kept=place.team_lists)
    if address.kind == "git":
        from memdir.share.remotes.git import GitRemote

        return GitRemote(address.where, place.team_objects, name=name, clock=clock)
    from memdir.share.remotes.hub import HubRemote

    return HubRemote(address.where, team=address.team, token=read_token(layout, address))


def member_id(place: Place) -> str:
    """What this directory on this machine is called in a shared folder. A copy of the home elsewhere is another one:
    two writers of one list would take each other's writes away."""
    secret = read_if_plain(place.team_member, _MAX_TOKEN_BYTES)
    if not secret:
        secret = os.urandom(16).hex().encode("ascii")
        keep_bytes(place.team_member, secret)
    machine = f"{socket.gethostname()}\n{os.path.realpath(place.base)}".encode("utf-8", "surrogateescape")
    machine += read_if_plain(MACHINE_ID, _MAX_TOKEN_BYTES) or b""  # a copy of a machine may be called as it is
    return hashlib.sha256(secret + b"\n" + machine).hexdigest()[:16]


def read_token(layout: Layout, address: Address) -> str:
    data = read_if_plain(layout.hub_token(str(address)), _MAX_TOKEN_BYTES) or b""
    token = data.decode("ascii", "replace").strip()
    if not token.isascii() or len(token.split()) != 1:  # none, or something else was put there
        raise RemoteError(f"there is no token for {address}", kind="not_allowed", remedy=f"{JOIN} once more")
    return token


@dataclass
class TeamBehind:
    """The syncs of one conversation. `sync` is told whether it may only push, asks `require_free` before it touches
    anything, and what it raises is its own to tell."""

    sync: Callable[[bool], None]
    debounce: float = DEBOUNCE_SECONDS
    limit: float = CLOSE_SECONDS
    is_in_turn: bool = field(default=False, init=False)  # whether somebody waits for an answer
    _is_stopped: bool = field(default=False, init=False)
    _due: Callable[[], object] | None = field(default=None, init=False)  # what a turn kept from being done
    _timer: threading.Timer | None = field(default=None, init=False)
    _started: threading.Thread | None = field(default=None, init=False)

    def start(self) -> threading.Thread:
        """Take in what teammates changed."""
        self._started = threading.Thread(target=self.sync, args=(False,), name="memdir sync", daemon=True)
        self._started.start()
        return self._started

    def changed(self) -> None:
        """Something was written: give it to the team when no more comes. Nothing is taken in, whatever waits there."""
        self._cancel()
        self._timer = threading.Timer(self.debounce, self._push)
        self._timer.daemon = True
        self._timer.start()

    def _push(self) -> None:
        if self.is_in_turn:
            self._due = self._due or self.changed
        else:
            self.sync(True)

    def turn_began(self) -> None:
        """A question came: until it is answered nothing is touched."""
        self.is_in_turn = True

    def turn_ended(self) -> None:
        self.is_in_turn = False
        due, self._due = self._due, None
        if due is not None and not self._is_stopped:
            due()

    def require_free(self) -> None:
        """LockBusy while a turn is under way, after which it comes again; and after a stop."""
        if self.is_in_turn or self._is_stopped:
            self._due = self.start
            raise LockBusy("a turn is under way", remedy="The sync comes again when it has ended")

    def stop(self) -> None:
        """For good: what waits to be sent or taken in waits for another's sync."""
        self._is_stopped = True
        self._cancel()

    def _cancel(self) -> None:
        if self._timer is not None:
            self._timer.cancel()

    def close(self) -> None:
        """Pull and push once more, no longer than the limit."""
        self.is_in_turn = False
        self._cancel()
        until = time.monotonic() + self.limit
        for thread in (self._started, self._timer):
            if thread is not None:
                thread.join(max(0.0, until - time.monotonic()))
        self.start().join(max(0.0, until - time.monotonic()))
