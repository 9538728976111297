"""Projects of a stranger whose git configuration, hooks and attributes name programs that leave a mark when run."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

KEYS = Path(__file__).with_name("running_keys.txt")
_HOOKS = (
    "post-index-change post-checkout post-commit post-merge post-rewrite pre-auto-gc pre-commit fsmonitor-watchman "
    "reference-transaction pre-push update pre-receive proc-receive query-watchman"
)
_ATTRIBUTES = "* filter=planted diff=planted merge=planted\n*.py filter=oneway diff=textconv\n"
_SIGNATURE = "-----BEGIN PGP SIGNATURE-----\n \n iQ==\n -----END PGP SIGNATURE-----"
_CLEAN = {"GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_GLOBAL": os.devnull, "HOME": os.devnull, "PATH": os.environ["PATH"]}


def keys() -> Iterator[tuple[str, str]]:
    for line in KEYS.read_text(encoding="utf-8").splitlines():
        if not line.startswith("#"):
            key, value = line.split("\t")
            yield key, value


def git(*arguments: str, cwd: Path, stdin: str = "") -> str:
    """The real git as a person has it, under whatever stands in the repository."""
    person = [part for who in ("user.name=T", "user.email=t@example.invalid") for part in ("-c", who)]
    return subprocess.run(
        ["git", *person, "-c", "init.defaultBranch=main", *arguments],
        cwd=cwd,
        env=_CLEAN,
        input=stdin,
        capture_output=True,
        text=True,
        check=False,
        timeout=20,
    ).stdout


class Stranger:
    """What one stranger sends: made below `place`; what runs leaves its name in `marks`."""

    def __init__(self, place: Path) -> None:
        self.place = place
        self.marks = place / "marks"
        self.programs = place / "programs"
        for folder in (self.marks, self.programs):
            folder.mkdir(parents=True)
        self._program = self.programs / "program"
        self._program.write_text(f'#!/bin/sh\necho PLANTED >&2\n: > "{self.marks}/${{0##*/}}"\nexit 1\n')
        self._program.chmod(0o755)
        self.marks.chmod(0o777)

    @property
    def ran(self) -> set[str]:
        return {path.name for path in self.marks.iterdir()}

    def forget(self) -> None:
        for path in self.marks.iterdir():
            path.unlink()

    def named(self, name: str) -> Path:
        """The program that leaves this name behind."""
        path = self.programs / name.replace("/", "_")
        if not path.is_symlink():
            path.symlink_to(self._program)
        return path

    def repository(self, name: str) -> Path:
        """An honest one: a file renamed, a symbol and a target gone, the last commit with a signature."""
        tree = self.place / name
        (tree / "src").mkdir(parents=True)
        git("init", "--quiet", cwd=tree)
        (tree / "src" / "old_name.py").write_text("def load_config(): ...\n" * 20)
        (tree / "README").write_text("Read me.\n")
        (tree / ".gitattributes").write_text(_ATTRIBUTES)
        git("add", ".", cwd=tree)
        git("commit", "--quiet", "--message=first", cwd=tree)
        git("mv", "src/old_name.py", "src/new_name.py", cwd=tree)
        git("commit", "--quiet", "--message=second", cwd=tree)
        plain = git("cat-file", "commit", "HEAD", cwd=tree)
        signed = plain.replace("\n\n", f"\ngpgsig {_SIGNATURE}\n\n", 1)
        commit = git("hash-object", "-t", "commit", "-w", "--stdin", cwd=tree, stdin=signed).strip()
        git("update-ref", "HEAD", commit, cwd=tree)
        (tree / "README").write_text("Read me, changed.\n")
        return tree

    def plant(self, git_folder: Path, config: str = "config") -> None:
        """Put every key that runs something into a configuration, and beside it hooks and attributes."""
        hooks = git_folder / "hooks"
        shutil.rmtree(hooks, ignore_errors=True)
        hooks.mkdir()
        for name in _HOOKS.split():
            (hooks / name).symlink_to(self.named(f"hook-{name}"))
        (git_folder / "info").mkdir(exist_ok=True)
        (git_folder / "info" / "attributes").write_text(_ATTRIBUTES)
        with (git_folder / config).open("a") as file:
            file.write(self.configuration(hooks, git_folder / "info" / "attributes"))

    def configuration(self, hooks: Path, attributes: Path) -> str:
        lines = []
        for key, value in keys():
            run = self.named(key.partition("{")[0])
            section, name = key.replace("{run}", str(run)).split(".", 1)
            part, _, name = name.rpartition(".")
            filled = value.format(run=run, hooks=hooks, attributes=attributes).replace('"', '\\"')
            lines.append(f'[{section} "{part}"]' if part else f"[{section}]")
            lines.append(f'\t{name} = "{filled}"')
        return "\n".join(lines) + "\n"


# Each form: makes a project, and returns the folder a person would open and what plain git there would run.
Form = Callable[[Stranger], tuple[Path, str]]


def in_repository(stranger: Stranger) -> tuple[Path, str]:
    tree = stranger.repository("project")
    stranger.plant(tree / ".git")
    return tree, "status"


def in_include(stranger: Stranger) -> tuple[Path, str]:
    tree = stranger.repository("project")
    stranger.plant(tree / ".git", "planted.inc")
    with (tree / ".git" / "config").open("a") as file:
        file.write('[include]\n\tpath = planted.inc\n[includeIf "gitdir:/"]\n\tpath = planted.inc\n')
    return tree, "status"


def in_worktree(stranger: Stranger) -> tuple[Path, str]:
    main = stranger.repository("main")
    git("config", "extensions.worktreeConfig", "true", cwd=main)
    git("worktree", "add", "--quiet", str(stranger.place / "project"), cwd=main)
    stranger.plant(main / ".git" / "worktrees" / "project", "config.worktree")
    (stranger.place / "project" / "README").write_text("Changed.\n")
    return stranger.place / "project", "status"


def in_bare(stranger: Stranger) -> tuple[Path, str]:
    """An unpacked archive that merely looks like a bare repository."""
    tree = stranger.repository("source")
    lose_first_commit(tree)
    shutil.copytree(tree / ".git", stranger.place / "project")
    stranger.plant(stranger.place / "project")
    return stranger.place / "project", "log"


def in_bare_inside(stranger: Stranger) -> tuple[Path, str]:
    """The same as a folder that an honest repository carries."""
    tree = stranger.repository("project")
    shutil.copytree(stranger.repository("source") / ".git", tree / "data")
    stranger.plant(tree / "data")
    return tree / "data", "log"


def in_submodule(stranger: Stranger) -> tuple[Path, str]:
    """A project whose submodule has a configuration of its own, and which asks git to look into it."""
    tree = stranger.repository("project")
    source = stranger.repository("source")
    git(
        "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", "--name", "sub", str(source), "sub", cwd=tree
    )
    git("config", "--file=.gitmodules", "submodule.sub.ignore", "none", cwd=tree)
    stranger.plant(tree / ".git" / "modules" / "sub")
    (tree / "sub" / "README").write_text("Changed.\n")
    return tree, "status"


def as_submodule(stranger: Stranger) -> tuple[Path, str]:
    return in_submodule(stranger)[0] / "sub", "status"


def in_pointed_at(stranger: Stranger) -> tuple[Path, str]:
    """A `.git` file that names a git folder of the stranger's making."""
    tree = stranger.repository("project")
    (tree / ".git").rename(tree / "data")
    (tree / ".git").write_text("gitdir: data\n")
    stranger.plant(tree / "data")
    return tree, "status"


