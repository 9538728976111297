"""Git on a stranger's project, under our configuration alone (ADR 0040).

Git is never shown the project's git folder. It gets one of ours, made for the occasion: our configuration, no hooks, no
attributes, the refs as we read them, and links to the objects and the index. So the project says what git reads, and
never what git does.
"""

from __future__ import annotations

import os
import time

from memdir.disk.plain_file import is_plain_file, read_if_plain
from memdir.disk.programs import find_program, search_path
from memdir.disk.repository import LeftOut, find_repository, require_time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Literal, Self

    Refs = Literal["head", "all"]

MAX_INDEX_BYTES = 256 << 20  # a million files, in all parts of the index together
MAX_SECONDS = 3.0  # to look at a repository and make the folder, submodules taken out of an index of that size
_MAX_INDEX_PARTS = 100  # one is in use; git sweeps the others away after two weeks
_MAX_NAMES = 10_000  # in the git folder itself: a few dozen are git's
# How the file system of the project behaves: what git found out when it made the repository.
_KEPT_SWITCHES = ("filemode", "ignorecase", "precomposeunicode", "symlinks")
_SUBMODULE = b"\0\0\xe0\0"  # the mode of one in an index

# The configuration above is enough; this holds where git asks once more, and in a git that git starts.
_SETTINGS = (
    ("core.fsmonitor", "false"),
    ("core.hooksPath", os.devnull),
    ("core.attributesFile", os.devnull),
    ("core.excludesFile", os.devnull),
    ("core.pager", "cat"),
    ("core.editor", "false"),
    ("core.sshCommand", "false"),
    ("core.askPass", "false"),
    ("core.alternateRefsCommand", "false"),
    ("core.untrackedCache", "false"),
    ("core.quotePath", "false"),
    ("credential.helper", ""),
    ("gpg.program", "false"),
    ("gpg.ssh.program", "false"),
    ("gpg.x509.program", "false"),
    ("log.showSignature", "false"),
    ("log.mailmap", "false"),
    ("protocol.allow", "never"),
    ("safe.bareRepository", "explicit"),
    ("submodule.recurse", "false"),
    ("diff.ignoreSubmodules", "all"),
    ("status.submoduleSummary", "false"),
    ("gc.auto", "0"),
    ("maintenance.auto", "false"),
    ("color.ui", "never"),
)

GUARDS = {
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_ATTR_NOSYSTEM": "1",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_NO_REPLACE_OBJECTS": "1",
    "GIT_ALLOW_PROTOCOL": "",
    "GIT_PAGER": "cat",
    "GIT_CONFIG_COUNT": str(len(_SETTINGS)),
    **{f"GIT_CONFIG_KEY_{at}": key for at, (key, _) in enumerate(_SETTINGS)},
    **{f"GIT_CONFIG_VALUE_{at}": value for at, (_, value) in enumerate(_SETTINGS)},
}
NO_GIT = {"GIT_DIR": "/nonexistent"}  # with this, git finds no repository wherever it runs


class ProjectGit:
    """Git on the project at `tree`, to be used in a `with`. LeftOut where it must not be asked, or where it takes
    longer to get ready than `timeout_seconds`, and never more than MAX_SECONDS."""

    def __init__(self, tree: str, *, refs: Refs = "head", timeout_seconds: float = MAX_SECONDS) -> None:
        self._deadline = time.monotonic() + min(timeout_seconds, MAX_SECONDS)
        self.repository = find_repository(tree, self._deadline)
        self._all_refs = refs == "all"
        self._folder = ""

    @property
    def variables(self) -> dict[str, str]:
        """The environment in which any git reads this project, and under our configuration."""
        return {**GUARDS, "GIT_DIR": self._folder, "GIT_WORK_TREE": self.repository.tree}

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
        import subprocess

        program = find_program("git")
        if not program:
            raise LeftOut("git is not installed", "Install git")
        try:
            done = subprocess.run(
                [program, *arguments],
                input=stdin,
                capture_output=True,
                check=False,
                cwd=self.repository.tree,
                env={"PATH": search_path(), "HOME": os.devnull, "LC_ALL": "C.UTF-8", **self.variables},
                timeout=timeout_seconds,
            )
        except subprocess.TimeoutExpired:
            raise LeftOut(f"git did not answer in {timeout_seconds:g} s") from None
        except OSError as error:
            raise LeftOut(f"git could not be started: {error.strerror}") from error
        return done.returncode, done.stdout, done.stderr

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
        parts = self._index_parts()
        self._link(repository.folder, *parts)
        self._link(repository.common, "shallow")
        if self._all_refs:
            os.makedirs(os.path.join(self._folder, "logs", "refs"))
            self._link(repository.folder, "logs/HEAD")
            self._link(repository.common, "logs/refs/stash")
            self._drop_submodules(parts)

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

    def _drop_submodules(self, parts: list[str]) -> None:
        """Git looks into a submodule by running itself there, under the submodule's configuration."""
        if not self._may_hold_submodules(parts):  # or one more process would be needed to know
            return
        listed = self._must("ls-files", "--stage", "-z")
        names = [line.split(b"\t", 1)[1] for line in listed.split(b"\0") if line.startswith(b"160000 ")]
        os.unlink(os.path.join(self._folder, "index"))
        self._write("index", self._index("index", MAX_INDEX_BYTES))
        nothing = b"0" * (40 if self.repository.object_format == "sha1" else 64)
        self._must(
            "update-index", "-z", "--index-info", stdin=b"".join(b"0 %s\t%s\0" % (nothing, name) for name in names)
        )

    def _may_hold_submodules(self, parts: list[str]) -> bool:
        room, found = MAX_INDEX_BYTES, False
        for name in parts:
            require_time(self._deadline)
            data = self._index(name, room)
            room -= len(data)
            found = found or _SUBMODULE in data
        return found

    def _index(self, name: str, room: int) -> bytes:
        path = os.path.join(self.repository.folder, name)
        data = read_if_plain(path, room)
        if data is None and os.path.lexists(path):
            raise LeftOut(f"{path} is not a plain file, or the index is larger than {MAX_INDEX_BYTES:,} bytes")
        return data or b""

    def _must(self, *arguments: str, stdin: bytes = b"") -> bytes:
        require_time(self._deadline)
        left = self._deadline - time.monotonic()
        status, output, _ = self.run(*arguments, stdin=stdin, timeout_seconds=left)
        if status != 0:
            raise LeftOut("git cannot read its index", "`git status` in the project tells more")
        return output

    def _write(self, name: str, data: bytes) -> None:
        with open(os.path.join(self._folder, name), "wb") as file:  # gone in a moment: nothing to make durable
            file.write(data)

    def _remove(self) -> None:
        from shutil import rmtree

        rmtree(self._folder, ignore_errors=True)
