"""What joining a team has to see to before anything travels: whom one talks to, and whose memories lie in `team/` now
(ADR 0077). What one team wrote never goes to another unasked."""

from __future__ import annotations

import getpass
import os
import re
import sys
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from memdir.disk.atomic import delete_file, delete_tree, keep_bytes, make_folder
from memdir.disk.lock import locked
from memdir.disk.plain_file import read_if_plain, read_with_status
from memdir.disk.plain_json import decode
from memdir.errors import DiskError, MemdirError, RemoteError, UsageError
from memdir.layout import Layout, Place
from memdir.memdir import MemDir
from memdir.prompts.door import shown_line
from memdir.share.known import KnownTeam
from memdir.share.merge import beside
from memdir.share.remotes.hub import HubRemote
from memdir.share.team import TOKEN, Address, open_remote
from memdir.store.history import PULLED, Origin
from memdir.store.identity import identify, plain_remote
from memdir.store.scan import MAX_MEMORY_BYTES, walk
from memdir.store.secrets import find_secrets
from memdir.store.shared import author_of, fault_of_member, remote_of_note
from memdir.store.topic import Topic

FORGOTTEN = "a team whose name was lost"
MEMORIES = "memories"  # the folder of what was set aside
WAIT_SECONDS = 30.0  # for a sync that is under way
MAX_TOKEN = 4_096  # bytes of standard input that are looked through for one
ANOTHER = "`memdir join URL` with a token that the hub's admin made for you"
_MAX_SETTINGS_BYTES = 1 << 20
_NOTES = ("known_of_team", "texts_of_team", "team_objects")  # what is known of a team, as places of its directory


@dataclass(frozen=True)
class Joined:
    """A team that answered: where, as what it is known, and as whom one is known there."""

    address: Address
    member: str = ""
    team: str = ""
    role: str = ""  # on a hub
    is_new: bool = False
    token: str = field(default="", repr=False)  # to be kept, once nobody has cancelled it


def guess_address(text: str, kind: str = "") -> Address:
    """What a person means by a path or a URL."""
    if not kind and re.fullmatch(r"[\w.-]+:\d+/?|[\w-]+(\.[\w-]+)+/?", text) and not os.path.isdir(text):
        remedy = (
            f"A hub's address has its scheme: https://{text}, or http://{text} on this machine; a folder's is a path"
        )
        raise UsageError(f"{text} is neither a folder nor an address", remedy=remedy)
    if not kind and (os.path.isdir(text) or text.startswith((os.sep, ".", "~")) or ":" not in text):
        text = os.path.abspath(os.path.expanduser(text))
        kind = "git" if os.path.isdir(os.path.join(text, "objects")) else "folder"
    if not kind and text.startswith(("https://", "http://")):
        kind = "git" if text.rstrip("/").endswith(".git") else "hub"
    if kind == "folder":
        text = os.path.abspath(os.path.expanduser(text))
    if kind == "hub":  # of which team behind a #, as `memdir sync --status` shows it, the token tells
        text = text.partition("#")[0].rstrip("/").removesuffix("/v1")
    return Address(kind or "git", text)


def meet(address: Address, memory: MemDir, *, name: str, is_new: bool) -> Joined:
    """Somebody has to answer there before anything is changed here: a folder that is a team's or may become one, a
    repository of a team's own, a hub that knows the token."""
    fault = fault_of_member(name) if name else ""
    if fault:
        raise UsageError(f"--as: {fault}", remedy="Choose the name by which your teammates know you")
    if address.kind == "hub":
        return _meet_hub(address)
    if address.kind == "folder":
        _require_folder(address.where, is_new=is_new)
    else:
        _refuse_own_repository(address.where, memory)
    remote = open_remote(address, memory.place, memory.layout, name=name or memory.team.member, clock=memory.clock)
    try:
        is_founded = remote.create()
    except RemoteError as error:
        remedy = "Check the address; nothing was joined" if error.kind == "offline" else error.remedy
        raise RemoteError(error.message, kind=error.kind, remedy=remedy) from error
    return Joined(address, name, is_new=is_founded)


