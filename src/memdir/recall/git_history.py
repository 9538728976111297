"""What git knows of a project: which files stand in it, which stood in it, where they went, what it once said (R6).

Nothing is answered by guessing: what git could not tell in time raises `Unsure`.
"""

from __future__ import annotations

import os
import time
from contextlib import ExitStack
from functools import cached_property

from memdir.disk.git import read_batch
from memdir.disk.plain_file import read_beginning
from memdir.disk.plain_json import decode
from memdir.disk.project_git import ProjectGit
from memdir.disk.repository import LeftOut
from memdir.disk.safe_path import is_inside
from memdir.recall.verify import Missing

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    Defines = Callable[[str, str], bool | None]  # None: the file cannot be understood

MAX_RENAMES = 8  # of one file, one after the other
MAX_VERSIONS = 5  # of one file, in which a command is looked for
_LEFT_OUT = "S"  # git's letter for what a sparse checkout does not put on disk
# Where symbols are defined. Looking through all that a project ever held takes seconds; data files are most of it.
_CODE_TEXT = (
    "py pyi pyx ts tsx mts cts js jsx mjs cjs vue svelte go rs c h cc cpp cxx hpp hh m mm java kt kts scala groovy cs "
    "fs vb rb php pl pm swift dart lua ex exs erl hrl hs ml mli clj cljs jl r R sh bash zsh ps1 sql proto zig nim"
)
_CODE = tuple(f"*.{ending}" for ending in _CODE_TEXT.split())
MAX_BRANCH_PARTS = 4  # of a link: nothing tells where the branch's name ends and the path begins
_MAX_BYTES = 1 << 20  # a file of commands is written by hand


class Unsure(Exception):
    """Git is not there, may not be asked, failed, or was not done in time."""


