"""The kernel's sandbox: bubblewrap, else Landlock, else none. One that lets a write or a signal through does not count.

Files are held back by bubblewrap's mounts or by Landlock. A seccomp filter refuses what a reader of files never calls
and closes what file rules leave open: chmod and utime under Landlock, UDP and UNIX sockets, leaving the process group.
Nothing of the caller's environment is passed on: it may hold keys, and variables such as BASH_ENV, GIT_* or LD_PRELOAD
decide what runs.
"""

from __future__ import annotations

import base64
import ctypes
import errno
import json
import math
import os
import platform
import pwd
import shutil
import struct
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import cache
from glob import glob
from pathlib import PurePath
from typing import Literal

from memdir.agent.bash import landlock_launcher
from memdir.agent.file_access import credential_places
from memdir.disk.programs import git_guards
from memdir.disk.shipped import shipped_text
from memdir.errors import MemdirError

MIN_ABI = 3  # before that, a file opened for reading could still be emptied

# Landlock does not keep one process from reading the environment of another in /proc, so of /proc only this is granted.
# It costs `df` without a path; a link to /proc in a hostile project would cost keys.
_PROC_FILES = ("cpuinfo", "filesystems", "loadavg", "meminfo", "stat", "uptime", "version")
_ASK_VERSION = (444, None, 0, 1)  # landlock_create_ruleset returns its version when asked so
_X32_BIT = 0x40000000  # the x32 calls of an x86_64 kernel are the same calls under other numbers
_REFUSED_IOCTLS = (0x40086602, 0x401C5820, 0x5412, 0x541C)  # file flags in two forms, typing into a terminal in two
_LOAD, _JUMP_EQUAL, _JUMP_AT_LEAST, _RETURN = 0x20, 0x15, 0x35, 0x06
_ALLOW, _KILL, _REFUSE = 0x7FFF0000, 0x80000000, 0x00050000 | errno.EPERM
_NUMBER_OFFSET, _ARCHITECTURE_OFFSET, _FIRST_ARGUMENT_OFFSET, _SECOND_ARGUMENT_OFFSET = 0, 4, 16, 24
Kind = Literal["bubblewrap", "landlock"]
SEARCH_PATH = "/usr/local/bin:/usr/bin:/bin"
ENVIRONMENT: Mapping[str, str] = {
    "PATH": SEARCH_PATH,
    "HOME": "/nonexistent",
    "TMPDIR": "/nonexistent",  # nothing is writable
    "LC_ALL": "C.UTF-8",
    "TERM": "dumb",
    "PAGER": "cat",
    "LESSSECURE": "1",
    "NO_COLOR": "1",
    **git_guards(),
}
PROBE_SECONDS = 10.0  # a loaded machine starts a sandbox in well under one
MAX_DATA_KIB = 2_097_152  # no reader needs two GiB
_NOBODY = "65534"
# The limits are set by a shell that then becomes the judged one; the command arrives as $1, never inside this text.
_LIMITED = 'ulimit -c 0 -f 0 -d {data} -t {cpu} && exec "$0" --norc --noprofile -c "$1"'


class NoSandbox(MemdirError):
    """This machine offers no sandbox, so no shell command may run on it."""


def landlock_command(shell: list[str]) -> list[str]:
    """How to run `shell` under Landlock; NoSandbox when this kernel or processor cannot."""
    abi = landlock_abi()
    if abi < MIN_ABI:
        raise NoSandbox("Landlock is not available on this machine", remedy="Install the package bubblewrap")
    config = {
        "abi": abi,
        "filter": base64.b64encode(_known_filter()).decode("ascii"),
        "readable": readable_roots(hidden_paths()),
        "writable": ["/dev/null"],
        "argv": shell,
    }
    return [sys.executable, "-I", "-S", "-B", landlock_launcher.__file__, json.dumps(config)]


def landlock_abi() -> int:
    """The version of the kernel's Landlock interface; 0 when there is none."""
    libc = ctypes.CDLL(None, use_errno=True)
    return max(0, int(libc.syscall(*_ASK_VERSION)))


def hidden_paths() -> list[str]:
    """What of it exists in this user's home and on this machine, links resolved: for the sandbox to hide."""
    home = pwd.getpwuid(os.getuid()).pw_dir
    lines = [line.rstrip("/") for line in credential_places() if not line.startswith(("!", "proc/"))]
    return sorted({os.path.realpath(path) for root in (home, "/") for line in lines for path in glob(f"{root}/{line}")})


