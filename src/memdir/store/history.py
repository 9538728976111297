"""Every change of a memory directory as a commit in a git repository beside it (S14).

Reads and records; what to change back is decided in `store/undo.py`. Without git everything here answers "nothing",
and `is_available` says so.
"""

from __future__ import annotations

import os
import stat
from contextlib import contextmanager

from memdir.disk.git import BRANCH, MANY_BLOBS, Git
from memdir.disk.programs import find_program

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from memdir.layout import Place

OUTSIDE = "outside"  # the source of a change that nobody announced: a person in an editor, or another program
LOOSE_LIMIT = 16  # files in one of git's 256 object folders: about 4,000 loose objects, where git too would pack
_LOOSE_SAMPLE = "17"  # object names are spread evenly: one folder tells for all
_MISSING = "0" * 40


class Origin:
    """Who made a change and from what: the trailers of its commit (S14, L1)."""

    __slots__ = ("messages", "reason", "session", "source", "trust")

    def __init__(
        self, source: str, *, session: str = "", messages: Sequence[str] = (), trust: str = "", reason: str = ""
    ) -> None:
        self.source = source
        self.session = session
        self.messages = tuple(messages)
        self.trust = trust
        self.reason = reason

    def message(self, subject: str, **more: str) -> str:
        """The commit message: a subject and one trailer a line."""
        trailers = {
            "Source": self.source,
            "Session": self.session,
            "Messages": " ".join(self.messages),
            "Trust": self.trust,
            "Reason": self.reason,
            **more,
        }
        lines = [f"{key}: {_one_line(value)}" for key, value in trailers.items() if value]
        return f"{_one_line(subject)}\n\n" + "\n".join(lines) + "\n"


class FileChange:
    """One file of a commit: its path below the base, and the ids of its content before and after ("" for no file)."""

    __slots__ = ("after", "before", "path")

    def __init__(self, path: str, before: str, after: str) -> None:
        self.path = path
        self.before = before
        self.after = after

    @property
    def verb(self) -> str:
        return "added" if not self.before else "deleted" if not self.after else "changed"


class Commit:
    """One change set of the history."""

    __slots__ = ("files", "id", "subject", "time", "trailers")

    def __init__(self, commit_id: str, when: int, message: str, files: list[FileChange]) -> None:
        self.id = commit_id
        self.time = when
        self.subject = message.split("\n", 1)[0]
        self.trailers = _trailers(message)
        self.files = files

    @property
    def source(self) -> str:
        return self.trailers.get("Source", OUTSIDE)