class GitHistory(ExitStack):
    """Questions to one project's git, all of them together within one deadline; to be used in a `with`."""

    def __init__(self, project: str, deadline: float) -> None:
        super().__init__()
        self.project = project
        self._deadline = deadline
        self._asked: list[str] = []
        self._removals: dict[str, list[tuple[str, list[str]]]] = {}

    def ask_together(self, paths: Iterable[str]) -> None:
        """Paths that may be asked for: one walk through the history then answers for all of them."""
        self._asked += paths
        self._removals.clear()

    @property
    def is_there(self) -> bool:
        return os.path.lexists(os.path.join(self.project, ".git"))

    @property
    def is_whole(self) -> bool:
        """All that is tracked is on disk: no sparse checkout left something out."""
        return _LEFT_OUT not in self._listed.values()

    def stands(self, path: str) -> bool:
        """A file of this path is in the project, tracked or not, seen from the root or from a package's folder."""
        listed = self._listed
        return any(listed[place] == _LEFT_OUT or self._exists(place) for place in _ending_in(path, listed))

    def old_place(self, path: str) -> tuple[str, str]:
        """The path from the root under which a file stood that is gone, and the commit that took it away.

        No commit where that is not committed yet; no path where git never had such a file.
        """
        for known in (self._listed, self._staged_moves):
            places = _ending_in(path, known)
            if places:
                return _meant(path, places), ""
        for commit, places in self._removed(":(literal)"):  # far cheaper in a long history, and meant before the others
            if path in places:
                return path, commit
        for commit, places in self._removed(":(glob)**/"):
            found = _ending_in(path, places)
            if found:
                return _meant(path, found), commit
        return "", ""

    def new_place(self, path: str, commit: str) -> str:
        """Where the file is now that a commit (or, without one, what is staged) took from `path`; "" when unknown."""
        for _ in range(MAX_RENAMES):
            new = self._moves("show", "--format=", commit).get(path, "") if commit else self._staged_moves.get(path, "")
            if not new or self._exists(new):
                return new
            since = f"{commit or 'HEAD'}..HEAD"
            later = self._git(
                *("log", "--diff-filter=D", "--no-renames", "--format=%H", since, "--", f":(literal){new}")
            ).split()
            path, commit = new, later[-1] if later else ""
        return ""

    def may_be(self, repository: str) -> bool:
        """The project is a clone of a repository of this name (a fork keeps it), or of none that is known."""
        urls = self._project_git.repository.remotes
        names = {url.rstrip("/").removesuffix(".git").replace(":", "/").rpartition("/")[2].lower() for url in urls}
        return not names or repository.lower() in names

    def says(self, word: str, *places: str) -> bool:
        """The word stands in a file of the project, tracked or not."""
        return bool(self._git("grep", "--untracked", "-l", "-w", "-F", "-I", "-e", word, "--", *places))

    def once_said(self, word: str) -> bool:
        """The word stood in code that was committed."""
        import re

        patch = self._git(
            *("log", "-1", "-p", "-U0", "--format=", "--no-renames", "--no-ext-diff", "--no-textconv", f"-S{word}"),
            *("--", *_CODE),
        )
        return bool(re.search(rf"^[+-].*(?<!\w){re.escape(word)}(?!\w)", patch, re.MULTILINE))

    def versions(self, path: str, word: str) -> Iterator[str]:
        """A file as it is committed, and as it was before the last commits that changed a line with the word."""
        line = "-G" + word.replace(".", "[.]")
        changes = self._git(
            *("log", f"-{MAX_VERSIONS}", "--format=%H", "--no-renames", "--no-textconv", line, "--", path)
        ).split()
        wanted = "\n".join([f"HEAD:{path}", *(f"{commit}^:{path}" for commit in changes)])
        output = self._run("cat-file", "--batch", stdin=wanted.encode("utf-8", "surrogateescape"))
        return (data.decode("utf-8", "replace") for kind, data in read_batch(output) if kind == b"blob")

    def _exists(self, path: str) -> bool:
        return os.path.lexists(os.path.join(self.project, path))

    @cached_property
    def _listed(self) -> dict[str, str]:
        """Every file that git sees, with its letter for the state of it."""
        shown = self._git("ls-files", "-t", "-z", "--cached", "--others", "--exclude-standard")
        return {line[2:]: line[:1] for line in shown.split("\0")}

    @cached_property
    def _staged_moves(self) -> dict[str, str]:
        return self._moves("diff-index", "--cached", "HEAD")

    def _moves(self, *command: str) -> dict[str, str]:
        """From each old path to the new one, empty where there is none."""
        name, *rest = command
        shown = self._git(name, "--find-renames", "--diff-filter=DR", "--name-status", "-z", *rest)
        moves = {}
        fields = iter(shown.strip("\n\0").split("\0"))
        for status in fields:
            old = next(fields, "")
            moves[old] = next(fields, "") if status.startswith("R") else ""
        return moves

    def _removed(self, where: str) -> list[tuple[str, list[str]]]:
        """The commits that took away paths that are asked for, the last one first, with what each took."""
        if where not in self._removals:
            patterns = (f"{where}{path}" for path in self._asked)
            shown = self._git(
                *("log", "--diff-filter=D", "--no-renames", "--name-only", "-z", "--format=%x01%H", "--", *patterns)
            )
            commits = (part.replace("\n", "\0").split("\0") for part in shown.split("\1")[1:])
            self._removals[where] = [(commit, places) for commit, *places in commits]
        return self._removals[where]

    def _git(self, *arguments: str) -> str:
        return self._run(*arguments).decode("utf-8", "replace")

    def _run(self, *arguments: str, stdin: bytes = b"") -> bytes:
        left = self._deadline - time.monotonic()
        if left <= 0:
            raise Unsure
        try:
            status, output, _ = self._project_git.run(*arguments, stdin=stdin, timeout_seconds=left)
        except LeftOut as error:
            raise Unsure from error
        if status not in (0, 1):  # `git grep` says "nothing found" with status 1
            raise Unsure
        return output

    @cached_property
    def _project_git(self) -> ProjectGit:
        """Opened at the first question: most memories raise none."""
        try:
            left = self._deadline - time.monotonic()
            return self.enter_context(ProjectGit(self.project, timeout_seconds=left))
        except LeftOut as error:
            raise Unsure from error


