"""The history's repository: written by our own hand, read with git, cut off from everything that could change it.

git never works in the repository's folder: it is given a folder of ours, with our configuration, and the place of the
objects. So whatever a copied or planted history brings along (configuration, hooks, attributes, links to other
repositories) is not read, and no file of the memory directory either (ADR 0041, and 0005: why the command).

Objects are files, named by what they hold. git believes in one that is there without looking into it, so that what a
damaged one should hold would count as recorded: here it is looked into, and a damaged one is written again.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress

from memdir.disk.append import append_bytes
from memdir.disk.atomic import (
    FILE_MODE,
    delete_file,
    disk_errors,
    flush_folder,
    make_folder,
    sweep_temporaries,
    write_bytes_atomic,
    written_aside,
)
from memdir.disk.plain_file import is_plain_file, open_plain, read_if_plain
from memdir.disk.programs import find_program, run_git, run_git_bounded
from memdir.disk.shipped import shipped_path
from memdir.errors import HistoryError

BRANCH = "main"
TIMEOUT_SECONDS = 120.0  # far above any question; a hung file system must not hang us for ever

# For people who use git in the repository; we never read them. Bare: no index is kept that `git commit` could go by.
FOR_PEOPLE = {
    "config": b"[core]\n\trepositoryformatversion = 0\n\tbare = true\n",
    "HEAD": f"ref: refs/heads/{BRANCH}\n".encode("ascii"),
}
FOLDERS = ("", "objects", "refs", "refs/heads", "logs", "logs/refs", "logs/refs/heads")  # what we write into
_HALF_WRITTEN = ("tmp_", ".tmp-")  # how git names what is not finished
_HELD = (".lock", ".keep")  # and how it marks what it is working on
_HEX = "0123456789abcdef"
_MAX_REF_BYTES = 1 << 20
_LOG_END_BYTES = 1 << 16  # of the branch's log: hundreds of its lines
_AUTHOR = "memdir <memdir@localhost>"
KILLED = "was killed by signal"  # which says nothing about the history
MANY_BLOBS = 100  # from here on one pack is cheaper than objects that are flushed one by one

ID_DIGITS = 40
_MAX_OBJECT_BYTES = 256 << 20  # of one object: beyond any text, and no bomb
_BLOB_IN_A_PACK = 3  # git's number for the kind


class Git:
    """A repository with one branch, to which commits are only ever added."""

    def __init__(self, folder: str) -> None:
        self.folder = folder
        self.objects = os.path.join(folder, "objects")
        self._kept_open: tuple[int, ...] = ()  # descriptors that git inherits
        self._is_looked_over = False

    @property
    def exists(self) -> bool:
        return os.path.lexists(self.folder)

    @contextmanager
    def held_by(self, lock: int) -> Iterator[None]:
        """While the directory's lock is held: every git inherits it, so that none outlives it if we are killed, and the
        objects are looked over once, since nobody else of ours writes any."""
        self._kept_open, self._is_looked_over = (lock,), False
        try:
            yield
        finally:
            self._kept_open = ()

    @property
    def has_packs(self) -> bool:
        return any(entry.name.endswith(".pack") for entry in _entries(os.path.join(self.objects, "pack")))

    def create(self) -> None:
        """Make what is missing of the repository; plain `git log` works inside its folder."""
        for folder in ("objects/pack", "refs/heads", "logs/refs/heads"):
            make_folder(os.path.join(self.folder, folder))
        for name, data in FOR_PEOPLE.items():
            path = os.path.join(self.folder, name)
            if not os.path.lexists(path):
                write_bytes_atomic(path, data)

    def run(
        self,
        *arguments: str,
        stdin: bytes = b"",
        accept: Sequence[int] = (0,),
        index: str = "",
        max_bytes: int | None = None,
        seconds: float = TIMEOUT_SECONDS,
    ) -> bytes:
        """What git printed; HistoryError with git's own words when its exit status is not accepted. `index` is the file
        in which it puts a tree together, where it is to; after `max_bytes` of output, or `seconds`, it is stopped."""
        status, output, errors = self._call(arguments, stdin, index, max_bytes, seconds)
        if status < 0:
            raise self.failure(f"git {arguments[0]} {KILLED} {-status}")
        if status not in accept:
            words = errors.decode("utf-8", "replace").strip().splitlines()
            said = words[-1] if words else f"exit status {status}"
            raise self.failure(f"git {arguments[0]} says: {said}")
        return output

    def head(self) -> str:
        """The last commit, "" when there is none yet; HistoryError when that cannot be told."""
        if not (named := self.named_head()):
            if self._had_commits():
                raise self.failure("its branch is gone or unreadable")
            return ""
        loose = read_object(self.objects, named)
        is_commit = loose.startswith(b"tree ") if loose else self.run("cat-file", "-t", named) == b"commit\n"
        if not is_commit:
            raise self.failure(f"its last change {named[:8]} is no commit")
        return named

    def named_head(self) -> str:
        """What the branch's file says; "" when there is none, or it says nothing that could be a commit."""
        ref = f"refs/heads/{BRANCH}"
        data = read_if_plain(os.path.join(self.folder, ref), _MAX_REF_BYTES)
        if data is None:  # a person's `git gc` puts it elsewhere
            from memdir.disk.repository import unpacked_refs

            packed = read_if_plain(os.path.join(self.folder, "packed-refs"), _MAX_REF_BYTES) or b""
            data = unpacked_refs(packed).get(ref.encode("ascii"), b"")
        text = data.decode("ascii", "replace").strip()
        return text if is_object_id(text) else ""

    def logged_head(self) -> str:
        """The last commit by the branch's log; "" when it tells none."""
        try:
            with open_plain(self.reflog, follow=False) as file:
                file.seek(max(os.fstat(file.fileno()).st_size - _LOG_END_BYTES, 0))
                lines = file.read(_LOG_END_BYTES).split(b"\n")
        except OSError:
            return ""
        words = (line.decode("ascii", "replace").split(" ") for line in reversed(lines))
        return next((row[1] for row in words if len(row) > 1 and is_object_id(row[1])), "")

    def _had_commits(self) -> bool:
        """Whether there ever was a last commit. A first one that was cut short leaves at most its objects."""
        if os.path.lexists(self.reflog):
            return True
        names = [entry.name for entry in (*_entries(self.objects), *_entries(os.path.join(self.objects, "pack")))]
        if not any(_is_fan(name) or name.endswith(".pack") for name in names):
            return False
        listed = self.run("cat-file", "--batch-all-objects", "--batch-check=%(objecttype)")
        return b"commit\n" in listed

    def commit(self, tree: str, parent: str, message: bytes, *, date: int, since_ns: int) -> str:
        """Add a commit to the branch, durably: first the objects written since then, then the branch that needs it."""
        who = f"{_AUTHOR} {max(date, 0)} +0000"
        lines = [f"tree {tree}", *([f"parent {parent}"] if parent else []), f"author {who}", f"committer {who}", "", ""]
        text = "\n".join(lines).encode("ascii") + message.replace(b"\0", b" ")
        name = write_object(self.objects, "commit", text)
        self._flush_objects(since_ns)
        self.point_to(name, parent, date=date)
        return name

    def point_to(self, commit: str, before: str, *, date: int) -> None:
        """Make a commit, whose objects are durable, the last one."""
        write_bytes_atomic(os.path.join(self.folder, "refs", "heads", BRANCH), f"{commit}\n".encode("ascii"))
        if is_plain_file(self.reflog) or not os.path.lexists(self.reflog):
            line = f"{before or '0' * ID_DIGITS} {commit} {_AUTHOR} {max(date, 0)} +0000\tcommit\n"
            append_bytes(self.reflog, line.encode("ascii"))

    @property
    def reflog(self) -> str:
        """Where the branch has pointed to: for people, and for us should the branch be lost."""
        return os.path.join(self.folder, "logs", "refs", "heads", BRANCH)

    def write_blobs(self, contents: Sequence[bytes]) -> None:
        """Put contents into the repository: a few as objects of their own, many as one pack that is flushed once."""
        if len(contents) < MANY_BLOBS or not find_program("git"):
            for data in contents:
                write_object(self.objects, "blob", data)
            return
        self.run("index-pack", "--stdin", stdin=pack_of(contents))
        self._finish_packs()

    def complaints(self) -> list[str]:
        """What git finds wrong with the objects; empty when they are sound."""
        if not (head := self.head()):
            return []
        status, output, errors = self._call(("fsck", "--no-dangling", "--no-progress", head), b"")
        if status == 0:
            return []
        if status < 0:
            raise self.failure(f"git fsck {KILLED} {-status}")
        words = (output + errors).decode("utf-8", "replace").splitlines()
        return [line for line in words if not line.startswith("notice")] or [f"git fsck ended with status {status}"]

    def clear_abandoned(self) -> None:
        """Remove what a killed git, or we, left half done. Only for the holder of our own lock, after a crash."""
        if not is_real_folder(self.folder):
            return
        sweep_temporaries(self.folder)
        for folder, _, files in os.walk(self.folder):
            _remove_unfinished(folder, files)

    def pack(self, head: str) -> None:
        """Put the loose objects into a pack. They go only when the pack is durable: `git gc` does not wait for that."""
        base = os.path.join(self.objects, "pack", "pack")
        arguments = ("pack-objects", "-q", "--revs", "--unpacked", "--non-empty", base)
        self.run(*arguments, stdin=f"{head}\n".encode("ascii"))
        self._finish_packs()
        self.run("prune-packed", "--quiet")

    def _flush_objects(self, since_ns: int) -> None:
        """Make the names of objects durable that changed since then, before a branch leads to them."""
        with disk_errors("flush", self.objects):
            fans = [name for name in sorted(os.listdir(self.objects)) if _is_fan(name)]
            for folder in (*(os.path.join(self.objects, name) for name in (*fans, "pack")), self.objects):
                if os.path.isdir(folder) and os.stat(folder).st_mtime_ns >= since_ns:
                    flush_folder(folder)

    def look_over(self) -> None:
        """Refuse what would lead git out of the objects, or make it wait for ever: links, pipes, devices."""
        if self._is_looked_over and self._kept_open:
            return
        for path in (os.path.join(self.folder, name).rstrip(os.sep) for name in FOLDERS):
            if os.path.lexists(path) and not is_real_folder(path):
                raise self.failure(f"{path} is not a folder")
        with disk_errors("look at", self.objects):
            for entry in _entries(self.objects):
                if _is_fan(entry.name) or entry.name in ("pack", "info"):
                    self._look_into(entry)
        self._is_looked_over = True

    def _look_into(self, entry: os.DirEntry[str]) -> None:
        if not entry.is_dir(follow_symlinks=False):
            raise self.failure(f"{entry.path} is not a folder")
        for inner in _entries(entry.path):
            if not inner.is_file(follow_symlinks=False):
                raise self.failure(f"{inner.path} is not a plain file")

    def _finish_packs(self) -> None:
        """Make new packs durable, and open to their owner alone: git writes them for everybody to read."""
        folder = os.path.join(self.objects, "pack")
        with disk_errors("close", folder):
            _remove_unfinished(folder, os.listdir(folder))  # git says nothing when it cannot remove its own
            for entry in _entries(folder):
                if entry.stat().st_mode & 0o777 != FILE_MODE and entry.is_file(follow_symlinks=False):
                    os.chmod(entry.path, FILE_MODE)
        flush_folder(folder)

    def _call(
        self,
        arguments: Sequence[str],
        stdin: bytes,
        index: str = "",
        max_bytes: int | None = None,
        seconds: float = TIMEOUT_SECONDS,
    ) -> tuple[int, bytes, bytes]:
        if not self._is_looked_over:
            self.look_over()
        self._put_alternates_away()
        where = shipped_path("disk/git_folder")
        variables = {"GIT_DIR": where, "GIT_OBJECT_DIRECTORY": self.objects, "GIT_LITERAL_PATHSPECS": "1"}
        variables |= {"GIT_INDEX_FILE": index} if index else {}
        if max_bytes is not None:
            return run_git_bounded(arguments, variables, where, seconds, max_bytes)
        return run_git(arguments, variables, cwd=where, stdin=stdin, timeout_seconds=seconds, kept_open=self._kept_open)

    def _put_alternates_away(self) -> None:
        """The one file beside the objects that git cannot be kept from reading."""
        path = os.path.join(self.objects, "info", "alternates")
        if os.path.lexists(path):
            with disk_errors("move away", path):
                os.replace(path, f"{path}.not-used")

    def failure(self, reason: str) -> HistoryError:
        return HistoryError(
            f"the history in {self.folder} cannot be used: {reason}",
            remedy="The memories themselves are safe; `memdir doctor` tells what is wrong with it",
        )