def keep_token(layout: Layout, joined: Joined) -> None:
    """Keep a token where only its person can read it, one for each team of each hub."""
    if joined.token:
        keep_bytes(layout.hub_token(str(joined.address)), joined.token.encode("ascii") + b"\n")


def _meet_hub(address: Address) -> Joined:
    token = _token()
    hub = HubRemote(address.where, token=token)
    try:
        told = hub.me()
    except RemoteError as error:
        remedy = "Check the address: https or http, and the port; nothing was joined"
        if "CERTIFICATE" in error.message.upper():
            remedy = "SSL_CERT_FILE names the file of a certificate of your own; nothing was joined"
        remedies = {"not_allowed": ANOTHER, "offline": remedy}
        raise RemoteError(error.message, kind=error.kind, remedy=remedies.get(error.kind, error.remedy)) from error
    finally:
        hub.close()
    team, member = (one if isinstance(one := told.get(part), dict) else {} for part in ("team", "member"))
    address, who = Address("hub", address.where, str(team.get("id") or "")), str(member.get("name") or "")
    if not address.team or fault_of_member(who):
        raise RemoteError("that is no hub's answer: it tells no team and no member", kind="broken", remedy=ANOTHER)
    return Joined(address, who, str(team.get("name") or ""), str(told.get("role") or ""), token=token)


def _require_folder(folder: str, *, is_new: bool) -> None:
    """A folder that is not there may be a slip of the pen, or not mounted; the home, whose files begin with a dot, is
    not an empty one."""
    if os.path.realpath(folder) == os.path.realpath(os.path.expanduser("~")):
        raise UsageError(f"{folder} is your home", remedy="Name a folder that is nothing but the team's")
    if os.path.lexists(folder) and not os.path.isdir(folder):
        raise UsageError(f"{folder} is no folder", remedy="Name a folder, a git repository or a hub")
    if not os.path.isdir(folder):
        if not is_new:
            raise UsageError(
                f"there is no folder {folder}", remedy="Mount it, or correct its name; --new makes it for a new team"
            )
        try:
            os.makedirs(folder)
        except OSError as error:
            raise UsageError(f"{folder} cannot be made: {error.strerror}", remedy="Name another folder") from error


def _refuse_own_repository(url: str, memory: MemDir) -> None:
    """The project's own repository is the one that people have at hand, and the one that must not be joined."""
    tree = memory.layout.work_tree
    known = set(identify(memory.layout.project, tree).remotes)
    on_disk = {os.path.realpath(os.path.join(tree, one)) for one in (*known, ".git", "")}
    asked = plain_remote(url)
    if asked in known or {os.path.realpath(one) for one in (asked, url.removeprefix("file://"))} & on_disk:
        raise UsageError(
            "that is the project's own repository: its branches would get the team's memories, and the team its docs",
            remedy="Make an empty repository for the team's memories, and join that",
        )


def _token() -> str:
    """A token from the keyboard, unseen, or from standard input, also among the words with which it was printed."""
    asks = sys.stdin.isatty()
    words = (getpass.getpass("Token of the hub: ") if asks else sys.stdin.read(MAX_TOKEN)).split()
    found = [word for word in words if re.fullmatch(rf"{TOKEN}[!-~]+", word)]  # another's password goes to nobody
    if len(found) != 1:
        what = "there are several tokens" if found else "that is no token of a hub" if words else "there is no token"
        remedy = f"Type it, or `memdir join URL < FILE`; a hub's admin makes one, and it begins with {TOKEN}."
        raise UsageError(what, remedy=f"{remedy} For a git repository say --kind git")
    return found[0]


def refuse_token_among(words: list[str]) -> None:
    """UsageError for a token that was given as an argument, which everybody on the machine could see."""
    if any(TOKEN in word for word in words):
        raise UsageError(
            "a token is never an argument: it is in the list of processes and in the shell's history now",
            remedy="Have it revoked, and `memdir join URL` with a new one: it is asked for, or read from `< FILE`",
        )


