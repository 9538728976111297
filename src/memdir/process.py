"""What a process of memdir begins with, and what is kept of it when something goes wrong inside."""

from __future__ import annotations

import os
import sys

from memdir.errors import MemdirError

MAX_DETAILS = 100_000  # characters: an endless recursion has a long tale
MAX_BYTES = 1_000_000  # of the log: what happens at every prompt need not be told a thousand times
_LAST_DESCRIPTOR = 1 << 16  # a host has no more open
_OF_CLAUDE = ("CLAUDECODE", "CLAUDE_CODE_ENTRYPOINT", "CLAUDE_CODE_SSE_PORT")  # by which it knows a program as its own


class TooLate(BaseException):
    """The time is over in which somebody waits for this process."""


def open_descriptors() -> None:
    """A stream that the caller closed leads nowhere: else a file of ours would become the output."""
    if None not in (sys.stdin, sys.stdout, sys.stderr):
        return
    while (number := os.open(os.devnull, os.O_RDWR)) <= 2:
        pass
    os.close(number)


def detach(*words: str) -> int:
    """Start `memdir WORDS` in a process session of its own, with nothing open that is ours or a host's: it goes on when
    both have ended, and nobody has to wait for it. Gives its id."""
    ready, child = os.pipe()
    if process := os.fork():
        os.close(child)
        os.read(ready, 1)  # until it has left our group: a host may kill that as soon as we have ended
        return process
    try:
        os.setsid()
        os.close(child)
        null = os.open(os.devnull, os.O_RDWR)
        for number in range(3):
            os.dup2(null, number)
        os.closerange(3, _LAST_DESCRIPTOR)
        os.chdir(os.sep)
        # -P: nothing is loaded from the folder that it is started in.
        command = [sys.executable, "-P", "-m", "memdir.cli.entry", *words]
        environment = {name: value for name, value in os.environ.items() if name not in _OF_CLAUDE}
        os.execve(command[0], command, environment)  # noqa: S606 - this process is the other one
    finally:
        os._exit(0)


def keep_crash(error: BaseException, home: str = "") -> str:
    """Keep the details, without secrets, in the home's logs. Gives where they are, or them where they cannot be."""
    import traceback

    from memdir.disk.append import append_bytes
    from memdir.settings import Environment
    from memdir.store.secrets import beginning

    details = beginning("".join(traceback.format_exception(error)), MAX_DETAILS)
    path = os.path.join(Environment.read(home=home).home, "logs", "crash.log")
    try:
        if not os.path.exists(path) or os.path.getsize(path) < MAX_BYTES:
            append_bytes(path, details.encode("utf-8", "replace") + b"\n")
    except (MemdirError, OSError):
        return details
    return f"The details are in {path}"
