"""Git on a stranger's project, under our configuration alone (ADR 0040).

Git is never shown the project's git folder. It gets one of ours, made for the occasion: our configuration, no hooks, no
attributes, the refs as we read them, and links to the objects and the index. So the project says what git reads, and
never what git does.
"""

from __future__ import annotations

import os
import time

from memdir.disk.plain_file import is_plain_file, read_if_plain
from memdir.disk.repository import LeftOut, find_repository, plain_index, require_time
from memdir.errors import HistoryError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Literal, Self

    Refs = Literal["head", "all"]

MAX_INDEX_BYTES = 256 << 20  # a million files
MAX_SECONDS = 3.0  # to look at a repository and make the folder, with an index of that size
_MAX_INDEX_PARTS = 100  # one is in use; git sweeps the others away after two weeks
_MAX_NAMES = 10_000  # in the git folder itself: a few dozen are git's
# How the file system of the project behaves: what git found out when it made the repository.
_KEPT_SWITCHES = ("filemode", "ignorecase", "precomposeunicode", "symlinks")

NO_GIT = {"GIT_DIR": "/nonexistent"}  # with this, git finds no repository wherever it runs


class ProjectGit:
    """Git on the project at `tree`, to be used in a `with`. LeftOut where it must not be asked, or where it takes
    longer to get ready than `timeout_seconds`, and never more than MAX_SECONDS.

    With all refs it is for commands that others choose: then the index is ours as well, and the file at a path that
    `is_private` is not opened.
    """

    def __init__(
        self,
        tree: str,
        *,
        refs: Refs = "head",
        timeout_seconds: float = MAX_SECONDS,
        is_private: Callable[[str], bool] = lambda _: False,
    ) -> None:
        self._deadline = time.monotonic() + min(timeout_seconds, MAX_SECONDS)
        self.repository = find_repository(tree, self._deadline)
        self._is_private = is_private
        self._all_refs = refs == "all"
        self._folder = ""

    @property
    def variables(self) -> dict[str, str]:
        """The environment in which any git reads this project, and under our configuration."""
        from memdir.disk.programs import git_guards

        return {**git_guards(), "GIT_DIR": self._folder, "GIT_WORK_TREE": self.repository.tree}

    def __enter__(self) -> Self:
        from tempfile import mkdtemp

        try:
            self._folder = mkdtemp(prefix="memdir-git-")
            self._fill()
        except OSError as error:
            self._remove()
            raise LeftOut(f"no git folder can be made for it: {error}") from error
        except BaseException:
            self._remove()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self._remove()

    def run(self, *arguments: str, stdin: bytes = b"", timeout_seconds: float) -> tuple[int, bytes, bytes]:
        """Exit status, output and errors of git; LeftOut when there is none, or it is not done in time."""
        from memdir.disk.programs import run_git  # recall asks for a time alone, which needs no git

        try:
            return run_git(
                arguments, self.variables, cwd=self.repository.tree, stdin=stdin, timeout_seconds=timeout_seconds
            )
        except HistoryError as error:
            raise LeftOut(error.message, error.remedy) from error

    def _fill(self) -> None:
        repository = self.repository
        head = repository.head()
        is_branch = head.startswith(b"refs/")
        commit = repository.commit_of(head) if is_branch else b""
        refs = repository.refs(self._deadline) if self._all_refs else {head: commit} if commit else {}
        self._write("config", self._configuration())
        self._write("HEAD", (b"ref: %s\n" if is_branch else b"%s\n") % head)
        self._write("packed-refs", b"".join(b"%s %s\n" % (refs[name], name) for name in sorted(refs)))
        os.mkdir(os.path.join(self._folder, "refs"))
        os.symlink(repository.objects, os.path.join(self._folder, "objects"))
        self._link(repository.common, "shallow")
        if not self._all_refs:
            self._link(repository.folder, *self._index_parts())
        else:
            os.makedirs(os.path.join(self._folder, "logs", "refs"))
            self._link(repository.folder, "logs/HEAD")
            self._link(repository.common, "logs/refs/stash")
            self._write_index()

    def _index_parts(self) -> list[str]:
        parts = []
        with os.scandir(self.repository.folder) as entries:
            for number, entry in enumerate(entries):
                if entry.name == "index" or entry.name.startswith("sharedindex."):
                    parts.append(entry.name)
                if number >= _MAX_NAMES or len(parts) > _MAX_INDEX_PARTS:
                    raise LeftOut(f"{self.repository.folder} is full of files that git does not put there")
        return parts

    def _configuration(self) -> bytes:
        """Ours; of the project's only the format of its objects and what its file system can do."""
        switches = {name: self.repository.config.get(f"core.{name}", [""])[-1].lower() for name in _KEPT_SWITCHES}
        kept = [f"\t{name} = {value}" for name, value in switches.items() if value in ("true", "false")]
        is_old = self.repository.object_format == "sha1"
        form = [] if is_old else ["[extensions]", f"\tobjectFormat = {self.repository.object_format}"]
        version = f"\trepositoryformatversion = {0 if is_old else 1}"
        return "\n".join(["[core]", version, "\tbare = false", *kept, *form, ""]).encode("ascii")

    def _link(self, folder: str, *names: str) -> None:
        for name in names:
            source = os.path.join(folder, name)
            if is_plain_file(source):
                os.symlink(source, os.path.join(self._folder, name))
            elif os.path.lexists(source):
                raise LeftOut(f"{source} is not a plain file", "Put the file itself there")

    def _write_index(self) -> None:
        """A copy without what makes git run itself elsewhere, or open a file of the project that is not its own."""
        path = os.path.join(self.repository.folder, "index")
        data = read_if_plain(path, MAX_INDEX_BYTES)
        if data is not None:
            self._write("index", plain_index(data, self.repository.object_format, self._hidden()))
        elif os.path.lexists(path):
            raise LeftOut(f"{path} is not a plain file, or is larger than {MAX_INDEX_BYTES:,} bytes")

    def _hidden(self) -> Callable[[str], bool]:
        """Whether a path goes through a link, or is one that the caller keeps to himself."""
        root = os.path.realpath(self.repository.tree)
        is_linked: dict[str, bool] = {}

        def is_hidden(path: str) -> bool:
            require_time(self._deadline)
            folder = os.path.dirname(path)
            if folder not in is_linked:
                whole = os.path.join(root, folder)
                is_linked[folder] = os.path.realpath(whole) != whole.rstrip("/")
            return is_linked[folder] or self._is_private(path)

        return is_hidden

    def _write(self, name: str, data: bytes) -> None:
        with open(os.path.join(self._folder, name), "wb") as file:  # gone in a moment: nothing to make durable
            file.write(data)

    def _remove(self) -> None:
        from shutil import rmtree

        rmtree(self._folder, ignore_errors=True)
