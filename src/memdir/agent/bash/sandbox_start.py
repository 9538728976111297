"""Put together what starts a command in a sandbox: bash with limits, inside bubblewrap or the Landlock launcher."""

from __future__ import annotations

import math
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Literal

from memdir.agent.bash.bubblewrap import bubblewrap_command
from memdir.agent.bash.environment import SEARCH_PATH
from memdir.agent.bash.landlock import landlock_command
from memdir.agent.bash.seccomp import filter_program
from memdir.errors import MemdirError

Kind = Literal["bubblewrap", "landlock"]

MAX_DATA_KIB = 2_097_152  # no reader needs two GiB

# The limits are set by a shell that then becomes the judged one; the command arrives as $1, never inside this text.
_LIMITED = 'ulimit -c 0 -f 0 -d {data} -t {cpu} && exec "$0" --norc --noprofile -c "$1"'


class NoSandbox(MemdirError):
    """This machine offers no sandbox, so no shell command may run on it."""


@dataclass(frozen=True, slots=True)
class Start:
    """The command line to run, and the descriptors it inherits."""

    argv: list[str]
    descriptors: tuple[int, ...] = ()


@contextmanager
def started(kind: Kind, command: str, *, cwd: str, cpu_seconds: float) -> Iterator[Start]:
    """How to run `command` by bash inside the sandbox, with what that needs kept open meanwhile."""
    bash = shutil.which("bash", path=SEARCH_PATH)
    if bash is None:
        raise NoSandbox("there is no bash on this machine", remedy="Install bash, or go without the Bash tool")
    limited = _LIMITED.format(data=MAX_DATA_KIB, cpu=math.ceil(cpu_seconds) + 1)
    shell = [bash, "--norc", "--noprofile", "-c", limited, bash, command]
    if kind == "landlock":
        yield Start(_present(landlock_command(shell), kind))
        return
    with _filter_file() as descriptor:
        argv = bubblewrap_command(shell, cwd=cwd, filter_descriptor=descriptor)
        yield Start(_present(argv, kind), (descriptor,))


@contextmanager
def _filter_file() -> Iterator[int]:
    """The seccomp filter as an open file in memory. Without one a command could reach the sockets of other programs."""
    program = filter_program()
    if program is None:
        raise NoSandbox("the system calls of this processor are not known", remedy="Go without the Bash tool")
    descriptor = os.memfd_create("filter", 0)
    try:
        os.write(descriptor, program)
        os.lseek(descriptor, 0, os.SEEK_SET)
        yield descriptor
    finally:
        os.close(descriptor)


def _present(argv: list[str] | None, kind: Kind) -> list[str]:
    if argv is None:
        raise NoSandbox(f"{kind} is not available on this machine", remedy="Install the package bubblewrap")
    return argv