def in_linked(stranger: Stranger) -> tuple[Path, str]:
    tree = stranger.repository("project")
    (tree / ".git").rename(tree / "data")
    (tree / ".git").symlink_to("data")
    stranger.plant(tree / "data")
    return tree, "status"


def in_alternates(stranger: Stranger) -> tuple[Path, str]:
    tree = stranger.repository("project")
    other = stranger.repository("other")
    (tree / ".git" / "objects" / "info" / "alternates").write_text(f"{other}/.git/objects\n")
    stranger.plant(tree / ".git")
    return tree, "status"


def in_partial_clone(stranger: Stranger) -> tuple[Path, str]:
    """A commit is missing, and the remote that promised it is a program."""
    tree = stranger.repository("project")
    lose_first_commit(tree)
    stranger.plant(tree / ".git")
    return tree, "log"


def lose_first_commit(tree: Path) -> None:
    first = git("rev-list", "--max-parents=0", "HEAD", cwd=tree).strip()
    (tree / ".git" / "objects" / first[:2] / first[2:]).unlink()
    git("config", "core.repositoryformatversion", "1", cwd=tree)
    git("config", "extensions.partialClone", "origin", cwd=tree)


FORMS: dict[str, Form] = {
    form.__name__: form
    for form in (
        in_repository,
        in_include,
        in_worktree,
        in_bare,
        in_bare_inside,
        in_submodule,
        as_submodule,
        in_pointed_at,
        in_linked,
        in_alternates,
        in_partial_clone,
    )
}