def refuse_login(url: str) -> None:
    """An address is kept in the settings and shown: what opens a door has no place in it."""
    scheme, found, rest = url.partition("://")
    login, at, _ = rest.partition("/")[0].rpartition("@") if found else ("", "", "")
    if TOKEN in url or (at and (":" in login or (scheme in ("https", "http") and find_secrets(login)))):
        raise UsageError(
            "there is a password or a token in that address, which is kept and shown",
            remedy="Revoke it now: it was seen by others. Let git's credential helper, or the hub's question, have it",
        )


def drop_token(layout: Layout, remote: str) -> bool:
    """Remove the token of a team, unless another project of this home, or all, are in it, too; whether it is gone."""
    try:
        names = os.listdir(layout.projects)
    except OSError:
        names = []
    for folder in (layout.home, *(os.path.join(layout.projects, name) for name in names)):
        found = decode(read_if_plain(os.path.join(folder, "settings.json"), _MAX_SETTINGS_BYTES) or b"")
        told = found.get("team.remote") if isinstance(found, dict) else None
        nested = found.get("team") if isinstance(found, dict) else None
        if remote in (told, nested.get("remote") if isinstance(nested, dict) else None):
            return False
    delete_file(layout.hub_token(remote))
    return True


# Whose memories lie here


@dataclass(frozen=True)
class Others:
    """The memories in `team/` that are of another team than the one that is joined."""

    remote: str
    keys: tuple[str, ...] = ()
    told: str = ""  # how many of whom

    @staticmethod
    def than(address: Address, memory: MemDir) -> Others | None:
        place = memory.place
        was_synced = any(map(os.path.lexists, (place.known_of_team, place.texts_of_team)))  # a join fetches objects
        remote = remote_of_note(place) or memory.settings.team_remote or (FORGOTTEN if was_synced else "")
        if not remote or is_same(remote, address):
            return None
        keys = tuple(sorted(dict(walk(place.team().root))))
        authors = Counter(author_of(memory.place, key) or "you" for key in keys)
        return Others(remote, keys, ", ".join(f"{shown_line(who)} {count}" for who, count in sorted(authors.items())))


def is_same(remote: str, address: Address) -> bool:
    try:
        return _known_as(Address.parse(remote)) == _known_as(address)
    except UsageError:
        return False


def _known_as(address: Address) -> tuple[str, ...]:
    """One team in whatever spelling of its address: of a hub, whose port and scheme may change, the host and the id
    that was drawn for the team; a repository on this disk has several names."""
    if address.kind == "hub" and address.team:
        return address.kind, urlsplit(address.where).hostname or "", address.team
    where = address.where.removeprefix("file://")
    return address.kind, os.path.realpath(where) if os.path.isabs(where) else where


def change_teams(memory: MemDir, before: Others | None, address: Address, *, is_along: bool) -> tuple[str, int]:
    """Put the notes of the team before aside, its memories too unless they come along, bring back what was put aside
    of this one, and say whose the memories here are from now on, whether or not the first sync gets through. Gives the
    folder and how many went there: those that are here now, for a sync may have brought some since somebody was asked.
    Files are copied before they go, and the notes go last: whoever is killed here calls again, and until then nothing
    travels."""
    place = memory.place
    with locked(place.team_lock, wait_seconds=WAIT_SECONDS):
        remote = remote_of_note(place) or (before.remote if before else str(address))
        aside, is_other = place.aside_of_team(remote), not is_same(remote, address)
        keys = tuple(dict(walk(place.team().root))) if is_other and not is_along else ()
        if keys:
            _copy_aside(place.team().root, os.path.join(aside, MEMORIES), keys)
            with memory.stores.of("team").changing(Origin(PULLED, trust="team"), "set aside: another team's") as change:
                for key in keys:
                    change.delete(key)
                    change.drop_entry(key)
        if is_other:
            keep_bytes(os.path.join(aside, "remote"), f"{remote}\n{address}\n".encode("utf-8", "replace"))
            for name in _NOTES:
                _move(getattr(place, name), os.path.join(aside, os.path.basename(getattr(place, name))))
        for folder, whose, _ in _set_aside(place):
            if is_same(whose, address):
                _bring_back(memory, folder)
        if (noted := remote_of_note(place)) != str(address):
            known = KnownTeam.load(place, noted)
            known.remote = str(address)
            known.save()
    return aside, len(keys)


