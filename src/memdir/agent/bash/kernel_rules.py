"""What the kernel is told to hold back: files by Landlock, system calls that a reader never needs by a seccomp filter.

The filter closes what file rules leave open: chmod and utime under Landlock, UDP and UNIX sockets, leaving the process
group. Data only: it is handed to bubblewrap, or to the kernel by the Landlock launcher.
"""

from __future__ import annotations

import base64
import ctypes
import errno
import json
import os
import platform
import struct
import sys
import tomllib
from collections.abc import Iterator
from contextlib import suppress

from memdir.agent.bash import landlock_launcher
from memdir.agent.credentials import hidden_paths
from memdir.disk.shipped import shipped_text

MIN_ABI = 3  # before that, a file opened for reading could still be emptied

# Landlock does not keep one process from reading the environment of another in /proc, so of /proc only this is granted.
# It costs `df` without a path; a link to /proc in a hostile project would cost keys.
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


_X32_BIT = 0x40000000  # the x32 calls of an x86_64 kernel are the same calls under other numbers
_REFUSED_IOCTLS = (0x40086602, 0x401C5820, 0x5412, 0x541C)  # file flags in two forms, typing into a terminal in two

_LOAD, _JUMP_EQUAL, _JUMP_AT_LEAST, _RETURN = 0x20, 0x15, 0x35, 0x06
_ALLOW, _KILL, _REFUSE = 0x7FFF0000, 0x80000000, 0x00050000 | errno.EPERM
_NUMBER_OFFSET, _ARCHITECTURE_OFFSET, _FIRST_ARGUMENT_OFFSET, _SECOND_ARGUMENT_OFFSET = 0, 4, 16, 24


def filter_program() -> bytes | None:
    """The filter for this machine, as classic BPF; None where its call numbers are not known."""
    calls = tomllib.loads(shipped_text("agent/bash/calls.toml")).get(platform.machine())
    if calls is None:
        return None
    program = [
        (_LOAD, 0, 0, _ARCHITECTURE_OFFSET),
        (_JUMP_EQUAL, 1, 0, calls["audit"]),
        (_RETURN, 0, 0, _KILL),
        (_LOAD, 0, 0, _NUMBER_OFFSET),
        (_JUMP_AT_LEAST, 0, 1, _X32_BIT),
        (_RETURN, 0, 0, _REFUSE),
    ]
    for call in calls["refused"].split():
        program += [(_JUMP_EQUAL, 0, 1, int(call.split(":")[1])), (_RETURN, 0, 0, _REFUSE)]
    program += [
        (_JUMP_EQUAL, 0, 3, calls["prlimit"]),  # for its own limits only
        (_LOAD, 0, 0, _FIRST_ARGUMENT_OFFSET),
        (_JUMP_EQUAL, 1, 0, 0),
        (_RETURN, 0, 0, _REFUSE),
        (_JUMP_EQUAL, 1, 0, calls["ioctl"]),
        (_RETURN, 0, 0, _ALLOW),
        (_LOAD, 0, 0, _SECOND_ARGUMENT_OFFSET),
    ]
    for request in _REFUSED_IOCTLS:
        program += [(_JUMP_EQUAL, 0, 1, request), (_RETURN, 0, 0, _REFUSE)]
    program.append((_RETURN, 0, 0, _ALLOW))
    return b"".join(struct.pack("=HBBI", *line) for line in program)