def readable_roots(hidden: list[str]) -> list[str]:
    """The largest trees that hold nothing hidden: Landlock can grant a tree, but not take a part out of it again."""
    above = {"/", *(str(parent) for path in hidden for parent in PurePath(path).parents)}
    found = {"/dev/urandom", *(f"/proc/{name}" for name in _PROC_FILES)}
    for folder in above:
        with suppress(PermissionError), os.scandir(folder) as entries:
            found |= {entry.path for entry in entries if not entry.is_symlink()}
    return sorted(found - above - set(hidden) - {"/dev", "/proc"})


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


def _known_filter() -> bytes:
    """The filter. Without one a command could reach the sockets of other programs."""
    program = filter_program()
    if program is None:
        raise NoSandbox("the system calls of this processor are not known", remedy="Go without the Bash tool")
    return program


@contextmanager
def started(kind: Kind, command: str, *, cwd: str, cpu_seconds: float) -> Iterator[tuple[list[str], tuple[int, ...]]]:
    """The command line that runs `command` by bash inside the sandbox, and the descriptors it inherits."""
    bash = shutil.which("bash", path=SEARCH_PATH)
    if bash is None:
        raise NoSandbox("there is no bash on this machine", remedy="Install bash, or go without the Bash tool")
    limited = _LIMITED.format(data=MAX_DATA_KIB, cpu=math.ceil(cpu_seconds) + 1)
    shell = [bash, "--norc", "--noprofile", "-c", limited, bash, command]
    if kind == "landlock":
        yield landlock_command(shell), ()
        return
    descriptor = os.memfd_create("filter", 0)
    try:
        os.write(descriptor, _known_filter())
        os.lseek(descriptor, 0, os.SEEK_SET)
        yield bubblewrap_command(shell, cwd=cwd, filter_descriptor=descriptor), (descriptor,)
    finally:
        os.close(descriptor)


def bubblewrap_command(shell: list[str], *, cwd: str, filter_descriptor: int) -> list[str]:
    """How to run `shell` under bubblewrap; NoSandbox when it is not installed.

    To the kernel the command stays its caller, so that it can read his files: what he may write without any capability,
    as root may /proc/sys, must be read-only or not there. Inside it is nobody.
    """
    bwrap = shutil.which("bwrap", path=SEARCH_PATH)
    if bwrap is None:
        raise NoSandbox("bubblewrap is not available on this machine", remedy="Install the package bubblewrap")
    argv = [bwrap, "--unshare-all", "--unshare-user", "--uid", _NOBODY, "--gid", _NOBODY, "--die-with-parent"]
    argv += ["--cap-drop", "ALL", "--ro-bind", "/", "/", "--proc", "/proc", "--remount-ro", "/proc", "--tmpfs", "/dev"]
    for device in ("/dev/null", "/dev/urandom"):
        argv += ["--dev-bind", device, device]
    argv += ["--remount-ro", "/dev"]
    is_below_run = os.path.realpath(cwd).startswith("/run/")
    sockets = ["/run"] if os.path.isdir("/run") and not is_below_run else []  # of other programs
    for path in (*sockets, *hidden_paths()):
        argv += ["--tmpfs", path, "--remount-ro", path] if os.path.isdir(path) else ["--ro-bind", "/dev/null", path]
    return [*argv, "--seccomp", str(filter_descriptor), "--chdir", cwd, "--", *shell]


@cache
def sandbox_kind() -> Kind | None:
    """The sandbox that works here; None means that no Bash may be offered. Tried once in a process."""
    kinds: tuple[Kind, ...] = ("bubblewrap", "landlock")
    return next((kind for kind in kinds if works(kind)), None)


def works(kind: Kind) -> bool:
    """Whether a command runs in this sandbox, and all that it tries there fails."""
    if not sys.platform.startswith("linux") or not hasattr(os, "pidfd_open"):
        return False
    is_below_dev = os.path.realpath(tempfile.gettempdir()).startswith("/dev/")  # where a command sees nothing
    with tempfile.TemporaryDirectory(dir="/tmp" if is_below_dev else None) as place:  # noqa: S108 - a folder of its own
        try:
            with started(kind, probe_command(place), cwd=place, cpu_seconds=PROBE_SECONDS) as (argv, descriptors):
                done = subprocess.run(
                    argv,
                    pass_fds=descriptors,
                    cwd=place,
                    env=dict(ENVIRONMENT),
                    stdin=subprocess.DEVNULL,
                    capture_output=True,
                    timeout=PROBE_SECONDS,
                    check=False,
                )
        except (NoSandbox, OSError, subprocess.SubprocessError):
            return False
        return done.stdout == b"works\n" and not os.listdir(place)


def probe_command(place: str) -> str:
    """What is tried in the sandbox; files it creates carry the name of the folder it runs in."""
    return shipped_text("agent/bash/probe.sh").format(name=os.path.basename(place), process=os.getpid())
