"""A client in a terminal, as a person has it: what it shows is read, and keys are typed."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import select
import signal
import struct
import termios
import time
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType

SECONDS = 150.0  # until something is shown, on a busy machine
ENTER, DOWN, UP = "\r", "\x1b[B", "\x1b[A"
_CONTROL = re.compile(
    r"\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)|\x1b[P_^][^\x1b]*\x1b\\|\x1b\[[0-?]*[ -/]*[@-~]|\x1b[()][0-9A-B]|\x1b."
)
# What a program asks of its terminal, and what a plain one answers.
_QUESTIONS = {b"\x1b[6n": b"\x1b[1;1R", b"\x1b[c": b"\x1b[?62c", b"\x1b[?u": b"\x1b[?0u"}


class Terminal:
    """One program in a terminal of its own."""

    def __init__(self, words: Sequence[str], *, cwd: Path, environment: dict[str, str]) -> None:
        self._raw = b""
        self._from = 0  # what is shown from here on counts for `wait_for`
        self._pid, self._descriptor = pty.fork()
        if not self._pid:
            os.chdir(cwd)
            os.execve(words[0], list(words), environment)
        fcntl.ioctl(self._descriptor, termios.TIOCSWINSZ, struct.pack("HHHH", 60, 180, 0, 0))

    def __enter__(self) -> Terminal:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            os.kill(self._pid, signal.SIGKILL)
            os.waitpid(self._pid, 0)
        except (ProcessLookupError, ChildProcessError):
            pass
        os.close(self._descriptor)

    @property
    def shown(self) -> str:
        """All that was shown since something was typed last, without colours; blanks are not told apart."""
        return re.sub(r"\s+", " ", _CONTROL.sub(" ", self._raw[self._from :].decode("utf-8", "replace")))

    @property
    def lines(self) -> list[str]:
        """The same line by line, as it was printed."""
        return _CONTROL.sub("", self._raw[self._from :].decode("utf-8", "replace")).splitlines()

    def wait_for(self, *words: str) -> str:
        """Until one of these is shown: which one."""
        until = time.monotonic() + SECONDS
        while True:
            squeezed = self.shown.replace(" ", "")
            found = [word for word in words if word.replace(" ", "") in squeezed]
            if found:
                return found[0]
            assert time.monotonic() < until, f"{words} not shown, but: {self.shown[-2000:]}"
            assert self._read(), f"it ended, and had shown: {self.shown[-2000:]}"

    def type(self, text: str) -> None:
        """Type this; what comes from now on counts."""
        self._drain()
        self._from = len(self._raw)
        os.write(self._descriptor, text.encode())

    def say(self, text: str) -> None:
        """Type a line and send it, once the program has shown that it has it: a key too early is lost."""
        self.type(text)
        self.wait_for(text[-20:])
        self.type(ENTER)

    def look(self) -> None:
        """Take in what is there."""
        self._read()

    def end(self) -> None:
        """Wait until the program has ended."""
        until = time.monotonic() + SECONDS
        while self._read():
            assert time.monotonic() < until, "it does not end"

    def _drain(self) -> None:
        while select.select([self._descriptor], [], [], 0.3)[0] and self._read():
            pass

    def _read(self) -> bool:
        """Read what is there, for a moment; False when the program has ended."""
        if not select.select([self._descriptor], [], [], 0.2)[0]:
            return True
        try:
            data = os.read(self._descriptor, 1 << 16)
        except OSError:
            return False
        self._raw += data
        for question, answer in _QUESTIONS.items():
            if question in data:
                os.write(self._descriptor, answer)
        return bool(data)