def is_real_folder(path: str) -> bool:
    return os.path.isdir(path) and not os.path.islink(path)


def _entries(folder: str) -> list[os.DirEntry[str]]:
    with suppress(FileNotFoundError), os.scandir(folder) as entries:
        return list(entries)
    return []


def _is_fan(name: str) -> bool:
    """Whether git would look for objects in a folder of this name."""
    return len(name) == 2 and name[0] in _HEX and name[1] in _HEX


def _remove_unfinished(folder: str, names: Sequence[str]) -> None:
    for name in names:
        if name.endswith(_HELD) or name.startswith(_HALF_WRITTEN):
            delete_file(os.path.join(folder, name))


def object_id(kind: str, data: bytes) -> str:
    """The name that git gives a content."""
    from hashlib import sha1

    return sha1(_framed(kind, data), usedforsecurity=False).hexdigest()


def is_object_id(text: str) -> bool:
    return len(text) == ID_DIGITS and set(text) <= set(_HEX)


def read_object(objects: str, name: str) -> bytes | None:
    """What an object that has a file of its own holds, of whatever kind; None when there is none, or a damaged one."""
    import zlib

    stored = read_if_plain(object_path(objects, name), _MAX_OBJECT_BYTES)
    if stored is None:
        return None
    try:
        framed = zlib.decompressobj().decompress(stored, _MAX_OBJECT_BYTES)
    except zlib.error:
        return None
    from hashlib import sha1

    is_sound = sha1(framed, usedforsecurity=False).hexdigest() == name
    return framed.partition(b"\0")[2] if is_sound else None