def _ending_in(path: str, places: Iterable[str]) -> list[str]:
    """The places that are this path from the root or from a folder further down."""
    return [place for place in places if place == path or place.endswith(f"/{path}")]


def _meant(path: str, places: list[str]) -> str:
    """The one place that a path stands for; of several in packages none, and the path itself tells no new name."""
    return path if path in places or len(places) > 1 else "".join(places)


def gone(kind: str, name: str, history: GitHistory) -> Missing | None:
    """What a name stood for that is no longer there; None for what is, or never was."""
    if kind == "path":
        return _gone_path(history, name)
    if kind == "link":
        return _gone_link(history, name)
    is_gone = _is_gone_symbol if kind == "symbol" else _is_gone_command
    return Missing(name) if is_gone(history, name) else None


def _gone_path(history: GitHistory, path: str) -> Missing | None:
    if history.stands(path):
        return None
    place, commit = history.old_place(path)
    return Missing(path, history.new_place(place, commit)) if place else None


def _gone_link(history: GitHistory, name: str) -> Missing | None:
    """The file of a link; which part of it is the path, the project and its history tell."""
    repository, _, *parts = name.split("/")
    paths = ["/".join(parts[at:]) for at in range(1, min(len(parts) - 1, MAX_BRANCH_PARTS + 1))]
    if any(history.stands(path) for path in paths):
        return None
    history.ask_together(paths)
    gone = next(filter(None, (_gone_path(history, path) for path in paths)), None)
    return gone if gone and history.may_be(repository) else None


def _is_gone_symbol(history: GitHistory, name: str) -> bool:
    word = name.removesuffix("()")
    return not history.says(word) and history.once_said(word) and history.is_whole


def _is_gone_command(history: GitHistory, command: str) -> bool:
    """The project defined the command once and does not now, in its root or in a package."""
    runner, target = command.rsplit(" ", 1)
    names, defines = _RULES.get(runner, _PACKAGE)
    for name in names:
        text = _read(history.project, name)
        if text:
            others = (f":(glob)**/{other}" for other in names)
            return (
                defines(text, target) is False
                and any(defines(old, target) for old in history.versions(name, target))
                and not history.says(target, *others, f":(exclude){name}")
            )
    return False


def _is_make_target(text: str, target: str) -> bool | None:
    for line in text.splitlines():
        if line.startswith(("include ", "-include ", "sinclude ")):
            return None
        targets, colon, _ = line.partition(":")
        if colon and not line.startswith("\t") and any(_fits(pattern, target) for pattern in targets.split()):
            return True
    return False


def _fits(pattern: str, target: str) -> bool:
    before, percent, after = pattern.partition("%")
    return target.startswith(before) and target.endswith(after) if percent else target == pattern


def _is_recipe(text: str, target: str) -> bool | None:
    for line in text.splitlines():
        words = line.replace(":", " : ", 1).split()
        if words[:1] in (["import"], ["import?"], ["mod"], ["mod?"]):
            return None
        if words[:1] == ["alias"]:
            words = words[1:]
        if words and not line[0].isspace() and ":" in words and words[0].removeprefix("@") == target:
            return True
    return False


def _is_script(text: str, target: str) -> bool | None:
    package = decode(text.encode())
    scripts = package.get("scripts", {}) if isinstance(package, dict) else None
    return target in scripts if isinstance(scripts, dict) else None


def _read(project: str, name: str) -> str:
    path = os.path.join(project, name)
    try:
        return read_beginning(path, max_bytes=_MAX_BYTES).decode("utf-8", "replace") if is_inside(path, project) else ""
    except OSError:
        return ""


_PACKAGE = ("package.json",), _is_script
_RULES: dict[str, tuple[tuple[str, ...], Defines]] = {
    "make": (("GNUmakefile", "makefile", "Makefile"), _is_make_target),
    "just": (("justfile", "Justfile", ".justfile"), _is_recipe),
}
