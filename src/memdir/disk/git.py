"""The git command on one repository, cut off from everything that could change what it does.

No user or system configuration, no hooks, no attributes or filters (bytes stay bytes), no pager, no prompts, no
background maintenance. Why the command and not a library: ADR 0005.
"""

from __future__ import annotations

import os

from memdir.disk.atomic import (
    delete_file,
    disk_error,
    flush_folder,
    make_folder,
    sweep_temporaries,
    write_bytes_atomic,
)
from memdir.disk.programs import find_program, search_path
from memdir.errors import HistoryError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

BRANCH = "main"
TIMEOUT_SECONDS = 120.0  # far above any commit; a hung file system must not hang us for ever

_CONFIG = (
    "core.hooksPath=/dev/null",
    "core.fsmonitor=false",
    "core.autocrlf=false",
    "core.quotePath=false",
    "core.fsync=all",  # a power cut must not leave an empty object in a history that is meant to be trusted
    "commit.gpgSign=false",
    "gc.auto=0",
    "fastimport.unpackLimit=0",
    "maintenance.auto=false",
    "pack.threads=1",  # a history is small, and one thread leaves the cores to the person
    "advice.detachedHead=false",
    "safe.directory=*",
)
_REPOSITORY_CONFIG = """\
[core]
\trepositoryformatversion = 0
\tfilemode = false
\tbare = false
\tlogallrefupdates = true
\tworktree = "{worktree}"
"""
_OBJECT_FOLDERS = ("objects/pack", "objects/info", "objects")
_REF_FOLDERS = ("logs/refs/heads", "logs/refs", "logs", "refs/heads", "refs")
_HALF_WRITTEN = ("tmp_", ".tmp-", "fast_import_crash_")  # how git names what is not finished
_HELD = (".lock", ".keep")  # and how it marks what it is working on
MANY_BLOBS = 100  # from here on one pack is cheaper than objects that are flushed one by one
_BATCH_BYTES = 32 << 20  # of blobs handed to git at once: they are in memory twice
# Kept from the caller's environment; everything else, above all GIT_*, is dropped.
_KEPT_VARIABLES = ("TMPDIR", "SYSTEMROOT", "COMSPEC", "PATHEXT")
_NOWHERE = "/nonexistent/git"  # not a bare name, which would be looked for in the current folder too