def write_object(objects: str, kind: str, data: bytes) -> str:
    """Put a content into the repository, unless it is there and sound; returns its name. Its folder is not flushed."""
    import zlib

    name = object_id(kind, data)
    if read_object(objects, name) == data:
        return name
    path = object_path(objects, name)
    make_folder(folder := os.path.dirname(path))
    with disk_errors("write", path), written_aside(folder, zlib.compress(_framed(kind, data), 1)) as temporary:
        os.replace(temporary, path)
    return name


def tree_objects(files: Mapping[str, str]) -> list[bytes]:
    """The trees of a set of files (path to content's name), the innermost first and the root last."""
    made: list[bytes] = []
    entries: dict[bytes, bytes] = {}  # by what git sorts them by
    folders: dict[str, dict[str, str]] = {}
    for path, name in files.items():
        first, slash, rest = path.partition("/")
        if slash:
            folders.setdefault(first, {})[rest] = name
        else:
            entries[os.fsencode(first)] = b"100644 %s\0" % os.fsencode(first) + bytes.fromhex(name)
    for folder, below in folders.items():
        made += tree_objects(below)
        name = object_id("tree", made[-1])
        entries[os.fsencode(folder) + b"/"] = b"40000 %s\0" % os.fsencode(folder) + bytes.fromhex(name)
    return [*made, b"".join(entries[key] for key in sorted(entries))]