def bring_along(memory: MemDir, address: Address) -> tuple[int, str]:
    """What was set aside when this team was joined comes to it after all, as somebody says now: it is the one from
    before at another address, say. Gives how many memories, and whose they were."""
    count, told = 0, ""
    with locked(memory.place.team_lock, wait_seconds=WAIT_SECONDS):
        for folder, whose, joined in _set_aside(memory.place):
            if is_same(joined, address):
                told, count = whose, count + _bring_back(memory, folder, is_same=False)
    return count, told


def _set_aside(place: Place) -> list[tuple[str, str, str]]:
    """The folders of what was set aside, of which team, and for which."""
    top, found = os.path.dirname(place.aside_of_team("")), list[tuple[str, str, str]]()
    for folder in (os.path.join(top, name) for name in (sorted(os.listdir(top)) if os.path.isdir(top) else ())):
        data = read_if_plain(os.path.join(folder, "remote"), _MAX_SETTINGS_BYTES) or b""
        whose, _, joined = data.decode("utf-8", "replace").strip().partition("\n")
        found.append((folder, whose, joined))
    return found


def _copy_aside(root: str, folder: str, keys: tuple[str, ...]) -> None:
    for key in keys:
        try:
            data, status = read_with_status(os.path.join(root, key), max_bytes=MAX_MEMORY_BYTES, follow=False)
        except OSError as error:
            raise MemdirError(
                f"{key} is another team's and cannot be set aside: {error.strerror or error}",
                remedy="Move it out of team/ by hand, and join again",
            ) from error
        keep_bytes(os.path.join(folder, key), data, mtime_ns=status.st_mtime_ns)


def left_aside(memory: MemDir, address: Address, *, is_along: bool) -> dict[str, list[str]]:
    """What was to come back, or along, and could not be written: its names, by the folder in which it stays."""
    teams = ((folder, whose, joined if is_along else whose) for folder, whose, joined in _set_aside(memory.place))
    meant = [os.path.join(folder, MEMORIES) for folder, *those in teams if any(is_same(one, address) for one in those)]
    return {folder: names for folder in meant if (names := sorted(dict(walk(folder))))}


def _bring_back(memory: MemDir, aside: str, *, is_same: bool = True) -> int:
    """What was set aside of this team: its memories first, then what is known of it. What came along under the name of
    one of them lies beside it, as in any conflict. What cannot be written now stays where it is. Where it `is_same` no
    team's, its memories come along. Gives how many."""
    folder, place = os.path.join(aside, MEMORIES), memory.place
    if not os.path.isdir(aside):
        return 0
    brought = []
    with memory.stores.of("team").changing(Origin(PULLED, trust="team"), "back from where it was set aside") as change:
        for key, entry in walk(folder):
            with suppress(MemdirError):
                if (data := read_if_plain(entry.path, MAX_MEMORY_BYTES)) is None:
                    continue
                if (along := change.read(key)) not in (None, data):
                    second, text = beside(key, (along if is_same else data) or b"", change.read)
                    change.put_back(second, text)
                    change.put_entry(second, Topic(text))
                if is_same or along in (None, data):
                    change.put_back(key, data, mtime_ns=entry.stat(follow_symlinks=False).st_mtime_ns)
                    change.put_entry(key, Topic(data))
                brought.append(key)
    for key in brought:  # or the next join would bring it once more
        delete_file(os.path.join(folder, key))
    for name in _NOTES if is_same else ():
        _move(os.path.join(aside, os.path.basename(getattr(place, name))), getattr(place, name))
    if not dict(walk(folder)):
        delete_tree(aside)
    return len(brought)


def _move(source: str, target: str) -> None:
    if os.path.lexists(source):
        delete_tree(target) if os.path.isdir(target) else delete_file(target)
        make_folder(os.path.dirname(target))
        try:
            os.rename(source, target)
        except OSError as error:
            raise DiskError(f"{source} cannot be moved: {error.strerror}") from error