class Git:
    """Runs git on a repository whose folder and work tree stand apart."""

    def __init__(self, git_folder: str, work_tree: str) -> None:
        self._git_folder = git_folder
        self._work_tree = work_tree
        self.kept_open: tuple[int, ...] = ()  # descriptors that git inherits: see `locked`

    def run(self, *arguments: str, stdin: bytes = b"", accept: Sequence[int] = (0,), date: int | None = None) -> bytes:
        """What git printed; HistoryError with git's own words when its exit status is not accepted."""
        status, output, errors = self._call(arguments, stdin, date)
        if status not in accept:
            raise self._failure(arguments[0], status, errors)
        return output

    def commit(self, message: bytes, *, date: int) -> bool:
        """Commit what is staged; False when that is nothing."""
        arguments = ("commit", "--quiet", "--no-verify", "--cleanup=verbatim", "--file=-")
        status, _, errors = self._call(arguments, message, date)
        # Exit status 1 is "nothing to commit", but also some failures: only what is staged tells them apart.
        if status == 1 and not self._is_anything_staged():
            return False
        if status != 0:
            raise self._failure("commit", status, errors)
        return True

    def write_blobs(self, contents: Sequence[bytes]) -> None:
        """Put contents into the repository: a few as objects of their own, many as packs, each flushed once."""
        if len(contents) < MANY_BLOBS:
            for data in contents:
                self.run("hash-object", "-w", "--stdin", stdin=data)
            return
        batch = bytearray()
        for data in contents:
            batch += b"blob\ndata %d\n%s\n" % (len(data), data)
            if len(batch) >= _BATCH_BYTES:
                self.run("fast-import", "--quiet", stdin=bytes(batch))
                batch.clear()
        if batch:
            self.run("fast-import", "--quiet", stdin=bytes(batch))
        flush_folder(os.path.join(self._git_folder, "objects", "pack"))

    def complaints(self) -> list[str]:
        """What git finds wrong with the repository; empty when it is sound."""
        arguments = ("fsck", "--no-dangling", "--no-progress")
        status, output, errors = self._call(arguments, b"", None)
        if status == 0:
            return []
        words = (output + errors).decode("utf-8", "replace").splitlines()
        return [line for line in words if not line.startswith("notice")] or [f"git fsck ended with status {status}"]

    def _is_anything_staged(self) -> bool:
        if not self.run("rev-parse", "--verify", "--quiet", "HEAD", accept=(0, 1, 128)):
            return bool(self.run("ls-files"))
        return bool(self.run("diff-index", "--cached", "--name-only", "HEAD"))

    def _call(self, arguments: Sequence[str], stdin: bytes, date: int | None) -> tuple[int, bytes, bytes]:
        return run_git(
            arguments,
            stdin=stdin,
            variables=self._variables(date),
            cwd=self._work_tree_or_parent(),
            kept_open=self.kept_open,
        )

    def _failure(self, command: str, status: int, errors: bytes) -> HistoryError:
        words = errors.decode("utf-8", "replace").strip().splitlines()
        return HistoryError(
            f"git {command} failed in {self._git_folder}: {words[-1] if words else f'exit status {status}'}",
            remedy="The memories themselves are safe; run `memdir doctor` to check the history",
        )

    @property
    def exists(self) -> bool:
        return os.path.exists(self._attributes)

    @property
    def _attributes(self) -> str:
        return os.path.join(self._git_folder, "info", "attributes")

    def create(self) -> None:
        """Make the repository: nothing is ever converted, and plain `git log` works inside its folder.

        By our own hand and not by `git init`, which flushes nothing and leaves files of its own when it is killed. The
        attributes come last: without them the repository counts as not yet made, and is made again.
        """
        for folder in (*_OBJECT_FOLDERS, "refs/heads", "info"):
            make_folder(os.path.join(self._git_folder, folder))
        relative = os.path.relpath(self._work_tree, self._git_folder).replace(os.sep, "/")
        config = _REPOSITORY_CONFIG.format(worktree=relative.replace("\\", "\\\\").replace('"', '\\"'))
        write_bytes_atomic(os.path.join(self._git_folder, "config"), config.encode("utf-8", "surrogateescape"))
        write_bytes_atomic(os.path.join(self._git_folder, "HEAD"), f"ref: refs/heads/{BRANCH}\n".encode("ascii"))
        write_bytes_atomic(self._attributes, b"* -text -filter -ident -working-tree-encoding !diff\n")

    def clear_abandoned(self) -> None:
        """Remove what a killed git, or we, left half done. Only for the holder of our own lock, after a crash."""
        sweep_temporaries(self._git_folder)
        for folder, _, files in os.walk(self._git_folder):
            _remove_unfinished(folder, files)

    def pack(self) -> None:
        """Put the loose objects into a pack. They go only when the pack is durable: `git gc` does not wait for that."""
        self.run("repack", "--quiet", "-n")
        flush_folder(os.path.join(self._git_folder, "objects", "pack"))
        self.run("prune-packed", "--quiet")

    def flush(self, since_ns: int) -> None:
        """Make the names durable that changed since then: git flushes what is in its files, not its folders.

        In the order in which they need each other: a power cut in between must not leave a branch without its commit.
        """
        objects = os.path.join(self._git_folder, "objects")
        try:
            fans = [f"objects/{name}" for name in sorted(os.listdir(objects)) if len(name) == 2]
            for name in (*fans, *_OBJECT_FOLDERS, "", *_REF_FOLDERS):
                folder = os.path.join(self._git_folder, name)
                if os.path.isdir(folder) and os.stat(folder).st_mtime_ns >= since_ns:
                    _remove_unfinished(folder, os.listdir(folder))  # git shrugs when it cannot remove its own
                    flush_folder(folder)
        except OSError as error:
            raise disk_error(error, "flush", self._git_folder) from error

    def _work_tree_or_parent(self) -> str:
        return self._work_tree if os.path.isdir(self._work_tree) else os.path.dirname(self._git_folder)

    def _variables(self, date: int | None) -> dict[str, str]:
        variables = {"GIT_DIR": self._git_folder, "GIT_WORK_TREE": self._work_tree, "GIT_LITERAL_PATHSPECS": "1"}
        if date is not None:
            variables["GIT_AUTHOR_DATE"] = variables["GIT_COMMITTER_DATE"] = f"@{date} +0000"
        return variables


def _remove_unfinished(folder: str, names: Sequence[str]) -> None:
    for name in names:
        if name.endswith(_HELD) or name.startswith(_HALF_WRITTEN):
            delete_file(os.path.join(folder, name))


def run_git(
    arguments: Sequence[str],
    *,
    stdin: bytes = b"",
    variables: dict[str, str] | None = None,
    cwd: str | None = None,
    timeout_seconds: float = TIMEOUT_SECONDS,
    kept_open: Sequence[int] = (),
) -> tuple[int, bytes, bytes]:
    """Run git with our configuration only. Returns exit status, output, errors; HistoryError when there is no git."""
    import subprocess

    settings = [part for setting in _CONFIG for part in ("-c", setting)]
    environment = {name: os.environ[name] for name in _KEPT_VARIABLES if name in os.environ}
    environment |= {
        "PATH": search_path(),
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_ATTR_NOSYSTEM": "1",
        "GIT_TERMINAL_PROMPT": "0",
        "GIT_PAGER": "cat",
        "GIT_AUTHOR_NAME": "memdir",
        "GIT_AUTHOR_EMAIL": "memdir@localhost",
        "GIT_COMMITTER_NAME": "memdir",
        "GIT_COMMITTER_EMAIL": "memdir@localhost",
        "LC_ALL": "C.UTF-8",
        "HOME": os.devnull,
        **(variables or {}),
    }
    try:
        done = subprocess.run(
            [find_program("git") or _NOWHERE, *settings, *arguments],
            input=stdin,
            capture_output=True,
            check=False,
            cwd=cwd,
            env=environment,
            timeout=timeout_seconds,
            pass_fds=kept_open if os.name == "posix" else (),
        )
    except FileNotFoundError:
        raise HistoryError(
            "git is not installed", remedy="Install git to get history: log, diff, restore and undo"
        ) from None
    except subprocess.TimeoutExpired:
        raise HistoryError(
            f"git {arguments[0]} did not end in {timeout_seconds:g} s", remedy="Check the disk"
        ) from None
    except OSError as error:
        raise HistoryError(f"git could not be started: {os.strerror(error.errno or 0)}") from error
    return done.returncode, done.stdout, done.stderr
