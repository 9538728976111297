"""Other programs: where they are, without the weight of `shutil`, and git, which is told nothing but what we tell it.

An empty or relative entry of PATH means the current folder: a stranger's project could bring a `git` of its own.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence

from memdir.disk.shipped import shipped_lines
from memdir.errors import HistoryError

# Kept from the caller's environment; everything else, above all GIT_*, is dropped.
_KEPT_VARIABLES = ("TMPDIR", "SYSTEMROOT", "COMSPEC", "PATHEXT")
_NOWHERE = "/nonexistent/git"  # not a bare name, which would be looked for in the current folder too


def find_program(name: str) -> str:
    """The full path of a program, or "" when it is not installed."""
    file = f"{name}.exe" if os.name == "nt" else name
    paths = (os.path.join(folder, file) for folder in search_path().split(os.pathsep) if folder)
    return next((path for path in paths if os.access(path, os.X_OK) and os.path.isfile(path)), "")


def output_of(words: list[str], given: bytes = b"", *, seconds: float) -> bytes:
    """What a program prints to what it is given; nothing where it does not come to that."""
    import subprocess

    try:
        return subprocess.run(words, cwd=os.sep, input=given, capture_output=True, timeout=seconds, check=False).stdout
    except (OSError, subprocess.SubprocessError):
        return b""


def search_path() -> str:
    """PATH, for programs that we start and for those that they start."""
    folders = os.environ.get("PATH", os.defpath).split(os.pathsep)
    return os.pathsep.join(folder for folder in folders if os.path.isabs(folder))


def git_guards() -> dict[str, str]:
    """The environment in which a git, and any git that it starts, goes by our settings alone."""
    return {
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_ATTR_NOSYSTEM": "1",
        "GIT_OPTIONAL_LOCKS": "0",
        "GIT_TERMINAL_PROMPT": "0",
        "GIT_NO_LAZY_FETCH": "1",
        "GIT_NO_REPLACE_OBJECTS": "1",
        "GIT_ALLOW_PROTOCOL": "",
        "GIT_PAGER": "cat",
        **git_settings("disk/git_settings.txt"),
    }


def git_settings(table: str) -> dict[str, str]:
    """The settings of a shipped table, as git takes them from its environment."""
    settings = [line.partition(" ") for line in shipped_lines(table)]
    keys = {f"GIT_CONFIG_KEY_{at}": key for at, (key, _, _) in enumerate(settings)}
    values = {f"GIT_CONFIG_VALUE_{at}": value for at, (_, _, value) in enumerate(settings)}
    return {"GIT_CONFIG_COUNT": str(len(settings)), **keys, **values}


def run_git(
    arguments: Sequence[str],
    variables: Mapping[str, str],
    *,
    cwd: str,
    stdin: bytes,
    timeout_seconds: float,
    kept_open: Sequence[int] = (),
) -> tuple[int, bytes, bytes]:
    """Exit status, output and errors of git; HistoryError when there is none, or it is not done in time."""
    import subprocess

    try:
        done = subprocess.run(
            [find_program("git") or _NOWHERE, *arguments],
            input=stdin,
            capture_output=True,
            check=False,
            cwd=cwd,
            env=_environment(variables),
            timeout=timeout_seconds,
            pass_fds=kept_open if os.name == "posix" else (),
            umask=0o077 if os.name == "posix" else -1,
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


def run_git_bounded(
    arguments: Sequence[str], variables: Mapping[str, str], cwd: str, timeout_seconds: float, max_bytes: int
) -> tuple[int, bytes, bytes]:
    """The same for a question whose answer may have no end: no more of it is read, and then git is stopped."""
    import subprocess
    import threading

    command, none = [find_program("git") or _NOWHERE, *arguments], subprocess.DEVNULL
    try:
        child = subprocess.Popen(
            command, stdin=none, stdout=subprocess.PIPE, stderr=none, cwd=cwd, env=_environment(variables)
        )
    except OSError as error:
        raise HistoryError(f"git could not be started: {os.strerror(error.errno or 0)}") from error
    late = threading.Timer(timeout_seconds, child.kill)
    late.start()
    with child:
        output = child.stdout.read(max_bytes) if child.stdout else b""
        if len(output) >= max_bytes:
            child.kill()
        status = child.wait()
        late.cancel()
    return (0 if len(output) >= max_bytes else status), output, b""


def _environment(variables: Mapping[str, str]) -> dict[str, str]:
    kept = {name: os.environ[name] for name in _KEPT_VARIABLES if name in os.environ}
    return {**kept, "PATH": search_path(), "LC_ALL": "C.UTF-8", "HOME": os.devnull, **git_guards(), **variables}