def pack_of(contents: Iterable[bytes]) -> bytes:
    """Contents as one pack, as `git index-pack` takes it in."""
    import zlib
    from hashlib import sha1

    distinct = list(dict.fromkeys(contents))
    pack = bytearray(b"PACK" + (2).to_bytes(4, "big") + len(distinct).to_bytes(4, "big"))
    for data in distinct:
        pack += _pack_header(len(data)) + zlib.compress(data, 1)
    return bytes(pack) + sha1(pack, usedforsecurity=False).digest()


def read_batch(output: bytes) -> Iterator[tuple[bytes, bytes]]:
    """Kind and content of each object that `git cat-file --batch` printed; both are empty for one that is missing."""
    at = 0
    while at < len(output):
        end = output.index(b"\n", at)
        words = output[at:end].rsplit(b" ", 2)
        at = end + 1
        if words[-1].isdigit():
            yield words[-2], output[at : at + int(words[-1])]
            at += int(words[-1]) + 1
        else:
            yield b"", b""


def object_path(objects: str, name: str) -> str:
    return os.path.join(objects, name[:2], name[2:])


def _framed(kind: str, data: bytes) -> bytes:
    return b"%s %d\0" % (kind.encode("ascii"), len(data)) + data


def _pack_header(size: int) -> bytes:
    """Kind and size, the lowest four bits first, then seven a byte."""
    byte, size = _BLOB_IN_A_PACK << 4 | size & 0x0F, size >> 4
    header = bytearray()
    while size:
        header.append(byte | 0x80)
        byte, size = size & 0x7F, size >> 7
    header.append(byte)
    return bytes(header)
