"""The command line of bubblewrap: everything read-only, no network, own processes only, credentials covered."""

from __future__ import annotations

import os
import shutil

from memdir.agent.sandbox.environment import SEARCH_PATH, hidden_paths


def bubblewrap_command(shell: list[str], *, cwd: str, filter_descriptor: int | None) -> list[str] | None:
    """How to run `shell` under bubblewrap; None when it is not installed."""
    bwrap = shutil.which("bwrap", path=SEARCH_PATH)
    if bwrap is None:
        return None
    argv = [bwrap, "--unshare-all", "--die-with-parent", "--cap-drop", "ALL", "--ro-bind", "/", "/"]
    argv += ["--dev", "/dev", "--proc", "/proc"]
    for path in hidden_paths():
        argv += ["--tmpfs", path, "--remount-ro", path] if os.path.isdir(path) else ["--ro-bind", "/dev/null", path]
    if filter_descriptor is not None:
        argv += ["--seccomp", str(filter_descriptor)]
    return [*argv, "--chdir", cwd, "--", *shell]