class History:
    """The repository of one memory directory."""

    def __init__(self, place: Place) -> None:
        self._place = place
        self._git = Git(place.history, place.base)

    @property
    def is_available(self) -> bool:
        """Whether git is there to keep a history at all."""
        return bool(find_program("git"))

    @contextmanager
    def held_by(self, lock: int) -> Iterator[None]:
        """While the directory's lock is held: every git inherits it, so that none outlives it if we are killed."""
        self._git.kept_open = (lock,)
        try:
            yield
        finally:
            self._git.kept_open = ()

    def settle(self) -> None:
        """Clear what a killed git left behind. Call under the directory's lock, after a crash."""
        self._git.clear_abandoned()

    def unrecorded(self) -> list[str]:
        """Paths whose content is not that of the last commit: changes made behind our back."""
        if not self._git.exists:
            return self._files_below("")
        listed = self._git.run("ls-files", "-z", "--modified", "--deleted", "--others").split(b"\0")
        paths: set[str] = set()
        for raw in listed:
            path = os.fsdecode(raw)
            if path.endswith("/"):  # a repository inside the directory: git names it, we want its files
                paths.update(self._files_below(path))
            elif path and self._is_ours(path):
                paths.add(path)
        return sorted(paths)

    def record(
        self, message: str, paths: Iterable[str], *, when: float, contents: Mapping[str, bytes | None] | None = None
    ) -> bool:
        """Commit these paths as they are on disk, durably. False when nothing differs from the last commit.

        `contents` says what was written to them: that is what the commit holds, even if somebody saved over it already.
        """
        self._make_sure_it_exists()
        listed = list(paths)
        if len(listed) >= MANY_BLOBS:  # else git would write, and flush, an object for each by itself
            self._git.write_blobs([data for data in map(self._on_disk, listed) if data is not None])
        listing = b"".join(os.fsencode(path) + b"\0" for path in listed)
        self._git.run("update-index", "--add", "--remove", "-z", "--stdin", stdin=listing)
        self._stage({path: data for path, data in (contents or {}).items() if self._on_disk(path) != data})
        return self._commit_staged(message, when)

    def record_contents(self, message: str, contents: Mapping[str, bytes | None], *, when: float) -> bool:
        """Commit the last commit with these bytes in it, whatever is on disk and whatever was staged."""
        self._make_sure_it_exists()
        self._git.run("read-tree", *(("--reset", "HEAD") if self._head() else ("--empty",)))
        self._stage(contents)
        return self._commit_staged(message, when)

    def missing(self, contents: Mapping[str, bytes | None]) -> dict[str, bytes]:
        """Those of these bytes that no commit holds."""
        if not self._git.exists or not self._head():
            held: set[bytes] = set()
        else:
            held = {line[:40] for line in self._git.run("rev-list", "--objects", "HEAD").split(b"\n")}
        return {
            path: data
            for path, data in contents.items()
            if data is not None and _blob_id(data).encode("ascii") not in held
        }

    def _make_sure_it_exists(self) -> None:
        if not self._git.exists:
            self._git.create()

    def _commit_staged(self, message: str, when: float) -> bool:
        is_new = self._git.commit(message.encode("utf-8", "replace"), date=int(when))
        if is_new:
            self._pack_if_many()
        self._git.flush(self._journal_time_ns())
        return is_new

    def _stage(self, contents: Mapping[str, bytes | None]) -> None:
        if not contents:
            return
        self._git.write_blobs([data for data in contents.values() if data is not None])
        lines = []
        for path, data in contents.items():
            entry = f"0 {_MISSING}\t" if data is None else f"100644 {_blob_id(data)}\t"
            lines.append(entry.encode("ascii") + os.fsencode(path) + b"\0")
        self._git.run("update-index", "-z", "--index-info", stdin=b"".join(lines))

    def _on_disk(self, path: str) -> bytes | None:
        try:
            with open(os.path.join(self._place.base, path), "rb") as file:
                return file.read()
        except OSError:
            return None

    def _journal_time_ns(self) -> int:
        """When this change set began, by the file system's own clock: no git writes before the journal is there."""
        try:
            return os.stat(self._place.journal).st_mtime_ns
        except OSError:
            return 0

    def log(self, path: str = "", *, limit: int | None = None) -> list[Commit]:
        """Commits newest first, all or those that touched `path`."""
        if not self._git.exists or not self._head():
            return []
        arguments = ["log", "-z", "--raw", "--no-abbrev", "--no-renames", "--format=%x01%H%x02%ct%x02%B%x03"]
        if limit is not None:
            arguments.append(f"--max-count={limit}")
        output = self._git.run(*arguments, *(["--", path] if path else []))
        return [_commit(part) for part in output.split(b"\x01")[1:]]

    def find_commit(self, revision: str) -> Commit | None:
        """The commit that an id, or the beginning of one, names."""
        if not revision or not all(c in "0123456789abcdef" for c in revision) or not self._git.exists:
            return None
        arguments = ("log", "-z", "--raw", "--no-abbrev", "--no-renames", "--format=%x01%H%x02%ct%x02%B%x03", "-1")
        output = self._git.run(*arguments, revision, "--", accept=(0, 128))
        return _commit(output.split(b"\x01")[1]) if b"\x01" in output else None

    def contents(self, ids: Sequence[str]) -> dict[str, bytes]:
        """The bytes of each content id."""
        wanted = [blob for blob in dict.fromkeys(ids) if blob]
        if not wanted:
            return {}
        output = self._git.run("cat-file", "--batch", stdin="".join(f"{blob}\n" for blob in wanted).encode("ascii"))
        found: dict[str, bytes] = {}
        at = 0
        for blob in wanted:
            end = output.index(b"\n", at)
            size = int(output[at:end].rsplit(b" ", 1)[1])
            found[blob] = output[end + 1 : end + 1 + size]
            at = end + size + 2
        return found

    def patch(self, commit: Commit, path: str = "") -> str:
        """A commit as a unified diff."""
        arguments = [
            "diff-tree",
            "--root",
            "-r",
            "-p",
            "--no-commit-id",
            "--no-renames",
            "--no-ext-diff",
            "--no-textconv",
        ]
        return self._git.run(*arguments, commit.id, "--", *([path] if path else [])).decode("utf-8", "surrogateescape")

    def check(self) -> list[str]:
        """What git finds wrong with the repository."""
        return self._git.complaints() if self._git.exists else []

    def _head(self) -> str:
        """The last commit's id, read from the branch's file: a git process for 40 characters would be dear."""
        try:
            with open(os.path.join(self._place.history, "refs", "heads", BRANCH), encoding="ascii") as file:
                return file.read().strip()
        except FileNotFoundError:  # no commit yet, or packed away
            return self._git.run("rev-parse", "--verify", "--quiet", "HEAD", accept=(0, 1, 128)).decode("ascii").strip()

    def _pack_if_many(self) -> None:
        sample = os.path.join(self._place.history, "objects", _LOOSE_SAMPLE)
        try:
            crowded = len(os.listdir(sample)) >= LOOSE_LIMIT
        except FileNotFoundError:
            return
        if crowded:
            self._git.pack()

    def _files_below(self, prefix: str) -> list[str]:
        base = self._place.base
        found = []
        for folder, folders, files in os.walk(os.path.join(base, prefix)):
            folders[:] = [name for name in folders if not name.startswith(".")]
            inside = os.path.relpath(folder, base).replace(os.sep, "/")
            found += [name if inside == "." else f"{inside}/{name}" for name in files]
        return sorted(path for path in found if self._is_ours(path))

    def _is_ours(self, path: str) -> bool:
        """Whether a path is a plain file that belongs to the memories; dot files are other programs' business."""
        if path.startswith(".") or "/." in path:
            return False
        try:
            return stat.S_ISREG(os.lstat(os.path.join(self._place.base, path)).st_mode)
        except OSError:
            return True  # deleted: that is a change too


