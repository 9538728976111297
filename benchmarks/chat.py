"""`make bench-chat`: from exec until a typed character is echoed, beside a bare prompt_toolkit prompt."""

from __future__ import annotations

import os
import pty
import select
import signal
import sys
import tempfile
import termios
import time
from collections.abc import Sequence
from pathlib import Path

from benchmarks.measure import Row, clean_environment, report

ROUNDS = 15
LIMIT = 1.5
SIGN = "ß"  # no escape sequence holds it
PATIENCE_SECONDS = 60.0
BARE = "from prompt_toolkit import PromptSession; PromptSession('> ', bottom_toolbar='bare').prompt()"
FLOOR = "a bare prompt_toolkit prompt"


def seconds_until_echo(words: Sequence[str], *, cwd: str, environment: dict[str, str]) -> float:
    """Start a program in a terminal of its own with a character already typed, and stop the clock when it shows it."""
    started = time.perf_counter()
    pid, descriptor = pty.fork()
    if not pid:
        os.chdir(cwd)
        os.execve(words[0], list(words), environment)
    settings = termios.tcgetattr(descriptor)
    settings[3] &= ~termios.ECHO  # what is shown, the program shows
    termios.tcsetattr(descriptor, termios.TCSANOW, settings)
    shown = b""
    try:
        os.write(descriptor, SIGN.encode())
        while SIGN.encode() not in shown:
            if not select.select([descriptor], [], [], PATIENCE_SECONDS)[0]:
                raise RuntimeError(f"{words[0]} shows nothing")
            data = os.read(descriptor, 65_536)
            shown += data
            if b"\x1b[6n" in data:
                os.write(descriptor, b"\x1b[1;1R")
        return time.perf_counter() - started
    finally:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
        os.close(descriptor)


def main() -> int:
    with tempfile.TemporaryDirectory() as place:
        environment = clean_environment(MEMDIR_HOME=os.path.join(place, "home"), TERM="xterm-256color", LANG="C.UTF-8")
        memdir = str(Path(sys.executable).with_name("memdir"))
        commands = ([sys.executable, "-c", BARE], [memdir, "chat", "--set", "model.provider=builtin"])
        best = [float("inf"), float("inf")]
        for _ in range(ROUNDS):
            for at, words in enumerate(commands):
                best[at] = min(best[at], seconds_until_echo(words, cwd=place, environment=environment))
    rows = [Row("memdir chat", best[1], FLOOR, best[0], LIMIT)]
    return report("bench-chat: from exec until a typed character is echoed, best of rounds", rows)


if __name__ == "__main__":
    sys.exit(main())
