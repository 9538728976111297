"""The command line of bubblewrap: everything read-only, no network, own processes only, credentials covered."""

from __future__ import annotations

import os
import shutil

from memdir.agent.bash.environment import SEARCH_PATH
from memdir.agent.credentials import hidden_paths

_NOBODY = "65534"


def bubblewrap_command(shell: list[str], *, cwd: str, filter_descriptor: int) -> list[str] | None:
    """How to run `shell` under bubblewrap; None when it is not installed.

    To the kernel the command stays its caller, so that it can read his files: what he may write without any capability,
    as root may /proc/sys, must be read-only or not there. Inside it is nobody.
    """
    bwrap = shutil.which("bwrap", path=SEARCH_PATH)
    if bwrap is None:
        return None
    argv = [bwrap, "--unshare-all", "--unshare-user", "--uid", _NOBODY, "--gid", _NOBODY, "--die-with-parent"]
    argv += ["--cap-drop", "ALL", "--ro-bind", "/", "/", "--proc", "/proc", "--remount-ro", "/proc", "--tmpfs", "/dev"]
    for device in ("/dev/null", "/dev/urandom"):
        argv += ["--dev-bind", device, device]
    argv += ["--remount-ro", "/dev"]
    for path in _covered(cwd):
        argv += ["--tmpfs", path, "--remount-ro", path] if os.path.isdir(path) else ["--ro-bind", "/dev/null", path]
    return [*argv, "--seccomp", str(filter_descriptor), "--chdir", cwd, "--", *shell]


def _covered(cwd: str) -> list[str]:
    """Credentials, and /run with the sockets of other programs, unless the command runs there."""
    is_below_run = os.path.realpath(cwd).startswith("/run/")
    return [*(["/run"] if os.path.isdir("/run") and not is_below_run else []), *hidden_paths()]
