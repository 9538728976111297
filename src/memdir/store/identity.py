"""Which project a store belongs to, so that a renamed or moved project finds its store again (I1)."""

from __future__ import annotations

import os
import sys
from contextlib import suppress

from memdir.disk.atomic import make_folder, write_bytes_atomic
from memdir.disk.lock import SHORT_WAIT_SECONDS, locked
from memdir.disk.plain_file import read_plain
from memdir.disk.plain_json import decode
from memdir.errors import DiskError, LockBusy, MemdirError
from memdir.layout import (
    MAX_IDENTITY_BYTES,
    STATE_SUFFIX,
    Layout,
    Place,
    folders_above,
    holds_memories,
    is_named_after,
    is_same_folder,
    slug_of,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from memdir.disk.project_git import ProjectGit

MAX_GIT_SECONDS = 5.0  # the first commit of a giant history is not worth a longer wait at session start
MAX_REMOTES = 64  # or a stranger's configuration makes a record that is too long to be read again
MAX_REMOTE_CHARACTERS = 2048
MAX_ROOT_COMMITS = 8  # a repository stitched from several has several roots; more tell nothing new
_AT_FDCWD = -100
_NO_AUTOMOUNT = _WANT_BIRTH = 0x800
_STATX = ((0, 4), (80, 8), (88, 4))  # of `struct statx`, place and size: what was given, seconds, nanoseconds


class Identity:
    """What a project is known by: its root, the first commits of its history, its remotes, the mark of its folder."""

    __slots__ = ("mark", "remotes", "root", "root_commits")

    def __init__(self, root: str, root_commits: tuple[str, ...], remotes: tuple[str, ...], mark: str = "") -> None:
        self.root = root  # where the project stood
        self.root_commits = root_commits  # the first commits of its git history
        self.remotes = remotes  # of its git repository
        self.mark = mark  # of its folder, which a copy does not have

    def is_same_project(self, other: Identity) -> bool:
        """Whether both are one project: one folder, or a common first commit and no remotes that contradict it. The
        first commit of what has a remote is known to others: a checkout without one is not believed."""
        if self.is_same_folder(other):
            return True
        if not set(self.root_commits) & set(other.root_commits):
            return False
        return not other.remotes or bool(set(self.remotes) & set(other.remotes))

    def is_same_folder(self, other: Identity) -> bool:
        """Whether both are one folder, moved or reached by another path."""
        return bool(self.mark) and self.mark == other.mark

    def is_alike(self, other: Identity) -> bool:
        """Whether both may be one project without git, which a move to another disk leaves nothing but its name."""
        is_plain = not self.root_commits and not other.root_commits
        return is_plain and os.path.basename(self.root) == os.path.basename(other.root)


class StoreRecord:
    """A store found in the home and the project it says it belongs to."""

    __slots__ = ("folder", "identity", "slug")

    def __init__(self, slug: str, folder: str, identity: Identity) -> None:
        self.slug = slug  # the folder's name below `projects`
        self.folder = folder  # the folder
        self.identity = identity  # of the project

    @property
    def is_orphan(self) -> bool:
        """Whether its project is no longer where it was: nothing stands there, or something that is no repository."""
        if not os.path.isdir(self.identity.root):
            return True
        is_repository = any(os.path.lexists(os.path.join(self.identity.root, name)) for name in (".git", "HEAD"))
        return bool(self.identity.root_commits) and not is_repository

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing to take over: no memory, no session, no change that could be undone."""
        memory = Place(os.path.join(self.folder, "memory"))
        try:
            has_sessions = any(name.endswith(".jsonl") for name in os.listdir(self.folder))
        except OSError:
            return True  # another process has just taken it over
        return not has_sessions and not os.path.isdir(memory.history) and not holds_memories(memory.root)


class Adoption:
    """The outcome of looking for a lost store: the one adopted, or candidates a person must choose from."""

    __slots__ = ("adopted", "candidates")

    def __init__(self, adopted: StoreRecord | None = None, candidates: tuple[StoreRecord, ...] = ()) -> None:
        self.adopted = adopted  # the store that is this project's now
        self.candidates = candidates  # those that may be: `memdir adopt` chooses


def identify(root: str, tree: str = "") -> Identity:
    """The identity of the project at `root`; where git may not be asked, its root alone.

    `tree` is the work tree that we stand in: a bare repository is asked through it, as none is believed to be one that
    merely looks like it.
    """
    from memdir.disk.project_git import ProjectGit
    from memdir.disk.repository import LeftOut

    try:
        with ProjectGit(root if os.path.lexists(os.path.join(root, ".git")) else tree or root) as git:
            urls = (url for url in git.repository.remotes if len(url) <= MAX_REMOTE_CHARACTERS)
            remotes = tuple(sorted(plain_remote(url) for url in urls)[:MAX_REMOTES])
            commits = () if git.repository.is_shallow else _root_commits(git)
            return Identity(root, commits, remotes, folder_mark(root))
    except LeftOut:
        return Identity(root, (), (), folder_mark(root))


def _root_commits(git: ProjectGit) -> tuple[str, ...]:
    from memdir.disk.repository import LeftOut

    try:
        status, output, _ = git.run("rev-list", "--max-parents=0", "HEAD", timeout_seconds=MAX_GIT_SECONDS)
    except LeftOut:
        return ()
    return tuple(sorted(output.decode("ascii", "replace").split())[:MAX_ROOT_COMMITS]) if status == 0 else ()


def remember_identity(place: Place, layout: Layout) -> None:
    """Write down what this store belongs to, once, and again when more of it is known. MemdirError when another project
    has taken the place in this very moment: the next call gives this one a place of its own (S3)."""
    if _is_settled(_read_one(place.identity), layout.project) and _read_one(place.identity_copy):
        return
    identity = identify(layout.project, layout.work_tree)
    # Whoever holds the lock may sweep temporary files out of the state folder; while it is busy, the next start writes.
    with suppress(LockBusy), locked(place.lock, wait_seconds=SHORT_WAIT_SECONDS):
        known = read_identity(place.identity)  # a store that was moved here is ours, whatever it says of where it was
        if (
            known is not None
            and not is_same_folder(known.root, layout.project)
            and is_named_after(os.path.dirname(place.root), known.root)
        ):
            raise MemdirError(f"{known.root} has just taken the place {place.root}", remedy="Try again")
        _write_identity(place, identity)


def _is_settled(known: Identity | None, root: str) -> bool:
    if known is None or known.root != root or not (known.root_commits or not os.path.isdir(os.path.join(root, ".git"))):
        return False
    try:
        return known.mark.partition("-")[0] == str(os.stat(root).st_ino)
    except OSError:
        return True


def _write_identity(place: Place, identity: Identity) -> None:
    import json

    of_git = {"rootCommits": identity.root_commits, "remotes": identity.remotes}
    text = {"root": identity.root, **of_git, "mark": identity.mark}
    data = json.dumps(text, indent=2).encode("utf-8", "surrogateescape") + b"\n"
    for path in (place.identity_copy, place.identity):
        write_bytes_atomic(path, data)


def read_identity(path: str) -> Identity | None:
    """Whose a store is; by the copy beside it where the file is there and damaged."""
    found = _read_one(path)
    return _read_one(path.removesuffix(".json") + ".copy.json") if found is None and os.path.lexists(path) else found


def _read_one(path: str) -> Identity | None:
    try:
        found: Any = decode(read_plain(path, max_bytes=MAX_IDENTITY_BYTES))
        commits, remotes = tuple(map(str, found["rootCommits"])), tuple(map(str, found["remotes"]))
        return Identity(str(found["root"]), commits, remotes, str(found.get("mark", "")))
    except (OSError, ValueError, KeyError, TypeError, RecursionError, AttributeError):
        return None


def find_lost_store(layout: Layout) -> Adoption:
    """Look for the store of a project that has none here: adopt the one that fits, report when several do.

    What is moved within a disk takes its mark along, so its store follows whatever stands in the old place now. Other
    checkouts of the project get the store only when its own is gone.
    """
    memory = layout.default_memory  # an empty one that somebody else made does not count
    if os.path.isdir(memory) and (os.path.lexists(Place(memory).identity) or os.listdir(memory)):
        return Adoption()
    begun = _begun_adoption(layout)
    if begun is not None:
        adopt(layout, begun)
        return Adoption(begun)
    records = [record for record in stores(layout) if record.slug != layout.slug and not record.is_empty]
    if not records:
        return Adoption()
    here = identify(layout.project, layout.work_tree)
    fitting = [record for record in records if here.is_same_project(record.identity)]
    moved = [record for record in fitting if here.is_same_folder(record.identity)]
    orphans = moved or [record for record in fitting if record.is_orphan]
    if len(orphans) == 1:
        adopt(layout, orphans[0])
        return Adoption(orphans[0])
    above = None if fitting or here.root_commits else _moved_above(layout, records)
    if above is not None:
        return Adoption(above)
    alike = [record for record in records if record.is_orphan and here.is_alike(record.identity)]
    return Adoption(candidates=tuple(orphans or fitting or alike))


def _moved_above(layout: Layout, records: list[StoreRecord]) -> StoreRecord | None:
    """The store of a folder without git that this one is in, and that was moved with it (S3)."""
    by_mark = {record.identity.mark: record for record in records if record.identity.mark}
    for folder in folders_above(layout.project) if by_mark else ():
        record = by_mark.get(folder_mark(folder))
        if record is not None:
            adopt(Layout(layout.home, folder, user=layout.user), record)
            return record
    return None


def stores(layout: Layout) -> Iterator[StoreRecord]:
    """Every store in the home that knows what it belongs to."""
    try:
        slugs = sorted(os.listdir(layout.projects))
    except OSError:
        return
    for slug in slugs:
        folder = os.path.join(layout.projects, slug)
        place = Place(os.path.join(folder, "memory"))
        identity = read_identity(place.identity)
        if identity is not None and os.path.isdir(place.root):
            yield StoreRecord(slug, folder, identity)


def adopt(layout: Layout, record: StoreRecord) -> None:
    """Move a store to this project's place: in one rename where nothing stands there yet.

    Where sessions stand there already, the state goes first: it names the old root, so that a call after a crash
    finds the memory that still has to follow.
    """
    target = layout.project_home
    make_folder(layout.projects)
    with locked(os.path.join(layout.home, "adopt.lock"), wait_seconds=SHORT_WAIT_SECONDS):
        try:
            if not os.path.lexists(target):
                os.rename(record.folder, target)
            elif os.path.lexists(record.folder):  # or another process was faster
                _move_into(record.folder, target)
        except OSError as error:
            raise DiskError(
                f"cannot move the store {record.folder} to {target}: {os.strerror(error.errno or 0)}",
                remedy="Move its folders memory and memory.state there by hand",
            ) from error
    remember_identity(Place(layout.default_memory), layout)


def _move_into(source: str, target: str) -> None:
    """Move what is not there yet: the state first, then sessions and settings, the memory last."""
    state, memory = "memory" + STATE_SUFFIX, "memory"
    if os.path.isdir(os.path.join(target, memory)):
        os.rmdir(os.path.join(target, memory))
    if os.path.lexists(os.path.join(target, state)) and os.path.lexists(os.path.join(source, state)):
        os.rename(os.path.join(target, state), os.path.join(target, f"{state}.before-adoption-{os.getpid()}"))
    others = [name for name in sorted(os.listdir(source)) if name not in (state, memory)]
    for name in (state, *others, memory):
        if os.path.lexists(os.path.join(source, name)) and not os.path.lexists(os.path.join(target, name)):
            os.rename(os.path.join(source, name), os.path.join(target, name))
    with suppress(OSError):
        os.rmdir(source)  # unless something stays there because its name is taken here


def _begun_adoption(layout: Layout) -> StoreRecord | None:
    """The store whose state is already here while its memory is not: a move that was cut short."""
    identity = read_identity(Place(layout.default_memory).identity)
    if identity is None or is_same_folder(identity.root, layout.project):
        return None
    for slug in (slug_of(identity.root), slug_of(identity.root, is_taken=True)):
        folder = os.path.join(layout.projects, slug)
        if slug != layout.slug and os.path.isdir(os.path.join(folder, "memory")):
            return StoreRecord(slug, folder, identity)
    return None


def folder_mark(path: str) -> str:
    """What stays with a folder that is renamed or moved on its disk: its number there, which the disk gives again to
    the next one, and when it was made; empty where the system does not tell."""
    try:
        status = os.stat(path)
        birth = _birth_on_linux(path) if sys.platform.startswith("linux") else getattr(status, "st_birthtime", 0)
    except (OSError, ValueError, AttributeError):  # AttributeError: a C library without it
        return ""
    return f"{status.st_ino}-{birth}" if birth else ""


def _birth_on_linux(path: str) -> int:
    """Python asks Linux for no time of birth, so the C library is asked."""
    import ctypes

    answer = bytearray(256)
    asked = (ctypes.c_int(_AT_FDCWD), os.fsencode(path), ctypes.c_int(_NO_AUTOMOUNT), ctypes.c_uint(_WANT_BIRTH))
    if ctypes.CDLL(None).statx(*asked, (ctypes.c_char * len(answer)).from_buffer(answer)) != 0:
        return 0
    given, seconds, nanos = (int.from_bytes(answer[at : at + size], sys.byteorder) for at, size in _STATX)
    return seconds * 10**9 + nanos if given & _WANT_BIRTH else 0


def plain_remote(url: str) -> str:
    """One spelling for one remote, without user, password, protocol and `.git`: a token must not end up on disk."""
    rest = url.split("://", 1)[-1]
    rest = rest.rsplit("@", 1)[-1].replace(":", "/", 1) if "@" in rest or "://" not in url else rest
    return rest.rstrip("/").removesuffix(".git").casefold()