def _blob_id(data: bytes) -> str:
    """The name that git gives a content."""
    from hashlib import sha1

    return sha1(b"blob %d\0" % len(data) + data, usedforsecurity=False).hexdigest()


def _commit(part: bytes) -> Commit:
    head, _, raw = part.partition(b"\x03")
    commit_id, when, message = head.split(b"\x02", 2)
    files = []
    fields = raw.lstrip(b"\0\n").split(b"\0")
    for description, path in zip(fields[::2], fields[1::2], strict=False):
        words = description.decode("ascii", "replace").split(" ")
        if len(words) >= 5:
            before, after = (("" if word == _MISSING else word) for word in words[2:4])
            files.append(FileChange(os.fsdecode(path), before, after))
    return Commit(commit_id.decode("ascii"), int(when), message.decode("utf-8", "replace"), files)


def _trailers(message: str) -> dict[str, str]:
    paragraphs = message.strip().split("\n\n")
    pairs = (line.partition(": ") for line in paragraphs[-1].split("\n")) if len(paragraphs) > 1 else ()
    return {key: value for key, colon, value in pairs if colon}


def _one_line(text: str) -> str:
    """Text that cannot forge a trailer or break the log's own separators."""
    return " ".join("".join(c if c.isprintable() else " " for c in text).split())
