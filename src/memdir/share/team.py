"""Opens what a team needs: the remote that the settings name, and the sync of this project's directory with it (E7)."""

from __future__ import annotations

import hashlib
import os
import socket
from collections.abc import Callable
from dataclasses import dataclass

from memdir.disk.atomic import make_folder, write_bytes_atomic
from memdir.disk.plain_file import read_if_plain
from memdir.errors import RemoteError, UsageError
from memdir.layout import Layout, Place
from memdir.share.remote import Remote

KINDS = ("folder", "git", "hub")
TOKEN = "mdh_"  # noqa: S105 - how a hub's tokens begin
JOIN = "`memdir join` a folder, a git repository or a hub"
_MAX_TOKEN_BYTES = 4096


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
        make_folder(os.path.dirname(place.team_member))
        write_bytes_atomic(place.team_member, secret)
    machine = f"{socket.gethostname()}\n{os.path.realpath(place.base)}".encode("utf-8", "surrogateescape")
    return hashlib.sha256(secret + b"\n" + machine).hexdigest()[:16]


def read_token(layout: Layout, address: Address) -> str:
    data = read_if_plain(layout.hub_token(str(address)), _MAX_TOKEN_BYTES) or b""
    token = data.decode("ascii", "replace").strip()
    if not token:
        raise RemoteError(f"there is no token for {address}", kind="not_allowed", remedy=f"{JOIN} once more")
    return token
