"""The command line of the Landlock launcher: no writing anywhere, no reading of credentials, no sockets."""

from __future__ import annotations

import base64
import ctypes
import json
import os
import sys
from collections.abc import Iterator
from contextlib import suppress

from memdir.agent.bash import landlock_launcher
from memdir.agent.bash.seccomp import filter_program
from memdir.agent.credentials import hidden_paths

MIN_ABI = 3  # before that, a file opened for reading could still be emptied

# Landlock does not keep one process from reading the environment of another in /proc, so of /proc only this is granted.
# It costs `ps`, and `df` without a path; a link to /proc in a hostile project would cost keys.
_PROC_FILES = ("cpuinfo", "filesystems", "loadavg", "meminfo", "stat", "uptime", "version")
_ASK_VERSION = (444, None, 0, 1)  # landlock_create_ruleset returns its version when asked so


def landlock_command(shell: list[str]) -> list[str] | None:
    """How to run `shell` under Landlock; None when this kernel or processor cannot."""
    program = filter_program()
    abi = landlock_abi()
    if program is None or abi < MIN_ABI or not os.path.isfile(landlock_launcher.__file__):
        return None
    config = {
        "abi": abi,
        "filter": base64.b64encode(program).decode("ascii"),
        "readable": readable_roots(hidden_paths()),
        "writable": ["/dev/null"],
        "argv": shell,
    }
    return [sys.executable, "-I", "-S", "-B", landlock_launcher.__file__, json.dumps(config)]


def landlock_abi() -> int:
    """The version of the kernel's Landlock interface; 0 when there is none."""
    libc = ctypes.CDLL(None, use_errno=True)
    return max(0, int(libc.syscall(*_ASK_VERSION)))


def readable_roots(hidden: list[str]) -> list[str]:
    """The largest trees that hold nothing hidden: Landlock can grant a tree, but not take a part out of it again."""
    above = {"/", *(parent for path in hidden for parent in _parents(path))}
    found = {"/dev/urandom", *(f"/proc/{name}" for name in _PROC_FILES)}
    for folder in above:
        with suppress(PermissionError), os.scandir(folder) as entries:
            found |= {entry.path for entry in entries if not entry.is_symlink()}
    return sorted(found - above - set(hidden) - {"/dev", "/proc"})


def _parents(path: str) -> Iterator[str]:
    while path != "/":
        path = os.path.dirname(path)
        yield path
